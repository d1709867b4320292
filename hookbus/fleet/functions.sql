-- The functions of a fleet, run after tables.sql and approvals.sql. They run with the rights of the owner, and use no
-- table of the caller.

CREATE OR REPLACE FUNCTION @schema@.about() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$ SELECT version FROM fleet $$;

-- Writers of one journal wait for each other before they get a number of a transaction, so that the
-- events of a run keep their order if two processes ship its journal.
CREATE OR REPLACE FUNCTION @schema@.publish(
    p_member text, p_journal text, p_ids text[], p_bodies text[]
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE stored_count integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(p_journal, 0));
    INSERT INTO events (id, member, body)
    SELECT given.id, p_member, given.body::json
    FROM unnest(p_ids, p_bodies) WITH ORDINALITY AS given (id, body, place)
    ORDER BY given.place
    ON CONFLICT (id) DO NOTHING;
    GET DIAGNOSTICS stored_count = ROW_COUNT;
    RETURN stored_count;
END $$;

-- A heartbeat need not survive a crash of the server, so no disk is waited for.
CREATE OR REPLACE FUNCTION @schema@.beat(p_member text, p_refused text, p_ships bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_refused IS NULL THEN
        DELETE FROM members WHERE member = p_member;
        RETURN;
    END IF;
    INSERT INTO members (member, heard, refused, ships)
    VALUES (p_member, clock_timestamp(), p_refused::json, p_ships)
    ON CONFLICT (member) DO UPDATE
    SET heard = excluded.heard, refused = excluded.refused, ships = excluded.ships;
END $$;

-- One row without words if none has changed since the given version.
CREATE OR REPLACE FUNCTION @schema@.read_words(p_known bigint)
RETURNS TABLE (version bigint, changed text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT fleet.words, CASE WHEN fleet.words IS DISTINCT FROM p_known THEN coalesce(
        (SELECT json_agg(json_build_object(
            'kind', kind, 'name', name, 'hook', hook, 'act', act, 'by', by, 'reason', reason
        ) ORDER BY said, kind, name, hook)::text FROM words WHERE act <> 'revive'), '[]') END
    FROM fleet
$$;

CREATE OR REPLACE FUNCTION @schema@.set_word(
    p_kind text, p_name text, p_hook text, p_act text, p_by text, p_reason text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
BEGIN
    UPDATE fleet SET words = words + 1;
    INSERT INTO words (kind, name, hook, act, by, reason)
    VALUES (p_kind, p_name, p_hook, p_act, p_by, p_reason)
    ON CONFLICT (kind, name, hook) DO UPDATE
    SET act = excluded.act, by = excluded.by, reason = excluded.reason, said = excluded.said;
END $$;

CREATE OR REPLACE FUNCTION @schema@.revive(p_name text, p_hook text, p_by text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
BEGIN
    UPDATE fleet SET words = words + 1;
    UPDATE words SET act = 'revive', by = p_by, said = now()
    WHERE kind = 'kill' AND act = 'kill' AND name = p_name AND hook = p_hook;
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION @schema@.read_members()
RETURNS TABLE (member text, age double precision, refused text, ships bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT member, extract(epoch FROM clock_timestamp() - heard)::double precision,
        refused::text, ships
    FROM members ORDER BY member
$$;

CREATE OR REPLACE FUNCTION @schema@.open_reader(p_name text)
RETURNS TABLE (after_tx text, after_seq bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    INSERT INTO readers (name) VALUES (p_name) ON CONFLICT (name) DO NOTHING;
    SELECT tx::text, seq FROM readers WHERE name = p_name;
$$;

-- Only transactions below the horizon: none of them is still running, and none begins there.
CREATE OR REPLACE FUNCTION @schema@.read_events(p_tx text, p_seq bigint, p_most integer)
RETURNS TABLE (tx text, seq bigint, id text, body text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT tx::text, seq, id, body::text FROM events
    WHERE (tx, seq) > (p_tx::xid8, p_seq) AND tx < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY events.tx, events.seq LIMIT p_most
$$;

CREATE OR REPLACE FUNCTION @schema@.count_after(p_name text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT count(*) FROM events, readers
    WHERE name = p_name AND (events.tx, events.seq) > (readers.tx, readers.seq)
$$;

CREATE OR REPLACE FUNCTION @schema@.commit_reader(p_name text, p_tx text, p_seq bigint)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    INSERT INTO readers (name, tx, seq) VALUES (p_name, p_tx::xid8, p_seq)
    ON CONFLICT (name) DO UPDATE SET tx = excluded.tx, seq = excluded.seq
    WHERE (readers.tx, readers.seq) < (excluded.tx, excluded.seq)
$$;

CREATE OR REPLACE FUNCTION @schema@.forget_reader(p_name text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$ DELETE FROM readers WHERE name = p_name $$;

-- Drops what all readers have committed, requests that ended and members that were last heard before
-- this time, and calls that no limit counts any more. Reservations and accounts stay.
CREATE OR REPLACE FUNCTION @schema@.retain(p_days double precision) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE dropped bigint;
BEGIN
    DELETE FROM events
    WHERE stored < now() - p_days * interval '1 day' AND NOT EXISTS (
        SELECT FROM readers WHERE (events.tx, events.seq) > (readers.tx, readers.seq)
    );
    GET DIAGNOSTICS dropped = ROW_COUNT;
    DELETE FROM members WHERE heard < now() - p_days * interval '1 day';
    DELETE FROM calls WHERE until < now();
    DELETE FROM requests
    WHERE coalesce(used, until, lapsed, answer_by) < now() - p_days * interval '1 day';
    RETURN dropped;
END $$;

-- A member can only drop what has ended by the time that was counted with it.
CREATE OR REPLACE FUNCTION @schema@.count_call(
    p_name text, p_key text, p_calls bigint, p_seconds double precision
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE moment timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(p_name || chr(1) || p_key, 2));
    moment := clock_timestamp();
    DELETE FROM calls WHERE name = p_name AND key = p_key AND until < moment;
    IF p_calls <= (
        SELECT count(*) FROM calls WHERE name = p_name AND key = p_key
            AND counted > moment - p_seconds * interval '1 second'
    ) THEN
        RETURN false;
    END IF;
    INSERT INTO calls VALUES (
        p_name, p_key, moment, moment + p_seconds * interval '1 second'
    );
    RETURN true;
END $$;

-- Returns the limit that would be exceeded, or null after the amount has been reserved.
CREATE OR REPLACE FUNCTION @schema@.reserve(
    p_id text, p_name text, p_key text, p_tokens numeric, p_money numeric, p_most_tokens numeric,
    p_most_money numeric
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
BEGIN
    INSERT INTO accounts VALUES (p_name, p_key, 0, 0) ON CONFLICT DO NOTHING;
    UPDATE accounts SET tokens = tokens + p_tokens, money = money + p_money
    WHERE name = p_name AND key = p_key
        AND (p_most_tokens IS NULL OR tokens + p_tokens <= p_most_tokens)
        AND (p_most_money IS NULL OR money + p_money <= p_most_money);
    IF FOUND THEN
        INSERT INTO reservations VALUES (p_id, p_name, p_key, p_tokens, p_money);
        RETURN NULL;
    END IF;
    RETURN (
        SELECT CASE WHEN tokens + p_tokens > p_most_tokens THEN 'tokens' ELSE 'money' END
        FROM accounts WHERE name = p_name AND key = p_key
    );
END $$;

CREATE OR REPLACE FUNCTION @schema@.settle(p_id text, p_tokens numeric, p_money numeric)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE held reservations%ROWTYPE;
BEGIN
    DELETE FROM reservations WHERE id = p_id RETURNING * INTO held;
    UPDATE accounts SET tokens = tokens + greatest(p_tokens, 0) - held.tokens,
        money = money + greatest(p_money, 0) - held.money
    WHERE name = held.name AND key = held.key;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA @schema@ FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;
