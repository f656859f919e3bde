"""A store's file with a byte changed on disk: found, located, and never taken for the truth.

The records of the ledger are located in the file by their own encoding, so that each column is hit
where it stands: no trigger is asked, no SQL is run.
"""

import itertools
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import StoreFile
from workbench import Workbench
from workbench.domain import ledger
from workbench.domain.ledger import JournalEntry
from workbench.errors import LedgerRefused, PaymentDeclined, StoreRefused
from workbench.sandbox.store import Settings, Store, Transaction

PHONE = "+260961234567"
ENTRY = tuple(name for name in JournalEntry.__struct_fields__ if name != "postings")
POSTING = ("entry", "line", "account", "code", "side", "amount_minor", "currency")
TARGET = 4
"""The number of the entry that is hit: it reverses another, so that none of its columns is empty."""
THE_TARGET = f"SELECT id FROM entry WHERE number = {TARGET}"  # noqa: S608  a number of this file
FLIPS = 150
"""How many bits of the whole file are tried."""


KEYS = {("entry", "number"), ("posting", "entry"), ("posting", "line")}
"""Columns that indexes repeat: SQLite reads them from whichever copy is nearer, and its own check compares the two."""
SEALED = [(table, name) for table, names in (("entry", ENTRY), ("posting", POSTING)) for name in names]
Records = dict[str, list[tuple[int, bytes, dict[str, int]]]]


@contextmanager
def opened(path: Path) -> Iterator[Transaction]:
    with closing(Store(Settings(path=path), new_seed=lambda: "drawn")) as store, store.transaction() as tx:
        yield tx


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The closed file of a run with intents, charges, refusals, a reversal and webhooks; all of it checked."""
    path = tmp_path_factory.mktemp("flipped") / "store.db"
    with Workbench(seed=7, store=path) as bench:
        pay = bench.client
        for provider, prefix in (("mtn", "96"), ("airtel", "97"), ("zamtel", "95")):
            phone = f"+260{prefix}1234567"
            intent = pay.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
            pay.payment_intents.confirm(intent.id, phone=phone, provider=provider)
            bench.phone(phone).enter_pin("1234")
    with opened(path) as tx:
        original = next(tx.journal.entries())
        mirror = {"reverses": original.id, "postings": ledger.mirrored(original.postings)}
        new = {"id": tx.new_id("je"), "seq": tx.next_seq(), "occurred_ms": tx.now_ms, "recorded_ms": tx.now_ms}
        tx.journal.append(msgspec.structs.replace(original, **mirror, **new))
    with Workbench(store=path) as bench:
        for number, phone in enumerate((PHONE, "+260960000001", "+260960000004")):
            charge = {"amount": 100 + number, "channel": "mtn", "phone": phone}
            with suppress(PaymentDeclined):
                bench.client.charges.create(**charge, idempotency_key=f"order-{number}")
        bench.clock.advance(hours=5)
        assert bench.ledger.verify()
    assert StoreFile(path).is_whole()
    return path


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """Where copies are written: in memory if the system has a folder for that, as a disk is waited for at each."""
    shared = Path("/dev/shm")  # noqa: S108  a folder of its own is made in it
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else tmp_path) as folder:
        yield Path(folder)


def read_back(path: Path) -> tuple[int, str, list[JournalEntry]]:
    """What a reader of the ledger gets, once it is verified. Raises what the sandbox raises."""
    with opened(path) as tx:
        return (*tx.journal.verify(), list(tx.journal.entries()))


# SQLite's record: a header of serial types, then the values (www.sqlite.org/fileformat2.html, section 2.1).


def encoded(values: tuple[Any, ...]) -> tuple[bytes, list[int]]:
    """A row as it stands in the file, and for each column the place of its first byte in that.

    The integers 0 and 1 and NULL have no byte of their own: they are told by their type in the header.
    """
    parts = [serial(value) for value in values]
    types = b"".join(varint(kind) for kind, _ in parts)
    header = bytes([len(types) + 1]) + types
    places, in_header, in_body = [], 1, len(header)
    for kind, content in parts:
        places.append(in_body if content else in_header)
        in_header += len(varint(kind))
        in_body += len(content)
    return header + b"".join(content for _, content in parts), places


def serial(value: str | int | None) -> tuple[int, bytes]:
    if value is None:
        return 0, b""
    if isinstance(value, str):
        return 13 + 2 * len(value.encode()), value.encode()
    if value in (0, 1):
        return 8 + value, b""
    kind, size = next((kind, size) for kind, size in ((1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (6, 8))
                      if -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1)  # fmt: skip
    return kind, value.to_bytes(size, "big", signed=True)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 0x80 else bytes([0x80 | number >> 7, number & 0x7F])


@pytest.fixture(scope="module")
def records(paid: Path) -> Records:
    """The target's rows in the file: table → [(offset, bytes, column → place)]."""
    content = paid.read_bytes()
    found: Records = {}
    for table, key, names in (("entry", "id", ENTRY), ("posting", "entry", POSTING)):
        for row in StoreFile(paid).rows(f"SELECT {', '.join(names)} FROM {table} WHERE {key} = ({THE_TARGET})"):  # noqa: S608  names above
            record, places = encoded(row)
            assert content.count(record) == 1, f"{row} stands {content.count(record)} times in the file"
            found.setdefault(table, []).append((content.index(record), record, dict(zip(names, places, strict=True))))
    return found


