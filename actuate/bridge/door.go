package bridge

import (
	"fmt"
	"net"
	"net/http"

	"github.com/proc-controller/proc-controller/bearer"
	"github.com/proc-controller/proc-controller/loopback"
)

// door decides who gets in: who means this address, and shows the token, if there is
// one.
type door struct {
	names loopback.Names
	token *bearer.Watched // nil for none
}

func (b *bridge) newDoor(addr net.Addr) door {
	d := door{names: loopback.NamesOf(addr.(*net.TCPAddr).AddrPort())}
	if b.o.TokenFile != "" {
		d.token = bearer.Watch(b.o.TokenFile, func(err error) { b.logf("no client is let in: %v", err) })
	}
	return d
}

// foreign says in words what is wrong with where a request comes from, or goes to; ""
// if nothing is.
func (d *door) foreign(r *http.Request) string {
	if !d.names.Include(r.Host) {
		return fmt.Sprintf("the header Host is %q: this address is reached as 127.0.0.1 or localhost only", r.Host)
	}
	if origin, foreign := d.names.ForeignPage(r); foreign {
		return fmt.Sprintf("requests of pages of %q are not served", origin)
	}
	return ""
}

// admits says whether a request shows the token, if there is one.
func (d *door) admits(r *http.Request) bool { return d.token == nil || d.token.ShownBy(r) }
