package gates_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/gates"
)

// A server that cannot work without its index, and does less without its
// translator.
func Example() {
	mux := http.NewServeMux()
	gates.Mount(mux, gates.Options{
		Service: "library",
		Version: "1.4.0",
		Dependencies: []gates.Dependency{
			gates.Required("index", gates.Func(func(context.Context) error { return nil })),
			gates.Optional("translator", gates.Func(func(context.Context) error {
				return errors.New("no model is loaded")
			})),
		},
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, path := range []string{"/healthz", "/test"} {
		answer, err := http.Get(server.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		var body struct{ Status, Detail string }
		err = json.NewDecoder(answer.Body).Decode(&body)
		_ = answer.Body.Close()
		fmt.Println(path, answer.StatusCode, body.Status+body.Detail, err)
	}
	// Output:
	// /healthz 200 ok <nil>
	// /test 200 all required tools executable; degraded (optional missing): translator <nil>
}

// patience is how long a test waits for what must happen.
const patience = time.Minute

func works(context.Context) error { return nil }

func fails(context.Context) error { return errors.New("broken") }

func mounted(dependencies ...gates.Dependency) http.Handler {
	mux := http.NewServeMux()
	gates.Mount(mux, gates.Options{Service: "scanner", Version: "1.0", Dependencies: dependencies})
	return mux
}

func get(handler http.Handler, path string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder
}

// tested is the answer of /test.
type tested struct {
	OK      bool            `json:"ok"`
	Detail  string          `json:"detail"`
	Service string          `json:"service"`
	Version string          `json:"version"`
	Tools   map[string]tool `json:"tools"`
}

// tool is what the answer tells of one dependency.
type tool struct {
	Present    bool   `json:"present"`
	Executable bool   `json:"executable"`
	Path       string `json:"path"`
	Version    string `json:"version"`
	Detail     string `json:"detail"`
	LatencyMs  int64  `json:"latencyMs"`
	AgeMs      int64  `json:"ageMs"`
	Required   bool   `json:"required"`
}

func askTest(t *testing.T, handler http.Handler) (int, tested) {
	t.Helper()
	answer := get(handler, "/test")
	var body tested
	decoder := json.NewDecoder(answer.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		t.Fatalf("decode the answer of /test: %v", err)
	}
	return answer.Code, body
}

func TestHealthz_answersWithoutTouchingADependency(t *testing.T) {
	handler := mounted(gates.Required("index", gates.Func(func(context.Context) error {
		t.Error("a dependency was touched")
		return nil
	})))
	for _, path := range []string{"/healthz", "/health"} {
		answer := get(handler, path)
		want := `{"status":"ok","service":"scanner","version":"1.0"}` + "\n"
		if answer.Code != http.StatusOK || answer.Body.String() != want {
			t.Errorf("GET %s = %d %s, want 200 %s", path, answer.Code, answer.Body, want)
		}
	}
}

func TestTest_wordsItsDetailByWhatFails(t *testing.T) {
	cases := map[string]struct {
		dependencies []gates.Dependency
		status       int
		detail       string
	}{
		"all work": {
			[]gates.Dependency{gates.Required("b", gates.Func(works)), gates.Optional("a", gates.Func(works))},
			200, "all required tools executable",
		},
		"optional fail": {
			[]gates.Dependency{
				gates.Optional("z", gates.Func(fails)), gates.Required("b", gates.Func(works)), gates.Optional("a", gates.Func(fails)),
			},
			200, "all required tools executable; degraded (optional missing): z, a",
		},
		"required fail": {
			[]gates.Dependency{
				gates.Required("z", gates.Func(fails)), gates.Optional("m", gates.Func(fails)), gates.Required("a", gates.Func(fails)),
			},
			503, "required tools unusable: z, a",
		},
		"not configured": {
			[]gates.Dependency{
				gates.Required("func", gates.Func(nil)), gates.Required("sql", gates.SQL{}),
				gates.Required("executable", gates.Executable{}), gates.Required("nothing", nil),
			},
			503, "required tools unusable: func, sql, executable, nothing",
		},
		"none declared": {nil, 503, "no dependency declared: nothing proves that this server works"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, body := askTest(t, mounted(c.dependencies...))
			if status != c.status || body.OK != (c.status == 200) || body.Detail != c.detail {
				t.Errorf("/test = %d ok=%v %q, want %d %q", status, body.OK, body.Detail, c.status, c.detail)
			}
			for tool, told := range body.Tools {
				if name == "not configured" && (told.Present || told.Executable || told.Detail != "not configured") {
					t.Errorf("%s = %+v, want neither present nor executable", tool, told)
				}
			}
		})
	}
}

func TestTest_givesTheBodyOfTheContract(t *testing.T) {
	handler := mounted(gates.Required("index", gates.Func(works)), gates.Optional("<other>", gates.Func(fails)))
	answer := get(handler, "/test")
	got := answer.Body.String()
	for _, measured := range []string{"latencyMs", "ageMs"} {
		before, rest, found := strings.Cut(got, measured)
		if !found {
			t.Errorf("no %s in %s", measured, before+rest)
		}
	}
	var tree map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	for _, told := range tree["tools"].(map[string]any) {
		delete(told.(map[string]any), "latencyMs")
		delete(told.(map[string]any), "ageMs")
	}
	want := map[string]any{
		"ok": true, "detail": "all required tools executable; degraded (optional missing): <other>",
		"service": "scanner", "version": "1.0",
		"tools": map[string]any{
			"index":   map[string]any{"present": true, "executable": true, "detail": "check passed", "required": true},
			"<other>": map[string]any{"present": true, "executable": false, "detail": "broken", "required": false},
		},
	}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(got, `{"ok":true,"detail":`) {
		t.Errorf("the body does not begin with ok and detail: %s", got)
	}
}

func TestGates_areJSONThatNoCacheKeeps(t *testing.T) {
	handler := mounted(gates.Required("index", gates.Func(fails)))
	for _, path := range []string{"/healthz", "/health", "/test"} {
		header := get(handler, path).Header()
		if header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s has headers %v", path, header)
		}
	}
}

func TestGates_answerHEADAndRefuseOtherMethods(t *testing.T) {
	server := httptest.NewServer(mounted(gates.Required("index", gates.Func(fails))))
	defer server.Close()
	want := map[string]map[string]int{
		http.MethodHead:   {"/healthz": 200, "/health": 200, "/test": 503},
		http.MethodPost:   {"/healthz": 405, "/health": 405, "/test": 405},
		http.MethodDelete: {"/healthz": 405, "/health": 405, "/test": 405},
	}
	for method, paths := range want {
		for path, status := range paths {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != status {
				t.Errorf("%s %s = %d, want %d", method, path, answer.StatusCode, status)
			}
			if status == 405 && answer.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s allows %q", method, path, answer.Header.Get("Allow"))
			}
		}
	}
}

