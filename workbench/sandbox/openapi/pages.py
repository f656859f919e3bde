"""What the sandbox shows to everybody: its description, pages for people, and the files that these need.

Nothing here asks for anything beyond this machine, and the browser is told to hold the pages to that.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import groupby
from typing import Any, Final, cast

import msgspec

from workbench import resources
from workbench.domain import scenarios
from workbench.domain.catalogue import CODES, OPERATOR_NAMES, OperatorNames
from workbench.domain.gaps import Gaps, choices_of
from workbench.domain.interface import PAGE, SECTIONS, Section
from workbench.domain.payments import FAILURES
from workbench.domain.phones import COUNTRY_CODE, OFFERED, OPERATORS
from workbench.errors import NotFound
from workbench.sandbox.messages import JSON, InForce, Request, Response
from workbench.sandbox.openapi import reference
from workbench.sandbox.openapi.document import document
from workbench.sandbox.openapi.markdown import rendered
from workbench.sandbox.operations import in_force
from workbench.sandbox.provenance import OF_CODE
from workbench.snippets import IN_PROCESS_URL

Page = Callable[[Request, InForce], Response]

_HTML: Final = "text/html; charset=utf-8"
_SELF_ALONE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS: Final = {"Content-Security-Policy": _SELF_ALONE, "Cache-Control": "no-cache"}
_ASSET_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_ASSETS: Final[Mapping[str, tuple[str, str]]] = {
    "mark.svg": ("workbench/templates", "image/svg+xml"),
    "docs.css": ("workbench/sandbox/openapi/static", "text/css; charset=utf-8"),
}
"""Name → its folder and its type. What is not here is not served."""
_GUIDE: Final = "/docs/guide"
_INDEX: Final = "index"
"""The page of the documentation that leads to all others."""
_CALLS: Final = (
    (
        "A customer pays 150.00 kwacha, 15000 ngwee:",
        """curl {url}/v1/charges -u "$KEY:" \\
  -H 'Idempotency-Key: order-1' -H 'Content-Type: application/json' \\
  -d '{{"amount": 15000, "currency": "zmw", "type": "mobile_money", "channel": "mtn",
       "phone": "{phone}"}}'""",
    ),
    ("What became of it, newest first:", """curl {url}{charges} -H "Authorization: Bearer $KEY\""""),
    ("Where each ngwee went:", """curl {url}/sandbox/ledger/postings -H "Authorization: Bearer $KEY\""""),
)
"""What each of the first page's calls does, and the call."""
_A_NUMBER: Final = f"{COUNTRY_CODE}{OPERATORS['mtn'].prefixes[0]}1234567"


def start(request: Request, choices: InForce) -> Response:
    """GET /: what this is, and how to begin."""
    charges = next(each.path for each in in_force(choices.gaps) if each.id == "listCharges" and not each.gone)
    address = {"url": f"http://{request.headers['Host']}", "charges": charges, "phone": _A_NUMBER}
    return _page("start.html", calls=[(says, call.format(**address)) for says, call in _CALLS])


