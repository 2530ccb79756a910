-- Tasks $1 to $2, through every trigger and constraint of the schema: ids in the
-- order of time, one task a second; of ten tasks in a row three are pending, two
-- claimed, four verified and one rejected. One in ten supersedes a rejected one.
-- The canonical bodies are copies of one text: no read looks into them.
CREATE TEMP TABLE batch AS
WITH RECURSIVE
    counted (n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM counted WHERE n < $2),
    placed AS (SELECT n, 1700000000000 + n * 1000 AS at FROM counted)
SELECT n, at, n % 10 AS kind,
    printf('%08x-%04x-7000-8000-%012x', at >> 16, at & 65535, n) AS id,
    'creator-' || (n % 50) AS creator,
    CASE WHEN n > $3 THEN 'prover-busy' ELSE 'prover-' || (n / 10 % 50) END AS prover,
    'verifier-' || (n / 10 % 50) AS verifier,
    n - 1000 - 4 AS old, 1700000000000 + (n - 1000 - 4) * 1000 AS old_at
FROM placed;

INSERT INTO criteria (task_id, number, text)
SELECT id, 1, 'GET /healthz on the running service returns HTTP 200' FROM batch
UNION ALL SELECT id, 2, 'The body is JSON and contains {"status":"ok"}' FROM batch
ORDER BY 1, 2;

INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
    principal_kind, principal_id, at, text, body, digest)
SELECT id, 1, 'created', NULL, 'pending', creator, 'process', 'p', at, '', $4, $5 FROM batch;

INSERT INTO tasks (id, title, status, created_by, created_at, updated_at, criteria_count, supersedes)
SELECT id, 'Add a /healthz endpoint to the api service', 'pending', creator, at, at, 2,
    CASE WHEN kind = 7 AND old > 0 THEN printf('%08x-%04x-7000-8000-%012x', old_at >> 16, old_at & 65535, old) END
FROM batch;

INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
    principal_kind, principal_id, at, text, body, digest)
SELECT id, 2, 'claimed', 'pending', 'claimed', prover, 'process', 'p', at + 60000,
    'Added the route. curl -i on the running service returns 200 with a body of {"status":"ok"}. npm test: 14 passed.', $4, $5
FROM batch WHERE kind BETWEEN 1 AND 7;

INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
    principal_kind, principal_id, at, text, body, digest)
SELECT id, 3, iif(kind = 3, 'rejected', 'verified'), 'claimed', iif(kind = 3, 'rejected', 'verified'),
    verifier, 'process', 'p', at + 120000, 'Checked on the running service.', $4, $5
FROM batch WHERE kind BETWEEN 3 AND 7;

DROP TABLE batch;
