package config

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const asm = "components:\n  asm: {kind: mcp_server, url: http://127.0.0.1:8080}\n"

// numbered writes a text for each number, one a line.
func numbered(count int, form string) string {
	var out strings.Builder
	for i := range count {
		fmt.Fprintf(&out, form+"\n", i)
	}
	return out.String()
}

func TestParse_boundsSlotsAndRuns(t *testing.T) {
	t.Parallel()
	slots := func(count int) string { return asm + "slots:\n" + numbered(count, "  s%d: {primary: asm}") }
	for text, want := range map[string]string{
		slots(MaxSlots):     "",
		slots(MaxSlots + 1): "there are more than 1000 slots",
		slots(1) + "runs:\n" + numbered(MaxRuns, "  r%d: {slots: {s0: required}}"):                          "",
		slots(1) + "runs:\n" + numbered(MaxRuns+1, "  r%d: {slots: {s0: required}}"):                        "there are more than 1000 runs",
		slots(MaxRunSlots+1) + "runs:\n  r:\n    slots:\n" + numbered(MaxRunSlots, "      s%d: optional"):   "",
		slots(MaxRunSlots+1) + "runs:\n  r:\n    slots:\n" + numbered(MaxRunSlots+1, "      s%d: optional"): "the run has more than 100 slots",
	} {
		loaded, invalid := parse("file.yaml", "/srv", text)
		switch {
		case want == "" && invalid != nil:
			t.Error(invalid)
		case want == "" && len(loaded.Slots) == 0:
			t.Error("there are no slots")
		case want != "" && (invalid == nil || invalid.Total != 1 || invalid.Problems[0].Message != want):
			t.Errorf("got %v, want %s", invalid, want)
		}
	}
}

// TestParse_looksForSimilarNamesWithinBounds has millions of pairs of a name that
// is not there and one that is; only those of the first problems are compared.
func TestParse_looksForSimilarNamesWithinBounds(t *testing.T) {
	t.Parallel()
	const components, slots = 1000, 200
	long := strings.Repeat("x", 30)
	text := "components:\n" + numbered(components, "  "+long+"%04d: {kind: mcp_server, url: 'http://127.0.0.1:8080'}") + "slots:\n" +
		numbered(slots, "  s%d: {primary: "+long+", fallbacks: ["+strings.Repeat("'"+long+"zzzz', ", MaxFallbacks)+"]}")
	_, invalid := parse("file.yaml", "/srv", text)
	if invalid == nil || invalid.Total != slots*(1+MaxFallbacks) {
		t.Fatalf("got %v", invalid)
	}
	if near := invalid.Problems[0].Hint; near != "Declare it, or name one that is declared." {
		t.Errorf("the hint is %s", near)
	}
}

func TestBytesOf_readsSizesWithTheirUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1kB": 1000, "500MB": 500_000_000, "2 GB": 2_000_000_000, "1TB": 1e12,
		"1KiB": 1024, "10MiB": 10 << 20, "1GiB": 1 << 30, "1TiB": 1 << 40, "0MB": 0,
		"8388607TiB": 8388607 << 40, "8388608TiB": math.MaxInt64, strings.Repeat("9", 40) + "kB": math.MaxInt64,
	} {
		if got, ok := bytesOf(text); got != want || !ok {
			t.Errorf("%s is %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "1", "GiB", "1.5GiB", "-1GB", "1gb", "1KB", "1kiB", "1 000MB", "1GiB ", "1GiBs"} {
		if got, ok := bytesOf(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestWarnings_tellWhatIsLikelyToBeRegretted(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv", `
components:
  asm: {kind: mcp_server, url: http://127.0.0.1:8080, interval: 30s, ttl: 59s}
  sound: {kind: mcp_server, url: http://127.0.0.1:8080, interval: 30s, ttl: 60s, timeout: 30s, probing_deadline: 30s, drift: block}
  slow: {kind: mcp_server, url: http://127.0.0.1:8080, interval: 1s, timeout: 2s, probing_deadline: 1s}
  alone: {kind: mcp_server, url: http://127.0.0.1:8080, timeout: 1m, drift: block}
  quick: {kind: mcp_server, url: http://127.0.0.1:8080, interval: 9s}
  usual: {kind: mcp_server, url: http://127.0.0.1:8080, interval: 10s}
slots:
  old: {primary: sound, fallbacks: [asm], max_age: 1m}
  young: {primary: asm, max_age: 59s}
runs:
  all: {slots: {old: optional, young: optional}}
  some: {slots: {old: optional, young}}
retention: {raw: 48h, hourly: 47h}
patrol: {concurrency: 4, per_host: 5}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	want := []string{
		"3:75: one probe that is late or lost makes the status unknown / Write at least two intervals; it is three when the key is left out.",
		"5:79: a probe may take longer than the interval: the timeout is 2s, and the interval 1s / Make the timeout shorter, or the interval longer.",
		"5:101: the status may be unknown before the first probe has ended / Write a time that is longer than the timeout.",
		"6:66: a probe may take longer than the interval: the timeout is 1m0s, and the interval 30s / Make the timeout shorter, or the interval longer.",
		"6:77: this blocks nothing, since no slot names the component / Name the component in a slot, or leave out the key.",
		"7:67: a probe may take longer than the interval: the timeout is 10s, and the interval 9s / Make the timeout shorter, or the interval longer.",
		"10:52: a result of asm does not count that long: its ttl is 59s / Write a shorter time, or leave out the key: the component is probed then.",
		"13:3: every slot is optional, so the run starts whatever is broken / Make a slot required, if there is one that the run cannot do without.",
		"15:31: the hourly sums go before the results, which are kept for 48h0m0s / Make raw shorter, or hourly longer.",
		"16:36: concurrency permits only 4 probes at once / Make one smaller or the other larger.",
	}
	if diff := cmp.Diff(want, briefly(loaded.Warnings(Resolver{}))); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	loaded, invalid = parse("file.yaml", "/srv", "retention: {raw: 8784h}\n")
	if invalid != nil || len(loaded.Warnings(Resolver{})) != 1 {
		t.Errorf("results that are kept for longer than hourly sums: %v", invalid)
	}
	if got := Default().Warnings(Resolver{}); got != nil {
		t.Errorf("without a file: %v", got)
	}
}

func TestRegistered_isAllThatTheFileRegisters(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv", whole)
	if invalid != nil {
		t.Fatal(invalid)
	}
	got := loaded.Registered()
	if got.Component("api") == nil || got.Slot("recon").MinVersion != "7.80" || len(got.Run("nightly").Slots) != 2 || len(got.Network.Allow) != 4 {
		t.Errorf("got %+v", got)
	}
}
