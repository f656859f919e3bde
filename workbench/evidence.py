"""What recorded traffic says of the register: a table of signs, each a row and how an exchange shows its value."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from http import HTTPStatus
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit

from workbench.domain.gaps import REGISTER, Gap, Value, rows_named, written
from workbench.domain.masking import shortened
from workbench.domain.phones import COUNTRY_CODE, EVERY_OPERATOR, WITHOUT_WALLET, operator_named, operator_of
from workbench.domain.signatures import SCHEMES
from workbench.domain.webhooks import TOLD_AS
from workbench.errors import InvalidRequest, SignatureRefused, TrafficRefused
from workbench.har import Recorded, files_of, moment_s, recorded
from workbench.render import Table, Tabular, table
from workbench.sandbox.operations import OPERATIONS, Operation

WEBHOOK: Final = "webhook"
_SUCCESS: Final = range(200, 300)
_FAULT: Final = 400
MOST_TEXT: Final = 64 * 2**20
"""So much of what is recognised is looked at; what follows is left out, and the result says so."""
_EACH: Final = 2**12
"""What an exchange takes beside the text of its bodies, about, in bytes."""


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
T = TypeVar("T")


class Seen:
    """An exchange of the interface, or a webhook, with its bodies."""

    def __init__(self, exchange: Recorded, operation: Operation | None) -> None:
        self.place, self.url, self.status, self.at_s = exchange.place, exchange.url, exchange.status, exchange.at_s
        self.operation = operation
        self.id = operation.id if operation else WEBHOOK
        self.sent, self.got = exchange.request.headers, exchange.response.headers
        self.text, self.sent_text = exchange.response.text, exchange.request.text
        asked, body = exchange.request.body, exchange.response.body
        self.asked: Body = asked if isinstance(asked, dict) else {}
        self.body: Body = body if isinstance(body, dict) else {}
        scheme, _, credential = self.sent.get("authorization", "").partition(" ")
        self.scheme = scheme.lower()
        self.holds = credential[:3]
        """How the credential begins: `sk_`, `pk_`, or anything else."""
        is_charge = self.id == "createCharge"
        payer = self.asked if is_charge else _within(self.asked, "payment_method", "mobile_money")
        self.phone = str(payer.get("phone", ""))
        """The number that was asked for, masked."""
        self.asked_operator = _short(payer.get("channel" if is_charge else "provider"))

    @property
    def ok(self) -> bool:
        """Whether it succeeded, and not as a copy of what came before."""
        return self.status in _SUCCESS and "idempotent-replayed" not in self.got

    @property
    def took(self) -> bool:
        """Whether the service took what was sent, whatever the customer then did."""
        return self.ok or self.status == HTTPStatus.PAYMENT_REQUIRED

    @cached_property
    def objects(self) -> list[Body]:
        """The objects in it: the response's, those of a list, or that of an event."""
        listed: Any = []
        if self.id == WEBHOOK:
            listed = [_within(self.asked, "data", "object")]
        elif self.status in _SUCCESS:
            listed = self.body.get("data")
        found = listed if isinstance(listed, list) else [self.body]
        return [each for each in found if isinstance(each, dict) and isinstance(each.get("id"), str)]

    def of_kind(self, kind: str, *operations: str) -> list[Body]:
        """Those that are of a kind: by their member `object`, or as the answers of these operations."""
        return [each for each in self.objects if each.get("object", kind if self.id in operations else "") == kind]

    @property
    def intents(self) -> list[Body]:
        """The intents in it."""
        return self.of_kind("payment_intent", "createPaymentIntent", "retrievePaymentIntent", "listPaymentIntents")

    @property
    def charges(self) -> list[Body]:
        """The charges in it."""
        return self.of_kind("charge", "createCharge", "retrieveCharge", "listCharges")

    @property
    def amount(self) -> Decimal | None:
        """What was asked for; None for what is longer than any amount, which is not rounded."""
        amount = _number(self.asked.get("amount"))
        return amount if amount is not None and amount.is_finite() and abs(amount.adjusted()) < _DIGITS else None

    @property
    def names_a_secret(self) -> bool:
        """Whether the secret of an intent is sent along."""
        return "client_secret" in self.asked or "client_secret=" in self.url

    @property
    def is_mixed(self) -> bool:
        """Whether another operator was asked for than the one that the number is of."""
        return bool(self.asked_operator) and _wallet(self.phone) not in {None, self.asked_operator}


