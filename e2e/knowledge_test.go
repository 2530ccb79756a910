//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// handbookPage is the page of the corpus.
const handbookPage = "# Passwords\n\n## Length\n\nThe password policy wants sixteen characters.\n\n## Reuse\n\nNever twice.\n"

// handbook is the example of a knowledge base on a corpus of its own, which can be
// started anew at the same address.
type handbook struct {
	program, corpus, address string
	running                  *process
}

func startHandbook(t *testing.T) *handbook {
	t.Helper()
	book := &handbook{filepath.Join(t.TempDir(), "handbook"), t.TempDir(), "127.0.0.1:" + freePort(t), nil}
	built := run(t, ".", os.Environ(), "go", "build", "-buildvcs=false", "-o", book.program, "../examples/handbook-server")
	if built.code != 0 {
		t.Fatalf("build the example:\n%s", built.stderr)
	}
	book.write(t, "passwords", handbookPage)
	book.restart(t)
	return book
}

func (b *handbook) write(t *testing.T, page, text string) {
	t.Helper()
	writeFile(t, filepath.Join(b.corpus, "handbook", page+".md"), text)
}

func (b *handbook) remove(t *testing.T, page string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.corpus, "handbook", page+".md")); err != nil {
		t.Fatal(err)
	}
}

// restart has the server read its corpus again.
func (b *handbook) restart(t *testing.T) {
	t.Helper()
	if b.running != nil {
		b.running.stop(t, syscall.SIGTERM)
	}
	b.running = start(t, b.corpus, environment(t), b.program, "-listen", b.address, "-corpus", b.corpus)
	b.running.await(t, "listening")
}

// knows is a configuration with the handbook as it is to be asked.
func (b *handbook) knows(query, more string) string {
	return fmt.Sprintf(`
components:
  handbook:
    kind: knowledge_base
    url: http://%s
    retrieve: {tool: search, arguments: {query: %s}, chunks: $.results, ids: "$.results[*].id", expect_ids: [passwords.length], version: $.content_version, count: $.count, fallback: $.fallback}
%s
slots: {lookup: {primary: handbook}}
runs: {nightly: {slots: {lookup: required}}}
`, b.address, query, more)
}

// asked probes the component handbook of a configuration with the real binary.
func asked(t *testing.T, folder string, env []string, configuration string) *registry.KnowledgeBaseResult {
	t.Helper()
	configure(t, folder, configuration)
	probed := run(t, folder, env, binary(), "probe", "--json", "handbook")
	var result registry.KnowledgeBaseResult
	if err := json.Unmarshal([]byte(probed.stdout), &result); err != nil {
		t.Fatalf("%v\n%s%s", err, probed.stdout, probed.stderr)
	}
	if (probed.code == 0) != result.Passed() || probed.code > 1 {
		t.Errorf("exit code %d beside\n%s", probed.code, probed.stdout)
	}
	return &result
}

// TestKnowledgeBase_isProvenByARealIndex asks a real index for what it holds, in
// each way in which it can lack something. Every gate of the server holds all the
// time.
func TestKnowledgeBase_isProvenByARealIndex(t *testing.T) {
	t.Parallel()
	book, folder, env := startHandbook(t), t.TempDir(), environment(t)
	good := asked(t, folder, env, book.knows("password policy", ""))
	version := good.Retrieve.Version
	if !good.Passed() || good.Retrieve.Chunks != 1 || !strings.HasPrefix(version, "sha256:") {
		t.Fatalf("got %+v, %s", good.Retrieve, good.Error())
	}
	pinned := `    pinned_version: "` + version + `"`
	if got := asked(t, folder, env, book.knows("password policy", pinned)); !got.Passed() {
		t.Errorf("at its own version: %s", got.Error())
	}
	plain := book.knows("password policy", "")
	fallback := strings.Replace(strings.Replace(book.knows("zebra", ""), " count: $.count,", "", 1), "passwords.length", "passwords.reuse", 1)
	if got := asked(t, folder, env, fallback); !got.Passed() || !got.Summary().Degraded {
		t.Errorf("a fallback that states itself: %+v", got.Summary())
	}
	for name, row := range map[string]struct {
		configuration string
		want          registry.Cause
	}{
		"a fallback that counts zero": {book.knows("zebra", ""), registry.Empty},
		"an expected chunk is absent": {strings.Replace(plain, "[passwords.length]", "[passwords.length, passwords.age]", 1), registry.MissingChunk},
		"the collection is missing":   {strings.Replace(plain, "policy", "policy, collection: atlas", 1), registry.Missing},
		"another version is pinned":   {book.knows("password policy", `    pinned_version: "sha256:0"`), registry.WrongVersion},
		"the tool is missing":         {strings.Replace(plain, "tool: search", "tool: seek", 1), registry.MissingTool},
	} {
		got := asked(t, folder, env, row.configuration)
		if got.Passed() || !got.Gates.Passed() || got.Retrieve.Cause != row.want {
			t.Errorf("%s: got %s, want %s with all gates", name, got.Error(), row.want)
		}
	}

	book.write(t, "passwords", "# Passwords\n\n## Length\n\nThe password policy wants twenty characters.\n")
	book.restart(t)
	if got := asked(t, folder, env, book.knows("password policy", pinned)); got.Retrieve.Cause != registry.WrongVersion {
		t.Errorf("after a change of the corpus: %s", got.Error())
	}
	book.write(t, "passwords", "")
	book.restart(t)
	if got := asked(t, folder, env, plain); got.Retrieve.Cause != registry.Empty || !got.Gates.Passed() {
		t.Errorf("with an empty corpus: %s", got.Error())
	}
	book.running.kill()
	if got := asked(t, folder, env, plain); got.Retrieve.Cause != registry.Refused {
		t.Errorf("without a server: %s", got.Error())
	}
}

