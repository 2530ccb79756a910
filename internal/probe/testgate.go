package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxTestBody bounds the body of an answer to GET /test, in bytes.
const MaxTestBody = 1 << 20

// testFound is what g2 brings home.
type testFound struct {
	gate         registry.GateResult
	dependencies map[string]json.RawMessage
	warnings     []string
}

// test runs g2: GET /test, judged by registry.JudgeTest.
func (s MCPServer) test(ctx context.Context, settings Settings) (brought testFound) {
	brought.gate = guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
		exchange, done, err := get(ctx, s.at("test"), settings)
		if err != nil {
			return found(err)
		}
		defer done()
		answer, err := judge(ctx, exchange)
		if err != nil {
			return found(err)
		}
		brought.dependencies, brought.warnings = answer.Dependencies, answer.Warnings
		return finding{answer.Cause, answer.Detail}
	})
	return brought
}

// judge reads the body as far as the status leaves its judgement open.
func judge(ctx context.Context, exchange *mcpwire.Exchange) (registry.TestAnswer, error) {
	status := exchange.Response.StatusCode
	body, err := exchange.ReadAll(ctx, MaxTestBody)
	answer := registry.JudgeTest(status, body)
	decided := answer.Cause != registry.HTTPStatus && registry.StatusCause(status) != ""
	switch {
	case err != nil && !decided && !errors.Is(err, mcpwire.ErrBroken):
		return answer, err
	case err != nil && !decided && registry.StatusCause(status) == "":
		answer.Cause, answer.Detail = registry.NotJSON, fmt.Sprintf("status %d; %v", status, err)
	case answer.Cause == registry.Redirect:
		answer.Detail = exchange.StatusDetail()
	}
	return answer, nil
}
