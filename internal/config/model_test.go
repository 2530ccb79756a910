package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

const someModels = `
components:
  writer: {kind: model, provider: anthropic, model: claude-x, credentials: {api_key: env:KEY}, interval: 10m, daily_token_budget: 20000}
  vectors: {kind: model, provider: openai, base_url: http://127.0.0.1:11434/v1, model: bge, mode: embedding, dimensions: 384}
  order: {kind: model, provider: openai, base_url: http://gateway.example/v1, model: ranker, mode: rerank, credentials: {api_key: env:KEY}, interval: 10m}
  eager: {kind: model, provider: openai, model: gpt-x, interval: 1m}
  chain: {kind: model, provider: bedrock, region: eu-central-1, model: "x.writer-v1:0", interval: 1h}
  keys: {kind: model, provider: bedrock, region: cn-north-1, model: m, interval: 1m, daily_token_budget: 500, credentials: {access_key_id: env:ID, secret_access_key: env:SECRET, session_token: env:SESSION}}
`

func TestParse_readsModels(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv", someModels)
	if invalid != nil {
		t.Fatal(invalid)
	}
	got := map[string]registry.Model{}
	for i := range loaded.Components {
		model, ok := loaded.Components[i].Spec.(*registry.Model)
		if !ok {
			t.Fatalf("%s is a %T", loaded.Components[i].Name, loaded.Components[i].Spec)
		}
		got[loaded.Components[i].Name] = *model
	}
	at := registry.SecretAt
	want := map[string]registry.Model{
		"writer": {
			Provider: registry.ProviderAnthropic, BaseURL: "https://api.anthropic.com/v1", Model: "claude-x", Mode: registry.ModeChat,
			Credentials: registry.ModelCredentials{APIKey: at("env:KEY")}, DailyTokens: 20000,
		},
		"vectors": {Provider: registry.ProviderOpenAI, BaseURL: "http://127.0.0.1:11434/v1", Model: "bge", Mode: registry.ModeEmbedding, Dimensions: 384},
		"order": {
			Provider: registry.ProviderOpenAI, BaseURL: "http://gateway.example/v1", Model: "ranker", Mode: registry.ModeRerank,
			Credentials: registry.ModelCredentials{APIKey: at("env:KEY")},
		},
		"eager": {Provider: registry.ProviderOpenAI, BaseURL: "https://api.openai.com/v1", Model: "gpt-x", Mode: registry.ModeChat},
		"chain": {
			Provider: registry.ProviderBedrock, BaseURL: "https://bedrock-runtime.eu-central-1.amazonaws.com", Region: "eu-central-1", Model: "x.writer-v1:0", Mode: registry.ModeChat,
		},
		"keys": {
			Provider: registry.ProviderBedrock, BaseURL: "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", Region: "cn-north-1", Model: "m", Mode: registry.ModeChat, DailyTokens: 500,
			Credentials: registry.ModelCredentials{AccessKeyID: at("env:ID"), SecretAccessKey: at("env:SECRET"), SessionToken: at("env:SESSION")},
		},
	}
	same := cmp.Comparer(func(a, b registry.Secret) bool { return a.Equal(b) })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	warnings := briefly(loaded.Warnings(Resolver{Lookup: func(string) (string, bool) { return "x", true }}))
	wanted := []string{
		"5:52: the credentials are sent there in the clear / Use https.",
		"6:3: the model is asked every 1m0s, and nothing bounds what that costs / Add daily_token_budget, or a longer interval such as 10m.",
		"8:106: 1440 probes a day may need up to 184320 tokens; when the budget is spent, the status is unknown / Make the budget greater, or the interval longer.",
	}
	if diff := cmp.Diff(wanted, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if shown := Show(&loaded.Components[0]); shown.Target != "claude-x at https://api.anthropic.com/v1" || strings.Contains(shown.Target, "KEY") {
		t.Errorf("it is shown as %+v", shown)
	}
}
