"""What recorded traffic says of the register: a table of signs, each a row and how an exchange shows its value."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from workbench.domain.gaps import REGISTER, Gap, Value, rows_named, written
from workbench.domain.masking import shortened
from workbench.domain.money import MAX_MAJOR_DIGITS
from workbench.domain.payments import BOUNDS_MAJOR
from workbench.domain.phones import COUNTRY_CODE, EVERY_OPERATOR, WITHOUT_WALLET
from workbench.domain.signatures import SCHEMES
from workbench.domain.webhooks import TOLD_AS
from workbench.errors import SignatureRefused, TrafficRefused
from workbench.har import Recorded, files_of, moment_s, recorded
from workbench.render import Table, Tabular, table
from workbench.sandbox.operations import OPERATIONS, Operation

WEBHOOK: Final = "webhook"
MOST_TEXT: Final = 64 * 2**20
"""So much of what is recognised is looked at; what follows is left out, and the result says so."""
_EACH: Final = 2**12
"""What an exchange takes beside the text of its bodies, about, in bytes."""
_SUCCESS, _DIGITS = range(200, 300), 12
_NEAR_S, _MINUTE_S, _GAVE_UP_S = 5, 60, 2 * 86_400


class Other(NamedTuple):
    """What was shown and is no value of the row."""

    what: str


class Part(NamedTuple):
    """What was seen of a value that says more: the value is consistent with it, and not shown by it alone."""

    value: Value
    what: str


Told: TypeAlias = Value | Part
Shown: TypeAlias = Told | Other | None
"""What an exchange shows of a row; None if it shows nothing."""
Body: TypeAlias = dict[str, Any]


class Seen:
    """An exchange of the interface, or a webhook, with its bodies.

    `ok` is a success that is no copy of an earlier one; `took` also what the service took and the customer declined.
    `holds` is how the credential begins, `sk_`, `pk_` or anything else; `phone` the number that was asked for, masked.
    `is_mixed`: another operator is asked for than that of the number. `unknown` are fields that no such request has.
    """

    def __init__(self, exchange: Recorded, operation: Operation | None) -> None:
        self.place, self.url, self.status, self.at_s = exchange.place, exchange.url, exchange.status, exchange.at_s
        self.operation, self.id = operation, operation.id if operation else WEBHOOK
        self.sent, self.got = exchange.request.headers, exchange.response.headers
        self.text, self.sent_text = exchange.response.text, exchange.request.text
        self.asked, self.body = _within(exchange.request.body), _within(exchange.response.body)
        self.ok = self.status in _SUCCESS and "idempotent-replayed" not in self.got
        self.took = self.ok or self.status == HTTPStatus.PAYMENT_REQUIRED
        self.event = str(self.asked.get("type", ""))
        scheme, _, credential = self.sent.get("authorization", "").partition(" ")
        self.scheme, self.holds = scheme.lower(), credential[:3]
        is_charge = self.id == "createCharge"
        payer = self.asked if is_charge else _within(self.asked, "payment_method", "mobile_money")
        self.operator = _short(payer.get("channel" if is_charge else "provider"))
        self.phone = str(payer.get("phone", ""))
        self.wallet = _WALLETS.get(_prefix(self.phone))
        self.is_mixed: bool = bool(self.operator and self.wallet and self.operator != self.wallet)
        amount = _number(self.asked.get("amount"))
        # What is longer than any amount is none: it would be rounded.
        self.amount = amount if amount is not None and amount.is_finite() and abs(amount.adjusted()) < _DIGITS else None
        self.is_fraction = self.amount is not None and self.amount != round(self.amount, 2)
        known = getattr(operation and operation.body, "__struct_encode_fields__", self.asked)
        self.unknown: list[str] = [name for name in self.asked if name not in known]
        listed = self.body.get("data") if self.status in _SUCCESS else []
        found = listed if isinstance(listed, list) else [self.body]
        found = [_within(self.asked, "data", "object")] if self.id == WEBHOOK else found
        self.objects: list[Body] = [each for each in map(_within, found) if isinstance(each.get("id"), str)]
        intents = "createPaymentIntent retrievePaymentIntent listPaymentIntents"
        self.intents: list[Body] = self.of_kind("payment_intent", intents)
        self.charges: list[Body] = self.of_kind("charge", "createCharge retrieveCharge listCharges")

    def of_kind(self, kind: str, operations: str = "") -> list[Body]:
        """Its objects of a kind: by their member `object`, or as the responses of these operations."""
        told = kind if self.id in operations.split() else ""
        return [each for each in self.objects if each.get("object", told) == kind]


def _within(value: Any, *names: str) -> Body:  # noqa: ANN401  JSON is of any type
    """The object that stands below these names; an empty one if none does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


_SHORT, _LONG = {*EVERY_OPERATOR}, {each.long_id for each in EVERY_OPERATOR.values()}
_IDS: Final = {name.lower(): each.id for each in EVERY_OPERATOR.values() for name in (each.id, each.long_id)}
_WALLETS: Final = {prefix: each.id for each in EVERY_OPERATOR.values() for prefix in each.prefixes}


def _short(named: object) -> str | None:
    """An operator by its short identifier."""
    return _IDS.get(str(named).lower())


def _prefix(phone: str) -> str:
    """The two digits that tell the operator."""
    return phone.removeprefix(COUNTRY_CODE).removeprefix("0")[:2]


def _number(value: object) -> Decimal | None:
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _offered(row: str) -> list[Any]:
    (gap,) = rows_named([row])
    return [gap.default, *gap.alternatives]


