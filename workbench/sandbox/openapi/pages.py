"""What the sandbox shows to everybody: its description, and the description of the sample plant store."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from workbench.domain.gaps import Gaps
from workbench.sandbox.messages import JSON, Answer, Request
from workbench.sandbox.openapi.document import document
from workbench.sandbox.service import plants

Page = Callable[[Request, Gaps], Answer]


def openapi(request: Request, gaps: Gaps) -> Answer:  # noqa: ARG001  one signature
    """GET /openapi.json: the description of this very sandbox."""
    return Answer(200, JSON, _openapi(gaps))


def plant_store(request: Request, gaps: Gaps) -> Answer:  # noqa: ARG001  one signature
    """GET /plants/openapi.json: the sample's own description."""
    return Answer(200, JSON, msgspec.json.encode(plants.OPENAPI))


@lru_cache(maxsize=4)
def _openapi(gaps: Gaps) -> bytes:
    return msgspec.json.encode(document(gaps))


PAGES: Final[Mapping[str, Page]] = {
    "/openapi.json": openapi,
    "/plants/openapi.json": plant_store,
}
"""Path → what it shows."""
