"""What recorded traffic says of the register: a table of signs, each a row and how an exchange shows its value."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from http import HTTPStatus
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from workbench.domain.gaps import REGISTER, Gap, Value, written
from workbench.domain.masking import shortened
from workbench.domain.phones import COUNTRY_CODE, EVERY_OPERATOR, WITHOUT_WALLET, operator_named, operator_of
from workbench.domain.signatures import SCHEMES
from workbench.domain.webhooks import TOLD_AS
from workbench.errors import InvalidRequest, TrafficRefused
from workbench.har import Recorded, files_of, recorded
from workbench.render import Table, table
from workbench.sandbox.operations import OPERATIONS, Operation

WEBHOOK: Final = "webhook"
_SUCCESS: Final = range(200, 300)
MOST_TEXT: Final = 64 * 2**20
"""So much of what is recognised is looked at; what follows is left out, and the result says so."""
_EACH: Final = 2**12
"""What an exchange takes beside the text of its bodies, about, in bytes."""


class Other(NamedTuple):
    """What was shown and is no value of the row."""

    what: str


Shown: TypeAlias = Value | Other | None
"""The value of a row that an exchange shows; None if it shows none."""


class Seen:
    """An exchange of the interface, or a webhook, with its bodies."""

    def __init__(self, exchange: Recorded, operation: Operation | None) -> None:
        self.place, self.url, self.status, self.at_s = exchange.place, exchange.url, exchange.status, exchange.at_s
        self.operation = operation
        self.id = operation.id if operation else WEBHOOK
        self.sent, self.got = exchange.request.headers, exchange.response.headers
        self.text, self.sent_text = exchange.response.text, exchange.request.text
        asked, body = exchange.request.body, exchange.response.body
        self.asked: dict[str, Any] = asked if isinstance(asked, dict) else {}
        self.body: dict[str, Any] = body if isinstance(body, dict) else {}

    @property
    def ok(self) -> bool:
        """Whether it succeeded, and not as a copy of what came before."""
        return self.status in _SUCCESS and "idempotent-replayed" not in self.got

    @property
    def took(self) -> bool:
        """Whether the service took what was sent, whatever the customer then did."""
        return self.ok or self.status == HTTPStatus.PAYMENT_REQUIRED

    def refuses(self, *names: str) -> bool:
        """Whether it was refused as invalid in words that name one of these."""
        return self.status in {400, 422} and any(name in self.text for name in names)

    def took_or_not(self, taken: Shown, refused: Shown, *names: str) -> Shown:
        """One value if it was taken, another if it was refused by one of these names."""
        return taken if self.took else refused if self.refuses(*names) else None

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The objects in it: the response's, those of a list, or that of an event."""
        if self.id == WEBHOOK:
            data = self.asked.get("data")
            held = data.get("object") if isinstance(data, dict) else None
            return [held] if isinstance(held, dict) and isinstance(held.get("id"), str) else []
        if self.status not in _SUCCESS:
            return []
        listed = self.body.get("data")
        found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else [self.body]
        return [each for each in found if isinstance(each.get("id"), str)]

    def of_kind(self, kind: str, *operations: str) -> list[dict[str, Any]]:
        """Those that are of a kind: by their member `object`, or as the answers of these operations."""
        return [each for each in self.objects if each.get("object", kind if self.id in operations else "") == kind]

    @property
    def intents(self) -> list[dict[str, Any]]:
        """The intents in it."""
        return self.of_kind("payment_intent", "createPaymentIntent", "retrievePaymentIntent", "listPaymentIntents")

    @property
    def charges(self) -> list[dict[str, Any]]:
        """The charges in it."""
        return self.of_kind("charge", "createCharge", "retrieveCharge", "listCharges")

    @property
    def asked_operator(self) -> str | None:
        """The operator that was asked for, by its short identifier."""
        money = _within(self.asked, "payment_method", "mobile_money")
        named = self.asked.get("channel") if self.id == "createCharge" else money.get("provider")
        return _short(named)

    @property
    def phone(self) -> str:
        """The number that was asked for, masked."""
        money = _within(self.asked, "payment_method", "mobile_money")
        return str(self.asked.get("phone", "") if self.id == "createCharge" else money.get("phone", ""))

    @property
    def scheme(self) -> str:
        """How it was authenticated, in lower case."""
        return self.sent.get("authorization", "").partition(" ")[0].lower()

    @property
    def holds(self) -> str:
        """How the credential begins: `sk_`, `pk_`, or anything else."""
        return self.sent.get("authorization", "").partition(" ")[2][:3]