# What one exchange shows

Shows: TypeAlias = Callable[[Seen], Shown]


def _first(*cases: tuple[Shown, Callable[[Seen], object]]) -> Shows:
    """The value of the first case that an exchange is."""
    return lambda seen: next((value for value, is_so in cases if is_so(seen)), None)


def _tried(
    taken: Value,
    refused: Value,
    *names: str,
    asks: Callable[[Seen], object] = lambda _: True,
    by: Container[int] = (400, 422),
    one: Callable[[Seen], str] | None = None,
) -> Shows:
    """`taken` if what an exchange `asks` for was, `refused` if it was by a status, in words with one of the `names`.

    Where the values say more than one exchange can show, `one` names what this one is about.
    """

    def shows(seen: Seen) -> Shown:
        is_named = not names or any(name in seen.text for name in names)
        if not asks(seen) or not (seen.took or (seen.status in by and is_named)):
            return None
        value = taken if seen.took else refused
        return Part(value, f"{one(seen)} is {'accepted' if seen.took else 'rejected'}") if one else value

    return shows


def _formed(
    forms: Mapping[Told, Callable[[Body], object]],
    of: Callable[[Seen], Body] = lambda seen: seen.body if seen.ok else {},
) -> Shows:
    """The value whose form a body has: that of a success, unless it is another."""

    def shows(seen: Seen) -> Shown:
        body = of(seen)
        other = Other("members " + ", ".join([*body][:12]))
        return next((value for value, fits in forms.items() if fits(body)), other) if body else None

    return shows


def _with(names: str, *, alone: bool = False) -> Callable[[Body], bool]:
    return lambda body: {*body} == {*names.split()} if alone else {*body} >= {*names.split()}


def _states(
    added: str, default: str, objects: Callable[[Seen], list[Body]], is_default: Callable[[Body], object], *, known: str
) -> Shows:
    """The value that adds a state of its own name, or the `default`, where something else stands for that state."""

    def shows(seen: Seen) -> Shown:
        for each in objects(seen):
            status = each.get("status")
            if status == added:
                return added
            if isinstance(status, str) and status not in known.split():
                return Other(f"the state {status[:40]}")
            if is_default(each):
                return default
        return None

    return shows


_PAYS: Final = "createCharge confirmPaymentIntent"
_MAKES: Final = "createCharge createPaymentIntent"
_LISTS: Final = " ".join(each.id for each in OPERATIONS if each.id.startswith("list"))
_EXTRA: Final = {
    each.id: f"{each.method} {each.path}"
    for each in OPERATIONS
    if each.source == "assumed" and "{" not in each.path and "webhook_endpoints" not in each.path
}
_PAYMENTS: Final = {
    "createPaymentIntent": "an intent", "createCharge": "a charge",
    "confirmPaymentIntent": "a confirmation", "retrievePaymentIntent": "a retrieval",
}  # fmt: skip
_OTHER_CASE: Final = {"createPaymentIntent zmw", "createCharge ZMW"}
_OF_ENVELOPE: Final = {*["type", "code", "message", "param", "decline_code", "doc_url", "charge", "request_id"]}
_CENT: Final = Decimal("0.01")
_BOUNDS: Final[Mapping[Value, tuple[Decimal, Decimal]]] = {
    name: (Decimal(least or _CENT), Decimal(most or 10**MAX_MAJOR_DIGITS - _CENT))
    for name, (least, most) in BOUNDS_MAJOR.items()
}


def _scale(seen: Seen) -> Shown:
    asked, got = seen.amount, _number(seen.body.get("amount"))
    if asked is None or not seen.is_fraction or not seen.took:
        return _tried("half_even", "exact", "amount", asks=lambda each: each.is_fraction)(seen)
    if got is not None and got != round(asked, 2):
        return Other(f"{asked} becomes {got}")
    if got is None or abs(asked - got) * 2 != _CENT:
        return Part("half_even", "more than two decimals are accepted")
    return Part("half_even", f"half a ngwee goes {'up' if got > asked else 'down'}")


def _channel(seen: Seen) -> Shown:
    asked, moved = seen.operator, seen.wallet
    for each in seen.charges:
        channel, provider = _short(each.get("channel")), _short(each.get("provider"))
        if seen.id == "createCharge" and seen.is_mixed:
            is_ours = (channel, provider) == (asked, moved)
            told = Other(f"channel {channel} and provider {provider} for {asked} and a number of {moved}")
            return "equal" if channel == provider else "asked_and_moved" if is_ours else told
        if channel != provider:
            return Part("asked_and_moved", "channel and provider differ")
    return None


def _prompt_timeout(seen: Seen) -> Shown:
    begun_s = _time_s(seen.asked) if seen.id == WEBHOOK else seen.at_s
    asks = begun_s and (seen.event.endswith("requires_action") if seen.id == WEBHOOK else seen.ok)
    ends = [_number(_within(each, "next_action", "ussd_prompt").get("expires_at")) for each in seen.objects if asks]
    for lasts in [float(each) - begun_s for each in ends if each is not None]:
        near = [each for each in _offered("prompt_timeout_s") if abs(lasts - each) <= _NEAR_S]
        return near[0] if near else Other(f"{lasts:.0f} s")
    return None


def _time_s(event: Body) -> float:
    return moment_s(str(event.get("timestamp") or event.get("time")))


