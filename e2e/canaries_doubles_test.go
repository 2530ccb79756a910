//go:build unix

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// echoes says how all doubles give back what they know: in which form, and whether
// they do their work besides.
type echoes struct {
	form  atomic.Pointer[func(string) string]
	works atomic.Bool

	mu  sync.Mutex
	got map[string]string // what the doubles were sent, by their names
}

// echo is a double of one component. It knows the secrets of it, also those that
// it is not sent.
type echo struct {
	*echoes

	name    string
	secrets []string
	asked   atomic.Int64
}

func (e *echoes) of(name string, secrets ...string) *echo {
	return &echo{echoes: e, name: name, secrets: secrets}
}

// heard notes a request, and returns its body and what the double says to it.
func (e *echo) heard(request *http.Request) (body, said string) {
	read, _ := io.ReadAll(request.Body)
	body = string(read)
	sent := []string{request.URL.RawQuery}
	for _, values := range request.Header {
		sent = append(sent, values...)
	}
	e.mu.Lock()
	e.got[e.name] += strings.Join(append(sent, body), "\n") + "\n"
	e.mu.Unlock()
	form := *e.form.Load()
	given := []string{form(strings.Join(e.secrets, " "))}
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Amz-Security-Token"} {
		if value := request.Header.Get(name); value != "" {
			given = append(given, form(value))
		}
	}
	return body, strings.Join(given, " and ")
}

// received reports whether the double of that name was sent a text, also as a part
// of what is in base64 or percent-encoded.
func (e *echoes) received(name, text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for form := range formsOf(text) {
		if strings.Contains(e.got[name], form) {
			return true
		}
	}
	return false
}

func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

// refuse is an answer that gives a secret away in its header and its body.
func refuse(w http.ResponseWriter, status int, said string) {
	w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q, error=%q", said, said))
	w.Header().Set("Retry-After", said)
	w.Header().Set("X-Request-Id", said)
	w.Header().Set("X-Amzn-Errortype", said)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"message":%[1]s,"error":{"message":%[1]s,"type":%[1]s,"code":%[1]s},"errors":[{"code":"DENIED","message":%[1]s}]}`, quoted(said))
}

// server is an MCP server with its gates, and a knowledge base.
func (e *echo) server(w http.ResponseWriter, request *http.Request) {
	body, said := e.heard(request)
	turn, works := e.asked.Add(1), e.works.Load()
	w.Header().Set("X-Echo", said)
	switch {
	case request.URL.Path == "/healthz" && !works:
		w.Header().Set("Location", "/?"+url.QueryEscape(said))
		refuse(w, []int{http.StatusFound, http.StatusUnauthorized, http.StatusInternalServerError}[turn%3], said)
	case request.URL.Path == "/healthz":
		fmt.Fprint(w, said)
	case request.URL.Path == "/test":
		fmt.Fprintf(w, `{"ok":%[1]t,"detail":%[2]s,"tools":{%[2]s:{"executable":false,"detail":%[2]s}}}`, works, quoted(said))
	case turn%4 == 0 && !works:
		refuse(w, http.StatusUnauthorized, said)
	default:
		w.Header().Set("Content-Type", "application/json")
		e.talk(w, body, said)
	}
}

// talk is the protocol of MCP.
func (e *echo) talk(w http.ResponseWriter, body, said string) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal([]byte(body), &message)
	text := quoted(said)
	var result string
	switch message.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":%[1]s,"version":%[1]s},"instructions":%[1]s}`, text)
	case "tools/list":
		result = fmt.Sprintf(`{"tools":[{"name":"search","description":%[1]s,"annotations":{"readOnlyHint":true,"title":%[1]s},
			"inputSchema":{"type":"object","properties":{%[1]s:{"type":"string","default":%[1]s}}}}]}`, text)
	case "tools/call":
		result = fmt.Sprintf(`{"isError":%t,"content":[{"type":"text","text":%s}],"structuredContent":{"results":[{"id":%[3]s,"text":%[3]s}],"content_version":%[3]s}}`,
			!e.works.Load(), quoted("fine: "+said), text)
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%[2]s,"data":%[2]s}}`, message.ID, text)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
}

// model is a model behind any of the APIs.
func (e *echo) model(w http.ResponseWriter, request *http.Request) {
	body, said := e.heard(request)
	turn, works := e.asked.Add(1)%4, e.works.Load()
	if !works && turn < 2 {
		refuse(w, []int{http.StatusUnauthorized, http.StatusTooManyRequests}[turn], said)
		return
	}
	w.Header().Set("X-Request-Id", said)
	failure, text, stated := "null", fmt.Sprint(sumIn(body)), "adder-1"
	switch {
	case works:
	case turn == 2:
		failure = fmt.Sprintf(`{"message":%[1]s,"type":%[1]s}`, quoted(said))
	default:
		text, stated = said, said
	}
	const usage = `"prompt_tokens":24,"completion_tokens":2,"total_tokens":26`
	_, path, _ := strings.Cut(request.URL.Path, "/v1/")
	switch text, finish := quoted(text), quoted(said); path {
	case "chat/completions":
		fmt.Fprintf(w, `{"error":%s,"model":%s,"choices":[{"message":{"content":%s,"reasoning":%s},"finish_reason":%s}],"usage":{%s}}`,
			failure, quoted(stated), text, finish, finish, usage)
	case "embeddings":
		fmt.Fprintf(w, `{"error":%s,"model":%s,"data":[{"embedding":[0.5,0.25]}],"usage":{"prompt_tokens":24,"total_tokens":24}}`, failure, quoted(stated))
	case "rerank":
		fmt.Fprintf(w, `{"error":%s,"model":%s,"results":[{"index":0,"relevance_score":0.9},{"index":1,"relevance_score":0.1},{"index":2,"relevance_score":0.2}],"usage":{"total_tokens":24}}`,
			failure, quoted(stated))
	case "messages":
		fmt.Fprintf(w, `{"error":%s,"model":%s,"content":[{"type":"text","text":%s}],"stop_reason":%s,"usage":{"input_tokens":24,"output_tokens":2}}`,
			failure, quoted(stated), text, finish)
	default:
		fmt.Fprintf(w, `{"message":%[1]s,"output":{"message":{"content":[{"text":%s}]}},"stopReason":%[1]s,"usage":{"inputTokens":24,"outputTokens":2,"totalTokens":26}}`,
			finish, text)
	}
}

// issuer grants tokens, with others that nobody asked for.
func (e *echo) issuer(token, other string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		_, said := e.heard(request)
		turn, works := e.asked.Add(1)%4, e.works.Load()
		address := "http://" + request.Host
		switch {
		case !works && turn == 0:
			refuse(w, http.StatusInternalServerError, said)
		case strings.HasPrefix(request.URL.Path, "/.well-known/"):
			fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q,"service_documentation":%s}`, address, address+"/token", quoted(said))
		case !works && turn == 1:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":%s}`, quoted(said))
		case !works && turn == 2:
			fmt.Fprintf(w, `{"accessToken":%q,"token_type":"Bearer"}`, other)
		default:
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","refresh_token":%q,"was":%s}`, token, other, quoted(said))
		}
	}
}

