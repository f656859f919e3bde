"""Bodies of customers' handsets and of operators, which only a sandbox has."""

from decimal import Decimal
from typing import Annotated, Final

from workbench.domain import ussd
from workbench.domain.gaps import Gaps
from workbench.domain.payments import FAILURES
from workbench.domain.phones import OFFERED
from workbench.domain.scenarios import SANDBOX_PIN, SCRIPTABLE, TEST_NUMBERS
from workbench.domain.wire.base import OfSandbox, View, by_register, meaning, parameter
from workbench.domain.wire.fields import (
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
    """A customer's phone: what it shows, of which charge, and whether that waits for an answer."""

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
    """What is typed on a handset; not kept anywhere."""

    text: Annotated[str, meaning(f"The PIN; {SANDBOX_PIN} is right.", pattern="^[0-9]{4}$")]

    def __repr__(self) -> str:
        return f"Input({'•' * len(self.text)})"


class Message(OfSandbox):
    """What an operator texted to a customer; `transaction` is its own reference, None where no money moved."""

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
    """Whose handset comes first."""

    payment: Annotated[str, parameter("The payment whose customer's handset comes first.")] | None = None


MAX_ANSWERS: Final = 100


class Script(OfSandbox):
    """What the next attempts on a number come to, one answer each."""

    phone: Phone
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]}, maxItems=MAX_ANSWERS)]


class Scripted(OfSandbox):
    """What a number has before it."""

    phone: str
    answers: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    object: Annotated[str, meaning(const="operator_script")] = "operator_script"


MAX_OUTAGE_S: Final = 30 * 86_400


class Outage(OfSandbox):
    """An operator is down for so long from now; 0 ends it."""

    provider: OperatorName
    seconds: Annotated[Decimal, seconds_up_to(MAX_OUTAGE_S)]


class OperatorState(OfSandbox):
    """Until when an operator is down, None when it is up."""

    provider: Annotated[str, by_register(lambda gaps: {"enum": [*OFFERED[gaps.zed_mobile]]})]
    down_until: Seconds | None
    object: Annotated[str, meaning(const="operator")] = "operator"


class OperatorQuery(OfSandbox):
    """The operator is asked what became of a charge."""

    charge: str


class TestNumber(OfSandbox):
    """The last seven digits of a number, the same for every operator, and what happens on it."""

    ending: Annotated[str, meaning(pattern="^[0-9]{7}$")]
    says: str


class OfferedOperator(OfSandbox):
    """A mobile network operator with wallets; `prefixes` are the two digits after +260."""

    id: str
    name: str
    prefixes: list[str]


class OfferedScenarios(OfSandbox):
    """What can be asked to happen: on which numbers, and by the header Sandbox-Scenario; `pin` is every wallet's."""

    test_numbers: list[TestNumber]
    scenarios: Annotated[list[str], meaning(items={"enum": [*SCRIPTABLE]})]
    failures: Annotated[dict[str, str], meaning("Why money did not move: a code, and a sentence for a person.")]
    operators: list[OfferedOperator]
    pin: str
    object: Annotated[str, meaning(const="scenarios")] = "scenarios"

    @classmethod
    def of(cls, gaps: Gaps) -> "OfferedScenarios":
        """Those of a register."""
        numbers = [TestNumber(each.ending, each.says) for each in TEST_NUMBERS.values()]
        offered = OFFERED[gaps.zed_mobile].values()
        operators = [OfferedOperator(each.id, each.name, [*each.prefixes]) for each in offered]
        return cls(numbers, [*SCRIPTABLE], {**FAILURES}, operators, SANDBOX_PIN)
