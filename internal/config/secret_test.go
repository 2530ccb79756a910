package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
)

// secretPlaces has a secret in the open, marked §, in every place where one can
// stand, beside what else is wrong there.
const secretPlaces = `
db: postgres://gate:§@127.0.0.1/gate
§: 1
components:
  a:
    kind: mcp_server
    url: http://gate:§@127.0.0.1:8080
    mcp_url: "http://§@127.0.0.1/"
    url_: x
    timeout: 5
    bearer: §
    credentials:
      bearer: "§"
      headers: {X-A: '§', X-B: [§], X-C: {k: §}, §}
      oauth: {client_secret: §, issuer: http://u:§@h, client_id: {§: §}, password: §}
      client_key: >-
        §
        §
      client_cert: |
        §
      § §: x
  b: {kind: mcp_server, command: [§, §, 5], env: {A: §, B: 7, C: [§]}, cwd: 5}
  c: {kind: mcp_server, url: x, credentials: {bearer: §, headers: {A: {B: §}}}, timeout: 1}
  e: {kind: mcp_server, url: http://127.0.0.1/?key=§, mcp_url: "http://127.0.0.1/?§&k=§", timeout: 1}
  d: {kind: model, credentials: {api_key: §}, api_key: §, kind: §}
alerts:
  public_url: http://u:§@h
  webhooks:
    - {url: "https://hooks.example/services/§-and-more", secret: §, headers: {Authorization: §, X-A: {k: §}}, token: §}
    - url: https://hooks.example/services/§-and-more
      secret: "§"
      name: 5
  alertmanagers: [{url: "http://u:§@h", bearer: §, username: §, password: §, headers: {§}}]
`

func TestCheck_noSecretIsEverRepeated(t *testing.T) {
	t.Parallel()
	const secret = "Tr0ub4dor-and-3"
	texts := []string{strings.ReplaceAll(secretPlaces, "§", secret)}
	lines := strings.Split(texts[0], "\n")
	for i := range lines { // with a line lost, an indentation wrong, a quote too many
		var broken []string
		broken = append(append(broken, lines[:i]...), lines[i+1:]...)
		texts = append(texts, strings.Join(broken, "\n"))
		for _, prefix := range []string{" ", "\t", `"`, "[", "}", "- ", "&", "*", "!", "|", "? "} {
			broken = append([]string(nil), lines...)
			broken[i] = prefix + broken[i]
			texts = append(texts, strings.Join(broken, "\n"))
			broken[i] = lines[i] + prefix
			texts = append(texts, strings.Join(broken, "\n"))
			broken[i] = strings.Replace(lines[i], secret, prefix+secret, 1)
			texts = append(texts, strings.Join(broken, "\n"))
		}
	}
	for _, text := range texts {
		_, invalid := parse("file.yaml", "/srv", text)
		if invalid == nil {
			t.Fatalf("this is called valid:\n%s", text)
		}
		if got := fmt.Sprintf("%v %+v", invalid, invalid.fault()); strings.Contains(got, "Tr0ub4dor") {
			at := strings.Index(got, "Tr0ub4dor")
			t.Fatalf("a secret is repeated: %s\nof the text:\n%s", got[max(0, at-300):min(len(got), at+100)], text)
		}
	}
}

func TestResolve_readsAnewEachTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	env := map[string]string{"EMPTY": ""}
	resolver := Resolver{Lookup: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}
	for _, value := range []string{"first", "second\n", "third \r\n", "fourth\n\n"} {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		env["TOKEN"] = value
		want := map[string]string{"second\n": "second", "third \r\n": "third ", "fourth\n\n": "fourth\n"}[value]
		if want == "" {
			want = value
		}
		if got, err := resolver.Resolve("file:" + file); got != want || err != nil {
			t.Errorf("file with %q: got %q, %v", value, got, err)
		}
		if got, err := resolver.Resolve("env:TOKEN"); got != value || err != nil {
			t.Errorf("variable with %q: got %q, %v", value, got, err)
		}
	}
}

func TestResolve_saysWhyASecretCannotBeHad(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(name, content string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + file
	}
	resolver := Resolver{Lookup: func(name string) (string, bool) { return "", name == "EMPTY" }}
	for _, each := range []struct {
		reference, want string
		code            fault.Code
	}{
		{"env:UNSET", "the environment variable is not set", fault.Unavailable},
		{"env:EMPTY", "it is empty", fault.Unavailable},
		{put("empty", "\n"), "it is empty", fault.Unavailable},
		{put("large", strings.Repeat("x", MaxSecretBytes+1)), "it has more than 1048576 bytes", fault.Unavailable},
		{"file:" + filepath.Join(folder, "absent"), "no such file or directory", fault.Unavailable},
		{"file:" + folder, "it is not a regular file", fault.Unavailable},
		{"hunter2", "this is no reference to a secret", fault.InvalidArgument},
	} {
		value, err := resolver.Resolve(each.reference)
		if value != "" || !errors.Is(err, each.code) || !strings.Contains(fmt.Sprint(err), each.want) {
			t.Errorf("%s: got %q, %v; want %s: %s", each.reference, value, err, each.code, each.want)
		}
		if strings.Contains(fmt.Sprint(err), "hunter2") || strings.Contains(fmt.Sprint(err), "xxx") {
			t.Errorf("the fault repeats the secret: %v", err)
		}
	}
}

func TestWarnings_tellWhatIsValidAndYetLikelyToFail(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"open": 0o644, "closed": 0o600, "cert": 0o644} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte("s"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	loaded, invalid := parse("file.yaml", folder, `
components:
  clear: {kind: mcp_server, url: http://tools.example.org, mcp_url: http://127.0.0.1/mcp, credentials: {bearer: file:open}}
  sound: {kind: mcp_server, url: https://tools.example.org, credentials: {client_cert: file:cert, client_key: file:closed}}
  unset: {kind: mcp_server, url: http://localhost, credentials: {bearer: env:UNSET}}
  bare: {kind: mcp_server, command: [server]}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	var got []string
	for _, warning := range loaded.Warnings(Resolver{Lookup: func(string) (string, bool) { return "", false }}) {
		got = append(got, strings.ReplaceAll(warning.Error(), folder, "DIR"))
		if warning.Excerpt == "" || warning.Hint == "" {
			t.Errorf("a warning without its line or a hint: %+v", warning)
		}
	}
	want := []string{
		"file.yaml:3:34: the credentials are sent there in the clear",
		"file.yaml:3:113: every user of this machine can read DIR/open",
		"file.yaml:5:74: the secret at env:UNSET cannot be had: the environment variable is not set",
		"file.yaml:6:3: there is no canary, so the gate test will fail with not_configured",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
