//go:build linux

package actuate

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

func TestOrphansAreReaped(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `setsid sh -c 'echo $$$$; exec sleep 0.05' & sleep 0.02`))
	pid, err := strconv.Atoi(strings.TrimSpace(output(t, in)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan is gone and no zombie", func() bool { return state(pid) == 0 })
	if x := nextExit(t, a, in.LastMain); !x.Known || x.Code != 0 {
		t.Errorf("known %v, code %d", x.Known, x.Code)
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
	after := census(t)
	if after.threads > before.threads+4 || after.goroutines > before.goroutines+2 {
		t.Errorf("100 children: before %+v, after %+v", before, after)
	}
	if after.fds > before.fds+100 {
		t.Errorf("more than a descriptor per child: before %+v, after %+v", before, after)
	}
	if n := len(children(t)); n != 100 {
		t.Errorf("%d children", n)
	}
	_ = unix.SIGKILL
}
