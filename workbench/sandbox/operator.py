"""The mobile network operator: what may become of an attempt, and the test numbers that act by themselves."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench.domain import ussd

SANDBOX_PIN: Final = ussd.SANDBOX_PIN
WRONG_PIN: Final = "0000"
CANCEL: Final = "cancel"


class Play(NamedTuple):
    """What the customer and the operator do with one attempt.

    `presses` are what the customer does with the prompt, `after_s` seconds after it was sent; with
    `rejection` the operator sends no prompt and answers this failure code instead. `refusal` is the
    code with which the wallet answers a right PIN, None when it pays. `answers` is how often the
    operator tells what became of it. `late` money arrives after the prompt has expired.
    """

    presses: tuple[str, ...] = (SANDBOX_PIN,)
    after_s: int = 5
    refusal: str | None = None
    rejection: str | None = None
    answers: int = 1
    late: bool = False
    by_itself: bool = True
    """False for a handset that waits for a person; in a charge, which waits for nobody, it acts all the same."""

    @property
    def acts(self) -> bool:
        """Whether anything happens before the prompt's time is up."""
        return bool(self.presses or self.rejection)


PERSON: Final = "person"
UNAVAILABLE: Final = "operator_unavailable"
APPROVE: Final = "approve"
LATE_S: Final = 60
"""How long after the prompt has expired late money arrives."""

PLAYS: Mapping[str, Play] = {
    PERSON: Play(by_itself=False),
    APPROVE: Play(),
    "insufficient_funds": Play(refusal="insufficient_funds"),
    "wrong_pin": Play(presses=(WRONG_PIN,) * 3),
    "declined_by_customer": Play(presses=(CANCEL,)),
    "prompt_timeout": Play(presses=()),
    "limit_reached": Play(refusal="limit_reached"),
    "payer_not_found": Play(rejection="payer_not_found", after_s=1),
    "payer_busy": Play(rejection="payer_busy", after_s=1),
    UNAVAILABLE: Play(rejection=UNAVAILABLE, after_s=1),
    "late_success": Play(presses=(), late=True),
    "duplicate_answer": Play(answers=2),
    "operator_unknown": Play(answers=0),
}
"""What can be asked for by a test number, by the Sandbox-Scenario header and by a script."""

ASKABLE: Final = tuple(name for name in PLAYS if name != PERSON)

CONFLICT, SERVER_ERROR, SERVER_ERROR_AFTER, SLOW = "conflict", "server_error", "server_error_after", "slow"
FAULTS: Final = (CONFLICT, SERVER_ERROR, SERVER_ERROR_AFTER, SLOW)
"""What the service itself, not the operator, can be asked to run into."""
SCRIPTABLE: Final = (*ASKABLE, *FAULTS)


class ActingNumber(NamedTuple):
    """What happens on a number: one play for each attempt, the last one from then on.

    `down_s` seconds from the first attempt on it, its operator is unavailable.
    """

    says: str
    plays: tuple[str, ...]
    down_s: int = 0


TEST_NUMBERS: Mapping[str, ActingNumber] = {
    "0000001": ActingNumber("approves after 5 s", (APPROVE,)),
    "0000002": ActingNumber("insufficient funds, after 5 s", ("insufficient_funds",)),
    "0000003": ActingNumber("a wrong PIN, three times", ("wrong_pin",)),
    "0000004": ActingNumber("the customer cancels", ("declined_by_customer",)),
    "0000005": ActingNumber("nobody answers: the prompt expires after 300 s", ("prompt_timeout",)),
    "0000006": ActingNumber("the wallet's limit is reached", ("limit_reached",)),
    "0000007": ActingNumber("no wallet on the number, after 1 s", ("payer_not_found",)),
    "0000008": ActingNumber("another prompt is open; the next attempt is approved", ("payer_busy", APPROVE)),
    "0000009": ActingNumber("the operator is down for 600 s from the first attempt, then approves", (APPROVE,), 600),
    "0000010": ActingNumber("approves 60 s after the prompt has expired: late success", ("late_success",)),
    "0000011": ActingNumber("approves; the operator's answer arrives twice", ("duplicate_answer",)),
    "0000012": ActingNumber("the money moves and the operator never answers", ("operator_unknown",)),
    "0000013": ActingNumber("insufficient funds; the next attempt is approved", ("insufficient_funds", APPROVE)),
}
"""The last seven digits of a number → what happens on it, the same for every operator.

Any other number is a handset that waits for a person, with a wallet that never runs out.
"""


def play_of_test_number(ending: str, *, attempt: int, since_first_ms: int) -> str:
    """The play of the `attempt`-th attempt (from 1) on a number that ends so; PERSON for an unlisted one."""
    row = TEST_NUMBERS.get(ending)
    if row is None:
        return PERSON
    if since_first_ms < row.down_s * 1000:
        return UNAVAILABLE
    return row.plays[min(attempt, len(row.plays)) - 1]


def pin_is_right(text: str) -> bool:
    """Every sandbox PIN is 1234."""
    return text == SANDBOX_PIN
