package mcpwire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Client returns a client with connections of its own that follows no redirect,
// asks for no compression (a small body stays a small body) and goes through no
// proxy of the environment: what is probed is the address itself. Every request
// of a probe is made by such a client.
func (o Outlet) Client() *http.Client {
	return &http.Client{
		Transport:     o.gateway(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// gateway is where all requests of a client pass: it signs and records them.
type gateway struct {
	outlet  Outlet
	trusted *http.Transport // to the origin of the credentials
	open    *http.Transport // to every other; presents no certificate
}

func (o Outlet) gateway() *gateway {
	g := &gateway{outlet: o, open: o.transport(nil)}
	g.trusted = g.open
	if o.Credentials != nil && o.Credentials.certificate != nil {
		g.trusted = o.transport(o.Credentials.certificate)
	}
	return g
}

// bufferSize is that of each direction of a connection, in bytes. Messages are
// mostly smaller, and thousands of probes may be under way.
const bufferSize = 1 << 10

func (o Outlet) transport(certificate *tls.Certificate) *http.Transport {
	transport := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: MaxHeaderBytes, DialContext: o.dial,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
	}
	if o.Roots != nil || certificate != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	if certificate != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*certificate}
	}
	return transport
}

// RoundTrip implements http.RoundTripper.
func (g *gateway) RoundTrip(request *http.Request) (*http.Response, error) {
	signed, carries, err := g.outlet.Credentials.sign(request, g.outlet)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	transport := g.open
	if g.outlet.Credentials.belong(request.URL) {
		transport = g.trusted
	}
	return g.outlet.Recorder.roundTrip(unswitched{transport}, signed, carries)
}

// unswitched carries requests whose bodies end with the contexts of the requests. A
// server may answer 101 Switching Protocols (RFC 9110, section 15.2.2) though nobody
// asked for another protocol, and net/http then gives the connection itself as the
// body, which no context ends: that answer has none here.
type unswitched struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (u unswitched) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := u.RoundTripper.RoundTrip(request)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		_ = answer.Body.Close()
		answer.Body = http.NoBody
	}
	return answer, err
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (g *gateway) CloseIdleConnections() {
	g.open.CloseIdleConnections()
	g.trusted.CloseIdleConnections()
}

// Exchange is one request and its answer. Close it.
type Exchange struct {
	Response *http.Response
	trace    *trace
}

// Do sends the request, bound to ctx. An error is a *Failure.
func Do(ctx context.Context, client *http.Client, request *http.Request) (*Exchange, error) {
	seen := newTrace()
	response, err := client.Do(prepared(ctx, request, seen)) //nolint:bodyclose // the Exchange owns the body; its Close closes it
	if err != nil {
		return nil, explain(ctx, err, seen)
	}
	return &Exchange{Response: response, trace: seen}, nil
}

func prepared(ctx context.Context, request *http.Request, seen *trace) *http.Request {
	request.Header.Set("Accept-Encoding", "identity")
	return request.WithContext(seen.follow(ctx))
}

// Close ends the exchange, also in the middle of an answer.
func (e *Exchange) Close() { _ = e.Response.Body.Close() }

// ErrBroken says that a body ended before its end.
var ErrBroken = errors.New("the connection broke in the middle of the answer")

// ReadAll reads the body. A body of more than limit bytes and a time-out are a
// *Failure; a body that breaks off is returned as far as it came, with ErrBroken.
func (e *Exchange) ReadAll(ctx context.Context, limit int64) ([]byte, error) {
	parts, size, err := gather(io.LimitReader(e.Response.Body, limit+1))
	if size > limit {
		return nil, tooLarge(limit)
	}
	body := bytes.Join(parts, nil)
	if err == nil {
		return body, nil
	}
	if failure, known := errors.AsType[*Failure](err); known {
		return nil, failure
	}
	if failure := explain(ctx, err, e.trace); failure.Cause == registry.Timeout {
		return nil, failure
	}
	return body, ErrBroken
}

// gather reads everything, in parts: a slice that grows by and by is held twice
// while it is moved. An end is no error.
func gather(in io.Reader) (parts [][]byte, size int64, err error) {
	const smallest, largest = 4 << 10, 256 << 10
	part := make([]byte, 0, smallest)
	for {
		n, err := in.Read(part[len(part):cap(part)])
		part, size = part[:len(part)+n], size+int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return append(parts, part), size, nil
		case err != nil:
			return append(parts, part), size, err
		case len(part) == cap(part):
			parts = append(parts, part)
			part = make([]byte, 0, min(2*cap(part), largest))
		}
	}
}

func tooLarge(limit int64) *Failure {
	return &Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the answer is larger than %d bytes", limit)}
}

// refusal is the failure of an answer whose status alone decides: a redirect,
// missing credentials or rights, too many requests. Nil for any other.
func (e *Exchange) refusal() error {
	cause := registry.StatusCause(e.Response.StatusCode)
	if cause == "" || cause == registry.HTTPStatus {
		return nil
	}
	return &Failure{Cause: cause, Detail: e.StatusDetail(), status: e.Response.StatusCode}
}

// StatusDetail names the status and what the header says about it: where a
// redirect leads, what credentials are asked for, when to come again. Of a 403
// it quotes the text, since that often names the host that is admitted.
func (e *Exchange) StatusDetail() string {
	status := e.Response.StatusCode
	detail := fmt.Sprintf("status %d", status)
	name := ""
	switch {
	case registry.StatusCause(status) == registry.Redirect:
		name = "Location"
	case status == http.StatusUnauthorized:
		name = "WWW-Authenticate"
	case status == http.StatusTooManyRequests:
		name = "Retry-After"
	case status == http.StatusForbidden:
		body, _ := io.ReadAll(io.LimitReader(e.Response.Body, maxRefusal))
		if text := excerpt(body); text != "" {
			detail += ": " + text
		}
	}
	if value := e.Response.Header.Get(name); name != "" && value != "" {
		detail += "; " + name + ": " + value
	}
	return registry.Shorten(detail, registry.MaxDetail)
}

// isType reports whether the body claims to be of the media type.
func (e *Exchange) isType(kind string) bool {
	claimed, _, _ := strings.Cut(e.Response.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(claimed), kind)
}
