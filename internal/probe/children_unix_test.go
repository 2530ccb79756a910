//go:build unix

package probe_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// behaviour is the variable that makes the test binary a server of a test.
const behaviour = "COUNTERSIGN_TEST_SERVER"

func TestMain(m *testing.M) {
	if child, ok := children()[os.Getenv(behaviour)]; ok {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// lines is an MCP server over its standard streams, of the legacy era: for each
// method, the line that is written instead of the good answer, with %s for the
// id. A line may hold several; an empty one is silence.
type lines map[string]string

// exits is written instead of an answer by a server that ends.
const exits = "\x00"

func (l lines) serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal([]byte(line), &message)
		answer, told := l[message.Method]
		if !told {
			answer = l.good(message.Method)
		}
		if answer == exits {
			fmt.Fprintln(os.Stderr, "panicked at "+message.Method)
			os.Exit(3)
		}
		if answer = strings.ReplaceAll(answer, "%s", string(message.ID)); answer != "" {
			fmt.Fprintln(os.Stdout, answer)
		}
	}
}

func (lines) good(method string) string {
	switch method {
	case "initialize":
		return line(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"double","version":"1"}}`)
	case "tools/list":
		return line(`{"tools":[{"name":"noop","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
	case "tools/call":
		return line(`{"content":[{"type":"text","text":"yes"}]}`)
	case "server/discover":
		return lineError(-32601, "")
	}
	return ""
}

func line(result string) string { return `{"jsonrpc":"2.0","id":%s,"result":` + result + `}` }

func lineError(code int, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%%s,"error":{"code":%d,"message":"no"%s}}`, code, more)
}

// children are the behaviours of a server, by name.
func children() map[string]func() {
	modern := lines{
		"initialize":      lineError(-32022, `,"data":{"supported":["2026-07-28"],"requested":"x"}`),
		"server/discover": line(`{"supportedVersions":["2026-07-28"],"resultType":"complete"}`),
	}
	served := map[string]lines{
		"good":                       {},
		"dies of discover":           {"server/discover": exits},
		"dies of initialize":         {"initialize": exits},
		"dies of the list":           {"tools/list": exits},
		"dies of the call":           {"tools/call": exits},
		"answers notifications":      {"notifications/initialized": `{"jsonrpc":"2.0","result":null}`},
		"complains of notifications": {"notifications/initialized": `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`},
		"junk between":               {"tools/list": "listing...\n\n" + lines{}.good("tools/list")},
		"pings":                      {"tools/list": `{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n" + lines{}.good("tools/list")},
		"notifies":                   {"tools/list": `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n" + lines{}.good("tools/list")},
		"refuses initialize":         {"initialize": lineError(-32603, "")},
		"does not know initialize":   {"initialize": lineError(-32601, "")},
		"cannot read":                {"initialize": `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
		"gives no version":           {"initialize": line(`{}`)},
		"unknown version":            {"initialize": line(`{"protocolVersion":"1999-01-01"}`)},
		"wants the future":           {"initialize": lineError(-32022, `,"data":{"supported":["2099-01-01"]}`)},
		"fails the list":             {"tools/list": lineError(-32603, "")},
		"no tools":                   {"tools/list": line(`{"tools":[]}`)},
		"another id":                 {"tools/list": strings.ReplaceAll(lines{}.good("tools/list"), "%s", `"%s"`)},
		"silent at the list":         {"tools/list": ""},
		"a cursor for ever":          {"tools/list": line(`{"tools":[],"nextCursor":"a"}`)},
		"modern only":                modern,
		"modern, names no versions":  {"initialize": lineError(-32601, ""), "server/discover": modern["server/discover"]},
		"modern, dies of discover":   {"initialize": modern["initialize"], "server/discover": exits},
	}
	all := map[string]func(){
		"junk first": func() {
			fmt.Fprint(os.Stdout, "Server starting...\n\n[1]\n")
			lines{}.serve()
		},
		"silent": func() { fmt.Fprintln(os.Stderr, "waiting for the database"); _, _ = io.Copy(io.Discard, os.Stdin) },
		"fails":  func() { fmt.Fprintln(os.Stderr, "no API key"); os.Exit(1) },
		"chatters": func() {
			for {
				if _, err := fmt.Fprintln(os.Stdout, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		},
		"endless line": func() {
			for {
				if _, err := fmt.Fprint(os.Stdout, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		},
		"stubborn": func() { signal.Ignore(syscall.SIGTERM); lines{}.serve(); select {} },
		"with a grandchild": func() {
			grandchild := exec.Command(os.Args[0])
			grandchild.Env = append(os.Environ(), behaviour+"=stubborn")
			if err := grandchild.Start(); err != nil {
				panic(err)
			}
			lines{}.serve()
			os.Exit(0)
		},
		"of one era": func() { oneEra(modern) },
	}
	for name, each := range served {
		all[name] = each.serve
	}
	return all
}

// oneEra is a modern server that ends when it was spoken to in the legacy era
// and is then spoken to again.
func oneEra(modern lines) {
	refused := 0
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal([]byte(text), &message)
		if refused > 0 {
			os.Exit(4)
		}
		answer, told := modern[message.Method]
		if !told {
			answer = lines{}.good(message.Method)
		}
		if message.Method == "initialize" {
			refused++
		}
		fmt.Fprintln(os.Stdout, strings.ReplaceAll(answer, "%s", string(message.ID)))
	}
}