def openapi(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /openapi.json: the description of this very sandbox."""
    return Response(200, JSON, b"", made=partial(_openapi, *choices))


def plant_store(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /plants/openapi.json: the sample's own description."""
    return Response(200, JSON, msgspec.json.format(files(__package__).joinpath("plants.json").read_bytes(), indent=-1))


def docs(request: Request, choices: InForce) -> Response:
    """GET /docs: each operation of the description, with its schema and the calls to copy."""
    host = request.headers.get("Host", "")
    # What is in process, or shown by JupyterLab, has no address that a call from outside reaches.
    base_url = f"http://{host}" if host else IN_PROCESS_URL
    # Made once for all hosts; a shell has an IPv6 address in quotes.
    any_url = f"http://{'[::]' if '[' in host else 'any'}.invalid" if host else IN_PROCESS_URL

    def made() -> bytes:
        return _reference(*choices, any_url).replace(any_url.encode(), base_url.encode())

    return Response(200, _HTML, b"", _PAGE_HEADERS, made=made)


def errors(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /docs/errors: every code, with an anchor for each, and why money does not move."""
    return _page(
        "errors.html",
        kinds=[(kind, list(rows)) for kind, rows in groupby(CODES.items(), key=lambda item: item[1].kind)],
        rows_of=OF_CODE,
        failures=[(code, says, OPERATOR_NAMES.get(code, OperatorNames())) for code, says in FAILURES.items()],
    )


def interface(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /docs/interface: the interface, section by section, with the rows of the register that it leaves open."""
    return Response(200, _HTML, b"", _PAGE_HEADERS, made=partial(_sections_page, *choices))


def guide(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /docs/guide, the index of the documentation, and /docs/guide/{name}, a page of it.

    Raises NotFound: there is no such page.
    """
    name = request.path_params.get("name") or _INDEX
    if name not in resources.guide():
        raise NotFound(f"There is no page {name[:60]!r}; /docs/guide lists them.", code="path_not_found")
    return _page("guide.html", document=rendered(markdown(name), _served))


def names() -> tuple[str, ...]:
    """The pages of the documentation, the index first, and the interface."""
    return (*sorted(resources.guide(), key=lambda name: (name != _INDEX, name)), "interface")


def markdown(name: str) -> str:
    """A page of the documentation in Markdown; of the interface, with the register at its defaults."""
    return _interface(Gaps()) if name == "interface" else resources.guide()[name].read_text("utf-8")


def alone(name: str, *, linked: bool) -> str:
    """The same as a page that needs no other file; `linked` to the others, which stand beside it."""
    style = _templates().filters["safe"](_content("docs.css").decode())
    return _text("guide.html", document=rendered(markdown(name), _beside if linked else _within), style=style)


def _within(href: str) -> str | None:
    """A place on the same page; a picture, as one that needs no other file."""
    if href.endswith(".png"):
        picture = resources.fixture(href.rpartition("/")[2]).read_bytes()
        return f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return href if href.startswith("#") else None


def _beside(href: str) -> str | None:
    name, place = _leads_to(href)
    return f"{name}.html{place}" if name else _within(href)


def _served(href: str) -> str | None:
    name, place = _leads_to(href)
    path = {"interface": PAGE, _INDEX: _GUIDE}.get(name, f"{_GUIDE}/{name}")
    if name:
        return f"{path}{place}"
    return href if href.startswith("/") else _within(href)


def _leads_to(href: str) -> tuple[str, str]:
    """The page of the documentation that a link in one leads to, empty for none, and the place on it with its #."""
    path, sharp, place = href.partition("#")
    name = path.rpartition("/")[2].removesuffix(".md")
    return name if path.endswith(".md") and name in names() else "", sharp + place


def _interface(gaps: Gaps, operations: Mapping[str, list[str]] | None = None) -> str:
    text = _templates().get_template("interface.md").render(sections=_sections(gaps), operations=operations or {})
    return cast("str", text).strip() + "\n"


def _sections(gaps: Gaps) -> list[tuple[Section, Mapping[str, Mapping[str, str]]]]:
    """Each section with the rows that settle what it leaves open, as text."""
    records = {each["name"]: each for each in gaps.as_records()}
    named = [(each, [name for left in each.leaves_open for name in left.rows]) for each in SECTIONS]
    return [(each, {name: _texts(records[name]) for name in names if name in records}) for each, names in named]


def _texts(record: Mapping[str, Any]) -> Mapping[str, str]:
    does, *others = choices_of(record)
    texts = {"does": str(does._replace(is_default=False)), "others": "; ".join(map(str, others))}
    return {name: record[name] for name in ("asks", "why")} | texts


def test_numbers(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /docs/test-numbers: the numbers on which something happens by itself."""
    offered = OFFERED[choices.gaps.zed_mobile].values()
    return _page(
        "test_numbers.html",
        rows=[(ending, each.says) for ending, each in scenarios.TEST_NUMBERS.items()],
        operators=[(each.name, f"{COUNTRY_CODE}{each.prefixes[0]}") for each in offered],
        pin=scenarios.SANDBOX_PIN,
        scenarios=scenarios.SCRIPTABLE,
    )


def asset(request: Request, choices: InForce) -> Response:  # noqa: ARG001  one signature
    """GET /docs/assets/{name}: one of the files that the pages need.

    Raises NotFound: it is none of them.
    """
    name = request.path_params["name"]
    if name not in _ASSETS:
        raise NotFound(f"There is no file {name[:60]!r}.", code="path_not_found")
    return Response(200, _ASSETS[name][1], _content(name), _ASSET_HEADERS)


@lru_cache(maxsize=4)
def _reference(gaps: Gaps, deprecated: frozenset[str], base_url: str) -> bytes:
    described = document(gaps, deprecated)
    about = rendered(described["info"]["description"], _served).html
    shown = reference.shown(described, gaps, base_url)
    shown |= {"about": about, "codes": CODES, "base_url": base_url.removeprefix(IN_PROCESS_URL)}
    return _text("docs.html", style="", described=described, **shown).encode()


@lru_cache(maxsize=4)
def _sections_page(gaps: Gaps, deprecated: frozenset[str]) -> bytes:
    text = _interface(gaps, reference.by_section(document(gaps, deprecated)))
    return _text("guide.html", style="", document=rendered(text, _served)).encode()


@lru_cache(maxsize=4)
def _openapi(gaps: Gaps, deprecated: frozenset[str]) -> bytes:
    return msgspec.json.encode(document(gaps, deprecated))


@cache
def _content(name: str) -> bytes:
    package, _, folder = _ASSETS[name][0].partition("/")
    return files(package).joinpath(folder, name).read_bytes()


def _versioned(name: str) -> str:
    """The address of a file, another one when its content is another: it is kept by the browser for good."""
    return f"/docs/assets/{name}?v={hashlib.sha256(_content(name)).hexdigest()[:12]}"


def _page(template: str, **values: Any) -> Response:  # noqa: ANN401  what a template shows is of any type
    # The first page of a process has the library of templates loaded.
    return Response(200, _HTML, b"", _PAGE_HEADERS, made=lambda: _text(template, style="", **values).encode())


def _text(template: str, **values: Any) -> str:  # noqa: ANN401  the same
    return cast("str", _templates().get_template(template).render(asset=_versioned, **values))


@cache
def _templates() -> Any:  # noqa: ANN401  loaded when it is first used
    from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape
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
        loader=DictLoader(texts),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = coded
    environment.filters["laid_out"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    environment.filters["cell"] = lambda text: text.replace("|", "\\|")
    return environment


PAGES: Final[Mapping[str, Page]] = {
    "/": start,
    "/openapi.json": openapi,
    "/plants/openapi.json": plant_store,
    "/docs": docs,
    "/docs/errors": errors,
    PAGE: interface,
    "/docs/test-numbers": test_numbers,
    _GUIDE: guide,
    f"{_GUIDE}/{{name}}": guide,
    "/docs/assets/{name}": asset,
}
"""Path → what it shows."""
