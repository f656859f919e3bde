"""The register: a row for each question that the interface leaves open, with the sandbox's answer and alternatives."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from http import HTTPStatus
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar, cast

from workbench.domain import signs
from workbench.domain.phones import COUNTRY_CODE, WITHOUT_WALLET
from workbench.domain.signs import CALLS, WEBHOOK, Other, Part, Value, first, formed, has, on, tried, within
from workbench.errors import GapRefused

PAGE: Final = "/docs/interface"
"""The path of the page that shows the interface by section, each with the register's rows about it."""
V = TypeVar("V", bound=Value)
_PAYS: Final = "createCharge confirmPaymentIntent"
_MAKES: Final = "createCharge createPaymentIntent"
_OTHER_CASE: Final = {"createPaymentIntent zmw", "createCharge ZMW"}
_OF_ENVELOPE: Final = {*["type", "code", "message", "param", "decline_code", "doc_url", "charge", "request_id"]}
_LEDGER: Final = "fees stand in the service's ledger and in a balance of all payments"
_LUCK: Final = "that it did not happen may be luck"


class Gap(NamedTuple):
    """One row of the register: an open question of the interface, with its answers and all facts about them."""

    name: str
    section: str
    """The section of the interface document that leaves the question open."""
    default: Value
    says: str
    """The meaning of the default, in words."""
    asks: str
    """The question to the provider."""
    code: tuple[str, ...]
    """The modules that apply the row, as paths below the package."""
    alternatives: Mapping[Value, str] = {}
    why: str = ""
    """The reason for the default."""
    here: str = ""
    """A remark about the sandbox alone; no question to the provider contains it."""
    shows: str = "Nothing."
    """The part of the answer that the interface shows."""
    cost: int = 1
    """The cost of a wrong guess: 1 a call that fails at once, 2 payments that go wrong, 3 money."""
    of_sandbox: bool = False
    """True for a row about the sandbox itself; the letter to the provider and the checklist leave the row out."""
    relied: tuple[str, ...] = ()
    """The parts of responses that rely on the row, each as one of these texts:

    - the name of an operation, or of a struct on the wire;
    - the code of an error, alone or after the name of the struct that was sent;
    - `key` and a kind of credential, `member` and a member of the result, `failure` and a payment's failure code,
      `warning` and words of a warning;
    - `response` or `call`, and the name in `provenance` of a kind of response or of a property of the call.
    """
    happens: tuple[str, str] = ("", "")
    """(pattern, name of what relies on this row), such as `entry cleared` and `money that cleared`.

    If the pattern matches the kind, result, `what` and fault of a row in a trace, a report of the run says that what
    has this name relied on the register's row. If the name is empty, the report names the call or webhook.
    """
    sign: signs.Shows | None = None
    """Reads the value from one exchange of recorded traffic; None if one exchange cannot show the value."""
    together: str = ""
    """The key in `evidence.TOGETHER` of the function that finds the value in several exchanges; empty if none does."""
    unless: tuple[str, Value] = ("", "")
    """(name of another row, value): traffic that shows this value for the other row is no evidence about this row."""
    unseen: Mapping[Value | None, str] = {}
    """Value, or None for all values → why recorded traffic does not show the value."""
    notebook: str = ""
    """The slug of the notebook that shows the row, if one does."""


_OF_EVIDENCE: Final = {"relied", "happens", "sign", "together", "unless", "unseen"}
_MANY: Final = 3
"""The least number of equal values, one after another, that `written` counts instead of listing them."""


def written(value: object) -> str:
    """A value of the register as text; in a schedule, 3 or more equal values in a row are counted."""
    if not isinstance(value, list | tuple):
        return str(value)
    runs = ([str(item) for item in same] for _, same in groupby(value))
    parts = (f"{len(run)} \u00d7 {run[0]}" if len(run) >= _MANY else ", ".join(run) for run in runs)
    return f"{', '.join(parts)} s"


class Choice(NamedTuple):
    """A value as text, its meaning, and whether it is the default."""

    value: str
    says: str
    is_default: bool = False

    def __str__(self) -> str:
        text = self.says if self.says.startswith(self.value) else f"{self.value}: {self.says}"
        return f"{text} (default)" if self.is_default else text


def choices_of(record: Mapping[str, Any]) -> list[Choice]:
    """Lists a row's values, the value in force first; `record` is the row as `Gaps.as_records` gives it."""
    listed = [Choice(written(record["default"]), record["says"], is_default=True)]
    listed += [Choice(written(other["value"]), other["says"]) for other in record["alternatives"]]
    force = written(record["value"])
    return sorted(listed, key=lambda choice: choice.value != force)


def row(section: str, default: V, says: str, **others: object) -> V:
    """Declares a field of `Gaps`: its section, its default, the default's meaning, and other columns by name."""
    return field(default=default, metadata={"section": section, "says": says, **others})


