"""The same answer from Spark, with two executors that are processes of their own."""

import os
import random
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.analysis.test_matching import FEES_WITHOUT_KEYS, fee_lines, on, rows_of, within
from tests.analysis.test_partners import tables
from tests.analysis.test_reconcile import ledger_of, statement_of
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.reconcile.carry_forward import KEPT
from workbench.analysis.shapes import STATEMENT_ROW

pyspark = pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="Spark needs Java, and there is none"
    ),
    # Spark warns of versions of pandas that it was not tried with, and leaves sockets to be collected.
    pytest.mark.filterwarnings("ignore"),
]

EXECUTORS = 2
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compile quickly and not well, and free memory on one thread: this halves the time of processes that live a minute."""
FRAMES = ("breaks", "matches", "summary", "ageing", "proof", "decisions", "suggestions")
ACCOUNTS = ("operator:mtn:float", "bank:settlement")
KEYS = [f"k{number}" for number in range(30)]
KEY = b"the key of a book, for tests only"
LIKE = ("+260961000567", "+260961999567", "+26096••••567", None)
"""Two numbers that look alike masked, and what they look like."""
Sides = tuple[Any, Any]
"""A ledger and a statement, as any table that is taken."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A driver, a master and two workers on this machine, each a process."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        **dict.fromkeys(("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"), SHORT_LIVED),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("workers")))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]").appName("reconcile")
        for name, value in settings.items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
        made.sparkContext.setLogLevel("ERROR")
        yield made
        made.stop()


def movements(many: int, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of few keys (in several spellings), amounts and times, so that all that can coincide does."""
    drawn = random.Random(seed)  # noqa: S311  no secret is drawn
    for place in range(many):
        day, minute, key = drawn.randint(1, 8), drawn.choice([0, 10, 20]), drawn.choice([None, *KEYS])
        yield {
            "account": drawn.choice(ACCOUNTS), "batch": drawn.choice([None] * 6 + ["b1", "k1"]),
            "key": key and drawn.choice([key, key, key.upper(), f"00{key}", f" {key} "]),
            "occurred_at": datetime(2026, 1, day, 10, minute, tzinfo=UTC), "business_date": date(2026, 1, day),
            "direction": drawn.choice(["in", "in", "out"]), "kind": drawn.choice(["funds_secured", "payout_paid"]),
            "amount_minor": drawn.choice([100, 200]), "fee_minor": drawn.choice([0, 0, 1]), "currency": "ZMW",
            "status": drawn.choice(["completed"] * 5 + ["failed"]), "phone": drawn.choice(LIKE),
            "phone_hash": drawn.choice([None, None, "k:1", "k:2"]), "statement": f"{place % 2}.csv",
            "related": drawn.choice([None, "k2"]),
            "type": drawn.choice(["payment", "reversal"]), "words": drawn.choice([None, "Paid", "TS"]),
            "description": drawn.choice([None, "CARD 0961000567", f"{key} of a shop"]),
        }  # fmt: skip


def arrow(frame: pd.DataFrame) -> pa.Table:
    """With Spark's types: it knows no dictionaries."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    text = [pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) for kind in table.schema.types]
    fields = zip(table.schema, text, strict=True)
    return table.cast(pa.schema([(field.name, pa.string() if plain else field.type) for field, plain in fields]))


def in_two_months(first: Sides, both: Sides, **more: Any) -> tuple[Reconciliation, Reconciliation]:  # noqa: ANN401  settings
    """A week, what is decided about some of it, and that week told again with the next."""
    before = reconcile(*first, as_of=date(2026, 1, 6), phone_key=KEY, **more)
    alike = before.breaks.drop_duplicates("id", keep=False).groupby("code", observed=True)["id"].first().tolist()
    decided = pd.DataFrame(
        {"break": alike, "verdict": "accept", "partner": "", "who": "A", "when": "2026-01-08", "why": "seen"}
    )
    after = reconcile(
        *both, as_of=date(2026, 1, 7), phone_key=KEY, decisions=decided, **more,
        carry_forward=before.carry_forward, skip_settled=True,
        match={"bank:*": [{"on": ["key in narrative"]}, {"on": ["amount"], "days": 1, "nearest": True}]},
    )  # fmt: skip
    return before, after


def test_spark_joins_the_same_payments_with_their_fees_and_the_same_batch_where_no_key_does(session: Any):  # noqa: ANN401  not installed everywhere
    cases = [
        [frame.assign(account=f"bank:{n}") for frame in tables(fee_lines(books), rows_of(statement))]
        for n, (books, statement, _) in enumerate(FEES_WITHOUT_KEYS)
    ]
    # And a batch, which the bank names.
    parts = [on(day, f"P{day}", 10 + day, batch="SW-1004") for day in range(3)]
    batch = tables(parts, [on(4, "made-1", 33, description="SETTLEMENT SW-1004")])
    cases.append([frame.assign(account="bank:batch") for frame in batch])
    sides = [pd.concat(frames, ignore_index=True) for frames in zip(*cases, strict=True)]
    rules = {"match": {"bank:batch": [{"on": ["key in narrative"]}], "bank:*": [within(4)]}}
    base = reconcile(*sides, **rules)
    spark = reconcile(*(session.createDataFrame(arrow(frame)) for frame in sides), **rules)
    assert (spark.engine, base.breaks["rows"].sum()) == ("spark", sum(open_ for *_, open_ in FEES_WITHOUT_KEYS))
    assert (base.matches["rule"] == "key in narrative").sum() == len(parts) + 1
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(base, name), getattr(spark, name), obj=name)
    spark.close()


