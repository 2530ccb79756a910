package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// answered is a chat that passes.
func answered() registry.ModelResult {
	return registry.ModelResult{
		Target: "writer", Provider: registry.ProviderOpenAI, Mode: registry.ModeChat, Model: "writer-1",
		ProbedAt: time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC),
		Invoke:   registry.Pass(420*time.Millisecond, "17 + 25 = 42; 24 tokens in, 2 out"), Requests: 1,
		Timings:     registry.Phases{ConnectMs: 0.5, FirstByteMs: 400, TotalMs: 419},
		StatedModel: "writer-1-2026-11-01", Finish: "stop", Tokens: registry.Tokens{Input: 24, Output: 2, Total: new(26)},
		Content: []registry.Content{registry.ContentText}, Sum: &registry.Sum{Left: 17, Right: 25, Answer: new(42)},
	}
}

// vectored is an embedding that passes, and ranked a rerank.
func vectored() registry.ModelResult {
	made := answered()
	made.Mode, made.Content, made.Sum, made.Finish = registry.ModeEmbedding, nil, nil, ""
	made.Tokens = registry.Tokens{Input: 10, Total: new(10)}
	made.Vector = &registry.Vector{Length: 64, Wanted: 64, Numbers: true, NonZero: true}
	return made
}

func ranked() registry.ModelResult {
	made := vectored()
	made.Mode, made.Vector, made.Tokens = registry.ModeRerank, nil, registry.Tokens{}
	made.Scores = &registry.Scores{Documents: 3, Scored: 3}
	return made
}

func TestModelResult_hasTheShapeOfItsDocument(t *testing.T) {
	t.Parallel()
	golden(t, "model-chat", answered())
	golden(t, "model-embedding", vectored())
	golden(t, "model-rerank", ranked())
	failed := answered()
	failed.Tokens.Output, failed.Tokens.Total = 0, new(24)
	failed.Invoke = registry.Fail(420*time.Millisecond, registry.NoTokens, "24 tokens in and 0 out are stated")
	failed.Warnings = []string{"odd"}
	golden(t, "model-failed", failed)
}

