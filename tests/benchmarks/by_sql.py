"""The same classification, written by hand for DuckDB: what the package's time is measured against."""

from pathlib import Path

import duckdb
import pandas as pd

_SIDE = """
CREATE VIEW {side} AS SELECT account, key, batch, coalesce(batch, key) AS g, epoch_ms(occurred_at) AS ms,
    business_date AS d, direction, amount_minor, fee_minor, currency, status, phone, {others},
    CASE WHEN status = 'completed' THEN
        CASE WHEN direction = 'in' THEN amount_minor ELSE -amount_minor END - fee_minor ELSE 0 END AS signed,
    key IS NOT NULL AND amount_minor >= 0 AND fee_minor >= 0 AND currency IS NOT NULL AND business_date IS NOT NULL
        AND direction IN ('in', 'out') AND status IN ('completed', 'failed', 'pending') AND {good} AS good
FROM read_parquet('{path}');
"""

_SPECIAL = """
CREATE TABLE special AS
    SELECT account, g FROM l WHERE good GROUP BY account, g HAVING count(*) > 1 OR count(batch) > 0
    UNION SELECT account, g FROM s WHERE good GROUP BY account, g HAVING count(*) > 1 OR count(batch) > 0;
CREATE TABLE ls AS SELECT *, row_number() OVER (PARTITION BY account, g ORDER BY ms, number) AS place
    FROM l SEMI JOIN special USING (account, g) WHERE good;
CREATE TABLE ss AS SELECT *, row_number() OVER (PARTITION BY account, g ORDER BY ms, statement, line) AS place
    FROM s SEMI JOIN special USING (account, g) WHERE good;
CREATE TABLE batched AS SELECT account, g FROM ls WHERE batch IS NOT NULL
    UNION SELECT account, g FROM ss WHERE batch IS NOT NULL;
"""

_PAIRS = """
CREATE TABLE open AS
WITH a AS (SELECT * FROM l ANTI JOIN special USING (account, g) WHERE good
         UNION ALL BY NAME SELECT * EXCLUDE place FROM (FROM ls ANTI JOIN batched USING (account, g)) WHERE place = 1),
     b AS (SELECT * FROM s ANTI JOIN special USING (account, g) WHERE good
         UNION ALL BY NAME SELECT * EXCLUDE place FROM (FROM ss ANTI JOIN batched USING (account, g)) WHERE place = 1)
SELECT account, g,
    CASE WHEN a.number IS NULL OR b.line IS NULL THEN 'one_sided'
         WHEN a.currency <> b.currency THEN 'currency_mismatch'
         WHEN (a.status = 'completed') <> (b.status = 'completed') THEN 'status_mismatch'
         WHEN a.direction <> b.direction THEN 'direction_mismatch'
         WHEN a.amount_minor <> b.amount_minor THEN 'amount_mismatch'
         WHEN a.fee_minor <> b.fee_minor THEN 'fee_mismatch'
         WHEN abs(a.d - b.d) > 1 THEN 'date_mismatch'
         WHEN a.state = 'in_suspense' THEN 'late_success' END AS code,
    a.key AS l_key, a.entry, a.number, a.signed AS l_signed, a.d AS l_d, a.ms AS l_ms, a.direction AS l_direction,
    a.amount_minor AS l_amount, a.fee_minor AS l_fee, a.currency AS l_currency, a.status AS l_status,
    a.phone AS l_phone, a.kind, a.reverses, a.state,
    b.key AS s_key, b.statement, b.line, b.signed AS s_signed, b.d AS s_d, b.ms AS s_ms, b.direction AS s_direction,
    b.amount_minor AS s_amount, b.fee_minor AS s_fee, b.currency AS s_currency, b.status AS s_status,
    b.phone AS s_phone, b.type, b.related, 1 AS rows
FROM a FULL JOIN b USING (account, g)
WHERE code IS NOT NULL AND (code <> 'one_sided' OR coalesce(a.status, b.status) = 'completed');
"""

