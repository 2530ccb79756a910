package registry

import "net/url"

// KindModel is proven by a real invocation, as small as can be.
const KindModel Kind = "model"

// The causes that only models have. Budget is ours: nothing was asked.
const (
	Budget      Cause = "budget"
	NoContent   Cause = "no_content"
	NoTokens    Cause = "no_tokens"
	WrongUsage  Cause = "wrong_usage"
	WrongModel  Cause = "wrong_model"
	WrongVector Cause = "wrong_vector"
)

// ofModel is their row of the table.
func ofModel() kindOf {
	return kindOf{
		kind: KindModel, ours: []Cause{Budget},
		decode: func(document []byte) (Result, error) {
			var result ModelResult
			if err := result.UnmarshalJSON(document); err != nil {
				return nil, err
			}
			return &result, nil
		},
		causes: []CauseEntry{
			{Budget, "The day's budget of tokens is spent, so the model was not asked.", "Wait for the next day in UTC, raise daily_token_budget, or probe less often."},
			{NoContent, "The answer lacks what a model is asked for: a text, reasoning or a tool call, or a score for each document.", "Look for a filter, a refusal or a broken template between the model and its API."},
			{NoTokens, "No input or output tokens are stated above zero, so no model is shown to have run.", "Look for a cache or a stub in front of the model, and for usage that is not reported."},
			{WrongUsage, "The total of tokens is not the sum of input and output.", "Compare with the usage that the provider itself reports."},
			{WrongModel, "The answer comes from another model than the one asked for.", "Look for a fallback or an alias in front of the model; name the model that is meant."},
			{WrongVector, "The embedding is no vector of the length that is meant, is zero throughout, or holds what is no number.", "Check the model and its dimensions against the index that it fills."},
		},
	}
}

// Provider says by which API a model is asked.
type Provider string

// The providers.
const (
	ProviderOpenAI    Provider = "openai" // and every server with the same API
	ProviderAnthropic Provider = "anthropic"
	ProviderBedrock   Provider = "bedrock" // by its operation Converse
)

// Providers returns every provider.
func Providers() []Provider {
	return []Provider{ProviderOpenAI, ProviderAnthropic, ProviderBedrock}
}

// Modes returns the modes in which models of a provider can be asked.
func (p Provider) Modes() []Mode {
	if p == ProviderOpenAI {
		return []Mode{ModeChat, ModeEmbedding, ModeRerank}
	}
	return []Mode{ModeChat}
}

// Mode says what a model is for.
type Mode string

// The modes.
const (
	ModeChat      Mode = "chat"
	ModeEmbedding Mode = "embedding"
	ModeRerank    Mode = "rerank"
)

// Tokens that one request of a probe is taken to need until the answer says what
// it has needed, and for good when it does not.
const (
	MaxChatOutput = 64 // that a chat model may write

	promptTokens    = 64 // more than a prompt and what a server wraps around it
	embeddingTokens = 32
	rerankTokens    = 128
)

// Estimate is how many tokens one request is taken to need at most.
func (m Mode) Estimate() int {
	switch m {
	case ModeEmbedding:
		return embeddingTokens
	case ModeRerank:
		return rerankTokens
	case ModeChat:
	}
	return promptTokens + MaxChatOutput
}

// Model is a component of the kind model.
type Model struct {
	Provider Provider
	// BaseURL is the address of the API with its version path, such as
	// https://api.openai.com/v1. It holds no user, no password and no query.
	BaseURL     string
	Region      string // of Bedrock
	Model       string // as the provider calls it
	Mode        Mode
	Dimensions  int // how long a vector must be; 0 for any length
	Credentials ModelCredentials

	// DailyTokens is how many tokens its probes may spend in a day of UTC; 0 for
	// any number. No result depends on it.
	DailyTokens int `json:"-"`
}

// ModelCredentials are what a provider demands. APIKey excludes the others,
// which are those of AWS. With none of them, Bedrock is asked with what the
// default chain of AWS finds.
type ModelCredentials struct {
	APIKey          Secret
	AccessKeyID     Secret
	SecretAccessKey Secret
	SessionToken    Secret
}

// Budgeted is a Spec whose probes cost something that is counted by the day.
type Budgeted interface {
	// DailyBudget is how many tokens may be spent in a day of UTC; 0 for any number.
	DailyBudget() int
}

// Kind implements Spec.
func (m *Model) Kind() Kind { return KindModel }

// Secrets implements Spec.
func (m *Model) Secrets() []Secret {
	var secrets []Secret
	c := m.Credentials
	for _, each := range []Secret{c.APIKey, c.AccessKeyID, c.SecretAccessKey, c.SessionToken} {
		if !each.IsZero() {
			secrets = append(secrets, each)
		}
	}
	return secrets
}

// Host implements Spec: the host and port of the API.
func (m *Model) Host() string {
	address, err := url.Parse(m.BaseURL)
	if err != nil {
		return m.BaseURL
	}
	return address.Host
}

// DailyBudget implements Budgeted.
func (m *Model) DailyBudget() int { return m.DailyTokens }
