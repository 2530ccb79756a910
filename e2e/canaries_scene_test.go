//go:build unix

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// canaryScene is a registry with a component for each way in which a secret is
// given, and doubles that give the secrets back.
type canaryScene struct {
	*canaries
	*echoes

	folder     string
	env        []string
	names      []string
	components map[string]map[string]any
	sent       map[string][]string // by component, what its double must have been sent
}

func newCanaryScene(t *testing.T) *canaryScene {
	t.Helper()
	s := &canaryScene{
		canaries: newCanaries(), echoes: &echoes{got: map[string]string{}},
		folder: t.TempDir(), components: map[string]map[string]any{}, sent: map[string][]string{},
	}
	s.env = environment(t)
	s.addServers(t)
	s.addOAuth(t)
	s.addTLS(t)
	s.addPrograms(t)
	s.addModels(t)
	s.addImages(t)
	return s
}

// ofEnv plants a secret in the environment, and returns the reference to it.
func (s *canaryScene) ofEnv(name string) (secret, reference string) {
	variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	secret = s.plant(name)
	s.env = append(s.env, variable+"="+secret)
	return secret, "env:" + variable
}

// ofFile plants a secret in a file.
func (s *canaryScene) ofFile(t *testing.T, name string) (secret, reference string) {
	t.Helper()
	secret = s.plant(name)
	writeFile(t, filepath.Join(s.folder, name), secret+"\n")
	return secret, "file:" + name
}

func (s *canaryScene) add(name, kind string, keys map[string]any, sent ...string) {
	keys["kind"], keys["interval"], keys["ttl"], keys["timeout"] = kind, "1s", "10m", "60s"
	s.names = append(s.names, name)
	s.components[name], s.sent[name] = keys, sent
}

func retrieval() map[string]any {
	return map[string]any{
		"tool": "search", "chunks": "$.results", "ids": "$.results[*].id", "version": "$.content_version", "force": true,
	}
}

func fineCanary() map[string]any {
	return map[string]any{"tool": "search", "expect": map[string]any{"matches": "^fine"}, "force": true}
}

// addServers adds MCP servers and knowledge bases that want a bearer token or
// headers, and what is wrong with its secret.
func (s *canaryScene) addServers(t *testing.T) {
	t.Helper()
	for kind, own := range map[string]map[string]any{
		"mcp_server": {"canary": fineCanary(), "require_tools": []string{"none"}}, "knowledge_base": {"retrieve": retrieval()},
	} {
		token, fromEnv := s.ofEnv(kind + "-bearer")
		header, fromFile := s.ofFile(t, kind+"-header")
		query := s.plant(kind + "-query")
		for way, row := range map[string]struct {
			secret, query string
			credentials   any
		}{
			"bearer": {token, "", map[string]any{"bearer": fromEnv}},
			"header": {header, "", map[string]any{"headers": map[string]any{"X-Api-Key": fromFile}}},
			"query":  {query, "?key=" + strings.NewReplacer("/", "%2F", "+", "%2B").Replace(query), nil},
		} {
			name := kind + "-" + way
			url := listenAs(t, http.HandlerFunc(s.of(name, row.secret).server))
			keys := map[string]any{"url": url, "mcp_url": url + "/mcp" + row.query}
			maps.Copy(keys, own)
			if row.credentials != nil {
				keys["credentials"] = row.credentials
			}
			s.add(name, kind, keys, row.secret)
		}
	}
	writeFile(t, filepath.Join(s.folder, "broken"), s.plant("broken-first-line")+"\n"+s.plant("broken-second-line"))
	s.add("broken-bearer", "mcp_server", map[string]any{"url": "http://127.0.0.1:1", "credentials": map[string]any{"bearer": "file:broken"}})
	s.add("broken-header", "knowledge_base", map[string]any{
		"url": "http://127.0.0.1:1", "retrieve": retrieval(), "credentials": map[string]any{"headers": map[string]any{"X-Api-Key": "file:broken"}},
	})
	s.add("broken-model", "model", map[string]any{
		"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "adder-1", "credentials": map[string]any{"api_key": "file:broken"},
	})
	_, junk := s.ofEnv("broken-key")
	s.add("broken-key", "mcp_server", map[string]any{
		"url": "https://127.0.0.1:1", "credentials": map[string]any{"client_cert": junk, "client_key": junk},
	})
}

func (s *canaryScene) addOAuth(t *testing.T) {
	t.Helper()
	secret, reference := s.ofEnv("oauth-secret")
	token := s.plant("oauth-token")
	issuer := listenAs(t, s.of("oauth-issuer", secret).issuer(token, s.plant("oauth-other-token")))
	s.sent["oauth-issuer"] = []string{secret}
	for name, own := range map[string]map[string]any{
		"oauth": {}, "oauth-without-metadata": {"token_url": issuer + "/token"},
	} {
		oauth := map[string]any{"issuer": issuer, "client_id": "us", "client_secret": reference}
		maps.Copy(oauth, own)
		s.add(name, "mcp_server", map[string]any{
			"url":    listenAs(t, http.HandlerFunc(s.of(name, secret, token).server)),
			"canary": fineCanary(), "credentials": map[string]any{"oauth": oauth},
		}, token)
	}
}

