"""The register of what the interface does not show, and what the sandbox does about it: one row for each question."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar, cast

from workbench.domain import interface
from workbench.errors import GapRefused

Value = str | int | tuple[int, ...]
V = TypeVar("V", bound=Value)


class Gap(NamedTuple):
    """One row of the register."""

    name: str
    section: str
    """The section of the interface document that leaves it open."""
    default: Value
    says: str
    """What the default means."""
    alternatives: Mapping[Value, str] = {}
    why: str = ""
    asked: interface.Asked = interface.Asked("", "", ())
    """What the interface shows of it, the question that it leaves, and where it is applied and shown."""

    def as_record(self) -> dict[str, Any]:
        """The row as JSON types: its alternatives as a list of `value` and `says`."""
        columns = {name: value for name, value in self._asdict().items() if name != "asked"}
        columns["alternatives"] = [{"value": value, "says": says} for value, says in self.alternatives.items()]
        return {**columns, **self.asked._asdict(), "page": f"{interface.PAGE}#{self.name}"}


_MANY: Final = 3
"""So many times the same is counted."""


def written(value: object) -> str:
    """A value of the register; what comes many times in a row is counted, such as 48 times 1800 s."""
    if not isinstance(value, list | tuple):
        return str(value)
    runs = ([str(each) for each in same] for _, same in groupby(value))
    parts = (f"{len(run)} × {run[0]}" if len(run) >= _MANY else ", ".join(run) for run in runs)  # noqa: RUF001  times
    return f"{', '.join(parts)} s"


class Choice(NamedTuple):
    """A value as it is written, what it means, and whether it is the default."""

    value: str
    says: str
    is_default: bool = False

    def __str__(self) -> str:
        told = self.says if self.says.startswith(self.value) else f"{self.value}: {self.says}"
        return f"{told} (default)" if self.is_default else told


def choices_of(record: Mapping[str, Any]) -> list[Choice]:
    """All values of a row with its `value`, that in force first."""
    listed = [Choice(written(record["default"]), record["says"], is_default=True)]
    listed += [Choice(written(each["value"]), each["says"]) for each in record["alternatives"]]
    force = written(record["value"])
    return sorted(listed, key=lambda choice: choice.value != force)


def row(section: str, default: V, says: str, **others: Any) -> V:  # noqa: ANN401  each column has its own type
    """A field of `Gaps`: its section, its default and what that means, and the other columns of the row by name."""
    return field(default=default, metadata={"section": section, "says": says, **others})


@dataclass(frozen=True, kw_only=True, slots=True)
class Gaps:
    """What this sandbox does wherever the interface says "not shown"."""

    # fmt: off
    # 1. What the service does
    clearing: str = row("1", "next_day", "pending becomes available at 00:00 Africa/Lusaka the next day",
        alternatives={"immediate": "at once", "t_plus_2": "at 00:00 Africa/Lusaka two days later"})
    payouts: str = row("1", "on_request", "on request; rejected beyond the available balance",
        alternatives={"daily": "daily: all available money at 00:00 Africa/Lusaka, automatically; until then on "
            "request"})

    # 2. Resources and their fields
    success_status: str = row("2.1", "200", "200 for everything that succeeds",
        alternatives={"201_created": "201 for what creates"}, why="200 is the only success shown")
    currencies: str = row("2.1", "zmw", "ZMW only; ZMK is rejected by name",
        alternatives={"iso4217": "any code of ISO 4217 (SIX, 2026-01-01) that defines decimals, with that many "
            "decimals"},
        why="the only currency shown")
    currency_case: str = row("2.1", "either", "either case accepted; responses have upper case for intents, lower "
        "case for charges",
        alternatives={"strict": "only the case that is documented for each"}, why="the documentation shows both")
    payment_method_types: str = row("2.1", "includes",
        "must include mobile_money; other types are ignored",
        alternatives={"only": "only mobile_money"}, why='"includes the value"')
    required_fields: str = row("2.5", "minimum",
        "intent: amount, currency, payment_method_types; confirmation: the whole payment_method; "
        "charge: amount, currency, type, channel, phone",
        alternatives={"with_reference": "charge reference too"}, why="a call cannot work without these")
    intent_fields: str = row("2.5", "full",
        "object, amount, currency, status, description, payment_method_types, payment_method (phone masked), "
        "next_action, last_payment_error, latest_charge, metadata, warnings, created, livemode "
        "beside id and client_secret",
        alternatives={"minimal": "only id, client_secret and status"},
        why="Stripe's fields, which integrators know")
    unknown_fields: str = row("2.5", "ignored", "ignored in requests",
        alternatives={"refused": "rejected, each named"}, why="an added field must not break a client")
    phone_format: str = row("2.5", "e164", "E.164: +260 and nine digits, nothing else",
        alternatives={"national": "national 09… accepted too"}, why='"international format with a leading plus sign"')
    operator_ids: str = row("2.5", "short", "responses have mtn, airtel, zamtel; requests may use any case and the "
        "long forms",
        alternatives={"long": "responses have MTN_MOMO_ZMB, AIRTEL_OAPI_ZMB, ZAMTEL_ZMB"}, why="both forms are in use")
    zed_mobile: str = row("2.5", "refused",
        "numbers of Zed Mobile (98, 78, 58) are rejected, because no wallet is known, and so are unassigned ones (79)",
        alternatives={"zed": "accepted as zed"})
    charge_amount_unit: str = row("2.5", "minor", "minor units: 15000 is 150.00 ZMW",
        alternatives={"major": "major units: 150 is 150.00 ZMW"},
        why="integers are minor units in most payment APIs; the factor of 100 is the costliest guess in the document")
    intent_amount_scale: str = row("2.5", "exact", "at most two decimals; more are rejected",
        alternatives={"half_even": "rounded half-even"}, why="money must not be rounded silently")
    channel_and_provider: str = row("2.5", "asked_and_moved",
        "channel is the operator the merchant asked for, provider the one that moved the money",
        alternatives={"equal": "always equal"}, why="otherwise one of the two fields would be enough")
    operator_mismatch: str = row("2.5", "accepted",
        "accepted; provider follows the numbering plan; a line in warnings", alternatives={"refused": "rejected, 400"})
    merchant_fee: str = row("2.5", "2.5%", "2.5 % half-up, at least 0.01",
        alternatives={"none": "none", "flat_1.00": "flat 1.00"},
        why="an assumed rate: a ledger without fees would teach less")
    operator_fee: str = row("2.5", "1.0%", "1.0 % half-up",
        alternatives={"none": "none"}, why="an assumed rate, paid by the service")
    fee_on_refund: str = row("2.5", "kept", "kept",
        alternatives={"returned": "returned in proportion, to the minor unit; in full after a full refund"})

    # 3. States and transitions
    intent_states: str = row("3", "retryable",
        "requires_payment_method → requires_action → processing → succeeded; a failed attempt returns to "
        "requires_payment_method with last_payment_error; canceled",
        alternatives={"failed": "adds failed: a failed attempt ends the intent"},
        why="Stripe's states; only succeeded and canceled are final")
    charge_states: str = row("3", "three", "pending, succeeded, failed",
        alternatives={"expired": "adds expired, when nobody answers the prompt"})
    charge_wait: str = row("3", "answered",
        "the sandbox answers for the customer within the call; an unlisted number gives 200 succeeded",
        alternatives={"interactive": "200 pending, a prompt on the handset, events follow",
                      "accepted": "202 pending, a prompt on the handset, events follow"},
        why="200 with succeeded is the only outcome shown")
    prompt_timeout_s: int = row("3", 300, "the prompt closes after 300 s",
        alternatives={60: "60 s", 180: "180 s", 600: "600 s"},
        why="assumed: MTN allows 5 minutes, other prompts wait from 60 s to 600 s")
    pin_attempts: int = row("3", 3, "three tries, then wrong_pin fails the attempt", alternatives={1: "one try"})
    late_success: str = row("3", "suspense",
        "money that arrives after the prompt has expired goes to suspense and raises payment_intent.late_success; "
        "the intent stays as it is",
        alternatives={"succeeds": "the payment becomes succeeded, unless its intent was canceled or paid in another "
            "way"},
        why="this case loses real money")
    confirm_with_money_in_suspense: str = row("3", "accepted",
        "accepted, with a line in warnings that an earlier attempt's money is in suspense or was credited from there",
        alternatives={"refused": "rejected, 409 money_in_suspense"},
        why="without it, the customer could pay twice unnoticed")

    # 4. Endpoints
    confirm_response: str = row("4", "intent",
        "the intent, with next_action of type ussd_prompt (phone masked, expires_at)",
        alternatives={"accepted": "202 with only id and status"})
    client_secret_on_confirm: str = row("4", "with_publishable_key",
        "body field client_secret: required with a publishable key, optional with the secret key, checked if sent",
        alternatives={"always": "always required"}, why='"described as the means of confirming"')
    extra_endpoints: str = row("4", "offered", "offered, each marked assumed",
        alternatives={"absent": "absent: 404; the sandbox's own boards use /sandbox/dashboard instead"},
        why="integrators need them; the documentation does not mention them")
    pagination: str = row("4", "cursor",
        "limit from 1 to 100 (10), starting_after or ending_before, newest first, {object: list, url, has_more, data}",
        alternatives={"page": "page from 1, per_page from 1 to 100 (10), newest first, "
                      "{object: list, url, data, page, per_page, total}"})
    token_credentials: str = row("4", "any",
        "any e-mail address, and any non-empty password but the word wrong; no Authorization needed",
        alternatives={"one_account": "one account; its e-mail address and password are drawn and shown at the start"},
        why="the flow is illustrative")
    token_field: str = row("4", "access_token",
        "access_token, with token_type, expires_in and refresh_token (RFC 6749 §5.1), Cache-Control: no-store",
        alternatives={"token": "token; the other fields stay as they are",
                      "data.token": "data.token; the other fields are in data too"})
    refresh_request: str = row("4", "body_or_header",
        "refresh_token in the body, or the bearer token in the header and no body; each refresh ends the old pair",
        alternatives={"body": "only refresh_token in the body"})

    # 5. Authentication
    access_token_use: str = row("5", "everywhere", "everywhere that takes a bearer token, plants included",
        alternatives={"plants": "only plants"}, why='"sent on later requests"')
    publishable_key: str = row("5", "own_intent", "confirm and retrieve one intent with its client_secret; else 403",
        alternatives={"nothing": "nothing at all"})
    auth_schemes: str = row("5", "as_documented",
        "Bearer for intents, Basic for charges, Bearer for plants; either for assumed operations",
        alternatives={"either": "either for every operation"})
    key_rotation: str = row("5", "at_once", "rolling gives a new key; the old one gets 401 at once",
        alternatives={"overlap": "the old one works for another 86400 s, then it gets 401"})
    key_revocation: str = row("5", "at_once", "at once, 401 key_revoked")

    # 6. Events
    event_types: str = row("6", "by_object",
        "payment_intent.{created, requires_action, processing, succeeded, payment_failed, canceled, late_success}; "
        "charge.{pending, succeeded, failed, refunded, late_success}; refund.{created, succeeded, failed}; "
        "payout.{created, paid, failed}; suspense.{credited, returned}; webhook_endpoint.disabled",
        alternatives={"collection": "only collection.{successful, failed}: a charge, of an intent or on its own, has "
                      "succeeded or failed; nothing else sends an event, not even late money in suspense"})
    event_payload: str = row("6", "envelope",
        "id, type, timestamp (RFC 3339, Z), api_version, livemode, data: {object, previous_attributes}, "
        "request: {id, idempotency_key}",
        alternatives={"cloudevents": "CloudEvents 1.0 envelope, JSON in structured mode: application/cloudevents+json"})
    signature_scheme: str = row("6", "standard_webhooks", "Standard Webhooks 1.0",
        alternatives={
            "stripe": "Stripe-Signature: t=…,v1=hex of t.body; the key is the secret's whole text",
            "github": "X-Hub-Signature-256: sha256=hex of the body; the key is the secret's whole text; no id and no "
            "timestamp; a rolled secret ends at once, because the header holds one signature",
        },
        why="this specification fits HMAC-SHA256 with retries and replay")
    signature_tolerance_s: int = row("6", 300,
        "300 s, both ways; in process the timestamp is the sandbox's clock, over a socket this machine's",
        alternatives={600: "600 s, both ways, by the same clocks"},
        why="assumed: the specification leaves it to the receiver, and its libraries take five minutes; a receiver on "
        "a port checks by its own clock, which the sandbox's is not")
    endpoint_registration: str = row("6", "api",
        "by the API; several endpoints, each with its own secret, shown once; after a roll, the old secret signs too "
        "for a day", alternatives={"dashboard": "one endpoint, registered on the dashboard only"})
    retry_schedule_s: tuple[int, ...] = row("6", (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400),
        "ten attempts, each after this wait, with ±20 % jitter",
        alternatives={(0, 5, 300, 1800, 7200, 18000, 36000, 36000): "8 attempts ending 36000, 36000",
                      (0, *(1800,) * 48): "every 1800 s for a day", (0,): "none"},
        why="Standard Webhooks' example")
    delivery_success: str = row("6", "2xx", "any 2xx", alternatives={"200_201_202": "only 200, 201 and 202"})
    delivery_timeout_s: int = row("6", 15, "15 s for the whole response", alternatives={5: "5 s", 30: "30 s"})
    delivery_gone: str = row("6", "disables", "410 disables the endpoint",
        alternatives={"retried": "retried like any failure"})
    delivery_retry_after: str = row("6", "honoured",
        "after 429, 502 and 504 the wait is at least 60 s; with these and with 503, Retry-After (seconds or a date) is "
        "honoured up to twice the wait, and up to 120 s at least", alternatives={"ignored": "ignored"})
    dead_letter: str = row("6", "kept", "after the last attempt; kept, listed and replayable",
        alternatives={"dropped": "dropped after 30 days: no longer listed or replayable"})
    endpoint_disable_after_s: int = row("6", 432_000,
        "disabled after 432000 s without a success, with an event", alternatives={0: "never"})
    replay: str = row("6", "same_id", "same event id and body, new timestamp, current secret",
        alternatives={"new_id": "new id in headers and body: a receiver that dedupes by id handles the event again"},
        why="receivers dedupe by id")
    ordering: str = row("6", "unordered", "unordered, at least once",
        alternatives={"per_object": "in order for each object: an event waits until the object's earlier events are "
                      "delivered to the endpoint or are dead letters"})

    # 7. Errors
    error_format: str = row("7", "problem",
        "application/problem+json (RFC 9457) with the documented error and message as members too",
        alternatives={"plain": "plain {error, message}",
                      "envelope": "Stripe's envelope {error: {type, code, message, param, decline_code, doc_url}}"},
        why="includes the only documented error")
    declined_status: str = row("7", "402",
        "402 for charges, with the charge's id; the response to a confirmation does not wait for the customer",
        alternatives={"200": "200 with status failed"})
    reused_key_status: int = row("7", 422, "422", alternatives={400: "400", 409: "409"},
        why="as in the IETF draft; Stripe uses 400")
    failure_triggers: str = row("7", "numbers_header_script",
        "phone numbers, the Sandbox-Scenario header, bench.operator.script(…)",
        alternatives={"header": "only the header"})

    # 8. Limits
    rate_limit: str = row("8", "none", "none",
        alternatives={"100_per_60": "100 requests in 60 s for each account, with RateLimit-Policy and RateLimit "
                      "(draft-ietf-httpapi-ratelimit-headers-11), 429 and Retry-After"})
    amount_bounds: str = row("8", "none", "from 0.01 to 9,999,999,999.99",
        alternatives={"1_to_20000": "1.00 to 20,000.00 ZMW"})
    idempotency_required: str = row("8", "charges", "required for charges; optional for every other POST",
        alternatives={"never": "optional everywhere"}, why="only the charge request shows the header")
    idempotency_retention_s: int = row("8", 86_400,
        "86400 s, per account, mode, method and path, for the same body to the byte; a key or signing secret that is "
        "shown once is not kept, so it is missing from the repeated response",
        alternatives={21_600: "21600 s", 2_592_000: "2592000 s"})
    idempotency_keeps_errors: str = row("8", "declines", "declines and 5xx are repeated, validation errors are not",
        alternatives={"none": "only successes are repeated"}, why="as Stripe does")

    # 9. Versioning
    version_header: str = row("9", "api_version", "Api-Version in every response, accepted in requests; an unknown "
        "version gets 400",
        alternatives={"none": "no, only the path"})
    deprecation: str = row("9", "headers", "Deprecation (RFC 9745) and Sunset (RFC 8594) on deprecated operations; "
        "mark one with bench.control.deprecate", alternatives={"none": "none"})
    # fmt: on

    @classmethod
    def chosen(cls, choices: Mapping[str, object] | None = None) -> "Gaps":
        """The register with `choices` in place of its defaults.

        Lists are taken for tuples, so that a TOML or JSON file can hold a schedule.
        Raises GapRefused: a name or a value that the register does not offer, with those it does.
        """
        if not isinstance(choices or {}, Mapping):
            raise GapRefused(f"gaps is a mapping of names to values, not {type(choices).__name__}.")
        return cls(**{name: _checked(name, value) for name, value in (choices or {}).items()})

    def as_records(self) -> list[dict[str, Any]]:
        """The rows of the register as JSON types, each with the `value` in force."""
        return [{**gap.as_record(), "value": getattr(self, gap.name)} for gap in REGISTER]

    def changed(self) -> dict[str, Value]:
        """The rows that are not at their default."""
        return {gap.name: getattr(self, gap.name) for gap in REGISTER if getattr(self, gap.name) != gap.default}


REGISTER: tuple[Gap, ...] = tuple(
    Gap(name=each.name, default=cast("Value", each.default), asked=interface.ROWS[each.name], **each.metadata)
    for each in fields(Gaps)
)
_BY_NAME = {gap.name: gap for gap in REGISTER}


def rows_named(names: Sequence[str]) -> tuple[Gap, ...]:
    """The rows of these names, all for none.

    Raises GapRefused: there is no such row.
    """
    return tuple(_named(name) for name in names) or REGISTER


def _named(name: str) -> Gap:
    gap = _BY_NAME.get(name)
    if gap is None:
        near = _nearest(str(name))
        raise GapRefused(
            f"There is no gap named {name!r}.",
            hint=f"Did you mean {near}?" if near else "`workbench gaps` lists them.",
            name=name,
            allowed=tuple(_BY_NAME),
        )
    return gap


def _nearest(name: str) -> str | None:
    """The row whose name shares the most words with this one and, of those, is spelled most like it."""
    words = {*name.lower().split("_")}
    by_spelling = difflib.get_close_matches(name.lower(), _BY_NAME, n=len(_BY_NAME), cutoff=0)
    by_words = max(by_spelling, key=lambda row: len(words & {*row.split("_")}))
    alike = difflib.get_close_matches(name.lower(), _BY_NAME, n=1)
    return by_words if words & {*by_words.split("_")} else next(iter(alike), None)


def _checked(name: str, value: object) -> Any:  # noqa: ANN401  each row has its own type
    gap = _named(name)
    value = tuple(value) if isinstance(value, list) else value
    if isinstance(value, tuple) and any(type(each) is not int for each in value):
        value = str(value)
    allowed = (gap.default, *gap.alternatives)
    # Types too: True equals 1, and 300.0 equals 300.
    for offered in allowed:
        if value == offered and type(value) is type(offered):
            return offered
    schedules = (f"[{written(each)}]" if each and isinstance(each, tuple) else repr(each) for each in (value, *allowed))
    shown, *others = schedules
    raise GapRefused(f"{name} is not {shown}; it takes {', '.join(others)}.", name=name, allowed=allowed)
