"""The OpenAPI 3.1 document, from the tables that route."""

from typing import Any, Final

from workbench.domain import wire
from workbench.domain.gaps import Gaps
from workbench.sandbox import operations, panel
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import examples, names, provenance, responses, schemas
from workbench.sandbox.openapi.links import LINKS
from workbench.sandbox.openapi.parameters import parameters
from workbench.sandbox.openapi.webhooks import webhooks
from workbench.sandbox.operations import Operation

Schema = dict[str, Any]
TABLE: Final = (*operations.OPERATIONS, *panel.OPERATIONS)

_ABOUT: Final = """A sandbox of a mobile-money payment service in Zambia. No real money, no real customer.

- **Keys.** `sk_test_…` on a server, `pk_test_…` in a checkout. Intents and plants take a bearer, charges HTTP Basic
  with the key as user name and no password, assumed operations either. A live key is refused.
- **Errors** are `application/problem+json`; each code is explained at [/docs/errors](/docs/errors).
- **At the door**, before an operation is looked for: a name in `Host` that is not this machine's is answered 421, none
  or several 400, a page of another `Origin` 403; a body that does not arrive within ten seconds 408, one that breaks
  off 400.
- **Methods.** HEAD is answered as GET, without the body. Others that are not described here, OPTIONS among them,
  are answered 405 with `Allow`.
- **Request-Id** stands in every answer and names the call in the trace. What is no HTTP, or has headers beyond all
  measure, `workbench serve` refuses before it is a call: such an answer has none.
- **Looking.** A GET with the header `Sandbox-Unseen` leaves no trace and takes no number, so that whoever watches
  changes nothing.
- **Failures** can be had on demand: by [test numbers](/docs/test-numbers) or the `Sandbox-Scenario` header.
- **Examples** of answers and events are of one run, the register of gaps at its defaults, with secrets masked.
- **Provenance.** `x-provenance` tells what the interface shows (`documented`), what it leaves open and this sandbox
  has settled (`assumed`), and what no real service has (`sandbox`); `x-section` names the section. The header
  `Sandbox-Provenance` tells the same of one answer, by its status and media type, with the rows of the register that
  it relied on: `assumed; gaps="declined_status error_format"`.
"""
_SCHEMES: Final = {"Bearer": "bearerAuth", "Basic": "basicAuth"}
_UNREQUESTED: Final = (wire.Event, wire.PlantError)
"""Answers that no operation names: what webhooks carry, and the documented error."""


def document(gaps: Gaps) -> Schema:
    """The whole description, of a sandbox with this register."""
    bodies = schemas.requests([each for row in TABLE for each in (row.body, row.query) if each is not None], gaps)
    queries = {name: bodies.pop(name) for name in {row.query.__name__ for row in TABLE if row.query is not None}}
    shown = schemas.shown([*(row.answer for row in TABLE), *_UNREQUESTED], gaps)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Mobile-money payments, sandbox",
            "version": wire.API_VERSION,
            "summary": "Payment intents, charges, webhooks; and a control plane for tests.",
            "description": _ABOUT,
        },
        "servers": [{"url": "/", "description": "This sandbox."}],
        "tags": names.tags(),
        "paths": _paths(queries, gaps),
        "webhooks": webhooks(gaps),
        "components": {
            "securitySchemes": {
                "bearerAuth": {"type": "http", "scheme": "bearer", "description": "A test key or an access token."},
                "basicAuth": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The secret key as user name; the password stays empty.",
                },
            },
            "schemas": {
                **bodies,
                **shown,
                **responses.shapes(gaps),
            },
            "responses": responses.components(gaps),
            "headers": responses.headers(gaps),
        },
    }


def _paths(queries: dict[str, Schema], gaps: Gaps) -> Schema:
    paths: Schema = {}
    for operation in TABLE:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, queries, gaps)
    return paths


def _operation(operation: Operation, queries: dict[str, Schema], gaps: Gaps) -> Schema:
    summary, description = names.words(operation)
    identifier = names.operation_id(operation)
    answers = responses.responses(operation, schemas.of_type(operation.answer), gaps)
    if links := LINKS.get(identifier):
        next(iter(answers.values()))["links"] = {name: dict(link) for name, link in links.items()}
    described: Schema = {
        "operationId": identifier,
        "summary": summary,
        "description": description,
        "tags": [names.tag(operation)],
        "security": [{_SCHEMES[scheme]: []} for scheme in _schemes(operation, gaps)],
        "parameters": parameters(operation, queries, gaps),
        "requestBody": _body(operation),
        "responses": answers,
        **provenance.of_operation(operation),
    }
    return {name: value for name, value in described.items() if value or name == "security"}


def _schemes(operation: Operation, gaps: Gaps) -> tuple[str, ...]:
    everywhere = operation.schemes and gaps.auth_schemes != "as_documented"
    return operations.EITHER if everywhere else operation.schemes


def _body(operation: Operation) -> Schema:
    if operation.body is None:
        return {}
    name = operation.body.__name__
    shown = {key: {"summary": says, "value": value} for key, (says, value) in examples.REQUESTS.get(name, {}).items()}
    content: Schema = {"schema": schemas.reference(name), **({"examples": shown} if shown else {})}
    # A body that may be left out is left out with a bearer in the header, which a described refresh has not.
    optional = operation.body_optional and operation.schemes != operations.NO_KEY
    return {"required": not optional, "content": {JSON: content}}
