-- The task gate. The transition is the write; the task's row is its projection,
-- made and guarded by the triggers below. The name of every constraint and
-- trigger is a key of the table in constraint.go. Ids compare by bytes ("C").

-- What must hold for a task to be done. Inserted before anything else of the task.
CREATE TABLE criteria (
    task_id TEXT COLLATE "C" NOT NULL,
    number  BIGINT NOT NULL,
    text    TEXT NOT NULL,
    CONSTRAINT criteria_key PRIMARY KEY (task_id, number),
    CONSTRAINT criteria_number CHECK (number >= 1),
    -- Blank is Unicode white space (property White_Space) only.
    CONSTRAINT criteria_text CHECK (btrim(text, E'\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001'
        '\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') <> '')
);

-- One permitted change of a task each, for ever. Number 1 is its creation, 2 the
-- claim, 3 the verdict, so (agent, number) is also the scope of a key.
CREATE TABLE transitions (
    task_id             TEXT COLLATE "C" NOT NULL,
    number              BIGINT NOT NULL,
    kind                TEXT COLLATE "C" NOT NULL,
    from_status         TEXT COLLATE "C",
    to_status           TEXT COLLATE "C" NOT NULL,
    agent_id            TEXT COLLATE "C" NOT NULL,
    principal_kind      TEXT NOT NULL,
    principal_id        TEXT NOT NULL,
    at                  BIGINT NOT NULL, -- milliseconds since the Unix epoch
    text                TEXT NOT NULL,   -- the evidence of a claim, the notes of a verdict
    body                TEXT NOT NULL,   -- the canonical body
    digest              TEXT NOT NULL,   -- SHA-256 of the body, in hex
    idempotency_key     TEXT COLLATE "C",
    idempotency_content TEXT,
    CONSTRAINT transitions_key PRIMARY KEY (task_id, number),
    -- The state machine; task.Transitions() is its source.
    CONSTRAINT transitions_step CHECK (
        (number = 1 AND kind = 'created' AND from_status IS NULL AND to_status = 'pending')
        OR (number = 2 AND kind = 'claimed' AND coalesce(from_status, '') = 'pending' AND to_status = 'claimed')
        OR (number = 3 AND kind = 'verified' AND coalesce(from_status, '') = 'claimed' AND to_status = 'verified')
        OR (number = 3 AND kind = 'rejected' AND coalesce(from_status, '') = 'claimed' AND to_status = 'rejected')),
    CONSTRAINT transitions_agent CHECK (agent_id ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    CONSTRAINT transitions_principal CHECK (btrim(principal_kind) <> '' AND btrim(principal_id) <> ''),
    CONSTRAINT transitions_at CHECK (at >= 0),
    CONSTRAINT transitions_creation_text CHECK (kind <> 'created' OR text = ''),
    CONSTRAINT transitions_evidence CHECK (kind <> 'claimed' OR btrim(text, E'\u0009\u000A\u000B\u000C\u000D\u0020\u0085'
        '\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') <> ''),
    CONSTRAINT transitions_notes CHECK (kind <> 'rejected' OR btrim(text, E'\u0009\u000A\u000B\u000C\u000D\u0020\u0085'
        '\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') <> ''),
    CONSTRAINT transitions_body CHECK (body <> ''),
    CONSTRAINT transitions_digest CHECK (digest ~ '^[0-9a-f]{64}$'),
    CONSTRAINT transitions_idempotency CHECK ((idempotency_key IS NULL AND idempotency_content IS NULL)
        OR (coalesce(idempotency_key, '') <> '' AND coalesce(idempotency_content, '') <> ''))
);

CREATE UNIQUE INDEX transitions_idempotency_once ON transitions (agent_id, number, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Where each task is: the projection of its transitions, without long texts.
CREATE TABLE tasks (
    id             TEXT COLLATE "C" NOT NULL,
    title          TEXT NOT NULL,
    status         TEXT COLLATE "C" NOT NULL,
    created_by     TEXT COLLATE "C" NOT NULL,
    created_at     BIGINT NOT NULL,
    claimed_by     TEXT COLLATE "C",
    claimed_at     BIGINT,
    verified_by    TEXT COLLATE "C",
    decided_at     BIGINT,
    updated_at     BIGINT NOT NULL,
    criteria_count BIGINT NOT NULL,
    supersedes     TEXT COLLATE "C",
    CONSTRAINT tasks_key PRIMARY KEY (id),
    -- A UUIDv7 in lower case: the order of the ids is the order of a list.
    CONSTRAINT tasks_id CHECK (id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'),
    CONSTRAINT tasks_title CHECK (btrim(title, E'\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001'
        '\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') <> ''),
    CONSTRAINT tasks_status CHECK (status IN ('pending', 'claimed', 'verified', 'rejected')),
    CONSTRAINT tasks_claim CHECK ((status = 'pending') = (claimed_by IS NULL)
        AND (status = 'pending') = (claimed_at IS NULL)),
    CONSTRAINT tasks_verdict CHECK ((status IN ('verified', 'rejected')) = (verified_by IS NOT NULL)
        AND (status IN ('verified', 'rejected')) = (decided_at IS NOT NULL)),
    CONSTRAINT tasks_prover_is_not_verifier CHECK (verified_by IS NULL OR verified_by <> coalesce(claimed_by, verified_by)),
    CONSTRAINT tasks_updated_at CHECK (updated_at = coalesce(decided_at, claimed_at, created_at)),
    CONSTRAINT tasks_criteria_count CHECK (criteria_count >= 1),
    CONSTRAINT tasks_supersedes FOREIGN KEY (supersedes) REFERENCES tasks (id)
);

CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_by_creator ON tasks (created_by, id);
CREATE INDEX tasks_by_prover ON tasks (claimed_by, id) WHERE claimed_by IS NOT NULL;
CREATE UNIQUE INDEX tasks_one_successor ON tasks (supersedes) WHERE supersedes IS NOT NULL;

ALTER TABLE criteria ADD CONSTRAINT criteria_task
    FOREIGN KEY (task_id) REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE transitions ADD CONSTRAINT transitions_task
    FOREIGN KEY (task_id) REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED;

-- One row that proves the database: see Database.Check.
CREATE TABLE heartbeat (
    id    BIGINT NOT NULL,
    beats BIGINT NOT NULL,
    CONSTRAINT heartbeat_key PRIMARY KEY (id),
    CONSTRAINT heartbeat_single CHECK (id = 1)
);
INSERT INTO heartbeat (id, beats) VALUES (1, 0);

-- Each function keeps the search path of this migration, with temporary tables
-- last: a temporary table called criteria must not stand in for the real one.
-- The functions are VOLATILE, so that each query in them sees what the statement
-- around them has written so far.

CREATE FUNCTION countersign_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;

-- Criteria: at birth only, then for ever.

CREATE FUNCTION criteria_at_birth() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM transitions WHERE task_id = NEW.task_id) OR EXISTS (SELECT FROM tasks WHERE id = NEW.task_id) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER criteria_at_birth BEFORE INSERT ON criteria FOR EACH ROW EXECUTE FUNCTION criteria_at_birth();

CREATE TRIGGER criteria_no_update BEFORE UPDATE ON criteria FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER criteria_no_delete BEFORE DELETE ON criteria FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER criteria_no_truncate BEFORE TRUNCATE ON criteria FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse();

-- Transitions: appended only, each from the status that the task has.

CREATE FUNCTION transitions_need_criteria() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM criteria WHERE task_id = NEW.task_id) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER transitions_need_criteria BEFORE INSERT ON transitions
    FOR EACH ROW WHEN (NEW.number = 1) EXECUTE FUNCTION transitions_need_criteria();

CREATE FUNCTION transitions_follow_task() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM tasks WHERE id = NEW.task_id AND status = NEW.from_status) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER transitions_follow_task BEFORE INSERT ON transitions
    FOR EACH ROW WHEN (NEW.number <> 1) EXECUTE FUNCTION transitions_follow_task();

