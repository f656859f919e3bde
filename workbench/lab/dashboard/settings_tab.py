"""The dashboard's keys, clock and outages."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from msgspec import UnsetType

from workbench.domain import wire
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.masking import mask
from workbench.domain.moments import moment, span
from workbench.domain.phones import EVERY_OPERATOR, MARK
from workbench.lab import views
from workbench.lab.sections import Message, PagedSection, Reveal, SessionSection, Values, utc, when

_PATH: Final = "/v1/api_keys"
_KEPT: Final = "This bench calls with this key, which would be its end: roll it instead."
_KIND: Final = views.Field("kind", "Kind", "secret", "select", tuple((each, each) for each in KEY_PREFIXES))
_CREATE: Final = views.Action("create", "Create key", primary=True)
_NEW: Final = views.Form("new", "A new key", (_KIND,), (_CREATE,), row=True)
_COLUMNS: Final = views.headings("Key", "Kind", "Made (Lusaka)", "Status", "Note", pills=("Status",))
_SIGNS: Final = {ACTIVE: "✓", ROLLED: "↻", REVOKED: "⊘"}
_KEYS_NOTE: Final = views.Note(
    "A key is shown once, when it is made. Only test keys are here: the sandbox refuses live ones."
)


class KeysSection(PagedSection[wire.ApiKey]):
    """The merchant's keys, newest first. The one that the bench calls with is rolled for it, and cannot be revoked."""

    id, title, wide = "keys", "Developers: API keys", True
    group = "api_keys"

    def _items(self) -> Iterator[views.Item]:
        rows = tuple(self._row(each) for each in self._rows())
        yield views.Grid("Keys", _COLUMNS, rows)
        yield from (*self._buttons("Keys"), _NEW, _KEYS_NOTE)

    def _on_create(self, _on: str, values: Values) -> Message:
        kind = values.get("kind", "secret")
        made = self._pay.api_keys.create(kind)
        text = f"A {made.kind} key was made: {made.masked}. Copy it now, it is shown this once."
        return Message(text, code=self._code("POST", _PATH, {"kind": kind}), reveal=_reveal(made))

    def _on_roll(self, on: str, _values: Values) -> Message:
        is_own = self._holds(on)
        made = self._pay.api_keys.roll(on)
        if is_own:
            self._session.use_key(str(made.value))
        also = " This bench has gone over to it; whatever else held the old one needs it now." if is_own else ""
        old = "works for a day more" if self._overlap() else "has ended"
        return Message(
            f"Rolled: the old key {old}, the new one is {made.masked}.{also}",
            code=self._code("POST", f"{_PATH}/{on}/roll", python="bench.use_key({}.value)" if is_own else "{}"),
            reveal=_reveal(made),
        )

    def _on_revoke(self, on: str, _values: Values) -> Message:
        if self._holds(on):
            return Message(_KEPT, views.BAD)
        ended = self._pay.api_keys.revoke(on)
        return Message(f"{ended.masked} has ended.", code=self._code("DELETE", f"{_PATH}/{on}"))

    def _row(self, key: wire.ApiKey) -> views.Row:
        is_own = self._is_own(key)
        until_s = 0 if isinstance(key.works_until, UnsetType) else key.works_until
        works_on = bool(until_s) and until_s > self._now_s()
        note = "this bench's own" if is_own else f"works until {when(until_s)}" if works_on else ""
        cells = (key.masked, key.kind, when(key.created), f"{_SIGNS[key.status]} {key.status}", note)
        goes_on, kept = (" This bench goes over to the new one.", _KEPT) if is_own else ("", "")
        old = "works for a day more" if self._overlap() else "ends at once"
        roll = views.Action("roll", "Roll", key.id, confirm=f"The old key {old}.{goes_on} Roll it?")
        revoke = views.Action("revoke", "Revoke", key.id, confirm="It ends at once, for good. Revoke it?", off=kept)
        actions = (roll, revoke) if key.status == ACTIVE else (revoke,) if works_on else ()
        return views.Row(key.id, cells, actions, hovers=("", "", utc(key.created)))

    def _overlap(self) -> bool:
        """Whether a key works on after it was rolled."""
        return self._session.in_force.get("key_rotation") == "overlap"

    def _holds(self, key_id: str) -> bool:
        return any(each.id == key_id and self._is_own(each) for each in self._looking.api_keys.each())

    def _is_own(self, key: wire.ApiKey) -> bool:
        """Whether the bench holds it: a masked key shows how it begins and ends."""
        held = self._session.secret_key if key.kind == "secret" else self._session.publishable_key
        begins, _, ends = key.masked.partition(MARK)
        return key.status == ACTIVE and held.startswith(begins) and held.endswith(ends) and mask(held) != held


def _reveal(key: wire.ApiKey) -> Reveal:
    return Reveal(f"New {key.kind} key", str(key.value))


