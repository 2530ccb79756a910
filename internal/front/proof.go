package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// ProveTools asks the child for its tools, says how many it lists, and fails
// when it lists none.
func (f *Front) ProveTools(ctx context.Context) (listed string, err error) {
	found := 0
	err = f.tools(ctx, func(tool) bool {
		found++
		return true
	})
	switch {
	case err != nil:
		return "", err
	case found == 0:
		return "", errors.New("tools/list names no tool")
	}
	return "listed " + words.Counted(found, "tool"), nil
}

// ProveCanary returns a check that makes the call and judges its result. A tool
// that is not marked read-only, or is marked destructive, is called only when the
// canary says so by Force.
func (f *Front) ProveCanary(canary registry.Canary) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if !canary.Force {
			if err := f.harmless(ctx, canary.Tool); err != nil {
				return err
			}
		}
		c, err := f.ready(ctx)
		if err != nil {
			return err
		}
		asked := params{rest: map[string]json.RawMessage{"name": encode(canary.Tool), "arguments": canary.Arguments}}
		if canary.Arguments == nil {
			asked.rest["arguments"] = json.RawMessage("{}")
		}
		result, err := c.ask(ctx, methodCallTool, asked).judged()
		if err != nil {
			return fmt.Errorf("the call of %s failed: %w", canary.Tool, err)
		}
		if err := canary.Expect.Judge(result); err != nil {
			return fmt.Errorf("the call of %s: %w", canary.Tool, err)
		}
		return nil
	}
}

// judged is the result, or the error that came instead.
func (o outcome) judged() (json.RawMessage, error) {
	if o.refusal != nil {
		return nil, fmt.Errorf("the server answered with the error %s", registry.Shorten(string(o.refusal), registry.MaxDetail))
	}
	return o.result, o.failed
}

// harmless reports an error unless the tool says that it changes nothing.
func (f *Front) harmless(ctx context.Context, name string) error {
	var found *tool
	err := f.tools(ctx, func(each tool) bool {
		if each.Name == name {
			found = &each
		}
		return found == nil
	})
	switch {
	case err != nil:
		return err
	case found == nil:
		return fmt.Errorf("there is no tool %s", name)
	case !found.Annotations.ReadOnly || found.Annotations.Destructive:
		return fmt.Errorf("the tool %s is not marked read-only; it is called only with force: true", name)
	}
	return nil
}

// tool is what a proof needs to know of a tool.
type tool struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
	} `json:"annotations"`
}

// tools shows the tools that have a name, page by page, until show returns false.
func (f *Front) tools(ctx context.Context, show func(tool) bool) error {
	c, err := f.ready(ctx)
	if err != nil {
		return err
	}
	asked := params{rest: map[string]json.RawMessage{}}
	for range mcpwire.MaxPages {
		result, err := c.ask(ctx, methodListTools, asked).judged()
		if err != nil {
			return fmt.Errorf("tools/list failed: %w", err)
		}
		var page struct {
			Tools  []json.RawMessage `json:"tools"`
			Cursor string            `json:"nextCursor"`
		}
		if json.Unmarshal(result, &page) != nil {
			return errors.New("the result of tools/list is no list of tools")
		}
		for _, raw := range page.Tools {
			var each tool
			if json.Unmarshal(raw, &each) == nil && each.Name != "" && !show(each) {
				return nil
			}
		}
		if page.Cursor == "" {
			return nil
		}
		asked.rest["cursor"] = encode(page.Cursor)
	}
	return fmt.Errorf("tools/list has more than %d pages", mcpwire.MaxPages)
}
