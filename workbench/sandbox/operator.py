"""The mobile network operator: wallets, their PINs, and the test numbers that act by themselves."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench.domain.phones import Msisdn
from workbench.errors import InvalidRequest

SANDBOX_PIN: Final = "1234"
WRONG_PIN: Final = "0000"
CANCEL: Final = "cancel"


class Wallet(NamedTuple):
    """A wallet and the customer who holds it.

    `refusal` is the failure code with which the wallet answers a right PIN, None when it pays.
    `presses` are what the customer does with a prompt, `after_s` seconds after it was sent.
    `by_itself` is False for a handset that waits for a person.
    """

    refusal: str | None = None
    presses: tuple[str, ...] = (SANDBOX_PIN,)
    after_s: int = 5
    by_itself: bool = True


TEST_NUMBERS: Mapping[str, Wallet] = {
    "0000001": Wallet(),
    "0000002": Wallet(refusal="insufficient_funds"),
    "0000003": Wallet(presses=(WRONG_PIN,) * 3),
    "0000004": Wallet(presses=(CANCEL,)),
    "0000005": Wallet(presses=()),
    "0000006": Wallet(refusal="limit_reached"),
}
"""The last seven digits of a number → what happens on it, the same for every operator."""

UNLISTED: Final = Wallet(by_itself=False)
"""A wallet that never runs out, on a handset that waits; its charges are answered within the call."""


RESERVED: Final = tuple(f"00000{number:02}" for number in range(7, 14))
"""Endings kept for what the operator does not play yet: refused, so that none passes for a success."""


def wallet_of(phone: Msisdn, param: str = "phone") -> Wallet:
    """The wallet on a number.

    Raises InvalidRequest: a test number that is not offered yet.
    """
    if phone.ending in RESERVED:
        raise InvalidRequest(
            f"The test number …{phone.ending} is reserved and not offered yet; {', '.join(TEST_NUMBERS)} are.",
            code="test_number_reserved",
            param=param,
        )
    return TEST_NUMBERS.get(phone.ending, UNLISTED)


def pin_is_right(text: str) -> bool:
    """Every sandbox PIN is 1234."""
    return text == SANDBOX_PIN
