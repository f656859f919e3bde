"""A ledger and a statement of any size as Parquet, the same in every run, with breaks of most kinds in them.

In a hundred thousand rows: 500 in batches of three against one line, 600 breaks, 2,000 failed attempts.
"""

from pathlib import Path

import duckdb

_KEYS = """
CREATE VIEW numbered AS SELECT
    range AS n, hash(range, 42) AS h,
    'operator:' || (['mtn', 'airtel', 'zamtel'])[1 + range % 3] || ':float' AS account,
    printf('MP2601%02d.%04d.%09d', 1 + range * 28 // {rows}, range % 2400, range) AS key,
    TIMESTAMPTZ '2026-01-01 06:00:00+00' + to_milliseconds(range * 28 * 86400000 // {rows}) AS occurred_at,
    CASE WHEN hash(range, 1) % 20 = 0 THEN 'out' ELSE 'in' END AS direction,
    CAST(500 + hash(range, 2) % 90000 AS BIGINT) AS amount_minor,
    printf('+2609%d••••%03d', 5 + range % 3, hash(range, 3) % 1000) AS phone,
    range % 600 AS kind_of
FROM range({rows})
"""

_LEDGER = """
SELECT account, key,
    CASE WHEN kind_of < 3 THEN printf('STL%012d', n // 600) END AS batch,
    occurred_at, CAST(occurred_at + INTERVAL 2 HOUR AS DATE) AS business_date,
    direction, amount_minor, amount_minor // 100 AS fee_minor, 'ZMW' AS currency, 'completed' AS status, phone,
    printf('je_%020d', n) AS entry, n + 1 AS number,
    CASE WHEN kind_of = 3 THEN 'payout_paid' ELSE 'funds_secured' END AS kind,
    NULL::VARCHAR AS payment, NULL::VARCHAR AS reverses,
    CASE WHEN h % 5000 = 1 THEN 'in_suspense' ELSE 'posted' END AS state,
    CAST(NULL AS BIGINT) AS balance_minor
FROM {given}
"""

_STATEMENT = """
SELECT split_part(account, ':', 2) || '.csv' AS statement, row_number() OVER (ORDER BY n, again) + 1 AS line,
    account, key, CAST(NULL AS VARCHAR) AS batch, occurred_at, business_date, direction, amount_minor, fee_minor,
    currency, status, phone, 'payment' AS type, NULL::VARCHAR AS related, '' AS description,
    CAST(NULL AS BIGINT) AS balance_minor, NULL::VARCHAR AS problem
FROM (
    SELECT n, 0 AS again, account, direction, currency, phone,
        CASE WHEN k = 7 THEN 'X' || key ELSE key END AS key,
        CASE WHEN k = 7 THEN occurred_at + INTERVAL 1 MINUTE ELSE occurred_at END AS occurred_at,
        CASE WHEN k = 4 THEN business_date + 5 ELSE business_date END AS business_date,
        CASE WHEN k = 2 THEN amount_minor + 100 ELSE amount_minor END AS amount_minor,
        CASE WHEN k = 3 THEN fee_minor + 1 ELSE fee_minor END AS fee_minor,
        CASE WHEN k = 5 THEN 'failed' ELSE status END AS status
    FROM (SELECT *, number - 1 AS n, hash(number, 9) % 1000 AS k FROM ledger WHERE batch IS NULL) WHERE k <> 1
    UNION ALL
    SELECT min(number) - 1, 0, account, 'in', 'ZMW', NULL, batch, min(occurred_at), min(business_date),
        sum(CASE WHEN direction = 'in' THEN amount_minor ELSE -amount_minor END - fee_minor)::BIGINT
            + CASE WHEN min(number) % 2400 = 1 THEN 7 ELSE 0 END, 0, 'completed'
    FROM ledger WHERE batch IS NOT NULL GROUP BY account, batch
    UNION ALL
    SELECT number - 1, 1, account, direction, currency, phone, key, occurred_at, business_date, amount_minor,
        fee_minor, status FROM ledger WHERE batch IS NULL AND hash(number, 9) % 1000 = 8
    UNION ALL
    SELECT number - 1, 2, account, direction, currency, phone, 'F' || key, occurred_at, business_date, amount_minor,
        0, CASE WHEN hash(number, 9) % 1000 = 100 THEN 'completed' ELSE 'failed' END
    FROM ledger WHERE hash(number, 9) % 1000 BETWEEN 100 AND 120
)
"""


def write_tables(folder: Path, rows: int) -> tuple[Path, Path]:
    """`ledger.parquet` with so many rows and `statement.parquet` with about as many."""
    ledger, statement = folder / "ledger.parquet", folder / "statement.parquet"
    with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(_KEYS.format(rows=rows))
        # Batches are of one account each: three rows of neighbours in one float.
        given = "(SELECT * REPLACE ('operator:mtn:float' AS account) FROM numbered WHERE kind_of < 3 UNION ALL "
        given += "SELECT * FROM numbered WHERE kind_of >= 3)"
        connection.execute(f"COPY ({_LEDGER.format(given=given)}) TO '{ledger}' (FORMAT parquet)")
        connection.execute(f"CREATE VIEW ledger AS FROM '{ledger}'")
        connection.execute(f"COPY ({_STATEMENT}) TO '{statement}' (FORMAT parquet)")
    return ledger, statement