def _within(value: Any, *names: str) -> dict[str, Any]:  # noqa: ANN401  JSON is of any type
    """The object that stands below these names; an empty one if none does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _short(named: object) -> str | None:
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


def _members(body: Mapping[str, Any]) -> Other:
    return Other("members " + ", ".join(list(body)[:12]))


# What one exchange shows


class Sign(NamedTuple):
    """How an exchange with one of these operations shows the value of a row; without any, each exchange may."""

    row: str
    shows: Callable[[Seen], Shown]
    of: str = ""


_PAYS: Final = "createCharge confirmPaymentIntent"
_MAKES: Final = "createCharge createPaymentIntent"
_LISTS: Final = " ".join(each.id for each in OPERATIONS if each.id.startswith("list"))
_EXTRA: Final = " ".join(
    each.id
    for each in OPERATIONS
    if each.source == "assumed" and "{" not in each.path and "webhook_endpoints" not in each.path
)
_SHORT, _LONG = {*EVERY_OPERATOR}, {each.long_id for each in EVERY_OPERATOR.values()}
_FULL: Final = {"object", "amount", "currency", "payment_method_types", "next_action", "created", "livemode"}
_INTENT_STATES: Final = {"requires_payment_method", "requires_action", "processing", "succeeded", "canceled"}
_CHARGE_STATES: Final = {"pending", "succeeded", "failed"}
_LEAST, _MOST, _AMOUNT_MOST = Decimal(1), Decimal(20_000), Decimal("9999999999.99")
_DIGITS = 12
_CENTS = Decimal("0.01")
_TIMEOUTS: Final = (60, 180, 300, 600)
_NEAR_S: Final = 5


def _success(seen: Seen) -> Shown:
    told: dict[int, Shown] = {HTTPStatus.OK: "200", HTTPStatus.CREATED: "201_created"}
    return told.get(seen.status, Other(str(seen.status))) if seen.ok else None


def _currencies(seen: Seen) -> Shown:
    asked = seen.asked.get("currency")
    foreign = isinstance(asked, str) and re.fullmatch(r"[A-Za-z]{3}", asked) and asked.upper() not in {"ZMW", "ZMK"}
    return seen.took_or_not("iso4217", "zmw", "currency") if foreign else None


def _currency_case(seen: Seen) -> Shown:
    asked = seen.asked.get("currency")
    other = "zmw" if seen.id == "createPaymentIntent" else "ZMW"
    return seen.took_or_not("either", "strict", "currency") if asked == other else None


def _method_types(seen: Seen) -> Shown:
    types = seen.asked.get("payment_method_types")
    beside = isinstance(types, list) and "mobile_money" in types and len(types) > 1
    return seen.took_or_not("includes", "only", "payment_method_types") if beside else None


def _reference(seen: Seen) -> Shown:
    left_out = seen.asked and not seen.asked.get("reference")
    return seen.took_or_not("minimum", "with_reference", "reference") if left_out else None


def _intent_fields(seen: Seen) -> Shown:
    if not seen.ok or not seen.body:
        return None
    if {*seen.body} == {"id", "client_secret", "status"}:
        return "minimal"
    return "full" if {*seen.body} >= _FULL else _members(seen.body)


def _unknown_fields(seen: Seen) -> Shown:
    struct = seen.operation.body if seen.operation else None
    unknown = [each for each in seen.asked if struct is not None and each not in struct.__struct_encode_fields__]
    return seen.took_or_not("ignored", "refused", *unknown) if unknown else None


def _phone_format(seen: Seen) -> Shown:
    national = seen.phone.startswith("0") and not seen.phone.startswith("00") and _prefix(seen.phone) in _TAKEN
    return seen.took_or_not("national", "e164", "phone") if national else None


_TAKEN: Final = {prefix for each in EVERY_OPERATOR.values() for prefix in each.prefixes} - {*WITHOUT_WALLET}


def _operator_ids(seen: Seen) -> Shown:
    told = [each.get(name) for each in seen.charges for name in ("channel", "provider")]
    told += [_within(each, "payment_method", "mobile_money").get("provider") for each in seen.intents]
    for each in told:
        if isinstance(each, str) and each:
            return "short" if each in _SHORT else "long" if each in _LONG else Other(each[:40])
    return None


def _zed(seen: Seen) -> Shown:
    is_zed = seen.phone.startswith(COUNTRY_CODE) and _prefix(seen.phone) in WITHOUT_WALLET
    return seen.took_or_not("zed", "refused", "phone") if is_zed else None


def _amount(seen: Seen) -> Decimal | None:
    amount = _number(seen.asked.get("amount"))
    # What is longer than any amount is not rounded.
    return amount if amount is not None and amount.is_finite() and abs(amount.adjusted()) < _DIGITS else None


def _scale(seen: Seen) -> Shown:
    amount = _amount(seen)
    if amount is None or amount == round(amount, 2):
        return None
    return seen.took_or_not("half_even", "exact", "amount")


def _bounds(seen: Seen) -> Shown:
    amount = _amount(seen)
    if amount is None or not _CENTS <= amount <= _AMOUNT_MOST or amount != round(amount, 2):
        return None
    return None if _LEAST <= amount <= _MOST else seen.took_or_not("none", "1_to_20000", "amount")


def _channel(seen: Seen) -> Shown:
    for each in seen.charges:
        if _short(each.get("channel")) != _short(each.get("provider")):
            return "asked_and_moved"
    asked, moved = seen.asked_operator, _wallet(seen.phone)
    is_mixed = seen.id == "createCharge" and seen.charges and asked and moved and asked != moved
    return "equal" if is_mixed else None


def _mismatch(seen: Seen) -> Shown:
    asked, moved = seen.asked_operator, _wallet(seen.phone)
    return (
        seen.took_or_not("accepted", "refused", "provider", "channel") if asked and moved and asked != moved else None
    )


def _intent_states(seen: Seen) -> Shown:
    for each in seen.intents:
        status = each.get("status")
        if status == "failed":
            return "failed"
        if isinstance(status, str) and status not in _INTENT_STATES:
            return Other(f"the state {status[:40]}")
        if status == "requires_payment_method" and each.get("last_payment_error"):
            return "retryable"
    return None


def _charge_states(seen: Seen) -> Shown:
    for each in seen.charges:
        status = each.get("status")
        if status == "expired":
            return "expired"
        if isinstance(status, str) and status not in _CHARGE_STATES:
            return Other(f"the state {status[:40]}")
        if status == "failed" and each.get("failure_code") == "prompt_timeout":
            return "three"
    return None


def _prompt_timeout(seen: Seen) -> Shown:
    begun = _time(seen.asked) if seen.id == WEBHOOK else seen.at_s
    if seen.id == WEBHOOK and not str(seen.asked.get("type", "")).endswith("requires_action"):
        return None
    for each in seen.objects:
        ends = _number(_within(each, "next_action", "ussd_prompt").get("expires_at"))
        if ends is not None and begun is not None and (seen.ok or seen.id == WEBHOOK):
            lasts = float(ends) - begun
            near = [each for each in _TIMEOUTS if abs(lasts - each) <= _NEAR_S]
            return near[0] if near else Other(f"{lasts:.0f} s")
    return None


def _time(event: Mapping[str, Any]) -> float | None:
    try:
        return datetime.fromisoformat(str(event.get("timestamp") or event.get("time"))).timestamp()
    except (ValueError, OverflowError):
        return None


def _late(seen: Seen) -> Shown:
    named = str(seen.asked.get("type", "")).endswith(".late_success") and seen.id == WEBHOOK
    waits = any(each.get("suspense") for each in (*seen.charges, *seen.intents))
    return "suspense" if named or waits else None


def _with_suspense(seen: Seen) -> Shown:
    if seen.status == HTTPStatus.CONFLICT and "money_in_suspense" in seen.text:
        return "refused"
    warned = seen.ok and "suspense" in str(seen.body.get("warnings"))
    return "accepted" if warned else None


def _confirm(seen: Seen) -> Shown:
    if not seen.ok or not seen.body:
        return None
    if {*seen.body} == {"id", "status"}:
        return "accepted" if seen.status == HTTPStatus.ACCEPTED else Other(f"{seen.status} with id and status")
    return "intent" if "client_secret" in seen.body else _members(seen.body)


def _client_secret(seen: Seen) -> Shown:
    if not seen.asked or "client_secret" in seen.asked or seen.holds == "pk_":
        return None
    return seen.took_or_not("with_publishable_key", "always", "client_secret")


def _pages(seen: Seen) -> Shown:
    if not seen.ok or not isinstance(seen.body.get("data"), list):
        return None
    if "has_more" in seen.body:
        return "cursor"
    return "page" if {"page", "per_page", "total"} <= {*seen.body} else _members(seen.body)


def _token_field(seen: Seen) -> Shown:
    if not seen.ok or not seen.body:
        return None
    found: list[Shown] = [name for name in ("access_token", "token") if name in seen.body]
    found += ["data.token"] if "token" in _within(seen.body, "data") else []
    return found[0] if found else _members(seen.body)


def _refresh(seen: Seen) -> Shown:
    if seen.sent_text or not seen.scheme or seen.sent.get("content-length", "0") != "0":
        return None
    return "body_or_header" if seen.ok else "body" if seen.status in {400, 401, 422} else None


def _token_use(seen: Seen) -> Shown:
    is_token = seen.scheme == "bearer" and seen.holds not in {"sk_", "pk_"} and "/v1/auth/" not in seen.url
    if not is_token or seen.id in {WEBHOOK, "createPlant"}:
        return None
    return "everywhere" if seen.took else "plants" if seen.status == HTTPStatus.FORBIDDEN else None


def _publishable(seen: Seen) -> Shown:
    named = "client_secret" in seen.asked or "client_secret=" in seen.url
    if seen.holds != "pk_" or not named:
        return None
    return "own_intent" if seen.took else "nothing" if seen.status == HTTPStatus.FORBIDDEN else None


def _schemes(seen: Seen) -> Shown:
    documented = seen.operation.schemes if seen.operation else ()
    if len(documented) != 1 or seen.scheme not in {"basic", "bearer"} or seen.scheme == documented[0].lower():
        return None
    if seen.took:
        return "either"
    offered = seen.got.get("www-authenticate", "").lower()
    is_refused = (
        seen.status == HTTPStatus.UNAUTHORIZED and documented[0].lower() in offered and seen.scheme not in offered
    )
    return "as_documented" if is_refused else None


def _rotation(seen: Seen) -> Shown:
    return "overlap" if any(each.get("works_until") for each in seen.objects) else None


def _events(seen: Seen) -> Shown:
    told = str(_first(seen.asked, "type", "event_type", "event", "topic"))
    for value, types in TOLD_AS.items():
        if told in types.values():
            return value
    return Other(told[:60])


def _first(body: Mapping[str, Any], *names: str) -> object:
    return next((body[name] for name in names if isinstance(body.get(name), str)), "no type")


def _payload(seen: Seen) -> Shown:
    if seen.asked.get("specversion"):
        return "cloudevents"
    return "envelope" if {"id", "type", "timestamp", "data"} <= {*seen.asked} else _members(seen.asked)


def _signed(seen: Seen) -> Shown:
    for name, way in SCHEMES.items():
        if all(header.lower() in seen.sent for header in way.headers):
            return name
    found = [name for name in seen.sent if "signature" in name]
    return Other(f"the header {found[0][:60]}") if found else None


def _payouts(seen: Seen) -> Shown:
    if seen.asked.get("type") != "payout.created":
        return None
    cause = seen.asked.get("requestid") or _within(seen.asked, "request").get("id")
    return "on_request" if cause else "daily"


def _endpoints(seen: Seen) -> Shown:
    return "api" if seen.ok else "dashboard" if seen.status == HTTPStatus.NOT_FOUND else None


def _extra(seen: Seen) -> Shown:
    return "offered" if seen.ok else "absent" if seen.status == HTTPStatus.NOT_FOUND else None


def _errors(seen: Seen) -> Shown:
    if seen.status < HTTPStatus.BAD_REQUEST or seen.id in {WEBHOOK, "createPlant"} or not seen.body:
        return None
    if isinstance(seen.body.get("error"), dict):
        return "envelope"
    if {*seen.body} == {"error", "message"}:
        return "plain"
    return "problem" if {"type", "title", "status"} <= {*seen.body} else _members(seen.body)


def _declined(seen: Seen) -> Shown:
    if seen.status == HTTPStatus.PAYMENT_REQUIRED:
        return "402"
    return "200" if seen.ok and seen.body.get("status") == "failed" else None


def _rate(seen: Seen) -> Shown:
    policy = seen.got.get("ratelimit-policy")
    if policy is None:
        return Other("429, with no policy told") if seen.status == HTTPStatus.TOO_MANY_REQUESTS else None
    return "100_per_60" if re.search(r"\bq=100\b.*\bw=60\b", policy) else Other(policy[:60])


def _key_needed(seen: Seen) -> Shown:
    if "idempotency-key" in seen.sent:
        return None
    return seen.took_or_not("never", "charges", "Idempotency-Key", "idempotency")


def _disabled(seen: Seen) -> Shown:
    return 432_000 if seen.asked.get("type") == "webhook_endpoint.disabled" else None


def _replayed(seen: Seen) -> Shown:
    listed = [each.get("event") for each in seen.objects if each.get("event")]
    replayed = seen.url.partition("?")[0].split("/")[-2]
    return None if not listed else "same_id" if replayed in listed else "new_id"


SIGNS: Final[tuple[Sign, ...]] = (
    Sign("payouts", _payouts, WEBHOOK),
    Sign("success_status", _success, "createPaymentIntent createRefund createPayout"),
    Sign("currencies", _currencies, _MAKES),
    Sign("currency_case", _currency_case, _MAKES),
    Sign("payment_method_types", _method_types, "createPaymentIntent"),
    Sign("required_fields", _reference, "createCharge"),
    Sign("intent_fields", _intent_fields, "createPaymentIntent"),
    Sign("unknown_fields", _unknown_fields, f"{_MAKES} confirmPaymentIntent"),
    Sign("phone_format", _phone_format, _PAYS),
    Sign("operator_ids", _operator_ids),
    Sign("zed_mobile", _zed, _PAYS),
    Sign("intent_amount_scale", _scale, "createPaymentIntent"),
    Sign("channel_and_provider", _channel),
    Sign("operator_mismatch", _mismatch, _PAYS),
    Sign("intent_states", _intent_states),
    Sign("charge_states", _charge_states),
    Sign("prompt_timeout_s", _prompt_timeout, f"confirmPaymentIntent {WEBHOOK}"),
    Sign("late_success", _late),
    Sign("confirm_with_money_in_suspense", _with_suspense, "confirmPaymentIntent"),
    Sign("confirm_response", _confirm, "confirmPaymentIntent"),
    Sign("client_secret_on_confirm", _client_secret, "confirmPaymentIntent"),
    Sign("extra_endpoints", _extra, _EXTRA),
    Sign("pagination", _pages, _LISTS),
    Sign("token_field", _token_field, "issueToken refreshToken"),
    Sign("refresh_request", _refresh, "refreshToken"),
    Sign("access_token_use", _token_use),
    Sign("publishable_key", _publishable, "confirmPaymentIntent retrievePaymentIntent"),
    Sign("auth_schemes", _schemes),
    Sign("key_rotation", _rotation, "listApiKeys rollApiKey"),
    Sign("key_revocation", lambda seen: "at_once" if '"key_revoked"' in seen.text else None),
    Sign("event_types", _events, WEBHOOK),
    Sign("event_payload", _payload, WEBHOOK),
    Sign("signature_scheme", _signed, WEBHOOK),
    Sign("endpoint_registration", _endpoints, "createWebhookEndpoint listWebhookEndpoints"),
    Sign("endpoint_disable_after_s", _disabled, WEBHOOK),
    Sign("replay", _replayed, "replayEvent"),
    Sign("error_format", _errors),
    Sign("declined_status", _declined, "createCharge"),
    Sign("rate_limit", _rate),
    Sign("amount_bounds", _bounds, "createPaymentIntent"),
    Sign("idempotency_required", _key_needed, "createCharge"),
    Sign("version_header",
         lambda seen: None if seen.id == WEBHOOK else "api_version" if "api-version" in seen.got else "none"),
    Sign("deprecation", lambda seen: "headers" if "deprecation" in seen.got else None),
)  # fmt: skip
"""What an exchange shows by itself."""


# What several exchanges show together

Found: TypeAlias = Iterator[tuple[str, Shown, str]]
"""The name of a row, the value that was shown, and where."""


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


_KEPT_S: Final = (21_600, 86_400, 2_592_000)


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
        if before.status == HTTPStatus.PAYMENT_REQUIRED and (again or seen.took):
            yield "idempotency_keeps_errors", "declines" if again else "none", seen.place
        if before.ok and (again or seen.ok) and seen.at_s and before.at_s:
            waited.append((seen.at_s - before.at_s, again, seen.place))
        if not again:
            first[seen.url, key] = seen
    yield from _retained(waited)


def _retained(waited: Sequence[tuple[float, bool, str]]) -> Found:
    """The one time that is no shorter than each after which a key was known, and no longer than where it was not."""
    known = max((after_s for after_s, again, _ in waited if again), default=0)
    forgotten = min((after_s for after_s, again, _ in waited if not again), default=float("inf"))
    fits = [each for each in _KEPT_S if known - _NEAR_S <= each <= forgotten + _NEAR_S]
    if len(fits) < len(_KEPT_S) and waited:
        between = f"from {known:.0f} s to {forgotten:.0f} s"
        only = fits[0] if len(fits) == 1 else None
        yield "idempotency_retention_s", only if fits else Other(between), waited[-1][2]


_SCHEDULES: Final = tuple(
    value
    for gap in REGISTER
    if gap.name == "retry_schedule_s"
    for value in (gap.default, *gap.alternatives)
    if isinstance(value, tuple)
)
_GAVE_UP_S: Final = 2 * 86_400
_AT_LEAST_S, _FIRST_WAIT_S = 45, 180
"""A first wait between these is neither the schedule's 5 s nor its 1800 s."""
_WAITS: Final = {429, 502, 504}