// addTLS adds a server that wants a client certificate, and knows a line of its key.
func (s *canaryScene) addTLS(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	line := s.keep("tls-key", strings.Split(private, "\n")[2])
	writeFile(t, filepath.Join(s.folder, "tls.key"), private)
	writeFile(t, filepath.Join(s.folder, "tls.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))

	server := httptest.NewUnstartedServer(http.HandlerFunc(s.of("tls", line).server))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := filepath.Join(s.folder, "authority.pem")
	writeFile(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	s.env = append(s.env, "SSL_CERT_FILE="+authority)
	s.add("tls", "mcp_server", map[string]any{
		"url": server.URL, "canary": fineCanary(), "credentials": map[string]any{"client_cert": "file:tls.pem", "client_key": "file:tls.key"},
	})
}

// addPrograms adds servers that are started for the probe, and given a secret.
func (s *canaryScene) addPrograms(t *testing.T) {
	t.Helper()
	script := filepath.Join(s.folder, "server.sh")
	writeFile(t, script, childServer)
	_, reference := s.ofEnv("child-secret")
	env := map[string]any{"CHILD_SECRET": reference, "CHILD_TEXT": s.plant("child-text")}
	s.add("child", "mcp_server", map[string]any{"command": []string{"sh", script}, "env": env, "canary": fineCanary()})
	s.add("child-that-leaves", "mcp_server", map[string]any{"command": []string{"sh", script, "leave"}, "env": env, "canary": fineCanary()})
	s.add("child-that-knows", "knowledge_base", map[string]any{"command": []string{"sh", script}, "env": env, "retrieve": map[string]any{
		"tool": "search", "chunks": "$.content", "ids": "$.content[*].text", "expect_ids": []string{"none"}, "version": "$.content[0].text", "force": true,
	}})
}

func (s *canaryScene) addModels(t *testing.T) {
	t.Helper()
	for name, row := range map[string]map[string]any{
		"openai-chat":      {"provider": "openai"},
		"openai-embedding": {"provider": "openai", "mode": "embedding", "dimensions": 2},
		"openai-rerank":    {"provider": "openai", "mode": "rerank"},
		"anthropic":        {"provider": "anthropic"},
	} {
		key, reference := s.ofEnv(name)
		row["base_url"] = listenAs(t, http.HandlerFunc(s.of(name, key).model)) + "/v1"
		row["model"], row["credentials"] = "adder-1", map[string]any{"api_key": reference}
		s.add(name, "model", row, key)
	}
	id, ofID := s.ofEnv("bedrock-id")
	secret, ofSecret := s.ofEnv("bedrock-secret")
	token, ofToken := s.ofFile(t, "bedrock-token")
	s.add("bedrock", "model", map[string]any{
		"provider": "bedrock", "region": "eu-central-1", "model": "adder-1",
		"base_url":    listenAs(t, http.HandlerFunc(s.of("bedrock", id, secret, token).model)),
		"credentials": map[string]any{"access_key_id": ofID, "secret_access_key": ofSecret, "session_token": ofToken},
	}, id, token)
	id, _ = s.ofEnv("aws-access-key-id")
	secret, _ = s.ofEnv("aws-secret-access-key")
	token, _ = s.ofEnv("aws-session-token")
	s.add("bedrock-by-its-chain", "model", map[string]any{
		"provider": "bedrock", "region": "eu-central-1", "model": "adder-1",
		"base_url": listenAs(t, http.HandlerFunc(s.of("bedrock-by-its-chain", id, secret, token).model)),
	}, id, token)
}

// addImages adds images whose registries want credentials, and whose reports give
// them away as well.
func (s *canaryScene) addImages(t *testing.T) {
	t.Helper()
	bearer, ofBearer := s.ofEnv("image-bearer")
	user, ofUser := s.ofEnv("image-user")
	password, ofPassword := s.ofFile(t, "image-password")
	stored := s.plant("image-keychain")
	_, junk := s.ofEnv("image-key")
	token, other := s.plant("image-token"), s.plant("image-other-token")
	for name, row := range map[string]struct {
		credentials map[string]any
		token       string
		secrets     []string
		sent        string
	}{
		"image-by-bearer":   {map[string]any{"bearer": ofBearer}, "", []string{bearer}, bearer},
		"image-by-password": {map[string]any{"username": ofUser, "password": ofPassword}, token, []string{user, password}, user + ":" + password},
		"image-by-keychain": {map[string]any{"docker_keychain": true}, "", []string{stored}, "us:" + stored},
	} {
		locked := new(atomic.Bool)
		image := scanImage(t, s.of(name, row.secrets...).images(locked, row.token, other))
		var findings []string
		for _, form := range echoForms() {
			findings = append(findings, form(strings.Join(row.secrets, "_"))+" HIGH")
		}
		image.report(t, time.Now(), findings...)
		locked.Store(true)
		keys := map[string]any{"image": image.reference(), "credentials": row.credentials, "scan": map[string]any{"max_age": "1h"}}
		if name == "image-by-password" {
			keys["signature"] = map[string]any{"key": junk}
		}
		s.add(name, "harness", keys, row.sent)
		if name == "image-by-keychain" {
			writeFile(t, filepath.Join(s.folder, "config.json"), fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`,
				image.repository.RegistryStr(), base64.StdEncoding.EncodeToString([]byte("us:"+stored))))
		}
	}
	s.env = append(s.env, "DOCKER_CONFIG="+s.folder)
}

// yaml is the configuration file: each component fills a slot of two runs, one of
// which does without.
func (s *canaryScene) yaml(t *testing.T, more string) string {
	t.Helper()
	slots, lenient, strict := map[string]any{}, map[string]any{}, map[string]any{}
	for _, name := range s.names {
		slots["of-"+name] = map[string]any{"primary": name}
		lenient["of-"+name], strict["of-"+name] = "optional", "required"
	}
	text, err := yaml.Marshal(map[string]any{
		"components": s.components, "slots": slots,
		"runs": map[string]any{"lenient": map[string]any{"slots": lenient}, "strict": map[string]any{"slots": strict}},
	})
	must(t, err)
	return more + string(text)
}
