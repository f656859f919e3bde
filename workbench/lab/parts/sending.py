"""Sending what stands on a desk: as the client sends it, or to the letter as somebody wrote it."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple, cast

import httpx

from workbench.calls import error_from
from workbench.domain.masking import mask
from workbench.domain.wire.trace import call_of
from workbench.errors import ApiError, ServiceUnreachable, WorkbenchError
from workbench.lab.parts import draft
from workbench.lab.parts.draft import CHARGE, MADE_ID, DraftRequest
from workbench.lab.parts.seen import Gathered, Rows, TraceRow, json_in
from workbench.session import Session


class Outcome(NamedTuple):
    """The id of what was made, empty if nothing was; the calls as the trace has them; what was raised."""

    made: str
    calls: Rows
    error: Exception | None


class Sending:
    """Sends the requests of a draft, one after the other, until one is refused."""

    def __init__(self, session: Session, gathered: Gathered) -> None:
        self._session = session
        self._gathered = gathered
        self._made = ""

    def send(
        self, values: Mapping[str, str], requests: Sequence[DraftRequest], key: str, *, as_written: bool
    ) -> Outcome:
        """Send, and report what came of it; raises only where the trace cannot be read."""
        before, error = self._gathered.seq(), None
        self._made = ""
        try:
            if as_written:
                self._as_written(values, requests, key)
            else:
                self._by_client(values, key)
        except (WorkbenchError, httpx.HTTPError, httpx.InvalidURL, UnicodeError) as raised:
            error = raised
            facts = raised.facts if isinstance(raised, ApiError) else {}
            self._made = self._made or str(facts.get("charge") or "")
        calls = tuple(row for row in self._gathered.calls_since(before) if _is_ours(row, key))
        return Outcome(self._made, calls, error)

    def _by_client(self, values: Mapping[str, str], key: str) -> None:
        session, phone, provider = self._session, values["phone"], values["provider"]
        # What is no int was refused before; if it were not, it would be here.
        amount = cast("int", draft.amount_of(values, self._gathered.unit_minor))
        described = values["description"] or None
        pay = session.client if values["key"] == draft.SECRET else session.client_with(session.publishable_key)
        if values["operation"] == CHARGE:
            self._made = pay.charges.create(
                amount=amount, channel=provider, phone=phone, idempotency_key=key, reference=described
            ).id
            return
        self._made = pay.payment_intents.create(
            amount=amount,
            currency="ZMW",
            payment_method_types=["mobile_money"],
            description=described,
            idempotency_key=key or None,
        ).id
        pay.payment_intents.confirm(self._made, phone=phone, provider=provider, idempotency_key=key or None)

    def _as_written(self, values: Mapping[str, str], requests: Sequence[DraftRequest], key: str) -> None:
        for each in requests:
            body = json_in(self._post(values, each.path.replace(MADE_ID, self._made), each.text, key).text)
            made = body.get("id") if isinstance(body, dict) else None
            self._made = self._made or (made if isinstance(made, str) else "")
            if not self._made:
                return

    def _post(self, values: Mapping[str, str], path: str, text: str, key: str) -> httpx.Response:
        http, secret = self._session.http, str(getattr(self._session, values["key"]))
        if http.is_closed:
            raise ServiceUnreachable("This Workbench is closed.")
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        auth: tuple[str, str] | None = (secret, "") if values["operation"] == CHARGE else None
        if auth is None:
            headers["Authorization"] = f"Bearer {secret}"
        try:
            response = http.post(path, content=text.encode(), headers=headers, auth=auth or httpx.USE_CLIENT_DEFAULT)
        except httpx.TransportError as error:
            raise ServiceUnreachable(f"POST {path} got no answer: {error}.") from error
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            raise error_from(response)
        return response


def _is_ours(row: TraceRow, key: str) -> bool:
    sent = {name.lower(): value for name, value in call_of(row).request.headers.items()}
    return str(sent.get("idempotency-key", "")) == mask(key)