_GROUPS = """
CREATE TABLE groups AS
WITH a AS (SELECT account, g, count(*) AS n, sum(signed)::BIGINT AS total, min(currency) AS least,
               max(currency) AS most, arg_min(key, place) AS key, arg_min(entry, place) AS entry,
               arg_min(d, place) AS d, arg_min(kind, place) AS kind, arg_min(reverses, place) AS reverses
           FROM ls SEMI JOIN batched USING (account, g) GROUP BY account, g),
     b AS (SELECT account, g, count(*) AS n, sum(signed)::BIGINT AS total, min(currency) AS least,
               max(currency) AS most, arg_min(key, place) AS key, arg_min(statement, place) AS statement,
               arg_min(line, place) AS line, arg_min(d, place) AS d, arg_min(type, place) AS type,
               arg_min(related, place) AS related
           FROM ss SEMI JOIN batched USING (account, g) GROUP BY account, g)
SELECT account, g, CASE WHEN a.n IS NULL OR b.n IS NULL THEN 'one_sided' ELSE 'batch_mismatch' END AS code,
    a.key AS l_key, a.entry, a.total AS l_signed, a.d AS l_d, a.kind, a.reverses, a.least AS l_currency,
    b.key AS s_key, b.statement, b.line, b.total AS s_signed, b.d AS s_d, b.type, b.related, b.least AS s_currency,
    coalesce(a.n, 0) + coalesce(b.n, 0) AS rows
FROM a FULL JOIN b USING (account, g)
WHERE coalesce(a.total, 0) <> coalesce(b.total, 0)
   OR least(a.least, b.least) <> greatest(a.most, b.most);
"""

_PARTNERS = """
CREATE TABLE met AS
WITH p AS (SELECT a.account, a.g AS l_g, b.g AS s_g
    FROM open a JOIN open b ON a.account = b.account AND a.l_currency = b.s_currency AND a.l_direction = b.s_direction
        AND a.l_amount = b.s_amount AND a.l_phone = b.s_phone
        AND CASE WHEN a.l_ms IS NULL OR b.s_ms IS NULL THEN a.l_d = b.s_d ELSE abs(a.l_ms - b.s_ms) <= 900000 END
    WHERE a.code = 'one_sided' AND b.code = 'one_sided' AND a.line IS NULL AND b.number IS NULL)
SELECT *, count(*) OVER (PARTITION BY account, l_g) AS l_n, count(*) OVER (PARTITION BY account, s_g) AS s_n FROM p;
"""

