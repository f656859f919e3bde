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

from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.reconcile.carry_forward import KEPT
from workbench.analysis.shapes import LEDGER_MOVEMENT, STATEMENT_ROW

pyspark = pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="Spark needs Java, and there is none"
    ),
    # Spark warns of versions of pandas that it was not tried with, and leaves sockets to be collected.
    pytest.mark.filterwarnings("ignore"),
]

EXECUTORS = 2
FRAMES = ("breaks", "matches", "summary", "ageing", "proof", "decisions", "suggestions")
ACCOUNTS = ("operator:mtn:float", "bank:settlement")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A driver, a master and two workers on this machine, each a process."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
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


def movements(drawn: random.Random, number: int) -> dict[str, Any]:
    """A row of few possible keys, amounts and times, so that all that can coincide does."""
    day, minute = drawn.randint(1, 8), drawn.choice([0, 10, 20])
    return {
        "account": drawn.choice(ACCOUNTS), "key": drawn.choice([None, *(f"k{n}" for n in range(number))]),
        "batch": drawn.choice([None] * 6 + ["b1", "k1"]), "occurred_at": datetime(2026, 1, day, 10, minute, tzinfo=UTC),
        "business_date": date(2026, 1, day), "direction": drawn.choice(["in", "in", "out"]),
        "amount_minor": drawn.choice([100, 200]), "fee_minor": drawn.choice([0, 0, 1]), "currency": "ZMW",
        "status": drawn.choice(["completed"] * 5 + ["failed"]), "phone": drawn.choice([None, "p", "q"]),
        "phone_hash": drawn.choice([None, None, "k:1", "k:2"]),
    }  # fmt: skip


def tables(rows: int = 120, seed: int = 7) -> tuple[pd.DataFrame, pd.DataFrame]:
    drawn = random.Random(seed)  # noqa: S311  no secret is drawn
    ledger = [
        {
            **movements(drawn, rows), "entry": f"je_{number}", "number": number, "payment": None, "reverses": None,
            "kind": drawn.choice(["funds_secured", "payout_paid"]), "state": "posted", "balance_minor": 0,
        }
        for number in range(1, rows)
    ]  # fmt: skip
    statement = [
        {
            **movements(drawn, rows), "statement": f"{line % 2}.csv", "line": line,
            "related": drawn.choice([None, "k2"]),
            "type": drawn.choice(["payment", "reversal"]), "description": "", "balance_minor": None, "problem": None,
        }
        for line in range(2, rows)
    ]  # fmt: skip
    return (
        pd.DataFrame(ledger, columns=list(LEDGER_MOVEMENT)).astype(dict(LEDGER_MOVEMENT)),
        pd.DataFrame(statement, columns=list(STATEMENT_ROW)).astype(dict(STATEMENT_ROW)),
    )


