package alert

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// patience bounds what a test waits for what must happen.
const patience = 30 * time.Second

// rude is a server that answers each connection with bytes, and ends it.
func rude(t *testing.T, bytes string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<16))
			_, _ = io.WriteString(conn, bytes)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return "http://" + listener.Addr().String() + "/secret-path"
}

// serving is a server whose handler may hang until the test ends.
func serving(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, end <-chan struct{})) string {
	t.Helper()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, end) }))
	t.Cleanup(func() {
		close(end)
		server.Close()
	})
	return server.URL + "/secret-path"
}

func TestPost_judgesWhatReceiversDoAndRepeatsNothingOfIt(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := "http://" + gone.Addr().String() + "/secret-path"
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(secure.Close)
	elsewhere := serving(t, func(http.ResponseWriter, *http.Request, <-chan struct{}) { t.Error("a redirect was followed") })
	status := func(code int) string {
		return serving(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			w.Header().Set("Location", elsewhere+"?"+r.Header.Get("X-Secret"))
			w.WriteHeader(code)
			fmt.Fprint(w, r.Header.Get("X-Secret"))
		})
	}
	for name, c := range map[string]struct {
		url                string
		said, hint         string
		final, notReceived bool
	}{
		"takes it":              {url: status(http.StatusNoContent)},
		"refuses connections":   {refusing, "connection refused by " + gone.Addr().String(), "Start the receiver, or correct the port.", false, true},
		"speaks http alone":     {strings.Replace(status(http.StatusOK), "http://", "https://", 1), "it speaks http and not https: use http:// in its address", "Correct its entry below alerts.", false, true},
		"has its own issuer":    {secure.URL + "/secret-path", "the TLS handshake failed: tls: failed to verify certificate", "Check that the port speaks TLS", false, true},
		"knows no such path":    {status(http.StatusNotFound), "it answered with the status 404", "Check the path of its url.", false, true},
		"redirects":             {status(http.StatusTemporaryRedirect), "it answered with the status 307; redirects are not followed", "Give the final address.", false, true},
		"refuses the request":   {status(http.StatusUnprocessableEntity), "it answered with the status 422", "a template makes another", true, true},
		"refuses the token":     {status(http.StatusForbidden), "it answered with the status 403", "Check the secret", false, true},
		"breaks":                {status(http.StatusInternalServerError), "it answered with the status 500", "Look in the log of the receiver.", false, false},
		"ends the connection":   {rude(t, ""), "it ended the connection before it had answered", "Look in the log of the receiver.", false, false},
		"speaks another tongue": {rude(t, "220 secret-path hunter2 ESMTP\r\n"), "its answer could not be read as HTTP", "Check the port", false, false},
		"answers half":          {rude(t, "HTTP/1.1 200"), "it ended the connection before it had answered", "Look in the log of the receiver.", false, false},
		"changes the protocol": {serving(t, func(w http.ResponseWriter, _ *http.Request, end <-chan struct{}) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "x")
			w.WriteHeader(http.StatusSwitchingProtocols)
			_ = http.NewResponseController(w).Flush() // a client that has gone asks for nothing
			<-end
		}), "it answered with the status 101", "Check the path of its url.", false, true},
		"answers without end": {url: serving(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		})},
		"hangs": {serving(t, func(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
			select {
			case <-end:
			case <-r.Context().Done():
			}
		}), "it did not answer within 10s", "Look for what the receiver waits for", false, false},
		"is a metadata service": {"http://169.254.169.254/secret-path", "the address 169.254.169.254:80 may not be dialled", "Choose another address", false, true},
		"is no address":         {"http://\x7f/secret-path", "its url is not an address", "Correct its entry below alerts.", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := withoutRedirects(newClient())
			defer client.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if name == "hangs" {
				ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
			}
			defer cancel()
			got := post(ctx, client, &request{url: c.url, header: http.Header{"X-Secret": {"hunter2"}}, body: []byte("{}")}, time.Now())
			if (got.err == nil) != (c.said == "") || got.err != nil && !strings.Contains(got.err.Error(), c.said) || !strings.Contains(got.hint, c.hint) || (got.hint == "") != (c.hint == "") || got.final != c.final || got.notReceived != c.notReceived {
				t.Errorf("got %+v, want %+v", got, c)
			}
			if got.err != nil && (strings.Contains(got.err.Error(), "secret-path") || strings.Contains(got.err.Error(), "hunter2")) {
				t.Errorf("it repeats a secret: %v", got.err)
			}
		})
	}
}

func TestPauseAfter_doublesAndVariesWithinBounds(t *testing.T) {
	t.Parallel()
	differ := false
	for attempts := 1; attempts < 100; attempts++ {
		whole := 15 * time.Minute
		if attempts <= 10 {
			whole = min(time.Second<<(attempts-1), whole)
		}
		one, other := pauseAfter(attempts, 0, "one"), pauseAfter(attempts, 0, "other")
		for _, got := range []time.Duration{one, other} {
			if got < whole/2 || got > whole {
				t.Errorf("after %d attempts: %v, want from %v to %v", attempts, got, whole/2, whole)
			}
		}
		differ = differ || one != other
	}
	if !differ {
		t.Error("two receivers are tried in step")
	}
	if got := pauseAfter(1, 1000*time.Hour, "one"); got != maxAsked {
		t.Errorf("a receiver may ask for %v", got)
	}
}