def flipped(paid: Path, there: Path, place: int, bit: int = 0) -> Path:
    """A copy of the file with one bit of one byte changed."""
    content = bytearray(paid.read_bytes())
    content[place] ^= 1 << bit
    there.write_bytes(content)
    return there


@pytest.mark.parametrize("at", SEALED, ids=".".join)
def test_a_flipped_bit_of_the_ledger_is_refused_and_its_entry_named(
    paid: Path, records: Records, memory: Path, at: tuple[str, str]
):
    table, column = at
    ((entry_id,),) = StoreFile(paid).rows(THE_TARGET)
    for (offset, record, places), bit in itertools.product(records[table], range(8)):
        copy = flipped(paid, memory / "copy.db", offset + places[column], bit)
        assert record not in copy.read_bytes()
        with pytest.raises(LedgerRefused) as refused:
            verified(copy)
        if "damage" in refused.value.facts:
            assert at in KEYS or "UTF-8" in str(refused.value) or "malformed" in str(refused.value)
        elif at not in KEYS:
            assert refused.value.facts.get("place", TARGET) == TARGET
            assert entry_id in str(refused.value)


def verified(path: Path) -> tuple[int, str]:
    with opened(path) as tx:
        return tx.journal.verify()


def unnoticed(copy: Path) -> tuple[int, str, list[JournalEntry]] | None:
    """What is read back if neither the chain nor the opening nor SQLite's own check tells of the damage."""
    try:
        read = read_back(copy)
        return read if StoreFile(copy).is_whole() else None
    except (LedgerRefused, StoreRefused, sqlite3.DatabaseError):
        return None


@pytest.mark.thorough
def test_a_flipped_bit_anywhere_leaves_the_ledger_or_is_found(paid: Path, memory: Path):
    """Most of the file is no ledger: there a flip may pass, and what the ledger holds is the same to the byte."""
    draws, size, truth = random.Random(7), paid.stat().st_size, read_back(paid)  # noqa: S311  places, no secrets
    found, ledger = 0, ledger_of(paid)
    for _ in range(FLIPS):
        copy = flipped(paid, memory / "copy.db", draws.randrange(size), draws.randrange(8))
        read = unnoticed(copy)
        if read is None:
            found += 1
        else:
            assert read == truth
            assert ledger_of(copy) == ledger
    assert 0 < found < FLIPS


def ledger_of(path: Path) -> list[tuple[Any, ...]]:
    tables = ("entry ORDER BY number", "posting ORDER BY entry, line")
    return [row for each in tables for row in StoreFile(path).rows(f"SELECT * FROM {each}")]  # noqa: S608  names above


def test_a_chain_that_was_written_anew_is_found_by_the_head_that_was_kept(paid: Path, tmp_path: Path):
    """Who holds the file can seal it all again: then each link holds, and the head is another."""
    number, head, entries = read_back(paid)
    forged = shutil.copy(paid, tmp_path / "forged.db")
    with closing(sqlite3.connect(forged)) as connection:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('entry', 'posting')"
        for (trigger,) in connection.execute(triggers).fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        # A fifth of what was paid: every amount of one entry, so that it balances still.
        for place in (0, 3):
            fifth = "UPDATE posting SET amount_minor = amount_minor / 5 WHERE entry = ?"
            connection.execute(fifth, (entries[place].id,))
        connection.commit()
        prev_hash = ledger.GENESIS
        with opened(forged) as tx:
            changed = list(tx.journal.entries())
        for entry in changed:
            sealed = msgspec.structs.replace(entry, prev_hash=prev_hash).sealed()
            prev_hash = sealed.hash
            connection.execute("UPDATE entry SET prev_hash = ?, hash = ? WHERE id = ?",
                               (sealed.prev_hash, sealed.hash, sealed.id))  # fmt: skip
        connection.commit()
    assert StoreFile(forged).is_whole()
    with pytest.raises(LedgerRefused, match="add up to another balance"):
        verified(forged)
    with opened(forged) as tx:
        tx.journal.add_up()
    assert read_back(forged)[:2] == (number, prev_hash)
    assert prev_hash != head


def test_a_chain_that_lost_its_end_is_found_by_the_number_and_the_head_that_were_kept(paid: Path, tmp_path: Path):
    number, head, _ = read_back(paid)
    shorter = shutil.copy(paid, tmp_path / "shorter.db")
    last = f"(SELECT id FROM entry WHERE number = {number})"  # noqa: S608  a number that was read
    StoreFile(Path(shorter)).run(f"""
        DROP TRIGGER entry_remains; DROP TRIGGER posting_remains;
        DELETE FROM posting WHERE entry = {last}; DELETE FROM entry WHERE id = {last};
    """)  # noqa: S608  the same
    assert StoreFile(shorter).is_whole()
    with opened(shorter) as tx:
        tx.journal.add_up()
    assert read_back(shorter)[0] == number - 1
    assert read_back(shorter)[1] != head
