package mcpwire_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// certifier signs certificates for the tests of one run.
type certifier struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	roots       *x509.CertPool
}

func newCertifier(t *testing.T) *certifier {
	t.Helper()
	c := &certifier{key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t), roots: x509.NewCertPool()}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: "tests"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw := must(x509.CreateCertificate(rand.Reader, form, form, c.key.Public(), c.key))(t)
	c.certificate = must(x509.ParseCertificate(raw))(t)
	c.roots.AddCert(c.certificate)
	return c
}

// issue returns a certificate and its key in PEM.
func (c *certifier) issue(t *testing.T, name string) (chain, key string) {
	t.Helper()
	own := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	raw := must(x509.CreateCertificate(rand.Reader, form, c.certificate, own.Public(), c.key))(t)
	private := must(x509.MarshalPKCS8PrivateKey(own))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// secured starts a server that says who came with which certificate.
func (c *certifier) secured(t *testing.T, demand tls.ClientAuthType, newest uint16) *url.URL {
	t.Helper()
	chain, key := c.issue(t, "server")
	pair := must(tls.X509KeyPair([]byte(chain), []byte(key)))(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		for _, shown := range request.TLS.PeerCertificates {
			w.Header().Set("X-Came", shown.Subject.CommonName)
		}
		fmt.Fprint(w, w.Header().Get("X-Came"))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: c.roots, ClientAuth: demand, MaxVersion: newest}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return must(url.Parse(server.URL))(t)
}

// cameAs returns the name by which the server knew the client.
func cameAs(t *testing.T, outlet mcpwire.Outlet, address *url.URL) (string, error) {
	t.Helper()
	client := outlet.Client()
	defer client.CloseIdleConnections()
	request := must(http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, address.String(), http.NoBody))(t)
	exchange, err := mcpwire.Do(within(t, time.Minute), client, request)
	if err != nil {
		return "", err
	}
	defer exchange.Close()
	return exchange.Response.Header.Get("X-Came"), nil
}

func TestCredentials_presentTheCertificateToTheirOriginOnly(t *testing.T) {
	t.Parallel()
	authority := newCertifier(t)
	home := authority.secured(t, tls.RequireAndVerifyClientCert, tls.VersionTLS13)
	other := authority.secured(t, tls.RequestClientCert, tls.VersionTLS13)
	older := authority.secured(t, tls.RequireAndVerifyClientCert, tls.VersionTLS12) // refuses within the handshake
	chain, key := authority.issue(t, "prober")
	secrets := &vault{secrets: map[string]string{"file:/chain": chain, "file:/key": key}}
	wanted := registry.Credentials{ClientCert: registry.SecretAt("file:/chain"), ClientKey: registry.SecretAt("file:/key")}
	outlet := outletTo(home, wanted, secrets.resolve)
	outlet.Roots = authority.roots
	for address, want := range map[*url.URL]string{home: "prober", other: ""} {
		if got, err := cameAs(t, outlet, address); err != nil || got != want {
			t.Errorf("the server knew %q, %v, want %q", got, err, want)
		}
	}
	without := mcpwire.Outlet{Roots: authority.roots}
	if _, failure := get(within(t, time.Minute), without, older); failure == nil || failure.Cause != registry.TLS {
		t.Errorf("without a certificate: got %v, want tls", failure)
	}
	if _, failure := get(within(t, time.Minute), outletTo(home, wanted, secrets.resolve), home); failure == nil || failure.Cause != registry.TLS {
		t.Errorf("a server of an unknown authority: got %v, want tls", failure)
	}
}

func TestRecorder_tellsCurlWhereTheCertificateIs(t *testing.T) {
	t.Parallel()
	authority := newCertifier(t)
	home := authority.secured(t, tls.RequireAndVerifyClientCert, tls.VersionTLS13)
	chain, key := authority.issue(t, "prober")
	secrets := &vault{secrets: map[string]string{"file:/it's/chain": chain, "env:KEY": key}}
	outlet := outletTo(home, registry.Credentials{
		ClientCert: registry.SecretAt("file:/it's/chain"), ClientKey: registry.SecretAt("env:KEY"),
	}, secrets.resolve)
	outlet.Roots, outlet.Recorder = authority.roots, &mcpwire.Recorder{}
	if _, failure := get(within(t, time.Minute), outlet, home); failure != nil {
		t.Fatal(failure)
	}
	seen := outlet.Recorder.Transcript(outlet.Redactor)
	if want := `--cert '/it'\''s/chain' --key "$CLIENT_KEY" '` + home.String() + `'`; !strings.Contains(seen.Curl, want) {
		t.Errorf("the curl line is %s, want %s in it", seen.Curl, want)
	}
	if len(seen.Variables) != 1 || seen.Variables[0] != (registry.Variable{Name: "CLIENT_KEY", Means: "a file with what is at env:KEY"}) {
		t.Errorf("the variables are %v", seen.Variables)
	}
	if seen.Exchanges[0].Timings.TLSMs <= 0 {
		t.Errorf("the timings are %+v", seen.Exchanges[0].Timings)
	}
}

func TestCredentials_hideTheKeyOfACertificate(t *testing.T) {
	t.Parallel()
	_, key := newCertifier(t).issue(t, "prober")
	var hide mcpwire.Redactor
	hide.AddCredential(key)
	body := strings.Split(key, "\n")[1]
	if got := hide.Clean("the key is " + body); strings.Contains(got, body[:16]) {
		t.Errorf("got %q", got)
	}
}
