"""Fits the register to recorded traffic: finds the exchanges that show, contradict or leave open each row's value."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from workbench.domain.gaps import REGISTER, Gap, gaps_named, written
from workbench.domain.moments import span
from workbench.domain.money import MAX_MAJOR_DIGITS
from workbench.domain.payments import BOUNDS_MAJOR
from workbench.domain.phones import EVERY_OPERATOR
from workbench.domain.signs import CENT, WEBHOOK, ObservedCall, Other, Part, Reading, Value, json_number, tried, within
from workbench.domain.webhooks import SENT_AS
from workbench.errors import TrafficRefused
from workbench.sandbox.operations import OPERATIONS
from workbench.text.render import DisplayTable, Tabular, table
from workbench.traffic.har import About, files_of, moment_s, recorded

MOST_TEXT: Final = 64 * 2**20
"""The most memory for recognised exchanges, in bytes, roughly; further ones are left out, and the result says so."""
_EXCHANGE: Final = 2**12
"""The rough memory of an exchange, in bytes, without the text of its bodies."""
_NEAR_S, _MINUTE_S, _DAY_S, _GAVE_UP_S = 5, 60, 86_400, 2 * 86_400
_BOUNDS: Final[Mapping[Value, tuple[Decimal, Decimal]]] = {
    name: (Decimal(least or CENT), Decimal(most or 10**MAX_MAJOR_DIGITS - CENT))
    for name, (least, most) in BOUNDS_MAJOR.items()
}


def _offered(row: str) -> list[Any]:
    (gap,) = gaps_named([row])
    return [gap.default, *gap.alternatives]


def _time_s(event: ObservedCall) -> Decimal:
    """The moment of a webhook's event, in seconds since 1970; 0 if the event shows none."""
    return moment_s(str(event.sent_body.get("timestamp") or event.sent_body.get("time")))


def _clock_gap_s(traffic: Sequence[ObservedCall]) -> int:
    """The largest gap in seconds between the clocks of the service and of the recorder; 0 if the clocks are near.

    A new object shows the service's time, except for a charge, whose call may wait for the customer. Without new
    objects, the shortest delay of a webhook is the gap, if that delay is negative or longer than a day.
    """
    known_ids: set[str] = set()
    gaps_s: list[Decimal] = []
    for call in traffic:
        is_new = call.ok and call.at_s and call.id.startswith("create") and call.id != "createCharge"
        created_s = [
            json_number(item.get("created")) for item in call.objects if is_new and item["id"] not in known_ids
        ]
        gaps_s += [call.at_s - at_s for at_s in created_s if at_s]
        known_ids |= {item["id"] for item in call.objects}
    events = [call.at_s - at_s for call in traffic if call.id == WEBHOOK and call.at_s and (at_s := _time_s(call))]
    gaps_s = gaps_s or [late_s for late_s in sorted(events)[:1] if not 0 <= late_s <= _DAY_S]
    most_s = max(map(abs, gaps_s), default=Decimal(0))
    return int(most_s) if most_s > _NEAR_S else 0


# What several exchanges show together

Readings: TypeAlias = Iterator[tuple[str, Reading, str]]
"""Triples: the name of a row, the value that was shown, and the exchange as file name and number."""


_EXTRA: Final = {
    operation.id: f"{operation.method} {operation.path}"
    for operation in OPERATIONS
    if operation.source == "assumed" and "{" not in operation.path and "webhook_endpoints" not in operation.path
}


