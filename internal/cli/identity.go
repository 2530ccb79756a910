package cli

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// Kinds of principal that stand behind an agent of this machine.
const (
	principalSession = "session" // a session of a coding agent, by the id it gave us
	principalProcess = "process" // this process
)

// Environment variables that say who calls.
const (
	envAgentID = "VG_AGENT_ID"
	envSession = "CLAUDE_CODE_SESSION_ID"
)

// maxSession bounds a session id, in characters.
const maxSession = 200

// agentFlag locks a command to one agent. A nil AgentID is an absent flag; an
// empty one is refused, so that a script whose variable is unset is not left
// unlocked.
type agentFlag struct {
	AgentID *string `help:"Lock to this agent id: any other declared id is refused. The environment variable VG_AGENT_ID does the same." name:"agent-id" placeholder:"ID"`
}

// callerOf returns on whose behalf a command of this process acts: the agent it
// is locked to, if any, and the principal behind it.
// Faults: InvalidAgentID; InvalidArgument when flag and variable disagree.
func callerOf(p *process, flag agentFlag) (task.Caller, error) {
	lock, err := lockOf(p, flag)
	if err != nil {
		return task.Caller{}, err
	}
	principal, err := principalOf(p)
	if err != nil {
		return task.Caller{}, err
	}
	return task.Caller{Principal: principal, Lock: lock}, nil
}

func lockOf(p *process, flag agentFlag) (task.AgentID, error) {
	var byFlag, byVariable task.AgentID
	var err error
	if flag.AgentID != nil {
		if byFlag, err = task.ParseAgentID("--agent-id", *flag.AgentID); err != nil {
			return "", err
		}
	}
	if variable := p.Getenv(envAgentID); variable != "" {
		if byVariable, err = task.ParseAgentID(envAgentID, variable); err != nil {
			return "", err
		}
	}
	switch {
	case byFlag == "":
		return byVariable, nil
	case byVariable != "" && byVariable != byFlag:
		return "", fault.New(fault.InvalidArgument, "--agent-id says %s and %s says %s", byFlag, envAgentID, byVariable).
			With(fault.Field, "--agent-id").
			WithHint("Give one of them, or the same agent in both.")
	}
	return byFlag, nil
}

func principalOf(p *process) (task.Principal, error) {
	if session := p.Getenv(envSession); session != "" {
		if !utf8.ValidString(session) || utf8.RuneCountInString(session) > maxSession {
			return task.Principal{}, fault.New(fault.InvalidArgument,
				"%s is not valid UTF-8 of at most %d characters", envSession, maxSession).
				WithHint("Unset it to record this process instead of the session.")
		}
		return task.Principal{Kind: principalSession, ID: session}, nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return task.Principal{}, fmt.Errorf("make an id for this process: %w", err)
	}
	return task.Principal{Kind: principalProcess, ID: id.String()}, nil
}
