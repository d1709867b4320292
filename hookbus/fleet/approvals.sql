-- The functions for approvals, run after tables.sql. They run with the rights of the owner, and use
-- no table of the caller. The role of the connection, `session_user`, says which person answers.

-- An earlier hookbus made these. A function is never dropped to change it, because that would
-- revoke it from the roles that are not listed this time.
DROP FUNCTION IF EXISTS @schema@.ask(text, text, text, double precision);
DROP FUNCTION IF EXISTS @schema@.read_requests(text, boolean);

CREATE OR REPLACE FUNCTION @schema@.read_key() RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$ SELECT key FROM fleet $$;

-- The right to execute this function is the right to answer for a person who has signed in.
CREATE OR REPLACE FUNCTION @schema@.answer_for_others() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$ SELECT true $$;

CREATE OR REPLACE FUNCTION @schema@.read_person() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$ SELECT session_user::text $$;

CREATE OR REPLACE FUNCTION @schema@.is_proven(p_name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT p_name = session_user::text
        OR has_function_privilege(session_user, 'answer_for_others()', 'EXECUTE')
$$;

-- Whether a person with these roles counts for a guard.
CREATE OR REPLACE FUNCTION @schema@.has_role(p_roles text[], p_guard json) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = @schema@, pg_temp
AS $$
    SELECT json_array_length(p_guard->'roles') = 0
        OR p_roles && ARRAY(SELECT json_array_elements_text(p_guard->'roles'))
$$;

-- Whether a person may make rules: any, if the owner has listed no people.
CREATE OR REPLACE FUNCTION @schema@.is_known(p_name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT NOT EXISTS (SELECT FROM people) OR EXISTS (SELECT FROM people WHERE name = p_name)
$$;

CREATE OR REPLACE FUNCTION @schema@.is_valid(p_rule @schema@.rules) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT p_rule.revoked IS NULL AND (p_rule.uses IS NULL OR p_rule.used < p_rule.uses)
        AND (p_rule.until IS NULL OR clock_timestamp() < p_rule.until) AND is_known(p_rule.by)
$$;

-- Whether people with the roles that they have now have given all approvals.
CREATE OR REPLACE FUNCTION @schema@.is_complete(p_id text, p_required json, p_asker text)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT NOT EXISTS (
        SELECT FROM json_array_elements(p_required) AS required (guard)
        WHERE (guard->>'approvals')::integer IS NULL OR (guard->>'approvals')::integer > (
            SELECT count(*) FROM approvals JOIN people USING (name)
            WHERE approvals.request = p_id AND people.mark <> p_asker
                AND has_role(people.roles, guard)
        )
    )
$$;

-- Returns the answer for a call and uses it up, or else the request that is pending. Calls with the
-- same digest wait for each other, so that an approval is used once. What the call requires now
-- decides, not what the stored request says. `rules` is the state if the caller has to compare the
-- call with standing approvals first.
CREATE OR REPLACE FUNCTION @schema@.ask(
    p_id text, p_digest text, p_request text, p_seconds double precision, p_required text,
    p_asker text, p_scope text, p_has_compared boolean
) RETURNS TABLE (state text, pending_id text, asked_for text, answered_with text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE
    found requests%ROWTYPE;
    moment timestamptz;
    standing text;
BEGIN
    IF json_array_length(p_required::json) > 0 AND NOT EXISTS (SELECT FROM people) THEN
        RETURN QUERY SELECT 'no people', NULL::text, NULL::text, NULL::text;
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(p_digest, 1));
    SELECT * INTO found FROM requests WHERE digest = p_digest
    ORDER BY number DESC LIMIT 1 FOR UPDATE;
    moment := clock_timestamp();
    IF found.kind IS NOT NULL AND found.used IS NULL AND found.until > moment AND (
        found.kind = 'denied' OR is_complete(found.id, p_required::json, p_asker)
    ) THEN
        IF found.kind = 'approved' AND NOT found.is_kept THEN
            UPDATE requests SET used = moment WHERE number = found.number;
        END IF;
        RETURN QUERY SELECT found.kind, found.id, found.request::text, found.answer::text;
        RETURN;
    END IF;
    IF NOT p_has_compared THEN
        SELECT json_agg(json_build_array(id, rule) ORDER BY number)::text INTO standing
        FROM rules WHERE scope = p_scope AND is_valid(rules);
        IF standing IS NOT NULL THEN
            RETURN QUERY SELECT 'rules', NULL::text, NULL::text, standing;
            RETURN;
        END IF;
    END IF;
    IF found.kind IS NULL AND found.lapsed IS NULL AND found.answer_by > moment THEN
        RETURN QUERY SELECT 'pending', found.id, NULL::text, NULL::text;
        RETURN;
    END IF;
    UPDATE requests SET lapsed = moment
    WHERE digest = p_digest AND kind IS NULL AND lapsed IS NULL;
    INSERT INTO requests (id, digest, request, required, asker, scope, answer_by)
    VALUES (p_id, p_digest, p_request::json, p_required::json, p_asker, p_scope,
        moment + p_seconds * interval '1 second');
    RETURN QUERY SELECT 'pending', p_id, NULL::text, NULL::text;
END $$;

-- Returns whether this is the answer: the first one is final. A request that needs people with
-- roles, or several, takes approvals by `approve` only.
CREATE OR REPLACE FUNCTION @schema@.answer(
    p_id text, p_kind text, p_answer text, p_is_kept boolean, p_seconds double precision
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE moment timestamptz := clock_timestamp();
BEGIN
    UPDATE requests SET kind = p_kind, answer = p_answer::json, is_kept = p_is_kept,
        answered = moment, until = moment + p_seconds * interval '1 second'
    WHERE id = p_id AND kind IS NULL AND lapsed IS NULL AND answer_by > moment
        AND (p_kind = 'denied' OR json_array_length(required) = 0);
    RETURN FOUND;
END $$;

-- Records the approval of one person, and answers the request when no other is missing. Returns
-- what happened.
CREATE OR REPLACE FUNCTION @schema@.approve(
    p_id text, p_name text, p_way text, p_arguments text, p_remember double precision,
    p_seconds double precision
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE
    given requests%ROWTYPE;
    person people%ROWTYPE;
    moment timestamptz;
BEGIN
    SELECT * INTO given FROM requests WHERE id = p_id FOR UPDATE;
    moment := clock_timestamp();
    SELECT * INTO person FROM people WHERE name = p_name;
    IF NOT is_proven(p_name) THEN RETURN 'unproven'; END IF;
    IF person.name IS NULL THEN RETURN 'unknown'; END IF;
    IF person.mark = given.asker THEN RETURN 'asker'; END IF;
    IF NOT EXISTS (
        SELECT FROM json_array_elements(given.required) AS required (guard)
        WHERE has_role(person.roles, guard)
    ) THEN
        RETURN 'no role';
    END IF;
    IF given.kind IS NOT NULL OR given.lapsed IS NOT NULL OR given.answer_by <= moment THEN
        RETURN 'ended';
    END IF;
    IF (p_arguments IS NOT NULL OR p_remember IS NOT NULL) AND 1 < (
        SELECT sum((guard->>'approvals')::integer)
        FROM json_array_elements(given.required) AS required (guard)
    ) THEN
        RETURN 'edited';
    END IF;
    INSERT INTO approvals (request, name, mark, way) VALUES (p_id, p_name, person.mark, p_way)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN 'twice'; END IF;
    IF is_complete(p_id, given.required, given.asker) THEN
        UPDATE requests SET kind = 'approved', is_kept = p_remember IS NOT NULL,
            answered = moment,
            until = moment + coalesce(p_remember, p_seconds) * interval '1 second',
            answer = json_build_object(
                'by', (SELECT string_agg(name, ', ' ORDER BY number)
                    FROM approvals JOIN people USING (name) WHERE approvals.request = p_id),
                'arguments', p_arguments::json, 'remember', p_remember
            )
        WHERE id = p_id;
    END IF;
    RETURN 'counted';
END $$;

CREATE OR REPLACE FUNCTION @schema@.read_records(p_id text, p_is_pending boolean)
RETURNS TABLE (
    id text, digest text, state text, request text, answer text, asked double precision,
    answer_by double precision, answered double precision, until double precision,
    used double precision, required text, asker text, scope text, approved_by text
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT requests.id, requests.digest,
        CASE
            WHEN kind IS NULL AND lapsed IS NULL AND requests.answer_by > clock_timestamp()
                THEN 'pending'
            WHEN kind IS NULL THEN 'expired'
            WHEN requests.used IS NOT NULL THEN 'used'
            WHEN requests.until <= clock_timestamp() THEN 'expired'
            ELSE kind
        END,
        requests.request::text, requests.answer::text,
        extract(epoch FROM requests.asked)::double precision,
        extract(epoch FROM requests.answer_by)::double precision,
        extract(epoch FROM requests.answered)::double precision,
        extract(epoch FROM requests.until)::double precision,
        extract(epoch FROM requests.used)::double precision,
        requests.required::text, requests.asker, requests.scope,
        (SELECT json_agg(json_build_array(approvals.name, people.roles) ORDER BY number)::text
            FROM approvals JOIN people USING (name) WHERE approvals.request = requests.id)
    FROM requests
    WHERE (p_id IS NULL OR requests.id = p_id) AND (NOT p_is_pending OR (
        kind IS NULL AND lapsed IS NULL AND requests.answer_by > clock_timestamp()
    ))
    ORDER BY requests.number
$$;

CREATE OR REPLACE FUNCTION @schema@.count_pending() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT count(*) FROM requests
    WHERE kind IS NULL AND lapsed IS NULL AND answer_by > clock_timestamp()
$$;

-- Answers a request, and keeps the rule with which this person did. Returns what happened.
CREATE OR REPLACE FUNCTION @schema@.answer_with_rule(
    p_id text, p_name text, p_answer text, p_is_kept boolean, p_seconds double precision,
    p_rule_id text, p_rule text, p_uses bigint, p_rule_seconds double precision
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
BEGIN
    IF NOT is_proven(p_name) THEN RETURN 'unproven'; END IF;
    IF NOT is_known(p_name) THEN RETURN 'unknown'; END IF;
    IF NOT answer(p_id, 'approved', p_answer, p_is_kept, p_seconds) THEN RETURN 'ended'; END IF;
    INSERT INTO rules (id, scope, request, rule, by, uses, until)
    SELECT p_rule_id, scope, id, p_rule::json, p_name, p_uses,
        clock_timestamp() + p_rule_seconds * interval '1 second'
    FROM requests WHERE id = p_id;
    RETURN 'made';
END $$;

-- Returns the person whose rule approves a call, and counts the use, or null if it has ended.
CREATE OR REPLACE FUNCTION @schema@.use_rule(p_rule text, p_scope text, p_digest text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
DECLARE person text;
BEGIN
    UPDATE rules SET used = used + 1
    WHERE id = p_rule AND scope = p_scope AND is_valid(rules)
    RETURNING by INTO person;
    IF FOUND THEN
        UPDATE requests SET lapsed = clock_timestamp()
        WHERE digest = p_digest AND kind IS NULL AND lapsed IS NULL;
    END IF;
    RETURN person;
END $$;

CREATE OR REPLACE FUNCTION @schema@.read_rules()
RETURNS TABLE (
    id text, rule text, by text, request text, made double precision, until double precision,
    used bigint, revoked double precision, revoked_by text
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
    SELECT id, rule::text, by, request, extract(epoch FROM made)::double precision,
        extract(epoch FROM until)::double precision, used,
        extract(epoch FROM revoked)::double precision, revoked_by
    FROM rules ORDER BY number
$$;

CREATE OR REPLACE FUNCTION @schema@.revoke(p_rule text, p_by text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp
AS $$
BEGIN
    UPDATE rules SET revoked = clock_timestamp(), revoked_by = p_by
    WHERE id = p_rule AND revoked IS NULL;
    RETURN FOUND;
END $$;
