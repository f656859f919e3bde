"""Reads values of the register from recorded traffic: a class for an exchange, and functions that make readers."""

from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias

from workbench.domain.phones import BY_NAME, BY_PREFIX, COUNTRY_CODE
from workbench.domain.signatures import SCHEMES
from workbench.errors import SignatureRefused

CALLS: Final = "calls"
WEBHOOK: Final = "webhook"
CENT: Final = Decimal("0.01")
_DIGITS: Final = 12
_OPERATORS, _WALLETS = BY_NAME["zed"], BY_PREFIX["zed"]
"""Identifier in lower case, or two digits of a number → the operator, Zed Mobile included."""
_PAYMENTS: Final = {
    "createPaymentIntent": "an intent", "createCharge": "a charge",
    "confirmPaymentIntent": "a confirmation", "retrievePaymentIntent": "a retrieval",
}  # fmt: skip

Value: TypeAlias = str | int | tuple[int, ...]
Body: TypeAlias = dict[str, Any]


class Other(NamedTuple):
    """Behaviour of a real service that is none of the row's values; `behaviour` describes it."""

    behaviour: str


class Part(NamedTuple):
    """A part of a value, such as one of three identifiers, with its `name`; all parts together show the value."""

    value: Value
    name: str
    parts: int = 0
    """The number of parts of the value; 0 if no recording can have them all, such as every currency."""


SignValue: TypeAlias = Value | Part
Reading: TypeAlias = SignValue | Other | None
"""The value of a register row that an exchange shows; None if the exchange shows none."""


class ObservedMessage(NamedTuple):
    """A request or a response: headers by their names in lower case, the body's `text`, and `body`, its JSON or None.

    Numbers and secrets are masked in all three.
    """

    headers: Mapping[str, str]
    text: str = ""
    body: object = None


@dataclass(eq=False)
class ObservedCall:
    """A recorded exchange, with the properties from which values of the register are read.

    `sent_headers`, `sent_text` and `sent_body` are the request's; `headers`, `text` and `body` are the response's. `ok`
    is true for a success that is no replay; `is_accepted` is true for such a success and for a declined payment.
    `key_prefix` is the first three letters of the credential, such as `sk_` or `pk_`; `phone` is the customer's masked
    number. `is_mixed` is true if the request names another operator than the number's. `unknown` are the request's
    fields that the operation does not have.
    """

    place: str
    """The file's name and the exchange's number in the file, from 1."""
    url: str
    request: ObservedMessage
    status: int
    response: ObservedMessage
    at_s: Decimal
    """The beginning of the exchange in seconds since 1970; 0 if the file does not say."""
    id: str
    """The operation's id, or `WEBHOOK`; `schemes` and `fields` are its documented authentication schemes and fields."""
    schemes: tuple[str, ...]
    fields: tuple[str, ...] | None

    def __post_init__(self) -> None:
        self.sent_headers, self.headers = self.request.headers, self.response.headers
        self.text, self.sent_text = self.response.text, self.request.text
        self.sent_body, self.body = within(self.request.body), within(self.response.body)
        self.is_success = self.status in range(200, 300)
        self.ok = self.is_success and "idempotent-replayed" not in self.headers
        self.is_accepted = self.ok or self.status == HTTPStatus.PAYMENT_REQUIRED
        self.event = str(self.sent_body.get("type", ""))
        self.about = _PAYMENTS.get(self.id, "")
        """A noun for a payment's call, with its article: `a charge`, `a confirmation`; empty for other calls."""
        scheme, _, credential = self.sent_headers.get("authorization", "").partition(" ")
        self.scheme, self.key_prefix = scheme.lower(), credential[:3]
        self.documented = self.schemes[0].lower() if len(self.schemes) == 1 else ""
        """The authentication scheme of the operation, if exactly one is documented; otherwise empty."""
        self.challenge = self.headers.get("www-authenticate", "").lower()
        self.limit = self.headers.get("ratelimit-policy", "")
        """The limit of requests that the response announces; empty if it announces none."""
        is_charge = self.id == "createCharge"
        payer = self.sent_body if is_charge else within(self.sent_body, "payment_method", "mobile_money")
        self.operator = operator_id(payer.get("channel" if is_charge else "provider"))
        self.phone = str(payer.get("phone", ""))
        self.prefix = self.phone.removeprefix(COUNTRY_CODE).removeprefix("0")[:2]
        """The two digits that show the number's operator."""
        self.wallet = _WALLETS[self.prefix].id if self.prefix in _WALLETS else None
        self.is_mixed: bool = bool(self.operator and self.wallet and self.operator != self.wallet)
        amount = json_number(self.sent_body.get("amount"))
        # A number longer than any amount would be rounded.
        self.amount = amount if amount is not None and amount.is_finite() and abs(amount.adjusted()) < _DIGITS else None
        self.is_fraction = self.amount is not None and self.amount != round(self.amount, 2)
        self.unknown = [name for name in self.sent_body if self.fields is not None and name not in self.fields]
        listed = self.body.get("data") if self.is_success else []
        items = listed if isinstance(listed, list) else [self.body]
        items = [within(self.sent_body, "data", "object")] if self.id == WEBHOOK else items
        self.objects: list[Body] = [item for item in map(within, items) if isinstance(item.get("id"), str)]
        intents = "createPaymentIntent retrievePaymentIntent listPaymentIntents"
        self.intents: list[Body] = self.of_kind("payment_intent", intents)
        self.charges: list[Body] = self.of_kind("charge", "createCharge retrieveCharge listCharges")

    def of_kind(self, kind: str, operations: str = "") -> list[Body]:
        """The objects of a kind, by their member `object`.

        An object without that member is of the kind if the call is one of `operations`, ids separated by blanks.
        """
        usual = kind if self.id in operations.split() else ""
        return [item for item in self.objects if item.get("object", usual) == kind]