def _schemes(seen: Seen) -> Shown:
    documented = seen.operation.schemes if seen.operation else ()
    if len(documented) != 1 or seen.scheme not in {"basic", "bearer"} or seen.scheme == documented[0].lower():
        return None
    offered = seen.got.get("www-authenticate", "").lower()
    asks = seen.took or (documented[0].lower() in offered and seen.scheme not in offered)
    return _tried("either", "as_documented", by={401})(seen) if asks else None


def _events(seen: Seen) -> Shown:
    names = ("type", "event_type", "event", "topic")
    told = next((seen.asked[name] for name in names if isinstance(seen.asked.get(name), str)), "no type")
    named = (Part(value, told) for value, types in TOLD_AS.items() if told in types.values())
    return next(named, Other(told[:60]))


def _signed(seen: Seen) -> Shown:
    for name, way in SCHEMES.items():
        if all(header.lower() in seen.sent for header in way.headers):
            with suppress(SignatureRefused):
                way.read({header: seen.sent[header.lower()] for header in way.headers})
                return name
    found = [name for name in seen.sent if "signature" in name]
    return Other(f"the header {found[0][:60]}") if found else None


def _rate(seen: Seen) -> Shown:
    policy = seen.got.get("ratelimit-policy")
    if policy is None:
        return Other("429, with no policy told") if seen.status == HTTPStatus.TOO_MANY_REQUESTS else None
    return "100_per_60" if re.search(r"\bq=100\b.*\bw=60\b", policy) else Other(policy[:60])


