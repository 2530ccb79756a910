-- Alerts: what people were told without asking, and what is still to be told. The
-- one process that holds the lease of this name writes here.

-- An alert by its key, such as component:scanner. Bounded; see alert.MaxOpen.
CREATE TABLE alerts (
    name       TEXT COLLATE "C" NOT NULL,    -- the key
    id         TEXT COLLATE "C" NOT NULL,    -- another one each time that it fires
    kind       TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    since      BIGINT NOT NULL,
    ended_at   BIGINT,
    changed_at BIGINT NOT NULL,
    ends_at    BIGINT,          -- when it ends by itself
    again      BIGINT NOT NULL, -- how often it fired again soon after its end
    said       JSONB NOT NULL,
    CONSTRAINT alerts_key PRIMARY KEY (name),
    CONSTRAINT alerts_name CHECK (subject <> '' AND id <> '' AND name = kind || ':' || subject),
    CONSTRAINT alerts_state CHECK (state IN ('firing', 'resolved') AND (state = 'resolved') = (ended_at IS NOT NULL)),
    CONSTRAINT alerts_numbers CHECK (since >= 0 AND changed_at >= 0 AND again >= 0),
    CONSTRAINT alerts_said CHECK (jsonb_typeof(said) = 'object')
);

-- What a receiver was told of an alert, and what is being tried.
CREATE TABLE alert_deliveries (
    receiver    TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    told_id     TEXT COLLATE "C" NOT NULL,
    told_state  TEXT COLLATE "C" NOT NULL,
    told_at     BIGINT,
    heard       BIGINT NOT NULL, -- it may think that the alert fires
    tried_id    TEXT COLLATE "C" NOT NULL,
    tried_state TEXT COLLATE "C" NOT NULL,
    tried_since BIGINT,
    attempts    BIGINT NOT NULL,
    next_at     BIGINT,          -- not tried again before
    given_up    BIGINT NOT NULL,
    CONSTRAINT alert_deliveries_key PRIMARY KEY (receiver, name),
    CONSTRAINT alert_deliveries_states CHECK (told_state IN ('', 'firing', 'resolved') AND tried_state IN ('', 'firing', 'resolved')
        AND (told_state = '') = (told_id = '') AND (tried_state = '') = (tried_id = '')),
    CONSTRAINT alert_deliveries_numbers CHECK (receiver <> '' AND heard IN (0, 1) AND given_up IN (0, 1) AND attempts >= 0)
);

CREATE INDEX alert_deliveries_by_name ON alert_deliveries (name);

-- The place in the feed up to which alerts were made; NULL until they are.
CREATE TABLE alert_position (
    id     BIGINT NOT NULL,
    turn   BIGINT,
    number BIGINT,
    CONSTRAINT alert_position_key PRIMARY KEY (id),
    CONSTRAINT alert_position_single CHECK (id = 1 AND (turn IS NULL) = (number IS NULL))
);
INSERT INTO alert_position VALUES (1, NULL, NULL);

INSERT INTO leases (name, holder, fence, beat) VALUES ('alerts', '', 0, 0);
