"""A ledger and an operator's statement as files of any size, and what reading and comparing them takes by hand.

By hand is the least that anyone does in DuckDB: the columns are known, and nothing is checked beyond their types.
"""

from collections import Counter
from pathlib import Path

import duckdb

_MONTH = """
CREATE TABLE month AS SELECT
    range AS n, 10000000 + range AS id, hash(range, 9) % 1000 AS k,
    TIMESTAMP '2026-01-01 08:00:00' + to_seconds(range * 28 * 86400 // {rows}) AS moment,
    hash(range, 1) % 20 = 0 AS is_out,
    CAST(500 + hash(range, 2) % 90000 AS BIGINT) AS minor,
    printf('26096%07d', CAST(hash(range, 3) % 200000 AS BIGINT)) AS phone
FROM range({rows})
"""

_LEDGER = """
SELECT 'operator:mtn:float' AS account, CAST(id AS VARCHAR) AS key,
    strftime(moment, '%Y-%m-%d %H:%M:%S') AS occurred_at,
    printf('%s%d.%02d', CASE WHEN is_out THEN '-' ELSE '' END, minor // 100, minor % 100) AS amount,
    printf('%d.%02d', minor // 10000, minor // 100 % 100) AS fee
FROM month ORDER BY n
"""

_STATEMENT = """
WITH theirs AS (
    SELECT * REPLACE (CASE WHEN k = 2 THEN minor + 100 ELSE minor END AS minor,
        CASE WHEN k = 7 THEN id + 900000000 ELSE id END AS id) FROM month WHERE k <> 1),
booked AS (
    SELECT *, minor // 100 AS fee, 500000000 + sum(CASE WHEN is_out THEN -minor ELSE minor END - minor // 100)
        OVER (ORDER BY n) AS balance FROM theirs)
SELECT id AS "Id", strftime(moment, '%Y-%m-%d %H:%M:%S') AS "Date", 'Successful' AS "Status",
    CASE WHEN is_out THEN 'Transfer' ELSE 'Payment' END AS "Type",
    CASE WHEN is_out THEN 'FRI:26000000001/USER' ELSE printf('FRI:%s/MSISDN', phone) END AS "From",
    CASE WHEN is_out THEN printf('FRI:%s/MSISDN', phone) ELSE 'FRI:26000000001/USER' END AS "To",
    printf('%d.%02d', minor // 100, minor % 100) AS "Amount", printf('%d.%02d', fee // 100, fee % 100) AS "Fee",
    printf('%d.%02d', CAST(balance // 100 AS BIGINT), CAST(balance % 100 AS BIGINT)) AS "Balance"
FROM booked ORDER BY n
"""

_TABLES = """
CREATE TEMP TABLE ledger_csv AS FROM read_csv('{ledger}', header=true, columns={{
    'account': 'VARCHAR', 'key': 'VARCHAR', 'occurred_at': 'TIMESTAMP', 'amount': 'DECIMAL(18,2)',
    'fee': 'DECIMAL(18,2)'}});
CREATE TEMP TABLE statement_csv AS SELECT *, sender LIKE '%/USER' AS is_out
FROM read_csv('{statement}', header=true, columns={{
    'key': 'VARCHAR', 'occurred_at': 'TIMESTAMP', 'status': 'VARCHAR', 'type': 'VARCHAR', 'sender': 'VARCHAR',
    'taker': 'VARCHAR', 'amount': 'DECIMAL(18,2)', 'fee': 'DECIMAL(18,2)', 'balance': 'DECIMAL(18,2)'}})
"""

_READ = """
CREATE TABLE l AS SELECT account, key, occurred_at, signed, fee_minor,
    sum(signed - fee_minor) OVER (ORDER BY rowid) AS balance_minor,
    sha256(concat_ws('|', account, key, occurred_at, signed, fee_minor)) AS hash
FROM (SELECT rowid, account, key, occurred_at, CAST(amount * 100 AS BIGINT) AS signed, CAST(fee * 100 AS BIGINT)
        AS fee_minor FROM ledger_csv);
CREATE TABLE s AS SELECT *, balance_minor - lag(balance_minor) OVER (ORDER BY rowid) <> signed - fee_minor AS is_off
FROM (SELECT rowid, key, occurred_at, CAST(CASE WHEN is_out THEN -amount ELSE amount END * 100 AS BIGINT) AS signed,
    CAST(fee * 100 AS BIGINT) AS fee_minor, CAST(balance * 100 AS BIGINT) AS balance_minor FROM statement_csv)
"""

_BREAKS = """
SELECT CASE WHEN a.key IS NULL THEN 'missing_in_ledger' WHEN b.key IS NULL THEN 'missing_in_statement'
    WHEN a.signed <> b.signed THEN 'amount_mismatch' ELSE 'fee_mismatch' END AS code, count(*) AS breaks
FROM l a FULL JOIN s b USING (key)
WHERE a.key IS NULL OR b.key IS NULL OR a.signed <> b.signed OR a.fee_minor <> b.fee_minor GROUP BY ALL
"""

_SUMS = """
SELECT 'l' AS side, CAST(occurred_at AS DATE) AS day, count(*), sum(signed), sum(fee_minor) FROM l GROUP BY ALL
UNION ALL SELECT 's', CAST(occurred_at AS DATE), count(*), sum(signed), sum(fee_minor) FROM s GROUP BY ALL
"""


def write_files(folder: Path, rows: int) -> tuple[Path, Path]:
    """`ledger.csv` with so many rows and `mtn.csv`, as the operator exports it, with about as many.

    In a thousand rows the statement lacks one, has one of another amount, and one under another key.
    """
    ledger, statement = folder / "ledger.csv", folder / "mtn.csv"
    with duckdb.connect() as connection:
        connection.execute(_MONTH.format(rows=rows))
        for query, path in ((_LEDGER, ledger), (_STATEMENT, statement)):
            connection.execute(f"COPY ({query}) TO '{path}' (FORMAT csv)")
    return ledger, statement


def reconcile_files_by_sql(ledger: Path, statement: Path) -> Counter[str]:
    """Code → breaks; the running balance, the sums by day and a hash of each row of the ledger are worked out too."""
    with duckdb.connect() as connection:
        connection.execute(_TABLES.format(ledger=ledger, statement=statement))
        connection.execute(_READ)
        assert connection.sql("SELECT count(*) FROM s WHERE is_off").fetchall() == [(0,)]
        connection.sql(_SUMS).fetchall()
        return Counter(dict(connection.sql(_BREAKS).fetchall()))
