package loopback

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Names are what a port of the loopback is called by those who mean it: its address
// and localhost, with the port, as a Host header has them. They do not change.
type Names struct{ hosts []string }

// NamesOf gives the names of an address.
func NamesOf(at netip.AddrPort) Names {
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	hosts := []string{at.String(), "localhost:" + strconv.Itoa(int(at.Port()))}
	if at.Port() == 80 { // which is left out then (RFC 9110, section 4.2.3)
		for _, host := range hosts {
			hosts = append(hosts, strings.TrimSuffix(host, ":80"))
		}
	}
	return Names{hosts}
}

// Include says whether that is a name of the port, in whatever case it is written.
func (n Names) Include(host string) bool {
	return slices.ContainsFunc(n.hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// ForeignPage gives the origin of the page that has sent a request, if it is one of
// another place, and whether it is. What is no browser sends no origin.
func (n Names) ForeignPage(r *http.Request) (origin string, foreign bool) {
	const scheme = "http://" // nothing here is served with TLS
	for _, origin := range r.Header.Values("Origin") {
		if len(origin) < len(scheme) || !strings.EqualFold(origin[:len(scheme)], scheme) || !n.Include(origin[len(scheme):]) {
			return origin, true
		}
	}
	return "", false
}
