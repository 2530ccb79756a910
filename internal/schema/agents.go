package schema

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/task"
)

// ListAgents returns what a list of agents takes.
func ListAgents() Operation[task.AgentQuery] {
	return Operation[task.AgentQuery]{"list_agents", []Argument[task.AgentQuery]{
		{
			"order", "By name, or by how many verdicts they gave, most first. By name when left out.", Optional,
			func(q *task.AgentQuery) any { return &q.Order }, oneOf(task.OrderName, task.OrderVerdicts),
		},
		{
			"limit", fmt.Sprintf("Agents on a page; %d when left out.", task.DefaultPage), Optional,
			func(q *task.AgentQuery) any { return &q.Limit }, within(1, task.MaxPage),
		},
		cursorArgument(func(q *task.AgentQuery) any { return &q.Cursor }),
	}}
}

// GetAgent returns what the reading of an agent takes.
func GetAgent() Operation[Named] {
	return Operation[Named]{"get_agent", []Argument[Named]{{
		"agent_id", "Id of the agent.", Required, func(q *Named) any { return &q.Name }, nil,
	}}}
}
