package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Bounds of one attempt.
const (
	SendTimeout = 10 * time.Second
	maxAnswer   = 64 << 10 // bytes of an answer that are read
	idleFor     = 90 * time.Second
	// maxConnections are open to a host: one for each receiver, since those of one
	// host must not wait for each other.
	maxConnections = MaxReceivers
)

// outcome is what came of an attempt to deliver something.
type outcome struct {
	status      int           // of the answer; 0 when there was none
	err         error         // nil when it was taken
	hint        string        // what to do about err
	final       bool          // trying again is of no use
	notReceived bool          // the receiver has surely not taken it
	after       time.Duration // how long the receiver asks to be left alone; 0 when it does not
}

// refused reports whether the receiver has answered that it does not take this, and
// not that it cannot take anything just now.
func (o outcome) refused() bool {
	switch o.status {
	case 0, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return o.err != nil
}

// newClient makes the client by which messages are sent. Receivers are the operator's
// own choice, so addresses of this machine and of private networks are dialled;
// link-local addresses and metadata services are not. Redirects are not followed,
// and no proxy is used.
func newClient() *http.Client {
	dialer := net.Dialer{Timeout: SendTimeout, ControlContext: func(_ context.Context, _, dialled string, _ syscall.RawConn) error {
		if address, err := netip.ParseAddrPort(dialled); err != nil || !(registry.Network{}).Permits("", address) {
			return errDenied("the address " + dialled + " may not be dialled")
		}
		return nil
	}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: SendTimeout,
			MaxConnsPerHost: maxConnections, MaxIdleConnsPerHost: maxConnections, MaxIdleConns: MaxReceivers,
			IdleConnTimeout: idleFor, MaxResponseHeaderBytes: maxAnswer, ResponseHeaderTimeout: SendTimeout,
		},
	}
}

// withoutRedirects is the client with what no receiver may change.
func withoutRedirects(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar, own.Timeout = nil, SendTimeout
	return &own
}

// request is what is posted to a receiver.
type request struct {
	url    string // a secret, as the headers are
	header http.Header
	body   []byte
}

// post sends a request to a receiver. Of the address only the host is part of an error, and
// nothing of the headers, the body and the answer, which might repeat them.
func post(ctx context.Context, client *http.Client, r *request, now time.Time) outcome {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	made, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(r.body))
	if err != nil {
		return outcome{err: errors.New("its url is not an address"), hint: hintEntry, notReceived: true}
	}
	made.Header = r.header
	answer, err := client.Do(made)
	if err != nil {
		hint, err := redacted(err, sent.Load())
		return outcome{err: err, hint: hint, notReceived: !sent.Load()}
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection, which no context ends
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	}
	return judge(answer, now)
}

// judge says what an answer means. Final is only an answer about this very message:
// whoever refuses anything else may have a token, a path or a proxy that is soon right
// again. By 410 a receiver asks for nothing to be sent any more (Standard Webhooks, "Delivery
// success and failure"); it is asked as rarely as one can ask for.
func judge(answer *http.Response, now time.Time) outcome {
	code := answer.StatusCode
	if code >= http.StatusOK && code < http.StatusMultipleChoices {
		return outcome{status: code}
	}
	o := outcome{
		status: code, err: fmt.Errorf("it answered with the status %d", code), hint: hintOfStatus(code), after: retryAfter(answer.Header.Get("Retry-After"), now),
		notReceived: code < http.StatusInternalServerError || code == http.StatusServiceUnavailable,
	}
	switch {
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		o.final = true
	case code == http.StatusGone:
		o.after = maxAsked
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		o.err = fmt.Errorf("it answered with the status %d; redirects are not followed", code)
	}
	return o
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
