-- Components of the kind knowledge_base: the rule by which their results pass.

DROP TRIGGER results_kind;
CREATE TRIGGER results_kind BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind NOT IN ('mcp_server', 'model', 'harness', 'knowledge_base')
BEGIN SELECT RAISE(ABORT, 'results_kind'); END;

-- The gates and the retrieval held, with at least one chunk, every expected one, of
-- the pinned version. A count is there only where the server states one.
CREATE TRIGGER results_knowledge_base_passed BEFORE INSERT ON results
WHEN NEW.outcome = 'passed' AND NEW.kind = 'knowledge_base' AND CASE WHEN json_valid(NEW.proof)
    THEN json_type(NEW.proof, '$.healthz') IS 'true' AND json_type(NEW.proof, '$.test') IS 'true'
        AND json_type(NEW.proof, '$.listTools') IS 'true' AND json_type(NEW.proof, '$.retrieve') IS 'true'
        AND json_type(NEW.proof, '$.toolCount') IS 'integer' AND json_extract(NEW.proof, '$.toolCount') > 0
        AND json_type(NEW.proof, '$.chunks') IS 'integer' AND json_extract(NEW.proof, '$.chunks') > 0
        AND json_type(NEW.proof, '$.missingChunks') IS 'integer' AND json_extract(NEW.proof, '$.missingChunks') = 0
        AND json_type(NEW.proof, '$.pinnedVersion') IS 'true'
        AND (json_type(NEW.proof, '$.count') IS NULL
            OR (json_type(NEW.proof, '$.count') IS 'integer' AND json_extract(NEW.proof, '$.count') > 0))
        AND NOT EXISTS (SELECT 1 FROM json_each(NEW.proof) GROUP BY key HAVING count(*) > 1) -- no member twice
    ELSE 0 END IS NOT 1
BEGIN SELECT RAISE(ABORT, 'results_knowledge_base_passed'); END;
