//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// footprint is what a controller holds.
type footprint struct {
	descriptors, threads, zombies int
	resident                      int // KiB
	guard                         int // pid; 0 unless there is exactly one
	guardDescriptors              int
}

func (r *rig) footprint() (f footprint) {
	r.t.Helper()
	pid := r.pid()
	f.descriptors = count(fmt.Sprintf("/proc/%d/fd", pid))
	f.threads = count(fmt.Sprintf("/proc/%d/task", pid))
	for _, c := range childrenOf(pid) {
		if c.dead() {
			f.zombies++
		}
	}
	f.resident = residentKiB(r.t, pid)
	if all := r.guards(); len(all) == 1 {
		f.guard = all[0].pid
		f.guardDescriptors = count(fmt.Sprintf("/proc/%d/fd", f.guard))
	}
	return f
}

// maxThreads is what the controller may have of them, whatever it runs. The Go
// runtime adds one now and then when a system call takes long, and keeps it; a
// leak would be one for each start.
const maxThreads = 16

// A thousand starts and stops leave nothing in the controller.
func TestThousandStartsAndStops(t *testing.T) {
	r := newRig(t)
	const workloads, cycles, warm = 50, 20, 5
	set := func(suspend bool) {
		var docs []string
		for i := range workloads {
			docs = append(docs, agent(fmt.Sprintf("w%d", i), fmt.Sprintf("suspend: %v", suspend)))
		}
		r.write("all.yaml", strings.Join(docs, "---\n"))
		if suspend {
			r.live(0)
		} else {
			r.live(workloads)
		}
	}
	r.start()
	var before footprint
	for i := range cycles {
		set(false)
		set(true)
		if i == warm-1 {
			before = r.settled()
		}
	}
	// What is being let go may take a moment; what leaks never goes.
	var after footprint
	eventually(t, 10*time.Second, "nothing more is held than before", func() error {
		after = r.footprint()
		if after.descriptors > before.descriptors || after.threads > max(before.threads, maxThreads) || after.zombies > 0 {
			return fmt.Errorf("%+v, was %+v after %d cycles", after, before, warm)
		}
		return nil
	})
	t.Logf("after %d starts and stops: %+v; after %d: %+v", warm*workloads, before, cycles*workloads, after)
	if after.guard == 0 || after.guard != before.guard || after.guardDescriptors > before.guardDescriptors {
		t.Errorf("guard %d with %d descriptors, was %d with %d", after.guard, after.guardDescriptors, before.guard, before.guardDescriptors)
	}
	if grown := after.resident - before.resident; grown > 16<<10 {
		t.Errorf("resident memory has grown by %d KiB", grown)
	}
}

// settled waits until the footprint has no zombies and rests for a few looks.
func (r *rig) settled() (f footprint) {
	r.t.Helper()
	same := 0
	eventually(r.t, soon, "the controller rests", func() error {
		now := r.footprint()
		if now.zombies == 0 && now.descriptors == f.descriptors && now.threads == f.threads {
			same++
		} else {
			same = 0
		}
		f = now
		if same < 10 {
			return fmt.Errorf("%+v", now)
		}
		return nil
	})
	return f
}

// A child has nothing open but the null device and its log, no blocked signal,
// and a session of its own.
func TestChildStartsClean(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")
	pid := o.Status.PID
	eventually(t, soon, "it has three descriptors", func() error { // it opens its libraries at first
		if n := count(fmt.Sprintf("/proc/%d/fd", pid)); n != 3 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	p, _ := lookup(pid)
	if p.sid != pid || p.pgid != pid {
		t.Errorf("session %d, group %d, want %d for both", p.sid, p.pgid, pid)
	}
	for _, field := range []string{"SigBlk", "SigIgn"} {
		if v := statusField(t, pid, field); strings.Trim(v, "0") != "" {
			t.Errorf("%s = %s, want none", field, v)
		}
	}
	if in := o.Status.Instances; len(in) != 1 || in[0].Log == "" {
		t.Errorf("instances = %+v, want one with a log", in)
	}
}
