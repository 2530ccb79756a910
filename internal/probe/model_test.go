package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestModel_putsItsQuestionAsTheServerWantsIt(t *testing.T) {
	t.Parallel()
	const (
		renamed  = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
		thinking = `{"error":{"message":"Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.","type":"invalid_request_error"}}`
	)
	var bodies []string
	server := modelServer(t, func(asked askedOf) (int, string) {
		bodies = append(bodies, asked.body) // the requests of one probe follow one another
		switch {
		case !strings.Contains(asked.body, `"max_completion_tokens"`):
			return 400, renamed
		case !strings.Contains(asked.body, `"max_completion_tokens":1024`):
			return 400, thinking
		}
		return 200, openAIAnswer
	})
	got := invoked(t, chatSpec(server.URL), settings(generous))
	wantCause(t, got, "", "")
	if got.Requests != 3 || len(bodies) != 3 {
		t.Errorf("%d requests are told, want 3: %q", got.Requests, bodies)
	}
	for name, answer := range map[string]string{"renamed": renamed, "thinking": thinking, "another": `{"error":{"message":"bad request"}}`} {
		refused := invoked(t, chatSpec(modelServer(t, always(400, answer)).URL), settings(generous))
		wantCause(t, refused, registry.HTTPStatus, "status 400: ")
		if want := map[string]int{"renamed": 2, "thinking": 3, "another": 1}[name]; refused.Requests != want {
			t.Errorf("%s: %d requests, want %d", name, refused.Requests, want)
		}
	}
}

const embeddingAnswer = `{"object":"list","model":"writer-1","data":[{"object":"embedding","index":0,"embedding":[0.25,-0.5,0,1e-9]}],"usage":{"prompt_tokens":10,"total_tokens":10}}`

func TestModel_hasACauseForEachFaultOfAnEmbedding(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]modelFault{
		"as it should be":         {"", "", "", "4 dimensions; 10 tokens in"},
		"too short":               {`,1e-9]`, `]`, registry.WrongVector, "3 dimensions and not 4"},
		"too long":                {`,1e-9]`, `,1,2]`, registry.WrongVector, "5 dimensions and not 4"},
		"zero throughout":         {`0.25,-0.5,0,1e-9`, `0,0,-0.0,0`, registry.WrongVector, "zero throughout"},
		"no number":               {`0.25`, `NaN`, registry.NotJSON, ""},
		"null for a number":       {`0.25`, `null`, registry.WrongVector, "no finite number"},
		"a number beyond measure": {`0.25`, `1e999`, registry.WrongVector, "finite"},
		"a text":                  {`[0.25,-0.5,0,1e-9]`, `"AAAA"`, registry.WrongVector, ""},
		"no vector":               {`[0.25,-0.5,0,1e-9]`, `null`, registry.WrongVector, "no vector"},
		"an empty vector":         {`[0.25,-0.5,0,1e-9]`, `[]`, registry.WrongVector, "no vector"},
		"no list":                 {`"data":[`, `"data":[],"was":[`, registry.WrongVector, ""},
		"no tokens":               {`"prompt_tokens":10,"total_tokens":10`, `"prompt_tokens":0,"total_tokens":0`, registry.NoTokens, ""},
		"no usage":                {`,"usage":{"prompt_tokens":10,"total_tokens":10}`, ``, registry.NoTokens, ""},
		"a total only":            {`"prompt_tokens":10,`, ``, "", ""},
		"a wrong total":           {`"total_tokens":10`, `"total_tokens":11`, registry.WrongUsage, ""},
		"another model":           {`writer-1`, `writer-3`, registry.WrongModel, ""},
		"no model":                {`"model":"writer-1",`, ``, "", ""},
		"a version of the model":  {`writer-1`, `writer-1-v2`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := chatSpec(modelServer(t, always(200, strings.Replace(embeddingAnswer, fault.old, fault.new, 1))).URL)
			spec.Mode, spec.Dimensions = registry.ModeEmbedding, 4
			wantCause(t, invoked(t, spec, settings(generous)), fault.cause, fault.words)
		})
	}
	fixed := modelServer(t, func(asked askedOf) (int, string) {
		if strings.Contains(asked.body, `"dimensions":4`) {
			return 400, `{"object":"error","message":"Model does not support matryoshka representation, changing output dimensions will lead to poor results."}`
		}
		return 200, embeddingAnswer
	})
	spec := chatSpec(fixed.URL)
	spec.Mode, spec.Dimensions = registry.ModeEmbedding, 4
	wantCause(t, invoked(t, spec, settings(generous)), "", "")
	spec.Dimensions = 8
	wantCause(t, invoked(t, spec, settings(generous)), registry.WrongVector, "4 dimensions and not 8")
}

