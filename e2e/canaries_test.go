//go:build unix

package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// secretMark stands where a secret was.
const secretMark = "[secret]"

// TestSecrets_areFoundNowhere gives each kind of component every credential that it
// can have, and has servers, providers and registries give them back in whatever
// they answer. Then it looks for them in all that was printed, logged, stored and
// served.
func TestSecrets_areFoundNowhere(t *testing.T) {
	t.Parallel()
	s := newCanaryScene(t)
	plain := echoForms()["plain"]
	s.form.Store(&plain)
	database := sqlite(t)
	configure(t, s.folder, s.yaml(t, ""))
	serve := start(t, s.folder, s.env, binary(), "serve", "--db", database, "--listen", "127.0.0.1:0", "--log-format", "json")
	address := serve.await(t, servedAt.String())[1]
	session := registryOver(t, &mcp.StreamableClientTransport{Endpoint: address + "/mcp/registry"})

	for name, form := range echoForms() {
		for _, works := range []bool{false, true} {
			s.form.Store(&form)
			s.works.Store(works)
			s.round(t, session, fmt.Sprintf("%s, works %t", name, works), database, !works)
		}
	}
	s.ask(t, database, address)
	s.reject(t, serve, address)
	if code := serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	log, _ := serve.output.read()
	s.heard("the log of serve", log)
	s.heardFiles(t, database+"*")
	s.askOnPostgres(t)
	s.askForKeysOfAWS(t)

	for _, leak := range s.leaks() {
		t.Errorf("a secret leaks: %s", leak)
	}
	s.wasHeard(t)
}