// images is a registry that demands credentials once it is locked: by a service of
// tokens, or without.
func (e *echo) images(locked *atomic.Bool, token, other string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if !locked.Load() {
				next.ServeHTTP(w, request)
				return
			}
			request.Body = io.NopCloser(strings.NewReader(""))
			_, said := e.heard(request)
			turn, works := e.asked.Add(1)%4, e.works.Load()
			switch {
			case request.URL.Path == "/token" && !works && turn == 1:
				fmt.Fprintf(w, `{"accessToken":%q}`, other)
			case request.URL.Path == "/token" && (works || turn != 0):
				fmt.Fprintf(w, `{"token":%q,"refresh_token":%q,"was":%s}`, token, other, quoted(said))
			case request.Header.Get("Authorization") == "" && token != "":
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service=%s`, request.Host, quoted(said)))
				w.WriteHeader(http.StatusUnauthorized)
			case request.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", `Basic realm=`+quoted(said))
				w.WriteHeader(http.StatusUnauthorized)
			case works:
				w.Header().Set("X-Echo", said)
				next.ServeHTTP(w, request)
			default:
				refuse(w, []int{http.StatusForbidden, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusBadRequest}[turn], said)
			}
		})
	}
}

// childServer is a server of one process that tells a variable of its environment
// wherever it can, in two forms. It ends early when it is given a word.
const childServer = `
both="$CHILD_SECRET $CHILD_TEXT $(printf %s "$CHILD_SECRET $CHILD_TEXT" | base64 | tr -d '\n')"
echo "starting with $both" >&2
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"'$both'","version":"'$both'"}}' ;;
  *'"tools/list"'*)
    if [ -n "$1" ]; then echo "junk: $both"; echo "leaving with $both" >&2; exit 3; fi
    result='{"tools":[{"name":"search","description":"'$both'","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*) result='{"content":[{"type":"text","text":"fine: '$both'"}]}' ;;
  *) continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done
`

// forms in which the doubles give back what they know.
func echoForms() map[string]func(string) string {
	return map[string]func(string) string{
		"plain":           func(secret string) string { return secret },
		"base64":          func(secret string) string { return base64.StdEncoding.EncodeToString([]byte(secret)) },
		"percent-encoded": url.QueryEscape,
	}
}