// TestModelResult_passesByItsPartsAlone changes one part of a pass at a time.
func TestModelResult_passesByItsPartsAlone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		of     registry.ModelResult
		change func(*registry.ModelResult)
		cause  registry.Cause
	}{
		"a chat":                      {answered(), func(*registry.ModelResult) {}, ""},
		"a chat without a total":      {answered(), func(r *registry.ModelResult) { r.Tokens.Total = nil }, ""},
		"reasoning alone":             {answered(), func(r *registry.ModelResult) { r.Content[0] = registry.ContentReasoning; r.Sum.Answer = nil }, ""},
		"reasoning, a wrong number":   {answered(), func(r *registry.ModelResult) { r.Content[0] = registry.ContentReasoning; r.Sum.Answer = new(1) }, ""},
		"a tool call alone":           {answered(), func(r *registry.ModelResult) { r.Content[0] = registry.ContentToolCall; r.Sum.Answer = nil }, ""},
		"Converse, no model":          {answered(), func(r *registry.ModelResult) { r.Provider, r.StatedModel = registry.ProviderBedrock, "" }, ""},
		"an invocation that failed":   {answered(), func(r *registry.ModelResult) { r.Invoke = registry.Fail(0, registry.Timeout, "") }, registry.Timeout},
		"no invocation":               {answered(), func(r *registry.ModelResult) { r.Invoke = registry.GateResult{} }, registry.NoContent},
		"no content":                  {answered(), func(r *registry.ModelResult) { r.Content = nil }, registry.NoContent},
		"content of an unknown kind":  {answered(), func(r *registry.ModelResult) { r.Content[0] = "smell" }, registry.NoContent},
		"no input":                    {answered(), func(r *registry.ModelResult) { r.Tokens = registry.Tokens{Output: 2} }, registry.NoTokens},
		"no output":                   {answered(), func(r *registry.ModelResult) { r.Tokens = registry.Tokens{Input: 2} }, registry.NoTokens},
		"negative output":             {answered(), func(r *registry.ModelResult) { r.Tokens = registry.Tokens{Input: 2, Output: -1} }, registry.NoTokens},
		"a wrong total":               {answered(), func(r *registry.ModelResult) { r.Tokens.Total = new(27) }, registry.WrongUsage},
		"another model":               {answered(), func(r *registry.ModelResult) { r.StatedModel = "writer-2" }, registry.WrongModel},
		"no model":                    {answered(), func(r *registry.ModelResult) { r.StatedModel = "" }, registry.WrongModel},
		"Converse, another model":     {answered(), func(r *registry.ModelResult) { r.Provider, r.StatedModel = registry.ProviderBedrock, "x" }, registry.WrongModel},
		"a wrong sum":                 {answered(), func(r *registry.ModelResult) { r.Sum.Answer = new(41) }, registry.CanaryFailed},
		"a text without a number":     {answered(), func(r *registry.ModelResult) { r.Sum.Answer = nil }, registry.CanaryFailed},
		"no sum":                      {answered(), func(r *registry.ModelResult) { r.Sum = nil }, registry.CanaryFailed},
		"no mode":                     {answered(), func(r *registry.ModelResult) { r.Mode = "" }, registry.NoContent},
		"an embedding":                {vectored(), func(*registry.ModelResult) {}, ""},
		"an embedding of any length":  {vectored(), func(r *registry.ModelResult) { r.Vector.Wanted = 0 }, ""},
		"an embedding by nobody":      {vectored(), func(r *registry.ModelResult) { r.StatedModel = "" }, ""},
		"an embedding without vector": {vectored(), func(r *registry.ModelResult) { r.Vector = nil }, registry.WrongVector},
		"an embedding of nothing":     {vectored(), func(r *registry.ModelResult) { r.Vector = &registry.Vector{Numbers: true, NonZero: true} }, registry.WrongVector},
		"an embedding too short":      {vectored(), func(r *registry.ModelResult) { r.Vector.Length = 63 }, registry.WrongVector},
		"an embedding of zeros":       {vectored(), func(r *registry.ModelResult) { r.Vector.NonZero = false }, registry.WrongVector},
		"an embedding of no numbers":  {vectored(), func(r *registry.ModelResult) { r.Vector.Numbers = false }, registry.WrongVector},
		"an embedding, no tokens":     {vectored(), func(r *registry.ModelResult) { r.Tokens = registry.Tokens{} }, registry.NoTokens},
		"an embedding, wrong total":   {vectored(), func(r *registry.ModelResult) { r.Tokens.Total = new(11) }, registry.WrongUsage},
		"a rerank":                    {ranked(), func(*registry.ModelResult) {}, ""},
		"a rerank without scores":     {ranked(), func(r *registry.ModelResult) { r.Scores = nil }, registry.NoContent},
		"a rerank of nothing":         {ranked(), func(r *registry.ModelResult) { r.Scores = &registry.Scores{} }, registry.NoContent},
		"a rerank, a score missing":   {ranked(), func(r *registry.ModelResult) { r.Scores.Scored = 2 }, registry.NoContent},
		"a rerank, a score too many":  {ranked(), func(r *registry.ModelResult) { r.Scores.Scored = 4 }, registry.NoContent},
	} {
		row.change(&row.of)
		summary := row.of.Summary()
		got := registry.Cause("")
		if len(summary.Causes) == 1 {
			got = summary.Causes[0]
		}
		if got != row.cause || row.of.Passed() != (row.cause == "") || (summary.Outcome == registry.OutcomePassed) != row.of.Passed() ||
			(row.of.Error() == "") != row.of.Passed() || (summary.Reason == "") != row.of.Passed() {
			t.Errorf("%s: %q, passed %v, %q; want %q", name, got, row.of.Passed(), row.of.Error(), row.cause)
		}
		document, err := json.Marshal(row.of)
		if err != nil {
			t.Fatal(err)
		}
		read, err := registry.DecodeResult(registry.KindModel, document)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(&row.of, read); diff != "" {
			t.Errorf("%s: decoded (-want +got):\n%s", name, diff)
		}
	}
	if zero := (&registry.ModelResult{}); zero.Passed() {
		t.Error("the zero value has passed")
	}
	spent := answered()
	spent.Invoke = registry.Fail(0, registry.Budget, "")
	if got := spent.Summary().Outcome; got != registry.OutcomeUndecided {
		t.Errorf("a spent budget is %s", got)
	}
}

func TestModelResult_isNotDecodedFromWhatItsPartsDoNotSupport(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(answered())
	if err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string][2]string{
		"passed over a failed invocation": {`"invoke":{"ok":true`, `"invoke":{"ok":false`},
		"passed over no tokens":           {`"input":24`, `"input":0`},
		"passed over a wrong total":       {`"total":26`, `"total":27`},
		"passed over a wrong sum":         {`"answer":42`, `"answer":43`},
		"passed over no content":          {`"content":["text"],`, ``},
		"passed over another model":       {`"statedModel":"writer-1-2026-11-01"`, `"statedModel":"writer-2"`},
		"not passed over sound parts":     {`"passed":true`, `"passed":false`},
		"no passed":                       {`"passed":true,`, ``},
		"passed twice":                    {`"passed":true`, `"passed":true,"passed":true`},
		"passed in capitals":              {`"passed":true`, `"Passed":true`},
		"passed as a string":              {`"passed":true`, `"passed":"true"`},
		"an error over sound parts":       {`"requests":1`, `"error":"bad luck","requests":1`},
		"an unknown member":               {`"requests":1`, `"requests":1,"color":"red"`},
		"an unknown member of a part":     {`"input":24`, `"input":24,"color":"red"`},
		"a cause that is none":            {`"ok":true`, `"ok":false,"cause":"bad luck"`},
		"ok beside a cause":               {`"detail":"17`, `"cause":"timeout","detail":"17`},
		"half a token":                    {`"input":24`, `"input":24.5`},
		"a negative latency":              {`"latencyMs":420`, `"latencyMs":-1`},
		"a time that is none":             {`2026-11-30T12:00:00.250Z`, `yesterday`},
		"something behind the document":   {`"totalMs":419}}`, `"totalMs":419}} {}`},
	} {
		forged := strings.Replace(string(raw), swap[0], swap[1], 1)
		if forged == string(raw) {
			t.Fatalf("%s: %q is not in %s", name, swap[0], raw)
		}
		var got registry.ModelResult
		if err := got.UnmarshalJSON([]byte(forged)); err == nil {
			t.Errorf("%s: decoded %s", name, forged)
		}
	}
}

