"""A file that is cut into columns at once is read as one that is cut line by line."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.analysis.statements import Layout, read_ledger, read_statement
from workbench.domain.phones import mask_phone, phone_hash
from workbench.errors import StatementRefused

LAYOUT = Layout(
    name="mine",
    account="bank:settlement",
    dates=("%d/%m/%Y",),
    columns={"key": "Key", "moment": "Day", "amount": "Amount", "description": "Text"},
    footers=("Total",),
)
CELLS = st.sampled_from(
    ["", " ", "x", "é", "77", "05/01/2026", "31/02/2026", "1.50", "-2.00", "0", "Total", "#REF!", "5' pipe", "Key",
     '""', '" "', '"a,b"', '"two\nlines"', '"say ""hi"""', '"05/01/2026"', '"1.50"', '5" pipe', '"a" b', '"open']
)  # fmt: skip
GOOD = ["77", "05/01/2026", "1.50", '"two\nlines"']


ROWS = st.lists(st.just(GOOD) | st.lists(CELLS, min_size=1, max_size=6), max_size=8)


@pytest.mark.thorough
@given(rows=ROWS, ends=st.sampled_from(["\n", "\r\n"]))
@example(rows=[GOOD, ["Total", "1.50"]], ends="\n")
@example(rows=[GOOD, ["78", "05/01/2026"], GOOD, ["", "", "", "goes on"], [*GOOD, "more"]], ends="\n")
@example(rows=[[*GOOD, ""], [*GOOD, ""], GOOD], ends="\r\n")
@example(rows=[["", " ", "", ""], GOOD], ends="\n")
@example(rows=[GOOD, ['"a"" b', *GOOD[1:]], ['x"', *GOOD[1:]]], ends="\n")
def test_the_end_of_lines_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], ends: str
):
    lines = ["Key,Day,Amount,Text", *map(",".join, rows)]
    # Lines that end as those of old Macs are cut one by one.
    at_once, one_by_one = (_read(tmp_path_factory.getbasetemp(), end.join(lines)) for end in (ends, "\r"))
    assert at_once == one_by_one


def _read(folder: Path, text: str) -> object:
    path = folder / "mine.csv"
    path.write_text(text, "utf-8", newline="")
    try:
        read = read_statement(path, layout=LAYOUT)
    except StatementRefused as refusal:
        return str(refusal)
    return read.rows.astype("object").where(read.rows.notna(), None).to_dict("records"), read.joined, read.period


@pytest.mark.parametrize("key", [b"k" * 32, b"longer than one block of the hash: " * 3])
def test_a_number_has_one_mask_and_one_hash_however_it_is_spelled(key: bytes):
    spelled = ["0961234567", "961234567", "260961234567", "2600961234567", "+260961234567", "00260961234567",
               " 0961234567", "096 123 4567", "(096) 123-4567", "+260 96-123.4567"]  # fmt: skip
    others = ["0961234568", "+254712345678", "0961234", "x", ""]
    table = {"account": "a", "key": [*map(str, range(15))], "occurred_at": "2026-01-05", "amount": "1.00"}
    rows = read_ledger(pd.DataFrame({**table, "phone": spelled + others}), phone_key=key).rows
    hashes = [each if pd.isna(each) else each.partition(":")[2] for each in rows["phone_hash"]]
    assert [*rows["phone"][:10]] == [mask_phone("+260961234567")] * 10
    assert hashes[:10] == [phone_hash("0961234567", key)] * 10
    assert hashes[10:12] == [phone_hash(each, key) for each in others[:2]]
    assert rows["phone_hash"].isna().tolist() == [False] * 12 + [True] * 3
