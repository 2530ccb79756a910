package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	maxDimensions  = 1 << 20
	maxTokenBudget = 1_000_000_000
)

// model is the keys of the kind model.
type model struct {
	Provider    string           `yaml:"provider"`
	BaseURL     string           `yaml:"base_url"`
	Region      string           `yaml:"region"`
	Model       string           `yaml:"model"`
	Mode        string           `yaml:"mode"`
	Dimensions  int              `yaml:"dimensions"`
	Credentials modelCredentials `yaml:"credentials"`
	Budget      int              `yaml:"daily_token_budget"`
}

type modelCredentials struct {
	APIKey          secretText `yaml:"api_key"`
	AccessKeyID     secretText `yaml:"access_key_id"`
	SecretAccessKey secretText `yaml:"secret_access_key"`
	SessionToken    secretText `yaml:"session_token"`
}

// ofModel is their row of the table.
func ofModel() kind {
	return kind{
		name: registry.KindModel, keys: func() ownKeys { return new(model) },
		doubts: doubtsOfModel, shown: shownOfModel,
	}
}

// spec implements ownKeys.
func (written *model) spec(c *checker, p path) registry.Spec {
	c.required(p, "provider", "model")
	made := &registry.Model{
		Provider:    c.provider(p.child("provider"), written.Provider),
		Region:      c.region(p.child("region"), written.Region),
		Model:       c.text(p.child("model"), written.Model),
		Dimensions:  c.number(p.child("dimensions"), written.Dimensions, maxDimensions),
		DailyTokens: c.number(p.child("daily_token_budget"), written.Budget, maxTokenBudget),
	}
	made.Mode = c.mode(p.child("mode"), written.Mode, made.Provider)
	made.Credentials = c.modelCredentials(p.child("credentials"), written.Credentials, made.Provider)
	written.address(c, p, made)
	if c.has(p.child("dimensions")) && made.Mode != registry.ModeEmbedding {
		c.complainOfKey(p.child("dimensions"), "only an embedding has dimensions", "Leave it out, or write mode: embedding.")
	}
	if budget := p.child("daily_token_budget"); made.DailyTokens > 0 && made.DailyTokens < made.Mode.Estimate() && !c.broken[budget] {
		c.complain(budget, fmt.Sprintf("one probe is taken to need %d tokens, so none would ever be made", made.Mode.Estimate()),
			"Write a greater number, or leave out the key.")
	}
	return made
}

// address fills in where the API is.
func (written *model) address(c *checker, p path, made *registry.Model) {
	at := p.child("base_url")
	switch {
	case c.has(at):
		if made.BaseURL = c.address(at, written.BaseURL); strings.Contains(made.BaseURL, "?") {
			c.keepSecret(at, written.BaseURL) // a query may hold a key
			c.complain(at, "the address has a query, but paths are added to it", "Give the address with its version path, such as https://api.example.org/v1.")
		}
	case made.Provider == registry.ProviderOpenAI:
		made.BaseURL = "https://api.openai.com/v1"
	case made.Provider == registry.ProviderAnthropic:
		made.BaseURL = "https://api.anthropic.com/v1"
	case made.Region != "":
		made.BaseURL = "https://bedrock-runtime." + made.Region + ".amazonaws.com"
		if strings.HasPrefix(made.Region, "cn-") {
			made.BaseURL += ".cn"
		}
	}
	isAWS := made.Provider == registry.ProviderBedrock
	switch {
	case isAWS && !c.has(p.child("region")):
		c.complainOfKey(p, "region is missing", "Add the key region, such as region: eu-central-1.")
	case !isAWS && made.Provider != "" && c.has(p.child("region")):
		c.complainOfKey(p.child("region"), "region is for the provider bedrock", "Leave it out; base_url says where the API is.")
	}
}

func (c *checker) provider(p path, written string) registry.Provider {
	provider := registry.Provider(written)
	switch {
	case slices.Contains(registry.Providers(), provider):
		return provider
	case c.has(p) && !c.broken[p]:
		c.complain(p, "there is no such provider", "Write openai (for every server with its API), anthropic or bedrock.")
	}
	return ""
}

