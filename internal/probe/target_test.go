package probe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
)

func TestParseMCPServer_findsTheEndpointBelowTheBase(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ base, endpoint, wantBase, wantEndpoint string }{
		{"http://127.0.0.1:8080", "", "http://127.0.0.1:8080", "http://127.0.0.1:8080/mcp"},
		{"http://127.0.0.1:8080/", "", "http://127.0.0.1:8080", "http://127.0.0.1:8080/mcp"},
		{"http://127.0.0.1:8080//", "", "http://127.0.0.1:8080", "http://127.0.0.1:8080/mcp"},
		{"https://host/a/b/", "", "https://host/a/b", "https://host/a/b/mcp"},
		{"https://host/a%2Fb", "", "https://host/a%2Fb", "https://host/a%2Fb/mcp"},
		{"HTTP://host/#here", "", "http://host", "http://host/mcp"},
		{"http://[::1]:80", "", "http://[::1]:80", "http://[::1]:80/mcp"},
		{"http://host", "http://other/x/?key=1", "http://host", "http://other/x/?key=1"},
	} {
		got, err := probe.ParseMCPServer(row.base, row.endpoint)
		if err != nil {
			t.Errorf("%s: %v", row.base, err)
			continue
		}
		if got.Base.String() != row.wantBase || got.Endpoint.String() != row.wantEndpoint {
			t.Errorf("%s: base %s, endpoint %s, want %s, %s", row.base, got.Base, got.Endpoint, row.wantBase, row.wantEndpoint)
		}
	}
}

func TestParseMCPServer_refusesWhatCannotBeProbedAndQuotesNoSecret(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ base, endpoint string }{
		{"", ""},
		{"127.0.0.1:8080", ""},
		{"localhost", ""},
		{"ftp://host", ""},
		{"file:///etc/passwd", ""},
		{"http://", ""},
		{"http:///path", ""},
		{"http://:8080", ""},
		{"http://host:port", ""},
		{"http://host/%zz", ""},
		{"http://a b/", ""},
		{"http://user:hush@host", ""},
		{"http://host?key=hush", ""},
		{"http://host", "host/mcp"},
		{"http://host", "http://user:hush@host/mcp"},
	} {
		_, err := probe.ParseMCPServer(row.base, row.endpoint)
		coded, ok := errors.AsType[*fault.Error](err)
		if !ok || coded.Code != fault.InvalidArgument || coded.Hint == "" {
			t.Errorf("%q, %q: got %v, want E_INVALID_ARGUMENT with a hint", row.base, row.endpoint, err)
			continue
		}
		if strings.Contains(coded.Error()+coded.Hint, "hush") {
			t.Errorf("%q, %q: the message quotes the secret: %v", row.base, row.endpoint, coded)
		}
	}
}