SIGNS: Final[tuple[tuple[str, str, Shows], ...]] = (
    ("payouts", WEBHOOK,
     _first(("on_request", lambda seen: seen.event == "payout.created"
             and (seen.asked.get("requestid") or _within(seen.asked, "request").get("id"))),
            (Part("daily", "a payout that no request made"), lambda seen: seen.event == "payout.created"))),
    ("success_status", "createPaymentIntent createRefund createPayout",
     lambda seen: {200: "200", 201: "201_created"}.get(seen.status, Other(str(seen.status))) if seen.ok else None),
    ("currencies", _MAKES,
     _tried("iso4217", "zmw", "currency", one=lambda seen: str(seen.asked["currency"]).upper(),
            asks=lambda seen: re.fullmatch(r"(?i)(?!zmw|zmk)[a-z]{3}", str(seen.asked.get("currency"))))),
    ("currency_case", _MAKES,
     _tried("either", "strict", "currency", one=lambda seen: f"{seen.asked['currency']} for {_PAYMENTS[seen.id]}",
            asks=lambda seen: f"{seen.id} {seen.asked.get('currency')}" in _OTHER_CASE)),
    ("payment_method_types", "createPaymentIntent",
     _tried("includes", "only", "payment_method_types", asks=lambda seen: {"mobile_money"} < {
         *map(str, types if isinstance(types := seen.asked.get("payment_method_types"), list) else ())})),
    ("required_fields", "createCharge",
     _tried("minimum", "with_reference", "reference", one=lambda _: "a charge without a reference",
            asks=lambda seen: seen.asked and not seen.asked.get("reference"))),
    ("intent_fields", "createPaymentIntent",
     _formed({"minimal": _with("id client_secret status", alone=True),
              "full": _with("id client_secret object amount currency status description payment_method_types "
                            "payment_method next_action last_payment_error latest_charge metadata warnings "
                            "created livemode")})),
    ("unknown_fields", f"{_MAKES} confirmPaymentIntent",
     _first(("ignored", lambda seen: seen.unknown and seen.took),
            ("refused", lambda seen: seen.unknown and seen.status in {400, 422}
             and all(name in seen.text for name in seen.unknown)))),
    ("phone_format", _PAYS, _tried("national", "e164", "phone", asks=lambda seen: re.match("0[1-9]", seen.phone)
                                      and _prefix(seen.phone) in {*_WALLETS} - {*WITHOUT_WALLET})),
    ("zed_mobile", _PAYS,
     _tried("zed", "refused", "phone", one=lambda seen: f"a {_prefix(seen.phone)}",
            asks=lambda seen: seen.phone.startswith(COUNTRY_CODE) and _prefix(seen.phone) in WITHOUT_WALLET)),
    ("intent_amount_scale", "createPaymentIntent", _scale),
    ("channel_and_provider", "", _channel),
    ("operator_mismatch", _PAYS,
     _tried("accepted", "refused", "provider", "channel", by={400}, one=lambda _: "a number of another operator",
            asks=lambda seen: seen.is_mixed)),
    ("intent_states", "",
     _states("failed", "retryable", lambda seen: seen.intents,
             lambda each: each.get("status") == "requires_payment_method" and each.get("last_payment_error"),
             known="requires_payment_method requires_action processing succeeded canceled")),
    ("charge_states", "",
     _states("expired", "three", lambda seen: seen.charges,
             lambda each: each.get("status") == "failed" and each.get("failure_code") == "prompt_timeout",
             known="pending succeeded failed")),
    ("prompt_timeout_s", f"confirmPaymentIntent {WEBHOOK}", _prompt_timeout),
    ("late_success", "",
     _first((Part("suspense", "an event of late success"), lambda seen: seen.event.endswith(".late_success")),
            (Part("suspense", "money in suspense"),
             lambda seen: any(each.get("suspense") for each in (*seen.charges, *seen.intents))))),
    ("confirm_with_money_in_suspense", "confirmPaymentIntent",
     _first(("refused", lambda seen: seen.status == HTTPStatus.CONFLICT and "money_in_suspense" in seen.text),
            ("accepted", lambda seen: seen.ok and "suspense" in str(seen.body.get("warnings"))))),
    ("confirm_response", "confirmPaymentIntent",
     _first(("accepted", lambda seen: seen.status == HTTPStatus.ACCEPTED and {*seen.body} == {"id", "status"}),
            (Other("id and status without 202"), lambda seen: seen.ok and {*seen.body} == {"id", "status"}),
            ("intent", lambda seen: "expires_at" in _within(seen.body, "next_action", "ussd_prompt")),
            (Part("intent", "the intent, without a prompt"), lambda seen: seen.ok and "client_secret" in seen.body),
            (Other("neither the intent nor its status"), lambda seen: seen.ok and seen.body))),
    ("client_secret_on_confirm", "confirmPaymentIntent",
     _tried("with_publishable_key", "always", "client_secret",
            asks=lambda seen: seen.asked and "client_secret" not in seen.asked and seen.holds != "pk_")),
    ("extra_endpoints", " ".join(_EXTRA),
     _tried("offered", "absent", by={404}, one=lambda seen: _EXTRA.get(seen.id, ""),
            # A refund of what there is not gets a 404 too.
            asks=lambda seen: seen.ok or seen.id != "createRefund")),
    ("pagination", _LISTS,
     _formed({"cursor": _with("object url has_more data"), "page": _with("object url data page per_page total")},
             lambda seen: seen.body if seen.ok and isinstance(seen.body.get("data"), list) else {})),
    ("token_field", "issueToken refreshToken",
     _formed({"access_token": _with("access_token"), "token": _with("token"),
              "data.token": lambda body: "token" in _within(body, "data")})),
    ("refresh_request", "refreshToken",
     _tried("body_or_header", "body", asks=lambda seen: seen.scheme and not seen.sent_text
            and seen.sent.get("content-length", "0") == "0")),
    ("access_token_use", " ".join(each.id for each in OPERATIONS if each.id != "createPlant"),
     _tried("everywhere", "plants", by={403}, asks=lambda seen: seen.scheme == "bearer"
            and seen.holds not in {"sk_", "pk_"} and "/v1/auth/" not in seen.url)),
    ("publishable_key", "confirmPaymentIntent retrievePaymentIntent",
     _tried("own_intent", "nothing", by={403}, one=lambda seen: _PAYMENTS[seen.id],
            asks=lambda seen: seen.holds == "pk_" and "client_secret" in f"{seen.url} {[*seen.asked]}")),
    ("auth_schemes", "", _schemes),
    ("key_rotation", "listApiKeys rollApiKey",
     _first((Part("overlap", "a rolled key works on for some time"),
             lambda seen: any(each.get("works_until") for each in seen.objects)))),
    ("key_revocation", "", _first((Part("at_once", "401 key_revoked"), lambda seen: '"key_revoked"' in seen.text))),
    ("event_types", WEBHOOK, _events),
    ("event_payload", WEBHOOK,
     _formed({"cloudevents": _with("specversion id source type data"),
              "envelope": _with("id type timestamp api_version livemode data request")}, lambda seen: seen.asked)),
    ("signature_scheme", WEBHOOK, _signed),
    ("endpoint_registration", "createWebhookEndpoint listWebhookEndpoints",
     _first((Part("dashboard", "the API has no endpoints"), lambda seen: seen.status == HTTPStatus.NOT_FOUND),
            (Part("api", "there are several endpoints"), lambda seen: len(seen.of_kind("webhook_endpoint")) > 1),
            (Part("api", "the API registers one"), lambda seen: seen.ok and seen.id == "createWebhookEndpoint"))),
    ("endpoint_disable_after_s", WEBHOOK,
     _first((Part(432_000, "an endpoint is disabled"), lambda seen: seen.event == "webhook_endpoint.disabled"))),
    ("replay", "replayEvent",
     _first(("same_id", lambda seen: any(f"/{each.get('event')}/" in seen.url for each in seen.objects)),
            ("new_id", lambda seen: any(each.get("event") for each in seen.objects)))),
    ("error_format", "",
     _formed({"envelope": lambda body: {"type", "code", "message"} <= {*_within(body, "error")} <= _OF_ENVELOPE,
              Part("envelope", "an object error"): lambda body: _within(body, "error"),
              "plain": _with("error message", alone=True), "problem": _with("type title status error message")},
             lambda seen: {} if seen.status < HTTPStatus.BAD_REQUEST or seen.id in {WEBHOOK, "createPlant"}
             else seen.body)),
    ("declined_status", "createCharge",
     _first(("402", lambda seen: seen.status == HTTPStatus.PAYMENT_REQUIRED),
            ("200", lambda seen: seen.ok and (seen.status, seen.body.get("status")) == (200, "failed")))),
    ("rate_limit", "", _rate),
    ("idempotency_required", "createCharge",
     _tried("never", "charges", "Idempotency-Key", "idempotency",
            asks=lambda seen: "idempotency-key" not in seen.sent)),
    ("version_header", " ".join(each.id for each in OPERATIONS),
     _first((Part("api_version", "a header with an unknown version is rejected"),
             lambda seen: "api-version" in seen.sent and seen.status == HTTPStatus.BAD_REQUEST
             and "version" in seen.text.lower()),
            (Part("api_version", "in a response"), lambda seen: "api-version" in seen.got),
            (Part("none", "a header with a version is ignored"),
             lambda seen: "api-version" in seen.sent and seen.took),
            (Part("none", "in no response"), lambda _: True))),
    ("deprecation", "", _first(("headers", lambda seen: {"deprecation", "sunset"} <= {*seen.got}))),
)  # fmt: skip
"""What an exchange shows by itself."""