def _within(value: Any, *names: str) -> Body:  # noqa: ANN401  JSON is of any type
    """The object that stands below these names; an empty one if none does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _short(named: object) -> str | None:
    """An operator by its short identifier."""
    try:
        return operator_named(str(named), param="", zed="zed").id
    except InvalidRequest:
        return None


def _prefix(phone: str) -> str:
    """The two digits that tell the operator."""
    return phone.removeprefix(COUNTRY_CODE).removeprefix("0")[:2]


def _wallet(phone: str) -> str | None:
    try:
        return operator_of(f"{COUNTRY_CODE}{_prefix(phone)}").id
    except KeyError:
        return None


def _number(value: object) -> Decimal | None:
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


_DIGITS = 12


def _offered(row: str, kind: type[T]) -> list[T]:
    """The values of a row."""
    (gap,) = rows_named([row])
    return [each for each in (gap.default, *gap.alternatives) if isinstance(each, kind)]


# What one exchange shows

Shows: TypeAlias = Callable[[Seen], Shown]


class Sign(NamedTuple):
    """How exchanges with some operations show the value of a row; those of none, with whatever operation."""

    row: str
    of: str
    shows: Shows


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
        return next((value for value, fits in forms.items() if fits(body)), _members(body)) if body else None

    return shows


def _only(names: str) -> Callable[[Body], bool]:
    return lambda body: {*body} == {*names.split()}


def _with(names: str) -> Callable[[Body], bool]:
    return lambda body: {*body} >= {*names.split()}


def _members(body: Body) -> Other:
    return Other("members " + ", ".join(list(body)[:12]))


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
_OF_ENVELOPE: Final = {*["type", "code", "message", "param", "decline_code", "doc_url", "charge", "request_id"]}
_SHORT, _LONG = {*EVERY_OPERATOR}, {each.long_id for each in EVERY_OPERATOR.values()}
_ZED: Final = [prefix for prefix, owner in WITHOUT_WALLET.items() if owner == "Zed Mobile"]
_TAKEN: Final = {prefix for each in EVERY_OPERATOR.values() for prefix in each.prefixes} - {*WITHOUT_WALLET}
_CENT: Final = Decimal("0.01")
_BOUNDS: Final[Mapping[Value, tuple[Decimal, Decimal]]] = {
    "none": (_CENT, Decimal("9999999999.99")), "1_to_20000": (Decimal("1.00"), Decimal("20000.00")),
}  # fmt: skip
_NEAR_S: Final = 5


def _success(seen: Seen) -> Shown:
    told: dict[int, Shown] = {HTTPStatus.OK: "200", HTTPStatus.CREATED: "201_created"}
    return told.get(seen.status, Other(str(seen.status))) if seen.ok else None


def _asks_foreign_money(seen: Seen) -> object:
    asked = str(seen.asked.get("currency", ""))
    return re.fullmatch(r"[A-Za-z]{3}", asked) and asked.upper() not in {"ZMW", "ZMK"}


def _asks_the_other_case(seen: Seen) -> object:
    return seen.asked.get("currency") == ("zmw" if seen.id == "createPaymentIntent" else "ZMW")


def _asks_more_methods(seen: Seen) -> bool:
    types = seen.asked.get("payment_method_types")
    return isinstance(types, list) and "mobile_money" in types and len(types) > 1


def _asks_a_national_number(seen: Seen) -> bool:
    return seen.phone.startswith("0") and not seen.phone.startswith("00") and _prefix(seen.phone) in _TAKEN


def _asks_a_number_of_zed(seen: Seen) -> bool:
    return seen.phone.startswith(COUNTRY_CODE) and _prefix(seen.phone) in _ZED


def _asks_a_fraction(seen: Seen) -> bool:
    return seen.amount is not None and seen.amount != round(seen.amount, 2)


def _asks_by_header_alone(seen: Seen) -> object:
    return seen.scheme and not seen.sent_text and seen.sent.get("content-length", "0") == "0"


def _asks_by_token(seen: Seen) -> bool:
    is_token = seen.scheme == "bearer" and seen.holds not in {"sk_", "pk_"} and "/v1/auth/" not in seen.url
    return is_token and seen.id not in {WEBHOOK, "createPlant"}


def _unknown_fields(seen: Seen) -> Shown:
    struct = seen.operation.body if seen.operation else None
    unknown = [each for each in seen.asked if struct is not None and each not in struct.__struct_encode_fields__]
    is_named = all(each in seen.text for each in unknown)
    return _tried("ignored", "refused")(seen) if unknown and (seen.took or is_named) else None


def _scale(seen: Seen) -> Shown:
    asked, got = seen.amount, _number(seen.body.get("amount"))
    if asked is None or not _asks_a_fraction(seen) or not seen.took:
        return _tried("half_even", "exact", "amount", asks=_asks_a_fraction)(seen)
    if got is not None and got != round(asked, 2):
        return Other(f"{asked} becomes {got}")
    if got is None or abs(asked - got) * 2 != _CENT:
        return Part("half_even", "more than two decimals are accepted")
    return Part("half_even", f"half a ngwee goes {'up' if got > asked else 'down'}")


def _channel(seen: Seen) -> Shown:
    asked, moved = seen.asked_operator, _wallet(seen.phone)
    for each in seen.charges:
        channel, provider = _short(each.get("channel")), _short(each.get("provider"))
        if seen.id == "createCharge" and seen.is_mixed:
            is_ours = (channel, provider) == (asked, moved)
            told = Other(f"channel {channel} and provider {provider} for {asked} and a number of {moved}")
            return "equal" if channel == provider else "asked_and_moved" if is_ours else told
        if channel != provider:
            return Part("asked_and_moved", "channel and provider differ")
    return None


def _mismatch(seen: Seen) -> Shown:
    if seen.is_mixed and seen.took:
        follows = any(_short(each.get("provider")) == _wallet(seen.phone) for each in seen.charges)
        is_whole = follows and seen.body.get("warnings")
        return "accepted" if is_whole else Part("accepted", "a number of another operator is accepted")
    return _tried("accepted", "refused", "provider", "channel", asks=lambda each: each.is_mixed, by={400})(seen)


def _prompt_timeout(seen: Seen) -> Shown:
    is_event = seen.id == WEBHOOK
    begun_s = _time_s(seen.asked) if is_event else seen.at_s
    asks = str(seen.asked.get("type", "")).endswith("requires_action") if is_event else seen.ok
    for each in seen.objects if asks and begun_s else ():
        ends = _number(_within(each, "next_action", "ussd_prompt").get("expires_at"))
        if ends is not None:
            lasts = float(ends) - begun_s
            near = [each for each in _offered("prompt_timeout_s", int) if abs(lasts - each) <= _NEAR_S]
            return near[0] if near else Other(f"{lasts:.0f} s")
    return None


def _time_s(event: Body) -> float:
    return moment_s(str(event.get("timestamp") or event.get("time")))


def _late(seen: Seen) -> Shown:
    if seen.id == WEBHOOK and str(seen.asked.get("type", "")).endswith(".late_success"):
        return Part("suspense", "an event of late success")
    waits = any(each.get("suspense") for each in (*seen.charges, *seen.intents))
    return Part("suspense", "money in suspense") if waits else None


def _with_suspense(seen: Seen) -> Shown:
    if seen.status == HTTPStatus.CONFLICT and "money_in_suspense" in seen.text:
        return "refused"
    return "accepted" if seen.ok and "suspense" in str(seen.body.get("warnings")) else None


def _confirm(seen: Seen) -> Shown:
    if seen.ok and {*seen.body} == {"id", "status"} and seen.status != HTTPStatus.ACCEPTED:
        return Other(f"{seen.status} with id and status")
    is_whole = "expires_at" in _within(seen.body, "next_action", "ussd_prompt")
    intent: Told = "intent" if is_whole else Part("intent", "the intent, without a prompt")
    return _formed({"accepted": _only("id status"), intent: _with("client_secret")})(seen)


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


def _payouts(seen: Seen) -> Shown:
    if seen.asked.get("type") != "payout.created":
        return None
    return "on_request" if seen.asked.get("requestid") or _within(seen.asked, "request").get("id") else "daily"


def _declined(seen: Seen) -> Shown:
    if seen.status == HTTPStatus.PAYMENT_REQUIRED:
        return "402"
    is_failed = seen.ok and seen.body.get("status") == "failed"
    return None if not is_failed else "200" if seen.status == HTTPStatus.OK else Other(f"{seen.status} with failed")


def _overlap(seen: Seen) -> Shown:
    ends = {until for each in seen.objects if (until := _number(each.get("works_until"))) is not None}
    # A list has the new key beside the one that was rolled for it.
    rolled = {_number(each.get("created")) for each in seen.objects}
    is_day = any(until - 86_400 in rolled for until in ends)
    return None if not ends else "overlap" if is_day else Part("overlap", "a rolled key works on for some time")


def _endpoints(seen: Seen) -> Shown:
    if seen.status == HTTPStatus.NOT_FOUND:
        return Part("dashboard", "the API has no endpoints")
    if len(seen.of_kind("webhook_endpoint")) > 1:
        return Part("api", "there are several endpoints")
    return Part("api", "the API registers one") if seen.ok and seen.id == "createWebhookEndpoint" else None


def _version(seen: Seen) -> Shown:
    if seen.id == WEBHOOK:
        return None
    is_told, is_asked = ("api-version" in each for each in (seen.got, seen.sent))
    if is_asked and seen.status == HTTPStatus.BAD_REQUEST and "version" in seen.text.lower():
        return Part("api_version", "a header with an unknown version is rejected")
    if is_asked and seen.took and not is_told:
        return Part("none", "a header with a version is ignored")
    return Part("api_version", "in a response") if is_told else Part("none", "in no response")


def _rate(seen: Seen) -> Shown:
    policy = seen.got.get("ratelimit-policy")
    if policy is None:
        return Other("429, with no policy told") if seen.status == HTTPStatus.TOO_MANY_REQUESTS else None
    return "100_per_60" if re.search(r"\bq=100\b.*\bw=60\b", policy) else Other(policy[:60])


def _replayed(seen: Seen) -> Shown:
    listed = [each.get("event") for each in seen.objects if each.get("event")]
    replayed = seen.url.partition("?")[0].split("/")[-2]
    return None if not listed else "same_id" if replayed in listed else "new_id"


def _shows(value: Told, when: Callable[[Seen], object]) -> Shows:
    return lambda seen: value if when(seen) else None


SIGNS: Final[tuple[Sign, ...]] = (
    Sign("payouts", WEBHOOK, _payouts),
    Sign("success_status", "createPaymentIntent createRefund createPayout", _success),
    Sign("currencies", _MAKES,
         _tried("iso4217", "zmw", "currency", asks=_asks_foreign_money,
                one=lambda seen: str(seen.asked["currency"]).upper())),
    Sign("currency_case", _MAKES,
         _tried("either", "strict", "currency", asks=_asks_the_other_case,
                one=lambda seen: f"{seen.asked['currency']} for {_PAYMENTS[seen.id]}")),
    Sign("payment_method_types", "createPaymentIntent",
         _tried("includes", "only", "payment_method_types", asks=_asks_more_methods)),
    Sign("required_fields", "createCharge",
         _tried("minimum", "with_reference", "reference", one=lambda _: "a charge without a reference",
                asks=lambda seen: seen.asked and not seen.asked.get("reference"))),
    Sign("intent_fields", "createPaymentIntent",
         _formed({"minimal": _only("id client_secret status"),
                  "full": _with("id client_secret object amount currency status description payment_method_types "
                                "payment_method next_action last_payment_error latest_charge metadata warnings "
                                "created livemode")})),
    Sign("unknown_fields", f"{_MAKES} confirmPaymentIntent", _unknown_fields),
    Sign("phone_format", _PAYS, _tried("national", "e164", "phone", asks=_asks_a_national_number)),
    Sign("zed_mobile", _PAYS,
         _tried("zed", "refused", "phone", asks=_asks_a_number_of_zed, one=lambda seen: f"a {_prefix(seen.phone)}")),
    Sign("intent_amount_scale", "createPaymentIntent", _scale),
    Sign("channel_and_provider", "", _channel),
    Sign("operator_mismatch", _PAYS, _mismatch),
    Sign("intent_states", "",
         _states("failed", "retryable", lambda seen: seen.intents,
                 lambda each: each.get("status") == "requires_payment_method" and each.get("last_payment_error"),
                 known="requires_payment_method requires_action processing succeeded canceled")),
    Sign("charge_states", "",
         _states("expired", "three", lambda seen: seen.charges,
                 lambda each: each.get("status") == "failed" and each.get("failure_code") == "prompt_timeout",
                 known="pending succeeded failed")),
    Sign("prompt_timeout_s", f"confirmPaymentIntent {WEBHOOK}", _prompt_timeout),
    Sign("late_success", "", _late),
    Sign("confirm_with_money_in_suspense", "confirmPaymentIntent", _with_suspense),
    Sign("confirm_response", "confirmPaymentIntent", _confirm),
    Sign("client_secret_on_confirm", "confirmPaymentIntent",
         _tried("with_publishable_key", "always", "client_secret",
                asks=lambda seen: seen.asked and "client_secret" not in seen.asked and seen.holds != "pk_")),
    Sign("extra_endpoints", " ".join(_EXTRA),
         _tried("offered", "absent", by={404}, one=lambda seen: _EXTRA.get(seen.id, ""),
                # A refund of what there is not gets a 404 too.
                asks=lambda seen: seen.ok or seen.id != "createRefund")),
    Sign("pagination", _LISTS,
         _formed({"cursor": _with("object url has_more data"), "page": _with("object url data page per_page total")},
                 lambda seen: seen.body if seen.ok and isinstance(seen.body.get("data"), list) else {})),
    Sign("token_field", "issueToken refreshToken",
         _formed({"access_token": _with("access_token"), "token": _with("token"),
                  "data.token": lambda body: "token" in _within(body, "data")})),
    Sign("refresh_request", "refreshToken",
         _tried("body_or_header", "body", asks=_asks_by_header_alone)),
    Sign("access_token_use", "", _tried("everywhere", "plants", by={403}, asks=_asks_by_token)),
    Sign("publishable_key", "confirmPaymentIntent retrievePaymentIntent",
         _tried("own_intent", "nothing", by={403}, asks=lambda seen: seen.holds == "pk_" and seen.names_a_secret,
                one=lambda seen: _PAYMENTS[seen.id])),
    Sign("auth_schemes", "", _schemes),
    Sign("key_rotation", "listApiKeys rollApiKey", _overlap),
    Sign("key_revocation", "", _shows(Part("at_once", "401 key_revoked"), lambda seen: '"key_revoked"' in seen.text)),
    Sign("event_types", WEBHOOK, _events),
    Sign("event_payload", WEBHOOK,
         _formed({"cloudevents": _with("specversion id source type data"),
                  "envelope": _with("id type timestamp api_version livemode data request")}, lambda seen: seen.asked)),
    Sign("signature_scheme", WEBHOOK, _signed),
    Sign("endpoint_registration", "createWebhookEndpoint listWebhookEndpoints", _endpoints),
    Sign("endpoint_disable_after_s", WEBHOOK,
         _shows(Part(432_000, "an endpoint is disabled"),
                lambda seen: seen.asked.get("type") == "webhook_endpoint.disabled")),
    Sign("replay", "replayEvent", _replayed),
    Sign("error_format", "",
         _formed({"envelope": lambda body: {"type", "message"} <= {*_within(body, "error")} <= _OF_ENVELOPE,
                  "plain": _only("error message"), "problem": _with("type title status error message")},
                 lambda seen: seen.body if seen.status >= _FAULT and seen.id not in {WEBHOOK, "createPlant"} else {})),
    Sign("declined_status", "createCharge", _declined),
    Sign("rate_limit", "", _rate),
    Sign("idempotency_required", "createCharge",
         _tried("never", "charges", "Idempotency-Key", "idempotency",
                asks=lambda seen: "idempotency-key" not in seen.sent)),
    Sign("version_header", "", _version),
    Sign("deprecation", "", _shows("headers", lambda seen: {"deprecation", "sunset"} <= {*seen.got})),
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
        for each in filter(None, told):
            ours = "short" if each in _SHORT else "long" if each in _LONG else None
            yield "operator_ids", Part(ours, str(each)) if ours else Other(str(each)[:40]), seen.place


def _bounds(traffic: Sequence[Seen]) -> Found:
    """The amounts of intents that were accepted and rejected: bounds are shown to the ngwee, or not at all."""
    asked = [
        each for each in traffic if each.id == "createPaymentIntent" and each.amount and not _asks_a_fraction(each)
    ]
    tried = {seen.amount: seen for seen in asked if seen.ok or (seen.status in {400, 422} and "amount" in seen.text)}
    fits = {}
    for value, (least, most) in _BOUNDS.items():
        if all(seen.ok is (least <= amount <= most) for amount, seen in tried.items() if amount is not None):
            edges = {least, most} if value == "none" else {least, most, least - _CENT, most + _CENT}
            fits[value] = edges <= {*tried}
    low, high = _BOUNDS["1_to_20000"]
    telling = {amount: seen for amount, seen in tried.items() if amount is not None and not low <= amount <= high}
    what = ", ".join(
        f"{amount:.2f} is {'accepted' if telling[amount].ok else 'rejected'}" for amount in sorted(telling)
    )
    for seen in [*telling.values()][-1:]:
        only = next(iter(fits), None)
        yield "amount_bounds", Other(what) if only is None else only if fits[only] else Part(only, what), seen.place


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
    made = [seen for seen in traffic if seen.id == "createCharge" and seen.ok and isinstance(seen.body.get("id"), str)]
    pending = {seen.body["id"]: seen for seen in made if seen.body.get("status") == "pending"}
    answered = [seen for seen in made if seen.body["id"] not in pending]
    answered += [seen for seen in traffic if seen.id == "createCharge" and seen.status == HTTPStatus.PAYMENT_REQUIRED]
    for seen in answered:
        yield "charge_wait", "answered", seen.place
    for seen in pending.values():
        if seen.status == HTTPStatus.ACCEPTED:
            yield "charge_wait", "accepted", seen.place
    for later in traffic:
        for each in later.charges if not answered else ():
            begun = pending.get(each.get("id"))
            if begun and begun.status != HTTPStatus.ACCEPTED and each.get("status") == "succeeded":
                yield "charge_wait", "interactive", begun.place


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
    """Two accounts that nobody opened are let in, or two refused where another is let in: one may be misspelled."""
    asked = [seen for seen in traffic if seen.id == "issueToken" and seen.asked.get("email")]
    known = {str(seen.asked["email"]): seen.place for seen in asked if seen.ok}
    refused = {str(seen.asked["email"]): seen.place for seen in asked if seen.status == HTTPStatus.UNAUTHORIZED}
    strangers = [place for email, place in refused.items() if email not in known]
    if len(known) > 1:
        yield "token_credentials", "any", [*known.values()][-1]
    elif known and len(strangers) > 1:
        yield "token_credentials", "one_account", strangers[-1]


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
    offered = _offered("idempotency_retention_s", int)
    fits = [each for each in offered if known - _NEAR_S <= each <= forgotten + _NEAR_S]
    if len(fits) < len(offered) and waited:
        between = f"known after {known:.0f} s, forgotten after {forgotten:.0f} s"
        told: Shown = None if fits else Other(between)
        if len(fits) == 1:
            told = fits[0] if forgotten - known <= 2 * _MINUTE_S else Part(fits[0], between)
        yield "idempotency_retention_s", told, waited[-1][2]


_GAVE_UP_S: Final = 2 * 86_400
_MINUTE_S, _AT_LEAST_S, _FIRST_WAIT_S = 60, 45, 180
"""A first wait between these is neither the schedule's 5 s nor its 1800 s."""
_WAITS: Final = {429, 502, 504}


