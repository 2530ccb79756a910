package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// bedrockConverse is POST /model/ID/converse.
func bedrockConverse() api {
	return api{
		// An id may be an ARN, with colons and slashes in it.
		path: func(spec *registry.Model) string { return "/model/" + escaped(spec.Model) + "/converse" },
		body: func(_ *registry.Model, q question) any {
			return map[string]any{
				"messages":        []any{map[string]any{"role": "user", "content": []any{map[string]any{"text": q.sum()}}}},
				"inferenceConfig": map[string]any{"maxTokens": q.maxOutput},
			}
		},
		read: readBedrockConverse,
	}
}

// escaped escapes everything that is not unreserved (RFC 3986, section 2.3), as
// AWS signs it.
func escaped(id string) string { return strings.ReplaceAll(url.QueryEscape(id), "+", "%20") }

func readBedrockConverse(body []byte, result *registry.ModelResult) *finding {
	var answer struct {
		Output struct {
			Message struct {
				Content []struct {
					Text      string          `json:"text"`
					Reasoning json.RawMessage `json:"reasoningContent"`
					ToolUse   json.RawMessage `json:"toolUse"`
				} `json:"content"`
			} `json:"message"`
		} `json:"output"`
		Finish string `json:"stopReason"`
		Usage  struct {
			Input  int  `json:"inputTokens"`
			Output int  `json:"outputTokens"`
			Total  *int `json:"totalTokens"`
		} `json:"usage"`
	}
	if wrong := readJSON(body, &answer); wrong != nil {
		return wrong
	}
	result.Finish = stated(answer.Finish)
	result.Tokens = registry.Tokens{Input: answer.Usage.Input, Output: answer.Usage.Output, Total: answer.Usage.Total}
	var wrote written
	for _, part := range answer.Output.Message.Content {
		wrote.text += part.Text
		wrote.reasoning = wrote.reasoning || holds(part.Reasoning)
		wrote.tools = wrote.tools || holds(part.ToolUse)
	}
	wrote.into(result)
	return nil
}

// holds reports whether a member is there and is not null.
func holds(member json.RawMessage) bool { return len(member) > 0 && string(member) != "null" }

// awsService is the name under which requests of Bedrock are signed.
const awsService = "bedrock"

// awsSigner signs requests with the keys of the component, else with what the
// default chain finds. What that fetches goes into no transcript. Keys are read
// anew for every probe.
func (i *invocation) awsSigner(settings Settings) signer {
	unrecorded := settings.outlet.With(nil)
	hide := settings.outlet.Redactor
	return func(ctx context.Context, request *http.Request, payload []byte) error {
		keys, err := i.awsKeys(ctx, settings, unrecorded)
		if err != nil {
			return &mcpwire.Failure{Cause: registry.NotConfigured, Detail: registry.Shorten(hide.Clean(err.Error()), registry.MaxDetail)}
		}
		for _, secret := range []string{keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken} {
			hide.AddCredential(secret)
		}
		sum := sha256.Sum256(payload)
		err = v4.NewSigner().SignHTTP(ctx, keys, request, hex.EncodeToString(sum[:]), awsService, i.spec.Region, time.Now().UTC())
		if err != nil {
			return fmt.Errorf("sign the request: %w", err)
		}
		if _, signature, ok := strings.Cut(request.Header.Get("Authorization"), "Signature="); ok {
			hide.AddCredential(signature)
		}
		return nil
	}
}

// awsKeys are those of the component, or those of the default chain.
func (i *invocation) awsKeys(ctx context.Context, settings Settings, outlet mcpwire.Outlet) (aws.Credentials, error) {
	var keys aws.Credentials
	if wanted := i.spec.Credentials; !wanted.AccessKeyID.IsZero() {
		for _, each := range []struct {
			use    string
			secret registry.Secret
			into   *string
		}{
			{"the access key id", wanted.AccessKeyID, &keys.AccessKeyID},
			{"the secret access key", wanted.SecretAccessKey, &keys.SecretAccessKey},
			{"the session token", wanted.SessionToken, &keys.SessionToken},
		} {
			text, err := each.secret.Reveal(settings.Resolve)
			if err != nil {
				return keys, fmt.Errorf("%s: %w", each.use, err)
			}
			*each.into = text
		}
		return keys, nil
	}
	client := outlet.Client()
	defer client.CloseIdleConnections()
	keys, err := awsChain{region: i.spec.Region, client: client, resolve: settings.Resolve, hide: outlet.Redactor}.find(ctx)
	if err != nil {
		return keys, fmt.Errorf("the default chain of AWS finds no credentials: %w", err)
	}
	return keys, nil
}
