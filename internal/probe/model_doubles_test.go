package probe_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// askedOf is what a request asks of a model.
type askedOf struct {
	path, body string // as they came
	Model      string `json:"model"`
	sum        int    // the right answer
}

var numbers = regexp.MustCompile(`What is ([0-9]+) \+ ([0-9]+)\?`)

func readAsked(request *http.Request) askedOf {
	body, _ := io.ReadAll(request.Body)
	asked := askedOf{path: request.URL.EscapedPath(), body: string(body)}
	_ = json.Unmarshal(body, &asked)
	if found := numbers.FindStringSubmatch(asked.body); found != nil {
		left, _ := strconv.Atoi(found[1])
		right, _ := strconv.Atoi(found[2])
		asked.sum = left + right
	}
	return asked
}

// modelServer answers as a function says: {SUM} in an answer stands for the right
// sum, {WRONG} for another.
func modelServer(t *testing.T, answer func(askedOf) (status int, body string)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(modelHandler(answer))
	t.Cleanup(server.Close)
	return server
}

func serverOf(t *testing.T, handler http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func modelHandler(answer func(askedOf) (status int, body string)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		asked := readAsked(request)
		status, body := answer(asked)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.NewReplacer("{SUM}", strconv.Itoa(asked.sum), "{WRONG}", strconv.Itoa(asked.sum+1)).Replace(body))
	}
}

// always gives every request the same answer.
func always(status int, body string) func(askedOf) (int, string) {
	return func(askedOf) (int, string) { return status, body }
}

// chatSpec is a chat model at an address.
func chatSpec(url string) *registry.Model {
	return &registry.Model{Provider: registry.ProviderOpenAI, BaseURL: url + "/v1", Model: "writer-1", Mode: registry.ModeChat}
}

func invoked(t *testing.T, spec *registry.Model, with probe.Settings) *registry.ModelResult {
	t.Helper()
	result, ok := probe.Examine(t.Context(), &registry.Component{Name: "writer", Spec: spec}, with).(*registry.ModelResult)
	if !ok {
		t.Fatal("the result is of another kind")
	}
	document, _, err := probe.Recorded(result)
	if err != nil {
		t.Fatal(err)
	}
	read, err := registry.DecodeResult(registry.KindModel, document)
	if err != nil || read.Passed() != result.Passed() {
		t.Errorf("the document %s is read as %+v, %v", document, read, err)
	}
	return result
}

// wantCause checks why a model did not pass; empty for one that did.
func wantCause(t *testing.T, result *registry.ModelResult, want registry.Cause, words string) {
	t.Helper()
	summary := result.Summary()
	got := registry.Cause("")
	if len(summary.Causes) > 0 {
		got = summary.Causes[0]
	}
	if got != want || result.Passed() != (want == "") || !strings.Contains(result.Error()+result.Invoke.Detail, words) {
		t.Errorf("got %q, passed %v (%s), want %q with %q", got, result.Passed(), result.Error()+result.Invoke.Detail, want, words)
	}
	ours := want == registry.Budget || want == registry.Overloaded || want == registry.Denied
	if want != "" && (summary.Outcome == registry.OutcomeUndecided) != ours {
		t.Errorf("%s is %s", want, summary.Outcome)
	}
}

// openAIAnswer is a good answer of a chat, in which a test changes a part.
const openAIAnswer = `{"id":"1","object":"chat.completion","model":"writer-1","choices":[{"index":0,"message":{"role":"assistant","content":"{SUM}"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":24,"completion_tokens":2,"total_tokens":26}}`

const (
	spoken = `"content":"{SUM}"`
	usage  = `"usage":{"prompt_tokens":24,"completion_tokens":2,"total_tokens":26}`
)

// modelFault is a change of a good answer.
type modelFault struct {
	old, new string
	cause    registry.Cause
	words    string
}

