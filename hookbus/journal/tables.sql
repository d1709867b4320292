-- The tables and views of a journal, schema 3. The views are for everybody, the tables may change.
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    file TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    expired INTEGER NOT NULL,
    expired_hash BLOB NOT NULL
);
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    began REAL NOT NULL,
    ended REAL,
    how TEXT
);
CREATE TABLE chain (
    seq INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    type TEXT NOT NULL,
    hook TEXT NOT NULL,
    time REAL NOT NULL,
    call_id INTEGER NOT NULL,
    outcome TEXT,
    receiver TEXT,
    seconds REAL,
    attempt INTEGER,
    session TEXT,
    data TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE TABLE spools (run INTEGER PRIMARY KEY, position INTEGER NOT NULL);
CREATE TABLE cursors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX by_call ON chain (run, call_id, type, attempt);
CREATE INDEX by_time ON chain (time);
CREATE INDEX by_hook ON chain (hook, time) WHERE attempt IS NULL;
CREATE INDEX by_session ON chain (session, time) WHERE session IS NOT NULL AND attempt IS NULL;
CREATE INDEX by_outcome ON chain (outcome, time, hook, seconds) WHERE outcome IS NOT NULL;
CREATE INDEX by_receiver ON chain (receiver, hook, type) WHERE receiver IS NOT NULL;
CREATE INDEX by_intent ON chain (run, call_id, attempt, type) WHERE type = 'intent';

CREATE VIEW records AS
    SELECT seq, runs.id || '-' || seq AS id, source, 'hookbus.' || type AS type, hook AS subject,
        time, data, runs.id AS run, json_extract(data, '$.baggage') AS baggage
    FROM chain JOIN runs ON runs.number = chain.run;

CREATE VIEW calls AS
    SELECT runs.id AS run, call_id, json_extract(data, '$.parent_id') AS parent_id, hook,
        json_extract(data, '$.sender') AS sender, time,
        CASE type WHEN 'finished' THEN time - seconds ELSE time END AS started,
        CASE type WHEN 'finished' THEN time END AS ended,
        seconds, outcome, json_extract(data, '$.error.type') AS error, session,
        json_extract(data, '$.baggage.user') AS user
    FROM chain JOIN runs ON runs.number = chain.run
    WHERE attempt IS NULL AND (type = 'finished' OR (type = 'started' AND NOT EXISTS (
        SELECT 1 FROM chain AS last
        WHERE last.run = chain.run AND last.call_id = chain.call_id AND last.type = 'finished'
    )));

CREATE VIEW hooks AS
    SELECT hook, outcome, count(*) AS calls, avg(seconds) AS mean, max(seconds) AS longest,
        min(time) AS first, max(time) AS last
    FROM chain WHERE outcome IS NOT NULL GROUP BY hook, outcome;

CREATE VIEW turns AS
    SELECT seq, runs.id AS run, call_id, hook, receiver, type AS did, time,
        json_extract(data, '$.role') AS role, json_extract(data, '$.phase') AS phase,
        json_extract(data, '$.reason') AS reason, json_extract(data, '$.code') AS code,
        json_extract(data, '$.name') AS name, json_extract(data, '$.exception.type') AS error,
        json_extract(data, '$.action') AS action, json_extract(data, '$.answer') AS answer,
        json_extract(data, '$.by') AS "by", json_extract(data, '$.enforced') AS enforced
    FROM chain JOIN runs ON runs.number = chain.run WHERE receiver IS NOT NULL;

CREATE VIEW receivers AS
    SELECT receiver, hook, sum(type = 'blocked') AS blocked, sum(type = 'failed') AS failed,
        sum(type = 'mutated') AS changed
    FROM chain WHERE receiver IS NOT NULL GROUP BY receiver, hook;

CREATE VIEW attempts AS
    SELECT runs.id AS run, intent.call_id, intent.hook, intent.attempt, intent.seq AS intent,
        intent.time AS began, json_extract(ended.data, '$.outcome') AS outcome, ended.seconds,
        json_extract(ended.data, '$.error.type') AS error
    FROM chain AS intent JOIN runs ON runs.number = intent.run
    LEFT JOIN chain AS ended ON ended.run = intent.run AND ended.call_id = intent.call_id
        AND ended.attempt = intent.attempt AND ended.type = 'outcome'
    WHERE intent.type = 'intent'