CREATE FUNCTION transitions_prover_is_not_verifier() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM tasks WHERE id = NEW.task_id AND claimed_by = NEW.agent_id) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER transitions_prover_is_not_verifier BEFORE INSERT ON transitions
    FOR EACH ROW WHEN (NEW.number = 3) EXECUTE FUNCTION transitions_prover_is_not_verifier();

CREATE TRIGGER transitions_no_update BEFORE UPDATE ON transitions FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER transitions_no_delete BEFORE DELETE ON transitions FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER transitions_no_truncate BEFORE TRUNCATE ON transitions FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse();

-- The projection.
CREATE FUNCTION transitions_project() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE tasks SET
        status = NEW.to_status,
        claimed_by = CASE NEW.number WHEN 2 THEN NEW.agent_id ELSE claimed_by END,
        claimed_at = CASE NEW.number WHEN 2 THEN NEW.at ELSE claimed_at END,
        verified_by = CASE NEW.number WHEN 3 THEN NEW.agent_id END,
        decided_at = CASE NEW.number WHEN 3 THEN NEW.at END,
        updated_at = NEW.at
    WHERE id = NEW.task_id AND status = NEW.from_status;
    IF NOT FOUND THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER transitions_project AFTER INSERT ON transitions
    FOR EACH ROW WHEN (NEW.number <> 1) EXECUTE FUNCTION transitions_project();