func (c *checker) mode(p path, written string, provider registry.Provider) registry.Mode {
	mode := registry.Mode(written)
	modes := registry.ProviderOpenAI.Modes()
	switch {
	case written == "" && !c.has(p) || c.broken[p]:
		return registry.ModeChat
	case !slices.Contains(modes, mode):
		c.complain(p, "there is no such mode", "Write chat, embedding or rerank.")
		return registry.ModeChat
	case provider != "" && !slices.Contains(provider.Modes(), mode):
		c.complain(p, fmt.Sprintf("models of the provider %s are asked in the mode chat alone", provider),
			"Write mode: chat, or reach the model by an API in the manner of OpenAI's.")
	}
	return mode
}

// region has the letters that a host name may have, since it becomes part of one.
func (c *checker) region(p path, written string) string {
	region := c.text(p, written)
	if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" && !c.broken[p] {
		c.complain(p, "this is not the name of a region", "Write one such as eu-central-1.")
		return ""
	}
	return region
}

func (c *checker) modelCredentials(p path, written modelCredentials, provider registry.Provider) registry.ModelCredentials {
	made := registry.ModelCredentials{
		APIKey:          c.secret(p.child("api_key"), written.APIKey),
		AccessKeyID:     c.secret(p.child("access_key_id"), written.AccessKeyID),
		SecretAccessKey: c.secret(p.child("secret_access_key"), written.SecretAccessKey),
		SessionToken:    c.secret(p.child("session_token"), written.SessionToken),
	}
	has := func(key string) bool { return c.has(p.child(key)) }
	for _, key := range []string{"access_key_id", "secret_access_key", "session_token"} {
		switch {
		case !has(key):
		case provider != "" && provider != registry.ProviderBedrock:
			c.complainOfKey(p.child(key), key+" is for the provider bedrock", "Write api_key: env:NAME.")
		case has("api_key"):
			c.complainOfKey(p.child(key), "api_key and the keys of AWS exclude each other", "Keep one way.")
		case key != "access_key_id" && !has("access_key_id"):
			c.complainOfKey(p.child(key), key+" needs access_key_id", "Add access_key_id: env:NAME.")
		case key == "access_key_id" && !has("secret_access_key"):
			c.complainOfKey(p.child(key), "access_key_id needs secret_access_key", "Add secret_access_key: env:NAME.")
		}
	}
	return made
}

// shownOfModel is where the model is.
func shownOfModel(spec registry.Spec) Shown {
	model, ok := spec.(*registry.Model)
	if !ok {
		return Shown{}
	}
	return Shown{Target: model.Model + " at " + model.BaseURL}
}

// costlyInterval is from when on probes that cost money are worth a warning.
const costlyInterval = 5 * time.Minute

func doubtsOfModel(r *reviewer, p path, component *registry.Component) []Problem {
	model, ok := component.Spec.(*registry.Model)
	if !ok {
		return nil
	}
	var warnings []Problem
	every := component.Policy().Interval
	probes := int(24 * time.Hour / every)
	fullDay := model.DailyTokens / model.Mode.Estimate()
	local := false
	if address, err := url.Parse(model.BaseURL); err == nil {
		local = loopback(address.Hostname())
	}
	switch {
	case model.DailyTokens == 0 && every < costlyInterval && !local:
		warnings = append(warnings, r.doubtOfKey(p, fmt.Sprintf("the model is asked every %v, and nothing bounds what that costs", every),
			"Add daily_token_budget, or a longer interval such as 10m."))
	case model.DailyTokens > 0 && fullDay < probes:
		warnings = append(warnings, r.doubt(p.child("daily_token_budget"),
			fmt.Sprintf("%d probes a day may need up to %d tokens; when the budget is spent, the status is unknown", probes, probes*model.Mode.Estimate()),
			"Make the budget greater, or the interval longer."))
	}
	if len(model.Secrets()) > 0 && model.Credentials.AccessKeyID.IsZero() && !confidential(model.BaseURL) {
		warnings = append(warnings, r.doubt(p.child("base_url"), "the credentials are sent there in the clear", "Use https."))
	}
	return warnings
}