def _retries(traffic: Sequence[Seen]) -> Found:
    """How an event came again whose answer was none that a delivery takes."""
    came: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for seen in traffic:
        if seen.id == WEBHOOK and seen.at_s:
            came[seen.url, str(seen.asked.get("id"))].append(seen)
    ended_s = traffic[-1].at_s
    gone = {seen.url for tries in came.values() for seen in tries if seen.status == HTTPStatus.GONE}
    for (url, _), tries in came.items():
        yield from _second(tries[0], tries[1] if len(tries) > 1 else None, ended_s)
        is_told_when = bool({each.status for each in tries} & _WAITS)
        if tries[0].status >= HTTPStatus.INTERNAL_SERVER_ERROR and url not in gone and not is_told_when:
            yield "retry_schedule_s", _schedule(tries, ended_s), tries[-1].place
    for seen in traffic:
        off = [each for each in seen.of_kind("webhook_endpoint") if each.get("status") == "disabled"]
        # A recording has the address, what a sandbox's trace is saved as the id in its place.
        if any(each.get("url") in gone or any(str(each.get("id")) in url for url in gone) for each in off):
            yield "delivery_gone", "disables", seen.place


def _second(first: Seen, again: Seen | None, ended_s: float) -> Found:
    """What is shown by that an event came a second time, or did not."""
    if first.status in range(203, 300) and (again or ended_s - first.at_s > _GAVE_UP_S):
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

    found = [each for each in _offered("retry_schedule_s", tuple) if fits(each)]
    told = "waits of " + written([round(each) for each in waits])
    if len(found) == 1:
        return found[0] if is_over else Part(found[0], told)
    return None if found else Other(told)


