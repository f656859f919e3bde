"""The request of a desk: a form and raw JSON that follow each other, and what sending them comes to."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from workbench.domain.masking import mask
from workbench.domain.phones import mask_phone
from workbench.domain.wire.trace import call_of
from workbench.errors import ApiError, PaymentDeclined, WorkbenchError
from workbench.lab.parts import draft
from workbench.lab.parts.answer import answer, was_replayed
from workbench.lab.parts.draft import CHARGE, INTENT, MADE_ID, Ask
from workbench.lab.parts.part import Doing, Part, Said, Values
from workbench.lab.parts.payment import news
from workbench.lab.parts.seen import Seen
from workbench.lab.parts.sending import Calls, Outcome, Sending
from workbench.lab.parts.webhooks import verified_at
from workbench.lab.views import BAD, WARN, Action, Code, Facts, Field, Fold, Form, Item, Section
from workbench.session import Session

_LONGEST = 20_000
"""What is endless is cut."""
_KEY_PROBLEM = "An idempotency key is 1 to 255 printable ASCII characters."
_MAX_KEY = 255
_ERRORS = 400
_FORM, _JSON = "form", "json"
_PROMPTED = "its handset shows the prompt. Type the PIN there; it is 1234."
_WAITS = "no handset shows a prompt yet. Let time pass to see what comes of it."


class Sent(NamedTuple):
    """What was sent last."""

    idempotency_key: str = ""
    calls: Calls = ()


class RequestPart(Part):
    """The form, the JSON, the headers, the keys, and the code of it all. `new_key` draws an idempotency key."""

    id: ClassVar[str] = "request"

    def __init__(self, session: Session, seen: Seen, new_key: Callable[[], str]) -> None:
        self._session = session
        self._seen = seen
        self._new_key = new_key
        self._sending = Sending(session, seen)
        self.values = {**draft.START, "idempotency_key": ""}
        self._texts: tuple[str, ...] | None = None
        """The bodies as somebody wrote them; None while they follow the form."""
        self._errors: dict[str, str] = {}
        self._has_key = False
        self.sent = Sent()

    # What is to be seen

    def section(self) -> Section:
        """What would be sent now, and as what."""
        self._draw_first()
        asked = self._asked()
        return Section(
            self.id,
            "Request",
            (
                self._form(),
                Facts((*self._endpoints(asked), *self._headers())),
                *self._json(asked),
                Fold("code", "The same in Python and curl", self._code(asked, self.values["idempotency_key"])),
            ),
        )

    def _form(self) -> Form:
        is_charge = self.values["operation"] == CHARGE
        last = self.sent.idempotency_key
        again = Action("again", "Send again with the same key", off="" if last else "Nothing was sent yet.")
        key_hint = f"The last request was sent with {last}." if last else "However often it is sent, it is done once."
        return Form(
            _FORM,
            "Payment to ask for",
            (
                self._field("operation", "What to send", type="select", options=draft.OPERATIONS),
                self._field("amount", "Amount in kwacha (ZMW)", type="number", hint=self._amount_hint()),
                self._field("phone", "Customer's number", hint=draft.phone_hint(self.values)),
                self._field("provider", "Operator", type="select", options=draft.PROVIDERS),
                self._field("description", "Reference of your order" if is_charge else "Description"),
                self._field("idempotency_key", "Idempotency key", hint=key_hint),
                *([self._field("key", "Sent with", type="select", options=draft.KEYS)] if self._has_both() else []),
            ),
            (Action("send", "Send request", primary=True), again, Action("new_key", "New key")),
            follow=True,
        )

    def _field(self, name: str, label: str, **more: Any) -> Field:  # noqa: ANN401  a field's own members
        return Field(name, label, self.values[name], error=self._errors.get(name, ""), **more)

    def _amount_hint(self) -> str:
        amount = draft.amount_of(self.values, self._seen.unit_minor)
        if self.values["operation"] != CHARGE or not isinstance(amount, int):
            return ""
        return f"Sent as {amount}, in whole {'ngwee' if self._seen.unit_minor == 1 else 'kwacha'}."

    def _has_both(self) -> bool:
        return bool(self._session.publishable_key)

    def _endpoints(self, asked: tuple[Ask, ...]) -> tuple[tuple[str, str], ...]:
        first, *others = (each.path.replace(MADE_ID, "{id}") for each in asked)
        return (("Endpoint", f"POST {self._session.base_url}{first}"), *(("then", f"POST {each}") for each in others))

    def _headers(self) -> tuple[tuple[str, str], ...]:
        key = mask(str(getattr(self._session, self.values["key"])))
        is_charge = self.values["operation"] == CHARGE
        return (
            ("Authorization", f"Basic {key}: (the key is the user name)" if is_charge else f"Bearer {key}"),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", self.values["idempotency_key"] or "(none)"),
        )

    def _json(self, asked: tuple[Ask, ...]) -> tuple[Item, ...]:
        error = self._errors.get(_JSON, "")
        hint = "Follows the form. What you write here is sent as it stands."
        if self._texts is not None:
            hint = "Written by hand: sent as it stands. Typing in the form replaces it."
        fields = tuple(
            Field(
                f"body{place}",
                "JSON" if len(asked) == 1 else ("JSON to create it", "JSON to confirm it")[place],
                each.text,
                "area",
                hint="" if place else hint,
                error="" if place else error,
            )
            for place, each in enumerate(asked)
        )
        back = (Action("follow_form", "Take the form's again"),) if self._texts is not None else ()
        return (Form(_JSON, "The same as raw JSON", fields, back, follow=True),)

    def _code(self, asked: tuple[Ask, ...], idempotency_key: str, made_id: str = "") -> tuple[Item, ...]:
        python, curl = draft.code_of(
            asked,
            idempotency_key=idempotency_key,
            key=self.values["key"],
            base_url=self._session.base_url,
            as_written=self._texts is not None,
            made_id=made_id,
        )
        return (Code("Python", python), Code("curl", curl))

    def _asked(self) -> tuple[Ask, ...]:
        asked = draft.asks(self.values, self._seen.unit_minor)
        if self._texts is None:
            return asked
        return tuple(Ask(each.path, text) for each, text in zip(asked, self._texts, strict=True))

    # What is pressed

    def follow(self, on: str, values: Values) -> None:
        """What is typed: the JSON follows the form, until it is written by hand."""
        if on == _JSON:
            self._take_texts(values)
        else:
            self._take(values)

    def send(self, _on: str, values: Values) -> Said:
        """Send what stands there, with the key that stands there."""
        self._take(values)
        return self._send(self.values["idempotency_key"])

    def again(self, _on: str, values: Values) -> Said:
        """Send what stands there with the key of before."""
        self._take({name: value for name, value in values.items() if name != "idempotency_key"})
        if not self.sent.idempotency_key:
            return Said("Nothing was sent yet.", WARN)
        self.values["idempotency_key"] = self.sent.idempotency_key
        return self._send(self.sent.idempotency_key)

    def new_key(self, _on: str, values: Values) -> Said:
        """Another idempotency key."""
        self._take({name: value for name, value in values.items() if name != "idempotency_key"})
        self.values["idempotency_key"] = self._new_key()
        self._errors.pop("idempotency_key", None)
        return Said(f"The next request is sent with {self.values['idempotency_key']}.")

    def follow_form(self, _on: str, _values: Values) -> Said:
        """Forget the JSON that was written by hand."""
        self._texts = None
        return Said("The JSON follows the form again.")

    doings: ClassVar[Mapping[str, Doing]] = {
        "follow": follow, "send": send, "again": again, "new_key": new_key, "follow_form": follow_form,
    }  # fmt: skip

    def _draw_first(self) -> None:
        """The first key is drawn when it is first needed; who empties the field afterwards wants none."""
        if not self._has_key:
            self._has_key = True
            self.values["idempotency_key"] = self._new_key()

    def _take(self, values: Values) -> None:
        """Take over what a form holds; whatever of it is new goes before JSON that was written by hand."""
        self._draw_first()
        cleaned = {name: value[:_LONGEST] for name, value in values.items() if name in self.values}
        changed = {name for name, value in cleaned.items() if value != self.values[name]}
        self.values |= cleaned
        for name in changed:
            self._errors.pop(name, None)
        if changed - {"idempotency_key", "key"}:
            self._texts = None
            self._errors.pop(_JSON, None)

    def _take_texts(self, values: Values) -> None:
        asked = self._asked()
        texts = tuple(values.get(f"body{place}", each.text)[:_LONGEST] for place, each in enumerate(asked))
        if texts != tuple(each.text for each in asked):
            self._texts = texts
            self._errors.pop(_JSON, None)

    # What comes of it

    def _send(self, key: str) -> Said:
        self._errors = {}
        if problem := self._problem(key):
            return problem
        asked = self._asked()
        outcome = self._sending.send(self.values, asked, key, as_written=self._texts is not None)
        self.sent = Sent(key, outcome.calls)
        code = self._code(asked, key, outcome.made)
        if outcome.made:
            self._look_at(outcome.made, asked)
        said = self._refused(outcome) if outcome.error else self._done(outcome.calls)
        self._renew(key, outcome.calls)
        return said._replace(code=code)

    def _problem(self, key: str) -> Said | None:
        """What cannot even be sent."""
        if not (key.isascii() and key.isprintable() and len(key) <= _MAX_KEY):
            self._errors["idempotency_key"] = _KEY_PROBLEM
        if self._texts is None and (wrong := draft.amount_problem(self.values, self._seen.unit_minor)):
            self._errors["amount"] = wrong
        if not self._errors:
            return None
        return Said(f"Nothing was sent. {' '.join(self._errors.values())}", BAD)

    def _refused(self, outcome: Outcome) -> Said:
        error = outcome.error
        if isinstance(error, ApiError):
            field = draft.field_of(error.param) if self._texts is None else ""
            if field or error.param or self._texts is not None:
                self._errors[field or _JSON] = error.message
        words = str(error) if isinstance(error, WorkbenchError) else f"Nothing was sent: {error}."
        is_half = outcome.made and self.values["operation"] == INTENT
        return Said(f"{words} The intent was created and is not confirmed." if is_half else words, BAD)

    def _look_at(self, made: str, asked: tuple[Ask, ...]) -> None:
        self._seen.numbers[made] = draft.phone_of([each.text for each in asked]) or self.values["phone"]
        self._seen.choose(made)

    def _done(self, calls: Calls) -> Said:
        if was_replayed(calls):
            return Said("The service gave the answer of before: nothing was done a second time.")
        payment = self._seen.payment
        if payment is None:
            return Said("Sent.")
        if payment.status == "requires_action":
            number = mask_phone(self._seen.numbers.get(payment.id, ""))
            is_shown = any(row["kind"] == "screen" for row in self._seen.rows)
            return Said(f"{payment.money} asked of {number}: {_PROMPTED if is_shown else _WAITS}")
        ended = news(payment, is_verified=bool(verified_at(self._seen.rows, self._seen.arrivals)))
        return ended or Said(f"{payment.money}: {payment.status.replace('_', ' ') or 'sent'}.")

    def _renew(self, key: str, calls: Calls) -> None:
        """Another key for the next payment, once this one has come to something."""
        settled = [call_of(call).response.status for call in calls]
        is_over = bool(settled) and (settled[-1] < _ERRORS or settled[-1] == PaymentDeclined.status)
        if is_over and self.values["idempotency_key"] == key:
            self.values["idempotency_key"] = self._new_key()


class AnswerPart(Part):
    """The answer to what was sent last."""

    id: ClassVar[str] = "answer"

    def __init__(self, request: RequestPart) -> None:
        self._request = request

    def section(self) -> Section:
        """Status, headers, body."""
        return Section(self.id, "Answer", answer(self._request.sent.calls))
