"""Every document that the sandbox gives of itself, tried out against the sandbox by schemathesis.

Its engine reads the OpenAPI document from the door, makes requests that keep it and requests that break
it (examples, boundaries, random ones, and sequences where the document links operations), and holds each
answer against the document with every check that it has.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from schemathesis.engine import events, from_schema

if TYPE_CHECKING:
    from tests.conftest import Serving

# A document is one line here. Each names its security schemes, whatever they are called: `config_of` fills in
# Bearer and Basic by what the document says of them.
DOCUMENTS = ("/plants/openapi.json", "/openapi.json")
SEED = 7
REFUSES = ["400", "401", "403", "404", "405", "409", "413", "415", "422"]
"""Statuses that refuse what breaks the document; also of an object whose state is looked at before the rest."""
TAKES = ["2xx", "401", "402", "403", "404", "409", "422"]
"""Statuses that may answer what keeps the document, as none can be told from the request alone: a well-formed id or
token of nothing, or of somebody else; a number that declines; an object in another state; a key used before."""
EXPECTED: dict[str, dict[str, Any]] = {
    "negative_data_rejection": {"expected-statuses": REFUSES},
    "positive_data_acceptance": {"expected-statuses": TAKES},
}
FAULTS = {"server_error", "server_error_after", "slow"}
"""Scenarios that ask for a 500, or to wait: what they bring is no fault of the sandbox's."""

UNFRAMED = "response_headers_conformance"
"""The check that a refusal of the framing cannot pass, whatever operation was asked for."""

Load = Callable[[schemathesis.Config], schemathesis.BaseSchema]


def config_of(load: Load, secret_key: str, examples: int) -> schemathesis.Config:
    """`examples` random requests for each operation; boundaries and given examples come on top.

    What is sent for each security scheme of the document goes by its kind.
    """
    schemes = load(schemathesis.Config()).raw_schema["components"]["securitySchemes"]
    sent = {"bearer": {"bearer": secret_key}, "basic": {"username": secret_key, "password": ""}}
    return schemathesis.Config.from_dict({
        "seed": SEED,
        "auth": {"openapi": {str(name): sent[each["scheme"].lower()] for name, each in schemes.items()}},
        "generation": {"max-examples": examples, "database": "none"},
        "checks": EXPECTED,
    })  # fmt: skip


def without_faults(schema: schemathesis.BaseSchema) -> schemathesis.BaseSchema:
    """The document with no scenario in it that asks for a 500 or to wait."""
    operations = [each for item in schema.raw_schema["paths"].values() for each in item.values()]
    asked = [each["schema"] for operation in operations for each in operation.get("parameters", ())
             if each["name"] == "Sandbox-Scenario"]  # fmt: skip
    if script := schema.raw_schema["components"]["schemas"].get("Script"):
        asked.append(script["properties"]["answers"]["items"])
    for each in asked:
        each["enum"] = [name for name in each["enum"] if name not in FAULTS]
    return schema


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_sandbox_keeps_to_what_its_document_says(
    serving: "Serving", document: str, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
):
    examples = pytestconfig.getoption("--examples")
    if examples is None:
        pytest.skip("asked for with --examples N: thousands of requests take minutes")
    began = time.monotonic()
    with serving("--port", "0", "--json") as server:

        def load(config: schemathesis.Config) -> schemathesis.BaseSchema:
            config.projects.default.base_url = server.address["base_url"]
            return schemathesis.openapi.from_url(server.address["base_url"] + document, config=config)

        schema = without_faults(load(config_of(load, server.address["secret_key"], examples)))
        cases, checks, told = tried(schema)
    figures = ", ".join(f"{phase} {count}" for phase, count in sorted(cases.items()))
    with capsys.disabled():
        print(  # noqa: T201  the figures of the proof
            f"\n{document}: {cases.total()} cases ({figures}), {checks.total()} checks of {len(checks)} kinds, "
            f"{time.monotonic() - began:.1f} s; not asked for: the scenarios {', '.join(sorted(FAULTS))}"
        )
    assert not told, "\n\n".join(told)
    assert cases["fuzzing"] > 0
    assert cases["coverage"] > 0
    assert {"ignored_auth", "negative_data_rejection", "response_schema_conformance"} <= checks.keys()


def tried(schema: schemathesis.BaseSchema) -> tuple[Counter[str], Counter[str], list[str]]:
    """Cases by phase, checks by name, and what is wrong, each once with the curl line that shows it."""
    cases: Counter[str] = Counter()
    checks: Counter[str] = Counter()
    told: dict[str, str] = {}
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError):
            told[str(event.value)] = f"{event.label}: {event.value!r}"
        elif isinstance(event, events.FatalError):
            told[str(event.exception)] = f"the engine stopped: {event.exception!r}"
        elif isinstance(event, events.ScenarioFinished):
            cases[event.phase.value] += len(event.recorder.interactions)
            for check in [each for found in event.recorder.checks.values() for each in found]:
                checks[check.name] += 1
                info = check.failure_info
                # A length that is no number ends the head before any operation is known: the refusal has no provenance.
                if info is not None and not (check.name == UNFRAMED and "Content-Length: " in info.code_sample):
                    what = f"{event.recorder.label}: {check.name}: {info.failure.title}"
                    told[what] = f"{what}\n{info.failure.message}\n{info.code_sample}"
    return cases, checks, list(told.values())