func TestMount_sitsBesideACatchAllOfTheServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.NotFoundHandler())
	mux.Handle("POST /mcp", http.NotFoundHandler())
	gates.Mount(mux, gates.Options{})
	if answer := get(mux, "/healthz"); answer.Code != http.StatusOK {
		t.Errorf("GET /healthz = %d", answer.Code)
	}
}

func TestMount_panicsOnAProgrammingMistake(t *testing.T) {
	cases := map[string]gates.Options{
		"no name":  {Dependencies: []gates.Dependency{gates.Required("", gates.Func(works))}},
		"two":      {Dependencies: []gates.Dependency{gates.Required("a", gates.Func(works)), gates.Optional("a", gates.Func(works))}},
		"negative": {CacheFor: -1},
	}
	for name, options := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Mount did not panic")
				}
			}()
			gates.Mount(http.NewServeMux(), options)
		})
	}
}

func TestTest_showsNoSecretAndNoControlCharacter(t *testing.T) {
	secret := "s3cr3t"
	handler := mounted(gates.Required("index", gates.Func(func(context.Context) error {
		return fmt.Errorf("dial postgres://app:%[1]s@db/x, password=%[1]s; api_key: %[1]s Authorization: Bearer %[1]s-%[1]s\x1b[31m\u202e\xff", secret)
	})))
	text := get(handler, "/test").Body.String()
	for _, unwanted := range []string{secret, `\u001b`, "\u202e"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the answer holds %q: %s", unwanted, text)
		}
	}
	if !strings.Contains(text, "dial postgres://***@db/x") {
		t.Errorf("the answer does not keep what is no secret: %s", text)
	}
}

func TestTest_boundsADetail(t *testing.T) {
	handler := mounted(gates.Required("index", gates.Func(func(context.Context) error {
		return errors.New(strings.Repeat("é", 100_000))
	})))
	_, body := askTest(t, handler)
	if length := len([]rune(body.Tools["index"].Detail)); length != 300 {
		t.Errorf("the detail has %d characters, want 300", length)
	}
}
