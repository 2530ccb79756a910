// Package reach says why no answer could be had over the network.
package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Cause says for which cause no answer could be had over the network, by the error of
// net/http or of a connection: Timeout, DNS, Refused, TLS, or else Unreachable.
func Cause(err error) registry.Cause {
	wait, isNet := errors.AsType[net.Error](err)
	_, isLookup := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), isNet && wait.Timeout():
		return registry.Timeout
	case isLookup:
		return registry.DNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return registry.Refused
	case isTLS(err):
		return registry.TLS
	}
	return registry.Unreachable
}

func isTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return certificate || record || IsPlainHTTP(err) || strings.HasPrefix(strings.TrimPrefix(err.Error(), "remote error: "), "tls: ")
}

// IsPlainHTTP reports whether what was asked over TLS answered in plain http.
func IsPlainHTTP(err error) bool {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	return errors.Is(err, http.ErrSchemeMismatch) || ok && string(record.RecordHeader[:]) == "HTTP/"
}

// PlainHTTP is what is said of it.
const PlainHTTP = "it speaks http and not https: use http:// in its address"
