-- The task gate. The transition is the write; the task's row is its projection,
-- made and guarded by the triggers below. The name of every constraint and
-- trigger is a key of the table in constraint.go.

-- What must hold for a task to be done. Inserted before anything else of the task.
CREATE TABLE criteria (
    task_id TEXT NOT NULL,
    number  INTEGER NOT NULL,
    text    TEXT NOT NULL,
    CONSTRAINT criteria_key PRIMARY KEY (task_id, number),
    CONSTRAINT criteria_task FOREIGN KEY (task_id) REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT criteria_number CHECK (number >= 1),
    -- Blank is Unicode white space (property White_Space) only.
    CONSTRAINT criteria_text CHECK (trim(text, char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195,
        8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288)) <> '')
) STRICT, WITHOUT ROWID;

-- One permitted change of a task each, for ever. Number 1 is its creation, 2 the
-- claim, 3 the verdict, so (agent, number) is also the scope of a key.
CREATE TABLE transitions (
    task_id             TEXT NOT NULL,
    number              INTEGER NOT NULL,
    kind                TEXT NOT NULL,
    from_status         TEXT,
    to_status           TEXT NOT NULL,
    agent_id            TEXT NOT NULL,
    principal_kind      TEXT NOT NULL,
    principal_id        TEXT NOT NULL,
    at                  INTEGER NOT NULL, -- milliseconds since the Unix epoch
    text                TEXT NOT NULL,    -- the evidence of a claim, the notes of a verdict
    body                TEXT NOT NULL,    -- the canonical body
    digest              TEXT NOT NULL,    -- SHA-256 of the body, in hex
    idempotency_key     TEXT,
    idempotency_content TEXT,
    CONSTRAINT transitions_key PRIMARY KEY (task_id, number),
    CONSTRAINT transitions_task FOREIGN KEY (task_id) REFERENCES tasks (id) DEFERRABLE INITIALLY DEFERRED,
    -- The state machine; task.Transitions() is its source.
    CONSTRAINT transitions_step CHECK (
        (number = 1 AND kind = 'created' AND from_status IS NULL AND to_status = 'pending')
        OR (number = 2 AND kind = 'claimed' AND coalesce(from_status, '') = 'pending' AND to_status = 'claimed')
        OR (number = 3 AND kind = 'verified' AND coalesce(from_status, '') = 'claimed' AND to_status = 'verified')
        OR (number = 3 AND kind = 'rejected' AND coalesce(from_status, '') = 'claimed' AND to_status = 'rejected')),
    -- The byte length differs from length() where a NUL hides the rest.
    CONSTRAINT transitions_agent CHECK (length(agent_id) BETWEEN 1 AND 64
        AND length(agent_id) = length(CAST(agent_id AS BLOB))
        AND agent_id GLOB '[a-z0-9]*' AND agent_id NOT GLOB '*[^a-z0-9._-]*'),
    CONSTRAINT transitions_principal CHECK (trim(principal_kind) <> '' AND trim(principal_id) <> ''),
    CONSTRAINT transitions_at CHECK (at >= 0),
    CONSTRAINT transitions_creation_text CHECK (kind <> 'created' OR text = ''),
    CONSTRAINT transitions_evidence CHECK (kind <> 'claimed' OR trim(text, char(9, 10, 11, 12, 13, 32, 133, 160,
        5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288)) <> ''),
    CONSTRAINT transitions_notes CHECK (kind <> 'rejected' OR trim(text, char(9, 10, 11, 12, 13, 32, 133, 160,
        5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288)) <> ''),
    CONSTRAINT transitions_body CHECK (body <> ''),
    CONSTRAINT transitions_digest CHECK (length(CAST(digest AS BLOB)) = 64 AND digest NOT GLOB '*[^0-9a-f]*'),
    CONSTRAINT transitions_idempotency CHECK ((idempotency_key IS NULL AND idempotency_content IS NULL)
        OR (coalesce(idempotency_key, '') <> '' AND coalesce(idempotency_content, '') <> ''))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX transitions_idempotency_once ON transitions (agent_id, number, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Where each task is: the projection of its transitions, without long texts.
CREATE TABLE tasks (
    id             TEXT NOT NULL,
    title          TEXT NOT NULL,
    status         TEXT NOT NULL,
    created_by     TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    claimed_by     TEXT,
    claimed_at     INTEGER,
    verified_by    TEXT,
    decided_at     INTEGER,
    updated_at     INTEGER NOT NULL,
    criteria_count INTEGER NOT NULL,
    supersedes     TEXT,
    CONSTRAINT tasks_key PRIMARY KEY (id),
    -- A UUIDv7 in lower case: the order of the ids is the order of a list.
    CONSTRAINT tasks_id CHECK (length(CAST(id AS BLOB)) = 36 AND length(replace(id, '-', '')) = 32
        AND id GLOB '????????-????-7???-[89ab]???-????????????' AND id NOT GLOB '*[^0-9a-f-]*'),
    CONSTRAINT tasks_title CHECK (trim(title, char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195,
        8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288)) <> ''),
    CONSTRAINT tasks_status CHECK (status IN ('pending', 'claimed', 'verified', 'rejected')),
    CONSTRAINT tasks_claim CHECK ((status = 'pending') = (claimed_by IS NULL)
        AND (status = 'pending') = (claimed_at IS NULL)),
    CONSTRAINT tasks_verdict CHECK ((status IN ('verified', 'rejected')) = (verified_by IS NOT NULL)
        AND (status IN ('verified', 'rejected')) = (decided_at IS NOT NULL)),
    CONSTRAINT tasks_prover_is_not_verifier CHECK (verified_by IS NULL OR verified_by <> coalesce(claimed_by, verified_by)),
    CONSTRAINT tasks_updated_at CHECK (updated_at = coalesce(decided_at, claimed_at, created_at)),
    CONSTRAINT tasks_criteria_count CHECK (criteria_count >= 1),
    CONSTRAINT tasks_supersedes FOREIGN KEY (supersedes) REFERENCES tasks (id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_by_creator ON tasks (created_by, id);
CREATE INDEX tasks_by_prover ON tasks (claimed_by, id) WHERE claimed_by IS NOT NULL;
CREATE UNIQUE INDEX tasks_one_successor ON tasks (supersedes) WHERE supersedes IS NOT NULL;

-- One row that proves the database: see Database.Check.
CREATE TABLE heartbeat (
    id    INTEGER NOT NULL,
    beats INTEGER NOT NULL,
    CONSTRAINT heartbeat_key PRIMARY KEY (id),
    CONSTRAINT heartbeat_single CHECK (id = 1)
) STRICT;
INSERT INTO heartbeat (id, beats) VALUES (1, 0);

-- Criteria: at birth only, then for ever.

CREATE TRIGGER criteria_at_birth BEFORE INSERT ON criteria
WHEN EXISTS (SELECT 1 FROM transitions WHERE task_id = NEW.task_id)
    OR EXISTS (SELECT 1 FROM tasks WHERE id = NEW.task_id)
BEGIN SELECT RAISE(ABORT, 'criteria_at_birth'); END;

-- INSERT OR REPLACE fires no delete trigger, so each table guards its keys.
CREATE TRIGGER criteria_no_replace BEFORE INSERT ON criteria
WHEN EXISTS (SELECT 1 FROM criteria WHERE task_id = NEW.task_id AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'criteria_no_replace'); END;

CREATE TRIGGER criteria_no_update BEFORE UPDATE ON criteria
BEGIN SELECT RAISE(ABORT, 'criteria_no_update'); END;

CREATE TRIGGER criteria_no_delete BEFORE DELETE ON criteria
BEGIN SELECT RAISE(ABORT, 'criteria_no_delete'); END;

-- Transitions: appended only, each from the status that the task has.

CREATE TRIGGER transitions_need_criteria BEFORE INSERT ON transitions
WHEN NEW.number = 1 AND NOT EXISTS (SELECT 1 FROM criteria WHERE task_id = NEW.task_id)
BEGIN SELECT RAISE(ABORT, 'transitions_need_criteria'); END;

CREATE TRIGGER transitions_follow_task BEFORE INSERT ON transitions
WHEN NEW.number <> 1 AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = NEW.task_id AND status = NEW.from_status)
BEGIN SELECT RAISE(ABORT, 'transitions_follow_task'); END;

CREATE TRIGGER transitions_prover_is_not_verifier BEFORE INSERT ON transitions
WHEN NEW.number = 3 AND EXISTS (SELECT 1 FROM tasks WHERE id = NEW.task_id AND claimed_by = NEW.agent_id)
BEGIN SELECT RAISE(ABORT, 'transitions_prover_is_not_verifier'); END;

CREATE TRIGGER transitions_no_replace BEFORE INSERT ON transitions
WHEN EXISTS (SELECT 1 FROM transitions WHERE task_id = NEW.task_id AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'transitions_no_replace'); END;

CREATE TRIGGER transitions_no_key_replace BEFORE INSERT ON transitions
WHEN NEW.idempotency_key IS NOT NULL AND EXISTS (SELECT 1 FROM transitions
    WHERE agent_id = NEW.agent_id AND number = NEW.number AND idempotency_key = NEW.idempotency_key)
BEGIN SELECT RAISE(ABORT, 'transitions_no_key_replace'); END;

CREATE TRIGGER transitions_no_update BEFORE UPDATE ON transitions
BEGIN SELECT RAISE(ABORT, 'transitions_no_update'); END;

CREATE TRIGGER transitions_no_delete BEFORE DELETE ON transitions
BEGIN SELECT RAISE(ABORT, 'transitions_no_delete'); END;

-- The projection. The outer statement's OR IGNORE or OR FAIL would also rule the
-- update in here; the check after it stands whatever that says.
CREATE TRIGGER transitions_project AFTER INSERT ON transitions WHEN NEW.number <> 1
BEGIN
    UPDATE tasks SET
        status = NEW.to_status,
        claimed_by = CASE NEW.number WHEN 2 THEN NEW.agent_id ELSE claimed_by END,
        claimed_at = CASE NEW.number WHEN 2 THEN NEW.at ELSE claimed_at END,
        verified_by = CASE NEW.number WHEN 3 THEN NEW.agent_id END,
        decided_at = CASE NEW.number WHEN 3 THEN NEW.at END,
        updated_at = NEW.at
    WHERE id = NEW.task_id AND status = NEW.from_status;
    SELECT RAISE(ABORT, 'transitions_project')
    WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = NEW.task_id AND status = NEW.to_status AND updated_at = NEW.at);
END;

-- Tasks: born pending, moved forward by the projection only.

CREATE TRIGGER tasks_born_pending BEFORE INSERT ON tasks
WHEN NEW.status IS NOT 'pending' OR NEW.claimed_by IS NOT NULL OR NEW.claimed_at IS NOT NULL
    OR NEW.verified_by IS NOT NULL OR NEW.decided_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'tasks_born_pending'); END;

