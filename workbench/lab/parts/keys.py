"""API keys: masked, made, rolled and revoked; a new value is shown once and kept nowhere."""

from typing import Final

from workbench.domain import wire
from workbench.domain.ids import ACTIVE, KEY_PREFIXES
from workbench.domain.masking import mask
from workbench.lab.parts.pages import PagedSection
from workbench.lab.parts.part import Message, Reveal, Values
from workbench.lab.parts.words import when
from workbench.lab.views import BAD, Action, Field, Form, Grid, Note, Row, Section, headings

_PATH: Final = "/v1/api_keys"
_KEPT: Final = "This bench calls with this key, which would be its end: roll it instead."
_NEW: Final = Form(
    "new",
    "A new key",
    (Field("kind", "Kind", "secret", "select", tuple((each, each) for each in KEY_PREFIXES)),),
    (Action("create", "Create key", primary=True),),
    row=True,
)
_NOTE: Final = Note("A key is shown once, when it is made. Only test keys are here: the sandbox refuses live ones.")


class KeysSection(PagedSection[wire.ApiKey]):
    """The merchant's keys, newest first. The one that the bench calls with is rolled for it, and cannot be revoked."""

    id = "keys"
    handlers = ("create", "roll", "revoke", "turn")
    group = "api_keys"

    def section(self) -> Section:
        """What is to be seen now."""
        rows = tuple(self._row(each) for each in self._pages.rows())
        grid = Grid("Keys", headings("Key", "Kind", "Made (Lusaka)", "Status"), rows)
        return Section(self.id, "Developers: API keys", (grid, *self._pages.buttons("Keys"), _NEW, _NOTE), wide=True)

    def create(self, _on: str, values: Values) -> Message:
        """Another key."""
        kind = values.get("kind", "secret")
        made = self._pay.api_keys.create(kind)
        text = f"A {made.kind} key was made: {made.masked}. Copy it now, it is shown this once."
        return Message(text, code=self._code("POST", _PATH, {"kind": kind}), reveal=_reveal(made))

    def roll(self, on: str, _values: Values) -> Message:
        """A new key in place of one; the bench goes on with the new one where it was its own."""
        is_own = self._holds(on)
        made = self._pay.api_keys.roll(on)
        if is_own:
            self._session.use_key(str(made.value))
        also = " This bench has gone over to it; whatever else held the old one needs it now." if is_own else ""
        return Message(
            f"Rolled: the old key has ended, the new one is {made.masked}.{also}",
            code=self._code("POST", f"{_PATH}/{on}/roll", python="bench.use_key({}.value)" if is_own else "{}"),
            reveal=_reveal(made),
        )

    def revoke(self, on: str, _values: Values) -> Message:
        """End a key, but for the one that the bench calls with."""
        if self._holds(on):
            return Message(_KEPT, BAD)
        ended = self._pay.api_keys.revoke(on)
        return Message(f"{ended.masked} has ended.", code=self._code("DELETE", f"{_PATH}/{on}"))

    def _row(self, key: wire.ApiKey) -> Row:
        is_own = self._is_own(key)
        status = f"{key.status}, this bench calls with it" if is_own else key.status
        cells = (key.masked, key.kind, when(key.created), status)
        return Row(key.id, cells, _actions(key, is_own=is_own) if key.status == ACTIVE else ())

    def _holds(self, key_id: str) -> bool:
        return any(each.id == key_id and self._is_own(each) for each in self._looking.api_keys.each())

    def _is_own(self, key: wire.ApiKey) -> bool:
        """Whether the bench holds it: a masked key shows how it begins and ends."""
        held = self._session.secret_key if key.kind == "secret" else self._session.publishable_key
        begins, _, ends = key.masked.partition("••••")
        return key.status == ACTIVE and held.startswith(begins) and held.endswith(ends) and mask(held) != held


def _actions(key: wire.ApiKey, *, is_own: bool) -> tuple[Action, ...]:
    goes_on = " This bench goes over to the new one." if is_own else ""
    kept = _KEPT if is_own else ""
    return (
        Action("roll", "Roll", key.id, confirm=f"The old key ends at once.{goes_on} Roll it?"),
        Action("revoke", "Revoke", key.id, confirm="It ends at once, for good. Revoke it?", off=kept),
    )


def _reveal(key: wire.ApiKey) -> Reveal:
    return Reveal(f"New {key.kind} key", str(key.value))
