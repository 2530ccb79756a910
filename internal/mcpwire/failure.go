package mcpwire

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/reach"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Failure says why an exchange with a server failed. Detail is for people and
// may quote the server, so it is untrusted text; it never holds a credential.
type Failure struct {
	Cause  registry.Cause
	Detail string

	status int       // the HTTP status, 0 when none came
	rpc    *rpcError // the JSON-RPC error, nil when it was something else
	err    error
}

// Answered reports whether the server answered with an error of the protocol.
func (f *Failure) Answered() bool { return f.rpc != nil }

// Error gives cause and detail.
func (f *Failure) Error() string { return string(f.Cause) + ": " + f.Detail }

// Unwrap gives the error of the network, where there is one.
func (f *Failure) Unwrap() error { return f.err }

// explain turns an error of net/http into a failure. The address is left out of
// the detail on purpose: a query may hold a key.
func explain(ctx context.Context, err error, seen *trace) *Failure {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if ours, ok := errors.AsType[*Failure](err); ok {
		return ours
	}
	failure := &Failure{err: err}
	cause := reach.Cause(err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		failure.Cause, failure.Detail = registry.Timeout, "interrupted while "+seen.place()
	case ctx.Err() != nil || cause == registry.Timeout:
		failure.Cause, failure.Detail = registry.Timeout, "the time ran out while "+seen.place()
	case cause == registry.DNS:
		lookup, _ := errors.AsType[*net.DNSError](err) // it always is one
		failure.Cause, failure.Detail = registry.DNS, fmt.Sprintf("%s: %s", lookup.Name, lookup.Err)
	case cause == registry.Refused:
		failure.Cause, failure.Detail = registry.Refused, "connection refused"+seen.by()
	case reach.IsPlainHTTP(err):
		failure.Cause, failure.Detail = registry.TLS, reach.PlainHTTP
	case seen.shookHandsInVain() || cause == registry.TLS:
		failure.Cause, failure.Detail = registry.TLS, err.Error()
	case strings.Contains(err.Error(), "server response headers exceeded"):
		failure.Cause = registry.TooLarge
		failure.Detail = fmt.Sprintf("the header is larger than %d bytes", MaxHeaderBytes)
	case errors.Is(err, io.EOF):
		failure.Cause, failure.Detail = registry.Unreachable, "the connection was closed"+seen.by()+" before an answer came"
	default:
		failure.Cause, failure.Detail = registry.Unreachable, fmt.Sprintf("%v while %s", err, seen.phase())
	}
	failure.Detail = registry.Shorten(failure.Detail, registry.MaxDetail)
	return failure
}

// excerpt is the beginning of a body, on one line; of a page in HTML, what it says
// to people.
func excerpt(body []byte) string {
	if len(body) > 4*maxExcerpt {
		body = body[:4*maxExcerpt]
	}
	if isPage().Match(body) {
		said := html.UnescapeString(markup().ReplaceAllString(string(body), " "))
		return registry.Shorten(strings.TrimSuffix("an HTML page: "+strings.Join(strings.Fields(said), " "), ": "), maxExcerpt)
	}
	return registry.Shorten(strings.Join(strings.Fields(string(body)), " "), maxExcerpt)
}

// A page in HTML begins with its doctype or with an element that only pages have.
// Its markup is its tags, its comments, and what is not shown to people; it may be
// cut off anywhere.
var (
	isPage = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\x{FEFF}?\s*<(!doctype html|(html|head|body|title|h1)\b)`)
	})
	markup = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)^\x{FEFF}|<!--.*?(-->|$)|<style.*?(</style>|$)|<script.*?(</script>|$)|<[^>]*(>|$)`)
	})
)
