"""The draft of a request: what stands in the form, and the JSON and code that follow from it."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from workbench.domain import wire
from workbench.domain.masking import shortened
from workbench.domain.phones import msisdn_from
from workbench.errors import InvalidRequest
from workbench.lab.desk.gathered import object_in, pretty
from workbench.snippets import snippet

INTENT, CHARGE = "intent", "charge"
SECRET, PUBLISHABLE = "secret_key", "publishable_key"
OPERATIONS = ((INTENT, "Payment intent, two calls"), (CHARGE, "Charge, one call"))
KEYS = ((SECRET, "secret key"), (PUBLISHABLE, "publishable key"))
START: Final[Mapping[str, str]] = {
    "operation": INTENT,
    "amount": "150.00",
    "phone": "+260961234567",
    "provider": "mtn",
    "description": "Monstera",
    "key": SECRET,
}
_FIELDS: Final = {"channel": "provider", "reference": "description", "Idempotency-Key": "idempotency_key"}
"""The field of the form for what a request calls otherwise."""
MADE_ID: Final = "INTENT_ID"
"""Stands for the id that the first response will have."""
_AMOUNT = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?")
_WITH_COMMA = re.compile(r"[0-9]{1,12},[0-9]{1,2}")
_SHOWN = 24
_ONCE = ("from ", "import ", "pay =")
"""How lines of code begin that two requests share."""


class DraftRequest(NamedTuple):
    """One request: where it goes, its body laid out for reading, and the same as values; None where it is typed."""

    path: str
    text: str
    body: Mapping[str, Any] | None = None


def amount_problem(values: Mapping[str, str], unit_minor: int) -> str:
    """Why what was typed is no amount that can be sent; empty if it is one."""
    text = values["amount"].strip()
    shown = shortened(text, _SHOWN, counts_mark=False)
    if not text:
        return "Fill in an amount, such as 150.00."
    if _WITH_COMMA.fullmatch(text):
        return f"Write {text.replace(',', '.')}, with a point."
    if not _AMOUNT.fullmatch(text):
        return f"{shown} is no amount. Write 150.00, say."
    if values["operation"] == CHARGE and not isinstance(amount_of(values, unit_minor), int):
        unit = "kwacha" if unit_minor > 1 else "ngwee"
        return f"A charge takes whole {unit}, and {shown} is not."
    return ""


def amount_of(values: Mapping[str, str], unit_minor: int) -> Decimal | int | str:
    """The amount as it is sent: kwacha of an intent, whole units of a charge; what is neither as it was typed."""
    text = values["amount"].strip()
    if not _AMOUNT.fullmatch(text):
        return text
    if values["operation"] == INTENT:
        return Decimal(text)
    # Text, not arithmetic: that on Decimals rounds to 28 digits.
    whole, _, rest = text.partition(".")
    decimals = 0 if unit_minor > 1 else 2
    if rest[decimals:].strip("0"):
        return text
    return int(f"{whole}{rest[:decimals]:0<{decimals}}")


def requests_of(values: Mapping[str, str], unit_minor: int) -> tuple[DraftRequest, ...]:
    """The requests that the form stands for."""
    amount, described = amount_of(values, unit_minor), values["description"] or None
    if values["operation"] == CHARGE:
        body = {"amount": amount, "currency": "zmw", "type": "mobile_money", "channel": values["provider"],
                "phone": values["phone"], "reference": described}  # fmt: skip
        return (_request("/v1/charges", body),)
    create = {"amount": amount, "currency": "ZMW", "payment_method_types": ["mobile_money"], "description": described}
    method = {"type": "mobile_money", "mobile_money": {"phone": values["phone"], "provider": values["provider"]}}
    return (
        _request("/v1/payment_intents", create),
        _request(f"/v1/payment_intents/{MADE_ID}/confirm", {"payment_method": method}),
    )


def code_of(
    requests: Sequence[DraftRequest], *, idempotency_key: str, key: str, base_url: str, made_id: str = ""
) -> tuple[str, str]:
    """The same in Python and for a shell: with the id that was made, or with a variable for it."""
    headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
    python, curl = [], []
    for each in requests:
        path = each.path.replace(MADE_ID, made_id or MADE_ID)
        body = each.text if each.body is None else object_in(each.text)
        made = snippet("POST", path, body, headers=headers, key=key, base_url=base_url)
        # The client would write JSON that was typed in its own way.
        python.append(made.httpx if each.body is None else made.python)
        curl.append(made.curl)
    if made_id or len(requests) == 1:
        return _once(python), "\n\n".join(curl)
    reader = "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"id\"])'"
    shell = f"{MADE_ID}=$({curl[0]} \\\n  | {reader})\n\n{curl[1].replace(MADE_ID, f'${MADE_ID}')}"
    return _python_of_two(*python), shell


def phone_of(texts: Sequence[str]) -> str:
    """The number that bodies name; empty where they name none."""
    for text in texts:
        body = object_in(text)
        method = body.get("payment_method")
        for holder in (body, method.get("mobile_money") if isinstance(method, dict) else None):
            if isinstance(holder, dict) and isinstance(holder.get("phone"), str):
                return str(holder["phone"])
    return ""


def phone_hint(values: Mapping[str, str]) -> str:
    """What a number and an operator that do not belong together come to."""
    try:
        own = msisdn_from(values["phone"], param="phone", zed="zed", form="national").operator
    except InvalidRequest:
        return ""
    is_same = own.id == values["provider"]
    return "" if is_same else f"This number is of {own.name}, which the payment will go through."


def field_of(param: str | None) -> str:
    """The field of the form that an error's `param` is about, if any."""
    last = (param or "").rpartition(".")[2]
    return last if last in START else _FIELDS.get(last, "")


def _request(path: str, body: Mapping[str, Any]) -> DraftRequest:
    body = {name: value for name, value in body.items() if value is not None}
    return DraftRequest(path, pretty(wire.to_json(body).decode()), body)


def _once(texts: Sequence[str]) -> str:
    """Texts one after the other, what they begin with written once."""
    lines: list[str] = []
    for text in texts:
        lines += [line for line in text.split("\n") if line not in lines or not line.startswith(_ONCE)]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _python_of_two(create: str, confirm: str) -> str:
    if "pay.payment_intents.create" in create:
        create = create.replace("pay.payment_intents.create", "intent = pay.payment_intents.create")
        name = "intent.id"
    else:
        create = create.replace("bench.http.post", "answer = bench.http.post")
        name = "answer.json()['id']"
    confirm = confirm.replace(f'"{MADE_ID}"', name).replace(
        f'"/v1/payment_intents/{MADE_ID}/confirm"', f'f"/v1/payment_intents/{{{name}}}/confirm"'
    )
    return _once([create, confirm])
