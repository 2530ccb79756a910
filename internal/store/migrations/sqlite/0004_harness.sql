-- Components of the kind harness: the rule by which their results pass.

DROP TRIGGER results_kind;
CREATE TRIGGER results_kind BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind NOT IN ('mcp_server', 'model', 'harness')
BEGIN SELECT RAISE(ABORT, 'results_kind'); END;

-- No signature is wanted where signed is null. Coverage is shown by packages, or
-- that it is not was accepted.
CREATE TRIGGER results_harness_passed BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind = 'harness' AND CASE WHEN json_valid(NEW.proof)
    THEN json_type(NEW.proof, '$.pinned') IS 'true' AND json_type(NEW.proof, '$.resolved') IS 'true'
        AND json_type(NEW.proof, '$.signed') IN ('true', 'null')
        AND json_type(NEW.proof, '$.scanned') IS 'true' AND json_type(NEW.proof, '$.subject') IS 'true'
        AND json_type(NEW.proof, '$.recent') IS 'true' AND json_type(NEW.proof, '$.covered') IS 'true'
        AND json_type(NEW.proof, '$.clean') IS 'true'
        AND json_type(NEW.proof, '$.blocking') IS 'integer' AND json_extract(NEW.proof, '$.blocking') = 0
        AND json_type(NEW.proof, '$.packages') IS 'integer'
        AND (json_extract(NEW.proof, '$.packages') > 0
            OR (json_extract(NEW.proof, '$.packages') = 0 AND json_type(NEW.proof, '$.unprovenAccepted') IS 'true'))
        AND NOT EXISTS (SELECT 1 FROM json_each(NEW.proof) GROUP BY key HAVING count(*) > 1) -- no member twice
    ELSE 0 END IS NOT 1
BEGIN SELECT RAISE(ABORT, 'results_harness_passed'); END;