# What several exchanges show together

Found: TypeAlias = Iterator[tuple[str, Shown, str]]
"""The name of a row, the value that was shown, and where."""


def _operator_ids(traffic: Sequence[Seen]) -> Found:
    """Each identifier in a response."""
    for seen in traffic:
        told = [each.get(name) for each in seen.charges for name in ("channel", "provider")]
        told += [_within(each, "payment_method", "mobile_money").get("provider") for each in seen.intents]
        for each in map(str, filter(None, told)):
            ours = "short" if each in _SHORT else "long" if each in _LONG else None
            yield "operator_ids", Part(ours, each) if ours else Other(each[:40]), seen.place


def _bounds(traffic: Sequence[Seen]) -> Found:
    """The amounts of intents that were accepted and rejected: bounds are shown to the ngwee, or not at all."""
    tried = {
        seen.amount: seen for seen in traffic
        if seen.id == "createPaymentIntent" and seen.amount and not seen.is_fraction
        and (seen.ok or (seen.status in {400, 422} and "amount" in seen.text))
    }  # fmt: skip
    low, high = _BOUNDS["1_to_20000"]
    telling = {amount: seen for amount, seen in sorted(tried.items()) if not low <= amount <= high}
    what = ", ".join(f"{amount:.2f} is {'accepted' if seen.ok else 'rejected'}" for amount, seen in telling.items())
    told: Shown = Other(what)
    for value, (least, most) in _BOUNDS.items():
        if all(seen.ok is (least <= amount <= most) for amount, seen in tried.items()):
            edges = {least, most} | ({least - _CENT, most + _CENT} if value != "none" else set())
            told = value if edges <= {*tried} else Part(value, what)
    for seen in [*telling.values()][-1:]:
        yield "amount_bounds", told, seen.place


def _unit(traffic: Sequence[Seen]) -> Found:
    """An intent in major units, and a charge of it in its own."""
    intents: dict[object, Decimal] = {}
    for seen in traffic:
        for each in seen.intents:
            # An intent that shows no amount has the one that was asked for.
            asked = seen.asked.get("amount") if seen.id == "createPaymentIntent" else None
            if (amount := _number(each.get("amount", asked))) is not None:
                intents[each["id"]] = amount
    for seen in traffic:
        for each in seen.charges:
            major, told = intents.get(str(each.get("payment_intent"))), _number(each.get("amount"))
            if each.get("payment_intent") and major and told:
                unit = "minor" if told == major * 100 else "major" if told == major else None
                yield "charge_amount_unit", unit or Other(f"{told} where the intent has {major}"), seen.place


def _wait(traffic: Sequence[Seen]) -> Found:
    """Whether a charge is answered within the call. A prompt that nobody answered leaves one pending either way."""
    calls = [seen for seen in traffic if seen.id == "createCharge" and seen.took]
    pending = {each["id"]: seen for seen in calls for each in seen.charges if each.get("status") == "pending"}
    answered = [seen for seen in calls if (seen.charges or not seen.ok) and seen not in pending.values()]
    for seen in answered:
        yield "charge_wait", "answered", seen.place
    paid = {each["id"] for seen in traffic for each in seen.charges if each.get("status") == "succeeded"}
    for charge, seen in pending.items():
        if seen.status == HTTPStatus.ACCEPTED or (charge in paid and not answered):
            yield "charge_wait", "accepted" if seen.status == HTTPStatus.ACCEPTED else "interactive", seen.place


def _late_after_all(traffic: Sequence[Seen]) -> Found:
    """A charge that succeeded after its prompt had expired."""
    expired = set()
    for seen in traffic:
        for each in seen.charges:
            if each.get("status") == "succeeded" and each.get("id") in expired:
                yield "late_success", "succeeds", seen.place
            if each.get("failure_code") == "prompt_timeout":
                expired.add(each.get("id"))


def _accounts(traffic: Sequence[Seen]) -> Found:
    """Two accounts are let in, or two refused where another is let in: one may be misspelled."""
    asked = [seen for seen in traffic if seen.id == "issueToken" and seen.asked.get("email")]
    known = {str(seen.asked["email"]): seen.place for seen in asked if seen.ok}
    refused = {str(seen.asked["email"]): seen.place for seen in asked if seen.status == HTTPStatus.UNAUTHORIZED}
    strangers = [place for email, place in refused.items() if email not in known]
    if len(known) > 1:
        yield "token_credentials", Part("any", "two accounts are let in"), [*known.values()][-1]
    elif known and len(strangers) > 1:
        yield "token_credentials", Part("one_account", "one account of three is let in"), strangers[-1]


def _keys(traffic: Sequence[Seen]) -> Found:
    """A key that was used again: for the same, for something else, and after how long."""
    first: dict[tuple[str, str], Seen] = {}
    waited: list[tuple[float, bool, str]] = []
    for seen in traffic:
        key = seen.sent.get("idempotency-key")
        if key is None or seen.id == WEBHOOK:
            continue
        before = first.setdefault((seen.url, key), seen)
        if before is seen:
            continue
        if before.sent_text != seen.sent_text:
            if seen.status in {400, 409, 422} and "idempoten" in seen.text.lower():
                yield "reused_key_status", seen.status, seen.place
            continue
        again = "idempotent-replayed" in seen.got
        is_fault = before.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        kept = "a 5xx" if is_fault else "a decline" if before.status == HTTPStatus.PAYMENT_REQUIRED else ""
        if kept and (again or seen.took):
            told = Part("declines", f"{kept} is repeated") if again else Part("none", f"{kept} is not repeated")
            yield "idempotency_keeps_errors", told, seen.place
        if before.ok and (again or seen.ok) and seen.at_s and before.at_s:
            waited.append((seen.at_s - before.at_s, again, seen.place))
        if not again:
            first[seen.url, key] = seen
    yield from _retained(waited)