// TestPreflight_holdsTheContentVersionOfAKnowledgeBase checks a ticket before and
// after the corpus changes during the run.
func TestPreflight_holdsTheContentVersionOfAKnowledgeBase(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book, folder, env, database := startHandbook(t), t.TempDir(), environment(t), open(t)
			configure(t, folder, book.knows("password policy", ""))
			says := func(code int, want string, arguments ...string) {
				t.Helper()
				got := run(t, folder, env, append([]string{binary(), "preflight", "--db", database}, arguments...)...)
				if got.code != code || !strings.Contains(got.stdout, want) {
					t.Errorf("%v: exit code %d, want %d with %q\n%s%s", arguments, got.code, code, want, got.stdout, got.stderr)
				}
			}
			says(0, "may start", "nightly", "--ticket", "nightly.ticket")
			ticket, err := os.ReadFile(filepath.Join(folder, "nightly.ticket"))
			if err != nil || !strings.Contains(string(ticket), `"content_version":"sha256:`) {
				t.Errorf("%v: %s", err, ticket)
			}
			says(0, "the ticket holds", "--check", "nightly.ticket")
			book.write(t, "laptops", "# Laptops\n\n## Lost\n\nIt is reported.\n")
			book.restart(t)
			says(1, "content_version changed", "--check", "nightly.ticket")
			book.write(t, "passwords", "")
			book.restart(t)
			says(1, "nothing healthy behind lookup", "nightly")
		})
	}
}

// TestKnowledgeBase_isProvenByARealDocumentationServer asks a server from npm that
// answers with one text in Markdown and states no version: behind front, and
// started for the probe, where the retrieval is what g2 asks.
func TestKnowledgeBase_isProvenByARealDocumentationServer(t *testing.T) {
	t.Parallel()
	folder, env := t.TempDir(), environment(t)
	argv := []string{node(t), nodePackage(t, "@workos/mcp-docs-server/dist/index.js")}
	_, url := frontOf(t, nil, nil, argv...)
	command, err := json.Marshal(argv)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"url: " + url, "command: " + string(command)} {
		configuration := func(query string) string {
			return fmt.Sprintf("components:\n  handbook:\n    kind: knowledge_base\n    %s\n    timeout: 60s\n    retrieve: {tool: workos_search, arguments: {query: %s}, chunks: $.content}\n", where, query)
		}
		if got := asked(t, folder, env, configuration("directory sync")); !got.Passed() || got.Retrieve.Chunks != 1 || got.Retrieve.Version != "" {
			t.Errorf("%s: got %+v, %s", where, got.Retrieve, got.Error())
		}
		if got := asked(t, folder, env, configuration("zzqqxxyyjj")); got.Passed() || got.Retrieve.Cause != registry.Empty || !got.Gates.ListTools.OK {
			t.Errorf("%s: what nobody knows gives %s", where, got.Error())
		}
	}
}

func TestBinary_doesNotLinkTheIndexOfTheExample(t *testing.T) {
	t.Parallel()
	linked := run(t, ".", os.Environ(), "go", "version", "-m", binary())
	if linked.code != 0 || !strings.Contains(linked.stdout, "modernc.org/sqlite") || strings.Contains(linked.stdout, "blevesearch") {
		t.Errorf("exit code %d\n%s%s", linked.code, linked.stdout, linked.stderr)
	}
}
