-- The registry. A result is a row that never changes; what the results of a
-- component add up to is folded into the component's row in the transaction that
-- stores them. A status is computed on reading and stands nowhere here. The name
-- of every constraint and trigger is a key of the table in constraint.go. Times
-- are milliseconds since the Unix epoch, durations microseconds, flags 0 or 1.

-- One probe each. Trimmed, the oldest first; see trim.go.
CREATE TABLE results (
    id        TEXT COLLATE "C" NOT NULL,
    component TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    probed_at BIGINT NOT NULL,
    outcome   TEXT COLLATE "C" NOT NULL,
    causes    JSONB NOT NULL,
    reason    TEXT NOT NULL,
    degraded  BIGINT NOT NULL,
    latency   BIGINT NOT NULL,
    proof     JSONB NOT NULL,  -- what Passed was computed from
    bytes     BIGINT NOT NULL, -- what the row is taken to need with its indexes
    document  TEXT,            -- NULL when it was given up
    CONSTRAINT results_key PRIMARY KEY (id),
    -- A UUIDv7 in lower case: the order of the ids is the order of time.
    CONSTRAINT results_id CHECK (id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'),
    CONSTRAINT results_probed_at CHECK (probed_at >= 0),
    CONSTRAINT results_outcome CHECK (outcome IN ('passed', 'failed', 'undecided')),
    CONSTRAINT results_causes CHECK (jsonb_typeof(causes) = 'array'),
    CONSTRAINT results_degraded CHECK (degraded = 0 OR (degraded = 1 AND outcome = 'passed')),
    CONSTRAINT results_latency CHECK (latency >= 0),
    CONSTRAINT results_proof CHECK (jsonb_typeof(proof) = 'object'),
    CONSTRAINT results_bytes CHECK (bytes > 0),
    -- A pass only as its proof says, by the kind. A kind has a constraint of its
    -- own, and its name in results_kind; one without them never passes.
    CONSTRAINT results_kind CHECK (outcome <> 'passed' OR kind IN ('mcp_server')),
    CONSTRAINT results_mcp_server_passed CHECK (outcome <> 'passed' OR kind <> 'mcp_server' OR (
        coalesce(proof -> 'healthz' = 'true' AND proof -> 'test' = 'true' AND proof -> 'listTools' = 'true'
            AND jsonb_typeof(proof -> 'toolCount') = 'number' AND proof ->> 'toolCount' ~ '^[1-9][0-9]*$', FALSE)))
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX results_by_component ON results (component, id);

-- A registered component: what it is, what its results add up to, and the newest
-- of them. A component without results has no result_id. Pages keep room for the
-- next version of their rows, which every result makes.
CREATE TABLE components (
    name            TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    definition      TEXT NOT NULL,
    registered_at   BIGINT NOT NULL,
    settled         TEXT COLLATE "C" NOT NULL, -- the last decided status, or nothing
    streak          BIGINT NOT NULL,           -- results in a row that contradict it
    outcomes        TEXT COLLATE "C" NOT NULL, -- a mark for each of the latest results
    flapping        BIGINT NOT NULL,
    changed_at      BIGINT,
    result_id       TEXT COLLATE "C",
    probed_at       BIGINT,
    outcome         TEXT COLLATE "C",
    causes          JSONB NOT NULL,
    reason          TEXT NOT NULL,
    degraded        BIGINT NOT NULL,
    failure_causes  JSONB NOT NULL,            -- of the newest failure, while that is why it is unavailable
    failure_reason  TEXT NOT NULL,
    tools_digest    TEXT COLLATE "C" NOT NULL,
    accepted_digest TEXT COLLATE "C" NOT NULL,
    accepted_at     BIGINT,
    document        TEXT,                      -- the newest result, whole
    CONSTRAINT components_key PRIMARY KEY (name),
    CONSTRAINT components_name CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    CONSTRAINT components_registration CHECK (kind <> '' AND definition <> '' AND registered_at >= 0),
    CONSTRAINT components_newest CHECK ((result_id IS NULL) = (probed_at IS NULL) AND (result_id IS NULL) = (outcome IS NULL)
        AND (result_id IS NOT NULL OR document IS NULL)),
    -- The newest result speaks for the settled status or adds to the streak.
    CONSTRAINT components_settled CHECK (CASE coalesce(outcome, 'undecided')
        WHEN 'passed' THEN (settled = 'available' AND streak = 0) OR (settled = 'unavailable' AND streak > 0)
        WHEN 'failed' THEN (settled = 'unavailable' AND streak = 0) OR (settled = 'available' AND streak > 0)
        WHEN 'undecided' THEN settled = '' AND streak = 0
        ELSE FALSE END),
    CONSTRAINT components_outcomes CHECK (outcomes ~ '^[pfu]{0,20}$' AND right(outcomes, 1) = left(coalesce(outcome, ''), 1)),
    CONSTRAINT components_causes CHECK (jsonb_typeof(causes) = 'array' AND jsonb_typeof(failure_causes) = 'array'),
    CONSTRAINT components_flags CHECK (flapping IN (0, 1) AND degraded IN (0, 1)
        AND (degraded = 0 OR coalesce(outcome, '') = 'passed')),
    CONSTRAINT components_accepted CHECK ((accepted_digest = '') = (accepted_at IS NULL))
) WITH (fillfactor = 40);

-- Lists of tools by what they are; those that no component refers to are removed.
CREATE TABLE tool_lists (
    digest TEXT COLLATE "C" NOT NULL,
    loose  BIGINT NOT NULL, -- a component has ceased to refer to it
    tools  TEXT NOT NULL,   -- a JSON array
    CONSTRAINT tool_lists_key PRIMARY KEY (digest),
    CONSTRAINT tool_lists_digest CHECK (digest <> '' AND loose IN (0, 1)),
    CONSTRAINT tool_lists_tools CHECK (json_typeof(CAST(tools AS JSON)) = 'array')
);

CREATE INDEX tool_lists_loose ON tool_lists (digest) WHERE loose = 1;

-- The results of a component in one hour, added up.
CREATE TABLE hours (
    start       BIGINT NOT NULL,
    component   TEXT COLLATE "C" NOT NULL,
    passed      BIGINT NOT NULL,
    failed      BIGINT NOT NULL,
    undecided   BIGINT NOT NULL,
    latency_sum BIGINT NOT NULL,
    latency_max BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,
    CONSTRAINT hours_key PRIMARY KEY (start, component),
    CONSTRAINT hours_start CHECK (start >= 0 AND start % 3600000 = 0),
    CONSTRAINT hours_counts CHECK (passed >= 0 AND failed >= 0 AND undecided >= 0 AND passed + failed + undecided > 0),
    CONSTRAINT hours_latency CHECK (latency_max >= 0 AND latency_sum >= latency_max),
    CONSTRAINT hours_bytes CHECK (bytes > 0)
) WITH (fillfactor = 90);

CREATE INDEX hours_by_component ON hours (component, start);

-- Changes of status, for ever.
CREATE TABLE changes (
    number      BIGINT GENERATED BY DEFAULT AS IDENTITY NOT NULL,
    component   TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    from_status TEXT COLLATE "C" NOT NULL,
    to_status   TEXT COLLATE "C" NOT NULL,
    causes      JSONB NOT NULL,
    result_id   TEXT COLLATE "C" NOT NULL, -- empty when none came in time
    CONSTRAINT changes_key PRIMARY KEY (number),
    CONSTRAINT changes_at CHECK (at >= 0),
    CONSTRAINT changes_step CHECK (from_status IN ('probing', 'available', 'unavailable', 'unknown')
        AND to_status IN ('available', 'unavailable', 'unknown') AND from_status <> to_status),
    CONSTRAINT changes_causes CHECK (jsonb_typeof(causes) = 'array')
);

CREATE INDEX changes_by_component ON changes (component, number);

-- Preflights, by the run. One is allowed only when there are slots and every
-- required one is filled by a component of it that passed.
CREATE TABLE preflights (
    run     TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    digest  TEXT COLLATE "C" NOT NULL, -- of the slots: storing one again changes nothing
    allowed BIGINT NOT NULL,
    bytes   BIGINT NOT NULL,
    slots   JSONB NOT NULL,
    ticket  JSONB,
    CONSTRAINT preflights_key PRIMARY KEY (run, at, digest),
    CONSTRAINT preflights_run CHECK (run <> '' AND at >= 0 AND digest <> ''),
    CONSTRAINT preflights_slots CHECK (jsonb_typeof(slots) = 'array'),
    CONSTRAINT preflights_flag CHECK (allowed IN (0, 1)),
    CONSTRAINT preflights_ticket CHECK (ticket IS NULL OR (allowed = 1 AND jsonb_typeof(ticket) = 'object')),
    CONSTRAINT preflights_bytes CHECK (bytes > 0)
);

-- A hold on a duty of which one process at a time has charge.
CREATE TABLE leases (
    name   TEXT COLLATE "C" NOT NULL,
    holder TEXT NOT NULL,
    fence  BIGINT NOT NULL,
    beat   BIGINT NOT NULL,
    CONSTRAINT leases_key PRIMARY KEY (name),
    CONSTRAINT leases_numbers CHECK (fence >= 0 AND beat >= 0)
);
INSERT INTO leases (name, holder, fence, beat) VALUES ('patrol', '', 0, 0);

-- The account of what results, hours and preflights take: the sum of their bytes.
CREATE TABLE history (
    id         BIGINT NOT NULL,
    bytes      BIGINT NOT NULL,
    hour_bytes BIGINT NOT NULL, -- the part of the hours
    CONSTRAINT history_key PRIMARY KEY (id),
    CONSTRAINT history_single CHECK (id = 1),
    CONSTRAINT history_bytes CHECK (hour_bytes >= 0 AND bytes >= hour_bytes)
);
INSERT INTO history (id, bytes, hour_bytes) VALUES (1, 0, 0);

CREATE TRIGGER results_no_update BEFORE UPDATE ON results FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER results_no_truncate BEFORE TRUNCATE ON results FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse();

CREATE FUNCTION results_keep_newest() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM components WHERE name = OLD.component AND result_id = OLD.id) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER results_keep_newest BEFORE DELETE ON results FOR EACH ROW EXECUTE FUNCTION results_keep_newest();

-- Components: the newest result is one that is stored, and says what it says.

CREATE FUNCTION components_follow_result() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM results WHERE id = NEW.result_id AND component = NEW.name
        AND outcome = NEW.outcome AND probed_at = NEW.probed_at AND degraded = NEW.degraded) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER components_follow_result AFTER INSERT ON components
    FOR EACH ROW WHEN (NEW.result_id IS NOT NULL) EXECUTE FUNCTION components_follow_result();
