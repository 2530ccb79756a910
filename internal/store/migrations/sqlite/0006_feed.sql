-- What happens, in one order, and what was counted of it. Every transition, change
-- and preflight makes its event in the statement that stores it.

-- The newest events; see feed.MaxKept. There is one writer at a time, so numbers
-- are in the order of commits, without gaps.
CREATE TABLE feed (
    number  INTEGER NOT NULL,
    turn    INTEGER NOT NULL DEFAULT 0, -- PostgreSQL has many
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    what    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    CONSTRAINT feed_key PRIMARY KEY (number),
    CONSTRAINT feed_position CHECK (turn = 0 AND number > 0),
    CONSTRAINT feed_kind CHECK (subject <> '' AND (
        (kind = 'task' AND what IN ('pending', 'claimed', 'verified', 'rejected'))
        OR (kind = 'component' AND what IN ('available', 'unavailable', 'unknown'))
        OR (kind = 'run' AND what IN ('allowed', 'allowed_on_fallback', 'refused')))),
    CONSTRAINT feed_at CHECK (at >= 0)
) STRICT;

-- What was counted of all events, up to which, and up to which they were removed.
CREATE TABLE totals (
    id             INTEGER NOT NULL,
    turn           INTEGER NOT NULL,
    number         INTEGER NOT NULL,
    removed_turn   INTEGER NOT NULL,
    removed_number INTEGER NOT NULL,
    at             INTEGER,          -- when it was last looked for further events
    created        INTEGER NOT NULL,
    claimed        INTEGER NOT NULL,
    verified       INTEGER NOT NULL,
    rejected       INTEGER NOT NULL,
    latency_sum    INTEGER NOT NULL, -- milliseconds from claims to their verdicts
    CONSTRAINT totals_key PRIMARY KEY (id),
    CONSTRAINT totals_single CHECK (id = 1),
    CONSTRAINT totals_position CHECK (removed_turn >= 0 AND removed_number >= 0
        AND (removed_turn, removed_number) <= (turn, number)),
    CONSTRAINT totals_counts CHECK (created >= 0 AND claimed >= 0 AND verified >= 0 AND rejected >= 0 AND latency_sum >= 0)
) STRICT;
INSERT INTO totals VALUES (1, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0);

-- How many verdicts came within so many seconds of the claim, and not within the
-- next smaller number.
CREATE TABLE latencies (
    seconds  INTEGER NOT NULL,
    verdicts INTEGER NOT NULL,
    CONSTRAINT latencies_key PRIMARY KEY (seconds),
    CONSTRAINT latencies_counts CHECK (seconds > 0 AND verdicts >= 0)
) STRICT;
INSERT INTO latencies VALUES (1, 0), (5, 0), (15, 0), (60, 0), (300, 0), (900, 0), (3600, 0), (14400, 0), (86400, 0);

