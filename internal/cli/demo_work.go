package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	demoTitle    = "Add /healthz endpoint to the api service"
	demoEvidence = "Added the route. curl -i localhost:3000/healthz returns 200 with body {\"status\":\"ok\"}. npm test: 14 passed."
	demoGap      = "Criteria 1 and 2 hold. Criterion 3 fails: tests/health.test.ts is not in the repository; npm test runs 13 tests."
)

// demoCriteria is what must hold for the demo's task.
func demoCriteria() []string {
	return []string{
		"GET /healthz on the running service returns HTTP 200",
		"Response body is JSON containing {\"status\": \"ok\"}",
		"npm test passes with the new healthz test included",
	}
}

// demoAgent is one agent: an MCP client whose server is a process of its own.
type demoAgent struct {
	name    string
	session *mcp.ClientSession
}

// tellOfWork tells how a task is claimed, refused to its prover, rejected,
// superseded and verified by two agents over MCP.
func (s *demoStory) tellOfWork(ctx context.Context) (err error) {
	s.heading("1. Is the work really done?", "Two agents, each with its own `countersign mcp` process, one database.")
	s.say("\n")
	devops, err := s.connect(ctx, "devops")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devops.session.Close()) }()
	reviewer, err := s.connect(ctx, "reviewer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reviewer.session.Close()) }()

	rejected, err := s.tellOfRejection(ctx, devops, reviewer)
	if err != nil {
		return err
	}
	return s.tellOfVerdict(ctx, devops, reviewer, rejected)
}

// connect starts an agent's own stdio server, locked to the agent, and opens a session.
func (s *demoStory) connect(ctx context.Context, name string) (demoAgent, error) {
	server := exec.CommandContext(ctx, s.self, "mcp", "--db", filepath.Join(s.folder, "tasks.db"), "--agent-id", name)
	server.Stderr = s.log
	client := mcp.NewClient(&mcp.Implementation{Name: "countersign-demo", Version: version}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return demoAgent{}, fmt.Errorf("connect %s to its MCP server: %w", name, err)
	}
	return demoAgent{name: name, session: session}, nil
}

func (s *demoStory) tellOfRejection(ctx context.Context, devops, reviewer demoAgent) (task.ID, error) {
	var created task.Created
	arguments := map[string]any{"title": demoTitle, "acceptance_criteria": demoCriteria(), "created_by": devops.name}
	if err := devops.call(ctx, "create_task", arguments, &created); err != nil {
		return "", err
	}
	s.scene(devops.name, "create_task", string(created.Status), true)
	s.aside("%q, with %d acceptance criteria", demoTitle, len(demoCriteria()))

	var claim task.ClaimRecorded
	arguments = map[string]any{"task_id": created.TaskID, "agent_id": devops.name, "evidence": demoEvidence}
	if err := devops.call(ctx, "claim_done", arguments, &claim); err != nil {
		return "", err
	}
	s.scene(devops.name, "claim_done", string(claim.Status), true)
	s.aside("evidence: %s", demoEvidence)

	arguments = map[string]any{"task_id": created.TaskID, "verifier_agent_id": devops.name, "verdict": task.Verified}
	err := devops.call(ctx, "verify", arguments, &task.Decided{})
	refusal, ok := fault.Of(err)
	if !ok || refusal.Code != fault.SelfVerify {
		return "", fmt.Errorf("the prover's own verdict was to be refused as self-verification; it got: %w", err)
	}
	s.scene(devops.name, "verify", "refused: "+string(refusal.Code), false)
	s.aside("%s", refusal.Message)

	var decided task.Decided
	arguments = map[string]any{"task_id": created.TaskID, "verifier_agent_id": reviewer.name, "verdict": task.Rejected, "notes": demoGap}
	if err := reviewer.call(ctx, "verify", arguments, &decided); err != nil {
		return "", err
	}
	s.scene(reviewer.name, "verify", string(decided.Status), false)
	s.aside("%s", demoGap)
	return created.TaskID, nil
}

func (s *demoStory) tellOfVerdict(ctx context.Context, devops, reviewer demoAgent, rejected task.ID) error {
	var created task.Created
	arguments := map[string]any{
		"title": demoTitle + " (remediation)", "acceptance_criteria": demoCriteria(), "created_by": reviewer.name, "supersedes": rejected,
	}
	if err := reviewer.call(ctx, "create_task", arguments, &created); err != nil {
		return err
	}
	s.scene(reviewer.name, "create_task", string(created.Status), true)
	s.aside("a rejection is final: this is a new task that supersedes the rejected one")

	var claim task.ClaimRecorded
	arguments = map[string]any{"task_id": created.TaskID, "agent_id": devops.name, "evidence": "tests/health.test.ts is committed; npm test: 15 passed."}
	if err := devops.call(ctx, "claim_done", arguments, &claim); err != nil {
		return err
	}
	s.scene(devops.name, "claim_done", string(claim.Status), true)

	var decided task.Decided
	arguments = map[string]any{
		"task_id": created.TaskID, "verifier_agent_id": reviewer.name, "verdict": task.Verified,
		"notes": "All three criteria checked against the running service and the repository.",
	}
	if err := reviewer.call(ctx, "verify", arguments, &decided); err != nil {
		return err
	}
	s.scene(reviewer.name, "verify", string(decided.Status), true)
	return s.tellOfLineage(ctx, reviewer, rejected, created.TaskID)
}

// tellOfLineage shows that both tasks, and who did what, are on record.
func (s *demoStory) tellOfLineage(ctx context.Context, reader demoAgent, rejected, verified task.ID) error {
	var first, second task.Task
	if err := reader.call(ctx, "get_task", map[string]any{"task_id": rejected}, &first); err != nil {
		return err
	}
	if err := reader.call(ctx, "get_task", map[string]any{"task_id": verified}, &second); err != nil {
		return err
	}
	if first.SupersededBy != verified || second.Supersedes != rejected {
		return fmt.Errorf("the lineage of task %s is not on record", rejected)
	}
	s.aside("on record for ever: %d transitions of the rejected task, %d of its successor", len(first.History), len(second.History))
	return nil
}

// call calls a tool and decodes its result into answer; a tool error becomes the fault it carries.
func (a demoAgent) call(ctx context.Context, tool string, arguments map[string]any, answer any) error {
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return fmt.Errorf("%s calls %s: %w", a.name, tool, err)
	}
	if len(result.Content) != 1 {
		return fmt.Errorf("%s calls %s: %d contents where one was due", a.name, tool, len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("%s calls %s: the content is no text", a.name, tool)
	}
	if result.IsError {
		var shape struct {
			Code    fault.Code `json:"code"`
			Message string     `json:"message"`
		}
		if err := json.Unmarshal([]byte(text.Text), &shape); err != nil {
			return fmt.Errorf("%s calls %s: read its error %q: %w", a.name, tool, text.Text, err)
		}
		return fault.New(shape.Code, "%s", shape.Message)
	}
	if err := json.Unmarshal([]byte(text.Text), answer); err != nil {
		return fmt.Errorf("%s calls %s: read its answer: %w", a.name, tool, err)
	}
	return nil
}
