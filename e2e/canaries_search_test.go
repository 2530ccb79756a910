//go:build unix

package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// windowBytes is how much of a credential is a leak: as much of it may be found
// nowhere, in none of its forms.
const windowBytes = 8

// canaries are secrets by what they are for, and all that was said while they were
// in use. It is for many goroutines.
type canaries struct {
	mu      sync.Mutex
	secrets map[string]string
	said    map[string]string // by who said it
}

func newCanaries() *canaries {
	return &canaries{secrets: map[string]string{}, said: map[string]string{}}
}

// plant makes a secret that occurs nowhere else, with characters that have to be
// escaped.
func (c *canaries) plant(what string) string {
	return c.keep(what, rand.Text()[:11]+"/"+rand.Text()[:11]+"+"+rand.Text()[:9])
}

func (c *canaries) keep(what, secret string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets[what] = secret
	return secret
}

// heard keeps what somebody has said.
func (c *canaries) heard(who string, texts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said[who] += strings.Join(texts, "\n")
}

// heardFiles keeps what is in files.
func (c *canaries) heardFiles(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no file %s: %v", pattern, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		c.heard("the file "+filepath.Base(file), string(content))
	}
}

// formsOf are the forms in which a secret may be found, and how many bytes of each
// are too many.
func formsOf(secret string) map[string]int {
	digits := hex.EncodeToString([]byte(secret))
	forms := map[string]int{
		secret: windowBytes, url.QueryEscape(secret): windowBytes, url.PathEscape(secret): windowBytes,
		digits: 2 * windowBytes, strings.ToUpper(digits): 2 * windowBytes,
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes of a longer text that was encoded
			encoded := encoding.EncodeToString(append(make([]byte, before), secret...))
			forms[encoded[(before*8+5)/6:(before+len(secret))*8/6]] = windowBytes
		}
	}
	return forms
}

// leaks tells where a piece of a secret is found, once for each secret and source.
func (c *canaries) leaks() []string {
	pieces := map[int]map[string]string{windowBytes: {}, 2 * windowBytes: {}}
	for what, secret := range c.secrets {
		for form, size := range formsOf(secret) {
			for at := range len(form) - size + 1 {
				pieces[size][form[at:at+size]] = what
			}
		}
	}
	found := map[string]string{}
	for who, text := range c.said {
		for size, named := range pieces {
			for at := range max(len(text)-size+1, 0) {
				what, isLeak := named[text[at:at+size]]
				if leak := what + " in " + who; isLeak && found[leak] == "" {
					found[leak] = fmt.Sprintf("%s: %q", leak, text[max(0, at-120):min(len(text), at+120)])
				}
			}
		}
	}
	return slices.Sorted(maps.Values(found))
}

// TestCanaries_areFoundInEveryForm shows that the search finds what it is for.
func TestCanaries_areFoundInEveryForm(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(string) string{
		"plain":           func(secret string) string { return secret },
		"a piece":         func(secret string) string { return secret[9:17] },
		"percent-encoded": url.QueryEscape,
		"hexadecimal":     func(secret string) string { return fmt.Sprintf("%X", secret) },
		"a pair":          func(secret string) string { return base64.StdEncoding.EncodeToString([]byte("us:" + secret)) },
		"base64 of URLs":  func(secret string) string { return base64.URLEncoding.EncodeToString([]byte(secret + "?")) },
	} {
		planted := newCanaries()
		secret := planted.plant("the key")
		planted.heard("nobody", "it is not "+secret[:7]+", and not "+rand.Text())
		planted.heard("somebody", "it is "+form(secret)+".")
		if leaks := planted.leaks(); len(leaks) != 1 || !strings.HasPrefix(leaks[0], "the key in somebody: ") {
			t.Errorf("%s: found %q", name, leaks)
		}
	}
}
