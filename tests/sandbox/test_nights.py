"""Midnight in Lusaka, to the ngwee: clearing, sweeps, payouts and refunds over several days."""

from collections import Counter
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.conftest import Shop
from tests.sandbox.conftest import Sandbox
from workbench import Workbench
from workbench.domain.moments import day_start_ms

DR, CR = "debit", "credit"
DAY_S = 86_400
BEGINS = 16 * 3600
"""From the clock's first moment, 08:00 in Lusaka, to the next midnight, in seconds."""
PAID = [(DR, 1100, 10_000), (DR, 5000, 100), (CR, 2000, 9_750), (CR, 4000, 250), (CR, 1100, 100)]


def moved(kind: str, debit: int, credit: int, amount: int) -> tuple[str, list[tuple[str, int, int]]]:
    return kind, [(DR, debit, amount), (CR, credit, amount)]


def payout(shop: Shop, amount: float, scenario: str | None = None) -> Any:  # noqa: ANN401  an httpx response
    more = {"Sandbox_Scenario": scenario} if scenario else {}
    return shop.post("/v1/payouts", {"amount": amount, "currency": "ZMW"}, **more)


def accounts(shop: Shop) -> Counter[int]:
    """Code → debits less credits over the whole ledger."""
    sums: Counter[int] = Counter()
    for _, lines in shop.entries():
        for side, code, amount in lines:
            sums[code] += amount if side == DR else -amount
    return sums


def charge(sandbox: Sandbox, minor: int) -> None:
    number = f"+2609612{minor:05}"
    sandbox.client.charges.create(amount=minor, channel="mtn", phone=number, idempotency_key=f"order-{minor}")


def pass_midnight(sandbox: Sandbox, by_s: int) -> None:
    """Move the clock to so many seconds after the coming midnight, and run nothing."""
    with sandbox.engine.store.transaction() as tx:
        tx.move_clock(day_start_ms(tx.now_ms, days_on=1) + by_s * 1000)


def balances(sandbox: Sandbox) -> dict[str, Decimal]:
    found = sandbox.client.balance.retrieve()
    return {name: getattr(found, name)[0].amount for name in ("pending", "available", "owed")}


def moves(sandbox: Sandbox) -> dict[str, int]:
    """What a night moved, by what it did."""
    rows = sandbox.http.get("/sandbox/ledger/postings").json()["data"]
    kinds = {"cleared", "swept"}
    return {row["kind"]: row["amount_minor"] for row in rows if row["kind"] in kinds}


def test_three_nights_of_one_payment(shop: Shop):
    shop.charge(10_000)
    shop.advance(BEGINS - Decimal("0.001"))
    assert shop.entries() == [("funds_secured", PAID)]
    shop.advance(Decimal("0.001"))
    assert shop.entries()[1:] == [moved("cleared", 2000, 2010, 9_750), moved("swept", 1200, 1100, 9_900)]
    shop.advance(days=30)
    assert shop.entries()[3:] == [moved("sweep_credited", 1010, 1200, 9_900)]


def test_a_payment_at_midnight_is_the_next_days(shop: Shop):
    """The number acts at midnight too, before the night's job, and is not cleared by it."""
    shop.advance(BEGINS - 5)
    intent = shop.intent()
    shop.confirm(intent, "+260960000001")
    shop.advance(Decimal("4.999"))
    shop.charge(100)
    shop.advance(Decimal("0.001"))
    assert shop.status(f"/v1/payment_intents/{intent}") == "succeeded"
    assert shop.balance() == (9_750, 97, 0)


def test_each_operators_float_is_swept_and_each_merchant_cleared_apart(shop: Shop):
    other = Shop(shop.bench, shop.new_number)
    for each, channel, amount in ((shop, "mtn", 10_000), (other, "airtel", 20_000), (shop, "zamtel", 30_000)):
        each.charge(amount, channel=channel)
    shop.to_midnight()
    assert [each for each in shop.entries() if each[0] == "swept"] == [
        moved("swept", 1200, 1100, amount) for amount in (9_900, 19_800, 29_700)
    ]
    assert (shop.balance(), other.balance()) == ((0, 39_000, 0), (0, 19_500, 0))


