package probe_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// anthropicAnswer has the shape of the documentation of the Messages API.
const anthropicAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-20260101","content":[{"type":"text","text":"{SUM}"}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":23,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"service_tier":"standard"}}`

func TestModel_hasACauseForEachFaultOfAnthropic(t *testing.T) {
	t.Parallel()
	const content = `[{"type":"text","text":"{SUM}"}]`
	for name, fault := range map[string]modelFault{
		"as it should be":            {"", "", "", "23 tokens in, 5 out"},
		"thinking, then text":        {content, `[{"type":"thinking","thinking":"{WRONG}?","signature":"x"},{"type":"text","text":"{SUM}"}]`, "", ""},
		"thinking and nothing else":  {content, `[{"type":"thinking","thinking":"Let me see","signature":"x"}]`, "", "reasoning"},
		"thinking that is concealed": {content, `[{"type":"redacted_thinking","data":"x"}]`, "", "reasoning"},
		"a tool call":                {content, `[{"type":"tool_use","id":"t","name":"add","input":{}}]`, "", "tool call"},
		"no content":                 {content, `[]`, registry.NoContent, ""},
		"content of null":            {content, `null`, registry.NoContent, ""},
		"an unknown part":            {content, `[{"type":"smell"}]`, registry.NoContent, ""},
		"a wrong sum":                {"{SUM}", "{WRONG}", registry.CanaryFailed, ""},
		"no output tokens":           {`"output_tokens":5`, `"output_tokens":0`, registry.NoTokens, ""},
		"no usage":                   {`"usage"`, `"used"`, registry.NoTokens, ""},
		"another model":              {`claude-x-20260101`, `claude-y-20260101`, registry.WrongModel, "claude-y"},
		"an error":                   {`"type":"message"`, `"type":"error","error":{"type":"api_error","message":"internal"}`, registry.NotOK, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serverOf(t, func(w http.ResponseWriter, request *http.Request) {
				if request.URL.Path != "/v1/messages" || request.Header.Get("X-Api-Key") != "secret-of-KEY" || request.Header.Get("Anthropic-Version") != "2023-06-01" ||
					request.Header.Get("Authorization") != "" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				modelHandler(always(200, strings.Replace(anthropicAnswer, fault.old, fault.new, 1)))(w, request)
			})
			with := settings(generous)
			with.Resolve = resolving
			wantCause(t, invoked(t, &registry.Model{
				Provider: registry.ProviderAnthropic, BaseURL: server + "/v1", Model: "claude-x", Mode: registry.ModeChat,
				Credentials: registry.ModelCredentials{APIKey: registry.SecretAt("env:KEY")},
			}, with), fault.cause, fault.words)
		})
	}
}

// bedrockAnswer has the shape of the documentation of Converse.
const bedrockAnswer = `{"metrics":{"latencyMs":551},"output":{"message":{"content":[{"text":"{SUM}"}],"role":"assistant"}},"stopReason":"end_turn",` +
	`"usage":{"inputTokens":21,"outputTokens":4,"totalTokens":25}}`

// bedrockID has all that must be escaped in a path.
const bedrockID = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.writer-v1:0"

func bedrockSpec(url string) *registry.Model {
	return &registry.Model{Provider: registry.ProviderBedrock, BaseURL: url, Region: "eu-central-1", Model: bedrockID, Mode: registry.ModeChat}
}

func withKeys(spec *registry.Model) *registry.Model {
	spec.Credentials = registry.ModelCredentials{
		AccessKeyID: registry.SecretAt("env:ID"), SecretAccessKey: registry.SecretAt("env:SECRET"), SessionToken: registry.SecretAt("env:SESSION"),
	}
	return spec
}

// isSigned checks a signature by the steps of the documentation of AWS Signature
// Version 4, with nothing of the library that made it.
func isSigned(request *http.Request, body []byte, secret string) bool {
	authorization := request.Header.Get("Authorization")
	_, list, _ := strings.Cut(authorization, "SignedHeaders=")
	list, signature, _ := strings.Cut(list, ", Signature=")
	moment := request.Header.Get("X-Amz-Date")
	scope := moment[:min(8, len(moment))] + "/eu-central-1/bedrock/aws4_request"
	if !strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 Credential=secret-of-ID/"+scope+", ") || !strings.Contains(list, "host") {
		return false
	}
	sum := sha256.Sum256(body)
	escaped := strings.ReplaceAll(request.URL.EscapedPath(), "%", "%25") // every path but that of S3 is escaped twice
	canonical := request.Method + "\n" + escaped + "\n\n"
	for name := range strings.SplitSeq(list, ";") {
		value := request.Header.Get(name)
		switch name {
		case "host":
			value = request.Host
		case "content-length":
			value = fmt.Sprint(request.ContentLength)
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + list + "\n" + hex.EncodeToString(sum[:])
	hashed := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return signature == hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+moment+"\n"+scope+"\n"+hex.EncodeToString(hashed[:])))
}

func mac(key []byte, text string) []byte {
	made := hmac.New(sha256.New, key)
	_, _ = io.WriteString(made, text)
	return made.Sum(nil)
}

// bedrock answers requests that are signed, at the path of the model alone.
func bedrock(t *testing.T, secret, answer string) (url string) {
	t.Helper()
	return serverOf(t, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		want := "/model/" + strings.NewReplacer(":", "%3A", "/", "%2F").Replace(bedrockID) + "/converse"
		if got := request.URL.EscapedPath(); got != want || !isSigned(request, body, secret) {
			says(403, `{"message":"The request signature we calculated does not match the signature you provided."}`)(w, request)
			return
		}
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		modelHandler(always(200, answer))(w, request)
	})
}

func TestModel_hasACauseForEachFaultOfBedrock(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]modelFault{
		"as it should be":          {"", "", "", "21 tokens in, 4 out"},
		"reasoning and no text":    {`{"text":"{SUM}"}`, `{"reasoningContent":{"reasoningText":{"text":"Let me see"}}}`, "", "reasoning"},
		"reasoning, then text":     {`{"text":"{SUM}"}`, `{"reasoningContent":{"reasoningText":{"text":"{WRONG}"}}},{"text":"{SUM}"}`, "", ""},
		"a tool call":              {`{"text":"{SUM}"}`, `{"toolUse":{"toolUseId":"t","name":"add","input":{}}}`, "", "tool call"},
		"no content":               {`{"text":"{SUM}"}`, ``, registry.NoContent, ""},
		"content of null":          {`{"text":"{SUM}"}`, `{"text":null,"toolUse":null}`, registry.NoContent, ""},
		"a wrong sum":              {"{SUM}", "{WRONG}", registry.CanaryFailed, ""},
		"no input tokens":          {`"inputTokens":21,"outputTokens":4,"totalTokens":25`, `"outputTokens":4,"totalTokens":4`, registry.NoTokens, ""},
		"a total that is none":     {`"totalTokens":25`, `"totalTokens":26`, registry.WrongUsage, ""},
		"no output":                {`"output":{`, `"input":{`, registry.NoContent, ""},
		"output of another form":   {`"output":{`, `"output":[],"input":{`, registry.WrongShape, ""},
		"usage of another reading": {`"inputTokens":21`, `"inputTokens":21.5`, registry.WrongShape, "inputTokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := settings(generous)
			with.Resolve = resolving
			url := bedrock(t, "secret-of-SECRET", strings.Replace(bedrockAnswer, fault.old, fault.new, 1))
			wantCause(t, invoked(t, withKeys(bedrockSpec(url)), with), fault.cause, fault.words)
		})
	}
}

func TestModel_signsWithTheKeysOfTheComponent(t *testing.T) {
	t.Parallel()
	with := settings(generous)
	with.Transcripts, with.Resolve = true, resolving
	got := invoked(t, withKeys(bedrockSpec(bedrock(t, "another secret", bedrockAnswer))), with)
	wantCause(t, got, registry.Forbidden, "does not match")
	document, _ := got.MarshalJSON()
	for _, secret := range []string{"secret-of-ID", "secret-of-SECRET", "secret-of-SESSION", "Signature=0", "Signature=a", "Signature=f"} {
		if strings.Contains(string(document), secret) {
			t.Errorf("the document holds %s: %s", secret, document)
		}
	}
	with.Resolve = nil
	wantCause(t, invoked(t, withKeys(bedrockSpec("http://127.0.0.1:1")), with), registry.NotConfigured, "env:ID")
}
