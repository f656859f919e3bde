"""The merchant dashboard, pressed as a browser presses it: what it does, says and shows, through both doors."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from workbench import Workbench
from workbench.domain.moments import LUSAKA
from workbench.domain.webhooks import DEAD_LETTER
from workbench.lab.board import Board
from workbench.lab.dashboard import Dashboard
from workbench.lab.dashboard.settings_tab import ClockSection
from workbench.lab.sections import SIZE

DEAF = "http://127.0.0.1:9/hooks"
"""Nothing listens there."""
SECRET = re.compile(r"(sk_test_|pk_test_|whsec_)[0-9A-Za-z+/=]{4,}")
IDS = ("clock", "payments", "keys", "endpoints", "events", "deliveries", "operators")


class Browser:
    """What a browser would hold of a board: its view, and the secrets that it was sent."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.widget: Any = board.widget
        self.sent: list[dict[str, Any]] = []
        self.widget.send = lambda message: self.sent.append(message) if "reveal" in message else None
        self._number = 0

    def press(self, part: str, do: str, on: str = "", **values: str) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "part": part, "do": do, "on": on, "values": values}
        self.widget._handle_custom_msg(message, [])  # noqa: SLF001  what arrives from a browser
        assert self.widget.answered == self._number
        return self.said

    @property
    def view(self) -> dict[str, Any]:
        return json.loads(json.dumps(self.widget.view))

    @property
    def said(self) -> dict[str, Any]:
        return self.view["said"]

    def show(self, part: str) -> dict[str, Any]:
        self.press("menu", "show", part)
        return self.section(part)

    def section(self, part: str) -> dict[str, Any]:
        return next(each for each in self.view["sections"] if each["id"] == part)

    def rows(self, part: str) -> list[dict[str, Any]]:
        return next(each for each in self.section(part)["items"] if each["kind"] == "grid")["rows"]

    def cells(self, part: str, place: int) -> list[str]:
        return [row["cells"][place] for row in self.rows(part)]

    def row(self, part: str, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        return next(row for row in self.rows(part) if holds(row))

    @property
    def code(self) -> str:
        return " ".join(each["text"] for item in self.view["code"] for each in item["items"])


@pytest.fixture
def bench(shared_bench: Workbench) -> Workbench:
    return shared_bench


@pytest.fixture
def page(bench: Workbench) -> Browser:
    """Of a dashboard of its own: the served sandbox, and its bench, are shared."""
    return Browser(Dashboard(bench))


def pay(bench: Workbench, phone: str = "+260961234567", amount: str = "150.00") -> str:
    made = bench.client.payment_intents.create(amount=Decimal(amount))
    bench.client.payment_intents.confirm(made.id, phone=phone, provider="mtn")
    bench.phone(phone).enter_pin("1234")
    return made.id


def test_only_what_is_chosen_is_shown_and_looking_at_it_leaves_no_trace(bench: Workbench, page: Browser):
    def calls() -> int:
        return sum(row["kind"] == "call" for row in bench.trace)

    pay(bench)
    before = calls()
    assert [each["id"] for each in page.view["sections"]] == ["clock", "menu", "payments"]
    for part in IDS[1:]:
        page.show(part)
        assert [each["id"] for each in page.view["sections"]] == ["clock", "menu", part]
    page.press("menu", "show", "elsewhere")
    assert page.section("operators")
    page.show("events")
    page.press("events", "unfold", page.rows("events")[0]["id"])
    page.press("events", "search", "filter", search="567")
    assert calls() == before


def test_a_key_is_made_rolled_and_revoked(bench: Workbench, page: Browser):
    page.show("keys")
    page.press("keys", "create", kind="secret")
    value = page.sent[-1]["reveal"]["secret"]
    made = page.row("keys", lambda row: row["cells"][0].endswith(value[-4:]))
    assert [(each["do"], bool(each["confirm"])) for each in made["actions"]] == [("roll", True), ("revoke", True)]
    page.press("keys", "roll", made["id"])
    rolled = page.sent[-1]["reveal"]["secret"]
    assert bench.client_with(rolled).api_keys.list().data
    assert page.row("keys", lambda row: row["id"] == made["id"])["cells"][3] == "rolled"
    newest = page.row("keys", lambda row: row["cells"][0].endswith(rolled[-4:]))
    page.press("keys", "revoke", newest["id"])
    assert "ended" in page.said["text"]
    assert "pay.api_keys.revoke(" in page.code
    assert "curl -X DELETE" in page.code
    assert page.press("keys", "revoke", newest["id"])["tone"] == "bad"


@pytest.mark.parametrize("kind", ["secret", "publishable"])
def test_the_key_of_the_bench_is_taken_over_when_it_is_rolled(kind: str):
    with Workbench(seed=7) as bench:
        page, looking = Browser(bench.dashboard()), bench.looking()
        page.show("keys")
        own = page.row("keys", lambda row: row["cells"][1] == kind)
        assert "this bench" in own["cells"][3]
        assert "roll it instead" in own["actions"][1]["off"]
        before = str(bench.secret_key), str(bench.publishable_key)
        assert page.press("keys", "revoke", own["id"])["tone"] == "bad"
        assert "This bench has gone over to it" in page.press("keys", "roll", own["id"])["text"]
        assert "bench.use_key(pay.api_keys.roll(" in page.code
        after = str(bench.secret_key), str(bench.publishable_key)
        assert set(after) - set(before) == {page.sent[-1]["reveal"]["secret"]}
        pay(bench)
        assert looking.events.list().data
        assert "this bench" in page.rows("keys")[0]["cells"][3]


def test_an_endpoint_is_added_paused_changed_and_deleted(bench: Workbench, page: Browser):
    page.show("endpoints")
    page.press("endpoints", "add", "new", url=DEAF, events="charge.*, refund.failed")
    secret = page.sent[-1]["reveal"]["secret"]
    assert secret.startswith("whsec_")
    row = page.rows("endpoints")[0]
    assert row["cells"] == [DEAF, "charge.*, refund.failed", "enabled", "whsec_••••"]
    page.press("endpoints", "pause", row["id"])
    assert page.cells("endpoints", 2)[0] == "paused"
    assert bench.client.webhook_endpoints.retrieve(row["id"]).status == "disabled"
    assert "status=" in page.code
    page.press("endpoints", "enable", row["id"])
    page.press("endpoints", "save", row["id"], url=f"{DEAF}/2", events="*")
    assert page.rows("endpoints")[0]["cells"][:3] == [f"{DEAF}/2", "*", "enabled"]
    for faults, status in (("yes", "enabled, duplicate"), ("", "enabled")):
        page.press("endpoints", "misbehave", row["id"], duplicate=faults, out_of_order="")
        assert page.cells("endpoints", 2)[0] == status
    page.press("endpoints", "roll", row["id"])
    assert page.sent[-1]["reveal"]["secret"] != secret
    assert page.rows("endpoints")[0]["cells"][3] == "two, for a while"
    page.press("endpoints", "delete", row["id"])
    assert row["id"] not in [each["id"] for each in page.rows("endpoints")]


REFUSED: list[tuple[str, str, str, dict[str, str]]] = [
    ("endpoints", "add", "new", {"url": "nowhere", "events": "*"}),
    ("endpoints", "add", "new", {"url": DEAF, "events": "charge.sold"}),
    ("endpoints", "add", "new", {"url": DEAF, "events": " , "}),
    ("endpoints", "roll", "we_none", {}),
    ("keys", "roll", "key_none", {}),
    ("keys", "create", "new", {"kind": "golden"}),
    ("events", "replay", "evt_none", {}),
    ("events", "search", "filter", {"since": "yesterday"}),
    ("events", "search", "filter", {"type": "charge.sold"}),
    ("deliveries", "replay", "del_none", {}),
    ("deliveries", "show", "filter", {"status": "lost"}),
    *(("clock", "move", "span", {"count": count, "unit": unit})
      for count, unit in (("-1", "days"), ("many", "days"), ("NaN", "days"), ("1", "years"), ("99999", "days"))),
    *(("operators", "start", "outage", {"provider": provider, "minutes": minutes})
      for provider, minutes in (("mtn", "0"), ("mtn", "ten"), ("zed", "10"), ("mtn", "9999999"))),
    ("nothing", "at", "all", {}),
]  # fmt: skip


def test_what_cannot_be_done_is_said(page: Browser):
    for part, do, on, values in REFUSED:
        said = page.press(part, do, on, **values)
        assert (said["tone"], bool(said["text"])) == ("bad", True), (part, values)


def test_events_are_filtered_and_searched(bench: Workbench, page: Browser):
    first = pay(bench, "+260961234567")
    bench.clock.advance(hours=2)
    second = pay(bench, "+260964738451")  # digits that stand in no moment of this world
    page.show("events")
    assert "found" in page.press("events", "search", "filter", search=first)["text"]
    assert set(page.cells("events", 2)) == {f"{first[:9]}…"}
    page.press("events", "follow", "filter", search="4738451")
    assert set(page.cells("events", 2)) == {f"{second[:9]}…"}
    page.press("events", "search", "filter", search="4738451", type="charge.*")
    assert page.cells("events", 1) == ["charge.succeeded"]
    assert 'search="4738451"' in page.code
    lusaka = bench.clock.now.astimezone(LUSAKA)
    page.press("events", "search", "filter", since=lusaka.strftime("%Y-%m-%d %H:%M"))
    shown = " ".join(page.cells("events", 2))
    assert (first[:9] in shown, second[:9] in shown) == (False, True)
    # A moment that the service does not take is said beside its field; the rest of the filter holds.
    for since in ("2026-13", "9999-12-31", "0001-01-01", "2101-01-01"):
        said = page.press("events", "search", "filter", since=since, search=second)
        assert (said["tone"], said["text"][:18]) == ("bad", "A moment in Lusaka")
        assert said["text"] == page.section("events")["items"][0]["fields"][2]["error"]
        assert page.rows("events")
    page.press("events", "clear")
    assert "All events" in page.said["text"]
    # What is looked for can be changed after it was refused.
    for values in ({"type": "charge.sold"}, {"search": "\ud800"}):
        page.press("events", "search", "filter", **values)
        assert page.section("events")["items"][0]["id"] == "filter"
        page.press("events", "clear")
        assert page.rows("events")


def test_what_breaks_is_said_and_the_button_answered(page: Browser, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ClockSection, "_on_advance", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        page.board._act({"id": 7, "part": "clock", "do": "advance", "on": "60"})  # noqa: SLF001  as its widget calls it
    assert page.widget.answered == 7
    assert "the kernel's log says what" in page.said["text"]


def test_an_event_shows_what_was_sent_and_how_it_arrived(bench: Workbench, page: Browser):
    assert bench.receiver.secrets
    intent = pay(bench)
    bench.clock.advance(1)  # served, it is sent a moment later
    page.show("events")
    page.press("events", "follow", "filter", search=intent)
    row = page.rows("events")[0]
    assert "beneath" not in row
    page.press("events", "unfold", row["id"])
    _, payload, sent, again = page.rows("events")[0]["beneath"]
    assert json.loads(payload["text"])["id"] == row["id"]
    assert "961234567" not in payload["text"]
    ours = next(each for each in sent["rows"] if "delivered" in each["cells"][2])
    assert ours["more"][0]["rows"][0]["cells"][2] == "200"
    for name, on in (("replay", again["actions"][0]["on"]), ("replay_one", ours["id"])):
        assert "Sent again" in page.press("events", name, on)["text"]
    page.press("events", "unfold", row["id"])
    assert "beneath" not in page.rows("events")[0]


def test_dead_letters_are_told_of_and_sent_again(bench: Workbench, page: Browser):
    assert bench.receiver.secrets
    endpoint = bench.client.webhook_endpoints.create(url=DEAF, enabled_events=["charge.succeeded"]).id
    for number in range(3):
        pay(bench, f"+26096123456{number}")
    bench.clock.advance(days=4)
    page.show("deliveries")
    page.press("deliveries", "follow", "filter", status=DEAD_LETTER)
    mine = [row for row in page.rows("deliveries") if row["cells"][1].endswith(DEAF.removeprefix("http://"))]
    assert [row["cells"][2] for row in mine] == ["✗ dead letter, 10 attempts"] * 3
    page.press("deliveries", "unfold", mine[0]["id"])
    (opened,) = [row for row in page.rows("deliveries") if "beneath" in row]
    grid, last = opened["beneath"]
    assert [row["cells"][0] for row in grid["rows"]] == [str(number) for number in range(1, 11)]
    assert "refused" in grid["rows"][0]["cells"][4]
    assert "dead letter" in last["text"]
    assert page.press("deliveries", "replay", mine[0]["id"])["tone"] == "warn"
    page.press("deliveries", "show", "filter", status="pending")
    assert any("next in" in row["cells"][2] for row in page.rows("deliveries"))
    bench.client.webhook_endpoints.update(endpoint, url=bench.receiver_url)
    page.press("deliveries", "replay_all")
    assert re.fullmatch(r"\d+ dead letters sent again\.", page.said["text"])  # others' too, where it is shared
    assert "pay.deliveries.replay_dead_letters()" in page.code
    assert "/v1/dead_letters/replay" in page.code
    bench.clock.advance(60)
    assert not bench.client.deliveries.list(status=DEAD_LETTER, endpoint=endpoint).data
    bench.client.webhook_endpoints.delete(endpoint)


def test_the_clock_is_moved(bench: Workbench, page: Browser):
    before = bench.clock.now_ms
    for seconds in (60, 3600, 86_400):
        page.press("clock", "advance", str(seconds))
    page.press("clock", "move", "span", count="2.5", unit="hours")
    moved_s = (bench.clock.now_ms - before) / 1000
    assert 0 <= moved_s - (60 + 3600 + 86_400 + 2.5 * 3600) < 60
    assert "bench.clock.advance(" in page.code
    shown = dict(page.section("clock")["items"][0]["items"][0]["pairs"])
    assert {"Lusaka", "UTC"} <= set(shown)
    assert int(shown["Lusaka"][11:13]) == (int(shown["UTC"][11:13]) + 2) % 24
    assert ("by itself" in shown["It goes"]) == bench.is_served
    page.press("clock", "look")


def test_an_outage_begins_and_ends(bench: Workbench, page: Browser):
    def airtel() -> str:
        return str(page.row("operators", lambda row: row["id"] == "airtel")["cells"][1])

    page.show("operators")
    page.press("operators", "start", "outage", provider="airtel", minutes="5")
    assert airtel() == "✗ down"
    assert "bench.operator.outage(" in page.code
    refused = bench.client.payment_intents.create(amount=1)
    bench.client.payment_intents.confirm(refused.id, phone="+260971234567", provider="airtel")
    bench.clock.advance(5)
    page.press("operators", "end", "airtel")
    assert airtel() == "✓ up"
    page.show("payments")
    assert any("✗ failed: operator_unavailable" in row["cells"][2] for row in page.rows("payments"))


def test_no_secret_is_ever_in_what_is_saved(bench: Workbench, page: Browser):
    pay(bench)
    page.press("keys", "create", kind="secret")
    page.press("keys", "create", kind="publishable")
    page.press("endpoints", "add", "new", url=DEAF, events="*")
    made = bench.client.webhook_endpoints.list().data[0].id
    page.press("endpoints", "roll", made)
    states = []
    for part in IDS[1:]:
        page.show(part)
        states.append(json.dumps(page.widget.get_state(), default=str))
    page.show("events")
    page.press("events", "unfold", page.rows("events")[0]["id"])
    states += [json.dumps(page.widget.get_state(), default=str), repr(page.widget)]
    shown = bench.dashboard()._repr_mimebundle_()
    titles = ("Test clock", "Payments", "API keys", "webhook endpoints", "events", "deliveries", "operators")
    assert [title for title in titles if title not in str(shown["text/plain"])] == []
    assert "live in JupyterLab" not in str(shown["text/plain"])
    assert "150.00 ZMW" in str(shown["text/html"])
    states.append(json.dumps(shown))
    revealed = [each["reveal"]["secret"] for each in page.sent]
    assert len(revealed) == 4
    for state in states:
        assert not SECRET.search(re.sub(r"_esm.*?(?=\"view)", "", state))
        for secret in (*revealed, str(bench.secret_key), str(bench.publishable_key)):
            assert secret not in state
    bench.client.webhook_endpoints.delete(made)


def test_an_endpoint_that_was_paused_is_told_from_the_events_page_by_page_and_a_new_secret_is_handed_over():
    with Workbench(seed=7) as bench:
        page = Browser(bench.dashboard())
        (own,) = page.show("endpoints")["items"][0]["rows"]
        for _ in range(12):
            pay(bench)
        assert "replayed from the events" in page.press("endpoints", "pause", own["id"])["text"]
        pay(bench)
        assert page.press("deliveries", "replay_all")["text"].startswith("No dead letter")
        page.press("endpoints", "enable", own["id"])
        page.show("events")
        before = len(bench.receiver.arrivals)
        assert page.press("events", "replay", page.rows("events")[0]["id"])["text"] == "Sent again to 1 endpoint."
        assert [each.verdict for each in list(bench.receiver.arrivals)[before:]] == ["accepted"]

        def turned(where: str) -> list[str]:
            page.press("events", "turn", where)
            return [row["id"] for row in page.rows("events")]

        every = [each.id for each in bench.client.events.each()]
        newest, older, oldest = (every[place : place + SIZE] for place in (0, SIZE, 2 * SIZE))
        ways = ("older", "older", "older", "newer", "newest", "older")
        assert [turned(where) for where in ways] == [older, oldest, oldest, older, newest, older]
        page.press("events", "search", "filter", search="no such thing")
        assert page.rows("events") == []
        page.press("events", "clear")
        assert turned("older") == older
        page.show("endpoints")
        page.press("endpoints", "roll", own["id"])
        assert "has it already" in page.said["text"]
        assert "bench.receiver.secrets.append(" in page.code
        bench.clock.advance(days=2)  # the overlap is over: only the new secret signs
        pay(bench)
        assert [each.verdict for each in list(bench.receiver.arrivals)[before + 1 :]] == ["accepted"] * 5
        # The place of an older page is gone with a reset.
        bench.reset()
        assert page.show("events")
        assert page.rows("events") == []
