"""Public pages of the sandbox: the OpenAPI description, pages for people, and the files that the pages load.

The pages load nothing from other machines, and their headers make the browser enforce that.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from http import HTTPStatus
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec

from workbench import resources
from workbench.domain import scenarios
from workbench.domain.catalogue import CODES, OPERATOR_NAMES, OperatorNames
from workbench.domain.gaps import PAGE, Gaps, choices_of, rows_by
from workbench.domain.payments import ADVICE, FAILURES
from workbench.domain.phones import COUNTRY_CODE, OFFERED
from workbench.domain.wire.base import Schema
from workbench.errors import NotFound
from workbench.sandbox.messages import JSON, InForce, Request, Response
from workbench.sandbox.openapi.document import document, examples_of_run, offered
from workbench.sandbox.openapi.markdown import rendered
from workbench.sandbox.provenance import provenance
from workbench.text.render import data_url, templates
from workbench.text.snippets import IN_PROCESS_URL, Snippet, snippet

if TYPE_CHECKING:
    from jinja2 import Environment

Page = Callable[[Request, InForce], Response]

_HTML: Final = "text/html; charset=utf-8"
_SELF_ALONE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NO_GUESS: Final = {"X-Content-Type-Options": "nosniff"}
_PAGE_HEADERS: Final = {"Content-Security-Policy": _SELF_ALONE, "Cache-Control": "no-cache", **_NO_GUESS}
_ASSET_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable", **_NO_GUESS}
_GUIDE: Final = "/docs/guide"
_INDEX: Final = "index"
"""The page of the documentation that links to all others."""
_SERVED_AT: Final = {_INDEX: _GUIDE, "interface": PAGE}
_SAMPLE_VALUES: Final = {"phone": "+260960000001", "operation_id": "createCharge", "account": "operator:mtn:float",
                 "Idempotency-Key": "order-1"}  # fmt: skip
"""Parameter → its value in a sample call, for parameters that are not ids in an example response."""
_CONSOLE: Final[Mapping[str, str]] = {
    ".html": _HTML, ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}  # fmt: skip
_ASSETS: Final = {name: _CONSOLE[name[-4:]] for name in ("mark.svg", "look.css", "page.css", "docs.css")}
"""Name of a file for pages → its media type. Other files are not served."""
ONCE: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
"""Headers of a response to a URL that may contain a one-time login code, which must not be stored or passed on."""


def entrance(request: Request, choices: InForce, status: int = 0) -> Response:
    """GET /: describes this sandbox.

    With a `status` of 200, or of 403 for a wrong code, the page also has a field for the login code.
    """
    policy = _SELF_ALONE.replace("form-action 'none'", "form-action 'self'")
    page = _html_page("entrance.html", has_door=status > 0, refused=status > HTTPStatus.OK)
    return msgspec.structs.replace(page, status=status or 200, headers={"Content-Security-Policy": policy, **ONCE})


def of_console(request: Request, choices: InForce) -> Response:
    """GET /console/{name} and /console/vendor/{name}: a file of the console; without a name, the console's page.

    Raises NotFound: the console has no such file.
    """
    name = request.path_params.get("name", "index.html")
    file = resources.console(f"vendor/{name}" if "/vendor/" in request.path else name)
    try:
        is_there = file.suffix in _CONSOLE and file.name == name and file.is_file()
    except OSError:  # no file may have so long a name
        is_there = False
    if not is_there:
        raise NotFound(f"There is no file {name[:60]!r}.", code="path_not_found")
    return Response(200, _CONSOLE[file.suffix], file.read_bytes(), _PAGE_HEADERS)


def openapi_json(request: Request, choices: InForce) -> Response:
    """GET /openapi.json: the description of this sandbox with its present settings."""
    return Response(200, JSON, b"", make_body=partial(_openapi, *choices))


def plant_store(request: Request, choices: InForce) -> Response:
    """GET /plants/openapi.json: the OpenAPI description of the sample API, a plant store."""
    return Response(200, JSON, msgspec.json.format(files(__package__).joinpath("plants.json").read_bytes(), indent=-1))


def reference_page(request: Request, choices: InForce) -> Response:
    """GET /docs: the operations of the description, each with its schema and sample calls."""
    host = request.headers.get("Host", "")
    # A sandbox in process, or shown by JupyterLab, has no address that a call from outside reaches.
    base_url = f"http://{host}" if host else IN_PROCESS_URL
    # Made once for all hosts with a stand-in; a shell has an IPv6 address in quotes.
    any_url = f"http://{'[::]' if '[' in host else 'any'}.invalid" if host else IN_PROCESS_URL

    def body() -> bytes:
        return _reference(*choices, any_url).replace(any_url.encode(), base_url.encode())

    return Response(200, _HTML, b"", _PAGE_HEADERS, make_body=body)


def errors_page(request: Request, choices: InForce) -> Response:
    """GET /docs/errors: every error code, with an anchor for each, and the reasons why money does not move."""
    return _html_page(
        "errors.html",
        kinds=[(kind, list(rows)) for kind, rows in groupby(CODES.items(), key=lambda item: item[1].kind)],
        rows_of=rows_by(),
        failures=[
            (code, says, ADVICE[code].shop if code in ADVICE else "", OPERATOR_NAMES.get(code, OperatorNames()))
            for code, says in FAILURES.items()
        ],
    )


def interface_page(request: Request, choices: InForce) -> Response:
    """GET /docs/interface: the service's interface by section, with the register's rows on what it leaves open."""
    return Response(200, _HTML, b"", _PAGE_HEADERS, make_body=partial(_sections_page, *choices))


def guide_page(request: Request, choices: InForce) -> Response:
    """GET /docs/guide, the index of the documentation, and /docs/guide/{name}, a page of it.

    Raises NotFound: there is no such page.
    """
    name = request.path_params.get("name") or _INDEX
    if name not in resources.guide_paths():
        raise NotFound(f"There is no page {name[:60]!r}; /docs/guide lists them.", code="path_not_found")
    return _html_page("guide.html", document=rendered(markdown(name), _served))


def test_numbers_page(request: Request, choices: InForce) -> Response:
    """GET /docs/test-numbers: the phone numbers that trigger a scenario."""
    return _html_page(
        "test_numbers.html",
        numbers=scenarios.TEST_NUMBERS,
        operators=[
            (operator.name, f"{COUNTRY_CODE}{operator.prefixes[0]}")
            for operator in OFFERED[choices.gaps.zed_mobile].values()
        ],
        pin=scenarios.SANDBOX_PIN,
        scenarios=scenarios.SCRIPTABLE,
    )


def asset(request: Request, choices: InForce) -> Response:
    """GET /docs/assets/{name}: a file that the pages load.

    Raises NotFound: there is no such file.
    """
    name = request.path_params["name"]
    if name not in _ASSETS:
        raise NotFound(f"There is no file {name[:60]!r}.", code="path_not_found")
    return Response(200, _ASSETS[name], _file_content(name), _ASSET_HEADERS)


PAGES: Final[Mapping[str, Page]] = {
    "/": entrance,
    "/console/{name}": of_console,
    "/console/vendor/{name}": of_console,
    "/openapi.json": openapi_json,
    "/plants/openapi.json": plant_store,
    "/docs": reference_page,
    "/docs/errors": errors_page,
    PAGE: interface_page,
    "/docs/test-numbers": test_numbers_page,
    _GUIDE: guide_page,
    f"{_GUIDE}/{{name}}": guide_page,
    "/docs/assets/{name}": asset,
}
"""Path → the function that makes its page."""


def names() -> tuple[str, ...]:
    """The names of the pages of the documentation: the index first, the interface last."""
    return (*sorted(resources.guide_paths(), key=lambda name: (name != _INDEX, name)), "interface")


def markdown(name: str) -> str:
    """A page of the documentation in Markdown; for the page of the interface, with the register at its defaults."""
    return _interface(Gaps()) if name == "interface" else resources.guide_paths()[name].read_text("utf-8")


def single_file(name: str, *, linked: bool) -> str:
    """A page of the documentation as one HTML file; with `linked`, links lead to other pages' files, `NAME.html`."""
    link = partial(_leads_to, address="{}.html".format) if linked else _leads_to
    return _rendered("guide.html", document=rendered(markdown(name), link), asset=None)


