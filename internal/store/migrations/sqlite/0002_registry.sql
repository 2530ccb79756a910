-- The registry. A result is a row that never changes; what the results of a
-- component add up to is folded into the component's row in the transaction that
-- stores them. A status is computed on reading and stands nowhere here. The name
-- of every constraint and trigger is a key of the table in constraint.go. Times
-- are milliseconds since the Unix epoch, durations microseconds, flags 0 or 1.

-- One probe each. Trimmed, the oldest first; see trim.go.
CREATE TABLE results (
    id        TEXT NOT NULL,
    component TEXT NOT NULL,
    kind      TEXT NOT NULL,
    probed_at INTEGER NOT NULL,
    outcome   TEXT NOT NULL,
    causes    TEXT NOT NULL,    -- a JSON array
    reason    TEXT NOT NULL,
    degraded  INTEGER NOT NULL,
    latency   INTEGER NOT NULL,
    proof     TEXT NOT NULL,    -- what Passed was computed from, as a JSON object
    bytes     INTEGER NOT NULL, -- what the row is taken to need with its indexes
    document  TEXT,             -- NULL when it was given up
    CONSTRAINT results_key PRIMARY KEY (id),
    -- A UUIDv7 in lower case: the order of the ids is the order of time.
    CONSTRAINT results_id CHECK (length(CAST(id AS BLOB)) = 36 AND length(replace(id, '-', '')) = 32
        AND id GLOB '????????-????-7???-[89ab]???-????????????' AND id NOT GLOB '*[^0-9a-f-]*'),
    CONSTRAINT results_probed_at CHECK (probed_at >= 0),
    CONSTRAINT results_outcome CHECK (outcome IN ('passed', 'failed', 'undecided')),
    CONSTRAINT results_causes CHECK (CASE WHEN json_valid(causes) THEN json_type(causes) = 'array' ELSE 0 END),
    CONSTRAINT results_degraded CHECK (degraded = 0 OR (degraded = 1 AND outcome = 'passed')),
    CONSTRAINT results_latency CHECK (latency >= 0),
    CONSTRAINT results_proof CHECK (CASE WHEN json_valid(proof) THEN json_type(proof) = 'object' ELSE 0 END),
    CONSTRAINT results_bytes CHECK (bytes > 0)
) STRICT;

CREATE INDEX results_by_component ON results (component, id);

-- A registered component: what it is, what its results add up to, and the newest
-- of them. A component without results has no result_id.
CREATE TABLE components (
    name            TEXT NOT NULL,
    kind            TEXT NOT NULL,
    definition      TEXT NOT NULL,
    registered_at   INTEGER NOT NULL,
    settled         TEXT NOT NULL,    -- the last decided status, or nothing
    streak          INTEGER NOT NULL, -- results in a row that contradict it
    outcomes        TEXT NOT NULL,    -- a mark for each of the latest results
    flapping        INTEGER NOT NULL,
    changed_at      INTEGER,
    result_id       TEXT,
    probed_at       INTEGER,
    outcome         TEXT,
    causes          TEXT NOT NULL,
    reason          TEXT NOT NULL,
    degraded        INTEGER NOT NULL,
    failure_causes  TEXT NOT NULL,    -- of the newest failure, while that is why it is unavailable
    failure_reason  TEXT NOT NULL,
    tools_digest    TEXT NOT NULL,
    accepted_digest TEXT NOT NULL,
    accepted_at     INTEGER,
    document        TEXT,             -- the newest result, whole
    CONSTRAINT components_key PRIMARY KEY (name),
    CONSTRAINT components_name CHECK (length(name) BETWEEN 1 AND 64
        AND length(name) = length(CAST(name AS BLOB))
        AND name GLOB '[a-z0-9]*' AND name NOT GLOB '*[^a-z0-9._-]*'),
    CONSTRAINT components_registration CHECK (kind <> '' AND definition <> '' AND registered_at >= 0),
    CONSTRAINT components_newest CHECK ((result_id IS NULL) = (probed_at IS NULL) AND (result_id IS NULL) = (outcome IS NULL)
        AND (result_id IS NOT NULL OR document IS NULL)),
    -- The newest result speaks for the settled status or adds to the streak.
    CONSTRAINT components_settled CHECK (CASE coalesce(outcome, 'undecided')
        WHEN 'passed' THEN (settled = 'available' AND streak = 0) OR (settled = 'unavailable' AND streak > 0)
        WHEN 'failed' THEN (settled = 'unavailable' AND streak = 0) OR (settled = 'available' AND streak > 0)
        WHEN 'undecided' THEN settled = '' AND streak = 0
        ELSE 0 END),
    CONSTRAINT components_outcomes CHECK (length(CAST(outcomes AS BLOB)) <= 20 AND outcomes NOT GLOB '*[^pfu]*'
        AND substr(outcomes, -1) = substr(coalesce(outcome, ''), 1, 1)),
    CONSTRAINT components_causes CHECK (CASE WHEN json_valid(causes) AND json_valid(failure_causes)
        THEN json_type(causes) = 'array' AND json_type(failure_causes) = 'array' ELSE 0 END),
    CONSTRAINT components_flags CHECK (flapping IN (0, 1) AND degraded IN (0, 1)
        AND (degraded = 0 OR coalesce(outcome, '') = 'passed')),
    CONSTRAINT components_accepted CHECK ((accepted_digest = '') = (accepted_at IS NULL))
) STRICT;

