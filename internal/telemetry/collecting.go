package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
)

// Bounds of one request to a collector.
const (
	sendTime       = 10 * time.Second // unless OTEL_EXPORTER_OTLP_TIMEOUT says otherwise
	maxCertificate = 1 << 20          // bytes of a file of certificates or of a key
)

// The variables, each with a variant for traces that comes before it, which the
// exporter leaves to whoever gives it a client.
const (
	envPrefix            = "OTEL_EXPORTER_OTLP_"
	envTracesPrefix      = "OTEL_EXPORTER_OTLP_TRACES_"
	envTimeout           = "TIMEOUT" // milliseconds
	envCertificate       = "CERTIFICATE"
	envClientCertificate = "CLIENT_CERTIFICATE"
	envClientKey         = "CLIENT_KEY"
)

// newCollecting makes the client by which spans are sent: it follows no redirect,
// and repeats nothing that a collector says, which could be the secret of a header.
// A proxy of the environment is used, as everywhere in OpenTelemetry.
func newCollecting(getenv func(string) string) (*http.Client, error) {
	timeout, err := timeoutOf(getenv)
	if err != nil {
		return nil, err
	}
	secured, err := tlsOf(getenv)
	if err != nil {
		return nil, err
	}
	return &http.Client{Timeout: timeout, Transport: collecting{&http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: secured, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: sendTime, MaxIdleConns: 1, IdleConnTimeout: 90 * time.Second,
	}}}, nil
}

// variable returns the value of a variable or of its variant for traces, and the
// name of the one that is set.
func variable(getenv func(string) string, name string) (value, from string) {
	for _, prefix := range []string{envTracesPrefix, envPrefix} {
		if value := strings.TrimSpace(getenv(prefix + name)); value != "" {
			return value, prefix + name
		}
	}
	return "", ""
}

func timeoutOf(getenv func(string) string) (time.Duration, error) {
	text, from := variable(getenv, envTimeout)
	if from == "" {
		return sendTime, nil
	}
	milliseconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil || milliseconds <= 0 {
		return 0, fault.New(fault.InvalidArgument, "%s %.40q is no number of milliseconds", from, text).
			With(fault.Field, from).WithHint("Give a whole number above 0, such as 10000.")
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

// tlsOf is whom to trust and how to prove oneself, where the environment says so.
func tlsOf(getenv func(string) string) (*tls.Config, error) {
	made := &tls.Config{MinVersion: tls.VersionTLS12}
	if path, from := variable(getenv, envCertificate); from != "" {
		text, err := certificateFile(path, from)
		if err != nil {
			return nil, err
		}
		made.RootCAs = x509.NewCertPool()
		if !made.RootCAs.AppendCertsFromPEM(text) {
			return nil, unusable(from, errors.New("it holds no certificate in PEM"))
		}
	}
	path, from := variable(getenv, envClientCertificate)
	keyPath, keyFrom := variable(getenv, envClientKey)
	switch {
	case from == "" && keyFrom == "":
		return made, nil
	case from == "" || keyFrom == "":
		return nil, unusable(from+keyFrom, errors.New("a certificate and its key are given together"))
	}
	certificate, err := certificateFile(path, from)
	if err != nil {
		return nil, err
	}
	key, err := certificateFile(keyPath, keyFrom)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, unusable(from, err)
	}
	made.Certificates = []tls.Certificate{pair}
	return made, nil
}

func certificateFile(path, from string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unusable(from, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxCertificate+1))
	switch {
	case err != nil:
		return nil, unusable(from, err)
	case len(text) > maxCertificate:
		return nil, unusable(from, fmt.Errorf("it has more than %d bytes", maxCertificate))
	}
	return text, nil
}

func unusable(variable string, err error) error {
	return fault.New(fault.InvalidArgument, "what %s names cannot be used: %v", variable, err).With(fault.Field, variable).
		WithHint("Name a file in PEM that this process may read.").WithCause(err)
}

// collecting judges the answers of a collector before the exporter does, which
// would repeat them.
type collecting struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. An answer that is neither a success nor
// one after which the exporter tries again is an error.
func (c collecting) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(request)
	if err != nil || answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices {
		return answer, err
	}
	_ = answer.Body.Close()
	switch code := answer.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		answer.Body = io.NopCloser(strings.NewReader(fmt.Sprintf("it answered with the status %d", code)))
		return answer, nil
	case code < http.StatusBadRequest:
		return nil, fmt.Errorf("it answered with the status %d; redirects are not followed", code)
	default:
		return nil, fmt.Errorf("it answered with the status %d", code)
	}
}

// withoutAddress is an error of a client without the address, which may hold a
// secret.
func withoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