def _retries(traffic: Sequence[Seen]) -> Found:
    """How an event came again whose answer was none that a delivery takes."""
    came: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    hooks = [seen for seen in traffic if seen.id == WEBHOOK and seen.at_s is not None]
    for seen in hooks:
        came[seen.url, str(seen.asked.get("id"))].append(seen)
    ended = max((seen.at_s or 0 for seen in traffic), default=0)
    gone = {seen.url for seen in hooks if seen.status == HTTPStatus.GONE}
    for (url, _), tries in came.items():
        first = tries[0]
        again = tries[1] if len(tries) > 1 else None
        wait = (again.at_s or 0) - (first.at_s or 0) if again else 0
        if first.status in range(203, 300) and (again or ended - (first.at_s or 0) > _GAVE_UP_S):
            yield "delivery_success", "200_201_202" if again else "2xx", (again or first).place
        if first.status == HTTPStatus.GONE and again:
            yield "delivery_gone", "retried", again.place
        if first.status in _WAITS and again and "retry-after" not in first.got:
            near = "ignored" if wait < _AT_LEAST_S else "honoured" if wait < _FIRST_WAIT_S else None
            yield "delivery_retry_after", near, again.place
        if (
            first.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            and not {each.status for each in tries} & _WAITS
            and url not in gone
        ):
            yield "retry_schedule_s", _schedule(tries, ended), tries[-1].place
    for seen in traffic:
        off = [each for each in seen.of_kind("webhook_endpoint") if each.get("status") == "disabled"]
        # A recording has the address, what a sandbox's trace is saved as the id in its place.
        if any(each.get("url") in gone or any(str(each.get("id")) in url for url in gone) for each in off):
            yield "delivery_gone", "disables", seen.place


