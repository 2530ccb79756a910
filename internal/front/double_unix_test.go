//go:build unix

package front

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// behaviour is the variable that makes the test binary a child of a test.
const behaviour = "COUNTERSIGN_TEST_CHILD"

func TestMain(m *testing.M) {
	switch how := os.Getenv(behaviour); how {
	case "":
		os.Exit(m.Run())
	case "dies at once":
		fmt.Fprintln(os.Stderr, "no API key")
		os.Exit(3)
	case "silent":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	default:
		newDouble(how).serve()
	}
}

// double is a small server over stdio. It works on all calls at once and answers
// them in any order.
type double struct {
	how     string
	out     sync.Mutex
	mu      sync.Mutex
	ended   []string               // the reasons of cancellations
	waiting int                    // calls of the tool wait that have begun
	running map[string]chan string // calls under way, by id
	asked   map[string]chan string // own requests, by id
}

func newDouble(how string) *double {
	return &double{how: how, running: map[string]chan string{}, asked: map[string]chan string{}}
}

type doubleMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params doubleParams    `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type doubleParams struct {
	Name      string                     `json:"name"`
	URI       string                     `json:"uri"`
	Cursor    string                     `json:"cursor"`
	Version   string                     `json:"protocolVersion"`
	RequestID json.RawMessage            `json:"requestId"`
	Reason    string                     `json:"reason"`
	Arguments json.RawMessage            `json:"arguments"`
	Meta      map[string]json.RawMessage `json:"_meta"`
}

func (d *double) serve() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	var calls sync.WaitGroup
	for lines.Scan() {
		var message doubleMessage
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
			fmt.Fprintln(os.Stderr, "no JSON:", err)
			os.Exit(9)
		}
		switch {
		case message.Method == "":
			d.mu.Lock()
			waiting := d.asked[string(message.ID)]
			d.mu.Unlock()
			waiting <- string(message.Result) + string(message.Error)
		case message.ID == nil:
			d.notice(message)
		default:
			cancelled := make(chan string, 1)
			d.mu.Lock()
			d.running[string(message.ID)] = cancelled
			d.mu.Unlock()
			calls.Go(func() { d.handle(message, cancelled) })
		}
	}
}

func (d *double) notice(message doubleMessage) {
	if message.Method != "notifications/cancelled" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, message.Params.Reason)
	if running := d.running[string(message.Params.RequestID)]; running != nil {
		running <- message.Params.Reason
	}
}

func (d *double) say(format string, args ...any) {
	d.out.Lock()
	defer d.out.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func (d *double) handle(message doubleMessage, cancelled <-chan string) {
	id := string(message.ID)
	if d.how == "liar" {
		d.say("not JSON at all")
		d.say(`{"jsonrpc":"2.0","result":{}}`)
		d.say(`{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"a string for an id"}]}}`, id)
		d.say(`{"jsonrpc":"2.0","id":%s000,"result":{"content":[{"type":"text","text":"another id"}]}}`, id)
		d.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s000,"progress":1}}`, id)
		d.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":5}`)
		defer d.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a second answer"}]}}`, id)
	}
	result := d.result(message, cancelled)
	switch {
	case result == "":
	case strings.HasPrefix(result, "!"):
		d.say(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, result[1:])
	default:
		d.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
}

