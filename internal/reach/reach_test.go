package reach_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/countersign-dev/countersign/internal/reach"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestCause_knowsEveryKindOfError(t *testing.T) {
	t.Parallel()
	dialled := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	plain := tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake", RecordHeader: [5]byte([]byte("HTTP/"))}
	for _, c := range []struct {
		err   error
		cause registry.Cause
		plain bool
	}{
		{context.DeadlineExceeded, registry.Timeout, false},
		{dialled(os.ErrDeadlineExceeded), registry.Timeout, false},
		{dialled(&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}), registry.DNS, false},
		{dialled(&net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true}), registry.Timeout, false},
		{dialled(os.NewSyscallError("connect", syscall.ECONNREFUSED)), registry.Refused, false},
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, registry.TLS, false},
		{tls.RecordHeaderError{Msg: "no handshake"}, registry.TLS, false},
		{plain, registry.TLS, true},
		{fmt.Errorf("of the client: %w", http.ErrSchemeMismatch), registry.TLS, true},
		{errors.New("remote error: tls: handshake failure"), registry.TLS, false},
		{dialled(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), registry.Unreachable, false},
		{io.EOF, registry.Unreachable, false},
	} {
		if cause, isPlain := reach.Cause(c.err), reach.IsPlainHTTP(c.err); cause != c.cause || isPlain != c.plain {
			t.Errorf("%v: %s, plain http: %v; want %s, %v", c.err, cause, isPlain, c.cause, c.plain)
		}
	}
}
