"""API keys: masked, made, rolled and revoked; a new value is shown once and kept nowhere."""

from typing import ClassVar, Final

from workbench.domain import wire
from workbench.domain.masking import mask
from workbench.lab.parts.pages import Pages
from workbench.lab.parts.part import BoardSection, Handler, Message, Reveal, Values
from workbench.lab.parts.source import Source
from workbench.lab.parts.words import options, when
from workbench.lab.views import BAD, Action, Field, Form, Grid, Note, Row, Section, headings

_PATH: Final = "/v1/api_keys"
_KINDS: Final = ("secret", "publishable")
_ACTIVE: Final = "active"
_KEPT: Final = "This bench calls with this key, which would be its end: roll it instead."
_TAKES: Final = "bench.use_key({}.value)"
"""What makes the bench go on after its own key was rolled."""


class KeysSection(BoardSection):
    """The merchant's keys, newest first. The one that the bench calls with is rolled for it, and cannot be revoked."""

    id = "keys"

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pages = Pages[wire.ApiKey](lambda: source.looking.api_keys)

    def section(self) -> Section:
        """What is to be seen now."""
        rows = tuple(self._row(each) for each in self._pages.rows())
        return Section(
            self.id,
            "Developers: API keys",
            (
                Grid("Keys", headings("Key", "Kind", "Made (Lusaka)", "Status"), rows),
                *self._pages.buttons("Keys"),
                Form(
                    "new",
                    "A new key",
                    (Field("kind", "Kind", "secret", "select", options(_KINDS)),),
                    (Action("create", "Create key", primary=True),),
                    row=True,
                ),
                Note("A key is shown once, when it is made. Only test keys are here: the sandbox refuses live ones."),
            ),
            wide=True,
        )

    def create(self, on: str, values: Values) -> Message:
        """Another key."""
        kind = values.get("kind", "secret")
        made = self._source.pay.api_keys.create(kind)
        return Message(
            f"A {made.kind} key was made: {made.masked}. Copy it now, it is shown this once.",
            code=self._source.code("POST", _PATH, {"kind": kind}),
            reveal=_reveal(made),
        )

    def roll(self, on: str, values: Values) -> Message:
        """A new key in place of one; the bench goes on with the new one where it was its own."""
        is_own = any(each.id == on and self._is_own(each) for each in self._source.looking.api_keys.each())
        made = self._source.pay.api_keys.roll(on)
        if is_own:
            self._source.session.use_key(str(made.value))
        also = " This bench has gone over to it; whatever else held the old one needs it now." if is_own else ""
        return Message(
            f"Rolled: the old key has ended, the new one is {made.masked}.{also}",
            code=self._source.code("POST", f"{_PATH}/{on}/roll", python=_TAKES if is_own else "{}"),
            reveal=_reveal(made),
        )

    def revoke(self, on: str, values: Values) -> Message:
        """End a key, but for the one that the bench calls with."""
        if any(each.id == on and self._is_own(each) for each in self._source.looking.api_keys.each()):
            return Message(_KEPT, BAD)
        ended = self._source.pay.api_keys.revoke(on)
        return Message(f"{ended.masked} has ended.", code=self._source.code("DELETE", f"{_PATH}/{on}"))

    def turn(self, on: str, values: Values) -> None:
        """Another page."""
        self._pages.turn(on)

    def _row(self, key: wire.ApiKey) -> Row:
        is_own = self._is_own(key)
        status = f"{key.status}, this bench calls with it" if is_own else key.status
        cells = (key.masked, key.kind, when(key.created), status)
        return Row(key.id, cells, self._actions(key, is_own=is_own) if key.status == _ACTIVE else ())

    def _actions(self, key: wire.ApiKey, *, is_own: bool) -> tuple[Action, ...]:
        goes_on = " This bench goes over to the new one." if is_own else ""
        kept = _KEPT if is_own else ""
        return (
            Action("roll", "Roll", key.id, confirm=f"The old key ends at once.{goes_on} Roll it?"),
            Action("revoke", "Revoke", key.id, confirm="It ends at once, for good. Revoke it?", off=kept),
        )

    def _is_own(self, key: wire.ApiKey) -> bool:
        """Whether the bench holds it: a masked key shows how it begins and ends."""
        session = self._source.session
        held = session.secret_key if key.kind == "secret" else session.publishable_key
        begins, _, ends = key.masked.partition("••••")
        return key.status == _ACTIVE and held.startswith(begins) and held.endswith(ends) and mask(held) != held

    handlers: ClassVar[dict[str, Handler]] = {"create": create, "roll": roll, "revoke": revoke, "turn": turn}


def _reveal(key: wire.ApiKey) -> Reveal:
    return Reveal(f"New {key.kind} key", str(key.value))
