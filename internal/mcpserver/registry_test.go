package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const nightly = `{"run":"nightly"}`

func TestRegistry_survivesAPanicInAnyOperation(t *testing.T) {
	boom := func() { panic("boom") }
	operations := newFleet()
	operations.list = func(context.Context, registry.ComponentQuery) (page registry.ComponentPage, err error) {
		boom()
		return
	}
	operations.component = func(context.Context, string) (view registry.ComponentView, err error) { boom(); return }
	operations.probe = func(context.Context, string) (examination registry.Examination, err error) { boom(); return }
	operations.preflight = func(context.Context, string) (answer registry.Preflight, err error) { boom(); return }
	calls := map[string]string{"list_components": `{}`, "get_component": `{"name":"asm"}`, "probe_component": `{"name":"asm"}`, "preflight": nightly}

	var log bytes.Buffer
	options := Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}
	c, server := connect(t, NewRegistry(operations, options)), listen(t, NewRegistry(operations, Options{}))
	c.initialize()
	for tool, arguments := range calls {
		for range maxProbing + 1 { // a panic keeps no turn
			said := faultOf(t, c.ask(callOf(1, tool, arguments)))
			if reference, _ := said["reference"].(string); said["code"] != "E_INTERNAL" || !strings.Contains(log.String(), reference) {
				t.Fatalf("%s: said %v, logged %s", tool, said, log.String())
			}
		}
		status, answer := post(t, server.URL, callOf(2, tool, arguments), nil)
		if status != 200 || faultOf(t, answer)["code"] != "E_INTERNAL" || strings.Contains(answer, "boom") {
			t.Errorf("%s over HTTP: %d %s", tool, status, answer)
		}
	}
}

func TestRegistry_hidesWhatIsNoFaultAndShowsWhatIs(t *testing.T) {
	var give error
	operations := newFleet()
	operations.probe = func(context.Context, string) (registry.Examination, error) { return registry.Examination{}, give }
	c := connect(t, NewRegistry(operations, logging(t, Options{})))
	c.initialize()
	ask := func() map[string]any { return faultOf(t, c.ask(callOf(1, "probe_component", `{"name":"asm"}`))) }

	give = errors.New("secret of the store")
	if said := ask(); said["code"] != "E_INTERNAL" || strings.Contains(string(encode(said)), "secret") {
		t.Errorf("an error: %v", said)
	}
	give = fault.New(fault.Unavailable, "all turns are taken").WithHint("Try again.").WithCause(errors.New("secret"))
	want := map[string]any{"code": "E_UNAVAILABLE", "message": "all turns are taken", "hint": "Try again."}
	if diff := cmp.Diff(want, ask()); diff != "" {
		t.Errorf("a fault (-want +got):\n%s", diff)
	}
}

// held is a preflight that begins and then waits until its context ends.
type held struct{ begun, ended chan struct{} }

func holding(operations *fleet) held {
	h := held{begun: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	operations.preflight = func(ctx context.Context, _ string) (registry.Preflight, error) {
		h.begun <- struct{}{}
		<-ctx.Done()
		h.ended <- struct{}{}
		return registry.Preflight{}, ctx.Err()
	}
	return h
}

// over waits for the end of the preflight.
func (h held) over(t *testing.T) {
	t.Helper()
	select {
	case <-h.ended:
	case <-time.After(patience):
		t.Fatal("the preflight goes on")
	}
}

func TestRegistry_endsAPreflightThatItsClientCancels(t *testing.T) {
	for era, meta := range map[string]string{"legacy": "", "modern": "," + modernMeta} {
		operations := newFleet()
		preflight := holding(operations)
		c := connect(t, NewRegistry(operations, logging(t, Options{})))
		if era == "legacy" {
			c.initialize()
		}
		c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"preflight","arguments":` + nightly + meta + `}}`)
		<-preflight.begun
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7` + meta + `}}`)
		preflight.over(t)
		if answer := c.receive(); !strings.Contains(answer, `"id":7`) {
			t.Errorf("%s: %s", era, answer)
		}
		c.ask(`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{` + strings.TrimPrefix(meta, ",") + `}}`)
	}
}

func TestRegistry_endsAPreflightThatTheOfficialGoClientCancelsOverHTTP(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		operations := newFleet()
		preflight := holding(operations)
		session := connected(t, NewRegistry(operations, logging(t, Options{})), "HTTP", version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "preflight", Arguments: map[string]any{"run": "nightly"}})
			answered <- err
		}()
		<-preflight.begun
		cancel()
		if err := <-answered; err == nil {
			t.Errorf("%s: it was answered", version)
		}
		preflight.over(t)
	}
}

func TestRegistry_endsAPreflightWhoseClientHangsUp(t *testing.T) {
	operations := newFleet()
	preflight := holding(operations)
	server := listen(t, NewRegistry(operations, logging(t, Options{})))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(callOf(1, "preflight", nightly)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "*/*")
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-preflight.begun
	cancel()
	<-left
	preflight.over(t)
}

// A probe may take longer than a connection that ends waits for it.
func TestRegistry_breaksAPreflightOffWhenItsConnectionEnds(t *testing.T) {
	for _, ending := range []string{"input", "context"} {
		operations := newFleet()
		preflight := holding(operations)
		server := NewRegistry(operations, logging(t, Options{}))
		server.drains = 50 * time.Millisecond
		c := connect(t, server)
		c.initialize()
		c.send(callOf(1, "preflight", nightly))
		<-preflight.begun
		if ending == "input" {
			shut(t, c.in)
		} else {
			c.cancel()
		}
		preflight.over(t)
		if _, err := c.hangUp(); err != nil {
			t.Errorf("%s: ended with %v", ending, err)
		}
	}
}

