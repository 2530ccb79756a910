package registry_test

import (
	"net/netip"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func within(prefix string, port uint16) registry.NetworkRule {
	return registry.NetworkRule{Prefix: netip.MustParsePrefix(prefix), Port: port}
}

func TestNetwork_permitsTheAddressThatIsDialled(t *testing.T) {
	t.Parallel()
	none := registry.Network{}
	allow := func(rules ...registry.NetworkRule) registry.Network { return registry.Network{Allow: rules} }
	host := func(name string, port uint16) registry.NetworkRule {
		return registry.NetworkRule{Host: name, Port: port}
	}
	for name, each := range map[string]struct {
		network registry.Network
		host    string
		address string
		want    bool
	}{
		"loopback":                         {none, "localhost", "127.0.0.1:80", true},
		"a public address":                 {none, "example.org", "192.0.2.1:443", true},
		"metadata":                         {none, "169.254.169.254", "169.254.169.254:80", false},
		"metadata behind a name":           {none, "example.org", "169.254.169.254:80", false},
		"metadata as IPv6":                 {none, "example.org", "[::ffff:169.254.169.254]:80", false},
		"metadata through NAT64":           {none, "example.org", "[64:ff9b::a9fe:a9fe]:80", false},
		"metadata of AWS over IPv6":        {none, "example.org", "[fd00:ec2::254]:80", false},
		"metadata of Alibaba":              {none, "example.org", "100.100.100.200:80", false},
		"link-local with a zone":           {none, "example.org", "[fe80::1%eth0]:80", false},
		"multicast":                        {none, "example.org", "224.0.0.1:80", false},
		"metadata, allowed by name":        {allow(host("example.org", 0)), "example.org", "169.254.169.254:80", false},
		"metadata, allowed by everything":  {allow(within("0.0.0.0/0", 0)), "example.org", "169.254.169.254:80", false},
		"metadata, allowed by its address": {allow(within("169.254.169.254/32", 80)), "example.org", "169.254.169.254:80", true},
		"link-local, allowed by its range": {allow(within("169.254.0.0/16", 0)), "example.org", "169.254.7.7:80", true},
		"metadata, another port":           {allow(within("169.254.169.254/32", 80)), "example.org", "169.254.169.254:81", false},
		"in the list":                      {allow(within("10.0.0.0/8", 0)), "example.org", "10.1.2.3:80", true},
		"in the list, as IPv6":             {allow(within("10.0.0.0/8", 0)), "example.org", "[::ffff:10.1.2.3]:80", true},
		"not in the list":                  {allow(within("10.0.0.0/8", 0)), "example.org", "11.1.2.3:80", false},
		"in the list, another port":        {allow(within("10.0.0.0/8", 443)), "example.org", "10.1.2.3:80", false},
		"a name in the list":               {allow(host("example.org", 443)), "Example.org.", "192.0.2.1:443", true},
		"a name below one in the list":     {allow(host("*.example.org", 0)), "a.b.example.org", "192.0.2.1:443", true},
		"the name above":                   {allow(host("*.example.org", 0)), "example.org", "192.0.2.1:443", false},
		"a name that ends alike":           {allow(host("*.example.org", 0)), "badexample.org", "192.0.2.1:443", false},
		"denied and allowed":               {registry.Network{Allow: []registry.NetworkRule{within("10.0.0.0/8", 0)}, Deny: []registry.NetworkRule{within("10.0.0.7/32", 0)}}, "h", "10.0.0.7:80", false},
		"denied by name":                   {registry.Network{Deny: []registry.NetworkRule{host("example.org", 0)}}, "example.org", "192.0.2.1:443", false},
		"not denied":                       {registry.Network{Deny: []registry.NetworkRule{host("example.org", 0)}}, "example.com", "192.0.2.1:443", true},
	} {
		if got := each.network.Permits(each.host, netip.MustParseAddrPort(each.address)); got != each.want {
			t.Errorf("%s: %s at %s is permitted: %v, want %v", name, each.host, each.address, got, each.want)
		}
	}
}