const rerankAnswer = `{"model":"writer-1","results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1},{"index":2,"relevance_score":0}],"usage":{"total_tokens":60}}`

func TestModel_hasACauseForEachFaultOfARerank(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]modelFault{
		"as it should be":      {"", "", "", "3 documents scored"},
		"a score missing":      {`,{"index":2,"relevance_score":0}`, ``, registry.NoContent, "2 of 3 documents"},
		"a document twice":     {`"index":2`, `"index":1`, registry.NoContent, "1 of 3 documents"},
		"a document too many":  {`"index":2`, `"index":3`, registry.NoContent, ""},
		"a negative index":     {`"index":2`, `"index":-1`, registry.NoContent, ""},
		"no index":             {`"index":2,`, ``, registry.NoContent, ""},
		"null for a score":     {`"relevance_score":0.1`, `"relevance_score":null`, registry.NoContent, ""},
		"no score":             {`"relevance_score":0.1`, `"document":"x"`, registry.NoContent, ""},
		"no results":           {`"results":[`, `"results":[],"was":[`, registry.NoContent, "0 of 3"},
		"another word":         {`"relevance_score":0.1`, `"score":0.1`, "", ""},
		"no usage":             {`,"usage":{"total_tokens":60}`, ``, "", ""},
		"another model":        {`writer-1`, `writer-3`, registry.WrongModel, ""},
		"a wrong total":        {`"total_tokens":60`, `"prompt_tokens":50,"total_tokens":60`, registry.WrongUsage, ""},
		"a list of no results": {`"results":[`, `"results":7,"was":[`, registry.WrongShape, "results"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := chatSpec(modelServer(t, always(200, strings.Replace(rerankAnswer, fault.old, fault.new, 1))).URL)
			spec.Mode = registry.ModeRerank
			wantCause(t, invoked(t, spec, settings(generous)), fault.cause, fault.words)
		})
	}
}