class TestLate:
    """A running clock passes midnight before whoever drives comes to the night: a server that was down, say."""

    @pytest.fixture
    def sold(self, sandbox: Sandbox) -> Sandbox:
        """K100.00 was paid the day before, and nobody has driven for so long; the night is due at midnight."""
        charge(sandbox, 10_000)
        sandbox.engine.run_due()
        return sandbox

    def test_it_clears_and_sweeps_what_came_before_its_midnight_alone(self, sold: Sandbox):
        pass_midnight(sold, 3_600)
        charge(sold, 1_000)
        sold.engine.run_due()
        assert balances(sold) == {"pending": Decimal("9.75"), "available": Decimal("97.50"), "owed": 0}
        assert moves(sold) == {"cleared": 9_750, "swept": 9_900}

    def test_what_was_taken_since_midnight_is_neither_cleared_nor_swept(self, sold: Sandbox):
        (paid,) = sold.client.charges.list().data
        pass_midnight(sold, 3_600)
        sold.client.refunds.create(charge=paid.id, amount=4_000)
        taken = {"recipe": "unknown_debit", "account": "operator:mtn:float", "amount_minor": 2_500, "reference": "x"}
        assert sold.http.post("/sandbox/ledger/entries", json=taken).status_code == 200
        sold.engine.run_due()
        assert balances(sold) == {"pending": 0, "available": Decimal("57.50"), "owed": 0}
        assert moves(sold) == {"cleared": 5_750, "swept": 7_400}

    def test_a_payout_asked_for_at_midnight_is_the_next_nights(self, sold: Sandbox):
        sold.advance(BEGINS)
        pass_midnight(sold, 0)
        made = sold.client.payouts.create(amount=Decimal("97.50"))
        sold.engine.run_due()
        assert sold.client.payouts.retrieve(made.id).status == "pending"
        sold.advance(DAY_S)
        assert sold.client.payouts.retrieve(made.id).status == "paid"


class TestPayouts:
    def test_it_is_paid_at_the_coming_midnight(self, shop: Shop):
        shop.charge(10_000)
        assert "midnight" in payout(shop, 1).json()["detail"], "nothing is available before"
        shop.to_midnight()
        body = payout(shop, 97.50).json()
        expected = {"status": "pending", "amount": 97.5, "currency": "ZMW", "object": "payout", "destination": None}
        assert {**body, **expected} == body
        assert shop.balance() == (0, 0, 0)
        shop.to_midnight()
        assert shop.status(f"/v1/payouts/{body['id']}") == "paid"
        assert shop.entries()[-3:] == [
            moved("payout_asked", 2010, 2020, 9_750), moved("sweep_credited", 1010, 1200, 9_900),
            moved("payout_paid", 2020, 1010, 9_750),
        ]  # fmt: skip
        assert shop.events()[-2:] == ["payout.created", "payout.paid"]
        told = shop.read("/v1/events?limit=1")["data"][0]["data"]
        assert (told["object"]["status"], told["previous_attributes"]) == ("paid", {"status": "pending"})

    def test_the_bank_may_refuse_it_or_return_it_a_day_later(self, shop: Shop):
        shop.charge(10_000)
        shop.to_midnight()
        for scenario, days, entry, passed in (
            ("bank_refused", 1, moved("payout_failed", 2020, 2010, 5_000), ["created"]),
            ("bank_returned", 2, moved("payout_returned", 1010, 2010, 5_000), ["created", "paid"]),
        ):
            made = payout(shop, 50, scenario).json()["id"]
            shop.advance(days * DAY_S - Decimal("0.001"))
            status = passed[-1].replace("created", "pending")
            assert (shop.status(f"/v1/payouts/{made}"), shop.balance()) == (status, (0, 4_750, 0))
            shop.advance(Decimal("0.001"))
            found = shop.read(f"/v1/payouts/{made}")
            assert (found["status"], found["failure_code"]) == ("failed", scenario)
            assert shop.entries(made)[-1] == entry
            assert shop.balance() == (0, 9_750, 0)
            events = [f"payout.{each}" for each in (*passed, "failed")]
            assert shop.events()[-len(events) :] == events


