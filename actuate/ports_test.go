//go:build linux

package actuate

import (
	"net"
	"strconv"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

var httpPort = []spec.Port{{Name: "http"}}

func reserve(t *testing.T, p *ports, holder string, taken map[uint16]bool) uint16 {
	t.Helper()
	got, err := p.Reserve(holder, files, httpPort, taken)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Port
}

func TestPortStaysTheSameAfterRelease(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	first := reserve(t, p, "one", nil)
	if again := reserve(t, p, "two", nil); again == first {
		t.Fatalf("%d was given away twice", first)
	}
	p.Release("one")
	if again := reserve(t, p, "three", nil); again != first {
		t.Errorf("got %d, not %d again", again, first)
	}
}

func TestPortIsNotWhatSomebodyHas(t *testing.T) {
	free := func() uint16 {
		p := newPorts("ports-test")
		defer p.ReleaseAll()
		return reserve(t, p, "x", nil)
	}()
	number := strconv.Itoa(int(free))
	for _, addr := range []string{"127.0.0.1:" + number, "[::1]:" + number, "127.0.0.1:0 and taken"} {
		t.Run(addr, func(t *testing.T) {
			p := newPorts("ports-test")
			defer p.ReleaseAll()
			taken := map[uint16]bool{free: true}
			if l, err := net.Listen("tcp", addr); err == nil {
				defer l.Close()
				taken = nil
			}
			if got := reserve(t, p, "x", taken); got == free {
				t.Errorf("got %d, which is in use", got)
			}
		})
	}
}

func TestTwoControllersDoNotChooseTheSamePort(t *testing.T) {
	one, two := newPorts("ports-test"), newPorts("ports-test")
	defer one.ReleaseAll()
	defer two.ReleaseAll()
	a, b := reserve(t, one, "x", nil), reserve(t, two, "x", nil)
	if a == b {
		t.Errorf("both chose %d", a)
	}
	one.ReleaseAll()
	if c := reserve(t, two, "y", nil); c != a {
		t.Errorf("after the release the other got %d, not %d", c, a)
	}
}

func TestAdoptedPortsAreNotHandedOut(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	first := reserve(t, p, "x", nil)
	p.Release("x")
	p.Adopt("adopted", spec.NewPortMap(spec.NamedPort{Name: "http", Port: first}))
	if got := reserve(t, p, "y", nil); got == first {
		t.Errorf("%d belongs to an adopted process", got)
	}
}

func TestFixedPortsAreTakenAsTheyAre(t *testing.T) {
	p := newPorts("ports-test")
	defer p.ReleaseAll()
	free := reserve(t, p, "x", nil)
	p.Release("x")
	got, err := p.Reserve("y", files, []spec.Port{{Name: "http"}, {Name: "admin", Port: int32(free)}}, nil)
	if err != nil || got[0].Name != "admin" || got[0].Port != free || got[1].Port == free {
		t.Errorf("%v, %v", got, err)
	}
}