func openAIFaults() map[string]modelFault {
	return map[string]modelFault{
		"as it should be":               {"", "", "", "24 tokens in, 2 out"},
		"null content":                  {spoken, `"content":null`, registry.NoContent, "neither text nor reasoning"},
		"empty content":                 {spoken, `"content":" \n"`, registry.NoContent, ""},
		"no content":                    {`,` + spoken, ``, registry.NoContent, ""},
		"a refusal":                     {spoken, `"content":null,"refusal":"I cannot add."`, registry.NoContent, "I cannot add."},
		"content that is a number":      {spoken, `"content":{SUM}`, registry.WrongShape, ""},
		"no choices":                    {`"choices":[`, `"choices":[],"was":[`, registry.NoContent, "no choices"},
		"choices of another form":       {`"choices":[`, `"choices":"none","was":[`, registry.WrongShape, "choices"},
		"no input tokens":               {`24,"completion_tokens":2,"total_tokens":26`, `0,"completion_tokens":2,"total_tokens":2`, registry.NoTokens, "0 tokens in"},
		"no output tokens":              {`"completion_tokens":2,"total_tokens":26`, `"completion_tokens":0,"total_tokens":24`, registry.NoTokens, "0 out"},
		"negative tokens":               {`"completion_tokens":2,"total_tokens":26`, `"completion_tokens":-2,"total_tokens":22`, registry.NoTokens, ""},
		"no usage":                      {`,` + usage, ``, registry.NoTokens, ""},
		"usage of null":                 {usage, `"usage":null`, registry.NoTokens, ""},
		"tokens in a text":              {`"prompt_tokens":24`, `"prompt_tokens":"24"`, registry.WrongShape, "prompt_tokens"},
		"a total that is none":          {`"total_tokens":26`, `"total_tokens":27`, registry.WrongUsage, "27 in all"},
		"no total":                      {`,"total_tokens":26`, ``, "", ""},
		"a wrong sum":                   {"{SUM}", "{WRONG}", registry.CanaryFailed, "is answered with"},
		"words for a sum":               {"{SUM}", "as you like", registry.CanaryFailed, "without a number"},
		"the sum in a sentence":         {"{SUM}", "The sum is {SUM}.", "", ""},
		"the sum as part of a number":   {"{SUM}", "1{SUM}", registry.CanaryFailed, ""},
		"another model":                 {`"model":"writer-1"`, `"model":"writer-2"`, registry.WrongModel, "writer-2"},
		"a smaller model":               {`"model":"writer-1"`, `"model":"writer-1-mini"`, registry.WrongModel, ""},
		"no model":                      {`"model":"writer-1",`, ``, registry.WrongModel, "does not state"},
		"a release of the model":        {`"model":"writer-1"`, `"model":"writer-1-2026-11-01"`, "", ""},
		"an error in a success":         {`"id":"1"`, `"error":{"message":"out of memory"}`, registry.NotOK, "out of memory"},
		"reasoning and nothing else":    {spoken, `"content":"","reasoning_content":"Let me see"`, "", "no text yet, but reasoning"},
		"reasoning in OpenRouter's way": {spoken, `"content":null,"reasoning":"Let me see"`, "", ""},
		"reasoning in Mistral's way":    {spoken, `"content":[{"type":"thinking","thinking":[]}]`, "", ""},
		"reasoning that is only counted": {spoken + `},"finish_reason":"stop"}],` + usage, `"content":""},"finish_reason":"length"}],` +
			`"usage":{"prompt_tokens":24,"completion_tokens":64,"total_tokens":88,"completion_tokens_details":{"reasoning_tokens":64}}`, "", "64 out"},
		"reasoning counted beside the completion": {spoken + `},"finish_reason":"stop"}],` + usage, `"content":""},"finish_reason":"length"}],` +
			`"usage":{"prompt_tokens":24,"completion_tokens":0,"total_tokens":88,"completion_tokens_details":{"reasoning_tokens":64}}`, "", "64 out"},
		"thinking aloud, cut off":      {"{SUM}", "<think>So {WRONG}", "", "reasoning"},
		"thinking aloud, to the end":   {"{SUM}", "<think>{WRONG}?</think>{SUM}", "", ""},
		"thinking aloud, to no avail":  {"{SUM}", "<think>{SUM}?</think>{WRONG}", registry.CanaryFailed, ""},
		"reasoning with a wrong sum":   {spoken, `"content":"{WRONG}","reasoning_content":"{SUM}"`, registry.CanaryFailed, ""},
		"parts":                        {spoken, `"content":[{"type":"text","text":"{SUM}"}]`, "", ""},
		"a tool call and nothing else": {spoken, `"content":null,"tool_calls":[{"type":"function"}]`, "", "tool call"},
	}
}

