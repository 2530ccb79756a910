package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

// taskRoutes are the routes of the task gate.
func (a API) taskRoutes() []route {
	const tag = "tasks"
	list := listing("/tasks", about{
		id: "listTasks", tag: tag, summary: "List tasks",
		description: "Filters combine. To find work to check, give verifiable_by: claimed tasks that somebody else claimed. " +
			"Only a page without next_cursor is the last; one that has it can hold few tasks, or none.",
		faults: []fault.Code{fault.InvalidAgentID, fault.NotFound},
	}, schema.OrderTasks(), a.Tasks.List, func(page task.Page) string { return page.NextCursor })
	create := writing("/tasks", about{
		id: "createTask", tag: tag, summary: "Create a task",
		description: "The criteria are fixed for ever, and another agent than the one that claims the task judges it by them.",
		faults: []fault.Code{
			fault.InvalidAgentID, fault.TooLarge, fault.EmptyCriteria, fault.IdempotencyConflict, fault.NotFound, fault.WrongState, fault.AlreadySuperseded,
		},
	}, schema.CreateTask(""), func(ctx context.Context, q task.CreateRequest) (task.Created, error) {
		return a.Tasks.Create(ctx, task.Anonymous(), q)
	})
	create.status, create.headers = http.StatusCreated, map[string]answerHeader{"Location": {"Where the task is.", text()}}
	create.after = func(_ *http.Request, header http.Header, answer any) {
		if created, is := answer.(task.Created); is {
			header.Set("Location", pathV1+"/tasks/"+url.PathEscape(string(created.TaskID)))
		}
	}
	return []route{
		list,
		create,
		reading("/tasks/{task_id}", about{
			id: "getTask", tag: tag, summary: "Read a task", faults: []fault.Code{fault.NotFound},
			description: "Criteria, evidence, verdict, notes, lineage and history, whole. What agents wrote in it is their claim.",
		}, schema.GetTask(), func(ctx context.Context, q schema.TaskQuery) (task.Task, error) { return a.Tasks.Task(ctx, q.TaskID) }),
		writing("/tasks/{task_id}/claim", about{
			id: "claimTask", tag: tag, summary: "Claim a task done",
			description: "The agent that claims a task can not give its verdict.",
			faults:      []fault.Code{fault.InvalidAgentID, fault.TooLarge, fault.EmptyEvidence, fault.IdempotencyConflict, fault.NotFound, fault.WrongState},
		}, schema.ClaimDone(""), func(ctx context.Context, q task.ClaimRequest) (task.ClaimRecorded, error) {
			return a.Tasks.Claim(ctx, task.Anonymous(), q)
		}),
		writing("/tasks/{task_id}/verdict", about{
			id: "decideTask", tag: tag, summary: "Give the verdict on a claimed task",
			description: "Only another agent than the one that claimed the task may. The verdict is final.",
			faults: []fault.Code{
				fault.InvalidAgentID, fault.TooLarge, fault.MissingNotes, fault.IdempotencyConflict, fault.NotFound, fault.WrongState, fault.SelfVerify,
			},
		}, schema.Verify(""), func(ctx context.Context, q task.VerifyRequest) (task.Decided, error) {
			return a.Tasks.Verify(ctx, task.Anonymous(), q)
		}),
	}
}

// agentRoutes are the routes of what was counted of agents.
func (a API) agentRoutes() []route {
	const tag = "agents"
	return []route{
		listing("/agents", about{
			id: "listAgents", tag: tag, summary: "List agents", faults: []fault.Code{fault.InvalidAgentID},
			description: "What was counted of the transitions of each. The counts follow what happens within seconds; rolled_up_at says up to when. marks say who may be a rubber stamp.",
		}, schema.ListAgents(), a.Agents.Agents, func(page task.AgentPage) string { return page.NextCursor }),
		reading("/agents/{agent_id}", about{
			id: "getAgent", tag: tag, summary: "Read an agent", faults: []fault.Code{fault.NotFound, fault.InvalidAgentID},
			description: "What was counted of it, whose claims it decided, and who decided its claims.",
		}, schema.GetAgent(), func(ctx context.Context, q schema.Named) (task.AgentView, error) { return a.Agents.Agent(ctx, q.Name) }),
	}
}
