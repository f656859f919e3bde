"""What a new reader wants to do, done with nothing but the README, its pages and the notebooks.

`PLACES` says where each step is found. A page that loses a step fails `test_each_step_is_found_where_the_table_says`;
the tests after it are the tasks themselves.
"""

import inspect
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from tests.conftest import cells_of, invoke
from workbench import Receiver, Workbench, read_statement, reconcile, resources

ROOT = Path(__file__).resolve().parents[1]
PHONE = "+260961234567"


class Place(NamedTuple):
    """Where a step is found: a page's or notebook's name, a heading without its number, and what is read there."""

    page: str
    heading: str
    read: str
    is_code: bool = True
    """It stands in the task's script word for word."""


README = "README"
PAYS = Place(README, "A payment in one cell", "payment_intents.create(amount=")
CONFIRMS = Place(README, "A payment in one cell", ".confirm(intent.id, phone=")
PRESSES = Place(README, "A payment in one cell", '.enter_pin("1234")')
PLACES = {
    "two_failures_and_a_success_on_one_intent": (
        Place(README, "Where to go next", "workbench/docs/scenarios.md", is_code=False),
        PAYS,
        CONFIRMS,
        Place("confirm_with_ussd", "The customer says no", "handset.cancel()"),
        Place("confirm_with_ussd", "The customer says no", ".last_payment_error"),
        Place("scenarios", "Scenarios on any number", "bench.operator.script("),
        Place("confirm_with_ussd", "Wait for an outcome", "pay.wait("),
        Place("confirm_with_ussd", "Try again", "handset.enter_pin("),
        Place("confirm_with_ussd", "Try again", ".latest_charge"),
        Place("python", "What a workbench offers", "bench.tables"),
        Place("read_the_ledger", "One event, one entry", "bench.ledger.entries"),
    ),
    "a_receiver_that_survives_duplicates_and_tampering": (
        Place(README, "Where to go next", "notebooks/08_retries_dead_letters_and_replay.ipynb", is_code=False),
        PAYS,
        CONFIRMS,
        PRESSES,
        Place("python", "What a workbench offers", "Receiver([bench.webhook_secret])"),
        Place("python", "What a workbench offers", 'shop.on("payment_intent.succeeded")'),
        Place("testing", "Tests in Python", "bench.deliver_to(shop)"),
        Place("testing", "Tests in Python", 'bench.delivery_faults("duplicate", "out_of_order")'),
        Place("retries_dead_letters_and_replay", "Twice, and in the wrong order", ".clock.advance(minutes=5)"),
        Place("verify_webhooks", "The message", ".arrivals[-1]"),
        Place("verify_webhooks", "One byte changed", ".receive(tampered, arrival.headers)"),
        Place("testing", "Tests in Python", "bench.sign("),
        Place("verify_webhooks", "The same message twice", ".receive("),
    ),
    "where_each_ngwee_went_and_a_past_balance": (
        Place(README, "Where to go next", "workbench/docs/python.md", is_code=False),
        PAYS,
        CONFIRMS,
        PRESSES,
        Place("read_the_ledger", "The postings of the entry", "bench.ledger.postings"),
        Place("read_the_ledger", "The shares, worked out by hand", "(gross * 250 + 5000) // 10000"),
        Place("read_the_ledger", "The shares, worked out by hand", "(gross * 100 + 5000) // 10000"),
        Place("python", "What a workbench offers", "bench.clock.advance(hours="),
        Place("read_the_ledger", "The balance at a past moment", "bench.ledger.trial_balance(as_of=first_morning)"),
        Place("read_the_ledger", "The balance at a past moment", "A date instead of a moment", is_code=False),
        Place("read_the_ledger", "What was known then", "known_at="),
        Place("read_the_ledger", "Verify", "bench.ledger.verify()"),
    ),
    "a_statement_with_three_breaks_to_clean": (
        Place(README, "Where to go next", "workbench/docs/reconcile.md", is_code=False),
        Place("reconcile", "In a notebook", "bench.simulate("),
        Place("reconcile", "In a notebook", 'breaks={"amount_mismatch": 1'),
        Place("reconcile", "In a notebook", "read_statement("),
        Place("reconcile", "In a notebook", 'reconcile(bench.ledger.statement_of("operator:mtn:float"), statement)'),
        Place("reconcile_and_settle", "Settle the rest", ".itertuples()"),
        Place("reconcile_and_settle", "Settle the rest", "bench.settle(each)"),
        Place("reconcile", "In a notebook", ".is_clean"),
    ),
    "a_bank_without_keys": (
        Place(README, "Where to go next", "workbench/docs/reconcile.md", is_code=False),
        Place("reconcile", "Your own files", "workbench layout FILE --out mine.toml", is_code=False),
        Place("reconcile", "Your own files", "--account STATEMENT=NAME", is_code=False),
        Place("reconcile", "How rows are matched", "days = 3 }"),
        Place("reconcile", "How rows are matched", "result.matched_by", is_code=False),
    ),
}