-- Tasks: born pending, moved forward by the projection only.

CREATE TRIGGER tasks_born_pending BEFORE INSERT ON tasks FOR EACH ROW
    WHEN (NEW.status IS DISTINCT FROM 'pending' OR num_nonnulls(NEW.claimed_by, NEW.claimed_at, NEW.verified_by, NEW.decided_at) > 0)
    EXECUTE FUNCTION countersign_refuse();

CREATE FUNCTION tasks_need_criteria() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.criteria_count IS DISTINCT FROM (SELECT count(*) FROM criteria WHERE task_id = NEW.id)
        OR NEW.criteria_count IS DISTINCT FROM (SELECT max(number) FROM criteria WHERE task_id = NEW.id) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_need_criteria BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_need_criteria();

CREATE FUNCTION tasks_need_transition() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM transitions WHERE task_id = NEW.id AND number = 1
        AND agent_id = NEW.created_by AND at = NEW.created_at) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_need_transition BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_need_transition();

CREATE FUNCTION tasks_supersede_existing() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM tasks WHERE id = NEW.supersedes) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_supersede_existing BEFORE INSERT ON tasks
    FOR EACH ROW WHEN (NEW.supersedes IS NOT NULL) EXECUTE FUNCTION tasks_supersede_existing();

CREATE FUNCTION tasks_supersede_rejected() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM tasks WHERE id = NEW.supersedes AND status <> 'rejected') THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_supersede_rejected BEFORE INSERT ON tasks
    FOR EACH ROW WHEN (NEW.supersedes IS NOT NULL) EXECUTE FUNCTION tasks_supersede_rejected();

CREATE TRIGGER tasks_immutable BEFORE UPDATE ON tasks FOR EACH ROW WHEN (
    (NEW.id, NEW.title, NEW.created_by, NEW.created_at, NEW.criteria_count, NEW.supersedes)
        IS DISTINCT FROM (OLD.id, OLD.title, OLD.created_by, OLD.created_at, OLD.criteria_count, OLD.supersedes)
    OR (OLD.claimed_by IS NOT NULL AND NEW.claimed_by IS DISTINCT FROM OLD.claimed_by)
    OR (OLD.claimed_at IS NOT NULL AND NEW.claimed_at IS DISTINCT FROM OLD.claimed_at))
    EXECUTE FUNCTION countersign_refuse();

CREATE TRIGGER tasks_forward_only BEFORE UPDATE ON tasks FOR EACH ROW WHEN (
    ((OLD.status = 'pending' AND NEW.status = 'claimed')
        OR (OLD.status = 'claimed' AND NEW.status IN ('verified', 'rejected'))) IS NOT TRUE)
    EXECUTE FUNCTION countersign_refuse();

CREATE FUNCTION tasks_follow_transition() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM transitions WHERE task_id = NEW.id
        AND number = CASE NEW.status WHEN 'claimed' THEN 2 ELSE 3 END
        AND from_status = OLD.status AND to_status = NEW.status
        AND agent_id = CASE NEW.status WHEN 'claimed' THEN NEW.claimed_by ELSE NEW.verified_by END
        AND at = CASE NEW.status WHEN 'claimed' THEN NEW.claimed_at ELSE NEW.decided_at END) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_follow_transition BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_follow_transition();

CREATE TRIGGER tasks_no_delete BEFORE DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER tasks_no_truncate BEFORE TRUNCATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse();

-- session_replication_role = replica switches ordinary triggers off; not these.
DO $$
DECLARE guard record;
BEGIN
    FOR guard IN SELECT tgname, tgrelid::regclass AS relation FROM pg_trigger
        WHERE NOT tgisinternal AND tgrelid IN ('criteria'::regclass, 'transitions'::regclass, 'tasks'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', guard.relation, guard.tgname);
    END LOOP;
END $$;