CREATE TRIGGER tasks_need_criteria BEFORE INSERT ON tasks
WHEN NEW.criteria_count IS NOT (SELECT count(*) FROM criteria WHERE task_id = NEW.id)
    OR NEW.criteria_count IS NOT (SELECT max(number) FROM criteria WHERE task_id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'tasks_need_criteria'); END;

CREATE TRIGGER tasks_need_transition BEFORE INSERT ON tasks
WHEN NOT EXISTS (SELECT 1 FROM transitions WHERE task_id = NEW.id AND number = 1
    AND agent_id = NEW.created_by AND at = NEW.created_at)
BEGIN SELECT RAISE(ABORT, 'tasks_need_transition'); END;

CREATE TRIGGER tasks_supersede_existing BEFORE INSERT ON tasks
WHEN NEW.supersedes IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = NEW.supersedes)
BEGIN SELECT RAISE(ABORT, 'tasks_supersede_existing'); END;

CREATE TRIGGER tasks_supersede_rejected BEFORE INSERT ON tasks
WHEN EXISTS (SELECT 1 FROM tasks WHERE id = NEW.supersedes AND status <> 'rejected')
BEGIN SELECT RAISE(ABORT, 'tasks_supersede_rejected'); END;

CREATE TRIGGER tasks_no_replace BEFORE INSERT ON tasks
WHEN EXISTS (SELECT 1 FROM tasks WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'tasks_no_replace'); END;

