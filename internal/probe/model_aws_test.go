package probe_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// withoutAWS leaves nothing of this machine for the default chain to find. Tests
// that call it are not parallel, because the environment is everybody's.
func withoutAWS(t *testing.T) {
	t.Helper()
	for _, each := range os.Environ() {
		if name, _, _ := strings.Cut(each, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "credentials"))
}

// profiles makes a file of profiles the shared one.
func profiles(t *testing.T, text string) {
	t.Helper()
	t.Setenv("AWS_CONFIG_FILE", fileOf(t, text))
	t.Setenv("AWS_PROFILE", "work")
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const someKeys = "aws_access_key_id = secret-of-ID\naws_secret_access_key = secret-of-the-chain\n"

// tokenService answers as AWS STS does to one action, and then gives the keys.
func tokenService(t *testing.T, action, proof string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		body := request.Header.Get("Authorization")
		if request.ParseForm() == nil {
			body += request.Form.Encode()
		}
		if request.Form.Get("Action") != action || !strings.Contains(body, proof) {
			t.Errorf("%s is asked with %s", action, body)
		}
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials><AccessKeyId>secret-of-ID</AccessKeyId>`+
			`<SecretAccessKey>secret-of-the-chain</SecretAccessKey><SessionToken>secret-of-a-session</SessionToken><Expiration>%[2]s</Expiration>`+
			`</Credentials></%[1]sResult></%[1]sResponse>`, action, inAnHour())
	}
}

func inAnHour() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

func containerService(token string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Authorization") != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		says(200, fmt.Sprintf(`{"AccessKeyId":"secret-of-ID","SecretAccessKey":"secret-of-the-chain","Token":"secret-of-a-session","Expiration":%q}`, inAnHour()))(w, request)
	}
}

// placesOfKeys are those of the default chain, each set up alone.
func placesOfKeys() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"the environment": func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "secret-of-ID")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-chain")
			profiles(t, "[profile work]\naws_access_key_id = another\naws_secret_access_key = another\n")
		},
		"a profile": func(t *testing.T) { profiles(t, "[profile work]\n"+someKeys) },
		"the profile that needs no name": func(t *testing.T) {
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", fileOf(t, "[default]\n"+someKeys))
		},
		"a program": func(t *testing.T) {
			answer := fileOf(t, `{"Version":1,"AccessKeyId":"secret-of-ID","SecretAccessKey":"secret-of-the-chain"}`)
			profiles(t, "[profile work]\ncredential_process = cat "+answer+"\n")
		},
		"a role by a profile": func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", serverOf(t, tokenService(t, "AssumeRole", "Credential=first/")))
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\nsource_profile = base\nexternal_id = x\n"+
				"[profile base]\naws_access_key_id = first\naws_secret_access_key = first\n")
		},
		"a web identity": func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", serverOf(t, tokenService(t, "AssumeRoleWithWebIdentity", "WebIdentityToken=the-token")))
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", fileOf(t, "the-token"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/prober")
		},
		"a container": func(t *testing.T) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", serverOf(t, containerService("")))
		},
		"a container with a token": func(t *testing.T) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", serverOf(t, containerService("the-token")))
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", fileOf(t, "the-token"))
		},
		"the machine": func(t *testing.T) {
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", serverOf(t, func(w http.ResponseWriter, request *http.Request) {
				switch path := request.URL.Path; {
				case path == "/latest/api/token":
					w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
					_, _ = w.Write([]byte("t"))
				case strings.HasSuffix(path, "/security-credentials/"):
					_, _ = w.Write([]byte("role"))
				default:
					says(200, fmt.Sprintf(`{"Code":"Success","AccessKeyId":"secret-of-ID","SecretAccessKey":"secret-of-the-chain","Token":"t","Expiration":%q}`, inAnHour()))(w, request)
				}
			}))
		},
	}
}

// environmentAndFiles resolves references as the configuration does.
func environmentAndFiles(reference string) (string, error) {
	if name, ok := strings.CutPrefix(reference, "env:"); ok && os.Getenv(name) != "" {
		return os.Getenv(name), nil
	}
	name, _ := strings.CutPrefix(reference, "file:")
	text, err := os.ReadFile(name)
	return string(text), err
}

func TestModel_findsKeysWhereAWSDoes(t *testing.T) {
	url := bedrock(t, "secret-of-the-chain", bedrockAnswer)
	for name, set := range placesOfKeys() {
		t.Run(name, func(t *testing.T) {
			withoutAWS(t)
			set(t)
			with := settings(generous)
			with.Resolve, with.Transcripts = environmentAndFiles, true
			got := invoked(t, bedrockSpec(url), with)
			wantCause(t, got, "", "")
			if document, _ := got.MarshalJSON(); strings.Contains(string(document), "secret-of") {
				t.Errorf("the document holds a key: %s", document)
			}
		})
	}
}

// TestModel_fetchesKeysByTheRulesOfTheNetwork forbids this machine, where every
// service of the chain is in this test.
func TestModel_fetchesKeysByTheRulesOfTheNetwork(t *testing.T) {
	var asked atomic.Int64
	counts := func(http.ResponseWriter, *http.Request) { asked.Add(1) }
	for _, variable := range []string{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL"} {
		t.Run(variable, func(t *testing.T) {
			withoutAWS(t)
			t.Setenv(variable, serverOf(t, counts))
			if variable == "AWS_ENDPOINT_URL" {
				t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", fileOf(t, "the-token"))
				t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/prober")
			}
			denied := settings(generous)
			denied.Resolve = environmentAndFiles
			denied.Network = registry.Network{Allow: []registry.NetworkRule{{Host: "bedrock.example.org"}}}
			wantCause(t, invoked(t, bedrockSpec("http://127.0.0.1:1"), denied), registry.NotConfigured, "may not be dialled")
		})
	}
	if asked.Load() != 0 {
		t.Errorf("the services were asked %d times", asked.Load())
	}
}

func TestModel_saysWhyTheChainFindsNothing(t *testing.T) {
	for words, set := range map[string]func(*testing.T){
		"failed to get shared config profile": func(t *testing.T) { profiles(t, "[profile home]\n"+someKeys) },
		"not supported; use credential_process": func(t *testing.T) {
			profiles(t, "[profile work]\nsso_start_url = https://x.example/start\nsso_region = eu-central-1\nsso_account_id = 123456789012\nsso_role_name = r\n")
		},
		"no credential_source Thin": func(t *testing.T) {
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\ncredential_source = Thin\n")
		},
		"there are none": func(t *testing.T) {
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\ncredential_source = Environment\n")
		},
		"the token service: status 403: AccessDenied not you": func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", serverOf(t, says(403, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`)))
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\nsource_profile = base\n[profile base]\n"+someKeys)
		},
		"InvalidIdentityToken [secret]": func(t *testing.T) {
			const token = "eyJhbGciOi.canary-of-a-token"
			t.Setenv("AWS_ENDPOINT_URL", serverOf(t, says(400, `<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>`+token+`</Message></Error></ErrorResponse>`)))
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", fileOf(t, token))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/prober")
		},
		"the token service gives no keys": func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", serverOf(t, says(200, `<AssumeRoleResponse/>`)))
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\nsource_profile = base\n[profile base]\n"+someKeys)
		},
		"the token service answers with no XML": func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", serverOf(t, says(200, `{}`)))
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\nsource_profile = base\n[profile base]\n"+someKeys)
		},
		"a second factor": func(t *testing.T) {
			profiles(t, "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/prober\nmfa_serial = 7\nsource_profile = base\n[profile base]\n"+someKeys)
		},
		"no credentials: credential_process: invalid character 'c'": func(t *testing.T) {
			profiles(t, "[profile work]\ncredential_process = echo canary-of-a-program\n")
		},
		"neither on this host":       func(t *testing.T) { t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/keys") },
		"failed to load credentials": func(t *testing.T) { t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", serverOf(t, containerService("x"))) },
	} {
		t.Run(words, func(t *testing.T) {
			withoutAWS(t)
			set(t)
			with := settings(generous)
			with.Resolve = environmentAndFiles
			got := invoked(t, bedrockSpec("http://127.0.0.1:1"), with)
			wantCause(t, got, registry.NotConfigured, words)
			if got.Requests != 0 {
				t.Errorf("%d requests are told", got.Requests)
			}
		})
	}
}