def _retained(waited: Sequence[tuple[float, bool, str]]) -> Found:
    """A time between the longest after which a key was known and the shortest after which it was not."""
    known = max((after_s for after_s, again, _ in waited if again), default=0)
    forgotten = min((after_s for after_s, again, _ in waited if not again), default=float("inf"))
    offered = _offered("idempotency_retention_s")
    fits = [each for each in offered if known - _NEAR_S <= each <= forgotten + _NEAR_S]
    between = f"known after {known:.0f} s, forgotten after {forgotten:.0f} s"
    if waited and len(fits) < 2:  # noqa: PLR2004  one, or none
        is_near = forgotten - known <= 2 * _MINUTE_S
        told = Other(between) if not fits else fits[0] if is_near else Part(fits[0], between)
        yield "idempotency_retention_s", told, waited[-1][2]


_AT_LEAST_S, _FIRST_WAIT_S = 45, 180
"""A first wait between these is neither the schedule's 5 s nor its 1800 s."""
_WAITS: Final = {429, 502, 504}


def _retries(traffic: Sequence[Seen]) -> Found:
    """How an event came again whose answer was none that a delivery takes."""
    came: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for seen in traffic:
        if seen.id == WEBHOOK and seen.at_s:
            came[seen.url, str(seen.asked.get("id"))].append(seen)
    ended_s = traffic[-1].at_s
    replayed = {seen.url.partition("?")[0].split("/")[-2] for seen in traffic if seen.id == "replayEvent"}
    gone = {seen.url for tries in came.values() for seen in tries if seen.status == HTTPStatus.GONE}
    for (url, event_id), tries in came.items():
        again = tries[1] if len(tries) > 1 else None
        yield from _second(tries[0], again, ended_s)
        is_soon = again and again.at_s - tries[0].at_s < _MINUTE_S
        if tries[0].status == HTTPStatus.OK and again and is_soon and event_id not in replayed:
            yield "repeats", Part("duplicate", "an event that was accepted came again"), again.place
        is_told_when = bool({each.status for each in tries} & _WAITS)
        if tries[0].status >= HTTPStatus.INTERNAL_SERVER_ERROR and url not in gone and not is_told_when:
            yield "retry_schedule_s", _schedule(tries, ended_s), tries[-1].place
    for seen in traffic:
        off = [each for each in seen.of_kind("webhook_endpoint") if each.get("status") == "disabled"]
        # A recording has the address, what a sandbox's trace is saved as the id in its place.
        if any(each.get("url") in gone or any(str(each.get("id")) in url for url in gone) for each in off):
            yield "delivery_gone", "disables", seen.place


def _second(first: Seen, again: Seen | None, ended_s: float) -> Found:
    """What is shown by that an event came a second time, or did not; what comes at once is no retry."""
    if first.status in range(203, 300) and (
        again.at_s - first.at_s > 1 if again else ended_s - first.at_s > _GAVE_UP_S
    ):
        taken = Part("2xx", f"{first.status} is not retried")
        yield "delivery_success", Part("200_201_202", f"{first.status} is retried") if again else taken, first.place
    if first.status == HTTPStatus.GONE and again:
        yield "delivery_gone", "retried", again.place
    if first.status in _WAITS and again:
        wait_s, asked = again.at_s - first.at_s, first.got.get("retry-after", "")
        least_s = max(_AT_LEAST_S, min(int(asked), 2 * _MINUTE_S)) if asked.isdecimal() else _AT_LEAST_S
        near = "ignored" if wait_s < _AT_LEAST_S else "honoured" if least_s <= wait_s < _FIRST_WAIT_S else None
        told = "Retry-After" if asked else "a minute after 429, 502 and 504"
        yield "delivery_retry_after", near and Part(near, told), again.place


def _schedule(tries: Sequence[Seen], ended_s: float) -> Shown:
    """The one schedule that fits what was waited, a fifth more or less; none while several do."""
    failed = next((at for at, each in enumerate(tries) if each.status in _SUCCESS), len(tries))
    waits = [two.at_s - one.at_s for one, two in pairwise(tries[: failed + 1])]
    is_over = failed == len(tries) and ended_s - tries[-1].at_s > _GAVE_UP_S

    def fits(schedule: tuple[int, ...]) -> bool:
        due = schedule[1:]
        near = all(0.8 * one - _NEAR_S <= wait <= 1.2 * one + _NEAR_S for wait, one in zip(waits, due, strict=False))
        return near and (len(waits) == len(due) if is_over else len(waits) <= len(due))

    found = [each for each in _offered("retry_schedule_s") if fits(each)]
    told = "waits of " + written([round(each) for each in waits])
    if len(found) == 1:
        return found[0] if is_over else Part(found[0], told)
    return None if found else Other(told)


