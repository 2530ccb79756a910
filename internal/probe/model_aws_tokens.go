package probe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
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

// maxTokensAnswer bounds an answer of the token service, in bytes.
const maxTokensAnswer = 64 << 10

// awsTokens asks the Security Token Service of AWS (STS) for the keys of a role.
// Its two requests are made here, since the library's client for all of its
// requests would make the program larger by a fiftieth.
type awsTokens struct {
	chain    awsChain
	endpoint string          // instead of the one of the region; empty for that
	keys     aws.Credentials // sign the request; none for one that proves itself
}

// sessionName is what the session of a role is called in the logs of AWS.
func sessionName(wanted string) string { return cmp.Or(wanted, clientName) }

// tokensAnswer is the answer to either request, or an error.
type tokensAnswer struct {
	Keys struct {
		ID      string `xml:"AccessKeyId"`
		Secret  string `xml:"SecretAccessKey"`
		Session string `xml:"SessionToken"`
	} `xml:"AssumeRoleResult>Credentials"`
	WebKeys struct {
		ID      string `xml:"AccessKeyId"`
		Secret  string `xml:"SecretAccessKey"`
		Session string `xml:"SessionToken"`
	} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	Code    string `xml:"Error>Code"`
	Message string `xml:"Error>Message"`
}

func (s awsTokens) ask(ctx context.Context, wanted url.Values) (aws.Credentials, error) {
	wanted.Set("Version", "2011-06-15")
	request, err := s.request(ctx, wanted.Encode())
	if err != nil {
		return aws.Credentials{}, err
	}
	exchange, err := mcpwire.Do(ctx, s.chain.client, request)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("the token service: %w", err)
	}
	defer exchange.Close()
	body, err := exchange.ReadAll(ctx, maxTokensAnswer)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("the token service: %w", err)
	}
	var answer tokensAnswer
	err = xml.Unmarshal(body, &answer)
	keys := aws.Credentials{
		AccessKeyID:     answer.Keys.ID + answer.WebKeys.ID,
		SecretAccessKey: answer.Keys.Secret + answer.WebKeys.Secret, SessionToken: answer.Keys.Session + answer.WebKeys.Session,
	}
	switch {
	case exchange.Response.StatusCode != http.StatusOK:
		return keys, fmt.Errorf("the token service: %s: %s %s", exchange.StatusDetail(), answer.Code, registry.Shorten(answer.Message, registry.MaxDetail))
	case err != nil:
		return keys, fmt.Errorf("the token service answers with no XML: %w", err)
	case !keys.HasKeys():
		return keys, errors.New("the token service gives no keys")
	}
	return keys, nil
}

func (s awsTokens) request(ctx context.Context, form string) (*http.Request, error) {
	endpoint := cmp.Or(s.endpoint, "https://sts."+s.chain.region+".amazonaws.com"+ofChina(s.chain.region))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(endpoint, "/")+"/", strings.NewReader(form))
	if err != nil {
		return nil, fmt.Errorf("the token service: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if !s.keys.HasKeys() {
		return request, nil
	}
	sum := sha256.Sum256([]byte(form))
	if err := v4.NewSigner().SignHTTP(ctx, s.keys, request, hex.EncodeToString(sum[:]), "sts", s.chain.region, time.Now().UTC()); err != nil {
		return nil, fmt.Errorf("sign the request for a role: %w", err)
	}
	return request, nil
}

// ofChina ends the names of hosts in the regions of China.
func ofChina(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return ".cn"
	}
	return ""
}