def _schedule(tries: Sequence[Seen], ended: float) -> Shown:
    """The one schedule that fits what was waited, a fifth more or less; none while several do."""
    failed = next((at for at, each in enumerate(tries) if each.status in _SUCCESS), len(tries))
    waits = [(two.at_s or 0) - (one.at_s or 0) for one, two in pairwise(tries[: failed + 1])]
    is_over = failed == len(tries) and ended - (tries[-1].at_s or 0) > _GAVE_UP_S

    def fits(schedule: tuple[int, ...]) -> bool:
        near = all(
            0.8 * due - _NEAR_S <= wait <= 1.2 * due + _NEAR_S for wait, due in zip(waits, schedule[1:], strict=False)
        )
        return near and (len(waits) == len(schedule) - 1 if is_over else len(waits) < len(schedule))

    found = [each for each in _SCHEDULES if fits(each)]
    if len(found) == 1:
        return found[0]
    return None if found else Other("waits of " + written([round(each) for each in waits]))


def _order(traffic: Sequence[Seen]) -> Found:
    """An event that first arrived after a younger one of its object had."""
    newest: dict[object, float] = {}
    known = set()
    for seen in traffic:
        at, about = _time(seen.asked), next((each.get("id") for each in seen.objects), None)
        if seen.id != WEBHOOK or at is None or about is None or not seen.ok:
            continue
        same = (about, str(seen.asked.get("type")), at)
        if at < newest.get(about, at) and same not in known:
            yield "ordering", "unordered", seen.place
        known.add(same)
        newest[about] = max(at, newest.get(about, at))