// FuzzDecodeModel shows that no document yields a pass without the evidence.
func FuzzDecodeModel(f *testing.F) {
	for _, each := range []registry.ModelResult{answered(), vectored(), ranked()} {
		raw, err := json.Marshal(each)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var got registry.ModelResult
		if err := got.UnmarshalJSON(document); err != nil {
			return
		}
		if got.Passed() && (!got.Invoke.OK || got.Mode == registry.ModeChat && (got.Tokens.Input < 1 || got.Tokens.Output < 1 || len(got.Content) == 0) ||
			got.Mode == registry.ModeEmbedding && (got.Vector.Length < 1 || got.Tokens.Input < 1) ||
			got.Mode == registry.ModeRerank && got.Scores.Scored < 1) {
			t.Fatalf("passed without evidence: %s", document)
		}
		if again, err := json.Marshal(got); err != nil || !registry.SameJSON(document, again) {
			t.Fatalf("the result changed: %s, %v", again, err)
		}
	})
}

func TestModelResult_takesTheModelThatIsMeant(t *testing.T) {
	t.Parallel()
	same := map[string]string{ // asked for, stated
		"writer-1": "writer-1", "Meta/Llama-3": "meta/llama-3", "gpt-4o": "gpt-4o-2024-08-06", "gpt-4": "gpt-4-0613", "claude-sonnet-4": "claude-sonnet-4-20250514",
		"claude-3-5-sonnet-latest": "claude-3-5-sonnet-20241022", "text-embedding-ada-002": "text-embedding-ada-002-v2", "openai/gpt-4o": "gpt-4o-2024-08-06",
		"gpt-4o-mini": "openai/gpt-4o-mini", "llama3.2": "llama3.2:latest", "llama3.2:latest": "llama3.2", "accounts/x/models/m": "m", "gpt-4o-2024-08-06": "gpt-4o-2024-08-06",
	}
	for asked, stated := range same {
		result := answered()
		result.Model, result.StatedModel = asked, stated
		if !result.Passed() {
			t.Errorf("%s states %s: %s", asked, stated, result.Error())
		}
	}
	for asked, others := range map[string][]string{
		"gpt-4o":            {"gpt-4o-mini", "gpt-4", "gpt-4o-mini-2024-07-18", "gpt-4o-2024-08-06-preview", "x-gpt-4o", "gpt-4oo", "gpt-4o-", ""},
		"gpt-4o-2024-05-13": {"gpt-4o", "gpt-4o-2024-08-06"},
		"gpt-4-0613":        {"gpt-4-0125", "gpt-4", "gpt-4-0613-0125"},
		"openai/gpt-4o":     {"azure/gpt-4o", "my/openai/gpt-4o-mini"},
		"llama3.2:1b":       {"llama3.2", "llama3.2:latest", "llama3.2:3b"},
		"my-alias":          {"gpt-4o"},
		"":                  {"", "gpt-4o", "-0613"},
	} {
		for _, stated := range others {
			result := answered()
			result.Model, result.StatedModel = asked, stated
			if result.Passed() {
				t.Errorf("%s states %s, and that passed", asked, stated)
			}
		}
	}
}

func TestModel_tellsItsSecretsAndItsHost(t *testing.T) {
	t.Parallel()
	model := &registry.Model{
		Provider: registry.ProviderBedrock, BaseURL: "https://bedrock.example:8443/x", DailyTokens: 7,
		Credentials: registry.ModelCredentials{AccessKeyID: registry.SecretAt("env:A"), SecretAccessKey: registry.SecretAt("env:B")},
	}
	if got := model.Secrets(); len(got) != 2 || got[0].Reference() != "env:A" {
		t.Errorf("got the secrets %v", got)
	}
	if model.Kind() != registry.KindModel || model.Host() != "bedrock.example:8443" || model.DailyBudget() != 7 {
		t.Errorf("got %s, %s, %d", model.Kind(), model.Host(), model.DailyBudget())
	}
	cheaper := *model
	cheaper.DailyTokens = 8
	one, _ := (&registry.Component{Spec: model}).Definition()
	if two, _ := (&registry.Component{Spec: &cheaper}).Definition(); one != two || one == "" {
		t.Error("another budget makes it another component")
	}
}