CREATE TRIGGER components_follow_newer_result AFTER UPDATE OF name, result_id, outcome, probed_at, degraded ON components
    FOR EACH ROW WHEN (NEW.result_id IS NOT NULL) EXECUTE FUNCTION components_follow_result();

-- Changes: appended only, and to a decided status by a result that decides so.

CREATE FUNCTION changes_follow_result() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM results WHERE id = NEW.result_id AND component = NEW.component
        AND outcome = CASE NEW.to_status WHEN 'available' THEN 'passed' ELSE 'failed' END) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER changes_follow_result BEFORE INSERT ON changes
    FOR EACH ROW WHEN (NEW.to_status <> 'unknown') EXECUTE FUNCTION changes_follow_result();
CREATE TRIGGER changes_no_update BEFORE UPDATE ON changes FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER changes_no_delete BEFORE DELETE ON changes FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER changes_no_truncate BEFORE TRUNCATE ON changes FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse();

CREATE FUNCTION preflights_allowed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(NEW.slots) <> 'array' OR jsonb_array_length(NEW.slots) = 0
        OR EXISTS (SELECT FROM jsonb_array_elements(NEW.slots) AS slot
            WHERE NOT coalesce(slot -> 'required' = 'false' OR (slot -> 'required' = 'true' AND slot -> 'ok' = 'true'
                AND EXISTS (SELECT FROM jsonb_path_query(slot, '$.attempts[*]') AS attempt
                    WHERE attempt -> 'passed' = 'true' AND attempt -> 'component' = slot -> 'component')), FALSE)) THEN
        RAISE EXCEPTION '%', TG_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER preflights_allowed BEFORE INSERT ON preflights
    FOR EACH ROW WHEN (NEW.allowed <> 0) EXECUTE FUNCTION preflights_allowed();
CREATE TRIGGER preflights_no_update BEFORE UPDATE ON preflights FOR EACH ROW EXECUTE FUNCTION countersign_refuse();

-- Leases: a fence never falls.

CREATE TRIGGER leases_forward_only BEFORE UPDATE ON leases FOR EACH ROW
    WHEN (NEW.name <> OLD.name OR NEW.fence < OLD.fence OR (NEW.fence = OLD.fence AND NEW.beat < OLD.beat))
    EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER leases_no_delete BEFORE DELETE ON leases FOR EACH ROW EXECUTE FUNCTION countersign_refuse();
CREATE TRIGGER leases_no_truncate BEFORE TRUNCATE ON leases FOR EACH STATEMENT EXECUTE FUNCTION countersign_refuse();

-- session_replication_role = replica switches ordinary triggers off; not these.
DO $$
DECLARE guard record;
BEGIN
    FOR guard IN SELECT tgname, tgrelid::regclass AS relation FROM pg_trigger WHERE NOT tgisinternal
        AND tgrelid IN ('results'::regclass, 'components'::regclass, 'changes'::regclass, 'preflights'::regclass, 'leases'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', guard.relation, guard.tgname);
    END LOOP;
END $$;
