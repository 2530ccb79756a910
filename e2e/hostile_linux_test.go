package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// hostileTimeout is for gates that are to run out of time, patientTimeout for the
	// others: what is told by its size must not be told by its time first.
	hostileTimeout = 2 * time.Second
	patientTimeout = time.Minute
	// hostileEnd is when a probe must have ended: its gates, what Close may take,
	// and a machine that is busy. A probe that does not end takes for ever.
	hostileEnd = 30 * time.Second
	// hostileGrowth is how much more memory, in KiB, a probe of a hostile server may
	// take than one of a good server.
	hostileGrowth = 8_000_000 / 1024
	// hostileTries is how often a probe that took more is measured: whose turn it
	// is when, the collector's or the reader's, differs from run to run, and only
	// adds. The least counts.
	hostileTries = 3
)

// hostile is a server that would fill memory or never end. What the tests of the
// packages hold in process is held here for the program as a whole.
type hostile struct {
	name  string
	serve http.HandlerFunc
	want  string
}

func hostileServers(t *testing.T) []hostile {
	const (
		filled   = "healthz yes, test no (too_large), listTools no (too_large), exit 1"
		late     = "healthz yes, test no (timeout), listTools no (timeout), exit 1"
		tooMany  = "healthz yes, test yes, listTools no (too_large), exit 1"
		noTools  = "healthz yes, test yes, listTools no (zero_tools), exit 1"
		noEnd    = "healthz yes, test yes, listTools no (protocol_error), exit 1"
		goesAway = "healthz no (redirect), test no (redirect), listTools no (redirect), exit 1"
	)
	return []hostile{
		{"64 MiB of JSON", sends("application/json", `{"jsonrpc":"2.0","id":1,"x":"`, endless(64<<20)), filled},
		{"an endless body", sends("application/json", `{"ok":true,"x":"`, endless(-1)), filled},
		{"an endless event", sends("text/event-stream", "data: ", endless(-1)), filled},
		{"endless small events", sends("text/event-stream", "", repeated(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n\n")), filled},
		{"endless comments", sends("text/event-stream", "", repeated(": still here\n")), filled},
		{"a stream that falls silent", sends("text/event-stream", ": hello\n\n", silence), late},
		{"a body by drops", sends("application/json", `{"ok":true,`, drops), late},
		{"a bomb in gzip", bomb(t), "healthz yes, test no (not_json), listTools no (not_mcp), exit 1"},
		{"brackets without end", sends("application/json", "", repeated("[")), filled},
		{"an endless header", endlessHeader, "healthz no (too_large), test no (too_large), listTools no (too_large), exit 1"},
		{"a redirect to the metadata of a cloud", leadsToMetadata, goesAway},
		{"100,000 tools", listing(func(int64) string { return manyTools(100_000, `,"inputSchema":{"type":"object"}`) }), tooMany},
		{"100,000 tools of a few bytes", listing(func(int64) string { return manyTools(100_000, "") }), tooMany},
		{"tools within tools", listing(func(int64) string { return `"tools":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) }), noTools},
		{"a cursor that does not advance", listing(func(int64) string { return `"tools":[{"name":"a"}],"nextCursor":"same"` }), noEnd},
		{"new cursors for ever", listing(func(page int64) string {
			return fmt.Sprintf(`"tools":[{"name":"tool-%d"}],"nextCursor":"%d"`, page, page)
		}), tooMany},
	}
}

// hostileProcesses are shell commands.
func hostileProcesses() []struct{ name, command, want string } {
	const (
		alive    = "healthz yes, test no (timeout), listTools no (timeout), exit 1"
		oneTool  = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}`
		welcome  = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`
		answers  = "echo '" + welcome + "'; read initialize; read initialized; read list; echo '" + oneTool + "'; "
		answered = "healthz yes, test no (not_configured), listTools yes (1 tools), legacy 2025-11-25, sessions 0 opened 0 closed, exit 1"
	)
	return []struct{ name, command, want string }{
		{"junk on its output without end", "yes 'Server starting...'", alive},
		{"a line without end", `tr '\0' x </dev/zero 2>/dev/null; sleep 600`, "healthz yes, test no (too_large), listTools no (too_large), exit 1"},
		{"standard error without end", "yes complaint >&2", alive},
		{"junk before its answers", "echo 'Server starting...'; echo; " + answers + "cat", answered},
		{"grandchildren that hold its output", answers + "sleep 600 & sleep 600 & cat >/dev/null", answered},
		{"grandchildren, and it stays", "trap '' TERM HUP INT; (trap '' TERM; sleep 600) & " + answers + "sleep 600", answered},
	}
}

// TestProbe_isNotFilledByHostileServers compares the memory of each probe with
// that of probes of a good server.
func TestProbe_isNotFilledByHostileServers(t *testing.T) {
	t.Parallel()
	good := httptest.NewServer(listing(func(int64) string { return `"tools":[{"name":"a"}]` }))
	t.Cleanup(good.Close)
	usual := 0
	for range 3 {
		probed := measure(t, environment(t), hostileEnd, good.URL)
		if probed.code != 0 {
			t.Fatalf("the good server does not pass:\n%s%s", probed.stdout, probed.stderr)
		}
		usual = max(usual, probed.peak)
	}
	for _, server := range hostileServers(t) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			listening := httptest.NewServer(server.serve)
			defer listening.Close()
			defer listening.CloseClientConnections()
			judgeHostile(t, usual, server.want, listening.URL)
		})
	}
	for _, process := range hostileProcesses() {
		t.Run(process.name, func(t *testing.T) {
			t.Parallel()
			judgeHostile(t, usual, process.want, "--", "sh", "-c", process.command)
		})
	}
}

func judgeHostile(t *testing.T, usual int, want string, asked ...string) {
	t.Helper()
	env := environment(t)
	limit := patientTimeout
	if strings.Contains(want, "(timeout)") {
		limit = hostileTimeout
	}
	probed := measure(t, env, limit, asked...)
	for try := 1; try < hostileTries && probed.peak-usual >= hostileGrowth; try++ {
		if again := measure(t, env, limit, asked...); again.peak < probed.peak {
			probed = again
		}
	}
	if got := verdict(t, probed.outcome); got != want {
		t.Errorf("\n got: %s\nwant: %s\n%s%s", got, want, probed.stdout, probed.stderr)
	}
	t.Logf("%d KiB more than for a good server, %v", probed.peak-usual, probed.took)
	if growth := probed.peak - usual; growth >= hostileGrowth {
		t.Errorf("the probe took %d KiB more than that of a good server, want less than %d", growth, hostileGrowth)
	}
	if probed.took >= hostileEnd {
		t.Errorf("the probe took %v", probed.took)
	}
	nothingLeft(t, env)
}

// sends begins an answer and leaves the rest to another.
func sends(kind, begin string, rest func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, begin)
		_ = http.NewResponseController(w).Flush()
		rest(w, request)
	}
}

func endless(size int) func(http.ResponseWriter, *http.Request) {
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	return func(w http.ResponseWriter, _ *http.Request) {
		for sent := 0; size < 0 || sent < size; sent += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

func repeated(text string) func(http.ResponseWriter, *http.Request) {
	chunk := []byte(strings.Repeat(text, 1+(64<<10)/len(text)))
	return func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

func silence(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }

func drops(w http.ResponseWriter, request *http.Request) {
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-request.Context().Done():
			return
		case <-ticks.C:
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// bomb sends a hundred kilobytes that claim to be a hundred megabytes, although
// nobody asked for gzip.
func bomb(t *testing.T) http.HandlerFunc {
	t.Helper()
	var packed bytes.Buffer
	squeeze := gzip.NewWriter(&packed)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 100 {
		if _, err := squeeze.Write(spaces); err != nil {
			t.Fatal(err)
		}
	}
	if err := squeeze.Close(); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}
}

func endlessHeader(w http.ResponseWriter, _ *http.Request) {
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\n")
	for {
		if _, err := buffered.WriteString("X-More: and more and more and more\r\n"); err != nil {
			return
		}
	}
}

func leadsToMetadata(w http.ResponseWriter, request *http.Request) {
	http.Redirect(w, request, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
}

// listing is a modern server with good pages, whose list is told page by page.
func listing(page func(number int64) string) http.HandlerFunc {
	var pages atomic.Int64
	return func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if request.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"ok":true}`)
			return
		}
		method := request.Header.Get("Mcp-Method")
		var message struct{ ID int64 }
		_ = json.NewDecoder(request.Body).Decode(&message)
		result := `"supportedVersions":["2026-07-28"],"resultType":"complete"`
		if method == "tools/list" {
			result = page(pages.Add(1))
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{%s}}`, message.ID, result)
	}
}

func manyTools(count int, members string) string {
	var list strings.Builder
	list.WriteString(`"tools":[`)
	for i := range count {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"t%d"%s}`, i, members)
	}
	return list.String() + "]"
}
