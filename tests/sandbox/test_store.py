# The SQL here is put together from names that stand in this file.
# ruff: noqa: S608
import itertools
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from tests.conftest import StoreFile
from tests.sandbox.conftest import START_MS
from workbench import Workbench
from workbench.domain.ledger import JournalEntry, settlement_postings
from workbench.errors import LedgerRefused, StoreRefused
from workbench.sandbox import driver
from workbench.sandbox.store import SCHEMA_VERSION, Settings, Store, Transaction, journal
from workbench.sandbox.store import rows as stored

LISTED = "+260960000001"
FIRST_SEQ = 3
"""The first entry's: a new store has two keys."""


def opened(path: Path | None = None, **more: Any) -> Store:  # noqa: ANN401  settings of several types
    wall_ms = more.pop("wall_ms", lambda: 0)
    return Store(Settings(path=path, **{"seed": "7", **more}), new_seed=lambda: "drawn", wall_ms=wall_ms)


def entry_of(tx: Transaction, amount_minor: int) -> JournalEntry:
    postings = settlement_postings("unknown_credit", {"amount": amount_minor, "fee": 0}, "ZMW", "operator:mtn:float")
    return tx.post("unknown_credit", postings, description="credit", payment=None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file that holds the ledger of four entries."""
    path = tmp_path_factory.mktemp("paid") / "store.db"
    with closing(opened(path)) as store:
        for amount_minor in (100, 200, 300, 400):
            with store.transaction() as tx:
                entry_of(tx, amount_minor)
    return path


@pytest.fixture
def paid(made: Path, store_path: Path) -> Path:
    """A copy of it, to do with as one likes."""
    return Path(shutil.copy(made, store_path))


@pytest.fixture
def raw(paid: Path) -> Iterator[sqlite3.Connection]:
    """The file under the hands of somebody with SQL, with foreign keys as the sandbox has them."""
    with closing(sqlite3.connect(paid, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


def append(connection: sqlite3.Connection, lines: list[tuple[str, Any, str]], **columns: Any):  # noqa: ANN401  columns
    """Append an entry of these lines as the sandbox would; `columns` are what is different about it."""
    number, head, seq = connection.execute("SELECT number, hash, seq FROM entry ORDER BY number DESC").fetchone()
    verb = columns.pop("verb", "INSERT")
    row = {
        "id": "je_new", "seq": seq + 1, "number": number + 1, "kind": "kind", "description": "", "payment": None,
        "reverses": None, "occurred_ms": 0, "recorded_ms": 0, "prev_hash": head, "hash": "f" * 64, **columns,
    }  # fmt: skip
    connection.execute("BEGIN IMMEDIATE")
    try:
        for line, (side, amount_minor, currency) in enumerate(lines, start=1):
            connection.execute(
                "INSERT INTO posting VALUES (?, ?, 'bank:settlement', 1010, ?, ?, ?)",
                (row["id"], line, side, amount_minor, currency),
            )
        places = ", ".join("?" * len(row))
        connection.execute(f"{verb} INTO entry ({', '.join(row)}) VALUES ({places})", tuple(row.values()))
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.execute("ROLLBACK")
        raise


PAIR = [("debit", 500, "ZMW"), ("credit", 500, "ZMW")]
WRONG: list[tuple[str, list[tuple[str, Any, str]], dict[str, Any]]] = [
    *(("at least two postings", lines, {}) for lines in ([], PAIR[:1])),
    *(("balances in each currency", lines, {}) for lines in (
        [("debit", 500, "ZMW"), ("credit", 499, "ZMW")], [("debit", 500, "ZMW"), ("debit", 500, "ZMW")],
        [("debit", 500, "ZMW"), ("credit", 500, "USD")], [*PAIR, ("debit", 5, "USD"), ("credit", 4, "USD")],
    )),
    *(("CHECK constraint failed: amount_minor", [("debit", minor, "ZMW"), ("credit", minor, "ZMW")], {})
      for minor in (0, -5)),
    ("cannot store REAL value in INTEGER column", [("debit", 0.5, "ZMW"), ("credit", 0.5, "ZMW")], {}),
    ("CHECK constraint failed: side", [("both", 5, "ZMW"), ("credit", 5, "ZMW")], {}),
    *(("never replaced", PAIR, columns) for columns in ({"number": 4}, {"seq": FIRST_SEQ})),
    *(("follows the one before", PAIR, columns) for columns in (
        {"number": 6}, {"number": 0}, {"number": -1}, {"prev_hash": "0" * 64}, {"prev_hash": ""},
    )),
    ("comes after its original", PAIR, {"reverses": "je_nowhere"}),
]  # fmt: skip
"""What the file says, and of which lines and columns."""


def test_an_entry_that_is_wrong_is_refused_by_the_file_and_a_good_one_is_not(raw: sqlite3.Connection):
    before = list(raw.iterdump())
    for said, lines, columns in WRONG:
        with pytest.raises(sqlite3.IntegrityError, match=said):
            append(raw, lines, **columns)
        assert list(raw.iterdump()) == before
    append(raw, PAIR)
    assert raw.execute("SELECT count(*) FROM entry").fetchone() == (5,)


CHANGES = {
    "an entry is never changed": [
        "UPDATE entry SET description = 'other'", "UPDATE entry SET number = number + 10 WHERE number = 4",
        "UPDATE OR REPLACE entry SET number = 1 WHERE number = 2",
    ],
    "a posting is never changed": [
        "UPDATE posting SET amount_minor = amount_minor + 1", "UPDATE OR REPLACE posting SET line = 1",
    ],
    "an entry is never deleted": ["DELETE FROM entry WHERE number = 4"],
    "a posting is never deleted": ["DELETE FROM posting"],
    "an entry is never replaced": [
        "REPLACE INTO entry SELECT * FROM entry WHERE number = 1",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE number = 4",
        "INSERT INTO entry SELECT 'x', 99, number, '', '', NULL, NULL, 0, 0, hash, NULL, NULL, 'h' FROM entry LIMIT 1",
    ],
    "a sealed entry takes no posting": [
        "REPLACE INTO posting SELECT * FROM posting LIMIT 1",
        "INSERT INTO posting SELECT entry, 9, account, code, side, 1, currency FROM posting LIMIT 1",
    ],
}  # fmt: skip


def test_nothing_in_the_ledger_is_changed_or_deleted(raw: sqlite3.Connection):
    before = list(raw.iterdump())
    for said, statements in CHANGES.items():
        for sql in statements:
            with pytest.raises(sqlite3.IntegrityError, match=said):
                raw.execute(sql)
            assert list(raw.iterdump()) == before


def test_a_new_entry_cannot_take_the_place_of_an_old_one(raw: sqlite3.Connection):
    raw.execute("PRAGMA foreign_keys = OFF")
    # A row that had a number of its own could be replaced by it.
    refusals = {"id": "sealed entry", "number": "never replaced", "seq": "never replaced", "hash": "never replaced",
                "rowid": "no column named rowid"}  # fmt: skip
    second = raw.execute("SELECT id, number, seq, hash, 2 FROM entry WHERE number = 2").fetchone()
    before = list(raw.iterdump())
    for (column, said), taken in zip(refusals.items(), second, strict=True):
        with pytest.raises(sqlite3.Error, match=said):
            append(raw, PAIR, **{column: taken}, verb="INSERT OR REPLACE")
        assert list(raw.iterdump()) == before


def test_a_reversal_mirrors_what_came_before_and_once(raw: sqlite3.Connection):
    append(raw, PAIR, id="je_original", hash="d" * 64)
    mirror = [("credit", 500, "ZMW"), ("debit", 500, "ZMW")]
    for lines, columns, said in (
        (PAIR, {}, "mirrors its original"),
        ([("credit", 499, "ZMW"), ("debit", 499, "ZMW")], {}, "mirrors its original"),
        ([*mirror, ("credit", 1, "ZMW"), ("debit", 1, "ZMW")], {}, "mirrors its original"),
        (mirror, {"occurred_ms": -1}, "comes after its original"),
        (mirror, {"reverses": "je_new"}, "comes after its original"),
    ):
        with pytest.raises(sqlite3.IntegrityError, match=said):
            append(raw, lines, **{"reverses": "je_original", **columns})
    append(raw, mirror, reverses="je_original")
    for verb in ("INSERT", "INSERT OR REPLACE"):
        with pytest.raises(sqlite3.IntegrityError, match="an entry is reversed once"):
            append(raw, mirror, id="je_again", hash="e" * 64, reverses="je_original", verb=verb)


def test_postings_without_an_entry_are_not_committed(raw: sqlite3.Connection):
    raw.execute("BEGIN")
    raw.execute(GHOST)
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        raw.execute("COMMIT")
    raw.execute("ROLLBACK")


GHOST = "INSERT INTO posting VALUES ('je_ghost', 1, 'bank:settlement', 1010, 'debit', 1, 'ZMW')"
SECOND = "(SELECT id FROM entry WHERE number = 2)"
# The change, and the number of the entry that is named.
ATTACKS = [
    # Changes of one column of one row are those of proof/test_flipped_byte; of this both sides still balance.
    (f"UPDATE posting SET amount_minor = amount_minor + 1 WHERE entry = {SECOND}", 2),
    (f"DELETE FROM posting WHERE line = 2 AND entry = {SECOND}", 2),
    (f"DELETE FROM posting WHERE entry = {SECOND}", 2),
    (f"INSERT INTO posting SELECT entry, 3, account, code, side, 1,'ZMW' FROM posting WHERE entry={SECOND} LIMIT 1", 2),
    (f"UPDATE posting SET line = 5 - line WHERE entry = {SECOND}", 2),
    # An entry that was taken out is found by its postings, or at the next.
    ("DELETE FROM entry WHERE number = 4", 4),
    # Postings of no entry count in every balance, and nothing seals them.
    (GHOST, 5),
]  # fmt: skip
OF_BALANCES = [
    *(f"UPDATE balance SET {change} WHERE account = 'operator:mtn:float'" for change in (
        "debit_minor = debit_minor + 1", "day_ms = day_ms - 1", "code = 1")),
    "DELETE FROM balance WHERE account = 'operator:mtn:float'",
    "INSERT INTO balance VALUES ('operator:mtn:float', 'USD', 0, 1, 0, 0)",
]  # fmt: skip


def attacked(paid: Path, sql: str) -> Path:
    """A copy of the file without its guards, after `sql`."""
    copy = Path(shutil.copy(paid, paid.with_name("copy.db")))
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(sql)
    return copy


def verify_after(tx: Transaction, sql: str):
    tx._connection.execute(sql)  # noqa: SLF001  undone as soon as it is found
    tx.journal.verify()


def test_a_change_in_the_file_is_found_and_the_entry_named(paid: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "_BATCH", 3)
    with closing(sqlite3.connect(paid)) as connection:
        ids = [row[0] for row in connection.execute("SELECT id FROM entry ORDER BY number")]
        last = connection.execute("SELECT number, hash FROM entry ORDER BY number DESC").fetchone()
    with closing(opened(attacked(paid, ""))) as store:
        with store.transaction() as tx:
            assert tx.journal.verify() == last
        for sql, named in ATTACKS:
            with pytest.raises(LedgerRefused) as refused, store.transaction() as tx:
                verify_after(tx, sql)
            assert refused.value.facts["entry"] == [*ids, "je_ghost"][named - 1], sql
            assert refused.value.facts["entry"] in str(refused.value)
            assert refused.value.facts.get("place", named) == named
        for sql in OF_BALANCES:
            with pytest.raises(LedgerRefused, match="operator:mtn:float") as refused, store.transaction() as tx:
                verify_after(tx, sql)
            assert refused.value.facts["accounts"] == ["operator:mtn:float"]


def test_the_sandbox_tells_of_a_chain_that_does_not_hold(paid: Path):
    with Workbench(store=attacked(paid, "UPDATE entry SET description = 'other' WHERE number = 3")) as bench:
        key = {"Authorization": f"Bearer {bench.secret_key!s}"}
        told = bench.http.get("/sandbox/ledger/verify", headers=key).json()
    assert (told["holds"], told["entry"] in told["message"]) == (False, True)


def test_a_rollback_or_a_statement_that_fails_leaves_nothing(paid: Path):
    with closing(opened(paid)) as store:
        before = everything(paid)
        for fault, raises in (
            (ValueError, lambda _: int("")),
            (KeyboardInterrupt, lambda _: (each for each in ()).throw(KeyboardInterrupt)),
            (sqlite3.IntegrityError, lambda tx: tx.accounts.add(stored.StoredAccount(id="plants", name="AGAIN"))),
        ):  # fmt: skip
            with pytest.raises(fault), store.transaction() as tx:
                write_in_every_way(tx, raises)
            assert everything(paid) == before
        with store.transaction() as tx:
            write_in_every_way(tx, lambda _: None)
        assert everything(paid) != before


def everything(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def write_in_every_way(tx: Transaction, then: Callable[[Transaction], object]):
    entry_of(tx, 500)
    tx.schedule("deliver", tx.new_id("del"), in_ms=5)
    tx.move_clock(tx.now_ms + 1)
    account = tx.accounts.add(stored.StoredAccount(id="other", name="OTHER"))
    tx.accounts.put(account, name="ANOTHER")
    tx.api_keys.remove(tx.api_keys.all(order="digest")[0])
    then(tx)


LATER = f"PRAGMA user_version = {SCHEMA_VERSION + 1}"
FOREIGN: dict[str, Callable[[StoreFile], object]] = {
    "a database of another program": lambda store: store.run("CREATE TABLE notes (id INTEGER)"),
    "else, with a table meta": lambda store: store.run("CREATE TABLE meta (id INTEGER); PRAGMA user_version = 1"),
    "another, of a version that ours has too": lambda store: store.run(
        f"CREATE TABLE meta (name TEXT, value TEXT); PRAGMA user_version = {SCHEMA_VERSION}"
    ),
    "a text file": lambda store: store.path.write_text("amount,currency\n" * 100),
    "a later schema": lambda store: (opened(store.path).close(), store.run(LATER)),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_another_kind_is_refused_left_as_it_is_and_not_held(store: StoreFile, kind: str):
    FOREIGN[kind](store)
    store_path = store.path
    store_path.chmod(0o640)
    before = store_path.read_bytes()
    with pytest.raises(StoreRefused) as refused:
        opened(store_path)
    assert str(store_path) in str(refused.value)
    assert ("of another program" in str(refused.value)) == ("another" in kind or "else" in kind)
    assert (store_path.read_bytes(), modes(store_path)) == (before, {"store.db": 0o640})
    if "else" in kind:
        # While the exception lives, as it does in a notebook.
        assert refused.value.__traceback__ is not None
        store.run("CREATE TABLE more (id INTEGER)")


@pytest.mark.parametrize(("where", "why"), [("missing/store.db", "There is no folder"), (".", "is a folder")])
def test_a_place_that_holds_no_file_is_refused_with_the_reason(tmp_path: Path, where: str, why: str):
    with pytest.raises(StoreRefused, match=why):
        opened(tmp_path / where)


def test_another_seed_is_refused_and_one_is_drawn_once(store_path: Path):
    drawn = itertools.count(7)
    keys = []
    for _ in range(3):
        store = Store(Settings(path=store_path), new_seed=lambda: str(next(drawn)), wall_ms=lambda: 0)
        keys.append((store.key("secret"), store.key("publishable")))
        store.close()
    assert next(drawn) == 8
    assert len(set(keys)) == 1
    with pytest.raises(StoreRefused, match="another seed"):
        opened(store_path, seed="8")
    with closing(opened(store_path, seed="7")) as store:
        assert (store.key("secret"), store.key("publishable")) == keys[0]
    secret, publishable = keys[0]
    assert (secret[:8], publishable[:8]) == ("sk_test_", "pk_test_")
    assert not [key for key in keys[0] if key.encode() in store_path.read_bytes()]


def test_private_stores_are_apart_and_leave_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with closing(opened()) as one, closing(opened()) as other:
        with one.transaction() as tx:
            tx.accounts.add(stored.StoredAccount(id="large", name="X" * 10_000_000))
        with other.transaction() as tx:
            assert tx.accounts.get("large") is None
        # What is more than SQLite holds in memory is in a file without a name: a killed process leaves none either.
        assert [*tmp_path.iterdir()] == []


def pay_once(bench: Workbench):
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"))
    bench.client.payment_intents.confirm(intent.id, phone=LISTED, provider="mtn")
    bench.clock.advance(5)


@pytest.mark.parametrize("seed", [3, 8, 11, 13, 14, 19])
def test_a_private_store_that_outgrew_its_memory_is_whole_after_commands_that_fail(seed: int):
    drawn, made = Random(seed), 0  # noqa: S311  no secret
    with closing(opened()) as store:
        for number in range(400):
            with suppress(ValueError), store.transaction() as tx:
                for _ in range(drawn.randrange(5) if number else 1000):
                    made += 1
                    text = "x" * drawn.choice((10, 100, 3000, 9000))
                    tx.execute("INSERT INTO meta VALUES (?, ?)", (f"{drawn.random()}", text))
                for _ in range(drawn.randrange(4)):
                    first = drawn.randint(4, made)
                    tx.execute("DELETE FROM meta WHERE rowid BETWEEN ? AND ?", (first, first + 1))
                for _ in range(drawn.randrange(6)):
                    tx.execute("SELECT value FROM meta WHERE rowid = ?", (drawn.randint(1, made),)).fetchall()
                if drawn.random() < 0.4 and number:
                    raise ValueError
        with store.reading() as tx:
            assert tx.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]


def test_a_file_that_is_reopened_goes_on_where_it_stood_and_stands_alone_when_closed(store_path: Path):
    for _ in range(3):
        with Workbench(seed=7, store=store_path) as bench:
            pay_once(bench)
            now_ms = bench.clock.now_ms
        assert list(store_path.parent.iterdir()) == [store_path]
    for sql in ("UPDATE hold SET amount_minor = 1", "DELETE FROM hold", "REPLACE INTO hold SELECT * FROM hold"):
        with pytest.raises(sqlite3.IntegrityError):
            StoreFile(store_path).run(sql)
    tables = ("payment_intent", "charge", "event", "entry", "delivery", "attempt", "call", "ussd_session")
    with closing(sqlite3.connect(store_path)) as connection:
        ids = [row[0] for table in tables for row in connection.execute(f"SELECT id FROM {table} ORDER BY seq")]
        assert connection.execute("SELECT number FROM entry ORDER BY seq").fetchall() == [(1,), (2,), (3,)]
    assert len(set(ids)) == len(ids)
    assert now_ms == START_MS + 3 * 5_000
    # What another has open is left as it is.
    with Workbench(seed=7, store=store_path) as stays:
        with Workbench(seed=7, store=store_path) as goes:
            pay_once(goes)
        assert {each.name for each in store_path.parent.iterdir()} >= {"store.db-driver", "store.db-next"}
        pay_once(stays)
    assert list(store_path.parent.iterdir()) == [store_path]
    with closing(opened(store_path)) as store, store.transaction() as tx:
        assert tx.journal.verify()[0] == 5


def modes(*paths: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in paths}


BESIDE = ("store.db", "store.db-wal", "store.db-shm", "store.db-driver", "store.db-next")


def test_a_store_and_what_stands_beside_it_are_their_owners_alone(tmp_path: Path):
    folders = named, kept = tmp_path / "named", tmp_path / "kept"
    for folder in folders:
        folder.mkdir()
    before = os.umask(0)  # what is made is everybody's, unless the sandbox sees to it
    try:
        with Workbench(seed=7, store=named / "store.db") as bench:
            pay_once(bench)
            assert modes(*named.iterdir()) == dict.fromkeys(BESIDE, 0o600)
            for each in named.iterdir():
                shutil.copy(each, kept)
                (kept / each.name).chmod(0o644)
        assert modes(*named.iterdir()) == {"store.db": 0o600}
        # As a process that was killed leaves it, made by an earlier workbench.
        with Workbench(store=kept / "store.db") as bench:
            pay_once(bench)
            assert set(modes(*kept.iterdir()).values()) == {0o600}
    finally:
        os.umask(before)


def test_a_mode_that_cannot_be_set_is_told(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    opened(store_path).close()
    store_path.chmod(0o664)

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refused)
    opened(store_path).close()
    assert f"{store_path} can be read by others" in caplog.text


def now_of(store: Store) -> int:
    with store.transaction() as tx:
        return tx.now_ms


def test_a_manual_clock_stands_a_running_one_goes_and_a_change_of_mode_jumps_nowhere(store_path: Path):
    wall = [1_000_000]
    now_ms = START_MS + 60_000
    with closing(opened(store_path, start_ms=START_MS, wall_ms=lambda: wall[0])) as store:
        wall[0] += 5_000
        assert now_of(store) == START_MS
        with store.transaction() as tx:
            tx.move_clock(now_ms)
        assert now_of(store) == now_ms
    with closing(opened(store_path, clock="running", wall_ms=lambda: wall[0])) as running:
        assert now_of(running) == now_ms
        wall[0] += 250
        assert now_of(running) == now_ms + 250
        with running.transaction() as tx:
            tx.move_clock(tx.now_ms + 1_000_000)
        assert now_of(running) == now_ms + 1_000_250
        now_ms += 1_000_000
    wall[0] += 750
    with closing(opened(store_path, wall_ms=lambda: wall[0])) as manual:
        assert now_of(manual) == now_ms + 1_000
        wall[0] += 1
        assert now_of(manual) == now_ms + 1_000


def test_what_a_step_counted_and_what_it_made_of_the_clock_are_undone_with_it(store_path: Path):
    with closing(opened(store_path)) as store:
        with store.transaction() as tx:
            assert tx.count_up("kind") == 1
            with suppress(KeyError), tx.savepoint():
                tx.move_clock(tx.now_ms + tx.count_up("kind"))
                raise KeyError
            assert (tx.count_up("kind"), tx.now_ms) == (2, START_MS)
        assert store.now_s() == START_MS // 1000
    with closing(opened(store_path)) as store, store.transaction() as tx:
        assert (tx.last("kind"), tx.now_ms) == (2, START_MS)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_number_is_given_once_and_one_that_was_undone_again(store_path: Path, *, is_kept: bool):
    with closing(opened(store_path if is_kept else None)) as store:
        with store.transaction() as tx:
            assert (tx.count_up("kind"), tx.last("kind")) == (1, 1)
        with suppress(KeyError), store.transaction() as tx:
            assert tx.count_up("kind") == 2
            raise KeyError
        with suppress(KeyError), store.reading() as tx:
            tx.new_read_id("other")
            raise KeyError
        with store.transaction() as tx:
            assert (tx.count_up("kind"), tx.count_up("other")) == (2, 1)


class InterruptedLock:
    """A lock at which Ctrl-C comes once, as it is `taken` or before."""

    def __init__(self, lock: threading.RLock, *, taken: bool) -> None:
        self._lock, self.release = lock, lock.release
        self._takes, self._interrupts = taken, True

    def acquire(self, *, blocking: bool = True, timeout: float = -1) -> bool:
        if self._interrupts:
            self._interrupts = False
            assert not self._takes or self._lock.acquire(blocking, timeout)
            raise KeyboardInterrupt
        return self._lock.acquire(blocking, timeout)


@contextmanager
def another_thread_commits(store: Store) -> Iterator[threading.Event]:
    """Another thread, whose command ends when the event is set, at the latest with the block."""
    began, ends = threading.Event(), threading.Event()

    def commit() -> None:
        with store.transaction():
            began.set()
            ends.wait(10)

    other = threading.Thread(target=commit, daemon=True)
    other.start()
    assert began.wait(10), "nothing holds it up"
    yield ends
    ends.set()
    other.join(10)
    assert not other.is_alive()


@pytest.mark.parametrize("begin", [lambda tx: tx.begin_in_turn(reads_only=False), Transaction.clock_if_due])
def test_an_interrupt_as_the_connection_is_taken_or_before_leaves_it_with_whom_it_was(
    store_path: Path, begin: Callable[[Transaction], object]
):
    with closing(opened(store_path)) as store:
        with store.transaction() as tx:
            pass
        own, tx.turn = tx.turn, cast("threading.RLock", InterruptedLock(tx.turn, taken=True))
        with pytest.raises(KeyboardInterrupt):
            begin(tx)
        with another_thread_commits(store):
            tx.turn = cast("threading.RLock", InterruptedLock(own, taken=False))
            with pytest.raises(KeyboardInterrupt):
                begin(tx)
            assert not own.acquire(blocking=False)
        tx.turn = own


@pytest.mark.parametrize("shared", [False, True])
def test_an_interrupt_once_a_command_is_committed_loses_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shared: bool
):
    def interrupted(_: Transaction) -> None:
        patch.undo()
        raise KeyboardInterrupt

    with closing(opened(tmp_path / "store.db" if shared else None)) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "_end", interrupted)
            with pytest.raises(KeyboardInterrupt), store.transaction() as tx:
                first = entry_of(tx, 100)
        with store.transaction() as tx:
            second = entry_of(tx, 200)
        with store.transaction() as tx:
            assert [tx.journal.get(entry.id) for entry in (first, second)] == [first, second]


def test_a_command_within_a_command_is_refused(store_path: Path):
    def nested(store: Store) -> None:
        with store.transaction() as tx:
            tx.note("outer", 1)
            with store.transaction() as inner:
                inner.note("inner", 1)

    with closing(opened(store_path)) as store:
        with pytest.raises(sqlite3.OperationalError, match="within a transaction"):
            nested(store)
        with store.transaction() as tx:
            assert (tx.last("outer"), tx.last("inner")) == (0, 0)


@pytest.mark.parametrize("has_file", [False, True])
def test_an_interrupt_as_the_driver_lock_waits_for_its_file_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool
):
    interrupts = [True]

    class Interrupted(sqlite3.Connection):
        """Ctrl-C comes once as the file is locked, or just before."""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # noqa: ANN401  those of sqlite3
            if sql.startswith("BEGIN") and interrupts:
                if has_file:
                    super().execute(sql)
                interrupts.clear()
                raise KeyboardInterrupt
            return super().execute(sql, *values)

    others = driver.DriverLock(tmp_path / "store.db")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Interrupted))
        lock = driver.DriverLock(tmp_path / "store.db")
    with pytest.raises(KeyboardInterrupt):
        lock.take()
    for each in (others, lock):
        assert each.take()
        each.give_back()
        each.close()


def test_what_another_made_due_is_seen_and_what_is_in_hand_counts(store_path: Path):
    with closing(opened(store_path)) as store, closing(opened(store_path)) as other:
        assert store.clock_if_due() is None
        with other.transaction() as tx:
            tx.schedule("night", "night")
            (job,) = tx.jobs.all()
        assert store.clock_if_due() == "manual"
        with other.transaction() as tx:
            tx.jobs.put(job, claimed=1)
        assert store.clock_if_due() == "manual"
        with other.transaction() as tx:
            tx.release_claims()
            assert tx.earliest_job(tx.now_ms) == job
            tx.jobs.put(job, due_ms=job.due_ms + 1)
        assert store.clock_if_due() is None
