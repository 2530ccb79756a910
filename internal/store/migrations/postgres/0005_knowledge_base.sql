-- Components of the kind knowledge_base: the rule by which their results pass.

ALTER TABLE results DROP CONSTRAINT results_kind;
ALTER TABLE results ADD CONSTRAINT results_kind CHECK (outcome <> 'passed' OR kind IN ('mcp_server', 'model', 'harness', 'knowledge_base'));

-- The gates and the retrieval held, with at least one chunk, every expected one, of
-- the pinned version. A count is there only where the server states one.
ALTER TABLE results ADD CONSTRAINT results_knowledge_base_passed CHECK (outcome <> 'passed' OR kind <> 'knowledge_base' OR coalesce(
    proof -> 'healthz' = 'true' AND proof -> 'test' = 'true' AND proof -> 'listTools' = 'true' AND proof -> 'retrieve' = 'true'
    AND (proof -> 'toolCount')::TEXT ~ '^[1-9][0-9]*$'
    AND (proof -> 'chunks')::TEXT ~ '^[1-9][0-9]*$'
    AND (proof -> 'missingChunks')::TEXT = '0'
    AND proof -> 'pinnedVersion' = 'true'
    AND (NOT proof ? 'count' OR (proof -> 'count')::TEXT ~ '^[1-9][0-9]*$'), FALSE));