def test_spark_has_the_same_answers_of_two_months_from_frames_a_file_and_a_table(session: Any, tmp_path: Path):  # noqa: ANN401  not installed everywhere
    # The ledger has a payment and its fee on two lines.
    paid = next(movements(1, 3)) | {
        "key": "paid",
        "direction": "in",
        "status": "completed",
        "batch": None,
        "kind": None,
    }
    paid |= {"amount_minor": 26000, "type": "payment", "business_date": date(2026, 1, 2)}
    lines = [paid | {"fee_minor": 0}, paid | {"amount_minor": 260, "fee_minor": 0, "direction": "out"}]
    rows = [*movements(89, 1), *lines]
    ledger = ledger_of(*rows).assign(description=pd.array([row["description"] for row in rows], "string"))
    statement = statement_of(*movements(88, 2), paid | {"fee_minor": 390}, opening=None)
    # The same lines in two files; each has some of its own.
    again = statement.iloc[::4].assign(statement="again.csv")
    both = pd.concat([statement, again], ignore_index=True).astype(dict(STATEMENT_ROW))
    first = both[both["business_date"] <= date(2026, 1, 4)].reset_index(drop=True)
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nnarrative = "shop"\nkind = "fee"\ntolerated = true\n')
    ledger.to_parquet(tmp_path / "ledger.parquet")
    frames, whole = (session.createDataFrame(arrow(frame)) for frame in (ledger, first)), arrow(both)
    pieces = pa.concat_tables([whole.slice(0, 0), whole.slice(0, 3), whole.slice(0, 0), whole.slice(3)])
    base = in_two_months((ledger, first), (ledger, both), rules=rules)
    spark = in_two_months((*frames,), (tmp_path / "ledger.parquet", pieces), rules=rules, engine="spark")
    managers = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001  Python is not told
    assert managers == 1 + EXECUTORS, "the driver and each executor"
    for month, (ours, theirs) in enumerate(zip(base, spark, strict=True), start=1):
        assert theirs.engine == "spark"
        for name in FRAMES:
            pd.testing.assert_frame_equal(getattr(ours, name), getattr(theirs, name), obj=f"{name} of month {month}")
        for name in KEPT:
            kept = (getattr(each.carry_forward, name) for each in (ours, theirs))
            pd.testing.assert_frame_equal(*kept, obj=f"carried {name} of month {month}")
        assert (ours.told_again, ours.notes) == (theirs.told_again, theirs.notes)
        theirs.close()
    one, two = base
    names = one.matches[one.matches["rule"] == "key"].groupby("group")["key"].nunique()
    tame = {
        "codes": two.breaks["code"].nunique() <= 10,
        "in overlapping files": not one.told_again < two.told_again,
        "keys in two spellings": names.max() < 2,
        "fees on lines of their own": "paid" not in set(one.breaks.loc[one.breaks["rows"] == 3, "key"]),
        "rows of one key": not {"one_to_many", "many_to_one"} & {*one.matches["rule"], *two.matches["rule"]},
        "narratives": two.breaks["description"].isna().all(),
        "hashes": one.carry_forward.rows["phone_hash"].nunique() < 2,
        "days ahead": one.carry_forward.ahead.empty,
        "decisions": set(two.decisions["state"]) != {"applied", "stale"},
        "rules": two.breaks["rule"].isna().all(),
        "matches without a key": not two.matched_by,
        "suggestions": two.suggestions.empty,
        "lines after the day": two.carry_forward.told["business_date"].max() <= date(2026, 1, 7),
    }
    assert not [topic for topic, is_missing in tame.items() if is_missing]