@dataclass(frozen=True, kw_only=True, slots=True)
class Gaps:
    """The sandbox's choices wherever the interface says "not shown": a field for each row of the register."""

    # fmt: off
    # 1. What the service does
    clearing: str = row("1", "next_day", "pending becomes available at 00:00 Africa/Lusaka the next day",
        alternatives={"immediate": "at once", "t_plus_2": "at 00:00 Africa/Lusaka two days later"},
        asks="When does received money become available to us?", cost=2, relied=("Balance", "balance_insufficient"),
        happens=("entry cleared", "money that cleared"),
        unseen={None: "a balance is of all payments of the account, those outside of the recording too"},
        code=("sandbox/service/balances.py",), notebook="read_the_ledger")
    payouts: str = row("1", "on_request", "on request; rejected beyond the available balance",
        alternatives={"daily": "daily: all available money at 00:00 Africa/Lusaka, automatically; until then on "
            "request"}, asks="How and when is available money paid to our bank, and can we ask for it?", cost=2,
        relied=("Payout", "Balance", "balance_insufficient"), happens=("entry payout_", "a payout's entries"),
        sign=on(WEBHOOK, first(
            ("on_request", lambda call: call.event == "payout.created"
             and (call.sent_body.get("requestid") or within(call.sent_body, "request").get("id"))),
            (Part("daily", "a payout that no request made"), lambda call: call.event == "payout.created"))),
        code=("sandbox/service/balances.py",), notebook="read_the_ledger")

    # 2. Resources and their fields
    success_status: str = row("2.1", "200", "200 for everything that succeeds",
        alternatives={"201_created": "201 for what creates"}, why="200 is the only success shown",
        shows="200 for a charge and for a plant; for intents no status.",
        asks="Which status does a call that creates something have?", relied=("response unshown_success",),
        sign=on("createPaymentIntent createRefund createPayout", lambda call: (
            {200: "200", 201: "201_created"}.get(call.status, Other(str(call.status))) if call.ok else None)),
        code=("sandbox/operations.py",), notebook="intents_and_keys")
    currencies: str = row("2.1", "zmw", "ZMW only; ZMK is rejected by name",
        alternatives={"iso4217": "any code of ISO 4217 (SIX, 2026-01-01) that defines decimals, with that many "
            "decimals"}, why="the only currency shown", shows="ZMW alone.", asks="Which currencies do you accept?",
        relied=("currency_unsupported", "currency_retired", "call other_currency"), sign=on(_MAKES, tried(
            "iso4217", "zmw", "currency", part=lambda call: str(call.sent_body["currency"]).upper(),
            asks=lambda call: re.fullmatch(r"(?i)(?!zmw|zmk)[a-z]{3}", str(call.sent_body.get("currency"))))),
        code=("sandbox/service/__init__.py", "sandbox/service/balances.py"), notebook="intents_and_keys")
    currency_case: str = row("2.1", "either", "either case accepted; responses have upper case for intents, lower "
        "case for charges", alternatives={"strict": "only the case that is documented for each"},
        why="the documentation shows both", shows="Upper case for intents, lower case for charges.",
        asks="Does the case of a currency code matter, and which case do your responses have?",
        relied=("PaymentIntent", "Charge", "Refund"), sign=on(_MAKES, tried(
            "either", "strict", "currency", part=lambda call: f"{call.sent_body['currency']} for {call.about}", parts=2,
            asks=lambda call: f"{call.id} {call.sent_body.get('currency')}" in _OTHER_CASE)),
        code=("sandbox/service/__init__.py",), notebook="charges_and_idempotency")
    payment_method_types: str = row("2.1", "includes", "must include mobile_money; other types are ignored",
        alternatives={"only": "only mobile_money"}, why='"includes the value"',
        shows="A list that includes `mobile_money`.",
        asks="May `payment_method_types` hold other types beside `mobile_money`?", relied=("call several_types",),
        sign=on("createPaymentIntent", tried(
            "includes", "only", "payment_method_types",
            asks=lambda call: isinstance(call.sent_body.get("payment_method_types"), list)
            and {"mobile_money"} < {*map(str, call.sent_body["payment_method_types"])})),
        code=("sandbox/service/payments.py",), notebook="intents_and_keys")
    required_fields: str = row("2.5", "minimum",
        "intent: amount, currency, payment_method_types; confirmation: the whole payment_method; "
        "charge: amount, currency, type, channel, phone", alternatives={"with_reference": "charge reference too"},
        why="a call cannot work without these",
        shows="The names of the fields; that the object `payment_method` is required.",
        asks="Which fields of each request are required?",
        relied=("CreatePaymentIntent parameter_missing", "ConfirmPaymentIntent parameter_missing",
            "CreateCharge parameter_missing", "call no_reference"), sign=on("createCharge", tried(
            "minimum", "with_reference", "reference", part=lambda _: "a charge without a reference",
            asks=lambda call: call.sent_body and not call.sent_body.get("reference"))),
        code=("sandbox/service/payments.py",), notebook="intents_and_keys")
    intent_fields: str = row("2.5", "full",
        "object, amount, currency, status, description, payment_method_types, payment_method (phone masked), "
        "next_action, last_payment_error, latest_charge, metadata, warnings, created, livemode "
        "beside id and client_secret", alternatives={"minimal": "only id, client_secret and status"},
        why="Stripe's fields, which integrators know", shows="`id` and `client_secret`.",
        asks="Which other fields does a payment intent have?", relied=("PaymentIntent",),
        sign=on("createPaymentIntent", formed({
            "minimal": has("id client_secret status", only=True),
            "full": has("id client_secret object amount currency status description payment_method_types "
                        "payment_method next_action last_payment_error latest_charge metadata warnings created "
                        "livemode")})), code=("sandbox/service/payments.py",), notebook="intents_and_keys")
    unknown_fields: str = row("2.5", "ignored", "ignored in requests", alternatives={"refused": "rejected, each named"},
        why="an added field must not break a client", asks="What do you do with an unknown field?",
        sign=on(f"{_MAKES} confirmPaymentIntent", first(
            ("ignored", lambda call: call.unknown and call.is_accepted),
            ("refused", lambda call: call.unknown and call.status in {400, 422}
             and all(name in call.text for name in call.unknown)))), code=("sandbox/exchange.py",))
    phone_format: str = row("2.5", "e164", "E.164: +260 and nine digits, nothing else",
        alternatives={"national": "national 09… accepted too"}, why='"international format with a leading plus sign"',
        shows="International, with a leading plus sign.", asks="Do you accept numbers in national form too?",
        relied=("phone_invalid", "call national_number"), sign=on(_PAYS, tried(
            "national", "e164", "phone", asks=lambda call: re.match("0[1-9]", call.phone) and call.wallet
            and call.prefix not in WITHOUT_WALLET)),
        code=("sandbox/service/__init__.py", "sandbox/service/payments.py"))
    operator_ids: str = row("2.5", "short", "responses have mtn, airtel, zamtel; requests may use any case and the "
        "long forms", alternatives={"long": "responses have MTN_MOMO_ZMB, AIRTEL_OAPI_ZMB, ZAMTEL_ZMB"},
        why="both forms are in use", shows="That operators have identifiers, but no identifier.",
        asks="Which values do `provider` and `channel` take, and which do your responses have?", cost=2,
        relied=("PaymentIntent", "Charge", "operator_unknown"), together="operator_ids",
        code=("sandbox/service/payments.py",), notebook="going_live")
    zed_mobile: str = row("2.5", "refused",
        "numbers of Zed Mobile (98, 78, 58) are rejected, because no wallet is known, and so are valid numbers whose "
        "operator is not known (79)", alternatives={"zed": "all four accepted as zed"},
        asks="Do you take payments from numbers of Zed Mobile?",
        relied=("phone_without_wallet", "operator_unknown", "call zed_number"), sign=on(_PAYS, tried(
            "zed", "refused", "phone", part=lambda call: f"a {call.prefix}", parts=len(WITHOUT_WALLET),
            asks=lambda call: call.phone.startswith(COUNTRY_CODE) and call.prefix in WITHOUT_WALLET)),
        code=("sandbox/service/__init__.py", "sandbox/service/payments.py", "sandbox/service/handsets.py"))
    charge_amount_unit: str = row("2.5", "minor", "minor units: 15000 is 150.00 ZMW",
        alternatives={"major": "major units: 150 is 150.00 ZMW"},
        why="integers are minor units in most payment APIs; the factor of 100 is the costliest guess in the document",
        shows="An integer, without its unit.", asks="Is the amount of a charge in ngwee or in kwacha?", cost=3,
        relied=("Charge", "Refund", "warning the usual charge before it"), together="unit",
        code=("domain/payments.py", "sandbox/service/__init__.py"), notebook="charges_and_idempotency")
    intent_amount_scale: str = row("2.5", "exact", "at most two decimals; more are rejected",
        alternatives={"half_even": "rounded half-even"}, why="money must not be rounded silently",
        shows="A decimal number.", asks="What do you do with an amount that has more than two decimals?", cost=2,
        relied=("CreatePaymentIntent amount_too_precise", "call rounded"),
        sign=on("createPaymentIntent", signs.scale_shown), code=("sandbox/service/__init__.py",),
        notebook="intents_and_keys")
    channel_and_provider: str = row("2.5", "asked_and_moved",
        "channel is the operator the merchant asked for, provider the one that moved the money",
        alternatives={"equal": "always equal"}, why="otherwise one of the two fields would be enough",
        shows="Both fields, in the response to a charge.",
        asks="What is the difference between `channel` and `provider` of a charge?", relied=("Charge",),
        sign=signs.channel_shown, code=("sandbox/service/payments.py",), notebook="charges_and_idempotency")
    operator_mismatch: str = row("2.5", "accepted", "accepted; provider follows the numbering plan; a line in warnings",
        alternatives={"refused": "rejected, 400"},
        asks="What happens when the phone number belongs to an operator other than the one named?", cost=2,
        relied=("operator_mismatch", "warning which is asked for the money"), sign=on(_PAYS, tried(
            Part("accepted", "a number of another operator is accepted"), "refused", "provider", "channel", by={400},
            asks=lambda call: call.is_mixed)), code=("sandbox/service/__init__.py",),
        notebook="charges_and_idempotency")
    merchant_fee: str = row("2.5", "2.5%", "2.5 % half-up, at least 0.01",
        alternatives={"none": "none", "flat_1.00": "flat 1.00"},
        why="an assumed rate: a ledger without fees would teach less",
        asks="What fee do you charge us for a payment, and how is it rounded?", cost=2,
        relied=("Balance", "balance_insufficient"), happens=("entry funds_secured", "the ledger"),
        unseen={None: _LEDGER}, code=("domain/payments.py",), notebook="read_the_ledger")
    operator_fee: str = row("2.5", "1.0%", "1.0 % half-up", alternatives={"none": "none"},
        why="an assumed rate, paid by the service",
        asks="What does the operator charge for a payment, and who pays it?",
        happens=("entry funds_secured", "the ledger"), unseen={None: _LEDGER}, code=("domain/payments.py",),
        notebook="read_the_ledger")
    fee_on_refund: str = row("2.5", "kept", "kept",
        alternatives={"returned": "returned in proportion, to the minor unit; in full after a full refund"},
        asks="Do we get the fee back when we refund a payment?", cost=2, relied=("createRefund", "Balance"),
        happens=("entry refund_", "a refund's entries"), unseen={None: _LEDGER}, code=("sandbox/service/payments.py",),
        notebook="read_the_ledger")

    # 3. States and transitions
    intent_states: str = row("3", "retryable",
        "requires_payment_method → requires_action → processing → succeeded; a failed attempt returns to "
        "requires_payment_method with last_payment_error; canceled",
        alternatives={"failed": "adds failed: a failed attempt ends the intent"},
        why="Stripe's states; only succeeded and canceled are final", shows="The behaviour, without names of states.",
        asks="Which states does a payment intent have, and which transitions?", cost=2,
        relied=("PaymentIntent", "AcceptedIntent"), sign=formed(
            {"failed": lambda intent: intent.get("status") == "failed", "retryable": lambda intent: (
                intent.get("status") == "requires_payment_method" and intent.get("last_payment_error"))},
            lambda call: call.intents,
            signs.no_status_of("requires_payment_method requires_action processing succeeded canceled failed")),
        code=("domain/payments.py", "sandbox/service/payments.py"), notebook="going_live")
    charge_states: str = row("3", "three", "pending, succeeded, failed",
        alternatives={"expired": "adds expired, when nobody answers the prompt"}, shows="`succeeded`.",
        asks="Which states does a charge have?", cost=2, relied=("Charge",), sign=formed(
            {"expired": lambda charge: charge.get("status") == "expired", "three": lambda charge: (
                charge.get("status") == "failed" and charge.get("failure_code") == "prompt_timeout")},
            lambda call: call.charges, signs.no_status_of("pending succeeded failed expired")),
        code=("domain/payments.py",), notebook="going_live")
    charge_wait: str = row("3", "answered", "the call returns when the customer has answered: 200 succeeded",
        alternatives={"interactive": "200 pending, while the customer's phone asks for the PIN; events follow",
                      "accepted": "202 pending, while the customer's phone asks for the PIN; events follow"},
        here="the sandbox answers for the customer: as a test number says; any other number pays",
        why="200 with succeeded is the only outcome shown", shows="A 200 response with `succeeded`.",
        asks="Does the response to a charge wait for the customer?", cost=3, relied=("createCharge", "response 402"),
        together="wait", code=("sandbox/service/payments.py", "sandbox/operations.py"),
        notebook="charges_and_idempotency")
    prompt_timeout_s: int = row("3", 300, "the prompt closes after 300 s",
        alternatives={60: "60 s", 180: "180 s", 600: "600 s"},
        why="assumed: MTN allows 5 minutes, other prompts wait from 60 s to 600 s",
        asks="How long does the prompt on the customer's phone wait?", cost=2,
        relied=("confirmPaymentIntent", "prompt_expired", "member next_action", "failure prompt_timeout"),
        happens=("screen .*The request has expired", "a prompt that expired"), together="prompt_timeout",
        code=("sandbox/service/payments.py",), notebook="confirm_with_ussd")
    pin_attempts: int = row("3", 3, "three tries, then wrong_pin fails the attempt", alternatives={1: "one try"},
        shows="That a PIN is entered.", asks="How many wrong PINs may the customer enter?",
        happens=("screen .*Wrong PIN", "a wrong PIN"), unseen={None: "it happens on the customer's phone"},
        code=("sandbox/service/payments.py",), notebook="confirm_with_ussd")
    late_success: str = row("3", "suspense",
        "money that arrives after the prompt has expired goes to suspense and raises payment_intent.late_success; "
        "the intent stays as it is",
        alternatives={"succeeds": "the payment becomes succeeded, unless its intent was canceled or paid in another "
            "way"}, why="this case loses real money",
        asks="What happens to money that arrives after the prompt has expired, and how are we told?", cost=3,
        relied=("Suspense", "warning after its prompt had expired", "member suspense", "failure prompt_timeout"),
        happens=("entry late_success", "late money"), sign=first(
            (Part("suspense", "an event of late success", 2), lambda call: call.event.endswith(".late_success")),
            (Part("suspense", "money in suspense", 2),
             lambda call: any(payment.get("suspense") for payment in (*call.charges, *call.intents)))),
        together="late_after_all", code=("domain/payments.py",), notebook="when_payments_fail")
    confirm_with_money_in_suspense: str = row("3", "accepted",
        "accepted, with a line in warnings that an earlier attempt's money is in suspense or was credited from there",
        alternatives={"refused": "rejected, 409 money_in_suspense"},
        why="without it, the customer could pay twice unnoticed",
        asks="How do you respond to a confirmation while late money of the same intent is in suspense?", cost=2,
        relied=("money_in_suspense", "warning of an earlier attempt"), sign=on("confirmPaymentIntent", first(
            ("refused", lambda call: call.status == HTTPStatus.CONFLICT and "money_in_suspense" in call.text),
            ("accepted", lambda call: call.ok and "suspense" in str(call.body.get("warnings"))))),
        code=("sandbox/service/balances.py",), notebook="when_payments_fail")

    # 4. Endpoints
    confirm_response: str = row("4", "intent",
        "the intent, with next_action of type ussd_prompt (phone masked, expires_at)",
        alternatives={"accepted": "202 with only id and status"}, shows="The request; not the response.",
        asks="What is the response to a confirmation?", relied=("confirmPaymentIntent",),
        sign=on("confirmPaymentIntent", first(
            ("accepted", lambda call: call.status == HTTPStatus.ACCEPTED and {*call.body} == {"id", "status"}),
            (Other("id and status without 202"), lambda call: call.ok and {*call.body} == {"id", "status"}),
            ("intent", lambda call: "expires_at" in within(call.body, "next_action", "ussd_prompt")),
            (Part("intent", "the intent, without a prompt"), lambda call: call.ok and "client_secret" in call.body),
            (Other("neither the intent nor its status"), lambda call: call.ok and call.body))),
        code=("sandbox/operations.py",), notebook="confirm_with_ussd")
    client_secret_on_confirm: str = row("4", "with_publishable_key",
        "body field client_secret: required with a publishable key, optional with the secret key, checked if sent",
        alternatives={"always": "always required"}, why='"described as the means of confirming"',
        shows="Examples with the secret key; the client secret as the means of confirming.",
        asks="When must the client secret be sent on confirm, and where?",
        relied=("confirmPaymentIntent", "client_secret_missing", "client_secret_wrong",
            "ConfirmPaymentIntent parameter_missing"), sign=on("confirmPaymentIntent", tried(
            "with_publishable_key", "always", "client_secret",
            asks=lambda call: call.sent_body and "client_secret" not in call.sent_body and call.key_prefix != "pk_")),
        code=("sandbox/service/payments.py",), notebook="confirm_with_ussd")
    extra_endpoints: str = row("4", "offered", "offered, each marked assumed", alternatives={"absent": "absent: 404"},
        here="without them, the console uses /sandbox/dashboard",
        why="integrators need them; the documentation does not mention them", shows="Six operations.",
        asks="Can we retrieve, list, cancel and refund payments, and manage endpoints and keys, by the API?", cost=2,
        relied=("response assumed",), together="extra_endpoints", code=("sandbox/operations.py",),
        notebook="going_live")
    pagination: str = row("4", "cursor",
        "limit from 1 to 100 (10), starting_after or ending_before, newest first, {object: list, url, has_more, data}",
        alternatives={"page": "page from 1, per_page from 1 to 100 (10), newest first, "
                      "{object: list, url, data, page, per_page, total}"}, asks="How are lists paged?",
        relied=("List", "NumberedList", "cursor_unknown"), sign=on(CALLS, formed(
            {"cursor": has("object url has_more data"), "page": has("object url data page per_page total")},
            lambda call: [call.body] * (
                call.ok and call.id.startswith("list") and isinstance(call.body.get("data"), list)))),
        code=("sandbox/operations.py",))
    token_credentials: str = row("4", "any",
        "any e-mail address, and any non-empty password but the word wrong; no Authorization needed",
        alternatives={"one_account": "one account with an e-mail address and a password"},
        why="the flow is illustrative", here="one_account: the sandbox makes up the account, and shows it at the start",
        shows="A flow with e-mail address and password, described as illustrative.",
        asks="Whose e-mail address and password does the token operation take?",
        relied=("issueToken", "credentials_wrong"), together="accounts",
        code=("sandbox/store/transaction.py",), notebook="tokens_and_plants")
    token_field: str = row("4", "access_token",
        "access_token, with token_type, expires_in and refresh_token (RFC 6749 §5.1), Cache-Control: no-store",
        alternatives={"token": "token; the other fields stay as they are",
                      "data.token": "data.token; the other fields are in data too"},
        shows="That a bearer token is returned.", asks="What is the token's field called?",
        relied=("Token", "NamedToken", "WrappedToken"), sign=on("issueToken refreshToken", formed({
            "access_token": has("access_token"), "token": has("token"),
            "data.token": lambda body: "token" in within(body, "data")})), code=("sandbox/operations.py",),
        notebook="tokens_and_plants")
    refresh_request: str = row("4", "body_or_header",
        "refresh_token in the body, or the bearer token in the header and no body; each refresh ends the old pair",
        alternatives={"body": "only refresh_token in the body"}, shows="The operation, without its payload.",
        asks="What does the refresh operation take?",
        relied=("refreshToken", "token_replaced", "refresh_token_invalid"), sign=on("refreshToken", tried(
            "body_or_header", "body",
            asks=lambda call: call.scheme and not call.sent_text
            and call.sent_headers.get("content-length", "0") == "0")),
        code=("sandbox/service/accounts.py",), notebook="tokens_and_plants")

    # 5. Authentication
    access_token_use: str = row("5", "everywhere", "everywhere that takes a bearer token, plants included",
        alternatives={"plants": "only plants"}, why='"sent on later requests"',
        shows="That it is sent with later requests.", asks="Which operations take an access token?",
        relied=("key_not_allowed", "key token"), sign=on(CALLS, tried(
            "everywhere", "plants", by={403},
            asks=lambda call: call.scheme == "bearer" and call.key_prefix not in {"sk_", "pk_"}
            and call.id != "createPlant" and "/v1/auth/" not in call.url)),
        code=("sandbox/access.py",), notebook="tokens_and_plants")
    publishable_key: str = row("5", "own_intent", "confirm and retrieve one intent with its client_secret; else 403",
        alternatives={"nothing": "nothing at all"}, shows="That it is for checkouts and SDKs.",
        asks="What may a publishable key do?", cost=2,
        relied=("key_not_allowed", "client_secret_missing", "key publishable"),
        sign=on("confirmPaymentIntent retrievePaymentIntent", tried(
            "own_intent", "nothing", by={403}, part=lambda call: call.about, parts=2,
            asks=lambda call: call.key_prefix == "pk_" and "client_secret" in f"{call.url} {[*call.sent_body]}")),
        code=("sandbox/service/payments.py", "sandbox/engine.py"), notebook="intents_and_keys")
    auth_schemes: str = row("5", "as_documented",
        "Bearer for intents, Basic for charges, Bearer for plants; either for assumed operations",
        alternatives={"either": "either for every operation"}, shows="Bearer on intents and plants, Basic on charges.",
        asks="Does each operation take Basic as well as Bearer?", relied=("scheme_wrong",), sign=tried(
            "either", "as_documented", by={401},
            asks=lambda call: {call.scheme, call.documented} == {"basic", "bearer"} and (
                call.is_accepted or (call.documented in call.challenge and call.scheme not in call.challenge))),
        code=("sandbox/access.py",))
    key_rotation: str = row("5", "at_once", "rolling gives a new key; the old one gets 401 at once",
        alternatives={"overlap": "the old one works for another 86400 s, then it gets 401"},
        asks="Does the old key still work after it is rolled, and for how long?", cost=2,
        relied=("rollApiKey", "key_rolled"), sign=on("listApiKeys rollApiKey", first(
            (Part("overlap", "a rolled key works on for some time"),
             lambda call: any(key.get("works_until") for key in call.objects)))),
        unseen={"at_once": "keys are masked on reading, so nobody knows which key was refused"},
        code=("sandbox/service/accounts.py",))
    key_revocation: str = row("5", "at_once", "at once, 401 key_revoked",
        asks="When does a revoked key stop working, and what is the response to it?", cost=2,
        relied=("revokeApiKey", "key_revoked"),
        sign=on(CALLS, first((Part("at_once", "401 key_revoked"), lambda call: '"key_revoked"' in call.text))),
        code=("sandbox/service/accounts.py", "sandbox/access.py"))

    # 6. Events
    event_types: str = row("6", "by_object",
        "payment_intent.{created, requires_action, processing, succeeded, payment_failed, canceled, late_success}; "
        "charge.{pending, succeeded, failed, refunded, late_success}; refund.{created, succeeded, failed}; "
        "payout.{created, paid, failed}; suspense.{credited, returned}; webhook_endpoint.disabled",
        alternatives={"collection": "only collection.{successful, failed}: a charge, of an intent or on its own, has "
                      "succeeded or failed; nothing else sends an event, not even late money in suspense"},
        shows="That there are events.", asks="What are your events called, and when does each occur?", cost=2,
        relied=("Event", "event_type_unknown"), happens=("webhook ", ""), together="event_types",
        code=("sandbox/service/webhooks.py",), notebook="going_live")
    event_payload: str = row("6", "envelope",
        "id, type, timestamp (RFC 3339, Z), api_version, livemode, data: {object, previous_attributes}, "
        "request: {id, idempotency_key}",
        alternatives={"cloudevents": "CloudEvents 1.0 envelope, JSON in structured mode: application/cloudevents+json"},
        shows="That a callback is sent.", asks="What is the body of a webhook?", cost=2, relied=("Event",),
        happens=("webhook ", "a webhook"), sign=on(WEBHOOK, formed({
            "cloudevents": has("specversion id source type data"),
            "envelope": has("id type timestamp api_version livemode data request")}, lambda call: [call.sent_body])),
        code=("sandbox/service/webhooks.py",), notebook="going_live")
    signature_scheme: str = row("6", "standard_webhooks", "Standard Webhooks 1.0", alternatives={
            "stripe": "Stripe-Signature: t=…,v1=hex of t.body; the key is the secret's whole text",
            "github": "X-Hub-Signature-256: sha256=hex of the body; the key is the secret's whole text; no id and no "
            "timestamp; a rolled secret ends at once, because the header holds one signature",
        }, why="this specification fits HMAC-SHA256 with retries and replay", shows="HMAC-SHA256.",
        asks="Which header holds the signature, and what exactly is signed?", cost=2,
        relied=("createWebhookEndpoint", "rollWebhookEndpointSecret"), happens=("webhook ", "a webhook"),
        sign=on(WEBHOOK, signs.signature_shown), code=("sandbox/service/webhooks.py",), notebook="verify_webhooks")
    signature_tolerance_s: int = row("6", 300, "300 s, both ways", alternatives={600: "600 s, both ways"},
        why="assumed: the specification leaves it to the receiver, and its libraries take five minutes",
        here="in process the timestamp is the sandbox's clock, over a socket this machine's clock, by which a "
        "receiver on a port checks", asks="How old may a webhook be before we should reject it?",
        happens=("webhook ", "a webhook"), unseen={None: "the receiver chooses it"},
        code=("bench.py", "sandbox/service/webhooks.py"), notebook="verify_webhooks")
    endpoint_registration: str = row("6", "api",
        "by the API; several endpoints, each with its own secret, shown once; after a roll, the old secret signs too "
        "for a day", alternatives={"dashboard": "one endpoint, registered on the dashboard only"},
        asks="How do we register a webhook endpoint, and may there be several?",
        relied=("WebhookEndpoint", "endpoint_exists"), sign=on("createWebhookEndpoint listWebhookEndpoints", first(
            (Part("dashboard", "the API has no endpoints"), lambda call: call.status == HTTPStatus.NOT_FOUND),
            (Part("api", "there are several endpoints", 2), lambda call: len(call.of_kind("webhook_endpoint")) > 1),
            (Part("api", "the API registers one", 2), lambda call: call.ok and call.id == "createWebhookEndpoint"))),
        unless=("extra_endpoints", "absent"), code=("sandbox/service/webhooks.py", "sandbox/operations.py"),
        notebook="your_own_backend")
    retry_schedule_s: tuple[int, ...] = row("6", (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400),
        "ten attempts, each after this wait, with ±20 % jitter",
        alternatives={(0, 5, 300, 1800, 7200, 18000, 36000, 36000): "8 attempts ending 36000, 36000",
                      (0, *(1800,) * 48): "every 1800 s for a day", (0,): "none"}, why="Standard Webhooks' example",
        shows="That failed deliveries are retried with backoff.",
        asks="When do you try again after a failed delivery, and how often?", cost=2, relied=("Delivery",),
        happens=("webhook ([^2]|.*attempt)", "a retry"), together="retries", code=("domain/webhooks.py",),
        notebook="retries_dead_letters_and_replay")
    delivery_success: str = row("6", "2xx", "any 2xx", alternatives={"200_201_202": "only 200, 201 and 202"},
        asks="Which of our status codes count as delivered?", cost=2, happens=(r"webhook 2(?!00\b)", ""),
        together="retries", code=("domain/webhooks.py",))
    delivery_timeout_s: int = row("6", 15, "15 s for the whole response", alternatives={5: "5 s", 30: "30 s"},
        asks="How quickly must our endpoint respond?", cost=2, happens=("webhook .*took longer", "a slow answer"),
        unseen={None: "a recording does not show how long the service waits for a receiver"},
        code=("sandbox/service/webhooks.py", "sandbox/driver.py"))
    delivery_gone: str = row("6", "disables", "410 disables the endpoint",
        alternatives={"retried": "retried like any failure"}, asks="Does a 410 from us end the deliveries?", cost=2,
        happens=(r"webhook 410\b", "a 410"), together="retries", code=("domain/webhooks.py",),
        notebook="retries_dead_letters_and_replay")
    delivery_retry_after: str = row("6", "honoured",
        "after 429, 502 and 504 the wait is at least 60 s; with these and with 503, Retry-After (seconds or a date) is "
        "honoured up to twice the wait, and up to 120 s at least", alternatives={"ignored": "ignored"},
        shows="That failed deliveries are retried with backoff.",
        asks="Do you honour Retry-After, and wait longer after 429, 502 and 504?",
        happens=(r"webhook (429|50[234])\b", "a 429, 502, 503 or 504"), together="retries",
        code=("domain/webhooks.py",), notebook="retries_dead_letters_and_replay")
    dead_letter: str = row("6", "kept", "after the last attempt; kept, listed and replayable",
        alternatives={"dropped": "dropped after 30 days: no longer listed or replayable"},
        shows="That undeliverable events go to a dead-letter queue.",
        asks="When does an event become a dead letter, and how long is it kept?", cost=2, relied=("Delivery",),
        happens=("webhook .*dead letter", "a dead letter"),
        unseen={None: "it shows only after thirty days, when an event is no longer listed"},
        code=("sandbox/service/webhooks.py",), notebook="retries_dead_letters_and_replay")
    endpoint_disable_after_s: int = row("6", 432_000, "disabled after 432000 s without a success, with an event",
        alternatives={0: "never"}, asks="When do you disable an endpoint that keeps failing?", cost=2,
        happens=(r"webhook .*webhook_endpoint\.disabled", ""), sign=on(WEBHOOK, first(
            (Part(432_000, "an endpoint is disabled"), lambda call: call.event == "webhook_endpoint.disabled"))),
        unseen={0: _LUCK}, code=("sandbox/service/webhooks.py",), notebook="retries_dead_letters_and_replay")
    replay: str = row("6", "same_id", "same event id and body, new timestamp, current secret",
        alternatives={"new_id": "new id in headers and body: a receiver that dedupes by id handles the event again"},
        why="receivers dedupe by id", shows="That the dashboard can replay events.",
        asks="Does a replayed event keep its id?", cost=2,
        relied=("replayEvent", "replayDelivery", "replayDeadLetters"), sign=on("replayEvent", first(
            ("same_id", lambda call: any(f"/{item.get('event')}/" in call.url for item in call.objects)),
            ("new_id", lambda call: any(item.get("event") for item in call.objects)))),
        code=("sandbox/service/webhooks.py",), notebook="retries_dead_letters_and_replay")
    ordering: str = row("6", "unordered", "unordered, at least once",
        alternatives={"per_object": "in order for each object: an event waits until the object's earlier events are "
                      "delivered to the endpoint or are dead letters",
                      "out_of_order": "events before an outcome (created, requires_action, processing, pending) come "
                      "10 s late, so after a success or failure that follows at once"},
        asks="In which order do the events of one payment arrive?", cost=2, relied=("Delivery",),
        happens=("webhook ", "a webhook"), together="order", unseen={"per_object": _LUCK},
        code=("sandbox/service/webhooks.py",), notebook="retries_dead_letters_and_replay")
    repeats: str = row("6", "once", "once, when the first attempt succeeds",
        alternatives={"duplicate": "twice, although the first attempt has succeeded"},
        why="a receiver has to handle an event that comes twice: at least once is all that retries can promise",
        shows="That failed deliveries are retried with backoff.",
        asks="May a webhook that we have answered with 200 come again?", cost=3, happens=("webhook ", "a webhook"),
        together="retries", unseen={"once": _LUCK}, code=("sandbox/service/webhooks.py",))
    lateness: str = row("6", "at_once", "at once",
        alternatives={"thirty_seconds": "thirty seconds after the change that it reports"},
        asks="How soon after a payment has succeeded does its webhook come?", cost=2, happens=("webhook ", "a webhook"),
        together="order", code=("sandbox/service/webhooks.py",))

    # 7. Errors
    error_format: str = row("7", "problem",
        "application/problem+json (RFC 9457) with the documented error and message as members too",
        alternatives={"plain": "plain {error, message}",
                      "envelope": "Stripe's envelope {error: {type, code, message, param, decline_code, doc_url}}"},
        why="includes the only documented error", shows="`error` and `message`, of the plant store alone.",
        asks="What does an error of the payment operations look like, and which codes are there?",
        relied=("response unshown_error",), sign=on(CALLS, formed(
            {"envelope": lambda body: {"type", "code", "message"} <= {*within(body, "error")} <= _OF_ENVELOPE,
             Part("envelope", "an object error"): lambda body: within(body, "error"),
             "plain": has("error message", only=True), "problem": has("type title status error message")},
            lambda call: [call.body] * (call.status >= HTTPStatus.BAD_REQUEST and call.id != "createPlant"))),
        code=("sandbox/exchange.py", "sandbox/messages.py"), notebook="intents_and_keys")
    declined_status: str = row("7", "402",
        "402 for charges, with the charge's id; the response to a confirmation does not wait for the customer",
        alternatives={"200": "200 with status failed"},
        asks="Which status does the response to a declined charge have?", cost=3,
        relied=("payment_declined", "response 402", "call declined"), sign=on("createCharge", first(
            ("402", lambda call: call.status == HTTPStatus.PAYMENT_REQUIRED),
            ("200", lambda call: call.ok and call.body.get("status") == "failed"))),
        code=("sandbox/service/payments.py",), notebook="charges_and_idempotency")
    reused_key_status: int = row("7", 422, "422", alternatives={400: "400", 409: "409"},
        why="as in the IETF draft; Stripe uses 400",
        asks="What is the response to an idempotency key that is used again with another body?",
        relied=("idempotency_key_reused",), together="keys", code=("sandbox/exchange.py",),
        notebook="charges_and_idempotency")
    failure_triggers: str = row("7", "numbers_header_script", "test numbers, a header, and a script",
        alternatives={"header": "only the header"},
        here="the test numbers, the header Sandbox-Scenario and bench.operator.script(…)",
        shows="That failures can be produced on demand.", asks="How do we make your sandbox produce a failure?",
        of_sandbox=True, relied=("scenario_unknown", "call test_number"),
        unseen={None: "test numbers are masked on reading"}, code=("sandbox/service/payments.py",),
        notebook="when_payments_fail")

    # 8. Limits
    rate_limit: str = row("8", "none", "none",
        alternatives={"100_per_60": "100 requests in 60 s for each account, with RateLimit-Policy and RateLimit "
                      "(draft-ietf-httpapi-ratelimit-headers-11), 429 and Retry-After"},
        asks="How many requests may we make, and how do you tell us to slow down?", relied=("rate_limited",),
        sign=on(CALLS, first(
            ("100_per_60", lambda call: re.search(r"\bq=100\b.*\bw=60\b", call.limit)),
            (lambda call: Other(call.limit[:60]), lambda call: call.limit),
            (Other("429, with no policy told"), lambda call: call.status == HTTPStatus.TOO_MANY_REQUESTS))),
        unseen={"none": _LUCK}, code=("sandbox/exchange.py",))
    amount_bounds: str = row("8", "none", "from 0.01 to 9,999,999,999.99",
        alternatives={"1_to_20000": "1.00 to 20,000.00 ZMW"},
        asks="What are the smallest and the largest amounts of a payment?",
        relied=("amount_not_positive", "amount_too_large", "amount_out_of_bounds", "call outside_bounds"),
        together="bounds", code=("sandbox/service/__init__.py",), notebook="intents_and_keys")
    idempotency_required: str = row("8", "charges", "required for charges; optional for every other POST",
        alternatives={"never": "optional everywhere"}, why="only the charge request shows the header",
        shows="The header, on the charge's request.", asks="Which calls need an Idempotency-Key, and which accept one?",
        cost=3, relied=("idempotency_key_missing",), sign=on("createCharge", tried(
            "never", "charges", "Idempotency-Key", "idempotency",
            asks=lambda call: "idempotency-key" not in call.sent_headers)), code=("sandbox/exchange.py",),
        notebook="charges_and_idempotency")
    idempotency_retention_s: int = row("8", 86_400,
        "86400 s, per account, mode, method and path, for the same body to the byte; a key or signing secret that is "
        "shown once is not kept, so it is missing from the repeated response",
        alternatives={21_600: "21600 s", 2_592_000: "2592000 s"}, shows="The header.",
        asks="How long do you remember an Idempotency-Key?", cost=3,
        relied=("idempotency_key_reused", "response replayed"), together="keys", code=("sandbox/exchange.py",),
        notebook="charges_and_idempotency")
    idempotency_keeps_errors: str = row("8", "declines", "declines and 5xx are repeated, validation errors are not",
        alternatives={"none": "only successes are repeated"}, why="as Stripe does", shows="The header.",
        asks="Is an error repeated for the same Idempotency-Key?", cost=2, relied=("response replayed_error",),
        together="keys", code=("sandbox/exchange.py",), notebook="charges_and_idempotency")

    # 9. Versioning
    version_header: str = row("9", "api_version", "Api-Version in every response, accepted in requests; an unknown "
        "version gets 400", alternatives={"none": "no, only the path"}, shows="`/v1` in the path.",
        asks="Can a header select a version?", relied=("version_unknown",), sign=on(CALLS, first(
            (Part("api_version", "a header with an unknown version is rejected", 2),
             lambda call: "api-version" in call.sent_headers and call.status == HTTPStatus.BAD_REQUEST
             and "version" in call.text.lower()),
            (Part("api_version", "in a response", 2), lambda call: "api-version" in call.headers),
            (Part("none", "a header with a version is ignored", 2),
             lambda call: "api-version" in call.sent_headers and call.is_accepted),
            (Part("none", "in no response", 2), lambda _: True))), code=("sandbox/exchange.py",))
    deprecation: str = row("9", "headers", "Deprecation (RFC 9745) and Sunset (RFC 8594) on deprecated operations",
        alternatives={"none": "none"}, here="mark an operation with bench.control.deprecate",
        asks="How do you announce that something will be removed?",
        sign=on(CALLS, first(("headers", lambda call: {"deprecation", "sunset"} <= {*call.headers}))),
        unseen={"none": _LUCK}, code=("sandbox/operations.py",))
    # fmt: on

    @classmethod
    def chosen(cls, choices: Mapping[str, object] | None = None) -> "Gaps":
        """The register with `choices` in place of its defaults.

        Lists count as tuples, so that a TOML or JSON file can hold a schedule.
        Raises GapRefused: a name or a value that the register does not offer; the error has the offered ones.
        """
        if not isinstance(choices or {}, Mapping):
            raise GapRefused(f"gaps is a mapping of names to values, not {type(choices).__name__}.")
        checked: dict[str, Any] = {name: _checked(name, value) for name, value in (choices or {}).items()}
        return cls(**checked)

    def as_records(self) -> list[dict[str, Any]]:
        """The register as JSON types: each row with a list of its alternatives and the `value` in force."""
        return [
            {
                **{name: column for name, column in gap._asdict().items() if name not in _OF_EVIDENCE},
                "alternatives": [{"value": value, "says": says} for value, says in gap.alternatives.items()],
                "page": f"{PAGE}#{gap.name}", "value": getattr(self, gap.name),
            }
            for gap in REGISTER
        ]  # fmt: skip

    def changed(self) -> dict[str, Value]:
        """Row → its value, for every row that is not at its default."""
        return {gap.name: getattr(self, gap.name) for gap in REGISTER if getattr(self, gap.name) != gap.default}