def _order(traffic: Sequence[Seen]) -> Found:
    """An event that first arrived after a younger one of its object had, and how soon a success or failure came."""
    newest: dict[object, float] = {}
    known, tried, found, soonest = set(), set(), {}, {}
    for seen in traffic:
        at_s, about = _time_s(seen.asked), next((each["id"] for each in seen.objects), None)
        if seen.id != WEBHOOK or not at_s or about is None:
            continue
        same, is_late = (about, seen.event, at_s), at_s < newest.get(about, at_s)
        late_s = seen.at_s - at_s
        if seen.ok and is_late and same not in known:
            way = "out_of_order" if same not in tried and _NEAR_S < late_s < _MINUTE_S else "unordered"
            found[way] = seen.place
        if seen.at_s and same not in tried and seen.event.endswith(("succeeded", "successful", "failed")):
            soonest[late_s] = seen.place
        tried.add(same)
        if seen.ok:
            known.add(same)
            newest[about] = max(at_s, newest.get(about, at_s))
    for way in sorted(found)[:1]:
        what = f"an event came late, after a younger one: {way}"
        yield "ordering", "unordered" if way == "unordered" else Part(way, what), found[way]
    for late_s in sorted(soonest)[:1]:
        near = {"at_once": 0, "thirty_seconds": 30}.items()
        told = [each for each, after_s in near if abs(late_s - after_s) <= _NEAR_S]
        yield "lateness", told[0] if told else Other(f"{late_s:.0f} s after"), soonest[late_s]


TOGETHER: Final = (_operator_ids, _bounds, _unit, _wait, _late_after_all, _accounts, _keys, _retries, _order)
PARTS: Final[Mapping[str, int]] = {
    "currency_case": 2, "operator_ids": 3, "zed_mobile": len(WITHOUT_WALLET), "intent_amount_scale": 3,
    "operator_mismatch refused": 1, "late_success": 2, "extra_endpoints": len(_EXTRA), "publishable_key": 2,
    "event_types by_object": len(TOLD_AS["by_object"]), "event_types collection": len(TOLD_AS["collection"]),
    "endpoint_registration api": 2, "delivery_retry_after": 2, "idempotency_keeps_errors": 2, "version_header": 2,
}  # fmt: skip
"""Row, or row and value → how many parts a value has: all must be seen before it is shown.

A value with parts that does not stand here is never shown: no recording has every currency, or every status.
"""
_LEDGER: Final = "fees stand in the service's ledger and in a balance of all payments"
_LUCK: Final = "that it did not happen may be luck"
UNSEEN: Final[Mapping[tuple[str, Value | None], str]] = {
    ("clearing", None): "a balance is of all payments of the account, those outside of the recording too",
    **dict.fromkeys((("merchant_fee", None), ("operator_fee", None), ("fee_on_refund", None)), _LEDGER),
    ("pin_attempts", None): "it happens on the customer's phone",
    ("signature_tolerance_s", None): "the receiver chooses it",
    ("delivery_timeout_s", None): "a recording does not tell how long a receiver was waited for",
    ("dead_letter", None): "it shows after thirty days, and by what is no longer listed",
    ("failure_triggers", None): "test numbers are masked on reading",
    ("key_rotation", "at_once"): "keys are masked on reading: which one was refused is not known",
    ("ordering", "per_object"): _LUCK, ("repeats", "once"): _LUCK, ("rate_limit", "none"): _LUCK,
    ("endpoint_disable_after_s", 0): _LUCK, ("deprecation", "none"): _LUCK,
}  # fmt: skip
"""Row, and value or None for all of them → why recorded traffic does not show it."""


# Files, and what they come to


class Finding(NamedTuple):
    """What the traffic says of one row: each value that was shown, or is consistent with what was.

    A value has its parts that were seen, and by which exchanges; what was shown whole has the part of no name.
    """

    gap: Gap
    shown: Mapping[Value | Other, Mapping[str, Sequence[str]]]

    @property
    def result(self) -> str:
        """`shown`, `contradicted` or `open`."""
        is_whole = any("" in parts for parts in self.shown.values())
        return "contradicted" if len(self.shown) > 1 else "shown" if is_whole else "open"

    @property
    def value(self) -> Value | None:
        """The one value of the register that was shown."""
        only = next(iter(self.shown)) if self.result == "shown" else None
        return None if isinstance(only, Other) else only

    @property
    def says(self) -> list[tuple[str, Value | Other, Sequence[str]]]:
        """A text, a value and the exchanges for each value; of one that was seen in part, what was seen."""
        told: list[tuple[str, Value | Other, Sequence[str]]] = []
        for value, parts in self.shown.items():
            text = f"none of ours: {value.what}" if isinstance(value, Other) else written(value)
            text = text if "" in parts else f"{', '.join(parts)}: consistent with {text}, not shown"
            told.append((text, value, [*chain.from_iterable(parts.values())]))
        return told

    @property
    def asks(self) -> str:
        """What was seen, in words that a provider knows, and whether that is right."""
        meanings = {self.gap.default: self.gap.says, **self.gap.alternatives}
        told = []
        for value, parts in self.shown.items():
            meaning = value.what if isinstance(value, Other) else meanings[value]
            told.append(meaning if "" in parts else f"{', '.join(parts)}, as it would be if this holds: {meaning}")
        return f"{'; and '.join(told)}. {'Which is' if len(told) > 1 else 'Is that'} right?"

    @property
    def why(self) -> str:
        """Why nothing can be shown of it, where that is so."""
        return "" if self.shown else UNSEEN.get((self.gap.name, None), "")

    def as_record(self) -> dict[str, Any]:
        """The finding as JSON types."""
        values = [{"value": _told(value), "says": text, "by": places} for text, value, places in self.says]
        about = {"section": self.gap.section, "name": self.gap.name, "result": self.result}
        return {**about, "values": values, "why": self.why}


