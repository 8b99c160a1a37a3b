package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// Loopback is a port of the loopback, and what it is called by those who mean it.
type Loopback struct {
	net.Listener
	hosts []string // as a Host header has them
}

// CheckLoopback says whether an address, ADDRESS:PORT, is one that may be listened
// on: the loopback and nothing else. Names are none, because what a name means is
// said elsewhere.
func CheckLoopback(address string) error {
	at, err := netip.ParseAddrPort(address)
	switch {
	case err != nil || at.Addr().Zone() != "":
		return fmt.Errorf("%q is not an address with a port: write 127.0.0.1:PORT or [::1]:PORT", address)
	case !at.Addr().IsLoopback() || at.Addr().Is4In6():
		return fmt.Errorf("%s would be open to other machines: write 127.0.0.1:PORT or [::1]:PORT", address)
	}
	return nil
}

// ListenLoopback listens on an address of the loopback. Port 0 is any free one.
func ListenLoopback(address string) (*Loopback, error) {
	if err := CheckLoopback(address); err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: another process has it; use another port", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	hosts := []string{l.Addr().String(), "localhost:" + port}
	if port == "80" { // which is left out then
		hosts = append(hosts, strings.TrimSuffix(hosts[0], ":80"), "localhost")
	}
	return &Loopback{l, hosts}, nil
}

// URL is where it is reached: http://127.0.0.1:8123.
func (l *Loopback) URL() string { return "http://" + l.Addr().String() }

// Guard lets through only what was meant for this port, and by no page of another
// place: a browser sends any page's requests here, under a name that its author
// had resolve to this address (DNS rebinding), but says which name and which page.
func (l *Loopback) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(l.hosts, r.Host) {
			writeFailure(w, failure(http.StatusForbidden, "not answered: the request is for %q, and this is %s", r.Host, l.hosts[0]))
			return
		}
		for _, origin := range r.Header.Values("Origin") {
			if host, plain := strings.CutPrefix(origin, "http://"); !plain || !slices.Contains(l.hosts, host) {
				writeFailure(w, failure(http.StatusForbidden, "not answered: the request comes from a page of %q", origin))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
