"""The register as users see it, the rows that a run relied on, the interface as a page, and what responses name."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import invoke
from tests.doors.choices import BROKE, COMES_LATE, PHONE, Looks
from tests.sandbox import test_openapi_holds as holds
from workbench import Workbench
from workbench.domain.gaps import REGISTER, Gaps
from workbench.errors import GapRefused
from workbench.register import GapRows, letter
from workbench.resources import course, interface_path, notebook_name, read_toml
from workbench.sandbox.exchange import Responder
from workbench.sandbox.messages import Request, Response
from workbench.sandbox.operations import OPERATIONS, Operation, in_force
from workbench.sandbox.store import Transaction

NAMES = [gap.name for gap in REGISTER]
PACKAGE = Path(holds.exchange.__file__).parents[1]
WIDTH = 80


# The columns


def test_every_row_is_asked_and_costs_something():
    assert [gap.name for gap in REGISTER if not (gap.asks.endswith("?") and gap.code and gap.cost in {1, 2, 3})] == []


def test_the_provider_is_asked_about_nothing_of_the_sandbox():
    for gap in REGISTER:
        asked = " ".join((gap.asks, gap.says, *gap.alternatives.values(), gap.shows))
        assert gap.of_sandbox or not re.search(r"bench\.|/sandbox|in process|handset|the sandbox", asked), gap.name


def test_the_modules_of_a_row_are_there_and_one_reads_it_and_its_notebook_mentions_it():
    texts = {slug: each.path.read_text("utf-8") for slug, each in course().items()}
    for gap in REGISTER:
        modules = [(PACKAGE / path).read_text("utf-8") for path in gap.code]
        # What has no second value is read nowhere.
        reads = [re.search(rf'\.{gap.name}\b|\("{gap.name}", "', module) for module in modules]
        assert any(reads) or not gap.alternatives, gap.name
        assert all(re.search(rf"\b{gap.name}\b", each) for each in modules) or not gap.alternatives, gap.name
        assert not gap.notebook or re.search(rf"\b{gap.name}\b", texts[gap.notebook]), gap.name


def test_what_relies_on_a_row_and_what_shows_it_stand_in_its_entry():
    known = (PACKAGE / "sandbox/provenance.py").read_text("utf-8")
    assert {*re.findall(r'"(\w+)"', known)} & {*NAMES} == set()
    words = [thing.partition(" ")[2] for gap in REGISTER for thing in gap.relied if thing.startswith("call ")]
    assert [word for word in words if f'"{word}"' not in known] == []


# The table


def test_the_command_prints_a_table_of_80_columns_and_a_row_in_full():
    table = invoke("gaps").stdout
    assert [line for line in table.splitlines() if len(line) > WIDTH] == []
    assert re.findall(r"^[\d.]+ +(\w+)$", table, re.MULTILINE) == NAMES
    assert all(gap.says.split()[-1] in table for gap in REGISTER), "no text is cut off"
    ends = "  daily: all available money at 00:00 Africa/Lusaka, automatically; until then\n    on request\n2.1  "
    assert ends in table, "a further line of a cell does not look like the next cell"
    assert "0, 48 × 1800 s" in invoke("gaps", "retry_schedule_s").stdout  # noqa: RUF001  as it is written
    card = invoke("gaps", "charge_amount_unit").stdout
    for told in (
        "Is the amount of a charge in ngwee or in kwacha?",
        "(default)",
        "major units",
        "costliest guess",
        "service/__init__.py",
        notebook_name("charges_and_idempotency"),
    ):
        assert told in card


def test_rows_are_looked_up_as_json_and_as_a_file_that_serve_takes():
    assert [row["name"] for row in json.loads(invoke("gaps", "--json").stdout)] == NAMES
    names = ("prompt_timeout_s", "retry_schedule_s")
    assert [row["name"] for row in json.loads(invoke("gaps", *names, "--json").stdout)] == [*names]
    for chosen in ((), names):
        made = invoke("gaps", *chosen, "--toml").stdout
        assert Gaps.chosen(read_toml(made.encode())) == Gaps()
        assert [*read_toml(made.encode())] == [*(chosen or NAMES)]
    assert "prompt_timeout_s = 300  # or: 60, 180, 600" in made
    done = invoke("gaps", "erorr_format")
    assert (done.exit_code, "error_format" in done.stderr) == (2, True)


def test_a_bench_has_them_as_rows_and_html():
    with Workbench(seed=7, gaps={"pin_attempts": 1}) as bench:
        gaps = bench.gaps
        page = gaps._repr_mimebundle_()["text/html"]
        (row,) = (row for row in gaps if row.is_changed)
        assert [text.count("(changed)") for text in (repr(gaps), page)] == [1, 1]
        with pytest.raises(GapRefused, match=r"\[\*bench\.gaps\]"):
            gaps["no_such_row"]
        assert (gaps[0], gaps[:2], [*reversed(gaps)]) == (gaps[NAMES[0]], [*gaps][:2], [*gaps][::-1])
        assert gaps == bench.gaps == json.loads(json.dumps(gaps))
    assert [each["name"] for each in gaps] == NAMES
    assert [row.does, *map(str, row.choices[1:])] == [
        "1: one try", "3: three tries, then wrong_pin fails the attempt (default)",
    ]  # fmt: skip
    assert (row["name"], row["value"], gaps["pin_attempts"]) == ("pin_attempts", 1, row)
    assert page.count("<tr>") == len(NAMES) + 1
    assert '<a href="interface.md#section-2.5">2.5</a>' in page


# What a run relied on


def disabled(it: Looks) -> None:
    """An endpoint that fails beside one that hears of it."""
    it.pay.webhook_endpoints.create(url="http://merchant.localhost/other")
    for _ in range(7):
        it.prompted()
        it.advance(days=1)


ACTS: dict[str, Callable[[Looks], object]] = {
    "event_types": Looks.charge, "event_payload": Looks.charge, "signature_scheme": Looks.charge,
    "signature_tolerance_s": Looks.charge, "retry_schedule_s": lambda it: it.attempts(500, 0),
    "delivery_gone": lambda it: it.attempts(410, 0), "delivery_retry_after": lambda it: it.attempts(429, 0),
    "dead_letter": lambda it: it.attempts(500), "repeats": Looks.charge, "lateness": Looks.charge,
    "delivery_success": lambda it: it.attempts(204, 0),
    "prompt_timeout_s": lambda it: it.unanswered(COMES_LATE, 3_600),
    "late_success": lambda it: it.unanswered(COMES_LATE, 3_600),
    "pin_attempts": lambda it: (it.prompted(), it.bench.phone(PHONE).enter_pin("0000")),
    "failure_triggers": lambda it: it.charge(phone=BROKE), "merchant_fee": Looks.charge, "operator_fee": Looks.charge,
    "fee_on_refund": Looks.fee_after_refunds, "clearing": Looks.cleared, "payouts": Looks.paid_out,
    "ordering": lambda it: (it.bench.delivery_faults("out_of_order"), it.in_which_order()),
    "endpoint_disable_after_s": disabled,
}  # fmt: skip
SLOW = {"delivery_timeout_s"}
"""Seen where a receiver really hangs, over a socket."""


@pytest.mark.parametrize("name", ACTS)
def test_what_happens_in_a_run_is_counted_and_what_does_not_is_not(name: str):
    with Workbench(seed=7) as bench:
        bench.client.payment_intents.create(amount=1)
        bench.client.charges.list()
        always = {row["name"] for row in bench.gaps.used}
        ACTS[name](Looks(bench))
        used = {row["name"]: row["used_by"] for row in bench.gaps.used}
    assert used[name]
    # An intent is made, listed and told of: so far nothing more.
    assert always == {
        "charge_amount_unit", "charge_states", "channel_and_provider", "currency_case", "endpoint_registration",
        "event_payload", "event_types", "extra_endpoints", "intent_fields", "intent_states", "lateness", "operator_ids",
        "ordering", "pagination", "repeats", "signature_scheme", "signature_tolerance_s", "success_status",
    }  # fmt: skip


def test_every_effect_that_is_counted_is_seen():
    assert {gap.name for gap in REGISTER if gap.happens[0]} | {"failure_triggers"} == {*ACTS} | SLOW


def test_a_served_sandbox_tells_what_was_relied_on_and_leaves_no_trace_of_being_asked():
    with Workbench(seed=7) as bench, bench.serve() as served:
        Looks(bench).charge()
        with Workbench.connect(served.base_url, str(served.secret_key)) as other:
            before = len(bench.trace)
            used, page = other.gaps.used, other.gaps._repr_mimebundle_()["text/html"]
            assert [dict(row) for row in used] == [dict(row) for row in bench.gaps.used]
            rows = other.control.get("gaps/used", dict)["data"]
            assert {row["name"]: row["used_by"] for row in rows} == {row["name"]: row["used_by"] for row in used}
            assert other.gaps.questions() == bench.gaps.questions()
            assert f'<a href="{served.base_url}/docs/interface#section-6">6</a>' in page
            assert len(bench.trace) == before
    assert used["charge_wait"]["used_by"] == ["POST /v1/charges"]


def before_the_appendix(letter: str) -> list[str]:
    return letter.partition("## Appendix")[0].split()


def test_the_letter_asks_the_five_that_cost_most_first_and_the_others_in_a_line_each():
    with Workbench(seed=7, gaps={"charge_amount_unit": "major"}) as bench:
        assert "depends on nothing" in GapRows(bench.control.gaps()).questions()
        for _ in "ab":
            Looks(bench).charged(150)
        letter, used = bench.gaps.questions(), bench.gaps.used
    first, _, others = letter.partition("## Appendix: ")
    asked = re.findall(r"^## \d\. (.+)$", first, re.MULTILINE)
    costs = sorted((row["cost"] for row in used), reverse=True)
    assert [next(row["cost"] for row in used if row["asks"] == each) for each in asked] == costs[:5]
    assert sorted(asked + re.findall(r"^- \*\*(.+?)\*\* ", others, re.MULTILINE)) == sorted(row["asks"] for row in used)
    of_unit = first.partition("## 1. ")[2].partition("\n\n## ")[0]
    assert (
        of_unit
        == f"""{used["charge_amount_unit"]["asks"]}