def _order(traffic: Sequence[Seen]) -> Found:
    """An event that first arrived after a younger one of its object had."""
    newest: dict[object, float] = {}
    known = set()
    for seen in traffic:
        at_s, about = _time_s(seen.asked), next((each["id"] for each in seen.objects), None)
        if seen.id != WEBHOOK or not at_s or about is None or not seen.ok:
            continue
        same = (about, str(seen.asked.get("type")), at_s)
        if at_s < newest.get(about, at_s) and same not in known:
            yield "ordering", "unordered", seen.place
        known.add(same)
        newest[about] = max(at_s, newest.get(about, at_s))


TOGETHER: Final = (_operator_ids, _bounds, _unit, _wait, _late_after_all, _accounts, _keys, _retries, _order)
PARTS: Final[Mapping[tuple[str, Value | None], int]] = {
    ("currency_case", None): 2,  # intents, charges
    ("operator_ids", None): 3,  # the operators
    ("zed_mobile", None): len(_ZED),
    ("intent_amount_scale", None): 3,  # half a ngwee up and down, and the nearest
    ("late_success", None): 2,  # the money, the event
    ("extra_endpoints", None): len(_EXTRA),
    ("publishable_key", None): 2,  # confirm, retrieve
    ("event_types", "by_object"): len(TOLD_AS["by_object"]),
    ("event_types", "collection"): len(TOLD_AS["collection"]),
    ("endpoint_registration", "api"): 2,  # by the API, several
    ("delivery_retry_after", None): 2,  # with the header, without it
    ("idempotency_keeps_errors", None): 2,  # declines, 5xx
    ("version_header", None): 2,  # in responses, in requests
}
"""Row, and value or None for each of them → how many parts a value has: all must be seen before it is shown.

A value with parts that does not stand here is never shown: no recording has every currency, or every status.
"""
UNSEEN: Final[Mapping[tuple[str, Value | None], str]] = {
    ("clearing", None): "a balance is of all payments of the account, those outside of the recording too",
    ("merchant_fee", None): "fees stand in the service's ledger and in a balance of all payments",
    ("operator_fee", None): "it stands in the service's ledger alone",
    ("fee_on_refund", None): "fees stand in the service's ledger and in a balance of all payments",
    ("pin_attempts", None): "it happens on the customer's phone",
    ("signature_tolerance_s", None): "the receiver chooses it",
    ("delivery_timeout_s", None): "a recording does not tell how long a receiver was waited for",
    ("dead_letter", None): "it shows after thirty days, and by what is no longer listed",
    ("failure_triggers", None): "test numbers are masked on reading",
    ("key_rotation", "at_once"): "keys are masked on reading: which one was refused is not known",
    ("ordering", "per_object"): "that nothing came out of order may be luck",
    ("rate_limit", "none"): "that nothing was refused may be luck",
    ("endpoint_disable_after_s", 0): "that nothing was disabled may be luck",
    ("deprecation", "none"): "nothing that was called may be going to end",
}
"""Row, and value or None for all of them → why recorded traffic does not show it."""


