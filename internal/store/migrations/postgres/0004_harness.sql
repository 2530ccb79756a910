-- Components of the kind harness: the rule by which their results pass.

ALTER TABLE results DROP CONSTRAINT results_kind;
ALTER TABLE results ADD CONSTRAINT results_kind CHECK (outcome <> 'passed' OR kind IN ('mcp_server', 'model', 'harness'));

-- No signature is wanted where signed is null. Coverage is shown by packages, or
-- that it is not was accepted.
ALTER TABLE results ADD CONSTRAINT results_harness_passed CHECK (outcome <> 'passed' OR kind <> 'harness' OR coalesce(
    proof -> 'pinned' = 'true' AND proof -> 'resolved' = 'true'
    AND (proof -> 'signed' = 'true' OR proof -> 'signed' = 'null')
    AND proof -> 'scanned' = 'true' AND proof -> 'subject' = 'true' AND proof -> 'recent' = 'true'
    AND proof -> 'covered' = 'true' AND proof -> 'clean' = 'true'
    AND (proof -> 'blocking')::TEXT = '0'
    AND ((proof -> 'packages')::TEXT ~ '^[1-9][0-9]{0,9}$'
        OR ((proof -> 'packages')::TEXT = '0' AND proof -> 'unprovenAccepted' = 'true')), FALSE));
