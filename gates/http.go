package gates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
)

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 64 << 10

// HTTP checks a server that yours calls, by a GET over a connection of its own.
// Ask for a page that needs what you need, not for one that only says "ok". The
// answer must be complete, or 64 KiB long, before the time is over. Redirects are
// not followed, and no proxy of the environment is used. The detail may name host
// and port, but shows neither the rest of the URL nor the header nor the body.
type HTTP struct {
	// URL is an http or https address.
	URL string
	// Status is the status that is wanted; any of 200 to 299 when zero.
	Status int
	// Match must match the body, of which the first 64 KiB are looked at. Its
	// first group, if it has one, is the version that is shown.
	Match *regexp.Regexp
	// Header is sent along; it may hold credentials.
	Header http.Header
}

func (h HTTP) check(ctx context.Context) finding {
	if h.URL == "" {
		return finding{detail: detailNotConfigured}
	}
	status, body, err := h.get(ctx)
	found := finding{present: true}
	switch {
	case ctx.Err() != nil:
		found.detail = "no complete answer in time"
	case err != nil && status == 0:
		found.detail = err.Error()
	case !h.wants(status):
		found.detail = fmt.Sprintf("status %d, want %s", status, h.wanted())
	case err != nil:
		found.detail = fmt.Sprintf("status %d, but the body breaks off: %v", status, err)
	case h.Match != nil && !h.Match.Match(body):
		found.detail = fmt.Sprintf("status %d, but the body does not match %s", status, h.Match)
	default:
		found.works = true
		found.detail = fmt.Sprintf("status %d", status)
		if h.Match != nil && h.Match.NumSubexp() > 0 {
			found.version = string(h.Match.FindSubmatch(body)[1])
		}
	}
	return found
}

// get returns status 0 when no answer came.
func (h HTTP) get(ctx context.Context) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, http.NoBody)
	if err != nil {
		return 0, nil, errors.New("the URL cannot be read")
	}
	for name, values := range h.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, nil, nil // its body is the connection, which no context ends
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxOutput))
	return response.StatusCode, body, err
}

func (h HTTP) wants(status int) bool {
	if h.Status == 0 {
		return status >= 200 && status <= 299
	}
	return status == h.Status
}

func (h HTTP) wanted() string {
	if h.Status == 0 {
		return "200 to 299"
	}
	return fmt.Sprint(h.Status)
}
