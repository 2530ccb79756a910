package httpapi

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Bounds of what is in flight, each of its own group of routes. The bodies of MCP
// calls are held in memory. Scrapers are few. What a page probes takes long.
const (
	maxCalls      = 256
	maxScrapes    = 8
	maxPages      = 256
	maxPageProbes = 32
)

// What browsers may do with an answer: with a page and its files, load what comes
// from here and send forms here; with anything else, nothing.
const (
	policy     = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// secured tells browsers to trust a response with as little as possible.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// addressed refuses requests that were meant for another server or that a page
// of another origin sent: a name that was rebound to an address of ours shows in
// Host, a foreign page in Origin (or in Sec-Fetch-Site, when it may not read).
func addressed(place place, next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(refuseOrigin))
	next = crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !place.holds(r.Host) {
			problem(w, http.StatusForbidden, fault.New(fault.InvalidArgument, "Host %.80q is not this server", r.Host).
				WithHint("%s", place.hint()))
			return
		}
		for _, origin := range r.Header.Values("Origin") {
			if !place.sentBy(origin, r.Host) {
				refuseOrigin(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func refuseOrigin(w http.ResponseWriter, r *http.Request) {
	problem(w, http.StatusForbidden,
		fault.New(fault.InvalidArgument, "Origin %.80q may not call this server", r.Header.Get("Origin")).
			WithHint("Pages of other sites have no access; clients that are no browser send no Origin."))
}

// place is where the server is, as its clients may call it.
type place struct {
	port   uint16
	public bool     // other machines can reach it, perhaps by another port
	names  []string // by which they call it
}

func (p place) hint() string {
	if p.public {
		return "Use an IP address, or name the host with --allow-host."
	}
	return fmt.Sprintf("Use localhost:%d or 127.0.0.1:%d. Over a tunnel, keep the port or rewrite Host.", p.port, p.port)
}

// holds reports whether host and port name this server: on loopback a loopback
// address and the port. A public server also has the names that it was given and
// any address, since what is rebound is a name.
func (p place) holds(hostport string) bool {
	host, given, err := net.SplitHostPort(hostport)
	if err != nil {
		host, given = strings.Trim(hostport, "[]"), strconv.Itoa(httpPort)
	}
	isNamed := slices.ContainsFunc(p.names, func(name string) bool { return strings.EqualFold(name, host) })
	if !p.public && given != strconv.Itoa(int(p.port)) {
		return false
	}
	if strings.EqualFold(host, "localhost") || isNamed && p.public {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && (p.public || address.Unmap().IsLoopback())
}

// sentBy reports whether a page of this server sent the request.
func (p place) sentBy(origin, host string) bool {
	from, plain := strings.CutPrefix(origin, "http://")
	if p.public {
		from = strings.TrimPrefix(from, "https://") // before it stands what ends TLS
		return from != origin && strings.EqualFold(from, host)
	}
	return plain && p.holds(from)
}

// httpPort is the port of a Host without one (RFC 9110, section 4.2.1).
const httpPort = 80

// hurried bounds the time that a body may take. It is no limit of the server,
// since that would also cut short a handler that has read its body and works.
func (s *Server) hurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		connection := http.NewResponseController(w)
		if err := connection.SetReadDeadline(time.Now().Add(s.limits.body)); err != nil {
			s.options.Log.WarnContext(r.Context(), "the time of a body could not be bounded", slog.Any("cause", err))
			problem(w, http.StatusServiceUnavailable, fault.New(fault.Unavailable, "the connection is not usable"))
			return
		}
		r.Body = &timedBody{ReadCloser: r.Body, ended: func() { _ = connection.SetReadDeadline(time.Time{}) }}
		next.ServeHTTP(w, r)
	})
}

// timedBody calls ended when it was read to its end. After any other error the
// time stays bounded, since the server still reads what is left.
type timedBody struct {
	io.ReadCloser
	ended func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended()
	}
	return n, err
}

// paced bounds the time that a client may take to read each part of its answer, so
// that one which does not read keeps no place and no memory. It is no limit of the
// server, since that would also cut short an answer that is worked on for long.
func (s *Server) paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &timedAnswer{ResponseWriter: w, limit: s.limits.answer}
		answer.extend() // for the word to go on with a body
		next.ServeHTTP(answer, r)
		answer.extend() // for what the server itself still writes
	})
}

// timedAnswer gives each write a deadline of its own.
type timedAnswer struct {
	http.ResponseWriter
	limit time.Duration
}

func (a *timedAnswer) extend() {
	// A connection that takes no deadline is not usable, which the write tells.
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.limit))
}

func (a *timedAnswer) Write(p []byte) (int, error) {
	a.extend()
	return a.ResponseWriter.Write(p)
}

// Flush sends what was written so far.
func (a *timedAnswer) Flush() { _ = a.FlushError() }

// FlushError serves http.ResponseController.
func (a *timedAnswer) FlushError() error {
	a.extend()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap serves http.ResponseController.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// room is how many requests of a group of routes may be in flight.
type room struct {
	places chan struct{}
	full   http.Handler // the page for a browser that finds no place; nil for a problem
}

func places(limit int) room { return room{places: make(chan struct{}, limit)} }

// bounded lets requests in while there is room and refuses the others at once.
func (o room) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case o.places <- struct{}{}:
			defer func() { <-o.places }()
			next.ServeHTTP(w, r)
		default:
			if o.full != nil && prefersHTML(r) {
				noteRefusal(w, fault.Unavailable)
				o.full.ServeHTTP(w, r)
				return
			}
			problem(w, http.StatusServiceUnavailable,
				fault.New(fault.Unavailable, "%d requests of this kind are being served already", cap(o.places)).
					WithHint("Nothing changed. Try again in a second."))
		}
	})
}
