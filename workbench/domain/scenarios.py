"""Scenarios: outcomes of an attempt on demand, one row for each, with its test numbers.

A scenario is requested by a test number, by the header Sandbox-Scenario, or by a script; the simulated month uses the
same scenarios. To add a scenario, add a row.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

SANDBOX_PIN: Final = "1234"
"""The PIN of every wallet in the sandbox, which is no secret. Any other PIN may be a real person's."""
WRONG_PIN: Final = "0000"
CANCEL: Final = "cancel"
ACTS_AFTER_S: Final = 5
"""Seconds from the prompt until a simulated customer presses a key."""
REJECTS_AFTER_S: Final = 1
"""Seconds until the operator rejects an attempt without sending a prompt."""
LATE_S: Final = 60
"""Seconds from the expiry of the prompt until late money arrives."""
BANK_RETURNS_S: Final = 86_400
"""Seconds from the bank's receipt of a payout until it returns the payout."""
REFUND_SENT_S: Final = 5
"""Seconds from the request of a refund until the operator sends the money back."""


class ActingNumber(NamedTuple):
    """The last seven digits of a test number, the same for every operator, and its scenario in words.

    The first attempt runs the scenario, later attempts run `then`; if that is None, they run the scenario too. With
    `for_s`, all attempts in the first `for_s` seconds run the scenario.
    """

    ending: str
    says: str
    then: str | None = None
    for_s: int = 0


class Scenario(NamedTuple):
    """The actions of the customer and the operator in one attempt.

    `presses` are the customer's inputs, `after_s` seconds after the prompt. `rejection` is the failure code with which
    the operator rejects the attempt; None if it sends a prompt. `refusal` is the wallet's failure code after a correct
    PIN; None if it pays. `answers` is how many times the operator reports the outcome. If `late` is true, the money
    arrives after the prompt has expired.
    """

    presses: tuple[str, ...] = (SANDBOX_PIN,)
    after_s: int = ACTS_AFTER_S
    refusal: str | None = None
    rejection: str | None = None
    answers: int = 1
    late: bool = False
    by_itself: bool = True
    """False if the handset waits for a person; it never waits in a charge whose response has the outcome."""
    numbers: tuple[ActingNumber, ...] = ()

    @property
    def acts(self) -> bool:
        """True if anything happens before the prompt expires."""
        return bool(self.presses or self.rejection)


PERSON: Final = "person"
"""The scenario of all numbers but test numbers: the handset waits for a person; the wallet always has enough money."""
APPROVE: Final = "approve"
TIMEOUT: Final = "prompt_timeout"
UNAVAILABLE: Final = "operator_unavailable"
LATE: Final = "late_success"
UNKNOWN: Final = "operator_unknown"
_NO_WALLET: Final = "payer_not_found"
_LIMIT: Final = "limit_reached"

# fmt: off
SCENARIOS: Final[Mapping[str, Scenario]] = {
    PERSON: Scenario(by_itself=False),
    APPROVE: Scenario(numbers=(ActingNumber("0000001", f"approves after {ACTS_AFTER_S} s"),)),
    "insufficient_funds": Scenario(refusal="insufficient_funds", numbers=(
        ActingNumber("0000002", f"insufficient funds, after {ACTS_AFTER_S} s"),
        ActingNumber("0000013", "insufficient funds; the next attempt is approved", then=APPROVE),
    )),
    "wrong_pin": Scenario(presses=(WRONG_PIN,) * 3, numbers=(ActingNumber("0000003", "a wrong PIN, three times"),)),
    "declined_by_customer": Scenario(presses=(CANCEL,), numbers=(ActingNumber("0000004", "the customer cancels"),)),
    TIMEOUT: Scenario(presses=(), numbers=(
        ActingNumber("0000005", "nobody answers: the prompt expires after 300 s"),
    )),
    _LIMIT: Scenario(refusal=_LIMIT, numbers=(ActingNumber("0000006", "the wallet's limit is reached"),)),
    _NO_WALLET: Scenario(rejection=_NO_WALLET, after_s=REJECTS_AFTER_S, numbers=(
        ActingNumber("0000007", f"no wallet on the number, after {REJECTS_AFTER_S} s"),
    )),
    "payer_busy": Scenario(rejection="payer_busy", after_s=REJECTS_AFTER_S, numbers=(
        ActingNumber("0000008", "another prompt is open; the next attempt is approved", then=APPROVE),
    )),
    UNAVAILABLE: Scenario(rejection=UNAVAILABLE, after_s=REJECTS_AFTER_S, numbers=(
        ActingNumber("0000009", "the operator is down for 600 s from the first attempt, then approves",
                   then=APPROVE, for_s=600),
    )),
    LATE: Scenario(presses=(), late=True, numbers=(
        ActingNumber("0000010", f"approves {LATE_S} s after the prompt has expired: late success"),
    )),
    "duplicate_answer": Scenario(answers=2, numbers=(
        ActingNumber("0000011", "approves; the operator's answer arrives twice"),
    )),
    UNKNOWN: Scenario(answers=0, numbers=(
        ActingNumber("0000012", "the money moves and the operator never answers"),
    )),
}
# fmt: on

ASKABLE: Final = tuple(name for name in SCENARIOS if name != PERSON)
"""Scenarios of the operator and the customer that can be requested."""
CONFLICT, SERVER_ERROR, SERVER_ERROR_AFTER, SLOW = "conflict", "server_error", "server_error_after", "slow"
FAULTS: Final = (CONFLICT, SERVER_ERROR, SERVER_ERROR_AFTER, SLOW)
"""Faults of the service itself, rather than of the operator, that can be requested."""
SCRIPTABLE: Final = (*ASKABLE, *FAULTS)
REFUND_FAILURES: Final = (_NO_WALLET, _LIMIT, UNAVAILABLE)
"""Scenarios in which the operator sends no refund; the names are also the failure codes."""
BANK_REFUSED: Final = "bank_refused"
BANK_RETURNED: Final = "bank_returned"
PAYOUT_SCENARIOS: Final = (BANK_REFUSED, BANK_RETURNED)
"""Scenarios in which the bank refuses or returns a payout; the names are also the failure codes."""

ENDING: Final = 7
"""The number of final digits by which a number is recognised as a test number."""
TEST_NUMBERS: Final[Mapping[str, ActingNumber]] = {
    acting.ending: acting for acting in sorted(number for row in SCENARIOS.values() for number in row.numbers)
}
"""Final digits → the test number."""
_SCENARIO_OF: Final = {number.ending: name for name, row in SCENARIOS.items() for number in row.numbers}
"""Final digits of a test number → the name of its scenario."""


def scenario_on(ending: str, *, attempt: int, since_first_ms: int) -> str:
    """The scenario of attempt number `attempt` (from 1) on a number; PERSON unless `ending` is a test number's.

    `ending` has the number's last seven digits. `since_first_ms` is the time since the first attempt on this number;
    only a number with `for_s` depends on it.
    """
    number = TEST_NUMBERS.get(ending)
    if number is None:
        return PERSON
    is_first = since_first_ms < number.for_s * 1000 if number.for_s else attempt == 1
    return _SCENARIO_OF[ending] if is_first else number.then or _SCENARIO_OF[ending]