# Files, and what they come to


class Finding(NamedTuple):
    """What the traffic says of one row: each value that was shown whole or in part, and by which exchanges."""

    gap: Gap
    shown: Mapping[Value | Other | Part, Sequence[str]]

    @property
    def values(self) -> list[Value | Other]:
        """Each value that was shown, or is consistent with what was."""
        return [*dict.fromkeys(each.value if isinstance(each, Part) else each for each in self.shown)]

    @property
    def result(self) -> str:
        """`shown`, `contradicted` or `open`."""
        is_part = all(isinstance(each, Part) for each in self.shown)
        return "contradicted" if len(self.values) > 1 else "open" if is_part else "shown"

    @property
    def value(self) -> Value | None:
        """The one value of the register that was shown."""
        only = self.values[0] if self.result == "shown" else None
        return None if isinstance(only, Other) else only

    @property
    def why(self) -> str:
        """Why nothing can be shown of it, where that is so."""
        return "" if self.shown else UNSEEN.get((self.gap.name, None), "")

    @property
    def says(self) -> list[tuple[str, Value | Other, Sequence[str]]]:
        """A text, a value and the exchanges for each value; of one that was seen in part, what was seen."""
        told: list[tuple[str, Value | Other, Sequence[str]]] = []
        for value in self.values:
            parts = {each.what: by for each, by in self.shown.items() if isinstance(each, Part) and each.value == value}
            text = f"none of ours: {value.what}" if isinstance(value, Other) else written(value)
            if value not in self.shown:
                text = f"{', '.join(parts)}: consistent with {text}, not shown"
            told.append((text, value, [*self.shown.get(value, ()), *(place for by in parts.values() for place in by)]))
        return told

    @property
    def asks(self) -> str:
        """What was seen, in words that a provider knows, and whether that is right; empty where nothing was."""
        meanings = {self.gap.default: self.gap.says, **self.gap.alternatives}
        told = []
        for value in self.values:
            parts = [each.what for each in self.shown if isinstance(each, Part) and each.value == value]
            meaning = value.what if isinstance(value, Other) else meanings[value]
            told.append(
                meaning if value in self.shown else f"{', '.join(parts)}, as it would be if this holds: {meaning}"
            )
        return "" if not told else f"{'; and '.join(told)}. {'Which is' if len(told) > 1 else 'Is that'} right?"

    def cells(self, most: int) -> list[tuple[str, ...]]:
        """Its lines in a table: a value each, in at most so many characters."""
        told = [f"{text} ({places[0]})" for text, _, places in self.says] or [self.why and f"unseen: {self.why}"]
        heads = [(self.gap.name, self.result), *[("", "")] * (len(told) - 1)]
        return [(*head, shortened(each, most)) for head, each in zip(heads, told, strict=True)]

    def as_record(self) -> dict[str, Any]:
        """The finding as JSON types."""
        values = [
            {"value": _told(value), "says": text, "ours": not isinstance(value, Other), "by": [*places]}
            for text, value, places in self.says
        ]
        about = {"section": self.gap.section, "name": self.gap.name, "result": self.result}
        return {**about, "values": values, "why": self.why}


