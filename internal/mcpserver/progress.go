package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressInterval is how often a client that asked for it is told that its call
// goes on, so that it need not take a long probe for a dead server.
const progressInterval = 5 * time.Second

// report tells the client at intervals that its call goes on, if the call has a
// progress token, until the function that it returns is called. Over HTTP the
// answer is one JSON document, beside which nothing can be told.
func (s *Server) report(ctx context.Context, request *mcp.CallToolRequest) (stop func()) {
	token := request.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(s.beats)
		defer ticker.Stop()
		for count := 1; ; count++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			waited := time.Duration(count) * s.beats
			// A client that cannot be told gets its answer all the same.
			_ = request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(count), Message: fmt.Sprintf("working for %s", waited),
			})
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
