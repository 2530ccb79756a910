package probe_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"runtime"
	"strconv"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestBodies_areReadIntoBoundedMemory is not parallel, because it counts the
// bytes that the whole process allocates, the double included.
func TestBodies_areReadIntoBoundedMemory(t *testing.T) {
	const huge = 64 << 20
	packed := bomb(t)
	for name, row := range map[string]struct {
		double double
		cause  map[registry.Gate]registry.Cause
	}{
		"64 MiB of JSON": {
			double: double{test: sized(huge, `{"ok":true,"detail":"`), mcp: sized(huge, `{"jsonrpc":"2.0","x":"`)},
			cause:  map[registry.Gate]registry.Cause{registry.Test: registry.TooLarge, registry.ListTools: registry.TooLarge},
		},
		"endless bodies": {
			double: double{
				healthz: floods("text/plain", ""), test: floods("application/json", `"`), mcp: floods("text/event-stream", "data: "),
			},
			cause: map[registry.Gate]registry.Cause{registry.Test: registry.TooLarge, registry.ListTools: registry.TooLarge},
		},
		"a gzip bomb": {
			double: double{test: packed, mcp: packed},
			cause:  map[registry.Gate]registry.Cause{registry.Test: registry.NotJSON, registry.ListTools: registry.NotMCP},
		},
	} {
		url := row.double.start(t).URL
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := probed(t, url, generous)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > huge {
			t.Errorf("%s: %d MiB were allocated", name, allocated>>20)
		}
		for _, gate := range registry.Gates() {
			if found := got.Gate(gate); found.Cause != row.cause[gate] {
				t.Errorf("%s: %s has the cause %q (%s), want %q", name, gate, found.Cause, found.Detail, row.cause[gate])
			}
		}
	}
}

// sized announces and sends a body of the given size.
func sized(size int, begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = w.Write([]byte(begin))
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for sent := len(begin); sent < size; sent += len(chunk) {
			if _, err := w.Write(chunk[:min(len(chunk), size-sent)]); err != nil {
				return
			}
		}
	}
}

// bomb sends few bytes that claim to be many, although nobody asked for gzip.
func bomb(t *testing.T) http.HandlerFunc {
	t.Helper()
	var packed bytes.Buffer
	squeeze, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 16 {
		if _, err := squeeze.Write(spaces); err != nil {
			t.Fatal(err)
		}
	}
	if err := squeeze.Close(); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}
}
