-- Components of the kind model: the rule by which their results pass, and the
-- tokens that their probes have spent.

DROP TRIGGER results_kind;
CREATE TRIGGER results_kind BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind NOT IN ('mcp_server', 'model')
BEGIN SELECT RAISE(ABORT, 'results_kind'); END;

CREATE TRIGGER results_model_passed BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind = 'model' AND CASE WHEN json_valid(NEW.proof)
    THEN json_type(NEW.proof, '$.invoke') IS 'true' AND json_type(NEW.proof, '$.model') IS 'true'
        AND json_type(NEW.proof, '$.input') IS 'integer' AND json_type(NEW.proof, '$.output') IS 'integer'
        AND json_extract(NEW.proof, '$.input') >= 0 AND json_extract(NEW.proof, '$.output') >= 0
        AND (json_type(NEW.proof, '$.total') IS NULL OR (json_type(NEW.proof, '$.total') IS 'integer'
            AND json_extract(NEW.proof, '$.total') = json_extract(NEW.proof, '$.input') + json_extract(NEW.proof, '$.output')))
        AND CASE json_extract(NEW.proof, '$.mode')
            WHEN 'chat' THEN json_type(NEW.proof, '$.content') IS 'true'
                AND json_extract(NEW.proof, '$.input') > 0 AND json_extract(NEW.proof, '$.output') > 0
                AND (json_type(NEW.proof, '$.text') IS 'false' OR (json_type(NEW.proof, '$.text') IS 'true'
                    AND json_type(NEW.proof, '$.answer') IS 'integer'
                    AND json_extract(NEW.proof, '$.answer') = json_extract(NEW.proof, '$.left') + json_extract(NEW.proof, '$.right')))
            WHEN 'embedding' THEN json_extract(NEW.proof, '$.input') > 0
                AND json_type(NEW.proof, '$.vector.numbers') IS 'true' AND json_type(NEW.proof, '$.vector.nonZero') IS 'true'
                AND json_type(NEW.proof, '$.vector.length') IS 'integer' AND json_extract(NEW.proof, '$.vector.length') > 0
                AND (json_type(NEW.proof, '$.vector.wanted') IS NULL
                    OR json_extract(NEW.proof, '$.vector.wanted') = json_extract(NEW.proof, '$.vector.length'))
            WHEN 'rerank' THEN json_type(NEW.proof, '$.documents') IS 'integer' AND json_extract(NEW.proof, '$.documents') > 0
                AND json_type(NEW.proof, '$.scored') IS 'integer'
                AND json_extract(NEW.proof, '$.scored') = json_extract(NEW.proof, '$.documents')
            ELSE 0 END
        AND NOT EXISTS (SELECT 1 FROM json_each(NEW.proof) GROUP BY key HAVING count(*) > 1) -- no member twice
        AND (json_type(NEW.proof, '$.vector') IS NULL
            OR NOT EXISTS (SELECT 1 FROM json_each(NEW.proof, '$.vector') GROUP BY key HAVING count(*) > 1))
    ELSE 0 END IS NOT 1
BEGIN SELECT RAISE(ABORT, 'results_model_passed'); END;

-- What the probes of a component have spent in a day of UTC, counted from the
-- Unix epoch. Days before yesterday are removed.
CREATE TABLE token_days (
    component TEXT NOT NULL,
    day       INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    CONSTRAINT token_days_key PRIMARY KEY (component, day),
    CONSTRAINT token_days_counts CHECK (component <> '' AND day >= 0 AND tokens >= 0)
) STRICT, WITHOUT ROWID;
