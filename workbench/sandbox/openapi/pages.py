"""What the sandbox shows to everybody: its description, pages for people, and the files that these need.

Nothing here asks for anything beyond this machine, and the browser is told to hold the pages to that.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.domain import scenarios
from workbench.domain.catalogue import CODES, OPERATOR_NAMES, OperatorNames
from workbench.domain.gaps import Gaps
from workbench.domain.payments import FAILURES
from workbench.domain.phones import COUNTRY_CODE, OPERATORS
from workbench.errors import NotFound
from workbench.sandbox.messages import JSON, Request, Response
from workbench.sandbox.openapi.document import document

Page = Callable[[Request, Gaps], Response]

_HTML: Final = "text/html; charset=utf-8"
_SELF_ALONE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS: Final = {"Content-Security-Policy": _SELF_ALONE, "Cache-Control": "no-cache"}
_ASSET_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_FROM_PACKAGE: Final = "flask_swagger_ui"
"""The installed package that brings Swagger UI's files; none of its code is run."""
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_ASSETS: Final[Mapping[str, tuple[str, str]]] = {
    "swagger-ui-bundle.js": (_FROM_PACKAGE, _SCRIPT),
    "swagger-ui.css": (_FROM_PACKAGE, _STYLE),
    "favicon-32x32.png": (_FROM_PACKAGE, "image/png"),
    "docs.js": ("", _SCRIPT),
    "docs.css": ("", _STYLE),
}
"""Name → the package that it is from, ours for none, and its type. What is not here is not served."""
_CALLS: Final = (
    (
        "A customer pays 150.00 kwacha, 15000 ngwee:",
        """curl {url}/v1/charges -u "$KEY:" \\
  -H 'Idempotency-Key: order-1' -H 'Content-Type: application/json' \\
  -d '{{"amount": 15000, "currency": "zmw", "type": "mobile_money", "channel": "mtn",
       "phone": "{phone}"}}'""",
    ),
    ("What became of it, newest first:", """curl {url}/v1/charges -H "Authorization: Bearer $KEY\""""),
    ("Where each ngwee went:", """curl {url}/sandbox/ledger/postings -H "Authorization: Bearer $KEY\""""),
)
"""What each of the first page's calls does, and the call."""
_A_NUMBER: Final = f"{COUNTRY_CODE}{OPERATORS['mtn'].prefixes[0]}1234567"


def start(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /: what this is, and how to begin."""
    address = {"url": f"http://{request.headers['Host']}", "phone": _A_NUMBER}
    return _page("start.html", calls=[(says, call.format(**address)) for says, call in _CALLS])


def openapi(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /openapi.json: the description of this very sandbox."""
    return Response(200, JSON, _openapi(gaps))


def plant_store(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /plants/openapi.json: the sample's own description."""
    return Response(200, JSON, msgspec.json.format(files(__package__).joinpath("plants.json").read_bytes(), indent=-1))


def docs(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /docs: the description to read and to try."""
    return _page("docs.html")


def errors(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /docs/errors: every code, with an anchor for each, and why money does not move."""
    return _page(
        "errors.html",
        kinds=[(kind, list(rows)) for kind, rows in groupby(CODES.items(), key=lambda item: item[1].kind)],
        failures=[(code, says, OPERATOR_NAMES.get(code, OperatorNames())) for code, says in FAILURES.items()],
    )


def test_numbers(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /docs/test-numbers: the numbers on which something happens by itself."""
    return _page(
        "test_numbers.html",
        rows=[(ending, each.says) for ending, each in scenarios.TEST_NUMBERS.items()],
        operators=[(each.name, f"{COUNTRY_CODE}{each.prefixes[0]}") for each in OPERATORS.values()],
        pin=scenarios.SANDBOX_PIN,
        scenarios=scenarios.SCRIPTABLE,
    )


def asset(request: Request, gaps: Gaps) -> Response:  # noqa: ARG001  one signature
    """GET /docs/assets/{name}: one of the files that the pages need.

    Raises NotFound: it is none of them.
    """
    name = request.path_params["name"]
    if name not in _ASSETS:
        raise NotFound(f"There is no file {name[:60]!r}.", code="path_not_found")
    return Response(200, _ASSETS[name][1], _content(name), _ASSET_HEADERS)


@lru_cache(maxsize=4)
def _openapi(gaps: Gaps) -> bytes:
    return msgspec.json.encode(document(gaps))


@cache
def _content(name: str) -> bytes:
    package, _ = _ASSETS[name]
    if not package:
        return files(__package__).joinpath("static", name).read_bytes()
    # Found without being imported: that would load a web framework that nothing here uses.
    found = find_spec(package)
    if found is None or found.origin is None:
        raise NotFound(f"The package that brings {name} is not installed.", code="path_not_found")
    return (Path(found.origin).parent / "dist" / name).read_bytes()


def _versioned(name: str) -> str:
    """The address of a file, another one when its content is another: it is kept by the browser for good."""
    return f"/docs/assets/{name}?v={hashlib.sha256(_content(name)).hexdigest()[:12]}"


def _page(template: str, **values: Any) -> Response:  # noqa: ANN401  what a template shows is of any type
    text = _templates().get_template(template).render(asset=_versioned, **values)
    return Response(200, _HTML, text.encode(), _PAGE_HEADERS)


@cache
def _templates() -> Any:  # noqa: ANN401  loaded when it is first used
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    def coded(text: str) -> Markup:
        """What stands in backticks as code; the rest as text."""
        parts = text.split("`")
        return Markup("").join(
            Markup("<code>{}</code>").format(each) if place % 2 else each for place, each in enumerate(parts)
        )

    folder = files(__package__).joinpath("templates")
    texts = {each.name: each.read_text("utf-8") for each in folder.iterdir()}
    environment = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["coded"] = coded
    return environment


PAGES: Final[Mapping[str, Page]] = {
    "/": start,
    "/openapi.json": openapi,
    "/plants/openapi.json": plant_store,
    "/docs": docs,
    "/docs/errors": errors,
    "/docs/test-numbers": test_numbers,
    "/docs/assets/{name}": asset,
}
"""Path → what it shows."""
