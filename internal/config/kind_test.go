package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// gadget is the keys of a kind that only tests know. It stands for the kinds to
// come: one file and one row in the table.
type gadget struct {
	Wheels      int               `yaml:"wheels"`
	Timetable   string            `yaml:"timetable"`
	Credentials gadgetCredentials `yaml:"credentials"`
}

type gadgetCredentials struct {
	APIKey secretText `yaml:"api_key"`
}

func (g *gadget) spec(c *checker, p path) registry.Spec {
	c.required(p, "wheels")
	return gadgetSpec{wheels: c.number(p.child("wheels"), g.Wheels, 8), key: c.secret(p.child("credentials/api_key"), g.Credentials.APIKey)}
}

type gadgetSpec struct {
	wheels int
	key    registry.Secret
}

func (gadgetSpec) Kind() registry.Kind          { return "gadget" }
func (s gadgetSpec) Secrets() []registry.Secret { return []registry.Secret{s.key} }
func (gadgetSpec) Host() string                 { return "" }

func withGadget() kinds {
	return append(knownKinds(), kind{
		"gadget", func() ownKeys { return new(gadget) },
		func(r *reviewer, p path, component *registry.Component) []Problem {
			if spec, ok := component.Spec.(gadgetSpec); ok && spec.wheels == 1 {
				return []Problem{r.doubt(p.child("wheels"), "it will topple", "Add a wheel.")}
			}
			return nil
		},
		func(registry.Spec) Shown { return Shown{} },
	})
}

// briefly gives of each problem its place, its message and its hint.
func briefly(problems []Problem) []string {
	var brief []string
	for _, each := range problems {
		brief = append(brief, strings.TrimPrefix(each.Error(), "file.yaml:")+" / "+each.Hint)
	}
	return brief
}

func TestParse_readsTheKeysOfEachKind(t *testing.T) {
	t.Parallel()
	loaded, invalid := parseWith(withGadget(), "file.yaml", "/srv", `
components:
  bike: {kind: gadget, wheels: 2, interval: 5m, credentials: {api_key: env:KEY}}
  uni: {kind: gadget, wheels: 1}
  asm: {kind: mcp_server, url: http://127.0.0.1:8080}
slots:
  ride: {primary: uni, fallbacks: [bike]}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	want := gadgetSpec{wheels: 2, key: registry.SecretAt("env:KEY")}
	if got := loaded.Components[0]; got.Spec != want || got.Kind() != "gadget" || got.Interval.Minutes() != 5 {
		t.Errorf("got %+v", got)
	}
	warnings := briefly(loaded.Warnings(Resolver{Lookup: func(string) (string, bool) { return "x", true }}))
	if diff := cmp.Diff([]string{"4:31: it will topple / Add a wheel."}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestParse_tellsTheKeysOfOneKindFromThoseOfAnother(t *testing.T) {
	t.Parallel()
	_, invalid := parseWith(withGadget(), "file.yaml", "/srv", `
components:
  a: {kind: gadget, whels: 2, url: http://127.0.0.1:8080, api_key: correct-horse}
  b: {kind: mcp_server, url: http://127.0.0.1:8080, wheels: 2, intervall: 30s}
  c: {wheels: 9, timetable: x, oddity: y}
  d: {kind: gadgets, wheels: 0, oddity: y}
  e: {kind: lorry, url: http://127.0.0.1:8080, wheels: 2}
  f: {kind: knowledge_base, wheels: 2, url: http://127.0.0.1:8080, retrieve: {tool: s, chunks: $.r}}
  g: {kind: gadget, wheels: 2, nothing: x}
slots:
  mixed: {primary: g, fallbacks: [b, f, a]}
`)
	if invalid == nil {
		t.Fatal("this is called valid")
	}
	want := []string{
		`3:3: wheels is missing / Add the key wheels.`,
		`3:21: the kind gadget has no key "whels" / Did you mean wheels?`,
		`3:31: the kind gadget has no key "url" / It is a key of the kind mcp_server.`,
		`3:59: the kind gadget has no key "api_key" / It belongs below credentials.`,
		`4:53: the kind mcp_server has no key "wheels" / It is a key of the kind gadget.`,
		`4:64: the kind mcp_server has no key "intervall" / Did you mean interval?`,
		`5:3: kind is missing / Add the line kind: gadget.`,
		`5:15: 9 is not between 1 and 8 / Write a number in between.`,
		`5:32: unknown key "oddity" / The keys here are kind, timeout, interval, ttl, probing_deadline, rise, fall, wheels, timetable, credentials.`,
		`6:13: there is no kind "gadgets" / Did you mean gadget?`,
		`6:30: 0 is not between 1 and 8 / Write a number in between.`,
		`6:33: unknown key "oddity" / The keys here are kind, timeout, interval, ttl, probing_deadline, rise, fall, wheels, timetable, credentials.`,
		`7:13: there is no kind "lorry" / This version knows ` + withGadget().String() + `.`,
		`7:48: unknown key "wheels" / It is a key of the kind gadget.`,
		`8:29: the kind knowledge_base has no key "wheels" / It is a key of the kind gadget.`,
		`9:32: the kind gadget has no key "nothing" / The keys here are kind, timeout, interval, ttl, probing_deadline, rise, fall, wheels, timetable, credentials.`,
		`11:35: b is of the kind mcp_server, and what stands before it is of the kind gadget / Name components of one kind.`,
		`11:38: f is of the kind knowledge_base, and what stands before it is of the kind gadget / Name components of one kind.`,
	}
	if diff := cmp.Diff(want, briefly(invalid.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestShow_tellsWhereAComponentIsWithoutWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	for want, spec := range map[Shown]registry.Spec{
		{registry.ThreeGates, "http://127.0.0.1/"}: &registry.MCPServer{Profile: registry.ThreeGates, URL: "http://127.0.0.1/?key=k"},
		{registry.Protocol, "server …"}:            &registry.MCPServer{Profile: registry.Protocol, Command: []string{"server", "--key", "k"}},
		{registry.Protocol, "server"}:              &registry.MCPServer{Profile: registry.Protocol, Command: []string{"server"}},
		{registry.Protocol, "/usr/bin/node one.js …"}: &registry.MCPServer{
			Profile: registry.Protocol, Command: []string{"/usr/bin/node", "one.js", "k", "k"},
		},
		{registry.Protocol, "npx -y @scope/server /dev/null …"}: &registry.MCPServer{
			Profile: registry.Protocol, Command: []string{"npx", "-y", "@scope/server", "/dev/null", "/dev/none", "k"},
		},
		{registry.Protocol, "sh …"}:        &registry.MCPServer{Profile: registry.Protocol, Command: []string{"sh", "-c", "server --key k"}},
		{registry.Protocol, "sh run.sh …"}: &registry.MCPServer{Profile: registry.Protocol, Command: []string{"sh", "run.sh", "k"}},
		{registry.Protocol, "node …"}:      &registry.MCPServer{Profile: registry.Protocol, Command: []string{"node", "--token", "k"}},
		{registry.Protocol, "node … /dev"}: &registry.MCPServer{Profile: registry.Protocol, Command: []string{"node", "--token=k", "/dev"}},
		{}:                                 gadgetSpec{},
	} {
		if got := Show(&registry.Component{Spec: spec}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
