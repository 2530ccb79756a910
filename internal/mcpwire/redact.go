package mcpwire

import (
	"strings"
	"sync"
)

// Redactor removes secrets from text by their value. It is for many goroutines,
// and its zero value and nil hide nothing.
type Redactor struct {
	mu      sync.Mutex
	secrets []string
}

// redacted stands where a secret was.
const redacted = "[secret]"

// Add hides one more secret, in all forms in which it may come back.
func (r *Redactor) Add(secret string) {
	if r == nil || secret == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
}

// Clean returns the text without the secrets.
func (r *Redactor) Clean(text string) string {
	if r == nil {
		return text
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}
