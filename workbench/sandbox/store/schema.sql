-- One sandbox. Times are milliseconds since 1970, amounts whole minor units, lists and maps JSON text.
-- `seq` is the order in which things happened, from one counter; virtual time ties, so nothing sorts by time. Rows lie
-- in the file in that order, and need no index for it.

CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE IF NOT EXISTS clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    mode TEXT NOT NULL CHECK (mode IN ('manual', 'running')),
    manual_ms INTEGER NOT NULL,   -- the moment, when manual
    offset_ms INTEGER NOT NULL    -- added to the wall clock, when running
) STRICT;

CREATE TABLE IF NOT EXISTS counter (kind TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS account (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;

CREATE TABLE IF NOT EXISTS api_key (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL REFERENCES account (id), kind TEXT NOT NULL, status TEXT NOT NULL, masked TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS token (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    access_digest TEXT NOT NULL UNIQUE, refresh_digest TEXT NOT NULL UNIQUE,
    issued_ms INTEGER NOT NULL, retired INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE IF NOT EXISTS payment_intent (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    client_secret TEXT NOT NULL, amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL,
    status TEXT NOT NULL, description TEXT, payment_method_types TEXT NOT NULL, phone TEXT, provider TEXT,
    latest_charge TEXT, failure_code TEXT, cancellation_reason TEXT, canceled_ms INTEGER, metadata TEXT NOT NULL, warnings TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS charge (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL, channel TEXT NOT NULL,
    provider TEXT NOT NULL, phone TEXT NOT NULL, status TEXT NOT NULL, reference TEXT,
    payment_intent TEXT REFERENCES payment_intent (id), failure_code TEXT,
    refunded_minor INTEGER NOT NULL CHECK (refunded_minor BETWEEN 0 AND amount_minor), metadata TEXT NOT NULL,
    warnings TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS charge_phone ON charge (phone, seq);
CREATE INDEX IF NOT EXISTS charge_intent ON charge (payment_intent);
CREATE INDEX IF NOT EXISTS charge_alone ON charge (account, seq) WHERE payment_intent IS NULL;

-- What a merchant calls a payment: an intent with its latest attempt, or a charge that was made without one.
-- Without a join, and with the same affinities in both halves: so SQLite flattens it, and reads by their indexes.
CREATE VIEW IF NOT EXISTS payment AS
SELECT id, seq, account, amount_minor, currency, description, phone, provider, latest_charge AS charge, failure_code,
    created_ms, CAST(coalesce((SELECT refunded_minor FROM charge AS tried
        WHERE tried.id = latest_charge), 0) AS INTEGER) AS refunded_minor,
    CASE WHEN status IN ('requires_action', 'processing') THEN 'waiting' WHEN status = 'canceled' THEN 'canceled'
         WHEN status = 'requires_payment_method' AND failure_code IS NULL THEN 'new'
         WHEN status <> 'succeeded' THEN 'failed'
         ELSE (SELECT CASE refunded_minor WHEN 0 THEN 'succeeded' WHEN amount_minor THEN 'refunded'
                      ELSE 'part_refunded' END FROM charge AS tried WHERE tried.id = latest_charge)
    END AS state
FROM payment_intent
UNION ALL
SELECT id, seq, account, amount_minor, currency, reference, phone, provider, id, failure_code, created_ms,
    refunded_minor,
    CASE WHEN status = 'pending' THEN 'waiting' WHEN status <> 'succeeded' THEN 'failed' WHEN refunded_minor = 0
         THEN 'succeeded' WHEN refunded_minor < amount_minor THEN 'part_refunded' ELSE 'refunded' END
FROM charge WHERE payment_intent IS NULL;

CREATE TABLE IF NOT EXISTS refund (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    charge TEXT NOT NULL REFERENCES charge (id), of_intent INTEGER NOT NULL, payment_intent TEXT,
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL, entry TEXT NOT NULL,
    status TEXT NOT NULL, reason TEXT, scenario TEXT, failure_code TEXT, metadata TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS refund_charge ON refund (charge);

CREATE TABLE IF NOT EXISTS payout (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL, status TEXT NOT NULL,
    destination TEXT, scenario TEXT, failure_code TEXT, metadata TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS payout_status ON payout (status, seq);

CREATE TABLE IF NOT EXISTS ussd_session (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, charge TEXT NOT NULL REFERENCES charge (id), phone TEXT NOT NULL,
    operator TEXT NOT NULL, merchant TEXT NOT NULL, amount_minor INTEGER NOT NULL, currency TEXT NOT NULL,
    reference TEXT, tries_left INTEGER NOT NULL, expires_ms INTEGER NOT NULL, scenario TEXT NOT NULL,
    screen TEXT NOT NULL, reason TEXT, ended_seq INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS ussd_session_phone ON ussd_session (phone, ended_seq, seq);
CREATE UNIQUE INDEX IF NOT EXISTS ussd_session_charge ON ussd_session (charge);

-- What a handset showed and what was pressed, a PIN as dots.
CREATE TABLE IF NOT EXISTS screen (
    seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, session TEXT NOT NULL REFERENCES ussd_session (id),
    charge TEXT NOT NULL, phone TEXT NOT NULL, pressed TEXT, words TEXT NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS screen_phone ON screen (phone, seq);
CREATE INDEX IF NOT EXISTS screen_session ON screen (session);

-- Holds are records of their own: one when the prompt is sent, one when it ends.
CREATE TABLE IF NOT EXISTS hold (
    seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, charge TEXT NOT NULL REFERENCES charge (id),
    change TEXT NOT NULL CHECK (change IN ('opened', 'ended')), amount_minor INTEGER NOT NULL,
    UNIQUE (charge, change)
) STRICT;

CREATE TRIGGER IF NOT EXISTS hold_is_new BEFORE INSERT ON hold BEGIN
    SELECT RAISE(ABORT, 'a hold is never replaced')
    WHERE EXISTS (SELECT 1 FROM hold WHERE seq = NEW.seq OR (charge = NEW.charge AND change = NEW.change));
END;
CREATE TRIGGER IF NOT EXISTS hold_stays BEFORE UPDATE ON hold BEGIN SELECT RAISE(ABORT, 'a hold is never changed'); END;
CREATE TRIGGER IF NOT EXISTS hold_remains BEFORE DELETE ON hold BEGIN SELECT RAISE(ABORT, 'a hold is never deleted'); END;

CREATE TABLE IF NOT EXISTS webhook_endpoint (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    url TEXT NOT NULL, secret TEXT NOT NULL, enabled_events TEXT NOT NULL, status TEXT NOT NULL,
    rolls INTEGER NOT NULL, old_secrets TEXT NOT NULL, failing_since_ms INTEGER,
    faults TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS event (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    type TEXT NOT NULL, object_id TEXT NOT NULL, body TEXT NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS event_object ON event (object_id);

CREATE TABLE IF NOT EXISTS delivery (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (id),
    event TEXT NOT NULL REFERENCES event (id), endpoint TEXT NOT NULL REFERENCES webhook_endpoint (id),
    status TEXT NOT NULL, attempts INTEGER NOT NULL, spent INTEGER NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS delivery_event ON delivery (event, endpoint);
CREATE INDEX IF NOT EXISTS delivery_status ON delivery (status, seq);
CREATE INDEX IF NOT EXISTS delivery_endpoint ON delivery (endpoint);

CREATE TABLE IF NOT EXISTS attempt (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, delivery TEXT NOT NULL REFERENCES delivery (id),
    number INTEGER NOT NULL, at_ms INTEGER NOT NULL, latency_ms INTEGER NOT NULL,
    status_code INTEGER, answer TEXT NOT NULL, fault TEXT, headers TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS attempt_delivery ON attempt (delivery, seq);

-- What is due when. A job is claimed in one transaction, done, and removed in another; what was
-- claimed by a process that died is due again for the next driver.
CREATE TABLE IF NOT EXISTS job (
    seq INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL,
    claimed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS job_due ON job (claimed, due_ms, seq);
CREATE INDEX IF NOT EXISTS job_ref ON job (ref);

-- What an operator was told to do: answers that wait for the next attempts on a number, and until when it is down.
CREATE TABLE IF NOT EXISTS script (seq INTEGER PRIMARY KEY, phone TEXT NOT NULL, scenario TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS script_phone ON script (phone, seq);
CREATE TABLE IF NOT EXISTS outage (provider TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;

-- The first response to an idempotency key, kept in the commit of its effect.
CREATE TABLE IF NOT EXISTS kept_response (
    scope TEXT PRIMARY KEY, body_digest TEXT NOT NULL, status INTEGER NOT NULL, content_type TEXT NOT NULL,
    body TEXT NOT NULL, payment TEXT, at_ms INTEGER NOT NULL
) STRICT;

-- Every call, its secrets masked before they are written.
CREATE TABLE IF NOT EXISTS call (
    id TEXT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
    payment TEXT, request_headers TEXT NOT NULL, request_body TEXT NOT NULL, status INTEGER NOT NULL,
    response_headers TEXT NOT NULL, response_body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS call_payment ON call (payment) WHERE payment IS NOT NULL;

-- The ledger. Postings go in first, under a deferred key; inserting the entry seals them.

CREATE TABLE IF NOT EXISTS entry (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, number INTEGER NOT NULL UNIQUE, kind TEXT NOT NULL,
    description TEXT NOT NULL, payment TEXT, reverses TEXT UNIQUE REFERENCES entry (id),
    occurred_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL, prev_hash TEXT NOT NULL, external_reference TEXT,
    settles TEXT REFERENCES entry (id), hash TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entry_reference ON entry (external_reference) WHERE external_reference IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_payment ON entry (payment);
CREATE INDEX IF NOT EXISTS entry_late ON entry (number) WHERE kind = 'late_success';
CREATE INDEX IF NOT EXISTS entry_settles ON entry (settles);   -- whole: the foreign key looks it up at every entry

CREATE TABLE IF NOT EXISTS posting (
    entry TEXT NOT NULL REFERENCES entry (id) DEFERRABLE INITIALLY DEFERRED, line INTEGER NOT NULL,
    account TEXT NOT NULL, code INTEGER NOT NULL, side TEXT NOT NULL CHECK (side IN ('debit', 'credit')),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), currency TEXT NOT NULL,
    PRIMARY KEY (entry, line)
) STRICT, WITHOUT ROWID;

-- What the postings of a business day add up to, by account: derived from them in the commit of their entry.
CREATE TABLE IF NOT EXISTS balance (
    account TEXT NOT NULL, currency TEXT NOT NULL, day_ms INTEGER NOT NULL,   -- when the day began
    code INTEGER NOT NULL, debit_minor INTEGER NOT NULL, credit_minor INTEGER NOT NULL,
    PRIMARY KEY (account, currency, day_ms)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS entry_is_sealed BEFORE INSERT ON entry BEGIN
    SELECT RAISE(ABORT, 'an entry is never replaced')
    WHERE EXISTS (SELECT 1 FROM entry WHERE id = NEW.id OR number = NEW.number OR seq = NEW.seq OR hash = NEW.hash);
    SELECT RAISE(ABORT, 'an entry is reversed once')
    WHERE EXISTS (SELECT 1 FROM entry WHERE reverses = NEW.reverses);
    SELECT RAISE(ABORT, 'a reversal comes after its original')
    WHERE NEW.reverses IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM entry WHERE id = NEW.reverses AND occurred_ms <= NEW.occurred_ms);
    SELECT RAISE(ABORT, 'a reversal mirrors its original')
    WHERE NEW.reverses IS NOT NULL
      AND ((SELECT count(*) FROM posting WHERE entry = NEW.id)
           <> (SELECT count(*) FROM posting WHERE entry = NEW.reverses)
           OR EXISTS (
               SELECT line, account, currency, amount_minor, CASE side WHEN 'debit' THEN 'credit' ELSE 'debit' END
               FROM posting WHERE entry = NEW.reverses
               EXCEPT SELECT line, account, currency, amount_minor, side FROM posting WHERE entry = NEW.id
           ));
    SELECT RAISE(ABORT, 'an entry has at least two postings')
    WHERE (SELECT count(*) FROM posting WHERE entry = NEW.id) < 2;
    SELECT RAISE(ABORT, 'an entry balances in each currency')
    WHERE EXISTS (
        SELECT 1 FROM posting WHERE entry = NEW.id GROUP BY currency
        HAVING sum(CASE side WHEN 'debit' THEN amount_minor ELSE -amount_minor END) <> 0
    );
    SELECT RAISE(ABORT, 'an entry follows the one before')
    WHERE NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM entry)
       OR NEW.prev_hash <> coalesce((SELECT hash FROM entry ORDER BY number DESC LIMIT 1), printf('%064d', 0));
END;

CREATE TRIGGER IF NOT EXISTS posting_is_new BEFORE INSERT ON posting BEGIN
    SELECT RAISE(ABORT, 'a sealed entry takes no posting') WHERE EXISTS (SELECT 1 FROM entry WHERE id = NEW.entry);
    SELECT RAISE(ABORT, 'a posting is never replaced')
    WHERE EXISTS (SELECT 1 FROM posting WHERE entry = NEW.entry AND line = NEW.line);
END;

CREATE TRIGGER IF NOT EXISTS entry_stays BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER IF NOT EXISTS entry_remains BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'an entry is never deleted'); END;
CREATE TRIGGER IF NOT EXISTS posting_stays BEFORE UPDATE ON posting BEGIN SELECT RAISE(ABORT, 'a posting is never changed'); END;
CREATE TRIGGER IF NOT EXISTS posting_remains BEFORE DELETE ON posting BEGIN SELECT RAISE(ABORT, 'a posting is never deleted'); END;