- Your documentation shows: An integer, without its unit.
- We assume: major units: 150 is 150.00 ZMW
- It may also be: minor units: 15000 is 150.00 ZMW
- What depends on it in our code: POST /v1/charges (2), webhook charge.succeeded (2)

Our reference: `charge_amount_unit`"""
    )
    assert len(first.split()) <= 700
    assert not re.search(r"[a-z]{2}_[0-9A-Za-z]{24}", letter)
    assert repr(letter) == letter == letter._repr_markdown_()


@pytest.mark.parametrize("seen", [{}, {gap.name: "a word " * 20 + "Is that right?" for gap in REGISTER}])
def test_a_letter_of_every_row_is_short_and_in_the_providers_words(seen: dict[str, str]):
    rows = [{**row, "used_by": ["POST /sandbox/reset", *["POST /v1/charges (12)"] * 9]} for row in Gaps().as_records()]
    written = letter(rows, seen)
    assert 100 < len(before_the_appendix(written)) <= 700
    assert not re.search(r"(?i)our sandbox|the sandbox|/sandbox|sandbox-|bench\b|console|workbench", written)
    assert [row["name"] for row in rows if row["of_sandbox"] and row["name"] in written] == []
    assert all(row["asks"] in written for row in rows if not row["of_sandbox"])


def test_what_was_seen_is_asked_to_be_confirmed_after_what_nobody_saw():
    dear = [gap.name for gap in REGISTER if gap.cost == 3]
    written = letter(Gaps().as_records(), {dear[0]: "major units. Is that right?"})
    assert re.findall(r"Our reference: `(\w+)`", written) == dear[1:6]
    assert f"major units. Is that right? (`{dear[0]}`)" in written
    few = letter(
        (row for row in Gaps().as_records() if row["name"] in dear[:2]), {dear[0]: "major units. Is that right?"}
    )
    assert "- We saw: major units. Is that right?" in few
    assert "Appendix" not in few


# The interface as a page


def unlinked(description: Any) -> list[str]:  # noqa: ANN401  JSON is of any type
    """Where a description names a section and does not link to it."""
    found: list[str] = []

    def walk(tree: Any, path: str) -> None:  # noqa: ANN401  JSON is of any type
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
            walk(value, f"{path}/{key}")
        if isinstance(tree, dict) and "x-section" in tree:
            link = (tree if "externalDocs" in tree else tree.get("schema", {})).get("externalDocs", {}).get("url", "")
            if link != f"/docs/interface#section-{tree['x-section'].split(',')[0]}":
                found.append(path)

    walk(description, "")
    return found


def test_each_section_and_row_has_its_place_on_the_page_and_each_link_leads_to_one():
    with Workbench(seed=7, gaps={"pin_attempts": 1}) as bench:
        pages = {path: bench.http.get(path).text for path in ("/docs/interface", "/docs/errors", "/")}
        description = bench.http.get("/openapi.json").json()
    page = pages["/docs/interface"]
    there = re.findall(r' id="([^"]+)"', page)
    assert there == list(dict.fromkeys(there))
    assert {each for each in there if not each.startswith("section-")} == {*NAMES, "content"}
    leads = re.findall(r'href="#([^"]+)"', page)
    for text in (pages["/docs/errors"], json.dumps(description)):
        leads += re.findall(r"/docs/interface#([\w.-]+)", text)
    assert {*leads} <= {*there}
    assert {"section-6", "auth_schemes", "section-2.5"} <= {*leads}
    assert unlinked(description) == []
    assert "1: one try" in page
    assert all('href="/docs/interface"' in each for each in pages.values())


def test_the_command_prints_writes_and_opens_it_and_the_shipped_file_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    printed = invoke("docs", "interface").stdout
    assert interface_path().read_text("utf-8") == printed, "workbench docs interface --out notebooks/interface.md"
    assert re.findall(r'id="(\w+)"', printed) == NAMES
    assert sorted(re.findall(r'id="(\w+)"', printed)) == sorted(NAMES)
    assert invoke("docs", "interface", "--out", str(tmp_path / "a.md")).stdout == ""
    assert (tmp_path / "a.md").read_text("utf-8") == printed
    assert invoke("docs", "python", "--out", str(tmp_path / "a.html")).exit_code == 0
    page = (tmp_path / "a.html").read_text("utf-8")
    assert not re.search(r'(?:src|href)="(?!#|data:)', page), "a page that is alone loads nothing"
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    monkeypatch.setattr("tempfile.mkdtemp", lambda **_: str(tmp_path))
    assert invoke("docs", "interface", "--open").exit_code == 0
    assert opened == [str(tmp_path / "interface.html")]
    linked = set(re.findall(r'href="([\w-]+\.html)', (tmp_path / "index.html").read_text("utf-8")))
    assert linked
    assert all((tmp_path / each).is_file() for each in linked)
    for place in ("a.txt", "none/a.md"):
        assert invoke("docs", "--out", str(tmp_path / place)).exit_code == 2
    assert "index, code" in invoke("docs", "nowhere").stderr


# What a response names


class _Undone(Exception):
    """Ends a transaction that was only tried."""


OF_A_CALL = re.compile(rb"(req|ctl|sim)_\w{24}")
NOT_ASSUMED = {
    ("success_status", "createCharge"), ("success_status", "createPlant"),  # shown: an alternative contradicts it
    ("charge_amount_unit", "createPaymentIntent"),  # refused for the sake of the charge that will come
}  # fmt: skip


LATER = {
    "clearing", "payouts", "fee_on_refund", "merchant_fee", "operator_fee", "pin_attempts", "late_success",
    "idempotency_keeps_errors", "idempotency_retention_s", "endpoint_disable_after_s", "signature_tolerance_s",
    *(name for name in NAMES if name.startswith(("delivery_", "retry_"))),
    "intent_states", "charge_states",
    # Chosen as a sandbox is opened, not as it is called.
    "extra_endpoints", "endpoint_registration",
    # Of keys, webhooks and headers alone.
    "event_types", "event_payload", "key_rotation", "signature_scheme", "dead_letter", "replay", "ordering",
    "repeats", "lateness", "rate_limit", "deprecation",
}  # fmt: skip
"""Rows whose alternatives need not show in a call that is tried: in headers, in webhooks, or in what comes later."""


class Tried:
    """Each call of a story tried under every alternative before it is made, and undone each time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.unnamed: set[tuple[str, str, int]] = set()
        self.named: set[str] = set()
        self.seen: set[tuple[str, bool]] = set()
        self._begun, self._respond = Responder._begun, Responder.respond  # noqa: SLF001  every call begins there
        self._gaps: Gaps | None = None
        tried = self

        @contextmanager
        def begun(responder: Responder, request: Request, *, traced: bool) -> Iterator[Transaction]:
            with tried._undone(responder, request, traced=traced) as tx:
                yield tx

        def respond(responder: Responder, request: Request, operation: Operation) -> Response:
            return tried.respond(responder, request, operation)

        patch.setattr(Responder, "_begun", begun)
        patch.setattr(Responder, "respond", respond)

    @contextmanager
    def _undone(self, responder: Responder, request: Request, *, traced: bool) -> Iterator[Transaction]:
        try:
            with self._begun(responder, request, traced=traced) as tx:
                kept, tx.gaps = tx.gaps, self._gaps or tx.gaps
                try:
                    yield tx
                finally:
                    tx.gaps = kept
                if self._gaps is not None:
                    raise _Undone  # noqa: TRY301  leaving the block in this way undoes it
        except _Undone:
            pass

    def _try(self, responder: Responder, request: Request, operation: Operation, gaps: Gaps) -> Response:
        self._gaps = gaps
        chosen = {each.id: each for each in in_force(gaps) if not each.gone}
        try:
            return self._respond(responder, request, chosen.get(operation.id, operation))
        finally:
            self._gaps = None

    def respond(self, responder: Responder, request: Request, operation: Operation) -> Response:
        if operation.source != "sandbox":
            unseen = {**request.headers, "Sandbox-Unseen": "true"}  # a read that is only tried leaves no trace
            self._compare(responder, msgspec.structs.replace(request, headers=unseen), operation)
        return self._respond(responder, request, operation)

    def _compare(self, responder: Responder, request: Request, operation: Operation) -> None:
        by_default = self._try(responder, request, operation, Gaps())
        said = by_default.headers["Sandbox-Provenance"]
        self.seen.add((operation.id, by_default.status < 400))
        named = {*said.partition('gaps="')[2].rstrip('"').split()}
        for gap in REGISTER:
            for value in gap.alternatives:
                other = self._try(responder, request, operation, Gaps.chosen({gap.name: value}))
                if as_seen(other) != as_seen(by_default) and (gap.name, operation.id) not in NOT_ASSUMED:
                    self.named.add(gap.name)
                    if gap.name not in named:
                        self.unnamed.add((gap.name, operation.id, by_default.status))


