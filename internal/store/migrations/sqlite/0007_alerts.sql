-- Alerts: what people were told without asking, and what is still to be told. The
-- one process that holds the lease of this name writes here.

-- An alert by its key, such as component:scanner. Bounded; see alert.MaxOpen.
CREATE TABLE alerts (
    name       TEXT NOT NULL,    -- the key
    id         TEXT NOT NULL,    -- another one each time that it fires
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    state      TEXT NOT NULL,
    since      INTEGER NOT NULL,
    ended_at   INTEGER,
    changed_at INTEGER NOT NULL,
    ends_at    INTEGER,          -- when it ends by itself
    again      INTEGER NOT NULL, -- how often it fired again soon after its end
    said       TEXT NOT NULL,    -- a JSON object
    CONSTRAINT alerts_key PRIMARY KEY (name),
    CONSTRAINT alerts_name CHECK (subject <> '' AND id <> '' AND name = kind || ':' || subject),
    CONSTRAINT alerts_state CHECK (state IN ('firing', 'resolved') AND (state = 'resolved') = (ended_at IS NOT NULL)),
    CONSTRAINT alerts_numbers CHECK (since >= 0 AND changed_at >= 0 AND again >= 0),
    CONSTRAINT alerts_said CHECK (CASE WHEN json_valid(said) THEN json_type(said) = 'object' ELSE 0 END)
) STRICT, WITHOUT ROWID;

-- What a receiver was told of an alert, and what is being tried.
CREATE TABLE alert_deliveries (
    receiver    TEXT NOT NULL,
    name        TEXT NOT NULL,
    told_id     TEXT NOT NULL,
    told_state  TEXT NOT NULL,
    told_at     INTEGER,
    heard       INTEGER NOT NULL, -- it may think that the alert fires
    tried_id    TEXT NOT NULL,
    tried_state TEXT NOT NULL,
    tried_since INTEGER,
    attempts    INTEGER NOT NULL,
    next_at     INTEGER,          -- not tried again before
    given_up    INTEGER NOT NULL,
    CONSTRAINT alert_deliveries_key PRIMARY KEY (receiver, name),
    CONSTRAINT alert_deliveries_states CHECK (told_state IN ('', 'firing', 'resolved') AND tried_state IN ('', 'firing', 'resolved')
        AND (told_state = '') = (told_id = '') AND (tried_state = '') = (tried_id = '')),
    CONSTRAINT alert_deliveries_numbers CHECK (receiver <> '' AND heard IN (0, 1) AND given_up IN (0, 1) AND attempts >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX alert_deliveries_by_name ON alert_deliveries (name);

-- The place in the feed up to which alerts were made; NULL until they are.
CREATE TABLE alert_position (
    id     INTEGER NOT NULL,
    turn   INTEGER,
    number INTEGER,
    CONSTRAINT alert_position_key PRIMARY KEY (id),
    CONSTRAINT alert_position_single CHECK (id = 1 AND (turn IS NULL) = (number IS NULL))
) STRICT;
INSERT INTO alert_position VALUES (1, NULL, NULL);

INSERT INTO leases (name, holder, fence, beat) VALUES ('alerts', '', 0, 0);
