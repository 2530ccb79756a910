package alert

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/countersign-dev/countersign/internal/reach"
	"github.com/countersign-dev/countersign/internal/registry"
)

// What to do about a message that was not taken.
const (
	hintEntry  = "Correct its entry below alerts."
	hintLog    = "Look in the log of the receiver."
	hintSlow   = "Look for what the receiver waits for; what it does with a message can follow its answer."
	hintNotWeb = "Check the port, and what listens there."
	hintSecret = "Provide it where this runs, or correct the entry of the receiver below alerts."
)

// errDenied says that an address may not be dialled.
type errDenied string

func (e errDenied) Error() string { return string(e) }

// redacted is an error of the client without the address, which may be a secret,
// and without what the receiver answered; and what to do about it.
func redacted(err error, sent bool) (hint string, told error) {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	cause := reach.Cause(err)
	switch {
	case cause == registry.Timeout && sent:
		return hintSlow, fmt.Errorf("it did not answer within %v", SendTimeout)
	case !sent:
		return unreached(err, cause)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return hintLog, errors.New("it ended the connection before it had answered")
	}
	return hintNotWeb, errors.New("its answer could not be read as HTTP")
}

// unreached is the error of a receiver that was sent nothing, and what to do about it.
func unreached(err error, cause registry.Cause) (hint string, told error) {
	denied, isDenied := errors.AsType[errDenied](err)
	if isDenied {
		return "Choose another address: link-local ones and metadata services are never dialled.", denied
	}
	var said string
	switch dialled, isDialled := errors.AsType[*net.OpError](err); {
	case cause == registry.Timeout:
		return "Check routes and firewalls, and that the receiver runs.", fmt.Errorf("it could not be reached within %v", SendTimeout)
	case cause == registry.DNS:
		lookup, _ := errors.AsType[*net.DNSError](err) // it always is one
		said = "the host name " + lookup.Name + " could not be resolved: " + lookup.Err
		hint = "Check the spelling of the host and the resolver of this machine."
	case cause == registry.Refused && isDialled && dialled.Addr != nil:
		said, hint = "connection refused by "+dialled.Addr.String(), "Start the receiver, or correct the port."
	case cause == registry.Refused:
		said, hint = "connection refused", "Start the receiver, or correct the port."
	case reach.IsPlainHTTP(err):
		said, hint = reach.PlainHTTP, hintEntry
	case cause == registry.TLS:
		said, hint = "the TLS handshake failed: "+err.Error(), "Check that the port speaks TLS, and the names, dates and issuer of the certificate."
	default:
		said, hint = err.Error(), "Check routes and firewalls, and that an HTTP server listens on this port."
	}
	return hint, errors.New(registry.Shorten(said, maxReason))
}

// hintOfStatus says what to do about an answer that is not a success.
func hintOfStatus(code int) string {
	switch {
	case code < http.StatusOK, code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return "Check the path of its url."
	case code < http.StatusBadRequest:
		return "Give the final address."
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return "Check the secret, the token or the headers of its entry below alerts, and the rights that they have."
	case code == http.StatusGone:
		return "It asks not to be told any more: remove it from the configuration, or correct its url."
	case code == http.StatusTooManyRequests:
		return "It is asked again later, and less often; see what else it is sent."
	case code < http.StatusInternalServerError:
		return "Look in the log of the receiver, and check that it takes messages of this form: a template makes another."
	}
	return hintLog
}
