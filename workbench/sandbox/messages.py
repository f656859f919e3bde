"""A request as it arrived and an answer as it goes back, free of any framework."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

MAX_BODY_BYTES: Final = 1 << 20
JSON: Final = "application/json"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it arrived; `headers` by their usual spelling, those that matter here alone."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    path_params: Mapping[str, str] = field(default_factory=dict)
    live: bool = False
    """A live key stands somewhere in a header or the query."""

    @property
    def target(self) -> str:
        """Path and query, as they stand in the request line."""
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        return f"{self.path}?{query}" if query else self.path


class Answer(NamedTuple):
    """What goes back."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}
    payment: str | None = None
    """The intent or charge that the call was about."""