def _served(href: str) -> str | None:
    address = _leads_to(href, lambda name: _SERVED_AT.get(name, f"{_GUIDE}/{name}"))
    return href if href.startswith("/") else address


def _leads_to(href: str, address: Callable[[str], str] | None = None) -> str | None:
    """The target of a link or picture on a page of the documentation; None for text without a link.

    `address` gives the address of another page by its name; without it, links to other pages have no target. A target
    on the same page stays unchanged, and a picture becomes a data URL.
    """
    path, sharp, place = href.partition("#")
    name = path.rpartition("/")[2].removesuffix(".md")
    if address and path.endswith(".md") and name in names():
        return f"{address(name)}{sharp}{place}"
    if href.endswith(".png"):
        return data_url(resources.fixture(href.rpartition("/")[2]).read_bytes(), "image/png")
    return href if href.startswith("#") else None


def _interface(gaps: Gaps, operations: Mapping[str, list[str]] | None = None) -> str:
    """The page of the interface in Markdown.

    `operations` is section → ids of the operations that the page then names; None omits them.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in gaps.as_records():
        does, *others = choices_of(record)
        texts = {"does": str(does._replace(is_default=False)), "others": "; ".join(map(str, others))}
        rows.setdefault(record["section"], []).append({**record, **texts})
    template = _templates().get_template("interface.md")
    return template.render(rows=rows, operations=operations or {}).strip() + "\n"


@lru_cache(maxsize=4)
def _openapi(gaps: Gaps, deprecated: frozenset[str]) -> bytes:
    return msgspec.json.encode(document(gaps, deprecated))


@lru_cache(maxsize=4)
def _reference(gaps: Gaps, deprecated: frozenset[str], base_url: str) -> bytes:
    described = document(gaps, deprecated)
    listed = [*_operations(described)]
    groups = {tag["name"]: [row for row in listed if tag["name"] in row[2]["tags"]] for tag in described["tags"]}
    return _rendered(
        "docs.html",
        described=described,
        codes=CODES,
        base_url=base_url.removeprefix(IN_PROCESS_URL),
        # Events have a section of their own.
        groups={name: operations for name, operations in groups.items() if operations},
        calls={
            operation["operationId"]: _sample(method, path, operation, base_url) for method, path, operation in listed
        },
        rows={
            row.id: re.findall(r"\w+", provenance(row, row.success, JSON).partition("gaps=")[2])
            for row in offered(gaps)
        },
    ).encode()


@lru_cache(maxsize=4)
def _sections_page(gaps: Gaps, deprecated: frozenset[str]) -> bytes:
    by_section: dict[str, list[str]] = {}
    for _, _, operation in _operations(document(gaps, deprecated)):
        for section in filter(None, operation.get("x-section", "").split(", ")):
            by_section.setdefault(section, []).append(operation["operationId"])
    return _rendered("guide.html", document=rendered(_interface(gaps, by_section), _served)).encode()


def _operations(described: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yields (method, path, description) of each operation in an OpenAPI document."""
    for path, item in described["paths"].items():
        yield from ((method.upper(), path, operation) for method, operation in item.items())