TOGETHER: Final = (_unit, _wait, _late_after_all, _accounts, _keys, _retries, _order)
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
    """What the traffic says of one row: each value that was shown, and by which exchanges."""

    gap: Gap
    shown: Mapping[Value | Other, Sequence[str]]

    @property
    def result(self) -> str:
        """`shown`, `contradicted` or `open`."""
        return "open" if not self.shown else "contradicted" if len(self.shown) > 1 else "shown"

    @property
    def value(self) -> Value | None:
        """The one value of the register that was shown."""
        only = next(iter(self.shown), None)
        return None if len(self.shown) > 1 or isinstance(only, Other) else only

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """Its lines in a table: a value each."""
        why = UNSEEN.get((self.gap.name, None), "")
        told = [f"{_said(value)} ({places[0]})" for value, places in self.shown.items()] or [why and f"unseen: {why}"]
        heads = [(self.gap.name, self.result), *[("", "")] * (len(told) - 1)]
        return [(*head, shortened(each, _WIDEST)) for head, each in zip(heads, told, strict=True)]

    def as_record(self) -> dict[str, Any]:
        """The finding as JSON types."""
        values = [
            {"value": _told(value), "ours": not isinstance(value, Other), "by": [*places]}
            for value, places in self.shown.items()
        ]
        why = UNSEEN.get((self.gap.name, None), "") if not self.shown else ""
        return {"section": self.gap.section, "name": self.gap.name, "result": self.result, "values": values, "why": why}


