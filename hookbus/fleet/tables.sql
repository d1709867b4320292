-- The schema of a fleet. @schema@ is the quoted name of the schema.
-- Every statement may be run again. No role has rights on the tables: members and operators only
-- execute functions, which run with the rights of the owner.

CREATE SCHEMA IF NOT EXISTS @schema@;
REVOKE ALL ON SCHEMA @schema@ FROM PUBLIC;

CREATE TABLE IF NOT EXISTS @schema@.fleet (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL,
    key bytea NOT NULL,
    words bigint NOT NULL DEFAULT 0
);

-- `tx` orders the events: a transaction that began earlier may commit later, so that the highest
-- number alone would let a reader miss an event. The bodies are json, because jsonb refuses \u0000.
CREATE TABLE IF NOT EXISTS @schema@.events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id text NOT NULL UNIQUE,
    member text NOT NULL,
    stored timestamptz NOT NULL DEFAULT now(),
    body json NOT NULL
);
CREATE INDEX IF NOT EXISTS events_in_order ON @schema@.events (tx, seq);

CREATE TABLE IF NOT EXISTS @schema@.readers (
    name text PRIMARY KEY,
    tx xid8 NOT NULL DEFAULT '0',
    seq bigint NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS @schema@.members (
    member text PRIMARY KEY,
    heard timestamptz NOT NULL,
    refused json NOT NULL,
    ships bigint
);

CREATE TABLE IF NOT EXISTS @schema@.words (
    kind text NOT NULL CHECK (kind IN ('kill', 'switch')),
    name text NOT NULL,
    hook text NOT NULL,
    act text NOT NULL,
    by text NOT NULL,
    reason text NOT NULL,
    said timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, name, hook)
);

-- `kind` and `is_kept` repeat parts of the answer: Postgres does not look into json with \u0000.
CREATE TABLE IF NOT EXISTS @schema@.requests (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    digest text NOT NULL,
    request json NOT NULL,
    asked timestamptz NOT NULL DEFAULT clock_timestamp(),
    answer_by timestamptz NOT NULL,
    lapsed timestamptz,
    kind text CHECK (kind IN ('approved', 'denied')),
    answer json,
    is_kept boolean,
    answered timestamptz,
    until timestamptz,
    used timestamptz
);
CREATE UNIQUE INDEX IF NOT EXISTS requests_waiting ON @schema@.requests (digest)
    WHERE kind IS NULL AND lapsed IS NULL;
CREATE INDEX IF NOT EXISTS requests_by_digest ON @schema@.requests (digest, number);

-- What guards require of people, the keyed hash of the user of the call, and of what a rule covers.
ALTER TABLE @schema@.requests
    ADD COLUMN IF NOT EXISTS required json NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS asker text NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS scope text NOT NULL DEFAULT '';

-- The people who may approve, which only the owner changes. `mark` is the keyed hash of the name,
-- the same for names that look alike.
CREATE TABLE IF NOT EXISTS @schema@.people (
    name text PRIMARY KEY,
    mark text NOT NULL UNIQUE,
    roles text[] NOT NULL
);

CREATE TABLE IF NOT EXISTS @schema@.approvals (
    number bigint GENERATED ALWAYS AS IDENTITY,
    request text NOT NULL REFERENCES @schema@.requests (id) ON DELETE CASCADE,
    name text NOT NULL,
    mark text NOT NULL,
    way text NOT NULL,
    role text NOT NULL DEFAULT session_user,
    approved timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (request, mark)
);

CREATE TABLE IF NOT EXISTS @schema@.rules (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    scope text NOT NULL CHECK (scope <> ''),
    request text NOT NULL,
    rule json NOT NULL,
    by text NOT NULL,
    role text NOT NULL DEFAULT session_user,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    uses bigint CHECK (uses > 0),
    until timestamptz,
    used bigint NOT NULL DEFAULT 0,
    revoked timestamptz,
    revoked_by text,
    CHECK (uses IS NOT NULL OR until IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS rules_by_scope ON @schema@.rules (scope);

CREATE TABLE IF NOT EXISTS @schema@.calls (
    name text NOT NULL,
    key text NOT NULL,
    counted timestamptz NOT NULL,
    until timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_key ON @schema@.calls (name, key, counted);

CREATE TABLE IF NOT EXISTS @schema@.accounts (
    name text NOT NULL,
    key text NOT NULL,
    tokens numeric NOT NULL,
    money numeric NOT NULL,
    PRIMARY KEY (name, key)
);

CREATE TABLE IF NOT EXISTS @schema@.reservations (
    id text PRIMARY KEY,
    name text NOT NULL,
    key text NOT NULL,
    tokens numeric NOT NULL CHECK (tokens >= 0),
    money numeric NOT NULL CHECK (money >= 0)
);
