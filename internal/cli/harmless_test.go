package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// evil is text that a terminal would obey.
const evil = "a\u202eb\x1b[31m\u009b2J\U000e0041\x7f\r"

// obeyed reports whether a terminal would obey any of a text.
func obeyed(text string) bool { return strings.ContainsAny(text, "\u202e\x1b\u009b\U000e0041\x7f\r") }

// A refusal repeats what it refuses: in the arguments of a command as well.
func TestRefusal_makesUntrustedTextHarmless(t *testing.T) {
	s := newShell(t)
	for _, args := range [][]string{
		{"task", "show", evil},
		{"task", "claim", "x", "--agent-id", "a", "--evidence-file", evil},
		{"task", evil},
		{"serve", "--config", evil},
		{"preflight", "nightly", "--ticket", evil + "/ticket"},
		{"preflight", "--check", evil},
		{"component", "list", "--status", evil},
		{"component", "list", "--kind", evil},
		{"component", "show", evil, "--config", evil},
		{"serve", "--listen", evil},
	} {
		for _, form := range [][]string{nil, {"--json"}} {
			if code, out, told := s.run(append(args, form...)...); obeyed(out+told) || code != exitAsk {
				t.Errorf("%q %v: exit %d, %q", args, form, code, out+told)
			}
		}
	}
}

func TestProbe_makesUntrustedTextHarmless(t *testing.T) {
	body, err := json.Marshal(map[string]any{"ok": false, "detail": evil})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	defer server.Close()
	for _, form := range [][]string{nil, {"--json"}} {
		code, out, told := newShell(t).run(append([]string{"probe", server.URL}, form...)...)
		if obeyed(out+told) || code != exitNo || !strings.Contains(out, `\u009b`) {
			t.Errorf("%v: exit %d, %q", form, code, out+told)
		}
	}
}
