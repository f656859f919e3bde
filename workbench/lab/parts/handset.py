"""The handset of the payment that is looked at."""

from workbench.domain.scenarios import SANDBOX_PIN
from workbench.errors import WorkbenchError
from workbench.lab.parts.part import BoardSection
from workbench.lab.parts.request import RequestSection
from workbench.lab.parts.seen import Gathered
from workbench.lab.views import WARN, Code, Fold, Item, Note, Section, Slot
from workbench.session import Session
from workbench.snippets import snippet

_KEYS = (("The PIN", "input", {"text": SANDBOX_PIN}), ("Cancel", "cancel", None), ("Ignore", "ignore", None))
"""What a person presses, and the call that is the same."""
_UNKNOWN = (
    "The number of this payment is masked, and nobody has typed it here: open its handset with bench.phone(number)."
)


class HandsetSection(BoardSection):
    """The phone of the payment chosen; before that has one, the phone of the number in the form."""

    id = "handset"

    def __init__(self, session: Session, gathered: Gathered, request: RequestSection) -> None:
        self._session = session
        self._gathered = gathered
        self._request = request

    def section(self) -> Section:
        """A place for the phone's widget, and its buttons in code."""
        payment = self._gathered.payment
        number = self._gathered.number if payment and payment.phone else self._request.values["phone"]
        return Section(self.id, "Handset of the customer", self._items(number))

    def _items(self, number: str) -> tuple[Item, ...]:
        if not number:
            return (Note(_UNKNOWN, WARN),)
        try:
            shown = repr(self._session.phone(number))
        except WorkbenchError as error:
            return (Note(str(error), WARN),)
        codes: list[Item] = []
        for name, path, body in _KEYS:
            same = snippet("POST", f"/sandbox/phones/{number}/{path}", body, base_url=self._session.base_url)
            codes += [Code(f"{name} in Python", same.python), Code(f"{name} in curl", same.curl)]
        return (
            Slot(number, "Handset", (Code("Handset", shown), Note(f"The PIN of every wallet here is {SANDBOX_PIN}."))),
            Fold("code", "Its keys in Python and curl", tuple(codes)),
        )
