"""The merchant dashboard, pressed as a browser presses it: what it does, says and shows, through both doors."""

import csv
import io
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from workbench.lab.board import Board
from workbench.lab.dashboard import Dashboard, found
from workbench.lab.dashboard.settings_tab import ClockSection
from workbench.lab.sections import SIZE

from workbench import Workbench
from workbench.control import SandboxControl
from workbench.domain.moments import LUSAKA
from workbench.domain.webhooks import DEAD_LETTER
from workbench.errors import ApiError, NotFound

DEAF = "http://127.0.0.1:9/hooks"
"""Nothing listens there."""
SECRET = re.compile(r"(sk_test_|pk_test_|whsec_)[0-9A-Za-z+/=]{4,}")
IDS = (
    "clock", "payments", "suspense", "requests", "events", "deliveries", "endpoints", "keys", "operators",
)  # fmt: skip


class Browser:
    """What a browser would hold of a board: its view, and the secrets that it was sent."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.widget: Any = board.widget
        self.sent: list[dict[str, Any]] = []
        self.widget.send = lambda message: self.sent.append(message) if "view" not in message else None
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

    def grid(self, part: str) -> dict[str, Any]:
        items = self.section(part)["items"]
        listed = [each for split in items if split["kind"] == "split" for each in split["items"]]
        return next(each for each in [*items, *listed] if each["kind"] == "grid")

    def rows(self, part: str) -> list[dict[str, Any]]:
        return self.grid(part)["rows"]

    def drawer(self, part: str) -> Any:  # noqa: ANN401  JSON is of any type
        return next(each for each in self.section(part)["items"] if each["kind"] == "split").get("drawer")

    def within(self, part: str, kind: str) -> list[dict[str, Any]]:
        """The pieces of one kind in the drawer."""
        return [each for each in self.drawer(part)["items"] if each["kind"] == kind]

    def total(self, part: str) -> int:
        """How many rows there are in all, as the caption says."""
        return int(re.match(r"(?:[\d\N{EN DASH}]+ of )?([\d,]+) ", self.grid(part)["caption"])[1].replace(",", ""))  # type: ignore[index]  a caption says how many

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
    assert page.row("keys", lambda row: row["id"] == made["id"])["cells"][3] == "↻ rolled"
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
        assert "this bench" in own["cells"][4]
        assert "roll it instead" in own["actions"][1]["off"]
        before = str(bench.secret_key), str(bench.publishable_key)
        assert page.press("keys", "revoke", own["id"])["tone"] == "bad"
        assert "This bench has gone over to it" in page.press("keys", "roll", own["id"])["text"]
        assert "bench.use_key(pay.api_keys.roll(" in page.code
        after = str(bench.secret_key), str(bench.publishable_key)
        assert set(after) - set(before) == {page.sent[-1]["reveal"]["secret"]}
        pay(bench)
        assert looking.events.list().data
        assert "this bench" in page.rows("keys")[0]["cells"][4]


def test_an_endpoint_is_added_paused_changed_and_deleted(bench: Workbench, page: Browser):
    page.show("endpoints")
    page.press("endpoints", "add", "new", url=DEAF, events="charge.*, refund.failed")
    secret = page.sent[-1]["reveal"]["secret"]
    assert secret.startswith("whsec_")
    row = page.rows("endpoints")[0]
    assert row["cells"] == [DEAF, "charge.*, refund.failed", "✓ enabled", "whsec_••••"]
    page.press("endpoints", "pause", row["id"])
    assert page.cells("endpoints", 2)[0] == "⏸ paused"
    assert bench.client.webhook_endpoints.retrieve(row["id"]).status == "disabled"
    assert "status=" in page.code
    page.press("endpoints", "enable", row["id"])
    page.press("endpoints", "save", row["id"], url=f"{DEAF}/2", events="*")
    assert page.rows("endpoints")[0]["cells"][:3] == [f"{DEAF}/2", "*", "✓ enabled"]
    for faults, status in (("yes", "✓ enabled, duplicate"), ("", "✓ enabled")):
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
    ("events", "replay_event", "evt_none", {}),
    ("events", "search", "filter", {"created_since": "yesterday"}),
    ("events", "search", "filter", {"type": "charge.sold"}),
    ("deliveries", "replay", "del_none", {}),
    ("deliveries", "search", "filter", {"status": "lost"}),
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
    bench.clock.advance(days=1)
    second = pay(bench, "+260964738451")  # digits that stand in no moment of this world
    page.show("events")
    assert "found" in page.press("events", "search", "filter", search=first)["text"]
    assert set(page.cells("events", 2)) == {f"{first[:9]}…"}
    page.press("events", "follow", "filter", search="4738451")
    assert set(page.cells("events", 2)) == {f"{second[:9]}…"}
    page.press("events", "search", "filter", search="4738451", type="charge.*")
    assert page.cells("events", 1) == ["charge.succeeded"]
    lusaka = bench.clock.now.astimezone(LUSAKA)
    page.press("events", "search", "filter", created_since=lusaka.strftime("%Y-%m-%d"))
    shown = " ".join(page.cells("events", 2))
    assert (first[:9] in shown, second[:9] in shown) == (False, True)
    # A day that there is not is said beside its field; the rest of the filter holds.
    for day in ("2026-13", "9999-12-31", "0202-01-05", "2101-01-01"):
        said = page.press("events", "search", "filter", created_since=day, search=second)
        assert (said["tone"], said["text"][:5]) == ("bad", "A day")
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
    assert page.drawer("events") is None
    page.press("events", "unfold", row["id"])
    assert page.drawer("events")["status"] == "✓ delivered"
    _, again, sent, payload = page.drawer("events")["items"]
    assert json.loads(payload["text"])["id"] == row["id"]
    assert "961234567" not in payload["text"]
    ours = next(each for each in sent["rows"] if "delivered" in each["cells"][1])
    assert ours["more"][0]["rows"][0]["cells"][2] == "200"
    for name, on in (("replay_event", again["actions"][0]["on"]), ("replay", ours["id"])):
        assert "Sent again" in page.press("events", name, on)["text"]
    page.press("events", "go", f"events {page.rows('events')[-1]['id']}")  # the first one, which a request caused
    for place, part in ((1, "payments"), (2, "requests")):
        page.show("events")
        leads = page.within("events", "actions")[0]["actions"][place]["on"]
        page.press("events", "go", leads)
        assert f"{part} {page.drawer(part)['id']}" == leads
    page.press("events", "go", f"events {row['id']}")
    page.press("events", "unfold", row["id"])
    assert page.drawer("events") is None


def test_dead_letters_are_told_of_and_sent_again(bench: Workbench, page: Browser):
    assert bench.receiver.secrets
    endpoint = bench.client.webhook_endpoints.create(url=DEAF, enabled_events=["charge.succeeded"]).id
    for number in range(3):
        pay(bench, f"+26096123456{number}")
    bench.clock.advance(days=4)
    page.show("deliveries")
    page.press("deliveries", "follow", "filter", status=DEAD_LETTER)
    mine = [row for row in page.rows("deliveries") if row["cells"][3] == DEAF.removeprefix("http://")]
    assert [row["cells"][2::2] for row in mine] == [["✗ dead letter", "10 attempts"]] * 3
    assert [each["do"] for each in mine[0]["actions"]] == ["replay"]
    page.press("deliveries", "follow", "filter", status="delivered")
    assert page.rows("deliveries")
    assert not any(row.get("actions") for row in page.rows("deliveries"))
    page.press("deliveries", "follow", "filter", status=DEAD_LETTER)
    page.press("deliveries", "unfold", mine[0]["id"])
    *_, grid, last = page.drawer("deliveries")["items"]
    assert [row["cells"][0] for row in grid["rows"]] == [str(number) for number in range(1, 11)]
    assert "refused" in grid["rows"][0]["cells"][4]
    assert "dead letter" in last["text"]
    assert page.press("deliveries", "replay", mine[0]["id"])["tone"] == "warn"
    assert "found" in page.press("deliveries", "search", "filter", status="pending")["text"]
    assert any("next in" in row["cells"][4] for row in page.rows("deliveries"))
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
    assert ("by itself" in shown["Runs"]) == bench.is_served
    page.press("clock", "look")


def test_an_outage_begins_and_ends(bench: Workbench, page: Browser):
    def airtel() -> str:
        return str(page.row("operators", lambda row: row["id"] == "airtel")["cells"][1])

    (form,) = [each for each in page.show("operators")["items"] if each["kind"] == "form"]
    offered = [name for name, _ in form["fields"][0]["options"]]
    assert offered == [each.provider for each in bench.control.operators()] == ["mtn", "airtel", "zamtel"]
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


def test_money_that_came_late_is_settled(bench: Workbench, page: Browser):
    def late() -> list[dict[str, Any]]:
        page.show("suspense")
        return page.grid("suspense").get("rows", [])

    def waits() -> str:
        return str(dict(page.section("menu")["items"][0]["choices"])["suspense"])

    before = len(late())
    assert waits() == "Suspense"
    for order in ("late-1", "late-2"):
        bench.client.charges.create(amount=8_735, channel="mtn", phone="+260960000010", idempotency_key=order)
    bench.clock.advance(400)
    for place, (how, status) in enumerate((("credit", "✓ credited"), ("return", "↩ returned"))):
        row = late()[place]
        assert waits() == f"Suspense ({2 - place})"
        assert row["cells"][1:4] == ["K87.35", "◷ waiting", "+26096••••010"]
        page.press("suspense", "unfold", row["id"])
        pressed = next(each for each in page.within("suspense", "actions")[0]["actions"] if how in each["on"])
        assert pressed["confirm"]
        said = page.press("suspense", "settle", pressed["on"])
        assert f'bench.operator.settle("{row["id"]}", "{how}")' in page.code
        assert said["text"] == f"K87.35 was {status[2:]}."
        assert (late()[place]["cells"][2], page.drawer("suspense")["status"]) == (status, status)
        (leads,) = page.within("suspense", "actions")[0]["actions"]
    assert (len(late()), waits()) == (before + 2, "Suspense")
    page.press("suspense", "go", leads["on"])
    assert page.drawer("payments")["id"] == late()[1]["cells"][0]


def test_payments_are_found_filtered_counted_and_turned():
    with Workbench(seed=7) as bench:
        page = Browser(bench.dashboard())
        made = [
            bench.client.payment_intents.create(amount=Decimal("10.00") + number, description=f"Order {number} of 40%")
            for number in range(40)
        ]
        for number, intent in enumerate(made[:4]):
            phone, provider = (f"+26096123400{number}", "mtn") if number % 2 else (f"+26097123400{number}", "airtel")
            bench.client.payment_intents.confirm(intent.id, phone=phone, provider=provider)
            bench.phone(phone).enter_pin("1234") if number < 2 else bench.phone(phone).cancel()
            bench.clock.advance(days=1)
        alone = bench.client.charges.create(
            amount=5_000, channel="mtn", phone="+260961234008", idempotency_key="o-1", reference="Fern"
        )
        page.press("clock", "look")
        assert page.grid("payments")["caption"] == "1\N{EN DASH}25 of 41 payments"
        assert page.rows("payments")[0]["id"] == alone.id
        first = page.cells("payments", 0)
        page.press("payments", "turn", "older")
        second = page.cells("payments", 0)
        assert [*first, *second] == [alone.id, *(each.id for each in reversed(made))]
        # What comes meanwhile shifts no row, and is counted.
        bench.client.payment_intents.create(amount=1)
        page.press("payments", "turn", "older")  # there is none
        older = "27\N{EN DASH}42 of 42 payments"
        assert (page.grid("payments")["caption"], page.cells("payments", 0)) == (older, second)
        page.press("payments", "turn", "newest")
        assert page.cells("payments", 0)[1] == alone.id
        for values, ids in (
            ({"search": made[5].id}, [made[5].id]),
            ({"search": "order 7 OF"}, [made[7].id]),
            ({"search": "%order"}, []),
            ({"search": "002"}, [made[2].id]),
            ({"search": "fern"}, [alone.id]),
            ({"search": str(alone.id)}, [alone.id]),
            ({"status": "failed"}, [made[3].id, made[2].id]),
            ({"status": "succeeded", "provider": "airtel"}, [made[0].id]),
            ({"min_minor": "K48", "max_minor": "49.00"}, [made[39].id, made[38].id]),
            ({"since": "2026-01-09", "min_minor": "50"}, [alone.id]),
            ({"until": "2026-01-05", "search": "008"}, []),
            ({"until": "2026-01-05", "search": "order 7 of"}, [made[7].id]),
        ):
            page.press("payments", "follow", "filter", **values)
            assert (values, page.cells("payments", 0)) == (values, ids)
            assert page.total("payments") == len(ids)
        page.press("payments", "follow", "filter", search=made[5].id)
        assert page.grid("payments")["caption"] == "1 of 1 payment, as filtered"
        for values in ({"since": "2026-13"}, {"min_minor": "many"}, {"max_minor": "0.001"}, {"min_minor": "NaN"}):
            said = page.press("payments", "search", "filter", **values)
            (field,) = [each for each in page.section("payments")["items"][1]["fields"] if each.get("error")]
            assert (said["tone"], said["text"]) == ("bad", field["error"]), values
            assert page.rows("payments")
        # All of it is there after a look elsewhere; the file holds what is filtered, whatever the page.
        page.press("payments", "follow", "filter", search="order")
        page.press("payments", "turn", "older")
        shown = page.cells("payments", 0)
        page.show("keys")
        assert page.show("payments")["items"][1]["fields"][0]["value"] == "order"
        assert page.cells("payments", 0) == shown
        assert "40 payments in payments.csv" in page.press("payments", "csv")["text"]
        rows = [*csv.DictReader(page.sent[-1]["download"]["text"].splitlines())]
        assert [row["id"] for row in rows] == [each.id for each in reversed(made)]
        assert (rows[-1]["amount"], rows[-1]["status"], rows[-1]["phone"]) == ("10.00", "succeeded", "+26097••••000")
        bench.reset()
        assert (page.show("payments") and page.rows("payments")) == []


def test_days_and_amounts_are_exact_at_their_bounds_and_the_file_goes_over_pages(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(found, "_MOST_AT_ONCE", 7)
    with Workbench(seed=7) as bench:
        page = Browser(bench.dashboard())
        # 08:00 in Lusaka, then the last moment of that day and the first of the next, several at each.
        made: list[list[str]] = []
        for wait_s in (0, 16 * 3600 - 1, 1):
            bench.clock.advance(wait_s)
            made.append([bench.client.payment_intents.create(amount=Decimal("87.35")).id for _ in range(10)])
        odd = [bench.client.payment_intents.create(amount=Decimal(each)).id for each in ("87.34", "87.36")]

        def listed(**values: str) -> list[str]:
            page.press("payments", "follow", "filter", **values)
            page.press("payments", "csv")
            rows = [row["id"] for row in csv.DictReader(page.sent[-1]["download"]["text"].splitlines())]
            assert rows == list(dict.fromkeys(rows)), "none twice"
            assert len(rows) == page.total("payments")
            assert rows[:SIZE] == [each["id"] for each in page.rows("payments")]
            return rows

        first_day, second_day = [*made[0], *made[1]], [*made[2], *odd]
        assert listed(since="2026-01-05", until="2026-01-05") == first_day[::-1]
        assert listed(since="2026-01-06", until="2026-01-06") == second_day[::-1]
        assert listed(since="2026-01-05") == [*first_day, *second_day][::-1]
        page.press("payments", "follow", "filter", since="2026-01-06", until="2026-01-05")
        assert (page.total("payments"), page.grid("payments")["empty"]) == (0, "No payment matches.")
        assert listed(min_minor="87.35", max_minor="87.35") == [*first_day, *made[2]][::-1]
        assert listed(min_minor="87.36") == [odd[1]]
        assert listed(max_minor="87.34") == [odd[0]]


def test_a_payment_of_two_attempts_and_one_without_any_are_told_whole(bench: Workbench, page: Browser):
    bare = bench.client.payment_intents.create(amount=Decimal("2.00"), description="<b>&</b>\n=1+1")
    twice = bench.client.payment_intents.create(amount=Decimal("45.00"))
    for phone in ("+260961234561", "+260961234562"):
        bench.client.payment_intents.confirm(twice.id, phone=phone, provider="mtn")
        handset = bench.phone(phone)
        handset.cancel() if phone.endswith("1") else handset.enter_pin("1234")
    page.press("payments", "follow", "filter", search=twice.id)
    (row,) = page.rows("payments")
    assert (row["cells"][1:3], row["cells"][4]) == (["K45.00", "✓ succeeded"], "+26096••••562 MTN MoMo")
    page.press("payments", "unfold", twice.id)
    said = [(each["cells"][0], each["cells"][1]) for each in page.within("payments", "grid")[0]["rows"]]
    assert sum(what.endswith("/confirm") for what, _ in said) == 2
    assert sum("Canceled" in what for what, _ in said) == 1
    page.press("payments", "tab", "ledger")
    assert [each["caption"][:28] for each in page.within("payments", "grid")] == ["K45.00 received through mtn,"]
    page.press("payments", "follow", "filter", search=bare.id)
    assert page.rows("payments")[0]["cells"][2:5] == ["○ not confirmed", "<b>&</b>␊=1+1", ""]
    page.press("payments", "csv")
    (line,) = csv.DictReader(io.StringIO(page.sent[-1]["download"]["text"], newline=""))
    assert (line["description"], line["phone"], line["charge"]) == ("<b>&</b>\n=1+1", "", "")
    page.press("payments", "unfold", bare.id)
    page.press("payments", "tab", "ledger")
    assert page.within("payments", "note")[0]["text"] == "No money has moved."
    assert page.within("payments", "fold") == [], "there is nothing to refund"


def test_another_merchants_payments_are_not_there(bench: Workbench):
    payment = pay(bench)
    key = {"Authorization": f"Bearer {bench.secret_key}"}
    other = bench.http.post("/sandbox/accounts", json={"name": "OTHER"}, headers=key).json()["secret_key"]
    control = SandboxControl(bench.client_with(other))
    assert (control.payments().total, bench.control.payments(search=payment).total) == (0, 1)
    with pytest.raises(NotFound, match="There is no payment"):
        control.payment(payment)


def test_a_formula_that_somebody_typed_is_none_in_the_file(bench: Workbench, page: Browser):
    became = {}
    for typed in ("=HYPERLINK(0)", " \uff1dHYPERLINK(0)", "%cmd", "|calc", "+1500.00", "-5", "order-81"):
        made = bench.client.payment_intents.create(amount=1, description=typed)
        page.press("payments", "follow", "filter", search=made.id)
        page.press("payments", "csv")
        (row,) = csv.DictReader(page.sent[-1]["download"]["text"].splitlines())
        became[typed] = row["description"]
    assert {typed: text for typed, text in became.items() if text != f"'{typed}"} == {
        "+1500.00": "+1500.00", "-5": "-5", "order-81": "order-81",
    }  # fmt: skip
    page.press("payments", "follow", "filter", search="no such payment")
    assert page.press("payments", "csv")["text"].startswith("0 payments")
    assert page.sent[-1]["download"]["text"].startswith("id,created_lusaka,amount,"), "columns, and no rows"


def test_the_drawer_of_a_payment_holds_all_there_is_of_it(bench: Workbench, page: Browser):
    assert bench.receiver.secrets
    intent, other = pay(bench), pay(bench, "+260961234568")
    bench.clock.advance(1)  # served, what is sent is sent a moment later
    page.press("payments", "unfold", intent)
    assert page.grid("payments")["opened"] == intent
    drawer = page.drawer("payments")
    assert (drawer["id"], drawer["title"], drawer["status"]) == (intent, "K150.00", "✓ succeeded")
    (timeline,) = page.within("payments", "grid")
    said = " ".join(each["cells"][0] for each in timeline["rows"])
    for sign in ("→ POST /v1/payment_intents", "☎ MTN MoMo", "≡ K150.00 received", "✉ charge.succeeded"):
        assert sign in said
    assert all(each["hovers"][2].endswith("UTC") for each in timeline["rows"])
    page.press("payments", "tab", "ledger")
    entries = page.within("payments", "grid")
    assert entries[0]["caption"].startswith("K150.00 received through mtn, 20")
    for entry in entries:
        debits, credits_ = (sum(Decimal(row["cells"][side][1:] or 0) for row in entry["rows"]) for side in (1, 2))
        assert debits == credits_ > 0
    page.press("payments", "tab", "webhooks")
    (sent,) = page.within("payments", "grid")
    ours = [row for row in sent["rows"] if bench.receiver_url.partition("://")[2] in row["cells"][0]]
    assert len(ours) == 5
    assert {row["cells"][1] for row in ours} == {"✓ delivered"}
    assert "Sent again" in page.press("payments", "replay", ours[0]["id"])["text"]
    page.press("payments", "tab", "json")
    (code,) = page.within("payments", "code")
    shown = json.loads(code["text"])
    assert (shown["id"], shown["client_secret"]) == (intent, f"{intent}_secret_••••")
    page.press("payments", "tab", "trace")
    (slot,) = page.within("payments", "slot")
    assert page.view["widgets"][slot["on"]]
    assert f'bench.trace.for_("{intent}")' in page.within("payments", "code")[0]["text"]
    assert other not in json.dumps(drawer)
    page.press("payments", "unfold", intent)
    assert page.drawer("payments") is None


@pytest.mark.parametrize("kind", ["intent", "charge"])
def test_a_refund_goes_back_from_the_drawer(bench: Workbench, page: Browser, kind: str):
    payment = pay(bench)
    if kind == "charge":
        payment = bench.client.charges.create(
            amount=15_000, channel="mtn", phone="+260961234568", idempotency_key=f"refund {payment}"
        ).id
    page.press("payments", "unfold", payment)
    form = page.within("payments", "fold")[0]["items"][0]
    assert (form["fields"][0]["value"], form["actions"][0]["on"]) == ("150.00", payment)
    assert form["actions"][0]["confirm"]
    assert "K10.50 goes back" in page.press("payments", "refund", payment, amount="10.50")["text"]
    assert "pay.refunds.create(" in page.code
    assert ["Refunded", "K10.50, under way"] in page.within("payments", "facts")[0]["pairs"]
    bench.clock.advance(10)
    page.press("clock", "look")
    assert ["Refunded", "K10.50"] in page.within("payments", "facts")[0]["pairs"]
    assert page.drawer("payments")["status"] == "↩ refunded in part"
    assert page.within("payments", "fold")[0]["items"][0]["fields"][0]["value"] == "139.50"
    for amount in ("", "1.005", "many"):
        assert page.press("payments", "refund", payment, amount=amount)["tone"] == "bad"
    # What the service refuses leads to the request that it refused.
    refused = page.press("payments", "refund", payment, amount="139.51")
    assert (refused["tone"], refused["leads"]["do"]) == ("bad", "go")
    page.press("said", "go", refused["leads"]["on"])
    assert page.drawer("requests")["status"].startswith("✗ 400")
    assert (
        "139.51" in page.within("requests", "code")[0]["text"] or "13951" in page.within("requests", "code")[0]["text"]
    )
    page.show("payments")
    page.press("payments", "refund", payment, amount="139.50")
    bench.clock.advance(10)
    page.press("clock", "look")
    assert page.drawer("payments")["status"] == "↩ refunded"
    assert page.within("payments", "fold") == []


def test_requests_are_found_looked_into_and_sent_again(bench: Workbench, page: Browser):
    intent = pay(bench)
    key = f"order {intent[-6:]}"
    body = {"amount": 8_735, "channel": "mtn", "phone": "+260961234567", "idempotency_key": key}
    charge = bench.client.charges.create(**body)
    page.show("requests")

    def found(**values: str) -> list[str]:
        page.press("requests", "follow", "filter", **values)
        assert page.total("requests") >= len(page.rows("requests"))
        return page.cells("requests", 0)

    assert found(search=intent)[::-1] == ["POST /v1/payment_intents", f"POST /v1/payment_intents/{intent[:9]}…/confirm"]
    assert found(search=key) == ["POST /v1/charges"]
    (row,) = page.rows("requests")
    assert (row["cells"][1], row["cells"][3:5]) == ("✓ 200 OK", ["Basic ••••", key])
    before = bench.client.balance.retrieve()
    page.press("requests", "unfold", row["id"])
    assert "+260961234567" not in json.dumps(page.view)
    again = next(each for each in page.within("requests", "actions")[0]["actions"] if each["do"] == "again")
    assert "confirm" not in again
    said = page.press("requests", "again", row["id"])
    assert "It is the first response once more" in said["text"]
    page.press("said", "go", said["leads"]["on"])
    assert page.drawer("requests")["id"] == said["leads"]["on"].split()[1] != row["id"]
    assert page.within("requests", "code")[1]["text"].count(charge.id) == 1
    assert bench.client.balance.retrieve() == before
    # Without a key it is asked first: it would be done twice. Another client's can only be shown.
    found(search=intent, method="POST", status="2")
    made = page.row("requests", lambda each: each["cells"][0] == "POST /v1/payment_intents")
    page.press("requests", "unfold", made["id"])
    assert "second time" in page.within("requests", "actions")[0]["actions"][-1]["confirm"]
    bench.trace_context.latencies.__init__()  # type: ignore[misc]  as if another had sent it
    page.press("requests", "unfold", "")
    page.press("requests", "unfold", made["id"])
    assert [each["do"] for each in page.within("requests", "actions")[0]["actions"]] == ["go"]
    assert "does not hold" in page.within("requests", "note")[0]["text"]
    assert "curl -X POST" in page.within("requests", "fold")[0]["items"][0]["text"]
    assert page.press("requests", "again", made["id"])["tone"] == "warn"
    assert found(search=intent, status="5") == []
    with pytest.raises(ApiError) as refused:
        bench.client.payment_intents.confirm(intent, phone="+260961234567", provider="mtn")
    assert refused.value.request_id is not None
    assert found(search=refused.value.request_id) == [f"POST /v1/payment_intents/{intent[:9]}…/confirm"]
    assert found(search=intent, status="4") == [f"POST /v1/payment_intents/{intent[:9]}…/confirm"]
    assert page.press("requests", "csv")["text"].startswith("1 request in")


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
    titles = (
        "Test clock",
        "Payments",
        "Suspense",
        "requests",
        "API keys",
        "webhook endpoints",
        "events",
        "deliveries",
        "operators",
    )
    assert [title for title in titles if title not in str(shown["text/plain"])] == []
    assert "live in JupyterLab" not in str(shown["text/plain"])
    assert "K150.00" in str(shown["text/html"])
    states.append(json.dumps(shown))
    revealed = [each["reveal"]["secret"] for each in page.sent if "reveal" in each]
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
        assert page.press("events", "replay_event", page.rows("events")[0]["id"])["text"] == "Sent again to 1 endpoint."
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