def as_seen(response: Response) -> tuple[int, str, bytes]:
    return response.status, response.content_type, OF_A_CALL.sub(b"", response.body)


def play_what_rows_settle(story: holds.Story) -> None:
    """Requests that are well only by what the register says, and those that are refused by it."""
    intent, of_charge = holds.body_of("CreatePaymentIntent"), holds.body_of("CreateCharge", phone=PHONE)
    for changes in ({"colour": "green"}, {"currency": "zmw"}, {"amount": 0.5}, {"amount": 30_000}, {"amount": 0},
                    {"amount": 1.234}, {"payment_method_types": ["mobile_money", "card"]},
                    {"currency": "USD"}):  # fmt: skip
        story.post("/v1/payment_intents", {**intent, **changes})
    for changes in ({"colour": "green"}, {"currency": "ZMW"}, {"amount": 50}, {"amount": 3_000_000}, {"amount": 0},
                    {"reference": None}, {"channel": "airtel"}, {"channel": "MTN_MOMO_ZMB"}, {"channel": "x"},
                    {"phone": "0961234567"}, {"phone": "+260981234567"}, {"phone": "+260960000002"},
                    {"phone": "+260960000005"}):  # fmt: skip
        body = {name: value for name, value in {**of_charge, **changes}.items() if value is not None}
        story.post("/v1/charges", body)
    for body in (of_charge, of_charge, {**of_charge, "amount": 1}):
        story.post("/v1/charges", body, **{"Idempotency-Key": "one"})
    story.post("/sandbox/operator/script", {"phone": PHONE, "answers": ["limit_reached"]})
    story.post("/v1/charges", of_charge)
    story.get("/v1/charges?colour=green")
    story.get("/v1/charges?limit=1&starting_after=none")
    made, app_key = story.post("/v1/payment_intents", intent), str(story.bench.publishable_key)
    path, secret = f"/v1/payment_intents/{made['id']}", made["client_secret"]
    story.call("GET", f"{path}?client_secret={secret}", key=app_key)
    nested = holds.method_of(PHONE)
    nested["payment_method"]["colour"] = "green"
    for body in (holds.method_of(PHONE), {**nested, "client_secret": secret}):
        story.post(f"{path}/confirm", body, key=app_key)
    late = f"/v1/payment_intents/{story.post('/v1/payment_intents', intent)['id']}/confirm"
    for _ in range(2):
        story.post(late, holds.method_of("+260960000010"))
        story.post("/sandbox/clock/advance", {"seconds": 400})
    token = story.post("/v1/auth/token", holds.body_of("TokenRequest"))
    story.call("GET", "/v1/balance", key=token["access_token"])
    story.post("/plants", holds.body_of("NewPlant"), key=token["access_token"])
    story.post("/v1/auth/refresh", key=token["access_token"])
    story.call("GET", "/v1/balance", key=token["access_token"])
    story.post("/v1/payment_intents", intent, **{"Api-Version": "0"})
    story.post("/v1/payment_intents", intent, **{"Sandbox-Scenario": "none"})
    bearer = {"Authorization": f"Bearer {story.bench.secret_key!s}", "Idempotency-Key": "bearer"}
    story.bench.http.post("/v1/charges", json=of_charge, headers=bearer)
    story.bench.http.post("/v1/charges", json=of_charge, auth=(str(story.bench.secret_key), ""))