_BREAKS = """
CREATE TABLE breaks AS
WITH closing AS (SELECT account, max(d) AS last FROM s WHERE good GROUP BY account),
ends AS (SELECT account, l_g AS g, max(CASE WHEN l_n = 1 AND s_n = 1 THEN 1 ELSE 2 END) AS n FROM met GROUP BY ALL
         UNION ALL SELECT account, s_g, max(CASE WHEN l_n = 1 AND s_n = 1 THEN 1 ELSE 2 END) FROM met GROUP BY ALL),
waiting AS (SELECT o.*, ends.n FROM (
        SELECT * FROM open WHERE code = 'one_sided' UNION ALL BY NAME SELECT * FROM groups WHERE code = 'one_sided') o
    LEFT JOIN ends USING (account, g)),
lonely AS (SELECT w.* EXCLUDE (code, n), CASE
        WHEN n = 2 THEN 'ambiguous'
        WHEN line IS NULL AND reverses IS NOT NULL THEN 'reversed_unmatched'
        WHEN line IS NOT NULL AND type = 'reversal' AND EXISTS (
            FROM l WHERE l.account = w.account AND l.key = w.related) THEN 'reversed_unmatched'
        WHEN coalesce(s_d, l_d) > last - 1 THEN 'timing'
        WHEN line IS NULL AND kind = 'payout_paid' THEN 'payout_unpaid'
        WHEN line IS NULL THEN 'missing_in_statement' ELSE 'missing_in_ledger' END AS code
    FROM waiting w JOIN closing USING (account) WHERE n IS NULL OR n = 2),
pairs AS (SELECT 'wrong_reference' AS code, 2 AS rows,
        COLUMNS(a.* EXCLUDE (code, rows, g, s_key, statement, line, s_signed, s_d, s_ms, s_direction, s_amount, s_fee,
            s_currency, s_status, s_phone, type, related)),
        b.g, b.s_key, b.statement, b.line, b.s_signed, b.s_d, b.s_currency, b.s_phone
    FROM met JOIN open a ON a.account = met.account AND a.g = met.l_g AND a.code = 'one_sided'
        JOIN open b ON b.account = met.account AND b.g = met.s_g AND b.code = 'one_sided'
    WHERE l_n = 1 AND s_n = 1),
everything AS (
    SELECT * FROM open WHERE code <> 'one_sided' UNION ALL BY NAME SELECT * FROM groups WHERE code <> 'one_sided'
    UNION ALL BY NAME SELECT * FROM pairs UNION ALL BY NAME SELECT * FROM lonely
    UNION ALL BY NAME SELECT 'invalid_row' AS code, account, key AS l_key, entry, signed AS l_signed, d AS l_d,
        currency AS l_currency, phone AS l_phone, 1 AS rows FROM l WHERE good IS NOT TRUE
    UNION ALL BY NAME SELECT 'invalid_row' AS code, account, key AS s_key, statement, line, signed AS s_signed,
        d AS s_d, currency AS s_currency, phone AS s_phone, 1 AS rows FROM s WHERE good IS NOT TRUE
    UNION ALL BY NAME SELECT 'duplicate_in_ledger' AS code, account, key AS l_key, entry, signed AS l_signed,
        d AS l_d, currency AS l_currency, phone AS l_phone, 1 AS rows
        FROM ls ANTI JOIN batched USING (account, g) WHERE place > 1
    UNION ALL BY NAME SELECT 'duplicate_in_statement' AS code, account, key AS s_key, statement, line,
        signed AS s_signed, d AS s_d, currency AS s_currency, phone AS s_phone, 1 AS rows
        FROM ss ANTI JOIN batched USING (account, g) WHERE place > 1)
SELECT code, account, coalesce(s_key, l_key) AS key, statement, line, entry, l_signed, s_signed,
    coalesce(l_signed, 0) - coalesce(s_signed, 0) AS variance_minor, coalesce(s_currency, l_currency) AS currency,
    least(l_d, s_d) AS business_date, greatest(last - least(l_d, s_d), 0) AS age_days,
    coalesce(s_phone, l_phone) AS phone, rows
FROM everything LEFT JOIN closing USING (account)
ORDER BY account, business_date, code, statement, line, key, entry;
"""

_TOTALS = """
SELECT account, d, currency, count(*) AS rows, sum(abs(signed))::BIGINT AS value, sum(signed)::BIGINT AS signed
FROM {side} GROUP BY ALL ORDER BY ALL
"""


def reconcile_by_sql(ledger: Path, statement: Path) -> pd.DataFrame:
    """The breaks; the totals of both sides by account and day are worked out too, for the summary and the proof."""
    with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
        others = "entry, number, kind, reverses, state"
        connection.execute(_SIDE.format(side="l", path=ledger, others=others, good="true"))
        others = "statement, line, type, related, problem"
        connection.execute(_SIDE.format(side="s", path=statement, others=others, good="problem IS NULL"))
        for step in (_SPECIAL, _PAIRS, _GROUPS, _PARTNERS, _BREAKS):
            connection.execute(step)
        for side in ("l", "s"):
            connection.sql(_TOTALS.format(side=side)).to_arrow_table().to_pandas()
        made: pd.DataFrame = connection.table("breaks").to_arrow_table().to_pandas()
        return made
