//go:build linux

package actuate

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

var httpPort = []spec.Port{{Name: "http"}}

func reserve(t *testing.T, p *ports, holder string) uint16 {
	t.Helper()
	got, err := p.Reserve(holder, files, httpPort, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Port
}

func TestPortStaysTheSameAfterRelease(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	first := reserve(t, p, "one")
	if again := reserve(t, p, "two"); again == first {
		t.Fatalf("%d was given away twice", first)
	}
	p.Release("one")
	if again := reserve(t, p, "three"); again != first {
		t.Errorf("got %d, not %d again", again, first)
	}
}

// A child that is just being forked has a copy of every descriptor. A port that is
// given back in that moment is free all the same.
func TestPortIsFreeBesideAFork(t *testing.T) {
	p := newPorts("ports-test-fork")
	defer p.ReleaseAll()
	first := reserve(t, p, "one")
	syscall.ForkLock.Lock()
	copied, err := unix.FcntlInt(uintptr(p.reserved[first].claim.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	again := make(chan spec.PortMap, 1)
	go func() {
		p.Release("one")
		got, _ := p.Reserve("two", files, httpPort, nil)
		again <- got
	}()
	var got spec.PortMap
	select {
	case got = <-again:
	case <-time.After(50 * time.Millisecond): // it waits
	}
	unix.Close(copied)
	syscall.ForkLock.Unlock()
	if got == nil {
		got = <-again
	}
	if len(got) != 1 || got[0].Port != first {
		t.Errorf("got %v, not %d again", got, first)
	}
}

func TestPortIsNotWhatSomebodyHas(t *testing.T) {
	free := func() uint16 {
		p := newPorts("ports-test")
		defer p.ReleaseAll()
		return reserve(t, p, "x")
	}()
	number := strconv.Itoa(int(free))
	for _, addr := range []string{"127.0.0.1:" + number, "[::1]:" + number, ":" + number} {
		t.Run(addr, func(t *testing.T) {
			p := newPorts("ports-test")
			defer p.ReleaseAll()
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := reserve(t, p, "x"); got == free {
				t.Errorf("got %d, which is in use", got)
			}
		})
	}
}

func TestTwoControllersDoNotChooseTheSamePort(t *testing.T) {
	one, two := newPorts("ports-test"), newPorts("ports-test")
	defer one.ReleaseAll()
	defer two.ReleaseAll()
	a, b := reserve(t, one, "x"), reserve(t, two, "x")
	if a == b {
		t.Errorf("both chose %d", a)
	}
	one.ReleaseAll()
	if c := reserve(t, two, "y"); c != a {
		t.Errorf("after the release the other got %d, not %d", c, a)
	}
}

func TestAdoptedPortsAreNotHandedOut(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	first := reserve(t, p, "x")
	p.Release("x")
	p.Adopt("adopted", spec.NewPortMap(spec.NamedPort{Name: "http", Port: first}))
	if got := reserve(t, p, "y"); got == first {
		t.Errorf("%d belongs to an adopted process", got)
	}
}

func TestFixedPortsAreTakenAsTheyAre(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	free := reserve(t, p, "x")
	p.Release("x")
	got, err := p.Reserve("y", files, []spec.Port{{Name: "http"}, {Name: "admin", Port: int32(free)}}, nil)
	if err != nil || got[0].Name != "admin" || got[0].Port != free || got[1].Port == free {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPortInTimeWaitIsFree(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	first := reserve(t, p, "x")
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(int(first)))
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server.Close() // the side that closes first is left in TIME_WAIT
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Fatal("the server did not close")
	}
	client.Close()
	l.Close()
	p.Release("x")
	if again := reserve(t, p, "y"); again != first {
		t.Errorf("got %d, not %d again", again, first)
	}
}

func TestPreferredPortComesFirst(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	first, second := reserve(t, p, "one"), reserve(t, p, "two")
	prefer := spec.NewPortMap(spec.NamedPort{Name: "http", Port: second})
	p.Release("one")
	if got, err := p.Reserve("three", files, httpPort, prefer); err != nil || got[0].Port != first {
		t.Errorf("got %v, %v while %d is taken, want %d", got, err, second, first)
	}
	p.Release("two")
	p.Release("three")
	if got, err := p.Reserve("four", files, httpPort, prefer); err != nil || got[0].Port != second {
		t.Errorf("got %v, %v; want %d, which is free again", got, err, second)
	}
}

// A port that was another one's by the former manifest is no reason to prefer it
// to a fixed number.
func TestPreferredPortIsNotAFixedOne(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	free := reserve(t, p, "x")
	p.Release("x")
	prefer := spec.NewPortMap(spec.NamedPort{Name: "http", Port: free})
	got, err := p.Reserve("y", files, []spec.Port{{Name: "http"}, {Name: "admin", Port: int32(free)}}, prefer)
	if err != nil || got[0].Port != free || got[1].Port == free {
		t.Errorf("%v, %v", got, err)
	}
}