_COLUMNS: Final = ("name", "result", "value, by which exchange")
_WIDEST: Final = 34


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

    def as_records(self) -> list[dict[str, Any]]:
        """A finding a row, as JSON types."""
        return [each.as_record() for each in self.findings]

    def _table(self, most: int = _WIDEST) -> Table:
        more = ", and there were more than are looked at" if self.left_out else ""
        caption = f"What {self.read} recorded exchanges show of the register{more}"
        return table(caption, _COLUMNS, [cells for each in self.findings for cells in each.cells(most)])

    def text(self, width: int | None = None) -> str:
        """The table in lines of at most `width` columns, its texts whole; without a width, long ones are cut off."""
        return self._table(sys.maxsize if width else _WIDEST).text(width)

    @property
    def toml(self) -> str:
        """The rows as `--gaps FILE` takes them; what cannot be reproduced is a comment."""
        lines = [f"# What {self.read} recorded exchanges show of the service."]
        for each in self.findings:
            for text, value, places in each.says:
                says = f"{each.gap.name} = {json.dumps(_told(value), ensure_ascii=False)}  # {places[0]}"
                why = "none of ours" if isinstance(value, Other) else "contradicted" if len(each.values) > 1 else text
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


def _wanted(method: str, url: str) -> bool:
    # A webhook is told by its headers and its body, whatever it is sent to.
    return method == "POST" or _operation(method, url) is not None