-- What was counted of each agent.
CREATE TABLE agents (
    id              TEXT NOT NULL,
    created         INTEGER NOT NULL,
    claimed         INTEGER NOT NULL,
    claims_verified INTEGER NOT NULL, -- what became of its claims
    claims_rejected INTEGER NOT NULL,
    verified        INTEGER NOT NULL, -- the verdicts that it gave
    rejected        INTEGER NOT NULL,
    latency_sum     INTEGER NOT NULL, -- milliseconds from those claims to its verdicts
    last_at         INTEGER NOT NULL, -- of its newest transition
    CONSTRAINT agents_key PRIMARY KEY (id),
    CONSTRAINT agents_counts CHECK (id <> '' AND created >= 0 AND claimed >= 0 AND claims_verified >= 0 AND claims_rejected >= 0
        AND verified >= 0 AND rejected >= 0 AND latency_sum >= 0 AND last_at >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX agents_by_verdicts ON agents ((verified + rejected) DESC, id);

-- What was counted of the verdicts of one agent on the claims of another.
CREATE TABLE pairs (
    prover      TEXT NOT NULL,
    verifier    TEXT NOT NULL,
    verified    INTEGER NOT NULL,
    rejected    INTEGER NOT NULL,
    latency_sum INTEGER NOT NULL,
    CONSTRAINT pairs_key PRIMARY KEY (prover, verifier),
    CONSTRAINT pairs_counts CHECK (prover <> verifier AND verified >= 0 AND rejected >= 0 AND latency_sum >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX pairs_by_prover ON pairs (prover, (verified + rejected) DESC, verifier);
CREATE INDEX pairs_by_verifier ON pairs (verifier, (verified + rejected) DESC, prover);

-- A list of tasks reads along one range of an index, or one for each status, in its
-- order: from the newest task, or from the one that has been claimed or decided for
-- longest (of pending tasks the ids tell). What stands after the id is there so that
-- a list which passes over entries reads no row for it.
DROP INDEX tasks_by_status;
DROP INDEX tasks_by_creator;
DROP INDEX tasks_by_prover;
CREATE INDEX tasks_by_status ON tasks (status, id, claimed_by);
CREATE INDEX tasks_by_age ON tasks (status, updated_at, id, claimed_by, created_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX tasks_by_creator ON tasks (created_by, status, id, claimed_by);
CREATE INDEX tasks_by_prover ON tasks (claimed_by, status, id, created_by) WHERE claimed_by IS NOT NULL;

-- What was there before is in the order of its times.
INSERT INTO feed (kind, subject, what, at)
SELECT kind, subject, what, at FROM (
    SELECT at, 'task' AS kind, number AS place, task_id AS subject, to_status AS what FROM transitions
    UNION ALL SELECT at, 'component', number, component, to_status FROM changes
    UNION ALL SELECT at, 'run', 0, run, CASE WHEN allowed = 0 THEN 'refused' WHEN EXISTS (SELECT 1 FROM json_each(slots) AS slot
        WHERE json_type(slot.value, '$.ok') IS 'true' AND json_type(slot.value, '$.fallback') IS 'true')
        THEN 'allowed_on_fallback' ELSE 'allowed' END FROM preflights)
ORDER BY at, kind, place, subject;

-- The events. OR IGNORE of the outer statement would rule the insertion too; the
-- check after it stands whatever that says.

CREATE TRIGGER transitions_feed AFTER INSERT ON transitions WHEN NEW.number = 1
BEGIN
    INSERT INTO feed (kind, subject, what, at) VALUES ('task', NEW.task_id, NEW.to_status, NEW.at);
    SELECT RAISE(ABORT, 'transitions_feed') WHERE NOT EXISTS (SELECT 1 FROM feed
        WHERE number = (SELECT max(number) FROM feed) AND kind = 'task' AND subject = NEW.task_id AND what = NEW.to_status);
END;

-- The projection, as it was, with the event before it: see feed_follows.
DROP TRIGGER transitions_project;
CREATE TRIGGER transitions_project AFTER INSERT ON transitions WHEN NEW.number <> 1
BEGIN
    INSERT INTO feed (kind, subject, what, at) VALUES ('task', NEW.task_id, NEW.to_status, NEW.at);
    SELECT RAISE(ABORT, 'transitions_feed') WHERE NOT EXISTS (SELECT 1 FROM feed
        WHERE number = (SELECT max(number) FROM feed) AND kind = 'task' AND subject = NEW.task_id AND what = NEW.to_status);
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

CREATE TRIGGER changes_feed AFTER INSERT ON changes
BEGIN
    INSERT INTO feed (kind, subject, what, at) VALUES ('component', NEW.component, NEW.to_status, NEW.at);
    SELECT RAISE(ABORT, 'changes_feed') WHERE NOT EXISTS (SELECT 1 FROM feed
        WHERE number = (SELECT max(number) FROM feed) AND kind = 'component' AND subject = NEW.component AND what = NEW.to_status);
END;

CREATE TRIGGER preflights_feed AFTER INSERT ON preflights
BEGIN
    INSERT INTO feed (kind, subject, what, at) SELECT 'run', NEW.run, CASE WHEN NEW.allowed = 0 THEN 'refused'
        WHEN EXISTS (SELECT 1 FROM json_each(NEW.slots) AS slot
            WHERE json_type(slot.value, '$.ok') IS 'true' AND json_type(slot.value, '$.fallback') IS 'true')
        THEN 'allowed_on_fallback' ELSE 'allowed' END, NEW.at;
    SELECT RAISE(ABORT, 'preflights_feed') WHERE NOT EXISTS (SELECT 1 FROM feed
        WHERE number = (SELECT max(number) FROM feed) AND kind = 'run' AND subject = NEW.run AND at = NEW.at);
END;

-- An event tells of the newest that is stored of its subject, and comes last. That
-- of a task comes before the task's row follows, and so once.

CREATE TRIGGER feed_follows BEFORE INSERT ON feed
WHEN CASE NEW.kind
    WHEN 'task' THEN (SELECT to_status = NEW.what AND at = NEW.at FROM transitions
            WHERE task_id = NEW.subject ORDER BY number DESC LIMIT 1) IS NOT 1
        OR EXISTS (SELECT 1 FROM tasks WHERE id = NEW.subject AND status = NEW.what)
    WHEN 'component' THEN (SELECT to_status = NEW.what AND at = NEW.at FROM changes
        WHERE component = NEW.subject ORDER BY number DESC LIMIT 1) IS NOT 1
    WHEN 'run' THEN NOT EXISTS (SELECT 1 FROM preflights WHERE run = NEW.subject AND at = NEW.at)
    ELSE 0 END
BEGIN SELECT RAISE(ABORT, 'feed_follows'); END;

CREATE TRIGGER feed_no_replace BEFORE INSERT ON feed
WHEN EXISTS (SELECT 1 FROM feed WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'feed_no_replace'); END;

CREATE TRIGGER feed_in_order AFTER INSERT ON feed
WHEN NEW.number <> 1 + coalesce((SELECT max(number) FROM feed WHERE number < NEW.number),
        (SELECT removed_number FROM totals WHERE id = 1), 0)
    OR NEW.number <> (SELECT max(number) FROM feed)
BEGIN SELECT RAISE(ABORT, 'feed_in_order'); END;

CREATE TRIGGER feed_no_update BEFORE UPDATE ON feed
BEGIN SELECT RAISE(ABORT, 'feed_no_update'); END;

CREATE TRIGGER feed_keep_newest BEFORE DELETE ON feed
WHEN OLD.number > coalesce((SELECT removed_number FROM totals WHERE id = 1), 0)
BEGIN SELECT RAISE(ABORT, 'feed_keep_newest'); END;

-- The totals: every event counts once, and none but old ones that were counted are
-- removed.

CREATE TRIGGER totals_forward_only BEFORE UPDATE ON totals
WHEN NEW.id IS NOT OLD.id OR (NEW.turn, NEW.number) < (OLD.turn, OLD.number)
    OR (NEW.removed_turn, NEW.removed_number) < (OLD.removed_turn, OLD.removed_number)
    OR NEW.latency_sum < OLD.latency_sum OR (OLD.at IS NOT NULL AND NEW.at IS NULL)
BEGIN SELECT RAISE(ABORT, 'totals_forward_only'); END;

CREATE TRIGGER totals_follow_feed BEFORE UPDATE ON totals
WHEN NEW.created - OLD.created IS NOT (SELECT count(*) FROM feed
        WHERE number > OLD.number AND number <= NEW.number AND kind = 'task' AND what = 'pending')
    OR NEW.claimed - OLD.claimed IS NOT (SELECT count(*) FROM feed
        WHERE number > OLD.number AND number <= NEW.number AND kind = 'task' AND what = 'claimed')
    OR NEW.verified - OLD.verified IS NOT (SELECT count(*) FROM feed
        WHERE number > OLD.number AND number <= NEW.number AND kind = 'task' AND what = 'verified')
    OR NEW.rejected - OLD.rejected IS NOT (SELECT count(*) FROM feed
        WHERE number > OLD.number AND number <= NEW.number AND kind = 'task' AND what = 'rejected')
    OR (NEW.number > OLD.number AND NOT EXISTS (SELECT 1 FROM feed WHERE number = NEW.number))
BEGIN SELECT RAISE(ABORT, 'totals_follow_feed'); END;

CREATE TRIGGER totals_keep_newest BEFORE UPDATE ON totals
WHEN NEW.removed_number > OLD.removed_number AND NEW.removed_number > (SELECT max(number) FROM feed) - 100000
BEGIN SELECT RAISE(ABORT, 'totals_keep_newest'); END;

CREATE TRIGGER totals_no_replace BEFORE INSERT ON totals
WHEN EXISTS (SELECT 1 FROM totals WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'totals_no_replace'); END;

CREATE TRIGGER totals_no_delete BEFORE DELETE ON totals
BEGIN SELECT RAISE(ABORT, 'totals_no_delete'); END;

-- What was counted never becomes less.

CREATE TRIGGER latencies_forward_only BEFORE UPDATE ON latencies
WHEN NEW.seconds IS NOT OLD.seconds OR NEW.verdicts < OLD.verdicts
BEGIN SELECT RAISE(ABORT, 'latencies_forward_only'); END;

CREATE TRIGGER latencies_no_replace BEFORE INSERT ON latencies
WHEN EXISTS (SELECT 1 FROM latencies WHERE seconds = NEW.seconds)
BEGIN SELECT RAISE(ABORT, 'latencies_no_replace'); END;

CREATE TRIGGER latencies_no_delete BEFORE DELETE ON latencies
BEGIN SELECT RAISE(ABORT, 'latencies_no_delete'); END;

CREATE TRIGGER agents_forward_only BEFORE UPDATE ON agents
WHEN NEW.id IS NOT OLD.id OR NEW.created < OLD.created OR NEW.claimed < OLD.claimed
    OR NEW.claims_verified < OLD.claims_verified OR NEW.claims_rejected < OLD.claims_rejected
    OR NEW.verified < OLD.verified OR NEW.rejected < OLD.rejected
    OR NEW.latency_sum < OLD.latency_sum OR NEW.last_at < OLD.last_at
BEGIN SELECT RAISE(ABORT, 'agents_forward_only'); END;

CREATE TRIGGER agents_no_replace BEFORE INSERT ON agents
WHEN EXISTS (SELECT 1 FROM agents WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'agents_no_replace'); END;

CREATE TRIGGER agents_no_delete BEFORE DELETE ON agents
BEGIN SELECT RAISE(ABORT, 'agents_no_delete'); END;

CREATE TRIGGER pairs_forward_only BEFORE UPDATE ON pairs
WHEN NEW.prover IS NOT OLD.prover OR NEW.verifier IS NOT OLD.verifier OR NEW.verified < OLD.verified
    OR NEW.rejected < OLD.rejected OR NEW.latency_sum < OLD.latency_sum
BEGIN SELECT RAISE(ABORT, 'pairs_forward_only'); END;

CREATE TRIGGER pairs_no_replace BEFORE INSERT ON pairs
WHEN EXISTS (SELECT 1 FROM pairs WHERE prover = NEW.prover AND verifier = NEW.verifier)
BEGIN SELECT RAISE(ABORT, 'pairs_no_replace'); END;

CREATE TRIGGER pairs_no_delete BEFORE DELETE ON pairs
BEGIN SELECT RAISE(ABORT, 'pairs_no_delete'); END;
