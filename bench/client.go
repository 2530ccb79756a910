package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/countersign-dev/countersign/internal/task"
)

// client is a bare MCP client over the stdio of a process that it owns: one call
// at a time, nothing between it and the server but JSON lines.
type client struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	last    int
}

// dial starts a stdio server and takes it to its first tools/list answer.
func dial(ctx context.Context, command string, arguments ...string) (*client, error) {
	process := exec.CommandContext(ctx, command, arguments...)
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	c := &client{process: process, in: in, out: bufio.NewReader(out)}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *client) open() error {
	hello := map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "bench", "version": "0"},
	}
	if err := c.call("initialize", hello, &struct{}{}); err != nil {
		return err
	}
	if err := c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return err
	}
	return c.call("tools/list", map[string]any{}, &struct{}{})
}

// close ends the server by ending its input.
func (c *client) close() error { return errors.Join(c.in.Close(), c.process.Wait()) }

func (c *client) send(message any) error {
	return json.NewEncoder(c.in).Encode(message)
}

// call sends one request and reads its answer. Nothing else is expected to come.
func (c *client) call(method string, params, into any) error {
	c.last++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params}); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, err)
	}
	var answer struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("decode the answer to %s: %w", method, err)
	}
	if answer.ID != c.last || answer.Error != nil {
		return fmt.Errorf("the answer to %s: %s", method, line)
	}
	return json.Unmarshal(answer.Result, into)
}

// tool calls a tool and returns the id of the task it was about.
func (c *client) tool(name string, arguments map[string]any) (task.ID, error) {
	var result struct {
		IsError    bool `json:"isError"`
		Structured struct {
			TaskID task.ID `json:"task_id"`
		} `json:"structuredContent"`
		Content json.RawMessage `json:"content"`
	}
	err := c.call("tools/call", map[string]any{"name": name, "arguments": arguments}, &result)
	if err == nil && result.IsError {
		err = fmt.Errorf("%s was refused: %s", name, result.Content)
	}
	return result.Structured.TaskID, err
}

// overMCP makes the transitions as an agent does. The server gives the ids, so
// it maps those that drive made.
type overMCP struct {
	client *client
	ids    map[task.ID]task.ID
}

func (o overMCP) create(_ context.Context, created task.NewTask) error {
	id, err := o.client.tool("create_task", map[string]any{
		"title": created.Title, "acceptance_criteria": created.Criteria, "created_by": created.Agent,
	})
	o.ids[created.TaskID] = id
	return err
}

func (o overMCP) add(_ context.Context, record task.Record) error {
	arguments := map[string]any{"task_id": o.ids[record.TaskID]}
	name := "claim_done"
	if record.Kind == task.KindClaimed {
		arguments["agent_id"], arguments["evidence"] = record.Agent, record.Text
	} else {
		name = "verify"
		arguments["verifier_agent_id"], arguments["verdict"], arguments["notes"] = record.Agent, record.Kind, record.Text
		delete(o.ids, record.TaskID)
	}
	_, err := o.client.tool(name, arguments)
	return err
}

func newOverMCP(to *client) overMCP { return overMCP{client: to, ids: map[task.ID]task.ID{}} }