def arrow(frame: pd.DataFrame) -> pa.Table:
    """With Spark's types: it knows no dictionaries."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    text = [pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) for kind in table.schema.types]
    fields = zip(table.schema, text, strict=True)
    return table.cast(pa.schema([(field.name, pa.string() if plain else field.type) for field, plain in fields]))


def test_spark_has_the_same_answer_from_frames_and_from_files(session: Any, tmp_path: Path):  # noqa: ANN401  not installed everywhere
    ledger, statement = tables()
    base = reconcile(ledger, statement)
    assert base.breaks["code"].nunique() > 10, "the tables are too tame to tell anything"
    frames = [session.createDataFrame(arrow(frame)) for frame in (ledger, statement)]
    ledger.to_parquet(tmp_path / "ledger.parquet")
    whole = arrow(statement)
    pieces = pa.concat_tables([whole.slice(0, 0), whole.slice(0, 3), whole.slice(0, 0), whole.slice(3)])
    inputs = {
        "frames": frames,
        "a file and a frame": (tmp_path / "ledger.parquet", frames[1]),
        "a frame and a table in pieces, empty ones too": (frames[0], pieces),
    }
    for called, given in inputs.items():
        result = reconcile(*given)
        assert result.engine == "spark"
        for name in FRAMES:
            pd.testing.assert_frame_equal(getattr(base, name), getattr(result, name), obj=f"{name} of {called}")
        pd.testing.assert_frame_equal(base.carry_forward.rows, result.carry_forward.rows)
        result.close()
    managers = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001  Python is not told
    assert managers == 1 + EXECUTORS, "the driver and each executor"


KEY = b"the key of a book, for tests only"
LIKE = ("+260961000567", "+260961999567", "+26096••••567", None)
"""Two numbers that look alike masked, and what they look like."""


def spelt(drawn: random.Random, key: object) -> str | None:
    """One of fewer keys, as another program may write it."""
    few = f"k{int(str(key)[1:]) % 30}" if pd.notna(key) else ""
    return drawn.choice([few, few, few.upper(), f"00{few}", f" {few} "]) if few else None


def told(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The same rows of fewer keys, in other spellings, with numbers, narratives and the file's words."""
    drawn = random.Random(seed)  # noqa: S311  no secret is drawn
    made = rows.assign(key=[spelt(drawn, key) for key in rows["key"]], phone=[drawn.choice(LIKE) for _ in rows["key"]])
    if "line" in rows:
        made["description"] = [drawn.choice([None, "CARD 0961000567", f"{key} of a shop"]) for key in rows["key"]]
        made["words"] = [drawn.choice([None, "Paid", "TS"]) for _ in rows["key"]]
    return made.astype({name: kind for name, kind in {**LEDGER_MOVEMENT, **STATEMENT_ROW}.items() if name in made})


def in_two_months(ledger: Any, first: Any, both: Any, rules: Path) -> tuple[Reconciliation, Reconciliation]:  # noqa: ANN401  tables of any engine
    """A week, what is decided about some of it, and that week told again with the next."""
    before = reconcile(ledger, first, as_of=date(2026, 1, 6), phone_key=KEY, rules=rules)
    alike = before.breaks.drop_duplicates("id", keep=False).groupby("code", observed=True)["id"].first().tolist()
    decided = pd.DataFrame(
        {"break": alike, "verdict": "accept", "partner": "", "who": "A", "when": "2026-01-08", "why": "seen"}
    )
    after = reconcile(
        ledger, both, as_of=date(2026, 1, 7), phone_key=KEY, rules=rules, decisions=decided,
        carry_forward=before.carry_forward, skip_settled=True,
        match={"bank:*": [{"on": ["key in narrative"]}, {"on": ["amount"], "days": 1, "nearest": True}]},
    )  # fmt: skip
    return before, after


def test_spark_goes_on_from_one_month_to_the_next_as_duckdb_does(session: Any, tmp_path: Path):  # noqa: ANN401  not installed everywhere
    ledger, statement = (told(frame, seed) for seed, frame in enumerate(tables(90, seed=11)))
    # The same lines in two files; each has some of its own.
    again = statement.iloc[::4].assign(statement="again.csv")
    both = pd.concat([statement, again], ignore_index=True).astype(dict(STATEMENT_ROW))
    first = both[both["business_date"] <= date(2026, 1, 4)].reset_index(drop=True)
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nnarrative = "shop"\nkind = "fee"\ntolerated = true\n')
    base = in_two_months(ledger, first, both, rules)
    spark = in_two_months(*(session.createDataFrame(arrow(frame)) for frame in (ledger, first, both)), rules)
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
        "rows of one key": not one.matches["rule"].isin(["one_to_many", "many_to_one"]).any(),
        "narratives": two.breaks["description"].isna().all(),
        "hashes": one.carry_forward.rows["phone_hash"].nunique() < 2,
        "days ahead": one.carry_forward.ahead.empty,
        "decisions": set(two.decisions["state"]) != {"applied", "stale"},
        "rules": two.breaks["rule"].isna().all(),
        "matches without a key": not two.matched_by,
        "suggestions": two.suggestions.empty,
    }
    assert not [topic for topic, is_missing in tame.items() if is_missing]