func TestModel_asksAtThePathsOfTheAPI(t *testing.T) {
	t.Parallel()
	got := map[registry.Mode]string{}
	for mode, answer := range map[registry.Mode]string{
		registry.ModeChat: openAIAnswer, registry.ModeEmbedding: embeddingAnswer, registry.ModeRerank: rerankAnswer,
	} {
		server := modelServer(t, func(asked askedOf) (int, string) {
			got[mode] = asked.path + " for " + asked.Model
			return 200, answer
		})
		spec := chatSpec(server.URL)
		spec.Mode, spec.BaseURL = mode, spec.BaseURL+"/" // a slash too many does no harm
		wantCause(t, invoked(t, spec, settings(generous)), "", "")
	}
	want := map[registry.Mode]string{
		registry.ModeChat: "/v1/chat/completions for writer-1", registry.ModeEmbedding: "/v1/embeddings for writer-1", registry.ModeRerank: "/v1/rerank for writer-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestModel_keepsItsKeyToItself has the key come back in every way that an answer
// has room for.
func TestModel_keepsItsKeyToItself(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-5f1c9a7e2b"
	resolved := settings(generous)
	resolved.Transcripts = true
	resolved.Resolve = func(string) (string, error) { return key, nil }
	for name, answer := range map[string]func(askedOf) (int, string){
		"in an error":          always(401, `{"error":{"message":"Incorrect API key provided: `+key+`."}}`),
		"in part of an error":  always(401, `{"error":{"message":"Incorrect API key provided: sk-canary-5f1c**** you sent Bearer `+key[:12]+`"}}`),
		"in another error":     always(500, `{"detail":"`+key+`"}`),
		"as the model":         always(200, strings.Replace(openAIAnswer, "writer-1", key, 1)),
		"as the reason to end": always(200, strings.Replace(strings.Replace(openAIAnswer, `"stop"`, `"`+key+`"`, 1), "{SUM}", "{WRONG}", 1)),
		"in an error of 200":   always(200, `{"error":"`+key+`"}`),
		"in a pass":            always(200, strings.Replace(openAIAnswer, `"stop"`, `"`+key+`"`, 1)),
	} {
		for _, provider := range registry.Providers() {
			spec := chatSpec(modelServer(t, answer).URL)
			spec.Provider, spec.Region, spec.Credentials.APIKey = provider, "eu-central-1", registry.SecretAt("env:KEY")
			got := invoked(t, spec, resolved)
			document, err := json.Marshal(got)
			if err != nil || strings.Contains(string(document), key[:8]) {
				t.Errorf("%s of %s: %s, %v", name, provider, document, err)
			}
			if got.Passed() == (got.Invoke.Transcript != nil) {
				t.Errorf("%s of %s: passed %v, transcript %v", name, provider, got.Passed(), got.Invoke.Transcript)
			}
		}
	}
	spec := chatSpec("http://127.0.0.1:1")
	spec.Credentials.APIKey = registry.SecretAt("env:KEY")
	wantCause(t, invoked(t, spec, settings(generous)), registry.NotConfigured, "env:KEY")
}

// purse is a budget that is counted here.
type purse struct {
	left   int
	taken  []int
	broken error
}

func (p *purse) Take(_ context.Context, tokens int) (bool, error) {
	if p.broken != nil || tokens > p.left {
		return false, p.broken
	}
	p.left -= tokens
	p.taken = append(p.taken, tokens)
	return true, nil
}

func (p *purse) Settle(_ context.Context, taken, needed int) error {
	p.left += taken - needed
	return nil
}

func TestModel_paysForWhatItAsks(t *testing.T) {
	t.Parallel()
	estimate := registry.ModeChat.Estimate()
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		cause   registry.Cause
		cost    int
	}{
		"what the answer states":          {modelHandler(always(200, openAIAnswer)), "", 26},
		"a greater total":                 {modelHandler(always(200, strings.Replace(openAIAnswer, `:26`, `:40`, 1))), registry.WrongUsage, 40},
		"nothing stated":                  {modelHandler(always(200, strings.Replace(openAIAnswer, `,`+usage, ``, 1))), registry.NoTokens, estimate},
		"tokens given back":               {modelHandler(always(200, strings.Replace(openAIAnswer, usage, `"usage":{"prompt_tokens":-2400,"completion_tokens":2}`, 1))), registry.NoTokens, estimate},
		"a wrong answer":                  {modelHandler(always(200, strings.Replace(openAIAnswer, "{SUM}", "{WRONG}", 1))), registry.CanaryFailed, 26},
		"no answer in time":               {hangs, registry.Timeout, estimate},
		"an error of the server":          {says(503, `{}`), registry.HTTPStatus, estimate},
		"a key that is not taken":         {says(401, `{}`), registry.Auth, 0},
		"too many requests":               {says(429, `{}`), registry.RateLimited, 0},
		"a time-out that the server says": {says(408, `{}`), registry.HTTPStatus, estimate},
		"no JSON":                         {says(200, `hello`), registry.NotJSON, estimate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, held := settings(generous), &purse{left: 1000}
			if row.cause == registry.Timeout {
				with = settings(short)
			}
			with.Purse = held
			spec := chatSpec(serverOf(t, row.handler))
			spec.DailyTokens = 1000
			wantCause(t, invoked(t, spec, with), row.cause, "")
			if cost := 1000 - held.left; cost != row.cost {
				t.Errorf("it cost %d tokens, want %d", cost, row.cost)
			}
		})
	}
}

func TestModel_asksNothingWithoutTheTokensForIt(t *testing.T) {
	t.Parallel()
	asked := 0
	server := modelServer(t, func(askedOf) (int, string) {
		asked++
		return 200, openAIAnswer
	})
	spec := chatSpec(server.URL)
	spec.DailyTokens = 100
	for name, row := range map[string]struct {
		purse *purse
		cause registry.Cause
		words string
	}{
		"a spent budget":        {&purse{left: registry.ModeChat.Estimate() - 1}, registry.Budget, "of the 100 tokens for a day (UTC)"},
		"a count that is wrong": {&purse{broken: errors.New("the disk is gone")}, registry.Overloaded, "the disk is gone"},
	} {
		with := settings(generous)
		with.Purse = row.purse
		if got := invoked(t, spec, with); got.Requests != 0 {
			t.Errorf("%s: %d requests are told", name, got.Requests)
		} else {
			wantCause(t, got, row.cause, row.words)
		}
	}
	wantCause(t, invoked(t, spec, settings(generous)), registry.Overloaded, "nothing here that counts it")
	if asked != 0 {
		t.Errorf("the model was asked %d times", asked)
	}
}
