package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/internal/task"
)

// double are operations that a test replaces one by one.
type double struct {
	task.Operations
	create func(context.Context, task.Caller, task.CreateRequest) (task.Created, error)
	list   func(context.Context, task.Query) (task.Page, error)
}

func (d double) Create(ctx context.Context, caller task.Caller, request task.CreateRequest) (task.Created, error) {
	return d.create(ctx, caller, request)
}

func (d double) List(ctx context.Context, query task.Query) (task.Page, error) {
	return d.list(ctx, query)
}
