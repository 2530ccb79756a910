package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Secrets that occur nowhere else, so that a piece of one is a leak.
const (
	bearerSecret = `Jq7Xv/2+Lk9"Tz4&Wm8Rb`
	clientSecret = "Ys6Dn3Gh8Fc1Pa5Ue0Io"
	issuedToken  = "Vt2Bx9Kq4Mj7Zw1Hs6Nd"
	childSecret  = "Ol8Cr5Ey2Gi6Qp3Sf9Tu"
)

// configured writes a configuration file and returns its path.
func configured(t *testing.T, yaml string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "countersign.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func listening(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// leaks returns the pieces of secrets that a text holds, in the clear or in base64.
func leaks(text string) []string {
	var found []string
	for _, secret := range []string{bearerSecret, clientSecret, issuedToken, childSecret} {
		escaped, _ := json.Marshal(secret)
		for _, form := range []string{
			secret, url.QueryEscape(secret), string(escaped[1 : len(escaped)-1]), base64.RawStdEncoding.EncodeToString([]byte(secret)),
			base64.RawStdEncoding.EncodeToString([]byte("us:" + secret))[4:],
		} {
			for i := range len(form) - 7 {
				if piece := form[i : i+8]; strings.Contains(text, piece) {
					found = append(found, piece)
				}
			}
		}
	}
	return found
}

// everyOutput runs the command in each way of printing and returns all of it.
func everyOutput(s *shell, args ...string) string {
	var all strings.Builder
	for _, flags := range [][]string{{}, {"--json"}} {
		for _, more := range [][]string{{}, {"--explain"}} {
			_, out, complaint := s.run(slices.Concat(flags, []string{"probe"}, args, more)...)
			all.WriteString(out + complaint)
		}
	}
	return all.String()
}

// echoing is a server that gives back what it was sent, wherever a server can.
func echoing(form func(string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		sent := form(request.Header.Get("Authorization"))
		half := len(sent) / 2
		text, _ := json.Marshal(sent)
		half1, _ := json.Marshal(strings.Repeat("x", 480) + sent)
		w.Header().Set("X-Echo", url.QueryEscape(sent[:half]))
		w.Header().Set("Content-Type", "application/json")
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(request.Body).Decode(&message)
		switch {
		case request.URL.Path == "/healthz":
			w.Header().Set("Location", "/?"+url.QueryEscape(sent))
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, sent[half:])
		case request.URL.Path == "/test":
			fmt.Fprintf(w, `{"ok":false,"detail":%s,"tools":{%s:{"executable":false,"detail":%s}}}`, half1, text, text)
		case message.Method == "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":%s,"version":%s}}}`, message.ID, text, half1)
		case message.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":%s},{"name":%s},{"name":%s}]}}`, message.ID, text, text, half1)
		case message.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s}}`, message.ID, text)
		}
	}
}

func TestProbe_showsNoSecretThatAServerGivesBack(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(string) string{
		"as it is":        func(sent string) string { return sent },
		"in base64":       func(sent string) string { return base64.StdEncoding.EncodeToString([]byte(sent)) },
		"percent-encoded": url.QueryEscape,
		"cut off":         func(sent string) string { return sent[:len(sent)-3] },
		"in quotes":       func(sent string) string { return fmt.Sprintf("%q", sent) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.env["TOKEN"] = bearerSecret
			file := configured(t, fmt.Sprintf(
				"components:\n  it:\n    kind: mcp_server\n    url: %s\n    require_tools: [none]\n    credentials: {bearer: env:TOKEN}\n",
				listening(t, echoing(form))))
			said := everyOutput(s, "it", "--config", file)
			if found := leaks(said); len(found) > 0 {
				t.Errorf("%q leaks in\n%s", found, said)
			}
			if !strings.Contains(said, "[secret]") || !strings.Contains(said, "missing_tool") {
				t.Errorf("the server's answers are not shown:\n%s", said)
			}
		})
	}
}

func TestProbe_showsNoSecretOfOAuth(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]bool{"a token that is refused": true, "a token that is given back": false} {
		s := newShell(t)
		s.env["SECRET"] = clientSecret
		issuer := listening(t, func(w http.ResponseWriter, request *http.Request) {
			body, _ := io.ReadAll(request.Body)
			if refuse {
				text, _ := json.Marshal(request.Header.Get("Authorization") + string(body) + clientSecret)
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":"invalid_client","error_description":%s}`, text)
				return
			}
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","was":%q}`, issuedToken, clientSecret)
		})
		file := configured(t, fmt.Sprintf("components:\n  it:\n    kind: mcp_server\n    url: %s\n    credentials:\n      oauth: {issuer: %s, token_url: %s/token, client_id: us, client_secret: env:SECRET}\n",
			listening(t, echoing(func(sent string) string { return sent })), issuer, issuer))
		said := everyOutput(s, "it", "--config", file)
		if found := leaks(said); len(found) > 0 {
			t.Errorf("%s: %q leaks in\n%s", name, found, said)
		}
		if strings.Contains(said, "invalid_client") != refuse || !strings.Contains(said, "[secret]") {
			t.Errorf("%s: the answers are not shown:\n%s", name, said)
		}
	}
}

func TestProbe_saysWhichSecretIsMissing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := configured(t, "components:\n  it:\n    kind: mcp_server\n    url: http://127.0.0.1:1\n    credentials: {bearer: env:NOT_SET}\n")
	code, out, complaint := s.run("probe", "it", "--config", file)
	if code != exitNo || strings.Count(out, "env:NOT_SET") < 3 || !strings.Contains(out, "not_configured") {
		t.Errorf("exit %d with %q, %q", code, out, complaint)
	}
}
