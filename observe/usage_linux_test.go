package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// instanceOf is an instance of these processes.
func instanceOf(t *testing.T, id spec.Instance, main int, members ...int) *Instance {
	in := &Instance{Key: testKey, ID: id, Main: &Process{Ident: identOf(t, main)}}
	for _, pid := range members {
		in.Members = append(in.Members, &Process{Ident: identOf(t, pid)})
	}
	return in
}

func meter(t *testing.T, instances ...*Instance) []*Usage {
	t.Helper()
	all, err := Meter{}.Read(t.Context(), instances)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUsageOfATree(t *testing.T) {
	id, env := marked(t)
	c := start(t, "spawn plain spawn bare sleep", env)
	in := instanceOf(t, id, c.pid(), c.started...)
	one := meter(t, instanceOf(t, id, c.pid()))[0]
	all := meter(t, in)[0]
	switch {
	case one == nil || all == nil:
		t.Fatalf("of one %+v, of three %+v", one, all)
	case one.Processes != 1 || all.Processes != 3:
		t.Errorf("processes of one %d, of three %d", one.Processes, all.Processes)
	case one.Source != UsageOfTree || all.Source != UsageOfTree:
		t.Errorf("sources %s and %s", one.Source, all.Source)
	case one.Memory < 100<<10 || all.Memory < one.Memory+200<<10:
		t.Errorf("memory of one %d, of three %d", one.Memory, all.Memory)
	case one.Descriptors < 3 || all.Descriptors < one.Descriptors+6:
		t.Errorf("descriptors of one %d, of three %d", one.Descriptors, all.Descriptors)
	}
	if got := openDescriptors(t, c.pid()); one.Descriptors != got {
		t.Errorf("%d descriptors, want %d", one.Descriptors, got)
	}
	c.stop()
	if gone := meter(t, in)[0]; gone != nil {
		t.Errorf("of processes that have ended: %+v", gone)
	}
}

// openDescriptors counts them as a person would.
func openDescriptors(t *testing.T, pid int) int {
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestUsageTellsProcessorTime(t *testing.T) {
	self := &Instance{Main: &Process{Ident: identOf(t, os.Getpid())}}
	before := meter(t, self)[0].CPU
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if meter(t, self)[0].CPU >= before+30*time.Millisecond {
			return // reading costs time, too
		}
	}
	t.Errorf("no time has passed since %v", before)
}

func TestUsageOfAPidThatIsAnothers(t *testing.T) {
	in := instanceOf(t, "k7-1", os.Getpid())
	in.Main.Start++
	if u := meter(t, in, &Instance{}); u[0] != nil || u[1] != nil {
		t.Errorf("another start tick: %+v; no process: %+v", u[0], u[1])
	}
}

func TestUsageHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Meter{}).Read(ctx, []*Instance{{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestUsageOfACgroup needs a hierarchy in which this user may make cgroups that
// count memory.
func TestUsageOfACgroup(t *testing.T) {
	id, env := marked(t)
	dirs := cgroupsFor(t, ScopeName(testOwner, id))
	c := start(t, "spawn bare sleep", env)
	for _, pid := range append([]int{c.pid()}, c.started...) {
		for _, dir := range dirs {
			if err := os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, pid), 0); err != nil {
				t.Skipf("cannot move a process into a cgroup: %v", err)
			}
		}
	}
	u := meter(t, instanceOf(t, id, c.pid(), c.started...))[0]
	if u == nil || u.Source != UsageOfCgroup || u.Processes != 2 {
		t.Fatalf("%+v, want that of a cgroup", u)
	}
	// Another instance has no part in it.
	if other := meter(t, instanceOf(t, "other-1", c.pid()))[0]; other == nil || other.Source != UsageOfTree {
		t.Errorf("of another instance: %+v", other)
	}
}

// cgroupsFor makes the cgroup of a name where memory and processor time are
// counted: in v2, or in both hierarchies of v1.
func cgroupsFor(t *testing.T, name string) (dirs []string) {
	made := func(controller, needs string) bool {
		dir := filepath.Join(cgroupsHere().dir(controller, "/"), name)
		if dir == name || os.Mkdir(dir, 0o755) != nil {
			return false
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		dirs = append(dirs, dir)
		_, err := os.Stat(dir + "/" + needs)
		return err == nil
	}
	if made("", "memory.current") {
		return dirs
	}
	if dirs = nil; made("memory", "memory.usage_in_bytes") && made("cpuacct", "cpuacct.usage") {
		return dirs
	}
	t.Skip("no cgroup that counts memory can be made here")
	return nil
}