def refuse_all(story: holds.Story) -> None:
    """Each operation called with another key than there is."""
    for row in OPERATIONS:
        story.call(row.method, holds.at(row), holds.example(row), key=holds.LIVE_KEY)


@pytest.mark.thorough
def test_a_response_that_would_be_another_under_an_alternative_names_its_row(monkeypatch: pytest.MonkeyPatch):
    with Workbench(seed=7) as bench:
        tried = Tried(monkeypatch)
        story = holds.Story(bench)
        for play in (holds.play_intents, holds.play_charges, holds.play_webhooks, holds.play_keys):
            play(story)
        refuse_all(story)
        play_what_rows_settle(story)
    assert tried.unnamed == set()
    assert tried.seen == {(row.id, well) for row in OPERATIONS for well in (True, False)}
    assert {gap.name for gap in REGISTER if gap.alternatives} - tried.named <= LATER


OF_A_RUN = re.compile(r'[a-z]{2,}_[0-9A-Za-z]{24}(_secret_\w+)?|whsec_\S+|REF\w+|"operator_reference":"[^"]+"')
"""What is drawn for each object."""


def answers_to(play: Callable[[holds.Story], None], **gaps: Any) -> list[tuple[Operation, int, str, str]]:  # noqa: ANN401  as Workbench takes them
    """What a story is answered under a choice: of each call the status, the body and the provenance."""
    with Workbench(seed=7, gaps=gaps) as bench:
        story = holds.Story(bench)
        with suppress(LookupError, StopIteration):  # what was refused, or is not there, has no id to go on with
            play(story)
    return [
        (row, each.status_code, OF_A_RUN.sub("", each.text), each.headers["Sandbox-Provenance"])
        for row, each in story.seen
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("play", [holds.play_intents, holds.play_charges, holds.play_webhooks])
def test_what_an_alternative_has_changed_before_is_named_where_it_shows(play: Callable[[holds.Story], None]):
    by_default, unnamed = answers_to(play), set()
    for gap in REGISTER:
        for value in gap.alternatives:
            for (row, status, body, said), other in zip(
                by_default, answers_to(play, **{gap.name: value}), strict=False
            ):
                if row.id != other[0].id or (status != other[1] and gap.name in said):
                    break  # from here on it is another story
                if row.source != "sandbox" and (status, body) != other[1:3] and gap.name not in said:
                    unnamed.add((gap.name, row.id))
    # More or less money was moved before.
    of_sums = {
        (name, of)
        for name in ("charge_amount_unit", "failure_triggers", "fee_on_refund", "prompt_timeout_s")
        for of in ("retrieveBalance", "createPayout")
    }
    # What was answered as pending is still so when it is looked at.
    of_later = {
        ("failure_triggers", "cancelPaymentIntent"),
        ("charge_wait", "retrieveCharge"),
        ("charge_wait", "listCharges"),
    }
    assert unnamed - NOT_ASSUMED - of_sums - of_later == set()
