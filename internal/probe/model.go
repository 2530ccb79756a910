package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// Limits of an invocation.
const (
	maxModelAnswer   = 4 << 20 // bytes; a vector is a text of some 20 bytes for each dimension
	maxModelRequests = 3       // the first, and those that it was told to put differently
)

// ofModel is their row of the table.
func ofModel() kindOf {
	return kindOf{
		kind: registry.KindModel, examine: examineModel,
		timeout: func(registry.Spec) time.Duration { return registry.SlowTimeout }, // for all requests together
		failed: func(of *registry.Component, settings Settings, cause registry.Cause, detail string) registry.Result {
			return failedModel(of, settings, cause, detail)
		},
		lighter: func(of registry.Result) []registry.Result {
			result, ok := of.(*registry.ModelResult)
			if !ok {
				return nil
			}
			left := *result
			left.Invoke.Transcript = nil
			left.Warnings = append(slices.Clip(left.Warnings), "left out of the record for its size: the transcript")
			return []registry.Result{result, &left}
		},
		gates: func(of registry.Result) []*registry.GateResult {
			result, ok := of.(*registry.ModelResult)
			if !ok {
				return nil
			}
			return []*registry.GateResult{&result.Invoke}
		},
	}
}

func failedModel(of *registry.Component, settings Settings, cause registry.Cause, detail string) *registry.ModelResult {
	result := &registry.ModelResult{Target: of.Name, ProbedAt: settings.Now().UTC()}
	if spec, ok := of.Spec.(*registry.Model); ok {
		result.Provider, result.Mode, result.Model = spec.Provider, spec.Mode, spec.Model
	}
	result.Invoke = registry.Fail(0, cause, registry.Shorten(detail, registry.MaxDetail))
	return result
}

// question is what one probe asks of a model.
type question struct {
	left, right int  // of the sum
	maxOutput   int  // tokens that a chat model may write
	completion  bool // this is called max_completion_tokens
	dimensions  int  // 0 to ask for none
}

func (q question) sum() string {
	return fmt.Sprintf("What is %d + %d? Answer with the number only.", q.left, q.right)
}

// What a rerank is asked: the documents, and the question that one of them answers.
const rerankQuery = "Which of these is the capital of France?"

func rerankDocuments() []string {
	return []string{"Berlin is the capital of Germany.", "Paris is the capital of France.", "Bread is made of flour."}
}

// embedded is the text of which a vector is asked for.
const embedded = "The quick brown fox jumps over the lazy dog."

// api is how a provider is asked, and how its answers are read.
type api struct {
	path   func(*registry.Model) string // below the base address, escaped
	header map[string]string
	body   func(*registry.Model, question) any
	// read fills what a 2xx answer says into the result. An error is a finding.
	read func(body []byte, result *registry.ModelResult) *finding
}

// invocation is one probe of a model.
type invocation struct {
	spec     *registry.Model
	settings Settings
	api      api
	address  *url.URL
	result   *registry.ModelResult
	asks     question
	renamed  bool   // maxOutput was
	sign     signer // nil unless requests are signed one by one
}

// signer signs a request with its payload.
type signer func(ctx context.Context, request *http.Request, payload []byte) error

// examineModel invokes a model once, with a question whose answer can be checked.
func examineModel(ctx context.Context, component *registry.Component, settings Settings) registry.Result {
	spec, ok := component.Spec.(*registry.Model)
	if !ok {
		return failedModel(component, settings, registry.NotConfigured, "the component does not say what model it is")
	}
	asked, err := newInvocation(component, spec, settings)
	if err != nil {
		return failedModel(component, settings, registry.NotConfigured, err.Error())
	}
	began := time.Now()
	invoked := guarded(ctx, asked.settings.Timeout, func(limited context.Context) finding { return asked.run(ctx, limited) })
	invoked.LatencyMs = registry.Milliseconds(time.Since(began))
	asked.result.Invoke = asked.settings.kept(invoked)
	asked.clean()
	return asked.result
}

// newInvocation makes what is needed of a component. Its error shows no secret.
func newInvocation(component *registry.Component, spec *registry.Model, settings Settings) (*invocation, error) {
	address, err := parseAddress("base_url", spec.BaseURL)
	if err != nil {
		return nil, err
	}
	asked := &invocation{
		spec: spec, address: address,
		result: &registry.ModelResult{
			Target: component.Name, Provider: spec.Provider, Mode: spec.Mode, Model: spec.Model, ProbedAt: settings.Now().UTC(),
		},
		asks: question{
			left: 11 + rand.IntN(39), right: 11 + rand.IntN(39), maxOutput: registry.MaxChatOutput, dimensions: spec.Dimensions, //nolint:gosec // the numbers are no secret
		},
	}
	if asked.api, err = apiOf(spec); err != nil {
		return nil, err
	}
	asked.settings = asked.opened(settings).recorded()
	asked.asks.completion = address.Hostname() == "api.openai.com"
	switch spec.Mode {
	case registry.ModeChat:
		asked.result.Sum = &registry.Sum{Left: asked.asks.left, Right: asked.asks.right}
	case registry.ModeEmbedding:
		asked.result.Vector = &registry.Vector{Wanted: spec.Dimensions}
	case registry.ModeRerank:
	}
	return asked, nil
}