-- Lists of tools by what they are; those that no component refers to are removed.
CREATE TABLE tool_lists (
    digest TEXT NOT NULL,
    loose  INTEGER NOT NULL, -- a component has ceased to refer to it
    tools  TEXT NOT NULL,    -- a JSON array
    CONSTRAINT tool_lists_key PRIMARY KEY (digest),
    CONSTRAINT tool_lists_digest CHECK (digest <> '' AND loose IN (0, 1)),
    CONSTRAINT tool_lists_tools CHECK (CASE WHEN json_valid(tools) THEN json_type(tools) = 'array' ELSE 0 END)
) STRICT;

CREATE INDEX tool_lists_loose ON tool_lists (digest) WHERE loose = 1;

-- The results of a component in one hour, added up.
CREATE TABLE hours (
    start       INTEGER NOT NULL,
    component   TEXT NOT NULL,
    passed      INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    undecided   INTEGER NOT NULL,
    latency_sum INTEGER NOT NULL,
    latency_max INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    CONSTRAINT hours_key PRIMARY KEY (start, component),
    CONSTRAINT hours_start CHECK (start >= 0 AND start % 3600000 = 0),
    CONSTRAINT hours_counts CHECK (passed >= 0 AND failed >= 0 AND undecided >= 0 AND passed + failed + undecided > 0),
    CONSTRAINT hours_latency CHECK (latency_max >= 0 AND latency_sum >= latency_max),
    CONSTRAINT hours_bytes CHECK (bytes > 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX hours_by_component ON hours (component, start);

-- Changes of status, for ever.
CREATE TABLE changes (
    number      INTEGER NOT NULL,
    component   TEXT NOT NULL,
    at          INTEGER NOT NULL,
    from_status TEXT NOT NULL,
    to_status   TEXT NOT NULL,
    causes      TEXT NOT NULL,
    result_id   TEXT NOT NULL, -- empty when none came in time
    CONSTRAINT changes_key PRIMARY KEY (number),
    CONSTRAINT changes_at CHECK (at >= 0),
    CONSTRAINT changes_step CHECK (from_status IN ('probing', 'available', 'unavailable', 'unknown')
        AND to_status IN ('available', 'unavailable', 'unknown') AND from_status <> to_status),
    CONSTRAINT changes_causes CHECK (CASE WHEN json_valid(causes) THEN json_type(causes) = 'array' ELSE 0 END)
) STRICT;

CREATE INDEX changes_by_component ON changes (component, number);

-- Preflights, by the run.
CREATE TABLE preflights (
    run     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    digest  TEXT NOT NULL,    -- of the slots: storing one again changes nothing
    allowed INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    slots   TEXT NOT NULL,    -- a JSON array
    ticket  TEXT,             -- a JSON object
    CONSTRAINT preflights_key PRIMARY KEY (run, at, digest),
    CONSTRAINT preflights_run CHECK (run <> '' AND at >= 0 AND digest <> ''),
    CONSTRAINT preflights_slots CHECK (CASE WHEN json_valid(slots) THEN json_type(slots) = 'array' ELSE 0 END),
    CONSTRAINT preflights_flag CHECK (allowed IN (0, 1)),
    CONSTRAINT preflights_ticket CHECK (ticket IS NULL
        OR CASE WHEN json_valid(ticket) THEN allowed = 1 AND json_type(ticket) = 'object' ELSE 0 END),
    CONSTRAINT preflights_bytes CHECK (bytes > 0)
) STRICT;

-- A hold on a duty of which one process at a time has charge.
CREATE TABLE leases (
    name   TEXT NOT NULL,
    holder TEXT NOT NULL,
    fence  INTEGER NOT NULL,
    beat   INTEGER NOT NULL,
    CONSTRAINT leases_key PRIMARY KEY (name),
    CONSTRAINT leases_numbers CHECK (fence >= 0 AND beat >= 0)
) STRICT;
INSERT INTO leases (name, holder, fence, beat) VALUES ('patrol', '', 0, 0);

-- The account of what results, hours and preflights take: the sum of their bytes.
CREATE TABLE history (
    id         INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    hour_bytes INTEGER NOT NULL, -- the part of the hours
    CONSTRAINT history_key PRIMARY KEY (id),
    CONSTRAINT history_single CHECK (id = 1),
    CONSTRAINT history_bytes CHECK (hour_bytes >= 0 AND bytes >= hour_bytes)
) STRICT;
INSERT INTO history (id, bytes, hour_bytes) VALUES (1, 0, 0);

-- Results: a pass only as its proof says, by the kind. A kind has a trigger of
-- its own, and its name in results_kind; one without them never passes.

CREATE TRIGGER results_kind BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind NOT IN ('mcp_server')
BEGIN SELECT RAISE(ABORT, 'results_kind'); END;

CREATE TRIGGER results_mcp_server_passed BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind = 'mcp_server' AND CASE WHEN json_valid(NEW.proof)
    THEN json_type(NEW.proof, '$.healthz') IS 'true' AND json_type(NEW.proof, '$.test') IS 'true'
        AND json_type(NEW.proof, '$.listTools') IS 'true'
        AND json_type(NEW.proof, '$.toolCount') IS 'integer' AND json_extract(NEW.proof, '$.toolCount') > 0
        AND NOT EXISTS (SELECT 1 FROM json_each(NEW.proof) GROUP BY key HAVING count(*) > 1) -- no member twice
    ELSE 0 END IS NOT 1
BEGIN SELECT RAISE(ABORT, 'results_mcp_server_passed'); END;

CREATE TRIGGER results_no_replace BEFORE INSERT ON results
WHEN EXISTS (SELECT 1 FROM results WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'results_no_replace'); END;

CREATE TRIGGER results_no_update BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'results_no_update'); END;

CREATE TRIGGER results_keep_newest BEFORE DELETE ON results
WHEN EXISTS (SELECT 1 FROM components WHERE name = OLD.component AND result_id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'results_keep_newest'); END;

-- Components: the newest result is one that is stored, and says what it says.

CREATE TRIGGER components_follow_result AFTER INSERT ON components
WHEN NEW.result_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM results WHERE id = NEW.result_id AND component = NEW.name
    AND outcome = NEW.outcome AND probed_at = NEW.probed_at AND degraded = NEW.degraded)
