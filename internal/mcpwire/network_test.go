package mcpwire_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// nameServer is a DNS server over UDP. To the nth question for an IPv4 address
// it gives what answer says; other questions have no answer.
type nameServer struct {
	answer func(n int64) []netip.Addr
	asked  atomic.Int64
}

// resolver starts the server and returns a resolver that asks nobody else.
func (s *nameServer) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	listening := must(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = listening.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		question := make([]byte, 512)
		for {
			n, from, err := listening.ReadFrom(question)
			if err != nil {
				return
			}
			if reply := s.reply(question[:n]); reply != nil {
				_, _ = listening.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", listening.LocalAddr().String())
	}}
}

// reply answers a question (RFC 1035, section 4).
func (s *nameServer) reply(question []byte) []byte {
	const header, typeA = 12, 1
	end := header
	for end < len(question) && question[end] != 0 {
		end += int(question[end]) + 1
	}
	if end += 5; end > len(question) {
		return nil
	}
	var found []netip.Addr
	if binary.BigEndian.Uint16(question[end-4:]) == typeA {
		found = s.answer(s.asked.Add(1))
	}
	reply := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, byte(len(found)), 0, 0, 0, 0}, question[header:end]...)
	for _, address := range found {
		reply = append(reply, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4) // the name of the question, a minute-less life
		reply = append(reply, address.AsSlice()...)
	}
	return reply
}

func addresses(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func rule(text string) registry.NetworkRule {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return registry.NetworkRule{Prefix: prefix}
	}
	return registry.NetworkRule{Host: text}
}

// TestOutlet_judgesTheAddressThatIsDialled has a name that resolves to a
// permitted address at one look-up and to a metadata service at the next.
func TestOutlet_judgesTheAddressThatIsDialled(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	names := &nameServer{answer: func(n int64) []netip.Addr {
		if n == 1 {
			return addresses("127.0.0.1")
		}
		return addresses("169.254.169.254")
	}}
	outlet := mcpwire.Outlet{Resolver: names.resolver(t)}
	address := home.at(t, "/")
	address.Host = "rebound.test:" + address.Port()
	if status, failure := get(within(t, time.Minute), outlet, address); status != 200 {
		t.Fatalf("at first: got %d, %v", status, failure)
	}
	_, failure := get(within(t, time.Minute), outlet, address)
	want := "the address 169.254.169.254:" + address.Port() + ", to which rebound.test resolves, may not be dialled"
	if failure == nil || failure.Cause != registry.Denied || failure.Detail != want {
		t.Errorf("after that: got %v, want denied: %s", failure, want)
	}
}

func TestOutlet_triesTheOtherAddressesOfAName(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	names := &nameServer{answer: func(int64) []netip.Addr { return addresses("169.254.169.254", "127.0.0.1") }}
	address := home.at(t, "/")
	address.Host = "both.test:" + address.Port()
	if status, failure := get(within(t, time.Minute), mcpwire.Outlet{Resolver: names.resolver(t)}, address); status != 200 {
		t.Errorf("got %d, %v", status, failure)
	}
}

func TestOutlet_deniesTheGuardedRangesInEveryForm(t *testing.T) {
	t.Parallel()
	for host, denied := range map[string]bool{
		"169.254.169.254":          true,
		"169.254.0.1":              true,
		"[::ffff:169.254.169.254]": true,
		"[::ffff:a9fe:a9fe]":       true,
		"[fe80::1]":                true,
		"[fe80::1%25lo]":           true,
		"[fd00:ec2::254]":          true,
		"100.100.100.200":          true,
		"[64:ff9b::a9fe:a9fe]":     true,
		"127.0.0.1":                false,
		"[::1]":                    false,
		"[::ffff:127.0.0.1]":       false,
	} {
		address := must(url.Parse("http://" + host + ":9/"))(t)
		_, failure := get(within(t, time.Minute), mcpwire.Outlet{}, address)
		if failure == nil || (failure.Cause == registry.Denied) != denied {
			t.Errorf("%s: got %v, want denied: %v", host, failure, denied)
		}
		if failure != nil && denied && !strings.Contains(failure.Detail, "may not be dialled") {
			t.Errorf("%s: the detail is %q", host, failure.Detail)
		}
	}
}

