package upstream

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// zone is how far inside a network an address is. The metadata of a server name the addresses of its authorization server,
// and nobody has approved those: they must not be further inside than the server itself. Otherwise any server could send
// requests to this machine and to the network around it.
type zone int

const (
	publicZone   zone = iota
	privateZone       // of a network, also of a carrier (RFC 6598)
	loopbackZone      // of this machine
	innermost         // of the link, such as the metadata of a cloud, and addresses of no host
)

var carrier = netip.MustParsePrefix("100.64.0.0/10")

func zoneOf(ip netip.Addr) zone {
	switch ip = ip.Unmap(); {
	case ip.IsLoopback():
		return loopbackZone
	case ip.IsPrivate(), carrier.Contains(ip):
		return privateZone
	case ip.IsGlobalUnicast():
		return publicZone
	}
	return innermost
}

// zoneOfURL returns the zone of a server; publicZone if its name cannot be resolved.
func zoneOfURL(ctx context.Context, address string) (most zone) {
	at, err := url.Parse(address)
	if err != nil {
		return publicZone
	}
	ips, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", at.Hostname())
	for _, ip := range ips {
		most = max(most, zoneOf(ip))
	}
	return most
}

// zoned sends requests to addresses that are at most as far inside as a server.
type zoned struct{ server string } // URL

// RoundTrip implements [http.RoundTripper].
func (z zoned) RoundTrip(r *http.Request) (*http.Response, error) {
	return zonedTransports()[zoneOfURL(r.Context(), z.server)].RoundTrip(r)
}

// zonedTransports are the transports up to each zone. They do not share connections.
var zonedTransports = sync.OnceValue(func() (list [innermost + 1]http.RoundTripper) {
	for most := range list {
		list[most] = zonedTransport(zone(most))
	}
	return list
})

func zonedTransport(most zone) http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok || behindProxy(base) {
		return http.DefaultTransport // the proxy decides what is reached
	}
	transport := base.Clone()
	transport.DialContext = (&net.Dialer{
		Timeout: 30 * time.Second, KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err == nil && zoneOf(to.Addr()) > most {
				err = fmt.Errorf("its metadata lead to %s, which is further inside the network than the server itself", to.Addr())
			}
			return err
		},
	}).DialContext
	return transport
}

// behindProxy reports whether requests go through a proxy, whose address may be anywhere.
func behindProxy(t *http.Transport) bool {
	if t.Proxy == nil {
		return false
	}
	proxy, err := t.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "example.com"}})
	return err == nil && proxy != nil
}