_COLUMNS: Final = ("name", "result", "value, by which exchange")
_WIDEST: Final = 34


def _said(value: Value | Other) -> str:
    return f"none of ours: {value.what}" if isinstance(value, Other) else written(value)


def _told(value: Value | Other) -> Any:  # noqa: ANN401  a JSON value
    return value.what if isinstance(value, Other) else list(value) if isinstance(value, tuple) else value


class Evidence(NamedTuple):
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
    def left(self) -> list[str]:
        """The rows that are still to be asked about: open, contradicted, or with a value that is none of ours."""
        return [each.gap.name for each in self.findings if each.value is None]

    def only(self, names: Iterable[str]) -> "Evidence":
        """Those of some rows."""
        chosen = {*names}
        return self._replace(findings=tuple(each for each in self.findings if each.gap.name in chosen))

    def as_records(self) -> list[dict[str, Any]]:
        """A finding a row, as JSON types."""
        return [each.as_record() for each in self.findings]

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return self._table()._repr_mimebundle_()

    def _table(self) -> Table:
        more = ", and there were more than are looked at" if self.left_out else ""
        caption = f"What {self.read} recorded exchanges show of the register{more}"
        return table(caption, _COLUMNS, [cells for each in self.findings for cells in each.cells])

    @property
    def toml(self) -> str:
        """The rows as `--gaps FILE` takes them; what cannot be reproduced is a comment."""
        lines = [f"# What {self.read} recorded exchanges show of the service."]
        for each in self.findings:
            for value, places in each.shown.items():
                says = f"{each.gap.name} = {json.dumps(_told(value), ensure_ascii=False)}  # {places[0]}"
                why = "none of ours: " if isinstance(value, Other) else "contradicted: "
                lines.append(says if each.value is not None else f"# {why}{says}")
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


def evidence(*places: str | Path) -> Evidence:
    """What HAR files, or folders of them, say of each row of the register.

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
    traffic.sort(key=lambda each: each.at_s or 0)
    return Evidence(tuple(_findings(traffic)), len(traffic), room <= 0)


def _findings(traffic: Sequence[Seen]) -> Iterable[Finding]:
    found: dict[str, dict[Value | Other, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row, value, place in _shown(traffic):
        if value is not None:
            found[row][value].append(place)
    if "absent" in found["extra_endpoints"]:
        # Then the endpoints of webhooks are missing with all the others.
        found.pop("endpoint_registration", None)
    return (Finding(gap, found.get(gap.name, {})) for gap in REGISTER)


def _shown(traffic: Sequence[Seen]) -> Found:
    for sign in SIGNS:
        of = {*sign.of.split()}
        for seen in traffic:
            if not of or seen.id in of:
                yield sign.row, sign.shows(seen), seen.place
    for together in TOGETHER:
        yield from together(traffic)
