package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Purse holds what the probes of one component may still spend today, in tokens.
type Purse interface {
	// Take takes tokens out before a request is sent, and reports whether so many
	// were left.
	Take(ctx context.Context, tokens int) (bool, error)
	// Settle puts back what was taken and not needed, or takes what was needed
	// beyond it.
	Settle(ctx context.Context, taken, needed int) error
}

// maxStated bounds the tokens that are believed to be those of one request.
const maxStated = 1 << 30

// ask makes one request that is paid for before it leaves. When it cannot be paid,
// or nobody counts, none leaves.
func (i *invocation) ask(ctx, limited context.Context) (again bool, wrong *finding) {
	purse := i.settings.Purse
	if purse == nil {
		if i.spec.DailyTokens > 0 {
			return false, &finding{registry.Overloaded, "there is a daily budget, and nothing here that counts it"}
		}
		_, again, wrong = i.send(limited)
		return again, wrong
	}
	estimate := i.estimate()
	switch enough, err := purse.Take(limited, estimate); {
	case err != nil:
		return false, &finding{registry.Overloaded, registry.Shorten(fmt.Sprintf("the tokens cannot be counted: %v", err), registry.MaxDetail)}
	case !enough:
		return false, &finding{registry.Budget, fmt.Sprintf(
			"of the %d tokens for a day (UTC) fewer than the %d are left that a request is taken to need", i.spec.DailyTokens, estimate)}
	}
	i.result.Tokens = registry.Tokens{}
	status, again, wrong := i.send(limited)
	if err := purse.Settle(ctx, estimate, i.needed(status, wrong, estimate)); err != nil {
		i.result.Warnings = append(i.result.Warnings, registry.Shorten(fmt.Sprintf("the tokens that were taken could not be settled: %v", err), registry.MaxDetail))
	}
	return again, wrong
}

func (i *invocation) estimate() int {
	estimate := i.spec.Mode.Estimate()
	if i.spec.Mode == registry.ModeChat {
		estimate += i.asks.maxOutput - registry.MaxChatOutput
	}
	return estimate
}

// needed is what a request has cost: what the answer states; nothing when it did
// not leave, or was refused before a model ran, so that a component whose key was
// withdrawn stays red all day; else, as after a time-out, the whole estimate.
func (i *invocation) needed(status int, wrong *finding, estimate int) int {
	stated := i.result.Tokens.Input + i.result.Tokens.Output
	if i.result.Tokens.Total != nil {
		stated = max(stated, *i.result.Tokens.Total)
	}
	switch {
	case stated > 0:
		return min(stated, maxStated)
	case status == http.StatusRequestTimeout:
		return estimate
	case status >= 300 && status < 500:
		return 0
	case status == 0 && wrong != nil && neverLeft(wrong.cause):
		return 0
	}
	return estimate
}

func neverLeft(cause registry.Cause) bool {
	return slices.Contains([]registry.Cause{registry.NotConfigured, registry.DNS, registry.Refused, registry.TLS, registry.Denied}, cause)
}

// thinkingOutput is how many tokens a chat model may write that has written none
// within MaxChatOutput and says so by an error.
const thinkingOutput = 1024

// adapt puts the question differently if the refusal of it says how, each way
// once, and reports whether it did.
func (i *invocation) adapt(refusal string) bool {
	refusal = strings.ToLower(refusal)
	limit := "max_tokens"
	if i.asks.completion {
		limit = "max_completion_tokens"
	}
	switch {
	case i.spec.Provider != registry.ProviderOpenAI:
		return false
	case i.spec.Mode == registry.ModeEmbedding && i.asks.dimensions > 0 && strings.Contains(refusal, "dimensions"):
		i.asks.dimensions = 0 // The length of the vector is judged all the same.
	case i.spec.Mode != registry.ModeChat:
		return false
	case i.asks.maxOutput < thinkingOutput && strings.Contains(refusal, "output limit was reached"):
		i.asks.maxOutput = thinkingOutput
	case !i.renamed && strings.Contains(refusal, limit):
		i.renamed, i.asks.completion = true, !i.asks.completion
	default:
		return false
	}
	return true
}