LACKS = 5_000 - 396
"""What a refund takes more than the float has."""
FILLS = {
    "the same day the float has it": (0, [], 0),
    "the next day the sweep is called back": (1, [moved("sweep_recalled", 1100, 1200, LACKS)], 0),
    "later the bank fills the float": (2, [moved("float_topped_up", 1100, 1010, LACKS)], 9_900 - LACKS),
}


@pytest.mark.parametrize(("nights", "fills", "in_bank"), FILLS.values(), ids=FILLS)
def test_a_refund_after_the_sweep(shop: Shop, nights: int, fills: list[object], in_bank: int):
    charge = shop.charge(10_000)
    for _ in range(nights):
        shop.to_midnight()
    shop.charge(400)
    shop.post("/v1/refunds", {"charge": charge, "amount": 5_000})
    shop.advance(5)
    assert shop.entries(charge)[2:] == [*fills, moved("refund_sent", 2100, 1100, 5_000)]
    assert accounts(shop)[1010] == in_bank


def test_late_money_is_swept_with_the_rest_and_stays_in_suspense(shop: Shop):
    shop.charge(10_000, "+260960000010")
    shop.advance(360)
    shop.to_midnight()
    assert (shop.balance(), accounts(shop)[2900], accounts(shop)[1200]) == ((0, 0, 0), -10_000, 9_900)


