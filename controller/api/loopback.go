package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"

	"github.com/proc-controller/proc-controller/loopback"
)

// Loopback is a port of the loopback, and what it is called by those who mean it.
type Loopback struct {
	net.Listener
	names loopback.Names
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
	return &Loopback{l, loopback.NamesOf(l.Addr().(*net.TCPAddr).AddrPort())}, nil
}

// URL is where it is reached: http://127.0.0.1:8123.
func (l *Loopback) URL() string { return "http://" + l.Addr().String() }

// Guard lets through only what was meant for this port, and by no page of another
// place.
func (l *Loopback) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.names.Include(r.Host) {
			writeFailure(w, failure(http.StatusForbidden, "not answered: the request is for %q, and this is %s", r.Host, l.Addr()))
			return
		}
		if origin, foreign := l.names.ForeignPage(r); foreign {
			writeFailure(w, failure(http.StatusForbidden, "not answered: the request comes from a page of %q", origin))
			return
		}
		next.ServeHTTP(w, r)
	})
}