def _sample(method: str, path: str, operation: Schema, base_url: str) -> Snippet:
    """A call of the operation by its first example; the call uses the ids in the example response."""
    response = str(examples_of_run()[operation["operationId"]])
    needed = {
        parameter["name"]: parameter["in"] for parameter in operation.get("parameters", ()) if parameter.get("required")
    }
    values: dict[str, str] = {}
    for name in needed:
        kind = "req" if name == "request_id" else "[a-z]+"
        identifier = re.search(rf"\b{kind}_[0-9A-Za-z]{{24}}\b", response)
        values[name] = _SAMPLE_VALUES.get(name) or (identifier[0] if identifier else "")
    parts = {place: {name: values[name] for name in needed if needed[name] == place} for place in ("query", "header")}
    sent = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("examples", {})
    body = next((example["value"] for example in sent.values()), None)
    address = path.format(**values)
    return snippet(method, address, body, query=parts["query"], headers=parts["header"], base_url=base_url)


@cache
def _file_content(name: str) -> bytes:
    return files("workbench").joinpath("templates", name).read_bytes()


def _versioned(name: str) -> str:
    """The address of a file for pages; it changes with the file's content, since browsers cache the file forever."""
    return f"/docs/assets/{name}?v={hashlib.sha256(_file_content(name)).hexdigest()[:12]}"


def _html_page(template: str, **values: object) -> Response:
    # Made after the transaction: the first page of a process loads the library of templates.
    return Response(200, _HTML, b"", _PAGE_HEADERS, make_body=lambda: _rendered(template, **values).encode())


def _rendered(template: str, **values: object) -> str:
    return _templates().get_template(template).render({"asset": _versioned} | values)


@cache
def _templates() -> "Environment":
    environment = templates(__package__)
    environment.filters["laid_out"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    environment.filters["in_html"] = lambda text: rendered(text, _served).html
    return environment