BEGIN SELECT RAISE(ABORT, 'components_follow_result'); END;

CREATE TRIGGER components_follow_newer_result AFTER UPDATE OF name, result_id, outcome, probed_at, degraded ON components
WHEN NEW.result_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM results WHERE id = NEW.result_id AND component = NEW.name
    AND outcome = NEW.outcome AND probed_at = NEW.probed_at AND degraded = NEW.degraded)
BEGIN SELECT RAISE(ABORT, 'components_follow_newer_result'); END;

-- Changes: appended only, and to a decided status by a result that decides so.

CREATE TRIGGER changes_follow_result BEFORE INSERT ON changes
WHEN NEW.to_status <> 'unknown' AND NOT EXISTS (SELECT 1 FROM results WHERE id = NEW.result_id AND component = NEW.component
    AND outcome = CASE NEW.to_status WHEN 'available' THEN 'passed' ELSE 'failed' END)
BEGIN SELECT RAISE(ABORT, 'changes_follow_result'); END;

CREATE TRIGGER changes_no_replace BEFORE INSERT ON changes
WHEN EXISTS (SELECT 1 FROM changes WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'changes_no_replace'); END;

CREATE TRIGGER changes_no_update BEFORE UPDATE ON changes
BEGIN SELECT RAISE(ABORT, 'changes_no_update'); END;