def _extra_endpoints(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads whether the operations that the interface does not show are offered or absent.

    A 404 to a refund does not count, since the charge may be missing.
    """
    shows = tried(
        "offered", "absent", by={404}, part=lambda call: _EXTRA[call.id], parts=len(_EXTRA),
        asks=lambda call: call.ok or call.id != "createRefund",
    )  # fmt: skip
    yield from (("extra_endpoints", shows(call), call.place) for call in traffic if call.id in _EXTRA)


def _event_types(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads how webhooks write an event's type, from the first of four fields that contains a text."""
    names = ("type", "event_type", "event", "topic")
    for call in traffic:
        if call.id == WEBHOOK:
            types_sent = (call.sent_body.get(name) for name in names)
            name = next((name for name in types_sent if isinstance(name, str)), "no type")
            parts = (Part(value, name, len(types)) for value, types in SENT_AS.items() if name in types.values())
            yield "event_types", next(parts, Other(name[:60])), call.place


def _prompt_timeout(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads how long prompts last: the time to `expires_at` from the event of a prompt or from a confirmation.

    A confirmation counts only if the clocks are near each other.
    """
    is_near = not _clock_gap_s(traffic)
    for call in traffic:
        is_event = call.id == WEBHOOK and call.event.endswith("requires_action")
        is_asked = is_near and call.ok and call.id == "confirmPaymentIntent"
        begun_s = _time_s(call) if is_event else call.at_s if is_asked else 0
        prompts = [within(item, "next_action", "ussd_prompt") for item in call.objects if begun_s]
        for end_s in [end_s for prompt in prompts if (end_s := json_number(prompt.get("expires_at"))) is not None][:1]:
            lasts_s = float(end_s) - float(begun_s)
            values = [value for value in _offered("prompt_timeout_s") if abs(lasts_s - value) <= _NEAR_S]
            yield "prompt_timeout_s", values[0] if values else Other(f"{lasts_s:.0f} s"), call.place


_LONG: Final = {operator.long_id for operator in EVERY_OPERATOR.values()}


def _operator_ids(traffic: Sequence[ObservedCall]) -> Readings:
    for call in traffic:
        named = [charge.get(name) for charge in call.charges for name in ("channel", "provider")]
        named += [within(intent, "payment_method", "mobile_money").get("provider") for intent in call.intents]
        for name in map(str, filter(None, named)):
            ours = "short" if name in EVERY_OPERATOR else "long" if name in _LONG else None
            yield "operator_ids", Part(ours, name, 3) if ours else Other(name[:40]), call.place


def _bounds(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads which amounts were accepted and rejected; a bound is shown only by amounts a ngwee apart.

    If the traffic does not show the unit of charges, an amount counts only if both units lead to the same bounds.
    """
    shown = {unit for _, unit, _ in _unit(traffic)} & {"minor", "major"}
    readings = [_bounds_in(unit, traffic) for unit in ("minor", "major") if not shown or unit in shown]
    fitting = [pair for pair in readings if not isinstance(pair[0], Other)] or readings[:1]
    if len({reading.value if isinstance(reading, Part) else reading for reading, _ in fitting}) == 1 and fitting[0][1]:
        yield "amount_bounds", *fitting[0]


def _bounds_in(unit: str, traffic: Sequence[ObservedCall]) -> tuple[Reading, str]:
    """The bounds that amounts show if charges are in `unit`, and the exchange that shows them, empty if none does.

    A refused negative amount shows nothing, since all bounds refuse it.
    """
    decided = {
        call.amount * (CENT if unit == "minor" and call.id == "createCharge" else 1): call for call in traffic
        if call.amount and not call.is_fraction
        and (call.ok or (call.status in {400, 422} and "amount" in call.text and call.amount > 0))
        and (call.id == "createPaymentIntent" or (call.id == "createCharge" and call.amount.as_tuple().exponent == 0))
    }  # fmt: skip
    low, high = _BOUNDS["1_to_20000"]
    telling = {amount: call for amount, call in sorted(decided.items()) if not low <= amount <= high}
    text = ", ".join(f"{amount:.2f} is {'accepted' if call.ok else 'rejected'}" for amount, call in telling.items())
    reading: Reading = Other(text)
    for value, (least, most) in _BOUNDS.items():
        if all(call.ok is (least <= amount <= most) for amount, call in decided.items()):
            edges = {least, most} | ({least - CENT, most + CENT} if value != "none" else set())
            reading = value if edges <= {*decided} else Part(value, text) if telling else None
    return reading, "".join(call.place for call in [*telling.values()][-1:])


def _unit(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads the unit of charges: compares the amount of an intent, in major units, with that of its charge."""
    amounts: dict[object, Decimal | None] = {}
    for call in traffic:
        # An intent that shows no amount has the one that was asked for.
        requested = call.sent_body.get("amount") if call.id == "createPaymentIntent" else None
        amount_of = {intent["id"]: json_number(intent.get("amount", requested)) for intent in call.intents}
        amounts |= {intent: amount for intent, amount in amount_of.items() if amount is not None}
    for call in traffic:
        for charge in call.charges:
            major, amount = amounts.get(str(charge.get("payment_intent"))), json_number(charge.get("amount"))
            if charge.get("payment_intent") and major and amount:
                unit = "minor" if amount == major * 100 else "major" if amount == major else None
                yield "charge_amount_unit", unit or Other(f"{amount} where the intent has {major}"), call.place


def _wait(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads whether a charge waits for the customer. A pending charge shows it by a 202, or by a later success."""
    calls = [
        call for call in traffic if call.id == "createCharge" and call.is_accepted and (call.charges or not call.ok)
    ]
    pending = {charge["id"]: call for call in calls for charge in call.charges if charge.get("status") == "pending"}
    answered = [call for call in calls if pending.keys().isdisjoint(charge["id"] for charge in call.charges)]
    for call in answered:
        yield "charge_wait", "answered", call.place
    paid = {charge["id"] for call in traffic for charge in call.charges if charge.get("status") == "succeeded"}
    for charge, call in pending.items():
        if call.status == HTTPStatus.ACCEPTED or (charge in paid and not answered):
            yield "charge_wait", "accepted" if call.status == HTTPStatus.ACCEPTED else "interactive", call.place


def _late_after_all(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads the row `late_success` as `succeeds` from each charge that succeeded after its prompt had expired."""
    expired = set()
    for call in traffic:
        for charge in call.charges:
            if charge.get("status") == "succeeded" and charge.get("id") in expired:
                yield "late_success", "succeeds", call.place
            if charge.get("failure_code") == "prompt_timeout":
                expired.add(charge.get("id"))


def _accounts(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads whether any account can get a token, or only one. A single rejected account may just be misspelled."""
    attempts = [call for call in traffic if call.id == "issueToken" and call.sent_body.get("email")]
    accepted = {str(call.sent_body["email"]): call.place for call in attempts if call.ok}
    rejected = {str(call.sent_body["email"]): call.place for call in attempts if call.status == HTTPStatus.UNAUTHORIZED}
    strangers = [place for email, place in rejected.items() if email not in accepted]
    if len(accepted) > 1:
        yield "token_credentials", Part("any", "two accounts are let in"), [*accepted.values()][-1]
    elif accepted and len(strangers) > 1:
        yield "token_credentials", Part("one_account", "one account of three is let in"), strangers[-1]


def _keys(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads from repeated idempotency keys: the status for another body, whether errors are kept, and for how long."""
    first: dict[tuple[str, str], ObservedCall] = {}
    kept_s, forgotten_s, last = Decimal(0), Decimal("inf"), ""
    for call in traffic:
        key = call.sent_headers.get("idempotency-key")
        if key is None or call.id == WEBHOOK:
            continue
        first_call = first.setdefault((call.url, key), call)
        if first_call is call:
            continue
        if first_call.sent_text != call.sent_text:
            if call.status in {400, 409, 422} and "idempoten" in call.text.lower():
                yield "reused_key_status", call.status, call.place
            continue
        is_replay = "idempotent-replayed" in call.headers
        is_fault = first_call.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        error = "a 5xx" if is_fault else "a decline" if first_call.status == HTTPStatus.PAYMENT_REQUIRED else ""
        if error and (is_replay or call.is_accepted):
            text = f"{error} is {'repeated' if is_replay else 'not repeated'}"
            yield "idempotency_keeps_errors", Part("declines" if is_replay else "none", text, 2), call.place
        if first_call.ok and (is_replay or call.ok) and call.at_s and first_call.at_s:
            waited_s, last = call.at_s - first_call.at_s, call.place
            kept_s = max(kept_s, waited_s) if is_replay else kept_s
            forgotten_s = forgotten_s if is_replay else min(forgotten_s, waited_s)
        if not is_replay:
            first[call.url, key] = call
    if last:
        yield "idempotency_retention_s", _retention(kept_s, forgotten_s), last


def _retention(kept_s: Decimal, forgotten_s: Decimal) -> Reading:
    """The only offered time between `kept_s`, the longest wait with a replay, and `forgotten_s`, the shortest without.

    The time is a Part if the waits differ by over two minutes; None while several times fit, an Other if none fits.
    """
    offered = _offered("idempotency_retention_s")
    fits = [value for value in offered if kept_s - _NEAR_S <= value <= forgotten_s + _NEAR_S]
    waits = {"known": kept_s, "forgotten": forgotten_s}
    between = ", ".join(f"{name} after {after_s:.0f} s" for name, after_s in waits.items() if after_s.is_normal())
    if len(fits) == 1:
        return fits[0] if forgotten_s - kept_s <= 2 * _MINUTE_S else Part(fits[0], between)
    return None if fits else Other(between)


_AT_LEAST_S, _FIRST_WAIT_S = 45, 180
"""Bounds in seconds between which no offered schedule has its first wait: schedules begin with 5 s or 1800 s."""
_WAITS: Final = {429, 502, 504}
_REPLAYS: Final = {"replayEvent", "replayDelivery", "replayDeadLetters"}


def _deliveries(traffic: Sequence[ObservedCall]) -> tuple[list[ObservedCall], dict[object, Decimal]]:
    """The webhooks that no replay of their event preceded, and event id → the first replay, in seconds since 1970."""
    deliveries: list[ObservedCall] = []
    replayed_s: dict[object, Decimal] = {}
    for call in traffic:
        if call.id in _REPLAYS:
            events = [call.url.partition("?")[0].split("/")[-2], *(item.get("event") for item in call.objects)]
            replayed_s = {**dict.fromkeys(events, call.at_s), **replayed_s}
        elif call.id == WEBHOOK and str(call.sent_body.get("id")) not in replayed_s:
            deliveries.append(call)
    return deliveries, replayed_s


def _retries(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads from retried webhooks the schedule, which statuses are retried, and whether a 410 disables the endpoint."""
    deliveries, replayed_s = _deliveries(traffic)
    tries_of: dict[tuple[str, str], list[ObservedCall]] = defaultdict(list)
    for call in deliveries:
        if call.at_s:
            tries_of[call.url, str(call.sent_body.get("id"))].append(call)
    gone = {call.url for tries in tries_of.values() for call in tries if call.status == HTTPStatus.GONE}
    for (url, event_id), tries in tries_of.items():
        ended_s = replayed_s.get(event_id, traffic[-1].at_s)
        yield from _first_retry(tries[0], tries[1] if len(tries) > 1 else None, ended_s)
        asks_to_wait = bool({attempt.status for attempt in tries} & _WAITS)
        if tries[0].status >= HTTPStatus.INTERNAL_SERVER_ERROR and url not in gone and not asks_to_wait:
            yield "retry_schedule_s", _schedule(tries, ended_s), tries[-1].place
    for call in traffic:
        off = [endpoint for endpoint in call.of_kind("webhook_endpoint") if endpoint.get("status") == "disabled"]
        # A recording has the endpoint's address; a sandbox's saved trace has the endpoint's id in its place.
        if any(endpoint.get("url") in gone or any(str(endpoint.get("id")) in url for url in gone) for endpoint in off):
            yield "delivery_gone", "disables", call.place


def _first_retry(first: ObservedCall, second: ObservedCall | None, ended_s: Decimal) -> Readings:
    """Reads from an event's first two attempts which failures are retried, and how soon.

    A copy that comes at once is no retry. `second` is None without a second attempt; the wait then lasted until
    `ended_s`, when the recording ended or the event was replayed, in seconds since 1970.
    """
    waited_s = (second.at_s if second else ended_s) - first.at_s
    if first.status == HTTPStatus.OK and second and waited_s < _MINUTE_S:
        yield "repeats", Part("duplicate", "an event that was accepted came again"), second.place
    if first.status in range(203, 300) and waited_s > (1 if second else _GAVE_UP_S):
        text = f"{first.status} is retried" if second else f"{first.status} is not retried"
        yield "delivery_success", Part("200_201_202" if second else "2xx", text), first.place
    if first.status == HTTPStatus.GONE and second:
        yield "delivery_gone", "retried", second.place
    if first.status in _WAITS and second:
        retry_after = first.headers.get("retry-after", "")
        least_s = max(_AT_LEAST_S, min(int(retry_after), 2 * _MINUTE_S)) if retry_after.isdecimal() else _AT_LEAST_S
        value = "ignored" if waited_s < _AT_LEAST_S else "honoured" if least_s <= waited_s < _FIRST_WAIT_S else None
        text = "Retry-After" if retry_after else "a minute after 429, 502 and 504"
        yield "delivery_retry_after", value and Part(value, text, 2), second.place


def _schedule(tries: Sequence[ObservedCall], ended_s: Decimal) -> Reading:
    """The only schedule that fits the waits, give or take a fifth; None while several fit, an Other if none fits.

    The schedule is a Part unless all attempts were seen: each failed, and over two days passed from the last one to
    `ended_s`, in seconds since 1970.
    """
    failed = next((at for at, attempt in enumerate(tries) if attempt.is_success), len(tries))
    waits = [later.at_s - earlier.at_s for earlier, later in pairwise(tries[: failed + 1])]
    is_over = failed == len(tries) and ended_s - tries[-1].at_s > _GAVE_UP_S

    def fits(schedule: tuple[int, ...]) -> bool:
        due = schedule[1:]
        near = all(
            0.8 * due_s - _NEAR_S <= wait <= 1.2 * due_s + _NEAR_S for wait, due_s in zip(waits, due, strict=False)
        )
        return near and (len(waits) == len(due) if is_over else len(waits) <= len(due))

    fitting = [schedule for schedule in _offered("retry_schedule_s") if fits(schedule)]
    text = "waits of " + written([round(wait) for wait in waits])
    if len(fitting) == 1:
        return fitting[0] if is_over else Part(fitting[0], text)
    return None if fitting else Other(text)


def _order(traffic: Sequence[ObservedCall]) -> Readings:
    """Reads whether events arrive after later events of the same object, and how soon outcomes arrive.

    Both need clocks that are near each other.
    """
    if _clock_gap_s(traffic):
        return
    newest: dict[object, Decimal] = {}
    delivered, attempted, late_by, soonest = set(), set(), {}, {}
    for call in _deliveries(traffic)[0]:
        at_s, object_id = _time_s(call), next((item["id"] for item in call.objects), None)
        if not at_s or object_id is None:
            continue
        event_key, is_late = (object_id, call.event, at_s), at_s < newest.get(object_id, at_s)
        late_s = call.at_s - at_s
        if call.ok and is_late and event_key not in delivered:
            value = "out_of_order" if event_key not in attempted and _NEAR_S < late_s < _MINUTE_S else "unordered"
            late_by[value] = call.place
        is_outcome = call.event.endswith(("succeeded", "successful", "failed"))
        # An event that arrives before its time is of a clock that was moved.
        if call.at_s and late_s >= -_NEAR_S and event_key not in attempted and is_outcome:
            soonest[late_s] = call.place
        attempted.add(event_key)
        if call.ok:
            delivered.add(event_key)
            newest[object_id] = max(at_s, newest.get(object_id, at_s))
    for value in sorted(late_by)[:1]:
        text = f"an event came late, after a younger one: {value}"
        yield "ordering", "unordered" if value == "unordered" else Part(value, text), late_by[value]
    for late_s in sorted(soonest)[:1]:
        delays = {"at_once": 0, "thirty_seconds": 30}.items()
        values = [value for value, after_s in delays if abs(late_s - after_s) <= _NEAR_S]
        yield "lateness", values[0] if values else Other(f"{late_s:.0f} s after"), soonest[late_s]


TOGETHER: Final[Mapping[str, Callable[[Sequence[ObservedCall]], Readings]]] = {
    "operator_ids": _operator_ids, "bounds": _bounds, "unit": _unit, "wait": _wait, "accounts": _accounts,
    "late_after_all": _late_after_all, "extra_endpoints": _extra_endpoints, "event_types": _event_types,
    "prompt_timeout": _prompt_timeout, "keys": _keys, "retries": _retries, "order": _order,
}  # fmt: skip
"""Value of the register's column `together` → the function that reads the rows' values from several exchanges."""


# Files and findings


class Finding(NamedTuple):
    """The values of one row of the register that traffic shows, or with which the traffic is consistent.

    `shown` is value → seen part → places of the exchanges; the part "" means that the whole value was shown.
    """

    gap: Gap
    shown: Mapping[Value | Other, Mapping[str, Sequence[str]]]

    @property
    def result(self) -> str:
        """`shown` for one value that was seen whole, `contradicted` for several values, else `open`.

        A value was not seen whole if traffic showed only some of its parts (see Part).
        """
        is_whole = any("" in parts for parts in self.shown.values())
        return "contradicted" if len(self.shown) > 1 else "shown" if is_whole else "open"

    @property
    def value(self) -> Value | None:
        """The value that traffic showed, if it showed one value whole, and the register offers it; otherwise None."""
        only = next(iter(self.shown)) if self.result == "shown" else None
        return None if isinstance(only, Other) else only

    @property
    def says(self) -> list[tuple[str, Value | Other, Sequence[str]]]:
        """For each value a text, the value and its exchanges; the text of a value seen in part names the seen parts."""
        texts: list[tuple[str, Value | Other, Sequence[str]]] = []
        for value, parts in self.shown.items():
            text = f"none of ours: {value.behaviour}" if isinstance(value, Other) else written(value)
            text = text if "" in parts else f"{', '.join(parts)}: consistent with {text}, not shown"
            texts.append((text, value, [*chain.from_iterable(parts.values())]))
        return texts

    @property
    def asks(self) -> str:
        """A question to the provider, whether the values that traffic showed are right."""
        meanings = {self.gap.default: self.gap.says, **self.gap.alternatives}
        texts = []
        for value, parts in self.shown.items():
            meaning = value.behaviour if isinstance(value, Other) else meanings[value]
            texts.append(meaning if "" in parts else f"{', '.join(parts)}, as it would be if this holds: {meaning}")
        return f"{'; and '.join(texts)}. {'Which is' if len(texts) > 1 else 'Is that'} right?"


@dataclass(frozen=True, repr=False)
class Evidence(Tabular):
    """The result of reading recordings: one finding for each row of the register."""

    _width = 80
    findings: tuple[Finding, ...]
    read: int
    """The number of exchanges that were looked at."""
    left_out: bool
    """True if the recordings hold more exchanges than were looked at."""
    apart_s: int = 0
    """The seconds between the clocks of the service and of the recorder; 0 if the clocks are near."""

    @property
    def values(self) -> dict[str, Value]:
        """Name of a register row → the value that the traffic shows; rows whose value it does not show are missing."""
        return {finding.gap.name: finding.value for finding in self.findings if finding.value is not None}

    @property
    def seen(self) -> dict[str, str]:
        """Row → a question to the provider that asks to confirm what traffic showed; `letter` takes this."""
        return {finding.gap.name: finding.asks for finding in self.findings if finding.shown}

    @property
    def _heading(self) -> str:
        return f"What {self.read} recorded exchange{' shows' if self.read == 1 else 's show'}"

    @property
    def _clocks(self) -> list[str]:
        return [f"The service's and the recorder's clocks are {span(self.apart_s)} apart."] * bool(self.apart_s)

    def _table(self) -> DisplayTable:
        kinds, rows = ("shown", "contradicted", "open"), list[tuple[str, ...]]()
        for finding in sorted(self.findings, key=lambda finding: (kinds.index(finding.result), not finding.shown)):
            lines = [f"{text} ({places[0]})" for text, _, places in finding.says]
            if None in finding.gap.unseen and not lines:
                lines = [f"unseen: {finding.gap.unseen[None]}"]
            rows += zip_longest([finding.gap.name], [finding.result], lines, fillvalue="")
        counts = ", ".join(f"{sum(finding.result == kind for finding in self.findings)} {kind}" for kind in kinds)
        more = "; there were more than are looked at" if self.left_out else ""
        caption = ". ".join([f"{self._heading}: {counts}{more}", *self._clocks])
        return table(caption, ("name", "result", "value, by which exchange"), rows)

    @property
    def toml(self) -> str:
        """The rows in the form of `--gaps FILE`; values contradicted, seen in part or unknown are comments."""
        lines = [f"# {line}" for line in (f"{self._heading} of the service.", *self._clocks)]
        for finding in self.findings:
            for text, value, places in finding.says:
                plain = value.behaviour if isinstance(value, Other) else value
                says = f"{finding.gap.name} = {json.dumps(plain, ensure_ascii=False)}  # {places[0]}"
                why = "none of ours" if isinstance(value, Other) else "contradicted" if len(finding.shown) > 1 else text
                lines.append(says if finding.value is not None else f"# {says}: {why}")
        return "\n".join(lines) + "\n"


_PATHS: Final = tuple(
    (
        operation.method,
        re.compile(rf"(?:.*/)?{re.sub(r'{[a-z_]+}', '[^/]+', operation.path.lstrip('/'))}/?"),
        (operation.id, operation.schemes, getattr(operation.body, "__struct_encode_fields__", None)),
    )
    for operation in OPERATIONS
)


def _about(method: str, url: str) -> About | None:
    """Recognises an operation by method and path, on any host and below any path; another POST counts as a webhook."""
    try:
        path = urlsplit(url).path.lstrip("/")
    except ValueError:
        path = ""
    matches = (about for called, pattern, about in _PATHS if called == method and pattern.fullmatch(path))
    return next(matches, (WEBHOOK, (), None) if method == "POST" else None)


def fit(*places: str | Path) -> Evidence:
    """Reads HAR files, or folders of them, and returns for each row of the register what the exchanges show.

    Raises TrafficRefused: a file is no readable HAR, a folder has no HAR, or no exchange is a call of this interface.
    """
    traffic, room = [], MOST_TEXT
    files = [file for place in places for file in files_of(Path(place))]
    for call in chain.from_iterable(recorded(file, _about) for file in files):
        if room <= 0:
            break
        # A webhook is known by its headers and its body, whatever its URL.
        is_signed = any("signature" in name or name == "webhook-id" for name in call.sent_headers)
        if call.id != WEBHOOK or (is_signed and isinstance(call.request.body, dict)):
            traffic.append(call)
            room -= _EXCHANGE + len(call.sent_text) + len(call.text)
    if not traffic:
        hint = "Calls are known by method and path, such as POST …/v1/charges, webhooks by the header of a signature."
        raise TrafficRefused(f"Nothing of this interface is in {', '.join(map(str, places))}.", hint=hint)
    traffic.sort(key=lambda call: call.at_s)
    return Evidence(tuple(_findings(traffic)), len(traffic), room <= 0, _clock_gap_s(traffic))


def _findings(traffic: Sequence[ObservedCall]) -> Iterable[Finding]:
    singly = ((gap.name, gap.sign(call), call.place) for gap in REGISTER if gap.sign for call in traffic)
    together = (TOGETHER[name](traffic) for name in dict.fromkeys(gap.together for gap in REGISTER if gap.together))
    shown_by_row: dict[str, dict[Value | Other, dict[str, list[str]]]] = defaultdict(dict)
    for row, shown, place in chain(singly, *together):
        if shown is not None:
            value, part, parts_needed = shown if isinstance(shown, Part) else (shown, "", 0)
            parts = shown_by_row[row].setdefault(value, {})
            parts.setdefault(part, []).append(place)
            if len(parts) == parts_needed:
                parts.setdefault("", [])
    for gap in REGISTER:
        row, value = gap.unless
        yield Finding(gap, {} if value in shown_by_row.get(row, {}) else shown_by_row.get(gap.name, {}))
