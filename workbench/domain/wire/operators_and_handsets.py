"""Bodies of customers' handsets and of operators, which only a sandbox has."""

from decimal import Decimal
from typing import Annotated, Final

from workbench.domain import ussd
from workbench.domain.gaps import Gaps
from workbench.domain.payments import FAILURES
from workbench.domain.phones import OFFERED
from workbench.domain.scenarios import SANDBOX_PIN, SCRIPTABLE, TEST_NUMBERS
from workbench.domain.wire.base import OfSandbox, View, by_register, meaning, parameter
from workbench.domain.wire.field_types import (
    ChargeId,
    DateTime,
    NeverNegative,
    OperatorName,
    Phone,
    Positive,
    Seconds,
    seconds_up_to,
)


class Handset(OfSandbox):
    """A customer's phone: its screen, the charge of the prompt, and whether the prompt waits for an answer."""

    phone: str
    operator: Annotated[str, by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    screen: str
    state: Annotated[str, meaning(enum=["idle", *dict.fromkeys(ussd.SCREEN_TEXTS)])]
    waiting: bool
    tries_left: Positive | None
    expires_at: Seconds | None
    queued: NeverNegative
    charge: ChargeId | None
    object: Annotated[str, meaning(const="phone")] = "phone"


class Input(OfSandbox):
    """The text typed on a handset; it is kept nowhere."""

    text: Annotated[str, meaning(f"The PIN; {SANDBOX_PIN} is right.", pattern="^[0-9]{4}$")]

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Message(OfSandbox):
    """An operator's text message to a customer; `transaction` is the operator's reference, None if no money moved."""

    seq: int
    at: DateTime
    kind: Annotated[str, meaning(enum=[*ussd.RECEIPT_TEXTS])]
    sender: str
    text: str
    amount_minor: Positive
    currency: str
    merchant: str
    transaction: str | None
    object: Annotated[str, meaning(const="message")] = "message"


class PhonesQuery(View):
    """Chooses the handset that comes first."""

    payment: Annotated[str, parameter("The payment whose customer's handset comes first.")] | None = None


MAX_ANSWERS: Final = 100


class Script(OfSandbox):
    """Outcomes of the next attempts on a number, in order."""

    phone: Phone
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]}, maxItems=MAX_ANSWERS)]


class Scripted(OfSandbox):
    """The remaining outcomes of a number's script."""

    phone: str
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    object: Annotated[str, meaning(const="operator_script")] = "operator_script"


MAX_OUTAGE_S: Final = 30 * 86_400


class Outage(OfSandbox):
    """Takes an operator down for this long from now; 0 ends the outage."""

    provider: OperatorName
    seconds: Annotated[Decimal, seconds_up_to(MAX_OUTAGE_S)]


class OperatorState(OfSandbox):
    """An operator, and the end of its outage; None if the operator is up."""

    provider: Annotated[str, by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    down_until: Seconds | None
    object: Annotated[str, meaning(const="operator")] = "operator"


class OperatorQuery(OfSandbox):
    """Asks the operator for the outcome of a charge."""

    charge: str


class TestNumber(OfSandbox):
    """The last seven digits of a test number, the same for every operator, and its scenario in words."""

    ending: Annotated[str, meaning(pattern="^[0-9]{7}$")]
    says: str


class OfferedOperator(OfSandbox):
    """A mobile network operator with wallets; `prefixes` are the two digits after +260."""

    id: str
    name: str
    prefixes: list[str]


class OfferedScenarios(OfSandbox):
    """Scenarios on offer: by test numbers and by the header Sandbox-Scenario; `pin` is every wallet's."""

    test_numbers: list[TestNumber]
    scenarios: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    failures: Annotated[dict[str, str], meaning("Why money did not move: a code, and a sentence for a person.")]
    operators: list[OfferedOperator]
    pin: str
    object: Annotated[str, meaning(const="scenarios")] = "scenarios"

    @classmethod
    def of(cls, gaps: Gaps) -> "OfferedScenarios":
        """The scenarios that a register offers."""
        numbers = [TestNumber(number.ending, number.says) for number in TEST_NUMBERS.values()]
        offered = OFFERED[gaps.zed_mobile].values()
        operators = [OfferedOperator(operator.id, operator.name, [*operator.prefixes]) for operator in offered]
        return cls(numbers, [*SCRIPTABLE], {**FAILURES}, operators, SANDBOX_PIN)
