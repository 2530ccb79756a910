package mcpwire

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// DialTimeout bounds the look-up of a name and the connection to one of its
// addresses, apart from the deadline of the gate.
const DialTimeout = 10 * time.Second

// Outlet is how the requests of one probe leave this machine. The zero value
// carries no credentials, records nothing, and dials what registry.Network
// permits by default. The gates of a probe share one, each with a recorder of
// its own.
type Outlet struct {
	Network     registry.Network
	Resolver    *net.Resolver  // nil for that of this machine
	Roots       *x509.CertPool // authorities to trust; nil for those of this machine
	Credentials *Credentials   // nil for none
	Redactor    *Redactor      // nil when there is nothing to hide
	Recorder    *Recorder      // nil to record nothing
}

// With returns the outlet with another recorder.
func (o Outlet) With(recorder *Recorder) Outlet {
	o.Recorder = recorder
	return o
}

// dial connects to an address that the rules permit. They are applied to each
// address at the moment it is dialled, so a name that resolves differently from
// one moment to the next gains nothing.
func (o Outlet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		Timeout:  DialTimeout, // shared out among the addresses of a name
		Resolver: o.Resolver,
		ControlContext: func(_ context.Context, _, dialled string, _ syscall.RawConn) error {
			return o.admits(host, dialled)
		},
	}
	return dialer.DialContext(ctx, network, address)
}

// admits refuses what may not be dialled for the host that was asked for. An
// error is a *Failure with the cause denied, which names the address.
func (o Outlet) admits(host, dialled string) error {
	address, err := netip.ParseAddrPort(dialled)
	if err == nil && o.Network.Permits(host, reached(address)) {
		return nil
	}
	detail := "the address " + dialled + " may not be dialled"
	if _, err := netip.ParseAddr(host); err != nil {
		detail = fmt.Sprintf("the address %s, to which %s resolves, may not be dialled", dialled, host)
	}
	return &Failure{Cause: registry.Denied, Detail: registry.Shorten(detail, registry.MaxDetail)}
}

// reached is the address at which a connection arrives: that to the unspecified
// address ends at this machine.
func reached(address netip.AddrPort) netip.AddrPort {
	switch to := address.Addr().Unmap(); {
	case !to.IsUnspecified():
		return address
	case to.Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), address.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), address.Port())
}