class Days(RuleBasedStateMachine):
    """Payments, refunds, payouts and nights in any order; the model keeps each balance in a plain number."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Workbench(seed=7)
        numbers = iter(range(1_000_001, 2_000_000))
        self.shop = Shop(self.bench, lambda prefix="96": f"+260{prefix}{next(numbers)}")
        self.pending = self.available = self.owed = self.most_owed = 0
        self.left: dict[str, int] = {}
        self.refunds: list[tuple[int, str, int, bool, tuple[int, int, int]]] = []
        self.payouts: list[tuple[int, int, str]] = []
        self.returns: list[tuple[int, int]] = []
        self.day = 0
        self.since_s = 8 * 3600
        self.paid_in = self.refunded = self.fees = self.costs = self.paid_out = 0

    def teardown(self) -> None:
        with closing(self.bench):
            assert self.shop.read("/sandbox/ledger/verify")["holds"]

    @rule(minor=st.integers(1, 200_000))
    def pay(self, minor: int) -> None:
        charge = self.shop.charge(minor)
        fee, cost = max(1, (minor * 250 + 5_000) // 10_000), (minor * 100 + 5_000) // 10_000
        self.pending += minor - fee
        self.left[charge] = minor
        self.paid_in, self.fees, self.costs = self.paid_in + minor, self.fees + fee, self.costs + cost

    @precondition(lambda self: any(self.left.values()))
    @rule(data=st.data(), fails=st.booleans())
    def refund(self, data: st.DataObject, *, fails: bool) -> None:
        charge = data.draw(st.sampled_from(sorted(each for each, left in self.left.items() if left)))
        minor = data.draw(st.integers(1, self.left[charge]))
        more = {"Sandbox_Scenario": "limit_reached"} if fails else {}
        assert self.shop.post("/v1/refunds", {"charge": charge, "amount": minor}, **more).status_code == 200
        over = self.shop.post("/v1/refunds", {"charge": charge, "amount": self.left[charge] - minor + 1})
        assert (over.status_code, over.json()["code"]) == (400, "refund_exceeds_charge")
        self.left[charge] -= minor
        of_available = min(minor, self.available)
        of_pending = min(minor - of_available, self.pending)
        taken = (of_available, of_pending, minor - of_available - of_pending)
        self.available, self.pending = self.available - taken[0], self.pending - taken[1]
        self.owed += taken[2]
        self.most_owed = max(self.most_owed, self.owed)
        self.refunds.append((self.now_s() + 5, charge, minor, fails, taken))
        self.advance(5)

    @precondition(lambda self: self.available)
    @rule(data=st.data(), scenario=st.sampled_from(["", "", "bank_refused", "bank_returned"]))
    def pay_out(self, data: st.DataObject, scenario: str) -> None:
        minor = data.draw(st.integers(1, self.available))
        assert payout(self.shop, (self.available + 1) / 100).status_code == 409
        assert payout(self.shop, minor / 100, scenario).status_code == 200
        self.available -= minor
        self.payouts.append((self.day, minor, scenario))

    @rule(seconds=st.sampled_from([1, 3_600, 40_000, DAY_S, 2 * DAY_S]))
    def wait(self, seconds: int) -> None:
        self.advance(seconds)

    def now_s(self) -> int:
        return self.day * DAY_S + self.since_s

    def advance(self, seconds: int) -> None:
        self.shop.advance(seconds)
        until_s = self.now_s() + seconds
        while True:
            at_s = min([(self.day + 1) * DAY_S, *(each[0] for each in [*self.refunds, *self.returns])])
            if at_s > until_s:
                break
            for due in [each for each in self.refunds if each[0] == at_s]:
                self.refunds.remove(due)
                self.settle(due)
            for returned in [each for each in self.returns if each[0] == at_s]:
                self.returns.remove(returned)
                self.available += returned[1]
                self.paid_out -= returned[1]
            if at_s % DAY_S == 0 and at_s > self.day * DAY_S:
                self.day, self.since_s = at_s // DAY_S, 0
                self.night()
        self.since_s = until_s - self.day * DAY_S

    def settle(self, due: tuple[int, str, int, bool, tuple[int, int, int]]) -> None:
        _, charge, minor, fails, taken = due
        if not fails:
            self.refunded += minor
            return
        self.left[charge] += minor
        self.available, self.pending = self.available + taken[0], self.pending + taken[1]
        self.owed -= taken[2]
        if self.owed < 0:
            self.available, self.owed = self.available - self.owed, 0

    def night(self) -> None:
        self.available, self.pending = self.available + self.pending, 0
        recovered = min(self.owed, self.available)
        self.available, self.owed = self.available - recovered, self.owed - recovered
        due, self.payouts = self.payouts, []
        for _, minor, scenario in due:
            if scenario == "bank_refused":
                self.available += minor
                continue
            self.paid_out += minor
            if scenario == "bank_returned":
                self.returns.append((self.day * DAY_S + DAY_S, minor))

    @invariant()
    def every_balance_is_the_models(self) -> None:
        assert self.shop.balance() == (self.pending, self.available, self.owed)

    @invariant()
    def the_money_is_all_there(self) -> None:
        found = accounts(self.shop)
        assert sum(found.values()) == 0
        in_hand = found[1010] + found[1100] + found[1200]
        assert in_hand == self.paid_in - self.costs - self.refunded - self.paid_out
        assert (-found[4000], found[5000]) == (self.fees, self.costs)
        assert -found[2100] == sum(each[2] for each in self.refunds)
        assert -found[2020] == sum(minor for _, minor, _ in self.payouts)
        assert min(found[1100], found[1200]) >= 0
        # What the merchant owed, the service advanced; nothing else overdraws the bank.
        assert found[1010] >= -self.most_owed

    @invariant()
    def refunds_never_exceed_what_was_captured(self) -> None:
        shown = {each["id"]: each for each in self.shop.read("/v1/charges?limit=100")["data"]}
        for charge, left in self.left.items():
            assert shown[charge]["amount_refunded"] == shown[charge]["amount"] - left
            assert 0 <= left <= shown[charge]["amount"]


TestDays = Days.TestCase
# Half as many in the test line.
TestDays.settings = settings(max_examples=min(15, settings().max_examples // 4), stateful_step_count=20, deadline=None)