CREATE TRIGGER tasks_no_successor_replace BEFORE INSERT ON tasks
WHEN NEW.supersedes IS NOT NULL AND EXISTS (SELECT 1 FROM tasks WHERE supersedes = NEW.supersedes)
BEGIN SELECT RAISE(ABORT, 'tasks_no_successor_replace'); END;

CREATE TRIGGER tasks_immutable BEFORE UPDATE ON tasks
WHEN NEW.id IS NOT OLD.id OR NEW.title IS NOT OLD.title
    OR NEW.created_by IS NOT OLD.created_by OR NEW.created_at IS NOT OLD.created_at
    OR NEW.criteria_count IS NOT OLD.criteria_count OR NEW.supersedes IS NOT OLD.supersedes
    OR (OLD.claimed_by IS NOT NULL AND NEW.claimed_by IS NOT OLD.claimed_by)
    OR (OLD.claimed_at IS NOT NULL AND NEW.claimed_at IS NOT OLD.claimed_at)
BEGIN SELECT RAISE(ABORT, 'tasks_immutable'); END;

CREATE TRIGGER tasks_forward_only BEFORE UPDATE ON tasks
WHEN NOT ((OLD.status = 'pending' AND NEW.status = 'claimed')
    OR (OLD.status = 'claimed' AND NEW.status IN ('verified', 'rejected')))
BEGIN SELECT RAISE(ABORT, 'tasks_forward_only'); END;

CREATE TRIGGER tasks_follow_transition BEFORE UPDATE ON tasks
WHEN NOT EXISTS (SELECT 1 FROM transitions WHERE task_id = NEW.id
    AND number = CASE NEW.status WHEN 'claimed' THEN 2 ELSE 3 END
    AND from_status = OLD.status AND to_status = NEW.status
    AND agent_id = CASE NEW.status WHEN 'claimed' THEN NEW.claimed_by ELSE NEW.verified_by END
    AND at = CASE NEW.status WHEN 'claimed' THEN NEW.claimed_at ELSE NEW.decided_at END)
BEGIN SELECT RAISE(ABORT, 'tasks_follow_transition'); END;

CREATE TRIGGER tasks_no_delete BEFORE DELETE ON tasks
BEGIN SELECT RAISE(ABORT, 'tasks_no_delete'); END;