def _is_webhook(exchange: Recorded) -> bool:
    signed = any("signature" in name or name == "webhook-id" for name in exchange.request.headers)
    return signed and isinstance(exchange.request.body, dict)


def fit(*places: str | Path) -> Evidence:
    """Reads HAR files, or folders of them, and says of each row of the register what the exchanges show.

    Raises TrafficRefused: a file that cannot be read as HAR, a folder without any, or nothing of this interface in it.
    """
    traffic, room = [], MOST_TEXT
    files = [each for place in places for each in files_of(Path(place))]
    for exchange in chain.from_iterable(recorded(file, _wanted) for file in files):
        if room <= 0:
            break
        operation = _operation(exchange.method, exchange.url)
        if operation is not None or _is_webhook(exchange):
            traffic.append(Seen(exchange, operation))
            room -= _EACH + len(exchange.request.text) + len(exchange.response.text)
    if not traffic:
        hint = "Calls are known by method and path, such as POST …/v1/charges, webhooks by the header of a signature."
        raise TrafficRefused(f"Nothing of this interface is in {', '.join(map(str, places))}.", hint=hint)
    traffic.sort(key=lambda each: each.at_s)
    return Evidence(tuple(_findings(traffic)), len(traffic), room <= 0)


def _findings(traffic: Sequence[Seen]) -> Iterable[Finding]:
    found: dict[str, dict[Value | Other | Part, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row, value, place in _shown(traffic):
        if value is not None:
            found[row][value].append(place)
    if "absent" in {each.value for each in found["extra_endpoints"] if isinstance(each, Part)}:
        # Then the endpoints of webhooks are missing with all the others.
        found.pop("endpoint_registration", None)
    for (row, only), count in PARTS.items():
        values = {each.value for each in found[row] if isinstance(each, Part) and only in {None, each.value}}
        for value in values:
            parts = [each for each in found[row] if isinstance(each, Part) and each.value == value]
            if len(parts) == count:
                found[row][value].extend(place for each in parts for place in found[row].pop(each))
    return (Finding(gap, found.get(gap.name, {})) for gap in REGISTER)


def _shown(traffic: Sequence[Seen]) -> Found:
    for sign in SIGNS:
        of = {*sign.of.split()}
        for seen in traffic:
            if not of or seen.id in of:
                yield sign.row, sign.shows(seen), seen.place
    for together in TOGETHER:
        yield from together(traffic)