func (d *double) result(message doubleMessage, cancelled <-chan string) string {
	if d.how == "modern only" && string(message.Params.Meta[metaVersion]) != `"2026-07-28"` {
		return `!{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"]}}`
	}
	switch message.Method {
	case "server/discover":
		if d.how == "modern only" {
			return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"resultType":"complete",` +
				`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"double","version":"2.0.0"}}}`
		}
	case "initialize":
		switch {
		case d.how == "future only":
			return `!{"code":-32022,"message":"unsupported","data":{"supported":["2099-01-01"]}}`
		case d.how == "old" && message.Params.Version != "2024-11-05":
			return `!{"code":-32602,"message":"unsupported","data":{"supported":["2024-11-05","2023-01-01"],"requested":"x"}}`
		case d.how == "refuses":
			return `!{"code":-32603,"message":"the database is down"}`
		}
		return `{"protocolVersion":"` + message.Params.Version + `","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},` +
			`"prompts":{},"completions":{},"logging":{},"tasks":{}},"serverInfo":{"name":"double","version":"1.0.0","title":"A double"},"instructions":"Be kind."}`
	case "tools/list":
		if message.Params.Cursor == "" {
			return `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"novel":[1]}],"nextCursor":"2"}`
		}
		return `{"tools":[{"name":"erase","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":true}},` +
			`{"name":"plain","inputSchema":{"type":"object"}},{"name":"count","inputSchema":{"type":"object","properties":{` +
			`"region":{"type":"string","x-mcp-header":"Region"},"in":{"properties":{"deep":{"type":"integer","x-mcp-header":"Deep"},"sure":{"type":"boolean","x-mcp-header":"Sure"}}}}}}]}`
	case "tools/call":
		return d.call(message, cancelled)
	case "resources/read":
		if message.Params.URI != "double:it" {
			return `!{"code":-32002,"message":"not found","data":{"uri":"?"}}`
		}
		return `{"contents":[{"uri":"double:it","text":"it"}],"_meta":{"kept":9007199254740993}}`
	case "resources/list", "resources/templates/list", "prompts/list", "prompts/get", "completion/complete":
		return `{"method":"` + message.Method + `"}`
	}
	return `!{"code":-32601,"message":"method not found"}`
}

func (d *double) call(message doubleMessage, cancelled <-chan string) string {
	token := string(message.Params.Meta["progressToken"])
	switch message.Params.Name {
	case "echo": // the later the call, the sooner the answer
		<-time.After(time.Duration(7-len(message.ID)%7) * time.Millisecond)
		meta, _ := json.Marshal(message.Params.Meta)
		return `{"content":[{"type":"text","text":"ok"}],"structuredContent":` + string(message.Params.Arguments) +
			`,"unknown":{"n":9007199254740993},"_meta":{"seen":` + string(meta) + "}}"
	case "count":
		for i := range 5 {
			d.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":5,"message":%s}}`,
				token, i, message.Params.Arguments)
		}
		return `{"content":[],"structuredContent":` + string(message.Params.Arguments) + `}`
	case "wait":
		d.mu.Lock()
		d.waiting++
		d.mu.Unlock()
		d.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token)
		<-cancelled
		return `{"content":[{"type":"text","text":"too late"}]}`
	case "more":
		return `{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create"}},"requestState":"s"}`
	case "flood":
		for len(cancelled) == 0 {
			d.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"%s"}}`, token, strings.Repeat("x", 1<<20))
		}
		return `{"content":[]}`
	case "ended":
		d.mu.Lock()
		defer d.mu.Unlock()
		reasons, _ := json.Marshal(d.ended)
		return fmt.Sprintf(`{"content":[],"structuredContent":{"reasons":%s,"waiting":%d}}`, reasons, d.waiting)
	case "ask":
		return `{"content":[],"structuredContent":{"ping":` + d.ask("ping") + `,"sampling":` + d.ask("sampling/createMessage") + `}}`
	case "large":
		return `{"content":[{"type":"text","text":"` + strings.Repeat("x", 5<<20) + `"}]}`
	case "odd":
		return string(message.Params.Arguments[len(`{"result":`) : len(message.Params.Arguments)-1])
	case "die":
		fmt.Fprintln(os.Stderr, "I am dying")
		os.Exit(4)
	}
	return `!{"code":-32602,"message":"unknown tool","data":{"name":"` + message.Params.Name + `"}}`
}

// ask makes a request of the client and returns what came back.
func (d *double) ask(method string) string {
	waiting := make(chan string, 1)
	d.mu.Lock()
	d.asked[`"`+method+`"`] = waiting
	d.mu.Unlock()
	d.say(`{"jsonrpc":"2.0","id":"%s","method":"%s","params":{}}`, method, method)
	return <-waiting
}
