-- Components of the kind model: the rule by which their results pass, and the
-- tokens that their probes have spent.

ALTER TABLE results DROP CONSTRAINT results_kind;
ALTER TABLE results ADD CONSTRAINT results_kind CHECK (outcome <> 'passed' OR kind IN ('mcp_server', 'model'));

-- A count is a whole number from zero up as JSON writes it, and no text.
ALTER TABLE results ADD CONSTRAINT results_model_passed CHECK (outcome <> 'passed' OR kind <> 'model' OR coalesce(
    proof -> 'invoke' = 'true' AND proof -> 'model' = 'true'
    AND CASE WHEN (proof -> 'input')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' AND (proof -> 'output')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' THEN
        (NOT proof ? 'total' OR CASE WHEN (proof -> 'total')::TEXT ~ '^(0|[1-9][0-9]{0,9})$'
            THEN (proof ->> 'total')::BIGINT = (proof ->> 'input')::BIGINT + (proof ->> 'output')::BIGINT ELSE FALSE END)
        AND CASE proof ->> 'mode'
            WHEN 'chat' THEN proof -> 'content' = 'true' AND proof ->> 'input' <> '0' AND proof ->> 'output' <> '0'
                AND (proof -> 'text' = 'false' OR (proof -> 'text' = 'true'
                    AND CASE WHEN (proof -> 'answer')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' AND (proof -> 'left')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' AND (proof -> 'right')::TEXT ~ '^(0|[1-9][0-9]{0,9})$'
                        THEN (proof ->> 'answer')::BIGINT = (proof ->> 'left')::BIGINT + (proof ->> 'right')::BIGINT ELSE FALSE END))
            WHEN 'embedding' THEN proof ->> 'input' <> '0'
                AND proof -> 'vector' -> 'numbers' = 'true' AND proof -> 'vector' -> 'nonZero' = 'true'
                AND (proof -> 'vector' -> 'length')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' AND proof -> 'vector' ->> 'length' <> '0'
                AND (NOT proof -> 'vector' ? 'wanted' OR proof -> 'vector' -> 'wanted' = proof -> 'vector' -> 'length')
            WHEN 'rerank' THEN (proof -> 'documents')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' AND proof ->> 'documents' <> '0'
                AND (proof -> 'scored')::TEXT ~ '^(0|[1-9][0-9]{0,9})$' AND proof -> 'scored' = proof -> 'documents'
            ELSE FALSE END
        ELSE FALSE END, FALSE));

-- What the probes of a component have spent in a day of UTC, counted from the
-- Unix epoch. Days before yesterday are removed.
CREATE TABLE token_days (
    component TEXT COLLATE "C" NOT NULL,
    day       BIGINT NOT NULL,
    tokens    BIGINT NOT NULL,
    CONSTRAINT token_days_key PRIMARY KEY (component, day),
    CONSTRAINT token_days_counts CHECK (component <> '' AND day >= 0 AND tokens >= 0)
);
