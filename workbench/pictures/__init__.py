"""Pictures of how payments work, drawn from this sandbox's own tables: its transitions, schedule, ledger and messages.

Each picture is a `Drawing`: an SVG, and a text that says the same.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.payments import Transitions
from workbench.domain.wire.ledger_and_trace import LedgerEntry, LedgerPosting
from workbench.merchant.receiver import Arrival
from workbench.pictures.accounting import Paired, accounts_of, matched_pairs, money_flow
from workbench.pictures.payment_steps import key_choice, parties, retry_timeline, state_machine, waiting, webhook
from workbench.session import Session
from workbench.text.svg import Drawing

__all__ = ["Pictures"]

_TABLES: Final[Mapping[str, Callable[[Gaps], Transitions]]] = {
    "payment_intent": payments.intent_transitions,
    "charge": payments.charge_transitions,
    "refund": lambda _: payments.REFUND_TRANSITIONS,
    "payout": lambda _: payments.PAYOUT_TRANSITIONS,
}


class Pictures:
    """Pictures of this sandbox's behaviour, drawn anew on each call; the same facts give the same picture."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def state_machine(self, of: str = "payment_intent") -> Drawing:
        """The states of a payment_intent, charge, refund or payout, and every event that leads from one to another.

        Raises ValueError: `of` is none of these.
        """
        if of not in _TABLES:
            message = f"states are of {', '.join(_TABLES)}, not {of!r}"
            raise ValueError(message)
        return state_machine(of, _TABLES[of](self._gaps()))

    def retry_timeline(self) -> Drawing:
        """The retries of a webhook that nobody takes, until it is a dead letter."""
        return retry_timeline(self._gaps())

    def webhook(self, arrival: Arrival | None = None) -> Drawing:
        """The parts of a message that `receiver` accepted, and its signed part: of `arrival`, or of the latest message.

        Raises ValueError: `arrival` was not accepted, or no message was.
        """
        among = self._session.receiver.arrivals if arrival is None else [arrival]
        accepted = [arrival for arrival in among if arrival.verdict == "accepted"]
        if not accepted:
            raise ValueError("No message was accepted; creating a payment intent sends one.")
        return webhook(accepted[-1], self._gaps().signature_scheme)

    def ledger(self, payment: str) -> Drawing:
        """The T-accounts of one payment, by the id of an intent, of a charge without an intent, or of a payout."""
        return accounts_of(payment, *self._journal(payment))

    def money_flow(self) -> Drawing:
        """The latest entries of the ledger, each with the money that changed hands and the claims that changed."""
        return money_flow(*self._journal())

    def parties(self) -> Drawing:
        """Customer, shop, payment service and operator, and what passes between them in one payment."""
        return parties()

    def key_choice(self) -> Drawing:
        """The idempotency key that a shop sends after each response to a charge, or without a response."""
        return key_choice(self._gaps())

    def waiting(self) -> Drawing:
        """A shop's actions and their moments after a prompt that nobody answers."""
        return waiting(self._gaps())

    def pairs(self, result: Paired) -> Drawing:
        """Rows of the ledger beside rows of the statements: a match by each rule, a break of each code.

        `result` is what `reconcile` returned.
        """
        return matched_pairs(result)

    def transitions(self, table: Mapping[str, Mapping[str, str]], of: str = "order") -> Drawing:
        """The states of a program's own records, called `of`; `table` maps state → event → next state.

        Raises ValueError: the table has no transition.
        """
        flat = {(state, event): target for state, events in table.items() for event, target in events.items()}
        if not flat:
            raise ValueError("The table has no transition: give it {state: {event: next state}}.")
        return state_machine(of, flat)

    def _gaps(self) -> Gaps:
        return Gaps.chosen(self._session.untraced.in_force())

    def _journal(self, payment: str | None = None) -> tuple[list[LedgerEntry], list[LedgerPosting]]:
        """The entries and the postings of the ledger; with `payment`, only those of this payment."""
        read = self._session.untraced
        return (
            [row for page in read.entries() for row in page if payment in {None, row.payment}],
            [row for page in read.postings() for row in page if payment in {None, row.payment}],
        )

    def __repr__(self) -> str:
        return (
            "Pictures(key_choice, ledger, money_flow, pairs, parties, retry_timeline, state_machine, transitions, "
            "waiting, webhook)"
        )