func TestModel_hasACauseForEachFaultOfAChat(t *testing.T) {
	t.Parallel()
	for name, fault := range openAIFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := strings.Replace(openAIAnswer, fault.old, fault.new, 1)
			if fault.old != "" && answer == openAIAnswer {
				t.Fatalf("the answer has no %s", fault.old)
			}
			server := modelServer(t, always(200, answer))
			got := invoked(t, chatSpec(server.URL), settings(generous))
			wantCause(t, got, fault.cause, fault.words)
			if got.Requests != 1 || got.Timings.TotalMs <= 0 {
				t.Errorf("%d requests in %v ms", got.Requests, got.Timings.TotalMs)
			}
		})
	}
}

func TestModel_hasACauseForEachAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		limit   time.Duration
		cause   registry.Cause
		words   string
	}{
		"a key that is not taken": {says(401, `{"error":{"message":"Incorrect API key provided"}}`), generous, registry.Auth, "status 401: Incorrect API key"},
		"no rights":               {says(403, `{"error":{"message":"no access to this model"}}`), generous, registry.Forbidden, "no access"},
		"too many requests": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "20")
			says(429, `{"error":{"message":"Rate limit reached"}}`)(w, r)
		}, generous, registry.RateLimited, "Retry-After: 20: Rate limit reached"},
		"no such model":          {says(404, `{"error":"model 'writer-1' not found"}`), generous, registry.HTTPStatus, "status 404: model 'writer-1' not found"},
		"overloaded":             {says(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), generous, registry.HTTPStatus, "Overloaded"},
		"a bad gateway":          {says(502, `<html>`), generous, registry.HTTPStatus, "status 502"},
		"a redirect":             {leads("/elsewhere"), generous, registry.Redirect, "/elsewhere"},
		"no JSON":                {says(200, `hello`), generous, registry.NotJSON, ""},
		"events":                 {says(200, "data: {}\n\ndata: [DONE]\n\n"), generous, registry.NotJSON, ""},
		"a list":                 {says(200, `[]`), generous, registry.WrongShape, ""},
		"an answer that breaks":  {breaksOff("application/json", `{"model":`), generous, registry.NotJSON, ""},
		"a server that hangs up": {hangsUp, generous, registry.Unreachable, ""},
		"no answer":              {hangs, short, registry.Timeout, "waiting for the answer"},
		"a slow answer":          {drips("application/json", `{"model":"writer-1",`), short, registry.Timeout, "reading"},
		"an answer without end":  {floods("application/json", `{"x":"`), generous, registry.TooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCause(t, invoked(t, chatSpec(serverOf(t, row.handler)), settings(row.limit)), row.cause, row.words)
		})
	}
	for _, row := range unreachables(t) {
		wantCause(t, invoked(t, chatSpec(row.url), settings(generous)), row.cause, "")
	}
	unready := chatSpec("http://127.0.0.1:1")
	unready.Mode, unready.Provider = registry.ModeRerank, registry.ProviderAnthropic
	wantCause(t, invoked(t, unready, settings(generous)), registry.NotConfigured, "rerank")
}

func TestModel_isNotPassedByAnAnswerOfYesterday(t *testing.T) {
	t.Parallel()
	stored := strings.Replace(openAIAnswer, "{SUM}", "7", 1)
	wantCause(t, invoked(t, chatSpec(modelServer(t, always(200, stored)).URL), settings(generous)), registry.CanaryFailed, "")
}

func TestModel_obeysTheRulesOfTheNetwork(t *testing.T) {
	t.Parallel()
	denied := settings(generous)
	denied.Network = registry.Network{Allow: []registry.NetworkRule{{Host: "example.org"}}}
	got := invoked(t, chatSpec(modelServer(t, always(200, openAIAnswer)).URL), denied)
	wantCause(t, got, registry.Denied, "may not be dialled")
	if got.Requests != 0 {
		t.Errorf("%d requests are told", got.Requests)
	}
}
