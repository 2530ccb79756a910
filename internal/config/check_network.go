package config

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/registry"
)

// hostForm is a host name in lower case, or a star for all names below it.
var hostForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
})

func (c *checker) rules(p path, written []string) []registry.NetworkRule {
	var rules []registry.NetworkRule
	for i, text := range written {
		rule, ok := networkRule(text)
		if !ok {
			c.complain(p.child(strconv.Itoa(i)), "this is neither a range of addresses nor a host",
				"Write a CIDR such as 10.0.0.0/8, an address, or a host such as api.example.org or *.example.org; :PORT may follow, after a range or an IPv6 address in brackets.")
		}
		rules = append(rules, rule)
	}
	return rules
}

// networkRule reads a CIDR, an address or a host, each with or without a port.
func networkRule(text string) (registry.NetworkRule, bool) {
	if prefix, ok := prefixOf(text); ok {
		return registry.NetworkRule{Prefix: prefix}, true
	}
	var rule registry.NetworkRule
	host := strings.ToLower(text)
	if before, after, err := net.SplitHostPort(host); err == nil {
		port, err := strconv.ParseUint(after, 10, 16)
		if err != nil || port == 0 {
			return rule, false
		}
		host, rule.Port = before, uint16(port)
		if prefix, ok := prefixOf(host); ok {
			rule.Prefix = prefix
			return rule, true
		}
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 || !hostForm().MatchString(host) || onlyDigits(host) {
		return rule, false
	}
	rule.Host = host
	return rule, true
}

// onlyDigits reports whether a host looks like an address that is none.
func onlyDigits(host string) bool { return strings.Trim(host, "0123456789.") == "" }

// prefixOf is a range, or the range that holds one address only.
func prefixOf(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		return prefix.Masked(), true
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Prefix{}, false
	}
	address = address.Unmap()
	return netip.PrefixFrom(address, address.BitLen()), true
}
