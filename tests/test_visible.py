"""Controls in texts of others: each door shows them as symbols, and none does anything on the way."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import invoke
from workbench import Workbench
from workbench.errors import NotFound, WorkbenchError
from workbench.merchant.receiver import Event, EventData, ReceivedEvents
from workbench.notebook_runs import CellFailure
from workbench.text.render import pairs, preformatted, table
from workbench.text.snippets import snippet

NUMBER = "+260961234567"
ATTACK = "Order \x1b]0;owned\x07 \x9b2J \u202edlog\u2069 \x00\x7f"
CONTROLS = [
    *map(chr, [*range(0x20), *range(0x7F, 0xA0)]), "\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F)),
    *map(chr, range(0x2066, 0x206A)), "\u2028", "\u2029", "\ufeff", "\u200b",
]  # fmt: skip
RAW = re.compile(f"[{re.escape(''.join(CONTROLS))}]")
HOSTILE = st.lists(st.sampled_from([*CONTROLS, "a", "ñ", " ", "7", "<", "•"]), min_size=1, max_size=30).map("".join)
EVERY = "".join(f"{each}x" for each in CONTROLS)


def raw_in(*texts: str, allowed: str = "\n\t") -> list[str]:
    """The controls in these texts, beside those that are allowed."""
    return [each for text in texts for each in RAW.findall(text) if each not in allowed]


def told(*things: Any) -> list[str]:  # noqa: ANN401  whatever shows itself
    """Things as text, and all that a notebook keeps of them."""
    bundles = [(each, each._repr_mimebundle_()) for each in things]
    data = [(each, made[0] if isinstance(made, tuple) else made) for each, made in bundles]
    return [text for each, made in data for text in (repr(each), str(each), *made.values()) if isinstance(text, str)]


@pytest.fixture
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as made:
        yield made


class TestThroughTheSandbox:
    """A merchant's description, as the customer, the trace and the console's record show it."""

    # In pieces that no view cuts short.
    @pytest.mark.parametrize(
        "text", [ATTACK, EVERY[:60], EVERY[60:120], EVERY[120:]], ids=["attack", "C0", "C1", "bidi"]
    )
    def test_nothing_of_it_reaches_a_terminal_a_page_or_a_notebook(self, bench: Workbench, text: str):
        pay = bench.client
        intent = pay.payment_intents.create(amount=Decimal("1.00"), description=text)
        pay.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
        bench.phone(NUMBER).enter_pin("0000")
        pay.charges.create(amount=500, channel="mtn", phone=NUMBER, reference=text, idempotency_key="k")
        pay.webhook_endpoints.create(url="http://receiver.localhost/webhooks")
        bench.phone(NUMBER).enter_pin("1234")
        phone, trace, console = bench.phone(NUMBER), bench.trace, bench.console()
        handset = [phone, phone.messages, trace, trace.sequence, *trace.exchanges, bench.ledger.t_accounts, console]
        assert raw_in(*told(*handset), repr(bench.receiver.events), trace.sequence.svg) == []
        assert re.search("[\u2400-\u2421]|\u2039U\\+", repr(trace) + repr(trace.sequence))
        assert "\ufffd" not in trace.sequence.svg
        assert ET.fromstring(trace.sequence.svg) is not None  # noqa: S314  our own text

    def test_what_is_exact_stays_exact(self, bench: Workbench):
        intent = bench.client.payment_intents.create(amount=Decimal("1.00"), description=ATTACK)
        assert intent.description == ATTACK
        assert bench.tables.payments["description"].tolist() == [ATTACK]
        requests = [each.request for each in bench.trace.exchanges]
        sent = next(each for each in requests if each.startswith("POST /v1/payment_intents"))
        assert json.loads(sent.partition("\n\n")[2])["description"] == ATTACK


def test_every_piece_of_what_is_told_is_drawn_without():
    text = EVERY
    events = ReceivedEvents([Event(text, text, text, EventData({"id": text}, {}))])
    assert len(repr(events).splitlines()) == 2
    errors = (NotFound(text, hint=text), WorkbenchError(text), CellFailure(text, 1, text, text, text))
    assert raw_in(repr(events), *map(str, errors)) == []
    for each in (table(text, (text,), [(text,)]), pairs(text, {text: text})):
        assert raw_in(each.html(), allowed="") == []
        assert str(each).count("\n") == 3


def test_lines_and_tabs_stay_where_there_are_several_and_what_people_write_is_left_as_it_is():
    assert "a\n\tb" in preformatted("a\r\n\tb", label="x")
    assert "a␊␉b" in str(table("", ("x",), [("a\n\tb",)]))
    for text in ("Café ñ “ok”", "مرحبا", "👩‍👩‍👧", "नमस्‍ते", "• ✓ ␛"):
        assert text in str(table("", ("x",), [(text,)]))


def test_a_refusal_of_the_command_line_quotes_no_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    name = ATTACK.replace("\x00", "").replace(" ", "")
    for arguments in (
        ("gaps", name), (f"--{name}",), (name,), ("serve", "--store", f"{name}/x/store.db"), ("serve", "--gaps", name),
        ("run", f"{name}.ipynb"), ("reconcile", f"{name}.parquet", f"{name}.csv"), ("openapi", "--out", f"{name}/x"),
    ):  # fmt: skip
        output = invoke(*arguments).output
        assert "owned" in output
        assert raw_in(output) == []


@given(text=HOSTILE)
@settings(deadline=None)
def test_in_a_snippet_a_control_is_written_as_its_language_writes_it(text: str):
    made = snippet("POST", "/v1/payment_intents", {"amount": 1, "description": text, text: [text]})
    assert raw_in(*made, allowed="\n") == []
    no_json = snippet("POST", f"/x/{text}", "{ " + text, query={"a": text}, headers={"X-Name": "a" + text})
    assert raw_in(*no_json) == []