CREATE TRIGGER changes_no_delete BEFORE DELETE ON changes
BEGIN SELECT RAISE(ABORT, 'changes_no_delete'); END;

-- Preflights: allowed only when there are slots and every required one is filled
-- by a component of it that passed.

CREATE TRIGGER preflights_allowed BEFORE INSERT ON preflights
WHEN NEW.allowed <> 0 AND (CASE WHEN json_valid(NEW.slots) THEN json_type(NEW.slots) = 'array'
    AND json_array_length(NEW.slots) > 0 AND NOT EXISTS (SELECT 1 FROM json_each(NEW.slots) AS slot
        WHERE slot.type <> 'object' OR NOT (json_type(slot.value, '$.required') IS 'false'
            OR (json_type(slot.value, '$.required') IS 'true' AND json_type(slot.value, '$.ok') IS 'true'
                AND EXISTS (SELECT 1 FROM json_each(slot.value, '$.attempts') AS attempt
                    WHERE attempt.type = 'object' AND json_type(attempt.value, '$.passed') IS 'true'
                        AND json_extract(attempt.value, '$.component') = json_extract(slot.value, '$.component')))))
    ELSE 0 END) IS NOT 1
BEGIN SELECT RAISE(ABORT, 'preflights_allowed'); END;

CREATE TRIGGER preflights_no_replace BEFORE INSERT ON preflights
WHEN EXISTS (SELECT 1 FROM preflights WHERE run = NEW.run AND at = NEW.at AND digest = NEW.digest)
BEGIN SELECT RAISE(ABORT, 'preflights_no_replace'); END;

CREATE TRIGGER preflights_no_update BEFORE UPDATE ON preflights
BEGIN SELECT RAISE(ABORT, 'preflights_no_update'); END;

-- Leases: a fence never falls.

CREATE TRIGGER leases_forward_only BEFORE UPDATE ON leases
WHEN NEW.name IS NOT OLD.name OR NEW.fence < OLD.fence OR (NEW.fence = OLD.fence AND NEW.beat < OLD.beat)
BEGIN SELECT RAISE(ABORT, 'leases_forward_only'); END;

CREATE TRIGGER leases_no_replace BEFORE INSERT ON leases
WHEN EXISTS (SELECT 1 FROM leases WHERE name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'leases_no_replace'); END;

CREATE TRIGGER leases_no_delete BEFORE DELETE ON leases
BEGIN SELECT RAISE(ABORT, 'leases_no_delete'); END;
