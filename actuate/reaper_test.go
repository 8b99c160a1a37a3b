//go:build linux

package actuate

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func TestOrphansAreReaped(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `setsid sh -c 'echo $$$$; exec sleep 0.3' & sleep 0.02`))
	pid, err := strconv.Atoi(strings.TrimSpace(output(t, in)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan is gone and no zombie", func() bool { return state(pid) == 0 })
	if x := nextExit(t, a, in.LastMain); !x.Known || x.Code != 0 {
		t.Errorf("known %v, code %d", x.Known, x.Code)
	}
}

// A zombie that somebody else in this program has to wait for is left to them,
// and hides no orphan.
func TestOrphansAreReapedBehindAForeignZombie(t *testing.T) {
	foreign := exec.Command("true")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has ended", func() bool { return state(foreign.Process.Pid) == 'Z' })
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `setsid sh -c 'echo $$$$; exec sleep 0.3' & sleep 0.02`))
	pid, err := strconv.Atoi(strings.TrimSpace(output(t, in)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan is gone and no zombie", func() bool { return state(pid) == 0 })
	if err := foreign.Wait(); err != nil {
		t.Errorf("its status was taken: %v", err)
	}
}

// A child that has ended and that nobody has waited for yet is no orphan.
func TestOrphanReaperLeavesChildrenToTheirWaiters(t *testing.T) {
	a := newActuator(t)
	null := int(a.null.Fd())
	l := &launch{path: "/bin/sh", argv: []string{"sh", "-c", "exit 7"}, dir: "/", input: null, output: null, cgroup: -1}
	c, err := a.spawner.Start(l, a.reaper.expect)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	eventually(t, "it has ended", func() bool { return state(c.pid) == 'Z' })
	a.reaper.orphans.reapAll()
	if code := a.reaper.reap(c); code != 7 {
		t.Errorf("its status is %d: somebody else has taken it", code)
	}
}

// With orphans and children ending all at once, every child's own status must
// come through.
func TestOrphanReaperStealsNoStatus(t *testing.T) {
	a := newActuator(t)
	want := map[observe.Ident]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 60 {
		e := shell(t, `setsid true & exit `+strconv.Itoa(i%50+1))
		token := newToken()
		all.Go(func() {
			in, err := a.Start(e, token, nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			want[in.LastMain] = i%50 + 1
			t.Cleanup(func() { a.Forget(in) })
		})
		a.reaper.orphans.Poke()
	}
	all.Wait()
	for range len(want) {
		x := <-a.Exits()
		if !x.Known || x.Code != want[x.Ident] {
			t.Errorf("%v: known %v, code %d, not %d", x.Ident, x.Known, x.Code, want[x.Ident])
		}
	}
	t.Cleanup(func() {
		for _, pid := range children(t) {
			t.Log("left:", describe(pid))
		}
	})
	eventually(t, "no child is left", func() bool { return len(children(t)) == 0 })
}

// A thousand ends must come through in the order of their noticing, though
// nobody listens for a while.
func TestExitsNeverBlockAndKeepOrder(t *testing.T) {
	e := newExits()
	defer e.Close()
	for i := range 1000 {
		e.Push(observe.Exit{Ident: observe.Ident{PID: i + 2}})
	}
	for i := range 1000 {
		if x := <-e.out; x.PID != i+2 {
			t.Fatalf("end %d is that of pid %d", i, x.PID)
		}
	}
}

func TestManyChildrenCostNoThreads(t *testing.T) {
	a := newActuator(t)
	before := census(t)
	for range 100 {
		mustStart(t, a, entry(t, "sleep", "100"))
	}
	// The runtime adds a thread where a system call takes long, and keeps it.
	eventually(t, fmt.Sprintf("100 children, for a descriptor each, and nothing else: %+v", before), func() bool {
		after := census(t)
		return after.threads <= before.threads+20 && after.goroutines <= before.goroutines+2 && after.fds <= before.fds+100
	})
	if n := len(children(t)); n != 100 {
		t.Errorf("%d children", n)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	life := func() {
		a, err := New(Options{Owner: "test", UID: os.Getuid(), StateDir: t.TempDir(), Scopes: scope.Off, Log: logr.Discard()})
		if err != nil {
			t.Fatal(err)
		}
		e := entry(t, "sleep", "100")
		e.Object.Spec.Ports = []spec.Port{{Name: "http"}}
		in, err := a.Start(e, newToken(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
		if _, ok := <-a.Exits(); ok {
			t.Error("an end was reported after Close")
		}
		if dead(in.LastMain.PID) {
			t.Error("Close has ended a child")
		}
		endByPID(t, in.LastMain)
		_, _ = unix.Wait4(in.LastMain.PID, nil, 0, nil)
	}
	life()
	before := census(t)
	for range 20 {
		life()
	}
	eventually(t, "as before", func() bool {
		now := census(t)
		return now.fds <= before.fds && now.goroutines <= before.goroutines && now.threads <= before.threads+10 // a leak is one for each life
	})
}
