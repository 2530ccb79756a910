//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Size of the crash test: rounds in each of which two servers are killed under
// load and started again.
const (
	crashRounds   = 6
	maxAlive      = 250 * time.Millisecond // from the handshake to the kill, or from the first answer
	envTorture    = "COUNTERSIGN_SOAK"     // multiplies the rounds
	crashAgents   = 2
	maxCallWaited = time.Minute
)

// acknowledged is what the servers said was done, by task.
type acknowledged struct {
	mu     sync.Mutex
	status map[string]string
}

func (a *acknowledged) note(id, status string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[id] = status
}

// TestMCP_losesNothingWhenKilled kills stdio servers at random moments while two
// agents work on one database, and then reads everything that was acknowledged.
func TestMCP_losesNothingWhenKilled(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := open(t)
			done := &acknowledged{status: map[string]string{}}
			for round := range crashRounds * torture(t) {
				var working sync.WaitGroup
				for agent := range crashAgents {
					working.Go(func() {
						workUntilKilled(t, database, fmt.Sprintf("r%d-a%d", round, agent), round%2 == 0, done)
					})
				}
				working.Wait()
			}
			if len(done.status) == 0 {
				t.Fatal("no call was acknowledged in any round")
			}
			compareWithRecord(t, database, done)
		})
	}
}

// torture is by how much the long tests are longer than usual.
func torture(t *testing.T) int {
	t.Helper()
	given := os.Getenv(envTorture)
	if given == "" {
		return 1
	}
	times, err := strconv.Atoi(given)
	if err != nil || times < 1 {
		t.Fatalf("%s=%q is no number above 0", envTorture, given)
	}
	return times
}

// workUntilKilled takes tasks through the gate until the server is killed: soon after the
// handshake, while it opens the database, or if it is to be answered first, soon after that.
func workUntilKilled(t *testing.T, database, agent string, answered bool, done *acknowledged) {
	ctx, cancel := context.WithTimeout(t.Context(), maxCallWaited)
	defer cancel()
	server := exec.Command(binary(), "mcp", "--db", database)
	session, err := mcp.NewClient(&mcp.Implementation{Name: agent, Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Errorf("start a server after a kill: %v", err)
		return
	}
	defer session.Close()
	if answered {
		if _, ok := acknowledgedBy(ctx, session, "create_task", map[string]any{"title": "t", "acceptance_criteria": []string{"c"}, "created_by": agent}, done); !ok {
			t.Errorf("the first call of %s is not acknowledged", agent)
		}
	}
	killer := time.AfterFunc(rand.N(maxAlive), func() { _ = server.Process.Signal(syscall.SIGKILL) })
	defer killer.Stop()
	for {
		id, ok := acknowledgedBy(ctx, session, "create_task", map[string]any{"title": "t", "acceptance_criteria": []string{"c"}, "created_by": agent}, done)
		if !ok {
			return
		}
		if _, ok = acknowledgedBy(ctx, session, "claim_done", map[string]any{"task_id": id, "agent_id": agent, "evidence": "e"}, done); !ok {
			return
		}
		if _, ok = acknowledgedBy(ctx, session, "verify", map[string]any{"task_id": id, "verifier_agent_id": "v-" + agent, "verdict": "verified"}, done); !ok {
			return
		}
	}
}

// acknowledgedBy makes one call and notes what the server said of it.
func acknowledgedBy(ctx context.Context, session *mcp.ClientSession, tool string, arguments map[string]any, done *acknowledged) (string, bool) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || result.IsError {
		return "", false
	}
	said, _ := result.StructuredContent.(map[string]any)
	id, status := fmt.Sprint(said["task_id"]), fmt.Sprint(said["status"])
	done.note(id, status)
	return id, true
}

// compareWithRecord reads every acknowledged task: its status is the one that
// was acknowledged or, when the answer to the last call was lost, the next one;
// and it follows from its history.
func compareWithRecord(t *testing.T, database string, done *acknowledged) {
	t.Helper()
	next := map[string]string{"pending": "claimed", "claimed": "verified", "verified": "verified"}
	env, folder := environment(t), t.TempDir()
	for id, status := range done.status {
		shown := run(t, folder, env, binary(), "task", "show", id, "--db", database, "--json")
		var task struct {
			Status  string `json:"status"`
			History []struct {
				Number int    `json:"number"`
				To     string `json:"to"`
			} `json:"history"`
		}
		if err := json.Unmarshal([]byte(shown.stdout), &task); err != nil {
			t.Fatalf("task %s was acknowledged as %s and cannot be shown: %v\n%s%s", id, status, err, shown.stdout, shown.stderr)
		}
		if task.Status != status && task.Status != next[status] {
			t.Errorf("task %s was acknowledged as %s and is %s", id, status, task.Status)
		}
		var steps []string
		for _, change := range task.History {
			steps = append(steps, change.To)
		}
		want := []string{"pending", "claimed", "verified"}[:len(steps)]
		if diff := cmp.Diff(want, steps); diff != "" || steps[len(steps)-1] != task.Status {
			t.Errorf("task %s is %s; its history (-want +got):\n%s", id, task.Status, diff)
		}
	}
	t.Logf("%d tasks were acknowledged, and every one is there", len(done.status))
}