def _told(value: Value | Other) -> Any:  # noqa: ANN401  a JSON value
    return value.what if isinstance(value, Other) else list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, repr=False)
class Evidence(Tabular):
    """What some files say of the whole register."""

    findings: tuple[Finding, ...]
    read: int
    """How many exchanges were looked at."""
    left_out: bool
    """Whether there were more than are looked at."""

    @property
    def values(self) -> dict[str, Value]:
        """Row → the value that was shown, of those that have one."""
        return {each.gap.name: each.value for each in self.findings if each.value is not None}

    @property
    def seen(self) -> dict[str, str]:
        """Row → what was seen of it, as a question to the provider: for `letter`."""
        return {each.gap.name: each.asks for each in self.findings if each.shown}

    def _table(self, most: int = 34) -> Table:
        kinds, rows = ("shown", "contradicted", "open"), []
        for each in sorted(self.findings, key=lambda each: (kinds.index(each.result), not each.shown)):
            lines = [f"{text} ({places[0]})" for text, _, places in each.says] or [each.why and f"unseen: {each.why}"]
            heads = [(each.gap.name, each.result), *[("", "")] * (len(lines) - 1)]
            rows += [(*head, shortened(line, most)) for head, line in zip(heads, lines, strict=True)]
        counts = ", ".join(f"{sum(each.result == kind for each in self.findings)} {kind}" for kind in kinds)
        more = "; there were more than are looked at" if self.left_out else ""
        caption = f"What {self.read} recorded exchanges show: {counts}{more}"
        return table(caption, ("name", "result", "value, by which exchange"), rows)

    def text(self, width: int | None = None) -> str:
        """The table in lines of at most `width` columns, its texts whole; without a width, long ones are cut off."""
        return (self._table(sys.maxsize) if width else self._table()).text(width)

    @property
    def toml(self) -> str:
        """The rows as `--gaps FILE` takes them; what is not shown, or cannot be reproduced, is a comment."""
        lines = [f"# What {self.read} recorded exchanges show of the service."]
        for each in self.findings:
            for text, value, places in each.says:
                says = f"{each.gap.name} = {json.dumps(_told(value), ensure_ascii=False)}  # {places[0]}"
                why = "none of ours" if isinstance(value, Other) else "contradicted" if len(each.shown) > 1 else text
                lines.append(says if each.value is not None else f"# {why}: {says}")
        return "\n".join(lines) + "\n"


_PATHS: Final = tuple(
    (each, re.compile(rf"(?:.*/)?{re.sub(r'{[a-z_]+}', '[^/]+', each.path.lstrip('/'))}/?")) for each in OPERATIONS
)


def _operation(method: str, url: str) -> Operation | None:
    """The operation of a call, whatever the host and whatever stands before its path."""
    try:
        path = urlsplit(url).path.lstrip("/")
    except ValueError:
        return None
    return next((each for each, pattern in _PATHS if each.method == method and pattern.fullmatch(path)), None)


def fit(*places: str | Path) -> Evidence:
    """Reads HAR files, or folders of them, and says of each row of the register what the exchanges show.

    Raises TrafficRefused: a file that cannot be read as HAR, a folder without any, or nothing of this interface in it.
    """
    traffic, room = [], MOST_TEXT
    files = [each for place in places for each in files_of(Path(place))]
    # A webhook is told by its headers and its body, whatever it is sent to.
    is_wanted = lambda method, url: method == "POST" or _operation(method, url) is not None  # noqa: E731  said once
    for exchange in chain.from_iterable(recorded(file, is_wanted) for file in files):
        if room <= 0:
            break
        operation, sent = _operation(exchange.method, exchange.url), exchange.request
        is_signed = any("signature" in name or name == "webhook-id" for name in sent.headers)
        if operation is not None or (is_signed and isinstance(sent.body, dict)):
            traffic.append(Seen(exchange, operation))
            room -= _EACH + len(exchange.request.text) + len(exchange.response.text)
    if not traffic:
        hint = "Calls are known by method and path, such as POST …/v1/charges, webhooks by the header of a signature."
        raise TrafficRefused(f"Nothing of this interface is in {', '.join(map(str, places))}.", hint=hint)
    traffic.sort(key=lambda each: each.at_s)
    return Evidence(tuple(_findings(traffic)), len(traffic), room <= 0)


def _findings(traffic: Sequence[Seen]) -> Iterable[Finding]:
    found: dict[str, dict[Value | Other, dict[str, list[str]]]] = defaultdict(dict)
    for row, told, place in _shown(traffic):
        if told is not None:
            value, what = told if isinstance(told, Part) else (told, "")
            found[row].setdefault(value, {}).setdefault(what, []).append(place)
    if "absent" in found["extra_endpoints"]:
        # Then the endpoints of webhooks are missing with all the others.
        found.pop("endpoint_registration", None)
    for row, values in found.items():
        for value, parts in values.items():
            if len(parts) == PARTS.get(row, PARTS.get(f"{row} {value}")):
                parts.setdefault("", [])
    return (Finding(gap, found.get(gap.name, {})) for gap in REGISTER)


def _shown(traffic: Sequence[Seen]) -> Found:
    for row, operations, shows in SIGNS:
        of = {*operations.split()}
        for seen in traffic:
            if not of or seen.id in of:
                yield row, shows(seen), seen.place
    for together in TOGETHER:
        yield from together(traffic)