_BY_ITSELF: Final = "by itself; what is shown is when it was last looked at"
_UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
_STEPS: Final = (("60", "+1 minute"), ("3600", "+1 hour"), ("86400", "+1 day"))
_COUNT: Final = views.Field("count", "By how much", "5", "number")
_UNIT: Final = views.Field("unit", "Of what", "minutes", "select", tuple((each, each) for each in _UNITS))
_MOVE: Final = views.Action("move", "Move", primary=True)
_OTHER: Final = views.Form("span", "Another span", (_COUNT, _UNIT), (_MOVE,), row=True)


class ClockSection(SessionSection):
    """The moment in UTC and in Lusaka; steps of a minute, an hour and a day, and any other."""

    id, title, wide = "clock", "Test clock", True

    def _items(self) -> Iterator[views.Item]:
        now = self._session.untraced.clock()
        is_running = now.mode == "running"
        steps = [views.Action("advance", label, seconds) for seconds, label in _STEPS]
        steps += [views.Action("look", "Look again")] if is_running else []
        move = views.Actions("Move the clock", tuple(steps))
        facts = (
            ("Lusaka", when(now.now_ms // 1000)),
            ("UTC", moment(now.now_ms).strftime("%Y-%m-%d %H:%M:%S")),
            ("Runs", _BY_ITSELF if is_running else "when you move it"),
        )
        yield views.Beside((views.Facts(facts), move, views.Fold("other", "Another span", (_OTHER,))))

    def _on_look(self, _on: str, _values: Values) -> None:
        """What a running clock shows is drawn anew after every button."""

    def _on_advance(self, on: str, _values: Values) -> Message:
        return self._move(Decimal(on))

    def _on_move(self, _on: str, values: Values) -> Message:
        try:
            count = Decimal(values.get("count", "").strip() or "0")
        except InvalidOperation:
            return Message(f"{values['count'][:20]!r} is no number.", views.BAD)
        if not count.is_finite() or values.get("unit") not in _UNITS:
            return Message("By how many seconds, minutes, hours or days?", views.BAD)
        return self._move(count * _UNITS[values["unit"]])

    def _move(self, seconds: Decimal) -> Message:
        clock = self._session.clock.advance(seconds)
        exact = int(seconds) if seconds == int(seconds) else seconds
        code = self._code("POST", "/sandbox/clock/advance", {"seconds": exact})
        return Message(f"The clock was moved; in Lusaka it is {when(clock.now_ms // 1000)}.", code=code)


_NAMES: Final = {each.id: each.name for each in EVERY_OPERATOR.values()}
_MINUTE_S: Final = 60
_MINUTES: Final = views.Field("minutes", "Minutes", "10", "number")
_START: Final = views.Action("start", "Start outage", primary=True)
_OUTAGE_NOTE: Final = views.Note("While an operator is down, payments by its wallets fail with operator_unavailable.")


class OperatorsSection(SessionSection):
    """Each operator, and until when it is down."""

    id, title, wide = "operators", "Sandbox: operators", True

    def _items(self) -> Iterator[views.Item]:
        now_s = self._now_s()
        operators = self._session.untraced.operators()
        rows = tuple(_row(each, now_s) for each in operators)
        offered = tuple((each.provider, _NAMES[each.provider]) for each in operators)
        provider = views.Field("provider", "Operator", "mtn", "select", offered)
        outage = views.Form("outage", "An outage", (provider, _MINUTES), (_START,), row=True)
        columns = views.headings("Operator", "Status", "Down until (Lusaka)", pills=("Status",))
        yield from (views.Grid("Mobile network operators", columns, rows, cards=True), outage, _OUTAGE_NOTE)

    def _on_start(self, _on: str, values: Values) -> Message:
        provider, minutes = values.get("provider", ""), _number(values.get("minutes", ""))
        if minutes is None:
            return Message("For how many minutes? A number above 0.", views.BAD)
        seconds = int(minutes * _MINUTE_S)
        code = self._outage(provider, seconds)
        return Message(f"{_NAMES.get(provider, provider)} is down for {span(seconds)}.", code=code)

    def _on_end(self, on: str, _values: Values) -> Message:
        code = self._outage(on, 0)
        return Message(f"{_NAMES.get(on, on)} is up again.", code=code)

    def _outage(self, provider: str, seconds: int) -> tuple[views.Item, ...]:
        self._session.operator.outage(provider, seconds)
        return self._code("POST", "/sandbox/operator/outage", {"provider": provider, "seconds": seconds})


def _row(operator: wire.OperatorState, now_s: int) -> views.Row:
    name, until = _NAMES.get(operator.provider, operator.provider), operator.down_until
    if until is None:
        return views.Row(operator.provider, (name, "✓ up", "-"))
    again = views.Action("end", "End outage", operator.provider)
    return views.Row(operator.provider, (name, "✗ down", f"{when(until)}, for another {span(until - now_s)}"), (again,))


def _number(text: str) -> Decimal | None:
    """A span above zero; None for anything else."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and number * _MINUTE_S >= 1 else None
