"""What the service checks of a request's values, as JSON Schema: one row for each field, by struct and name.

A row may depend on the register of gaps. What stands here is what the code checks, so that a request that the
schema takes is accepted and one that it does not take is refused.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from workbench.domain import scenarios, wire
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import SETTLEMENTS, TRACKED
from workbench.domain.moments import RFC3339
from workbench.domain.money import MAX_MAJOR_DIGITS, ZMW
from workbench.domain.phones import OPERATORS
from workbench.domain.webhooks import DISABLED, ENABLED, EVENT_TYPES, FAULTS
from workbench.sandbox.addresses import NAME
from workbench.sandbox.service.keys import MAX_NAME
from workbench.sandbox.service.rules import BOUNDS_MINOR, MOBILE_MONEY
from workbench.sandbox.service.scenarios import MAX_ANSWERS, MAX_OUTAGE_S
from workbench.sandbox.service.tokens import EMAIL
from workbench.sandbox.store.creation import KEY_PREFIXES

Schema = dict[str, Any]
Rule = Callable[[Gaps], Schema]

PHONE: Final[Schema] = {
    "pattern": rf"^\+260({'|'.join(prefix for each in OPERATORS.values() for prefix in each.prefixes)})[0-9]{{7}}$",
    "description": "E.164: +260, a prefix of an operator with wallets, seven digits.",
}
_PORT = "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_HOST = rf"({NAME.pattern}|127\.0\.0\.[1-9]|\[::1\])"
URL: Final[Schema] = {
    "pattern": rf"^https?://{_HOST}{_PORT}([/?#][!-~]*)?$",
    "description": "http or https, to a name or to this machine's loopback. A public address in digits is taken "
    "too, a private one refused; a name is looked up again at each attempt.",
}
MOMENT: Final[Schema] = {
    "type": "string",
    "pattern": f"^({RFC3339.pattern})$",
    "description": "A moment with its zone (RFC 3339), to the millisecond.",
}
EVENT_NAMES: Final = ["*", *dict.fromkeys(f"{each.partition('.')[0]}.*" for each in EVENT_TYPES), *EVENT_TYPES]
_TOO_MUCH = 10**MAX_MAJOR_DIGITS
"""In major units."""


def _any_case(words: list[str]) -> str:
    """A pattern for words in any case: JSON Schema's patterns have no flag for that."""
    return "|".join("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in word) for word in words)


OPERATOR: Final[Schema] = {
    "pattern": f"^({_any_case([name for each in OPERATORS.values() for name in (each.id, each.long_id)])})$",
    "description": "A mobile network operator: mtn, airtel or zamtel, or its long identifier, in any case.",
}


def _always(schema: Schema) -> Rule:
    return lambda gaps: schema  # noqa: ARG005  a rule that no gap changes


def _currency(documented: str) -> Rule:
    def rule(gaps: Gaps) -> Schema:
        if gaps.currency_case == "strict":
            return {"const": documented}
        return {"pattern": f"^{_any_case([ZMW.code])}$", "description": "ISO 4217; ZMW alone, in either case."}

    return rule


def _decimal_amount(gaps: Gaps) -> Schema:
    least, most = BOUNDS_MINOR[gaps.amount_bounds]
    whole = gaps.charge_amount_unit == "major"
    bounds: Schema = {"minimum": least // 100, "maximum": (most or 0) // 100} if most else {"exclusiveMinimum": 0}
    return {
        **payout_amount(gaps),
        **bounds,
        **({"multipleOf": 1, "description": "Major units, whole ones here."} if whole else {}),
    }


def payout_amount(gaps: Gaps) -> Schema:  # noqa: ARG001  a rule like the others
    """A decimal amount in major units, with what is left to say of it after its bounds."""
    return {
        "exclusiveMinimum": 0,
        "exclusiveMaximum": _TOO_MUCH,
        "multipleOf": 0.01,
        "description": "Major units with at most two decimals: 150, 150.0 and 150.00 are one amount.",
    }


def _whole_amount(gaps: Gaps) -> Schema:
    unit = {"minor": 1, "major": 100}[gaps.charge_amount_unit]
    least, most = BOUNDS_MINOR[gaps.amount_bounds]
    says = {"minor": "Minor units: 15000 is 150.00 ZMW.", "major": "Major units: 150 is 150.00 ZMW."}
    return {
        "minimum": -(-least // unit),
        "maximum": (most or _TOO_MUCH * 100 - 1) // unit,
        "description": says[gaps.charge_amount_unit],
    }


def _needs_client_secret(gaps: Gaps) -> bool:
    return gaps.client_secret_on_confirm == "always"  # noqa: S105  a choice of the register


def _method_types(gaps: Gaps) -> Schema:
    if gaps.payment_method_types == "only":
        return {"items": {"const": MOBILE_MONEY}, "minItems": 1}
    return {"contains": {"const": MOBILE_MONEY}, "description": f"Must include `{MOBILE_MONEY}`."}


def _seconds(most: int) -> Rule:
    return _always({"minimum": 0, "maximum": most, "multipleOf": 0.001, "description": "In whole milliseconds."})


_FILTER: Rule = _always({"items": {"enum": EVENT_NAMES}, "minItems": 1})

REQUEST_RULES: Mapping[str, Mapping[str, Rule]] = {
    "CreatePaymentIntent": {
        "amount": _decimal_amount,
        "currency": _currency(ZMW.code),
        "payment_method_types": _method_types,
        "description": _always({"description": "Free text; the customer reads its beginning in the prompt."}),
    },
    "MobileMoneyMethod": {"type": _always({"const": MOBILE_MONEY})},
    "MobileMoney": {"phone": _always(PHONE), "provider": _always(OPERATOR)},
    "ConfirmPaymentIntent": {
        "client_secret": _always({"description": "Needed with a publishable key; checked whenever it is sent."})
    },
    "CreateCharge": {
        "amount": _whole_amount,
        "currency": _currency(ZMW.code.lower()),
        "type": _always({"const": MOBILE_MONEY}),
        "channel": _always(OPERATOR),
        "phone": _always(PHONE),
        "reference": _always({"description": "The merchant's own reference for the order."}),
    },
    "CreateRefund": {"amount": _always({"exclusiveMinimum": 0})},
    "CreatePayout": {"amount": payout_amount, "currency": _currency(ZMW.code)},
    "CreateWebhookEndpoint": {"url": _always(URL), "enabled_events": _FILTER},
    "UpdateWebhookEndpoint": {
        "url": _always(URL),
        "enabled_events": _FILTER,
        "status": _always({"enum": [ENABLED, DISABLED]}),
    },
    "CreateApiKey": {"kind": _always({"enum": list(KEY_PREFIXES)})},
    "TokenRequest": {
        "email": _always({"pattern": f"^{EMAIL.pattern}$", "description": "Any e-mail address."}),
        "password": _always({"minLength": 1, "description": "Any; the password `wrong` is wrong."}),
    },
    "NewPlant": {
        "id": _always({"format": "int64", "description": "Identification number of the plant."}),
        "name": _always({"description": "Name of the plant."}),
        "tag": _always({"description": "Tag that specifies the type."}),
    },
    "Advance": {
        "seconds": _seconds(wire.panel.MAX_ADVANCE_S),
        **{name: _always({"description": f"Whole {name}."}) for name in ("minutes", "hours", "days")},
    },
    "Outage": {"provider": _always(OPERATOR), "seconds": _seconds(MAX_OUTAGE_S)},
    "Input": {"text": _always({"pattern": "^[0-9]{4}$", "description": f"The PIN; {scenarios.SANDBOX_PIN} is right."})},
    "Script": {
        "phone": _always(PHONE),
        "answers": _always({"items": {"enum": list(scenarios.SCRIPTABLE)}, "maxItems": MAX_ANSWERS}),
    },
    "NewAccount": {"name": _always({"minLength": 1, "maxLength": MAX_NAME, "pattern": r"[^\s\x1c-\x1f\x85]"})},
    "Settle": {
        "recipe": _always({"enum": list(SETTLEMENTS)}),
        "currency": _currency(ZMW.code),
        "account": _always({"enum": list(TRACKED)}),
        "reference": _always({"minLength": 1}),
        "occurred_at": _always({**MOMENT, "type": ["string", "null"]}),
    },
    "DeliveryFaults": {"faults": _always({"items": {"enum": list(FAULTS)}})},
}
"""Struct → field → what its schema says beyond its type."""

_OF_CHARGE: Schema = {
    "required": ["charge"],
    "properties": {"charge": {"type": "string"}, "payment_intent": {"type": "null"}, "amount": {"multipleOf": 1}},
}
_OF_INTENT: Schema = {
    "required": ["payment_intent"],
    "properties": {
        "payment_intent": {"type": "string"},
        "charge": {"type": "null"},
        "amount": {"multipleOf": 0.01, "exclusiveMaximum": _TOO_MUCH},
    },
}


def _settles(*, entry: bool, fee: bool) -> Schema:
    """What the recipes of one sort need: an entry, or the account, the reference and the amount."""
    recipes = [name for name, row in SETTLEMENTS.items() if (row.takes_entry, row.takes_fee) == (entry, fee)]
    named: Schema = {"recipe": {"enum": recipes}}
    if entry:
        return {"required": ["entry"], "properties": {**named, "entry": {"type": "string"}}}
    told: Schema = {
        "account": {"type": "string"},
        "reference": {"type": "string"},
        "amount_minor": {"minimum": 1},
    }
    fees: Schema = {} if fee else {"fee_minor": {"const": 0}}
    return {"required": ["account", "reference", "amount_minor"], "properties": {**named, **told, **fees}}


_SETTLES_ENTRY, _SETTLES_WITH_FEE = _settles(entry=True, fee=False), _settles(entry=False, fee=True)
_SETTLES = _settles(entry=False, fee=False)
WHOLE_RULES: Mapping[str, Rule] = {
    "CreateCharge": lambda gaps: (
        {"required": ["amount", "currency", "type", "channel", "phone", "reference"]}
        if gaps.required_fields == "with_reference"
        else {}
    ),
    "ConfirmPaymentIntent": lambda gaps: (
        {"required": ["payment_method", "client_secret"]} if _needs_client_secret(gaps) else {}
    ),
    "Advance": _always({"anyOf": [{"required": [name]} for name in wire.panel.Advance.__struct_fields__]}),
    "CreateRefund": _always({"oneOf": [_OF_CHARGE, _OF_INTENT]}),
    "Settle": _always({"oneOf": [_SETTLES_ENTRY, _SETTLES_WITH_FEE, _SETTLES]}),
    # Without a bearer in the header, which this operation does not ask for, the body is what names the pair.
    "RefreshRequest": _always({"required": ["refresh_token"]}),
}
"""Struct → what its schema says as a whole."""

NEVER_NULL: Mapping[str, Callable[[Gaps], tuple[str, ...]]] = {
    "CreateCharge": lambda gaps: ("reference",) if gaps.required_fields == "with_reference" else (),
    "ConfirmPaymentIntent": lambda gaps: ("client_secret",) if _needs_client_secret(gaps) else (),
    "RefreshRequest": lambda gaps: ("refresh_token",),  # noqa: ARG005  one signature
}
"""Struct → its fields that may be null by type and not here."""