func TestInTurn_givesUpInTimeAndSaysSo(t *testing.T) {
	free, taken := make(chan struct{}, 1), make(chan struct{})
	for name, c := range map[string]struct {
		turns chan struct{}
		gives error
		code  fault.Code
	}{
		"in the probe":         {free, context.Canceled, fault.Unavailable},
		"before its turn":      {taken, nil, fault.Unavailable},
		"with a fault to tell": {free, fault.New(fault.NotFound, "gone"), fault.NotFound},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.turns == taken {
			cancel()
		}
		_, err := inTurn(ctx, c.turns, "asm", func(ctx context.Context, _ string) (int, error) {
			cancel()
			<-ctx.Done()
			return 0, c.gives
		})
		cancel()
		if !errors.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
		if len(free) != 0 {
			t.Errorf("%s: the turn was kept", name)
		}
	}
}

func TestRegistry_givesProbesMoreTimeThanReads(t *testing.T) {
	left := make(chan time.Duration, 1)
	noted := func(ctx context.Context) {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
	}
	operations := newFleet()
	operations.list = func(ctx context.Context, _ registry.ComponentQuery) (page registry.ComponentPage, err error) {
		noted(ctx)
		return page, nil
	}
	operations.preflight = func(ctx context.Context, _ string) (answer registry.Preflight, err error) {
		noted(ctx)
		return answer, nil
	}
	c := connect(t, NewRegistry(operations, logging(t, Options{})))
	c.initialize()
	c.ask(callOf(1, "list_components", `{}`))
	if got := <-left; got > callLimit {
		t.Errorf("a list has %s", got)
	}
	c.ask(callOf(2, "preflight", nightly))
	if got := <-left; got <= callLimit || got > registry.MaxProbeWait {
		t.Errorf("a preflight has %s", got)
	}
}

func TestRegistry_worksOnABoundedNumberOfAThousandPreflights(t *testing.T) {
	const calls = 1000
	begun, finish := make(chan struct{}, calls), make(chan struct{})
	var underWay, most atomic.Int64
	operations := newFleet()
	operations.preflight = func(ctx context.Context, run string) (registry.Preflight, error) {
		now := underWay.Add(1)
		defer underWay.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		begun <- struct{}{}
		<-finish
		return registry.Preflight{Run: run, Slots: []registry.SlotResult{}}, ctx.Err()
	}
	handler := NewRegistry(operations, logging(t, Options{})).Handler()
	answers := make(chan string, calls)
	for id := range calls {
		go func() { answers <- serve(t, handler, callOf(id, "preflight", nightly)) }()
	}
	for range maxProbing {
		<-begun
	}
	// A call that does not probe needs no turn.
	if listed := serve(t, handler, callOf(0, "list_components", `{}`)); resultOf(t, listed).IsError {
		t.Errorf("a list meanwhile: %s", listed)
	}
	close(finish)
	for range calls {
		if answer := <-answers; resultOf(t, answer).IsError {
			t.Errorf("%s", answer)
		}
	}
	if most.Load() != maxProbing {
		t.Errorf("%d preflights were under way at a time, want %d", most.Load(), maxProbing)
	}
}

func TestRegistry_tellsAClientThatAsksThatAProbeGoesOn(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		told, operations := make(chan *mcp.ProgressNotificationParams, 100), newFleet()
		enough := make(chan struct{})
		operations.preflight = func(ctx context.Context, run string) (registry.Preflight, error) {
			<-enough
			return registry.Preflight{Run: run, Slots: []registry.SlotResult{}}, ctx.Err()
		}
		server := NewRegistry(operations, logging(t, Options{}))
		server.beats = time.Millisecond
		session := connected(t, server, "stdio", version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
				select {
				case told <- request.Params:
				default:
				}
			},
		})
		answered := make(chan error, 1)
		go func() {
			params := &mcp.CallToolParams{Name: "preflight", Arguments: map[string]any{"run": "nightly"}}
			params.SetProgressToken("mine")
			_, err := session.CallTool(t.Context(), params)
			answered <- err
		}()
		first, second := <-told, <-told
		if first.ProgressToken != "mine" || second.Progress <= first.Progress || first.Message == "" {
			t.Errorf("%s: told %+v, then %+v", version, first, second)
		}
		close(enough)
		if err := <-answered; err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// Over HTTP nothing can be told beside the answer, and the answer is as it was.
func TestRegistry_answersOverHTTPWhoAsksForProgress(t *testing.T) {
	operations := newFleet()
	operations.preflight = func(ctx context.Context, run string) (registry.Preflight, error) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		return registry.Preflight{Run: run, Slots: []registry.SlotResult{}}, ctx.Err()
	}
	server := NewRegistry(operations, logging(t, Options{}))
	server.beats = time.Millisecond
	body := strings.Replace(callOf(1, "preflight", nightly), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1)
	status, answer := post(t, listen(t, server).URL, body, nil)
	if result := resultOf(t, answer); status != 200 || result.IsError {
		t.Errorf("%d %s", status, answer)
	}
	if !json.Valid([]byte(answer)) {
		t.Errorf("not one JSON document: %s", answer)
	}
}