func apiOf(spec *registry.Model) (api, error) {
	switch {
	case spec.Provider == registry.ProviderAnthropic && spec.Mode == registry.ModeChat:
		return anthropicMessages(), nil
	case spec.Provider == registry.ProviderBedrock && spec.Mode == registry.ModeChat:
		return bedrockConverse(), nil
	case spec.Provider != registry.ProviderOpenAI:
	case spec.Mode == registry.ModeChat:
		return openAIChat(), nil
	case spec.Mode == registry.ModeEmbedding:
		return openAIEmbeddings(), nil
	case spec.Mode == registry.ModeRerank:
		return openAIRerank(), nil
	}
	return api{}, fmt.Errorf("models of the provider %q cannot be asked in the mode %q", spec.Provider, spec.Mode)
}

// opened returns the settings for the invocation, with the credentials and what
// hides them. Keys of AWS are not sent but sign each request.
func (i *invocation) opened(settings Settings) Settings {
	var wanted registry.Credentials
	key := i.spec.Credentials.APIKey
	switch {
	case key.IsZero():
	case i.spec.Provider == registry.ProviderAnthropic:
		wanted.Headers = map[string]registry.Secret{"X-Api-Key": key}
	default:
		wanted.Bearer = key
	}
	settings = settings.opened(MCPServer{Endpoint: i.address, Credentials: wanted})
	if i.spec.Provider == registry.ProviderBedrock && key.IsZero() {
		i.sign = i.awsSigner(settings)
	}
	return settings
}

// run asks, as often as an answer says how to put the question differently, and
// judges what came. Tokens are settled under ctx, which has no deadline of ours.
func (i *invocation) run(ctx, limited context.Context) finding {
	for i.result.Requests < maxModelRequests {
		again, wrong := i.ask(ctx, limited)
		switch {
		case wrong != nil:
			return *wrong
		case again:
			continue
		}
		if cause, detail := i.result.Verdict(); cause != "" {
			return finding{cause, registry.Shorten(detail, registry.MaxDetail)}
		}
		return finding{detail: i.found()}
	}
	return finding{registry.HTTPStatus, "status 400, however the question is put"} // send gives up before
}

// found is what a pass has to tell.
func (i *invocation) found() string {
	used := words.Counted(i.result.Tokens.Input, "token") + " in"
	tokens := fmt.Sprintf("%s, %d out", used, i.result.Tokens.Output)
	switch result := i.result; {
	case result.Vector != nil:
		return words.Counted(result.Vector.Length, "dimension") + "; " + used
	case result.Scores != nil:
		return words.Counted(result.Scores.Scored, "document") + " scored"
	case result.Sum != nil && result.Sum.Answer != nil:
		return fmt.Sprintf("%d + %d = %d; %s", result.Sum.Left, result.Sum.Right, *result.Sum.Answer, tokens)
	}
	var kinds []string
	for _, kind := range i.result.Content {
		kinds = append(kinds, strings.ReplaceAll(string(kind), "_", " "))
	}
	return "no text yet, but " + strings.Join(kinds, " and ") + "; " + tokens
}

// send makes one request and reads its answer into the result. The status is 0
// when none came; again says that the question is to be put differently.
func (i *invocation) send(ctx context.Context) (status int, again bool, wrong *finding) {
	request, err := i.request(ctx)
	if err != nil {
		return 0, false, new(found(err))
	}
	client := i.settings.outlet.Client()
	defer client.CloseIdleConnections()
	began := time.Now()
	i.result.Requests++
	exchange, err := mcpwire.Do(ctx, client, request)
	if err != nil {
		told := found(err)
		if neverLeft(told.cause) {
			i.result.Requests--
		}
		return 0, false, &told
	}
	defer exchange.Close()
	status = exchange.Response.StatusCode
	body, err := exchange.ReadAll(ctx, maxModelAnswer)
	i.result.Timings = exchange.Phases(time.Since(began))
	refused := registry.StatusCause(status)
	switch {
	case refused == "" && errors.Is(err, mcpwire.ErrBroken):
		return status, false, &finding{registry.NotJSON, err.Error()}
	case refused == "" && err != nil:
		return status, false, new(found(err))
	case refused == "":
		return status, false, i.api.read(body, i.result)
	case status == http.StatusBadRequest && i.result.Requests < maxModelRequests && i.adapt(string(body)):
		return status, true, nil
	}
	detail := exchange.StatusDetail()
	if said := saidBy(body); said != "" {
		detail += ": " + said
	}
	return status, false, &finding{refused, registry.Shorten(detail, registry.MaxDetail)}
}

// request is the next request.
func (i *invocation) request(ctx context.Context) (*http.Request, error) {
	payload, err := json.Marshal(i.api.body(i.spec, i.asks))
	if err != nil {
		return nil, fmt.Errorf("write the request as JSON: %w", err)
	}
	to, err := url.Parse(strings.TrimRight(i.address.String(), "/") + i.api.path(i.spec))
	if err != nil {
		return nil, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: "the name of the model makes no address"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", clientName+"/"+i.settings.Version)
	for name, value := range i.api.header {
		request.Header.Set(name, value)
	}
	if i.sign != nil {
		if err := i.sign(ctx, request, payload); err != nil {
			return nil, err
		}
	}
	return request, nil
}

// clean removes the secrets from whatever the model or its API could have put
// into the result.
func (i *invocation) clean() {
	clean := i.settings.outlet.Redactor.Clean
	result := i.result
	for _, text := range []*string{&result.Invoke.Detail, &result.StatedModel, &result.Finish} {
		*text = clean(*text)
	}
	for n := range result.Warnings {
		result.Warnings[n] = clean(result.Warnings[n])
	}
}