// registryOver opens a session with the tools of the registry.
func registryOver(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "canaries", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// called calls a tool of the registry, and returns its text.
func (s *canaryScene) called(t *testing.T, session *mcp.ClientSession, who, tool string, arguments map[string]any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	must(t, err)
	whole, err := json.Marshal(result)
	must(t, err)
	s.heard(tool+" "+who, string(whole))
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || result.IsError {
		t.Fatalf("%s of %v: %s", tool, arguments, whole)
	}
	return text.Text
}

// round probes each component while the doubles answer in one way, and waits until
// the patrol has done so too.
func (s *canaryScene) round(t *testing.T, session *mcp.ClientSession, when, database string, broken bool) {
	t.Helper()
	before := map[string]string{}
	var workers sync.WaitGroup
	var mu sync.Mutex
	names := make(chan string)
	for range 4 {
		workers.Go(func() {
			for name := range names {
				if broken {
					s.probe(t, name, when, database)
				}
				var reading registry.Reading
				probed := s.called(t, session, name+", "+when, "probe_component", map[string]any{"name": name})
				if err := json.Unmarshal([]byte(probed), &reading); err != nil || reading.ResultID == nil {
					t.Errorf("%s: %v: %s", name, err, probed)
					continue
				}
				mu.Lock()
				before[name] = *reading.ResultID
				mu.Unlock()
			}
		})
	}
	for _, name := range s.names {
		names <- name
	}
	close(names)
	workers.Wait()
	eventually(t, "the patrol makes no round", func() bool {
		var page registry.ComponentPage
		listed := s.called(t, session, when, "list_components", map[string]any{"limit": 100})
		must(t, json.Unmarshal([]byte(listed), &page))
		return len(page.Components) == len(s.names) && !slices.ContainsFunc(page.Components, func(r registry.Reading) bool {
			return r.ResultID == nil || *r.ResultID == before[r.Name]
		})
	})
}

// probe runs the command, with a transcript where it has one.
func (s *canaryScene) probe(t *testing.T, name, when, database string) {
	t.Helper()
	command := []string{"probe", name, "--db", database}
	if s.components[name]["kind"] == "mcp_server" {
		command = append(command, "--explain")
	}
	for _, flags := range [][]string{{}, {"--json"}} {
		got := run(t, s.folder, s.env, slices.Concat([]string{binary()}, flags, command)...)
		if got.code > 1 {
			t.Errorf("probe %s: exit code %d\n%s%s", name, got.code, got.stdout, got.stderr)
		}
		s.heard("probe "+name+", "+when, got.stdout, got.stderr)
	}
}

// ask asks everything that can be asked of what is on record.
func (s *canaryScene) ask(t *testing.T, database, address string) {
	t.Helper()
	commands := [][]string{
		{"component", "list"},
		{"config", "check"},
		{"preflight", "strict"},
		{"preflight", "lenient", "--ticket", "lenient.ticket"},
		{"preflight", "--check", "lenient.ticket"},
		{"component", "accept", "mcp_server-bearer"},
	}
	for _, name := range s.names {
		commands = append(commands, []string{"component", "show", name})
	}
	for _, command := range commands {
		who := strings.Join(command, " ")
		if command[0] != "config" {
			command = append(command, "--db", database)
		}
		for _, flags := range [][]string{{}, {"--json"}} {
			got := run(t, s.folder, s.env, slices.Concat([]string{binary()}, flags, command)...)
			if got.code > 1 {
				t.Errorf("%s: exit code %d\n%s", who, got.code, got.stderr)
			}
			s.heard(who, got.stdout, got.stderr)
		}
	}
	s.heardFiles(t, filepath.Join(s.folder, "lenient.ticket"))
	stdio := exec.Command(binary(), "mcp", "--registry", "--db", database)
	stdio.Dir, stdio.Env = s.folder, s.env
	session := registryOver(t, &mcp.CommandTransport{Command: stdio})
	s.called(t, session, "over stdio", "preflight", map[string]any{"run": "lenient"})
	for _, name := range s.names {
		s.called(t, session, name, "get_component", map[string]any{"name": name})
	}
	s.fetch(t, address)
}

// fetch reads the pages of the server.
func (s *canaryScene) fetch(t *testing.T, address string) {
	t.Helper()
	paths := []string{"/", "/metrics", "/healthz", "/test", "/components", "/runs", "/runs/lenient", "/connect", "/api/v1/components", "/api/v1/runs/lenient"}
	for _, name := range s.names {
		paths = append(paths, "/components/"+name, "/api/v1/components/"+name)
	}
	for _, path := range paths {
		answer, err := http.Get(address + path)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		must(t, answer.Body.Close())
		if answer.StatusCode == http.StatusNotFound {
			t.Errorf("there is nothing at %s", path)
		}
		s.heard("the page "+path, fmt.Sprint(answer.Header), string(body))
	}
}

// inTheOpen is a file with secrets where references belong; each @ is one.
const inTheOpen = `
db: postgres://us:@@127.0.0.1/x
components:
  a: {kind: mcp_server, url: "http://us:@@127.0.0.1:1"}
  b: {kind: mcp_server, url: "http://127.0.0.1:1", credentials: {bearer: "@"}}
  c:
    kind: knowledge_base
    url: http://127.0.0.1:1
    retrieve: {tool: search, chunks: $.results}
    credentials:
      headers:
        X-Api-Key: "@"
      token: "@"
  d: {kind: mcp_server, url: "http://127.0.0.1:1", credentials: {oauth: {issuer: "http://127.0.0.1:1", client_id: us, client_secret: "@"}}}
  e: {kind: model, provider: openai, model: adder-1, credentials: {api_key: "@"}}
  f: {kind: model, provider: openai, model: adder-1, base_url: "http://127.0.0.1:1/v1?key=@"}
  g: {kind: model, provider: bedrock, region: eu-central-1, model: adder-1, credentials: {access_key_id: "@", secret_access_key: "@", session_token: "@"}}
  h:
    kind: harness
    image: localhost/a@sha256:0000000000000000000000000000000000000000000000000000000000000000
    credentials:
      username: us
      password: "@"
  i: {kind: harness, image: "localhost/a@sha256:0000000000000000000000000000000000000000000000000000000000000000", credentials: {bearer: "@"}}
  j: {kind: mcp_server, url: "http://127.0.0.1:1", credentials: {client_cert: file:tls.pem, client_key: "@"}}
`

// reject has the server read a file with secrets in the open, and shows that file
// to other commands.
func (s *canaryScene) reject(t *testing.T, serve *process, address string) {
	t.Helper()
	text := inTheOpen
	text = strings.ReplaceAll(text, "us:@@", "us:@ at ")
	for i := 0; strings.Contains(text, "@") && i < 40; i++ {
		before, after, _ := strings.Cut(text, "@")
		if strings.HasSuffix(before, "/a") { // of an image
			text = before + "\x00" + after
			continue
		}
		text = before + url.QueryEscape(s.plant(fmt.Sprint("in-the-open-", i))) + after
	}
	text = strings.NewReplacer(" at ", "@", "\x00", "@").Replace(text)
	configure(t, s.folder, text)
	hangUp(t, serve)
	serve.await(t, `"the configuration was rejected; the one before goes on"`)
	s.fetch(t, address)
	for _, command := range [][]string{{"config", "check"}, {"--json", "config", "check"}, {"probe", "a"}, {"component", "list"}, {"preflight", "lenient"}} {
		got := run(t, s.folder, s.env, append([]string{binary()}, command...)...)
		if got.code == 0 {
			t.Errorf("%v: exit code 0 with secrets in the open", command)
		}
		s.heard(strings.Join(command, " ")+" of a file with secrets in the open", got.stdout, got.stderr)
	}
}

// askOnPostgres probes once more on a database whose address holds a password, and
// reads every column of every table.
func (s *canaryScene) askOnPostgres(t *testing.T) {
	t.Helper()
	location := databases()["postgres"](t)
	password := url.QueryEscape(s.plant("database-password"))
	env := append(slices.Clone(s.env), "DATABASE="+strings.Replace(location, "postgres://", "postgres://postgres:"+password+"@", 1))
	configure(t, s.folder, s.yaml(t, "db: env:DATABASE\n"))
	for _, form := range echoForms() {
		s.form.Store(&form)
		for _, works := range []bool{false, true} {
			s.works.Store(works)
			got := run(t, s.folder, env, binary(), "--json", "preflight", "lenient")
			if got.code != 0 {
				t.Errorf("on PostgreSQL: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			s.heard("preflight on PostgreSQL", got.stdout, got.stderr)
		}
	}
	for _, missing := range []string{"DATABASE=postgres://us:" + password + "@127.0.0.1:1/x", "DATABASE=postgres://us:" + password + "@[::1/x"} {
		got := run(t, s.folder, append(slices.Clone(env), missing), binary(), "component", "list")
		if got.code != 2 {
			t.Errorf("without a database: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		s.heard("a database that is not there", got.stdout, got.stderr)
	}
	s.dump(t, location)
}

// askForKeysOfAWS has the default chain find what a program prints and what files
// hold, in order and out of order.
func (s *canaryScene) askForKeysOfAWS(t *testing.T) {
	t.Helper()
	process, stored := s.plant("aws-process"), s.plant("aws-file")
	keys := fmt.Sprintf(`{"Version":1,"AccessKeyId":%[1]q,"SecretAccessKey":%[1]q,"SessionToken":%[1]q}`, process)
	file := filepath.Join(s.folder, "aws.config")
	env := slices.DeleteFunc(slices.Clone(s.env), func(each string) bool { return strings.HasPrefix(each, "AWS_") })
	env = append(env, "AWS_CONFIG_FILE="+file, "AWS_SHARED_CREDENTIALS_FILE="+file+".none", "AWS_EC2_METADATA_DISABLED=true")
	address := listenAs(t, http.HandlerFunc(s.of("aws").model))
	s.sent["aws"] = []string{process, stored}
	configure(t, s.folder, fmt.Sprintf("components:\n  aws: {kind: model, provider: bedrock, region: eu-central-1, model: adder-1, base_url: %q}\n", address))
	for _, profile := range []string{
		"credential_process = echo '" + keys + "'",
		"credential_process = echo 'warning: old'; echo '" + keys + "'",
		"credential_process = echo '" + strings.Replace(keys, "1", process, 1) + "'",
		"credential_process = echo '" + keys + "'; exit 3",
		"aws_access_key_id = " + stored + "\naws_secret_access_key = " + stored,
		"aws_access_key_id = " + stored + "\naws_secret_access_key " + stored,
		"aws_access_key_id = " + stored + "\n[" + stored,
		"aws_access_key_id = " + stored + "\nregion = x\n" + stored + " = x\nsso_session = " + stored,
	} {
		writeFile(t, file, "[default]\n"+profile+"\n")
		got := run(t, s.folder, env, binary(), "--json", "probe", "aws", "--db", sqlite(t))
		if got.code > 1 {
			t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		s.heard("keys of AWS", got.stdout, got.stderr)
	}
}

// dump reads a database of PostgreSQL.
func (s *canaryScene) dump(t *testing.T, location string) {
	t.Helper()
	database, err := sql.Open("pgx", location)
	must(t, err)
	defer database.Close()
	column := func(statement string) []string {
		rows, err := database.QueryContext(t.Context(), statement)
		must(t, err)
		defer rows.Close()
		var texts []string
		for rows.Next() {
			var text string
			must(t, rows.Scan(&text))
			texts = append(texts, text)
		}
		must(t, rows.Err())
		return texts
	}
	tables := column("SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')")
	for _, table := range tables {
		rows := column("SELECT row::text FROM " + table + " AS row")
		s.heard("the table "+table, rows...)
	}
	if len(tables) < 5 {
		t.Errorf("there are only the tables %v", tables)
	}
}

// wasHeard makes sure that the search was not in vain: the doubles were sent the
// secrets, and where they gave them back something else stands.
func (s *canaryScene) wasHeard(t *testing.T) {
	t.Helper()
	for name, secrets := range s.sent {
		for _, secret := range secrets {
			if !s.received(name, secret) {
				t.Errorf("the double of %s was not sent its secret", name)
			}
		}
	}
	marked := map[string]bool{}
	for who, text := range s.said {
		marked[strings.Fields(who)[0]] = marked[strings.Fields(who)[0]] || strings.Contains(text, secretMark)
	}
	for _, who := range []string{"probe", "probe_component", "get_component", "component", "preflight"} {
		if !marked[who] {
			t.Errorf("nothing was hidden from %s", who)
		}
	}
	for _, who := range []string{"the log of serve", "the file tasks.db", "the page /", "the file lenient.ticket", "preflight on PostgreSQL", "the table public.results"} {
		if !strings.Contains(s.said[who], secretMark) {
			t.Errorf("nothing was hidden from %s", who)
		}
	}
	if !strings.Contains(s.said["the page /metrics"], `"bedrock-by-its-chain"`) {
		t.Error("the metrics do not tell of the components")
	}
}
