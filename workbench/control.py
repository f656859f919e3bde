"""The control plane, `/sandbox`: the clock, the operator, the ledger and the trace. No real service has it."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx

from workbench.client import PaymentsClient
from workbench.domain.moments import clock_text, moment, rfc3339
from workbench.errors import InvalidRequest

_PAGE = 1000
"""Entries read at a time: a large ledger is never in memory as text."""


class SandboxControl:
    """What `/sandbox` offers, called with the test secret key."""

    def __init__(self, client: PaymentsClient) -> None:
        self._client = client

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """GET a path under `/sandbox`."""
        return self._client.calls.send("GET", self._url(path), dict[str, Any], query=query or None)

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """POST to a path under `/sandbox`."""
        return self._client.calls.send("POST", self._url(path), dict[str, Any], body=body)

    def rows(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The rows of a list."""
        found: list[dict[str, Any]] = self.get(path, **query)["data"]
        return found

    def pages(self, path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        """The rows of a list of the ledger, so many entries at a time; those recorded meanwhile come last."""
        after = 0
        while True:
            page = self.get(path, after=str(after), limit=str(_PAGE), **query)
            yield page["data"]
            if not page["has_more"]:
                return
            after = page["data"][-1]["number"]

    def _url(self, path: str) -> str:
        return str(httpx.URL(f"{self._client.base_url}/sandbox/{path}"))


class Clock:
    """The sandbox's clock: what is due happens when it passes, at once however far it is moved."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(self._control.get("clock")["now_ms"])

    @property
    def now(self) -> datetime:
        """The moment, UTC."""
        return moment(self.now_ms)

    def advance(self, seconds: Decimal | float = 0, *, minutes: int = 0, hours: int = 0, days: int = 0) -> "Clock":
        """Move the clock and run all that falls due on the way: time-outs, retries, answers.

        With 0, what is due now is run. A fraction of a second is taken to the millisecond.
        """
        span = timedelta(minutes=minutes, hours=hours, days=days) // timedelta(milliseconds=1)
        own = Decimal(str(seconds))
        if not own.is_finite():
            raise InvalidRequest("seconds must be a finite number.", code="parameter_invalid", param="seconds")
        total_ms = span + round(own * 1000)
        self._control.post("clock/advance", {"seconds": Decimal(total_ms) / 1000})
        return self

    def __repr__(self) -> str:
        now_ms = self.now_ms
        return f"Clock({rfc3339(now_ms)}, {clock_text(now_ms)} in Lusaka)"


class Operator:
    """The mobile network operators, told what to do: to see a failure before a customer does."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control

    def script(self, phone: str, answers: Sequence[str]) -> "Operator":
        """What the next attempts on a number come to, one answer each; an empty list forgets what was set.

        An answer is a failure code such as `insufficient_funds`, or `approve`, `late_success`,
        `duplicate_answer`, `operator_unknown`. Raises InvalidRequest: no such answer.

        >>> bench.operator.script("+260961234567", ["insufficient_funds", "approve"])  # doctest: +SKIP
        """
        self._control.post("operator/script", {"phone": phone, "answers": list(answers)})
        return self

    def outage(self, provider: str, seconds: int) -> "Operator":
        """An operator is down for so many seconds from now; 0 ends it."""
        self._control.post("operator/outage", {"provider": provider, "seconds": seconds})
        return self

    def query(self, charge_id: str) -> dict[str, Any]:
        """Ask what became of a charge that the operator never told of: the charge, settled.

        Raises StateConflict: the charge waits for no answer.
        """
        return self._control.post("operator/query", {"charge": charge_id})

    def __repr__(self) -> str:
        return "Operator(script, outage, query)"
