package registry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestSecret_noFormOfItShowsTheText(t *testing.T) {
	t.Parallel()
	const text = "correct-horse"
	type holder struct{ private registry.Secret } // fmt calls no method of an unexported field
	secret := registry.SecretText(text)
	component := registry.Component{
		Name: "a", Spec: &registry.MCPServer{
			Env: map[string]registry.Secret{"A": secret}, Private: []registry.Secret{secret},
			Credentials: registry.Credentials{Bearer: secret, Headers: map[string]registry.Secret{"X": secret}, OAuth: &registry.OAuth{ClientSecret: secret}},
		},
	}
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	for _, value := range []any{secret, &secret, holder{secret}, component, &component, []registry.Secret{secret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%p"} {
			fmt.Fprintf(&out, verb, value)
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(asJSON)
		log.Info("value", slog.Any("value", value))
	}
	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%v", []byte(text))} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the text is shown as %q in\n%s", form, out.String())
		}
	}
	if got := fmt.Sprint(secret, registry.SecretAt("env:A"), registry.Secret{}); got != "[secret] env:A " {
		t.Errorf("shown as %q", got)
	}
}

func TestSecret_revealsTextsAndResolvesReferences(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	resolve := func(reference string) (string, error) {
		if reference == "env:UNSET" {
			return "", refused
		}
		return "value of " + reference, nil
	}
	for _, each := range []struct {
		secret registry.Secret
		want   string
		err    error
	}{
		{registry.Secret{}, "", nil},
		{registry.SecretText("text"), "text", nil},
		{registry.SecretText(""), "", nil},
		{registry.SecretAt("env:A"), "value of env:A", nil},
		{registry.SecretAt("env:UNSET"), "", refused},
	} {
		if got, err := each.secret.Reveal(resolve); got != each.want || !errors.Is(err, each.err) {
			t.Errorf("%v: got %q, %v", each.secret, got, err)
		}
	}
	if !registry.SecretText("a").Equal(registry.SecretText("a")) || registry.SecretText("a").Equal(registry.SecretText("b")) ||
		registry.SecretText("").Equal(registry.Secret{}) || !registry.SecretAt("env:A").Equal(registry.SecretAt("env:A")) {
		t.Error("secrets are not compared by what they are")
	}
}

func TestComponent_listsEverySecret(t *testing.T) {
	t.Parallel()
	at := registry.SecretAt
	component := registry.MCPServer{
		Env: map[string]registry.Secret{"B": at("env:2"), "A": at("env:1")},
		Credentials: registry.Credentials{
			Bearer: at("env:3"), Headers: map[string]registry.Secret{"X": at("env:4")},
			OAuth: &registry.OAuth{ClientSecret: at("env:5")}, ClientCert: at("env:no"), ClientKey: at("env:6"),
		},
		Private: []registry.Secret{at("env:7")},
	}
	var want []registry.Secret
	for _, number := range "1234567" {
		want = append(want, at("env:"+string(number)))
	}
	if diff := cmp.Diff(want, component.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if component.Credentials.IsZero() || !(registry.Credentials{}).IsZero() {
		t.Error("credentials are taken for none, or none for some")
	}
}
