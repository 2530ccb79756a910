package telemetry_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/telemetry"
)

// exported sends one span by the tracing of an environment, and returns what the log
// says of it.
func exported(t *testing.T, set map[string]string) string {
	t.Helper()
	var out lockedBuffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	tracing, err := telemetry.NewTracing(t.Context(), variables(t, set), "1.2.3", log)
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracing.Tracer().Start(t.Context(), "probe")
	span.End()
	tracing.Shutdown(t.Context())
	return out.String()
}

// TestTracing_isNotLedElsewhere has a collector redirect to another address, which
// must hear nothing, and to itself, which would turn what is sent into a GET.
func TestTracing_isNotLedElsewhere(t *testing.T) {
	var led atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other.URL + "/v1/traces", "/elsewhere"} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/opensesame/v1/traces" {
					led.Add(1)
					return
				}
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			}))
			said := exported(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/opensesame"})
			server.Close()
			if led.Load() != 0 || !strings.Contains(said, fmt.Sprintf("it answered with the status %d; redirects are not followed", status)) {
				t.Errorf("%d to %s: %d requests were led there, and the log says %s", status, to, led.Swap(0), said)
			}
			if strings.Contains(said, "opensesame") {
				t.Errorf("the log tells the address, which may hold a secret: %s", said)
			}
		}
	}
}

// TestTracing_repeatsNothingOfWhatACollectorSays has one give back the secret of a
// header in its answer.
func TestTracing_repeatsNothingOfWhatACollectorSays(t *testing.T) {
	for _, status := range []int{301, 400, 401, 404, 500, 503} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/"+r.Header.Get("X-Key"))
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "not with "+r.Header.Get("X-Key"))
		}))
		said := exported(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=opensesame"})
		server.Close()
		if strings.Contains(said, "opensesame") || !strings.Contains(said, fmt.Sprint("the status ", status)) {
			t.Errorf("%d: the log says %s", status, said)
		}
	}
}

// TestTracing_triesAgainAfterTheTimeOfTheEnvironment has a collector that answers the
// second request alone: the first one takes the time that Shutdown has, and more.
func TestTracing_triesAgainAfterTheTimeOfTheEnvironment(t *testing.T) {
	hung := make(chan struct{})
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests.Add(1) == 1 {
			<-hung
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hung) })
	said := exported(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "20"})
	if requests.Load() != 2 || said != "" {
		t.Errorf("%d requests were made, and the log says %s", requests.Load(), said)
	}
}

// TestTracing_provesItselfToACollectorThatItTrusts has a collector with a certificate
// of its own making, that demands one.
func TestTracing_provesItselfToACollectorThatItTrusts(t *testing.T) {
	certificate, key := selfSigned(t)
	var served atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		served.Add(1)
	}))
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(pair.Leaf)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	const prefix = "OTEL_EXPORTER_OTLP_"
	for what, row := range map[string]struct {
		set   map[string]string
		taken int64
	}{
		"nothing":           {map[string]string{}, 0},
		"trust alone":       {map[string]string{prefix + "CERTIFICATE": certificate}, 0},
		"trust and a proof": {map[string]string{prefix + "CERTIFICATE": certificate, prefix + "CLIENT_CERTIFICATE": certificate, prefix + "CLIENT_KEY": key}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			row.set[prefix+"ENDPOINT"] = server.URL
			served.Store(0)
			if said := exported(t, row.set); served.Load() != row.taken || (said == "") != (row.taken > 0) {
				t.Errorf("%d requests were served, and the log says %q", served.Load(), said)
			}
		})
	}
}

// selfSigned makes a certificate for this machine and its key, as files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
}
