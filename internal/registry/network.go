package registry

import (
	"net/netip"
	"strings"
)

// Network says which addresses may be dialled. It is applied to the address that
// is really dialled, after the name was resolved. The zero value permits every
// address outside the guarded ranges.
type Network struct {
	Allow []NetworkRule // when there are any, nothing else is permitted
	Deny  []NetworkRule // never permitted, whatever Allow says
}

// NetworkRule matches a range of addresses, or else a host name as it was asked
// for: in lower case, exact, or "*.example.org" for every name below it.
type NetworkRule struct {
	Prefix netip.Prefix // when valid, Host is empty
	Host   string
	Port   uint16 // 0 for every port
}

// Guarded returns the ranges that are denied unless an Allow rule names a range
// that lies within them: link-local addresses and the metadata services of
// clouds, where a probe could be made to fetch credentials.
func Guarded() []netip.Prefix {
	var guarded []netip.Prefix
	for _, text := range []string{
		"169.254.0.0/16",      // link-local; metadata of AWS, Azure, Google
		"fe80::/10",           // link-local
		"fd00:ec2::/32",       // metadata of AWS
		"100.100.100.200/32",  // metadata of Alibaba
		"192.0.0.192/32",      // metadata of Oracle
		"168.63.129.16/32",    // the host agent of Azure
		"64:ff9b::a9fe:0/112", // link-local through NAT64
		"2002:a9fe::/32",      // link-local through 6to4
		"224.0.0.0/4",         // multicast
		"ff00::/8",            // multicast
		"255.255.255.255/32",  // broadcast
	} {
		guarded = append(guarded, netip.MustParsePrefix(text))
	}
	return guarded
}

// Permits reports whether the address may be dialled for the host that was asked
// for. An IPv4 address inside IPv6 is judged as the IPv4 address.
func (n Network) Permits(host string, address netip.AddrPort) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	address = netip.AddrPortFrom(address.Addr().Unmap().WithZone(""), address.Port())
	for _, rule := range n.Deny {
		if rule.matches(host, address) {
			return false
		}
	}
	for _, guarded := range Guarded() {
		if guarded.Contains(address.Addr()) {
			return n.opens(guarded, host, address)
		}
	}
	if len(n.Allow) == 0 {
		return true
	}
	for _, rule := range n.Allow {
		if rule.matches(host, address) {
			return true
		}
	}
	return false
}

// opens reports whether an Allow rule names an address of a guarded range on
// purpose: neither a name nor a wider range does.
func (n Network) opens(guarded netip.Prefix, host string, address netip.AddrPort) bool {
	for _, rule := range n.Allow {
		within := rule.Prefix.IsValid() && rule.Prefix.Bits() >= guarded.Bits()
		if within && rule.matches(host, address) {
			return true
		}
	}
	return false
}

func (r NetworkRule) matches(host string, address netip.AddrPort) bool {
	if r.Port != 0 && r.Port != address.Port() {
		return false
	}
	if r.Prefix.IsValid() {
		return r.Prefix.Contains(address.Addr())
	}
	if below, ok := strings.CutPrefix(r.Host, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return host == r.Host
}
