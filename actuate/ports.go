//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// maxPortTries bounds how many candidates are tried for one port. Each costs
// three sockets; a machine with so many ports in use in a row has a problem
// that a longer search does not mend.
const maxPortTries = 4096

// ports hands out TCP ports and remembers which ones are given away. Safe for
// use by many goroutines.
type ports struct {
	owner     spec.Owner
	ephemeral portRange

	mu       sync.Mutex
	reserved map[uint16]reservation
}

// reservation is one port that was given to an instance.
type reservation struct {
	holder string // the token of the instance, by which it is released
	claim  claim  // what other controllers see of it
}

func newPorts(owner spec.Owner) *ports {
	return &ports{owner: owner, ephemeral: ephemeralRange(), reserved: map[uint16]reservation{}}
}

// Reserve gives a number to every port that the workload declares, sorted by
// name. Those that ask for a free one get the one in prefer, or else it is from
// candidates, skipping what is reserved here or by another controller, and what
// somebody is bound to. They stay reserved for holder until Release.
//
// Only the choosing is guarded here: a port with a fixed number is taken as it
// is, since whether somebody else holds it was decided before the start.
func (p *ports) Reserve(holder string, key spec.Key, want []spec.Port, prefer spec.PortMap) (spec.PortMap, error) {
	if len(want) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fixed := map[uint16]bool{}
	for _, w := range want {
		fixed[uint16(w.Port)] = true
	}
	var got spec.PortMap
	for _, w := range want {
		number := uint16(w.Port)
		if number == 0 {
			var err error
			if number, err = p.chooseLocked(holder, p.order(key, w.Name, prefer), w.Name, fixed); err != nil {
				p.releaseLocked(holder)
				return nil, err
			}
		}
		got = append(got, spec.NamedPort{Name: w.Name, Port: number})
	}
	slices.SortFunc(got, func(a, b spec.NamedPort) int { return strings.Compare(a.Name, b.Name) })
	return got, nil
}

// order gives the ports to try for one port of a workload: the preferred one
// first.
func (p *ports) order(key spec.Key, name string, prefer spec.PortMap) iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		if n, ok := prefer.Lookup(name); ok && !yield(n) {
			return
		}
		candidates(p.owner, key, name, p.ephemeral)(yield)
	}
}

func (p *ports) chooseLocked(holder string, order iter.Seq[uint16], name string, fixed map[uint16]bool) (uint16, error) {
	tries := 0
	for c := range order {
		if _, held := p.reserved[c]; held || fixed[c] {
			continue
		}
		if tries++; tries > maxPortTries {
			break
		}
		cl, ok := claimPort(c)
		if !ok {
			continue
		}
		if !bindable(c) {
			cl.release()
			continue
		}
		p.reserved[c] = reservation{holder: holder, claim: cl}
		return c, nil
	}
	return 0, fmt.Errorf("cannot find a free port for port %q: tried %d", name, min(tries, maxPortTries))
}

// Adopt reserves ports that an instance of a former controller already has,
// until Release.
func (p *ports) Adopt(holder string, have spec.PortMap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range have {
		if _, held := p.reserved[n.Port]; held {
			continue
		}
		cl, _ := claimPort(n.Port) // without a claim it is reserved among ours
		p.reserved[n.Port] = reservation{holder: holder, claim: cl}
	}
}

// Release gives back every port that was reserved for holder.
func (p *ports) Release(holder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseLocked(holder)
}

func (p *ports) releaseLocked(holder string) {
	for port, r := range p.reserved {
		if r.holder == holder {
			r.claim.release()
			delete(p.reserved, port)
		}
	}
}

// ReleaseAll gives back everything.
func (p *ports) ReleaseAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.reserved {
		r.claim.release()
	}
	clear(p.reserved)
}

// bindable tells whether a server may bind the port on the loopback address, on
// all IPv4 addresses and on all addresses of both families. SO_REUSEADDR is set
// as servers set it (socket(7)): connections in TIME_WAIT that a former server
// left must not move the next one to another port, whose clients would then not
// find it. A socket that listens is in the way all the same.
func bindable(port uint16) bool {
	n := int(port)
	return bindOnce(unix.AF_INET, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}) &&
		bindOnce(unix.AF_INET, &unix.SockaddrInet4{Port: n}) &&
		bindOnce(unix.AF_INET6, &unix.SockaddrInet6{Port: n})
}

// bindOnce binds and closes a socket. A family that the machine does not have
// stands in nobody's way.
func bindOnce(family int, addr unix.Sockaddr) bool {
	fd, err := streamSocket(family)
	if err != nil {
		return errors.Is(err, unix.EAFNOSUPPORT)
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	err = unix.Bind(fd, addr)
	return err == nil || errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT)
}