REGISTER: tuple[Gap, ...] = tuple(
    Gap(name=column.name, default=cast("Value", column.default), **column.metadata) for column in fields(Gaps)
)
_BY_NAME = {gap.name: gap for gap in REGISTER}


@cache
def rows_by(kind: str = "") -> Mapping[str, tuple[str, ...]]:
    """Entry of the column `relied`, such as an operation, a struct or an error's code → names of the rows that have it.

    With a `kind`, such as `warning`, only the entries of this kind, without the word for the kind.
    """
    rows_of: dict[str, tuple[str, ...]] = {}
    for gap in REGISTER:
        for thing in gap.relied:
            if not kind or thing.startswith(f"{kind} "):
                name = thing.removeprefix(f"{kind} ")
                rows_of[name] = (*rows_of.get(name, ()), gap.name)
    return rows_of


def link_to(section: str) -> str:
    """The address of a section on the page `PAGE`; of several sections, such as `2.1, 4`, the address of the first."""
    return f"{PAGE}#section-{section.partition(',')[0]}"


def gaps_named(names: Sequence[str]) -> tuple[Gap, ...]:
    """The rows of these names; all rows if `names` is empty. Raises GapRefused: there is no such row."""
    return tuple(_gap_named(name) for name in names) or REGISTER


def _gap_named(name: str) -> Gap:
    if name not in _BY_NAME:
        near = _nearest(str(name))
        hint = f"Did you mean {near}?" if near else "`workbench gaps` lists them."
        raise GapRefused(f"There is no gap named {name!r}.", hint=hint, name=name, allowed=tuple(_BY_NAME))
    return _BY_NAME[name]


def _nearest(name: str) -> str | None:
    """The name of the row that shares most words with `name`, else of a row spelled alike; None if there is none."""
    words = {*name.lower().split("_")}
    by_spelling = difflib.get_close_matches(name.lower(), _BY_NAME, n=len(_BY_NAME), cutoff=0)
    by_words = max(by_spelling, key=lambda row: len(words & {*row.split("_")}))
    alike = difflib.get_close_matches(name.lower(), _BY_NAME, n=1)
    return by_words if words & {*by_words.split("_")} else next(iter(alike), None)


def _checked(name: str, value: object) -> Value:
    gap = _gap_named(name)
    value = tuple(value) if isinstance(value, list) else value
    if isinstance(value, tuple) and any(type(item) is not int for item in value):
        value = str(value)
    allowed = (gap.default, *gap.alternatives)
    # Types too: True equals 1, and 300.0 equals 300.
    for offered in allowed:
        if value == offered and type(value) is type(offered):
            return offered
    schedules = (f"[{written(item)}]" if item and isinstance(item, tuple) else repr(item) for item in (value, *allowed))
    shown, *others = schedules
    raise GapRefused(f"{name} is not {shown}; it takes {', '.join(others)}.", name=name, allowed=allowed)
