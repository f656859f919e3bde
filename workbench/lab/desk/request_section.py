"""The request on the desk: its form, how it is sent, and the response to it."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import chain, count
from typing import Any

import httpx

from workbench.calls import error_from
from workbench.domain.masking import mask
from workbench.domain.phones import mask_phone
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.domain.wire.trace_rows import call_of
from workbench.errors import ApiError, PaymentDeclined, ServiceUnreachable, WorkbenchError
from workbench.lab.desk import draft
from workbench.lab.desk.draft import CHARGE, INTENT, MADE_ID, DraftRequest
from workbench.lab.desk.gathered import (
    DeskSection,
    Gathered,
    Rows,
    TraceRow,
    money_of,
    news,
    object_in,
    pretty,
    short_path,
)
from workbench.lab.desk.progress_section import verified_in
from workbench.lab.sections import STATES, BoardSection, Message, Values
from workbench.lab.views import ALWAYS, BAD, GOOD, WARN, Action, Code, Facts, Field, Fold, Form, Item, Note
from workbench.session import Session

_AGAIN = "The earlier response, returned again (Idempotent-Replayed: true): nothing was done a second time."
_REPLAYED = "Idempotent-Replayed"
_HEADERS = ("Request-Id", _REPLAYED, "Api-Version")


def responses(calls: Rows) -> tuple[Item, ...]:
    """Status, headers and body of each call; the last one open."""
    if not calls:
        return (Note("Nothing was sent yet."),)
    *before, last = calls
    return (*(Fold(str(call["seq"]), _title(call), _response(call)) for call in before), *_response(last))


def was_replayed(calls: Rows) -> bool:
    """Whether every response was an earlier one, returned again."""
    return bool(calls) and all(_REPLAYED in call_of(call).response.headers for call in calls)


def _response(call: TraceRow) -> tuple[Item, ...]:
    request, response = call_of(call).request, call_of(call).response
    is_good = response.status < HTTPStatus.BAD_REQUEST
    items: list[Item] = [Note(_title(call), GOOD if is_good else BAD)]
    param = object_in(response.body).get("param")
    if not is_good and isinstance(param, str):
        items.append(Note(f"The field is {param}.", WARN))
    if was_replayed([call]):
        items.append(Note(_AGAIN))
    head = [f"{name}: {response.headers[name]}" for name in _HEADERS if name in response.headers]
    items.append(Code("Response", "\n".join([*head, "", pretty(response.body)])))
    lines = [call["what"], *(f"{name}: {value}" for name, value in request.headers.items()), ""]
    sent = Code("Request", "\n".join([*lines, pretty(request.body)]))
    return (*items, Fold(f"{call['seq']}sent", "Request as it was sent", (sent,)))


def _title(call: TraceRow) -> str:
    status = call_of(call).response.status
    method, _, path = str(call["what"]).partition(" ")
    return f"{method} {short_path(path)} → {status} {HTTPStatus(status).phrase}"


def _sending(session: Session, values: Mapping[str, str], requests: Sequence[DraftRequest], key: str) -> Iterator[str]:
    """Send one after the other, and yield the id that the first response has, if it has one."""
    made = ""
    for each in requests:
        found = _send(session, values, each._replace(path=each.path.replace(MADE_ID, made)), key).get("id")
        made = made or (found if isinstance(found, str) else "")
        yield made
        if not made:
            return


def _send(session: Session, values: Mapping[str, str], request: DraftRequest, key: str) -> dict[str, Any]:
    """By the client, or the text as it was typed."""
    is_charge, headers = values["operation"] == CHARGE, {"Idempotency-Key": key} if key else {}
    url = f"{session.base_url}{request.path}"
    if request.body is not None:
        pay = session.client if values["key"] == draft.SECRET else session.client_with(session.publishable_key)
        return pay.calls.send("POST", url, dict[str, Any], body=request.body, headers=headers, basic=is_charge)
    if session.http.is_closed:
        raise ServiceUnreachable("This Workbench is closed.")
    secret, headers["Content-Type"] = str(getattr(session, values["key"])), "application/json"
    if not is_charge:
        headers["Authorization"] = f"Bearer {secret}"
    auth = httpx.BasicAuth(secret, "") if is_charge else httpx.USE_CLIENT_DEFAULT
    try:
        response = session.http.post(url, content=request.text.encode(), headers=headers, auth=auth)
    except httpx.TransportError as error:
        raise ServiceUnreachable(f"POST {request.path} got no response: {error}.") from error
    if response.status_code >= HTTPStatus.BAD_REQUEST:
        raise error_from(response)
    return object_in(response.text)


_LONGEST = 20_000
"""What is endless is cut."""
_KEY = "idempotency_key"
_MAX_KEY = 255
_FOLLOWS = "Follows the form. What you write here is sent as it stands."
_WRITTEN = "Written by hand: sent as it stands. Typing in the form replaces it."
_NO_PROMPT = "no phone shows a prompt yet. Let time pass to see what comes of it."
_FORM, _JSON = "form", "json"


class RequestSection(DeskSection):
    """The form, the JSON, the headers, the keys, and the code of it all."""

    id, title, tab = "request", "Request", 56

    def __init__(self, session: Session, gathered: Gathered) -> None:
        super().__init__(session, gathered)
        self.values = {**draft.START, _KEY: ""}
        self._texts: tuple[str, ...] | None = None
        """The bodies as somebody wrote them; None while they follow the form."""
        self._errors: dict[str, str] = {}
        self._drawn: set[str] = set()
        self._last_key = ""
        """The idempotency key of what was sent last."""
        self.calls: Rows = ()
        """What was sent last, as the trace has it."""

    # What is to be seen

    def _items(self) -> tuple[Item, ...]:
        self._draw_first()
        requests = self._requests()
        return self._form(), self._facts(requests), Fold("json", "Raw JSON", (self._json(requests),))

    def code(self) -> tuple[Item, ...]:
        """What the form stands for, in Python and for a shell."""
        self._draw_first()
        return self._code(self._requests(), self.values[_KEY])

    def _form(self) -> Form:
        is_charge = self.values["operation"] == CHARGE
        last = self._last_key
        key_hint = f"Last sent with {last}." if last else "Sent twice, it is done once."
        fields = [
            self._field("operation", "What to send", type="select", options=draft.OPERATIONS),
            self._field("amount", "Amount in kwacha", type="number", hint=self._amount_hint()),
            self._field("description", "Reference of your order" if is_charge else "Description"),
            self._field("phone", "Phone number", hint=draft.phone_hint(self.values)),
            self._field("provider", "Operator", type="select", options=self._gathered.providers),
            self._field(_KEY, "Idempotency key", hint=key_hint),
        ]
        if self._session.publishable_key:
            fields.append(self._field("key", "Sent with", type="select", options=draft.KEYS))
        actions = (
            Action("send", "Send request", primary=True),
            Action("again", "Send again, same key", off="" if last else "Nothing was sent yet."),
            Action("new_key", "New key"),
        )
        return Form(_FORM, "Payment to ask for", tuple(fields), actions, follow=True)

    def _field(self, name: str, label: str, **more: Any) -> Field:  # noqa: ANN401  a field's own members
        return Field(name, label, self.values[name], error=self._errors.get(name, ""), **more)

    def _amount_hint(self) -> str:
        amount = draft.amount_of(self.values, self._gathered.unit_minor)
        if self.values["operation"] != CHARGE or not isinstance(amount, int):
            return ""
        return f"Sent as {amount}, in whole {'ngwee' if self._gathered.unit_minor == 1 else 'kwacha'}."

    def _facts(self, requests: tuple[DraftRequest, ...]) -> Facts:
        first, *others = (each.path.replace(MADE_ID, "{id}") for each in requests)
        key = mask(str(getattr(self._session, self.values["key"])))
        is_charge = self.values["operation"] == CHARGE
        facts = (
            ("Base URL", self._session.base_url),
            ("Call", f"POST {first}"),
            *(("then", f"POST {each}") for each in others),
            ("Authorization", f"Basic {key}: (the key is the user name)" if is_charge else f"Bearer {key}"),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", self.values[_KEY] or "(none)"),
        )
        return Facts(facts)

    def _json(self, requests: tuple[DraftRequest, ...]) -> Form:
        first, *others = requests
        back = Action("follow_form", "Use the form's JSON")
        hint, actions = (_FOLLOWS, ()) if self._texts is None else (_WRITTEN, (back,))
        label, error = "JSON to create it" if others else "JSON", self._errors.get(_JSON, "")
        fields = [Field("body0", label, first.text, "area", hint=hint, error=error)]
        fields += [Field("body1", "JSON to confirm it", each.text, "area") for each in others]
        return Form(_JSON, "The same as raw JSON", tuple(fields), actions, follow=True)

    def _code(self, requests: tuple[DraftRequest, ...], idempotency_key: str, made_id: str = "") -> tuple[Item, ...]:
        key, base_url = self.values["key"], self._session.base_url
        made = draft.code_of(requests, idempotency_key=idempotency_key, key=key, base_url=base_url, made_id=made_id)
        return tuple(map(Code, ("Python", "curl"), made))

    def _requests(self) -> tuple[DraftRequest, ...]:
        requests = draft.requests_of(self.values, self._gathered.unit_minor)
        if self._texts is None:
            return requests
        return tuple(DraftRequest(each.path, text) for each, text in zip(requests, self._texts, strict=True))

    # What is pressed

    def _on_follow(self, on: str, values: Values) -> None:
        """What is typed: the JSON follows the form, until it is written by hand."""
        if on != _JSON:
            self._take(values)
            return
        requests = self._requests()
        texts = tuple(values.get(f"body{place}", each.text)[:_LONGEST] for place, each in enumerate(requests))
        if texts != tuple(each.text for each in requests):
            self._texts = texts
            self._errors.pop(_JSON, None)

    def _on_send(self, _on: str, values: Values) -> Message:
        self._take(values)
        return self._send(self.values[_KEY])

    def _on_again(self, _on: str, values: Values) -> Message:
        self._take(_without_key(values))
        if not self._last_key:
            return Message("Nothing was sent yet.", WARN)
        self.values[_KEY] = self._last_key
        return self._send(self._last_key)

    def _on_new_key(self, _on: str, values: Values) -> Message:
        self._take(_without_key(values))
        self.values[_KEY] = self._draw_key()
        self._errors.pop(_KEY, None)
        return Message(f"The next request is sent with {self.values[_KEY]}.")

    def _on_follow_form(self, _on: str, _values: Values) -> Message:
        self._texts = None
        return Message("The JSON follows the form again.")

    def _draw_first(self) -> None:
        """The first key is drawn when it is first needed; who empties the field afterwards wants none."""
        if not self._drawn:
            self.values[_KEY] = self._draw_key()

    def _draw_key(self) -> str:
        """Another idempotency key: in this process the same in every run, over a served sandbox nobody else's."""
        name = f"desk-{secrets.token_hex(4) if self._session.is_served else self._gathered.seq()}"
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        key = next(each for each in names if each not in self._drawn)
        self._drawn.add(key)
        return key

    def _take(self, values: Values) -> None:
        """Take over what a form holds; whatever of it is new goes before JSON that was written by hand."""
        self._draw_first()
        cleaned = {name: value[:_LONGEST] for name, value in values.items() if name in self.values}
        changed = {name for name, value in cleaned.items() if value != self.values[name]}
        self.values |= cleaned
        for name in changed:
            self._errors.pop(name, None)
        if changed - {_KEY, "key"}:
            self._texts = None
            self._errors.pop(_JSON, None)

    # What comes of it

    def _send(self, key: str) -> Message:
        self._errors = {}
        if problem := self._problem(key):
            return problem
        requests, before = self._requests(), self._gathered.seq()
        made, error = self._sent(requests, key)
        calls = self._gathered.calls_since(before)
        self.calls = [row for row in calls if call_of(row).request.headers.get("Idempotency-Key", "") == mask(key)]
        self._last_key = key
        code = self._code(requests, key, made)
        if made:
            phone = draft.phone_of([each.text for each in requests]) or self.values["phone"]
            self._gathered.numbers[made] = phone
            self._gathered.choose(made)
        message = self._refused(made, error) if error else self._done()
        self._renew(key)
        return message._replace(code=code)

    def _sent(self, requests: Sequence[DraftRequest], key: str) -> tuple[str, Exception | None]:
        """Send one after the other, until one is refused: the id of what was made, if it was, and what was raised."""
        made = ""
        try:
            for latest in _sending(self._session, self.values, requests, key):
                made = latest
        except (WorkbenchError, httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            facts = error.facts if isinstance(error, ApiError) else {}
            return made or str(facts.get("charge") or ""), error
        return made, None

    def _problem(self, key: str) -> Message | None:
        if not (key.isascii() and key.isprintable() and len(key) <= _MAX_KEY):
            self._errors[_KEY] = f"An idempotency key is 1 to {_MAX_KEY} printable ASCII characters."
        if self._texts is None and (wrong := draft.amount_problem(self.values, self._gathered.unit_minor)):
            self._errors["amount"] = wrong
        if not self._errors:
            return None
        return Message(f"Nothing was sent. {' '.join(self._errors.values())}", BAD)

    def _refused(self, made: str, error: Exception) -> Message:
        if isinstance(error, ApiError):
            field = draft.field_of(error.param) if self._texts is None else ""
            if field or error.param or self._texts is not None:
                self._errors[field or _JSON] = error.message
        text = str(error) if isinstance(error, WorkbenchError) else f"Nothing was sent: {error}."
        is_half = made and self.values["operation"] == INTENT
        return Message(f"{text} The intent was created and is not confirmed." if is_half else text, BAD)

    def _done(self) -> Message:
        gathered, payment = self._gathered, self._gathered.payment
        if was_replayed(self.calls):
            return Message("The service returned its earlier response: nothing was done a second time.")
        if payment is None:
            return Message("Sent.")
        if payment.state == "waiting":
            number = mask_phone(gathered.numbers.get(payment.id, ""))
            has_prompt = any(row["kind"] == "screen" for row in gathered.rows)
            then = f"the phone shows the prompt. Enter {SANDBOX_PIN}." if has_prompt else _NO_PROMPT
            return Message(f"{money_of(payment)} asked of {number}: {then}")
        ended = news(payment, is_verified=bool(verified_in(gathered.rows, gathered.arrivals)))
        return ended or Message(f"{money_of(payment)}: {STATES[payment.state][2:]}.")

    def _renew(self, key: str) -> None:
        """Another key for the next payment, once this one has come to something."""
        status = call_of(self.calls[-1]).response.status if self.calls else None
        is_over = status is not None and (status < HTTPStatus.BAD_REQUEST or status == PaymentDeclined.status)
        if is_over and self.values[_KEY] == key:
            self.values[_KEY] = self._draw_key()


class ResponseSection(BoardSection):
    """The response to what was sent last."""

    id, title, tab = "response", "Response", ALWAYS

    def __init__(self, request: RequestSection) -> None:
        self._request = request

    def _items(self) -> tuple[Item, ...]:
        return responses(self._request.calls)

    def _badge(self) -> str:
        return str(call_of(self._request.calls[-1]).response.status) if self._request.calls else ""


def _without_key(values: Values) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != _KEY}
