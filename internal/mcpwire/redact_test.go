package mcpwire_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// canarySecret is easy to tell from any other text, and needs every escape.
const canarySecret = `Kx7/q"Zr+9<m\wT=4vB&d2é`

func TestRedactor_removesASecretInWhateverFormItComesBack(t *testing.T) {
	t.Parallel()
	escaped, err := json.Marshal(canarySecret)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":                      canarySecret,
		"twice":                         canarySecret + canarySecret,
		"in base64":                     base64.StdEncoding.EncodeToString([]byte(canarySecret)),
		"in base64 for URLs":            base64.URLEncoding.EncodeToString([]byte(canarySecret)),
		"in the header of Basic":        "Basic " + base64.StdEncoding.EncodeToString([]byte("client:"+canarySecret)),
		"in a longer text in base64":    base64.StdEncoding.EncodeToString([]byte("ab" + canarySecret + "cd")),
		"in a query":                    url.QueryEscape(canarySecret),
		"in a path":                     url.PathEscape(canarySecret),
		"percent-encoded in lower case": strings.ToLower(url.QueryEscape("/+")) + canarySecret,
		"in JSON":                       string(escaped),
		"in quotes":                     fmt.Sprintf("%q", canarySecret),
		"its first half":                canarySecret[:len(canarySecret)/2],
		"its second half":               canarySecret[len(canarySecret)/2:],
		"cut off":                       "an echo of Kx7/...",
		"cut off at the end":            "an echo of Kx7/q",
		"split over two lines":          "X-A: " + canarySecret[:9] + "\r\n\r\n" + canarySecret[9:],
	} {
		var hide mcpwire.Redactor
		hide.AddCredential(canarySecret)
		got := hide.Clean("before " + text)
		if !strings.HasPrefix(got, "before ") || !strings.Contains(got, "[secret]") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
		if left := leftOf(canarySecret, got); left != "" {
			t.Errorf("%s: %q is left in %q", name, left, got)
		}
		if again := hide.Clean(got); again != got {
			t.Errorf("%s: cleaned again, %q became %q", name, got, again)
		}
	}
}

// leftOf is a piece of eight bytes of the secret that the text still holds.
func leftOf(secret, text string) string {
	for i := range len(secret) - 7 {
		if strings.Contains(text, secret[i:i+8]) {
			return secret[i : i+8]
		}
	}
	return ""
}

func TestRedactor_leavesEverythingElseAlone(t *testing.T) {
	t.Parallel()
	var hide mcpwire.Redactor
	hide.AddCredential(canarySecret)
	hide.Add("http://127.0.0.1:8080/private")
	for _, commonplace := range []string{"", "1", "8080", "true", "Production", "info", "127.0.0.1"} {
		hide.Add(commonplace)
	}
	for _, text := range []string{"", "status 401", "connection refused by 127.0.0.1:8080", "Kx7", "1 tool", "...", "info: production"} {
		if got := hide.Clean(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := (*mcpwire.Redactor)(nil).Clean(canarySecret); got != canarySecret {
		t.Errorf("nil hides something: %q", got)
	}
}

func TestRedactor_keepsJSONWhatItIs(t *testing.T) {
	t.Parallel()
	var hide mcpwire.Redactor
	hide.Add("12345678")
	hide.Add(`a","b`)
	for raw, want := range map[string]string{
		`{"detail":"token 12345678"}`: `{"detail":"token [secret]"}`,
		`{"number":12345678}`:         strconv.Quote("[secret]"),
		`["a","b"]`:                   `["[secret]"]`,
		`{"detail":"fine"}`:           `{"detail":"fine"}`,
	} {
		if got := string(hide.CleanJSON(json.RawMessage(raw))); got != want {
			t.Errorf("%s became %s, want %s", raw, got, want)
		}
	}
}

func FuzzRedactor_leavesNoSecret(f *testing.F) {
	f.Add("hunter2-hunter2-hunter2", "x", "y")
	f.Add("\x00\xff????????????????", "", "...")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < 16 || strings.Contains("[secret]", secret) {
			return
		}
		var hide mcpwire.Redactor
		hide.AddCredential(secret)
		got := hide.Clean(before + secret + after)
		if strings.Contains(strings.ReplaceAll(got, "[secret]", "\n"), secret) {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}
