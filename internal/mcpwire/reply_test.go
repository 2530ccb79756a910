package mcpwire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// asking is a legacy server whose tools/list stream makes the given requests
// and hears the answers before it goes on.
func asking(requests []string, heard chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &message)
		switch message.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, message.ID)
		case "tools/list":
			w.Header().Set("Content-Type", "text/event-stream")
			for _, ask := range requests {
				fmt.Fprintf(w, "data: %s\n\n", ask)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-heard:
				case <-request.Context().Done():
				case <-time.After(10 * time.Millisecond): // no answer is due to every request
				}
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[{\"name\":\"noop\"}]}}\n\n", message.ID)
		case "":
			w.WriteHeader(http.StatusAccepted)
			heard <- string(body)
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		}
	}
}

func TestClient_answersRequestsOfALegacyServer(t *testing.T) {
	t.Parallel()
	var got []string
	heard := make(chan string, mcpwire.MaxReplies+1)
	handler := asking([]string{
		`{"jsonrpc":"2.0","id":"p-1","method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/message"}`,
	}, heard)
	endpoint := start(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if !strings.Contains(string(body), `"method"`) {
			got = append(got, string(body))
		}
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		handler(w, request)
	}))
	names, report, err := ask(within(t, time.Minute), endpoint)
	if err != nil || len(names) != 1 {
		t.Fatalf("got %q, %v, want one tool", names, err)
	}
	want := []string{
		`{"id":"p-1","jsonrpc":"2.0","result":{}}`,
		`{"error":{"code":-32601,"message":"no capability was declared"},"id":7,"jsonrpc":"2.0"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if len(report.Warnings) == 0 || !strings.Contains(strings.Join(report.Warnings, "\n"), "roots/list") {
		t.Errorf("warnings %q do not tell of roots/list", report.Warnings)
	}
}

func TestClient_answersABoundedNumberOfRequests(t *testing.T) {
	t.Parallel()
	var answered atomic.Int64
	requests := make([]string, 3*mcpwire.MaxReplies)
	for i := range requests {
		requests[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 100+i)
	}
	handler := asking(requests, make(chan string, len(requests)))
	endpoint := start(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if strings.Contains(string(body), `"result"`) {
			answered.Add(1)
		}
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		handler(w, request)
	}))
	if _, _, err := ask(within(t, time.Minute), endpoint); err != nil {
		t.Fatal(err)
	}
	if answered.Load() != mcpwire.MaxReplies {
		t.Errorf("%d requests were answered, want %d", answered.Load(), mcpwire.MaxReplies)
	}
}