def within(value: object, *names: str) -> Body:
    """The JSON object below these names; an empty dict if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def operator_id(name: object) -> str | None:
    """The short identifier of the operator with this short or long identifier, in any case; None if there is none."""
    operator = _OPERATORS.get(str(name).lower())
    return operator and operator.id


def json_number(value: object) -> Decimal | None:
    """A JSON number as a Decimal; None for any other value."""
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


# The forms of a sign

Shows: TypeAlias = Callable[[ObservedCall], Reading]
Test: TypeAlias = Callable[[ObservedCall], object]


def on(operations: str, shows: Shows) -> Shows:
    """Limits the reader `shows` to the exchanges of some operations; it returns None for all others.

    `operations` are ids, with `webhook` for webhooks, separated by blanks; `calls` stands for all operations.
    """
    ids = operations.split()
    return lambda call: shows(call) if call.id in ids or (call.id != WEBHOOK and operations == CALLS) else None


def first(*cases: tuple[Reading | Shows, Test]) -> Shows:
    """Makes a reader that returns the value of the first case whose test an exchange passes; None if it passes none.

    If a case has a reader in place of a value, that reader reads the value.
    """

    def shows(call: ObservedCall) -> Reading:
        value = next((value for value, is_so in cases if is_so(call)), None)
        return value(call) if callable(value) else value

    return shows


def tried(
    accepted: SignValue,
    rejected: SignValue,
    *names: str,
    asks: Test = lambda _: True,
    by: Container[int] = (400, 422),
    part: Callable[[ObservedCall], str] | None = None,
    parts: int = 0,
) -> Shows:
    """Makes a reader that returns `accepted` or `rejected`, as the service did with a request that passes `asks`.

    For other requests and other errors, the reader returns None. Rejected means one of the statuses `by` and, if there
    are `names`, one of them in the response's text. If an exchange can show only a part of the value, `part` returns
    the name of that part, and `parts` is the number of all parts.
    """

    def shows(call: ObservedCall) -> Reading:
        is_named = not names or any(name in call.text for name in names)
        if not asks(call) or not (call.is_accepted or (call.status in by and is_named)):
            return None
        value = accepted if call.is_accepted else rejected
        if part is None or isinstance(value, Part):
            return value
        return Part(value, f"{part(call)} is {'accepted' if call.is_accepted else 'rejected'}", parts)

    return shows


def formed(
    forms: Mapping[SignValue, Callable[[Body], object]],
    bodies: Callable[[ObservedCall], list[Body]] = lambda call: [call.body] if call.ok else [],
    other: Callable[[Body], Reading] = lambda body: Other("members " + ", ".join([*body][:12])),
) -> Shows:
    """Makes a reader that returns the first value whose test in `forms` (value → test) a JSON object passes.

    `bodies` chooses the JSON objects of an exchange, by default the body of a successful response; empty ones are
    ignored. If an object passes no test, the result is that of `other`; if that is None, the next object decides.
    """

    def shown(body: Body) -> Reading:
        return next((value for value, fits in forms.items() if fits(body)), None) or other(body)

    return lambda call: next((value for body in bodies(call) if body and (value := shown(body))), None)


def has(names: str, *, only: bool = False) -> Callable[[Body], bool]:
    """A test for bodies that have these members and, if `only`, no others; `names` are separated by blanks."""
    return lambda body: {*body} == {*names.split()} if only else {*body} >= {*names.split()}


def no_status_of(known: str) -> Callable[[Body], Reading]:
    """Makes an `other` for `formed`: Other for an object whose status is not in `known`, names separated by blanks."""

    def shown(body: Body) -> Reading:
        status = body.get("status")
        return Other(f"the state {status[:40]}") if isinstance(status, str) and status not in known.split() else None

    return shown


# Signs that need more than a form


def scale_shown(call: ObservedCall) -> Reading:
    """Reads whether the service rejects or rounds an amount with more than two decimals."""
    sent, shown = call.amount, json_number(call.body.get("amount"))
    if sent is None or not call.is_fraction or not call.is_accepted:
        return tried("half_even", "exact", "amount", asks=lambda other: other.is_fraction)(call)
    if shown is not None and shown != round(sent, 2):
        return Other(f"{sent} becomes {shown}")
    if shown is None or abs(sent - shown) * 2 != CENT:
        return Part("half_even", "more than two decimals are accepted", 3)
    return Part("half_even", f"half a ngwee goes {'up' if shown > sent else 'down'}", 3)


def channel_shown(call: ObservedCall) -> Reading:
    """Reads whether a charge's `channel` and `provider` may differ.

    If the call creates a charge through another operator than the number's, the value is `equal` if channel and
    provider are the same. It is `asked_and_moved` if the channel is the requested operator, and the provider is the
    number's operator. In any other call, a charge whose channel and provider differ shows a Part of `asked_and_moved`.
    """
    for charge in call.charges:
        channel, provider = (operator_id(charge.get(name)) for name in ("channel", "provider"))
        if call.id == "createCharge" and call.is_mixed:
            if channel == provider:
                return "equal"
            if (channel, provider) == (call.operator, call.wallet):
                return "asked_and_moved"
            request = f"{call.operator} and a number of {call.wallet}"
            return Other(f"channel {channel} and provider {provider} for {request}")
        if channel != provider:
            return Part("asked_and_moved", "channel and provider differ")
    return None


def signature_shown(call: ObservedCall) -> Reading:
    """Reads a webhook's signature scheme from its headers; Other for an unknown header whose name has `signature`."""
    for name, scheme in SCHEMES.items():
        if all(header.lower() in call.sent_headers for header in scheme.headers):
            with suppress(SignatureRefused):
                scheme.read({header: call.sent_headers[header.lower()] for header in scheme.headers})
                return name
    unknown = [name for name in call.sent_headers if "signature" in name]
    return Other(f"the header {unknown[0][:60]}") if unknown else None