def section(page: str, heading: str) -> str:
    """What stands under a heading of the second level; of a notebook, texts and code alike."""
    if page in resources.course():
        text = "\n".join(cell["source"] for cell in cells_of(page))
    else:
        text = (ROOT / "README.md" if page == README else resources.guide_paths()[page]).read_text("utf-8")
    found = re.search(rf"^## (?:\d+\. )?{re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@pytest.fixture
def bench() -> Iterator[Workbench]:
    """With a seed that plants all three breaks of the fourth task in one statement."""
    with Workbench(seed=1) as opened:
        yield opened


def test_each_step_is_found_where_the_table_says():
    scripts = {name: inspect.getsource(globals()[f"test_{name}"]) for name in PLACES}
    steps = [(name, place) for name, places in PLACES.items() for place in places]
    lost = [place for _, place in steps if place.read not in section(place.page, place.heading)]
    unused = [place for name, place in steps if place.is_code and place.read not in scripts[name]]
    assert (lost, unused) == ([], [])


def test_two_failures_and_a_success_on_one_intent(bench: Workbench):
    pay, handset = bench.client, bench.phone(PHONE)
    intent = pay.payment_intents.create(amount=Decimal("150.00"), currency="ZMW", description="Monstera")
    tried = []

    pay.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    handset.cancel()
    tried.append(pay.payment_intents.retrieve(intent.id))

    bench.operator.script(PHONE, ["insufficient_funds"])
    pay.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    tried.append(pay.wait(intent.id))

    pay.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    handset.enter_pin("1234")
    tried.append(pay.payment_intents.retrieve(intent.id))

    failed = "requires_payment_method"
    assert [each.status for each in tried] == [failed, failed, "succeeded"]
    assert [each.last_payment_error.code for each in tried[:2]] == ["declined_by_customer", "insufficient_funds"]
    assert len({each.latest_charge for each in tried}) == 3
    assert list(bench.tables.charges["status"]) == ["failed", "failed", "succeeded"]
    assert list(bench.ledger.entries["payment"]) == [intent.id]


def test_a_receiver_that_survives_duplicates_and_tampering(bench: Workbench):
    shipped: list[str] = []
    shop = Receiver([bench.webhook_secret])
    shop.on("payment_intent.succeeded")(lambda event: shipped.append(event.data.object["id"]))
    bench.deliver_to(shop)
    bench.delivery_faults("duplicate", "out_of_order")
    intent = bench.client.payment_intents.create(amount=Decimal("87.35"))
    bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    bench.phone(PHONE).enter_pin("1234")
    bench.clock.advance(minutes=5)
    arrived = [each.verdict for each in shop.arrivals]
    assert (arrived.count("accepted"), arrived.count("duplicate"), len(arrived)) == (5, 5, 10)

    (arrival,) = [each for each in shop.arrivals if each.verdict == "accepted" and each.reason.endswith("t.succeeded")]
    tampered = arrival.body.replace(b"87.35", b"17.35")
    assert shop.receive(tampered, arrival.headers) == 400
    refused = {how: shop.receive(*bench.sign(arrival.body, how)) for how in ("tampered", "stale", "wrong_secret")}
    assert set(refused.values()) == {400}
    assert shop.receive(arrival.body, arrival.headers) == 200
    assert shop.arrivals[-1].verdict == "duplicate"
    assert shipped == [intent.id]


def test_where_each_ngwee_went_and_a_past_balance(bench: Workbench):
    intent = bench.client.payment_intents.create(amount=Decimal("87.35"))
    bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    bench.phone(PHONE).enter_pin("1234")

    gross = 8735
    merchant_fee = (gross * 250 + 5000) // 10000
    operator_fee = (gross * 100 + 5000) // 10000
    went = bench.ledger.postings[["account", "side", "amount_minor"]]
    assert sorted(went.itertuples(index=False, name=None)) == [
        ("expense:operator_fee:mtn", "debit", operator_fee),
        ("income:merchant_fee", "credit", merchant_fee),
        ("merchant:plants:pending", "credit", gross - merchant_fee),
        ("operator:mtn:float", "credit", operator_fee),
        ("operator:mtn:float", "debit", gross),
    ]

    first_morning = bench.clock.now
    bench.clock.advance(hours=40)
    then = bench.ledger.trial_balance(as_of=first_morning)
    that_day = bench.ledger.trial_balance(as_of=date(2026, 1, 5), known_at=first_morning)
    now = bench.ledger.trial_balance()
    assert then.equals(that_day)
    assert credit(then) == {"merchant:plants:pending": 8517, "income:merchant_fee": 218}
    assert credit(now) == {"merchant:plants:available": 8517, "income:merchant_fee": 218}
    assert bench.ledger.verify()


def credit(balances: pd.DataFrame) -> dict[str, int]:
    """The accounts with something on the credit side."""
    return {each.account: each.credit_minor for each in balances.itertuples() if each.credit_minor}


def test_a_statement_with_three_breaks_to_clean(bench: Workbench, tmp_path: Path):
    week = tmp_path / "week"
    bench.simulate(
        payments=60, days=3, out=week, breaks={"amount_mismatch": 1, "fee_mismatch": 1, "missing_in_ledger": 1}
    )
    statement = read_statement(week / "statements/mtn.csv")

    result = reconcile(bench.ledger.statement_of("operator:mtn:float"), statement)
    assert sorted(result.breaks["code"]) == ["amount_mismatch", "fee_mismatch", "missing_in_ledger"]
    assert (result.proof["holds"].all(), result.is_clean) == (True, False)

    for each in result.breaks.itertuples():
        bench.settle(each)
    again = reconcile(bench.ledger.statement_of("operator:mtn:float"), statement)
    assert (again.breaks.empty, again.proof["holds"].all(), again.is_clean) == (True, True, True)


BOOKS = """account,key,occurred_at,amount
bank:settlement,INV-1,2026-10-01T10:00:00+02:00,1250.00
bank:settlement,INV-2,2026-10-02T10:00:00+02:00,-300.00
bank:settlement,INV-3,2026-10-06T10:00:00+02:00,410.00
"""
BANK = """Date,Details,Amount,Balance
01/10/2026,CASH DEPOSIT CAIRO ROAD,1250.00,1250.00
03/10/2026,TRANSFER OUT,-300.00,950.00
13/10/2026,CHARGE,-12.00,938.00
"""


def test_a_bank_without_keys(tmp_path: Path):
    files = {"books.csv": BOOKS, "bank.csv": BANK, "rules.toml": """
[match]
"bank:settlement" = [{ on = ["amount"], days = 3 }]
"""}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    books, bank, rules, mine = (str(tmp_path / name) for name in (*files, "mine.toml"))
    drafted = invoke("layout", bank, "--out", mine)
    assert (drafted.exit_code, "makes_keys = true" in Path(mine).read_text()) == (0, True)
    given = ["--layout", f"{bank}={mine}", "--account", f"{bank}=bank:settlement", "--rules", rules]
    done = invoke("reconcile", books, bank, *given)
    assert done.exit_code == 1
    assert "2 breaks to settle. The proof holds to the last ngwee." in done.stdout
    assert "matched without a common key: 2 by amount within 3 days" in " ".join(done.stdout.split())
