package main

// The statements of internal/store, to be run without any of its code. A test
// holds them to the source there.
const (
	insertCriterion = `INSERT INTO criteria (task_id, number, text) VALUES ($1, $2, $3)`

	insertCreation = `INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
	principal_kind, principal_id, at, text, body, digest, idempotency_key, idempotency_content)
VALUES ($1, 1, 'created', NULL, 'pending', $2, $3, $4, $5, '', $6, $7, $8, $9)`

	insertTask = `INSERT INTO tasks (id, title, status, created_by, created_at, updated_at, criteria_count, supersedes)
VALUES ($1, $2, 'pending', $3, $4, $4, $5, $6)`

	insertTransition = `INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
	principal_kind, principal_id, at, text, body, digest, idempotency_key, idempotency_content)
SELECT id, $2, $3, status, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM tasks
WHERE id = $1 AND status = $4 AND (claimed_by IS NULL OR claimed_by <> $6)`

	lockClause = ` FOR UPDATE`

	createTask = `WITH stated AS (
	INSERT INTO criteria (task_id, number, text)
	SELECT $1, number, text FROM unnest(CAST($10 AS TEXT[])) WITH ORDINALITY AS given (text, number)
	RETURNING number
), made AS (
	INSERT INTO transitions (task_id, number, kind, from_status, to_status, agent_id,
		principal_kind, principal_id, at, text, body, digest, idempotency_key, idempotency_content)
	SELECT $1, 1, 'created', NULL, 'pending', $2, $3, $4, $5, '', $6, $7, $8, $9
	FROM (SELECT count(*) FROM stated) AS counted
	RETURNING task_id, agent_id, at
)
INSERT INTO tasks (id, title, status, created_by, created_at, updated_at, criteria_count, supersedes)
SELECT task_id, $11, 'pending', agent_id, at, at, (SELECT count(*) FROM stated), $12 FROM made`
)