func TestOutlet_appliesTheRulesOfTheFile(t *testing.T) {
	t.Parallel()
	home := witnessing(t, fine)
	names := &nameServer{answer: func(int64) []netip.Addr { return addresses("127.0.0.1") }}
	resolver := names.resolver(t)
	for name, row := range map[string]struct {
		network registry.Network
		denied  bool
	}{
		"no rules":         {registry.Network{}, false},
		"an allowed range": {registry.Network{Allow: []registry.NetworkRule{rule("127.0.0.0/8")}}, false},
		"another range":    {registry.Network{Allow: []registry.NetworkRule{rule("10.0.0.0/8")}}, true},
		"an allowed name":  {registry.Network{Allow: []registry.NetworkRule{rule("*.test")}}, false},
		"another name":     {registry.Network{Allow: []registry.NetworkRule{rule("home.test.evil")}}, true},
		"a denied range":   {registry.Network{Deny: []registry.NetworkRule{rule("127.0.0.1/32")}}, true},
		"a denied range in an allowed one": {registry.Network{
			Allow: []registry.NetworkRule{rule("home.test")}, Deny: []registry.NetworkRule{rule("127.0.0.0/8")},
		}, true},
	} {
		address := home.at(t, "/")
		address.Host = "home.test:" + address.Port()
		_, failure := get(within(t, time.Minute), mcpwire.Outlet{Network: row.network, Resolver: resolver}, address)
		if denied := failure != nil && failure.Cause == registry.Denied; denied != row.denied || failure != nil && !denied {
			t.Errorf("%s: got %v, want denied: %v", name, failure, row.denied)
		}
	}
}

// TestOutlet_takesTheUnspecifiedAddressForThisMachine closes the way round a
// rule against loopback.
func TestOutlet_takesTheUnspecifiedAddressForThisMachine(t *testing.T) {
	t.Parallel()
	network := registry.Network{Deny: []registry.NetworkRule{rule("127.0.0.0/8"), rule("::1/128")}}
	for _, host := range []string{"0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "127.0.0.1", "[::1]"} {
		_, failure := get(within(t, time.Minute), mcpwire.Outlet{Network: network}, must(url.Parse("http://"+host+":9/"))(t))
		if failure == nil || failure.Cause != registry.Denied {
			t.Errorf("%s: got %v, want denied", host, failure)
		}
	}
}

// TestOutlet_doesNotReachAMetadataServiceByARedirect also covers the token
// endpoint, which is asked through the same outlet.
func TestOutlet_doesNotReachAMetadataServiceByARedirect(t *testing.T) {
	t.Parallel()
	const metadata = "http://169.254.169.254/latest/meta-data/iam/security-credentials/"
	home := witnessing(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, metadata, http.StatusFound)
	})
	client := mcpwire.Outlet{}.Client()
	defer client.CloseIdleConnections()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, home.URL, http.NoBody))(t)
	exchange, err := mcpwire.Do(t.Context(), client, request)
	if err != nil {
		t.Fatal(err)
	}
	defer exchange.Close()
	if detail := exchange.StatusDetail(); detail != "status 302; Location: "+metadata {
		t.Errorf("the detail is %q", detail)
	}
	outlet := askingWithOAuth(t, home, registry.OAuth{Issuer: "https://issuer.invalid", TokenURL: "https://169.254.169.254/token"})
	if _, failure := get(within(t, time.Minute), outlet, home.at(t, "/")); failure == nil || failure.Cause != registry.Denied {
		t.Errorf("a token endpoint there: got %v, want denied", failure)
	}
}

func TestOutlet_endsWithTheContextWhateverItWaitsFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	mute := must(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer func() { _ = mute.Close() }()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		defer cancel()
		return (&net.Dialer{}).DialContext(ctx, "udp", mute.LocalAddr().String())
	}}
	_, failure := get(ctx, mcpwire.Outlet{Resolver: resolver}, must(url.Parse("http://slow.test/"))(t))
	if failure == nil || failure.Cause != registry.Timeout || failure.Detail != "interrupted while resolving the host name" {
		t.Errorf("got %v, want an interruption", failure)
	}
}
