//go:build linux

package actuate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// family starts a workload of three processes: the main one and a child in its
// group, both of which note SIGTERM, and a grandchild in a session of its own.
func family(t *testing.T, a *Actuator) (in *observe.Instance, inGroup, outside observe.Ident) {
	t.Helper()
	in = mustStart(t, a, shell(t, `
		trap 'echo main got it' TERM
		(trap 'echo child got it; exit' TERM; echo ready; while :; do sleep 0.01; done) &
		child=$!
		setsid sh -c 'trap "echo outside got it; exit" TERM; echo ready; while :; do sleep 0.01; done' &
		echo pids $child $! .
		while :; do wait; sleep 0.01; done`))
	var pids []string
	eventually(t, "all three are ready", func() bool {
		text := output(t, in)
		if _, rest, ok := strings.Cut(text, "pids "); ok {
			pids = strings.Fields(rest)
		}
		return strings.Count(text, "ready") == 2 && len(pids) > 2
	})
	return in, identNow(t, pids[0]), identNow(t, pids[1])
}

func identNow(t *testing.T, pid string) observe.Ident {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	start, err := startTick(n)
	if err != nil {
		t.Fatal(err)
	}
	id := observe.Ident{PID: n, Start: start}
	t.Cleanup(func() { endByPID(t, id) })
	return id
}

// member makes of a process what a scan would have made of it.
func member(t *testing.T, id observe.Ident, v observe.Verdict) *observe.Process {
	t.Helper()
	eventually(t, "a session of its own", func() bool { sid, _ := unix.Getsid(id.PID); return sid == id.PID })
	return &observe.Process{
		Ident: id, PGID: id.PID, SID: id.PID, Verdict: v, Role: observe.Descendant,
		Evidence: []string{"the markers name this owner"},
	}
}

func TestSignalReachesGroupAndMembersOutside(t *testing.T) {
	a := newActuator(t)
	in, child, outside := family(t, a)
	in.Members = []*observe.Process{
		{Ident: child, PGID: in.LastMain.PID, SID: in.LastMain.PID, Verdict: observe.Ours},
		member(t, outside, observe.Ours),
	}
	sent, err := a.Signal(in, int(unix.SIGTERM), spec.KillTree)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"main got it", "child got it", "outside got it"}
	eventually(t, fmt.Sprint(want), func() bool {
		b, _ := os.ReadFile(in.Log)
		return !slices.ContainsFunc(want, func(w string) bool { return strings.Count(string(b), w) != 1 })
	})
	var got []string
	for _, s := range sent {
		if s.Err != "" || len(s.Evidence) == 0 {
			t.Errorf("%+v", s)
		}
		got = append(got, fmt.Sprintf("%v %v %d", s.Target.PID, s.Group, s.Signal))
	}
	main := in.LastMain.PID
	expect := []string{
		fmt.Sprintf("%d true 15", main), fmt.Sprintf("%d false 15", outside.PID),
		fmt.Sprintf("%d true 18", main), fmt.Sprintf("%d false 18", outside.PID),
	}
	if !slices.Equal(got, expect) && !slices.Equal(got, expect[:3]) { // the last may be gone already
		t.Errorf("sent %q, not %q", got, expect)
	}
}

func TestSignalWakesWhatIsStopped(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, entry(t, "sleep", "100"))
	if _, err := a.Signal(in, int(unix.SIGSTOP), spec.KillTree); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stopped", func() bool { return state(in.LastMain.PID) == 'T' })
	if _, err := a.Signal(in, int(unix.SIGTERM), spec.KillTree); err != nil {
		t.Fatal(err)
	}
	if x := nextExit(t, a, in.LastMain); x.Signal != int(unix.SIGTERM) {
		t.Errorf("ended by %d", x.Signal)
	}
}

// The handle that is held since the spawn names the group still when its leader
// has been reaped, and then nobody else's.
func TestSignalReachesAGroupWithoutItsLeader(t *testing.T) {
	if !groupSignals() {
		t.Skip("needs PIDFD_SIGNAL_PROCESS_GROUP (Linux 6.9)")
	}
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `sleep 100 & echo $!`))
	left := identNow(t, strings.TrimSpace(output(t, in)))
	nextExit(t, a, in.LastMain)
	in.Main = nil
	sent, err := a.Signal(in, int(unix.SIGKILL), spec.KillTree)
	if err != nil || len(sent) != 1 || sent[0].Err != "" || !sent[0].Group {
		t.Fatalf("%+v, %v", sent, err)
	}
	eventually(t, "the rest of the group is gone", func() bool { return state(left.PID) == 0 })
	if sent, err := a.Signal(in, int(unix.SIGKILL), spec.KillTree); len(sent) != 0 || err != nil {
		t.Errorf("once more, with nobody left: %+v, %v", sent, err)
	}
}

func TestSignalRefuses(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, entry(t, "sleep", "100"))
	_, _, outside := family(t, a)
	for _, tc := range []struct {
		name   string
		change func(*observe.Instance)
		says   string
	}{
		{"a pid that is another process now", func(in *observe.Instance) {
			in.Members[0].Start--
		}, "another process"},
		{"a main process that is another one now", func(in *observe.Instance) {
			in.Members = nil
			in.Main = &observe.Process{Ident: observe.Ident{PID: outside.PID, Start: outside.Start - 1}, Verdict: observe.Ours}
			in.LastMain = in.Main.Ident
		}, "another process"},
		{"what cannot be told", func(in *observe.Instance) { in.Members[0].Verdict = observe.CannotTell }, "CannotTell"},
		{"what is not ours", func(in *observe.Instance) { in.Members[0].Verdict = observe.NotOurs }, "NotOurs"},
		{"another instance's", func(in *observe.Instance) { in.ID, in.Members[0].Instance = "other-1", "other-1" }, "refused"},
		{"pid 1", func(in *observe.Instance) { in.Members[0].PID = 1 }, "never"},
		{"pid 0", func(in *observe.Instance) { in.Members[0].PID = 0 }, "never"},
		{"pid -1", func(in *observe.Instance) { in.Members[0].PID = -1 }, "never"},
		{"a pid beyond int32", func(in *observe.Instance) { in.Members[0].PID = 1<<32 + 2 }, "never"},
		{"ourselves", func(in *observe.Instance) { in.Members[0].PID = os.Getpid() }, "never"},
		{"a foreign cgroup", func(in *observe.Instance) {
			in.Main = &observe.Process{Ident: in.LastMain}
			in.Members = nil
			in.Scope.Cgroup = "/user.slice"
			in.LastMain = observe.Ident{}
		}, "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			victim := *in
			victim.LastMain, victim.Main = observe.Ident{}, nil
			victim.Members = []*observe.Process{member(t, outside, observe.Ours)}
			tc.change(&victim)
			sent, err := a.Signal(&victim, int(unix.SIGKILL), spec.KillTree)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%+v, %v", sent, err)
			}
			if dead(outside.PID) || dead(in.LastMain.PID) {
				t.Error("it was signalled")
			}
		})
	}
}

func TestKillGroupLeavesWhatLeft(t *testing.T) {
	a := newActuator(t)
	in, _, outside := family(t, a)
	in.Members = []*observe.Process{member(t, outside, observe.Ours)}
	sent, err := a.Signal(in, int(unix.SIGKILL), spec.KillGroup)
	if err != nil || len(sent) != 2 || sent[1].Target != outside || !strings.Contains(sent[1].Err, "left alone") {
		t.Fatalf("%+v, %v", sent, err)
	}
	nextExit(t, a, in.LastMain)
	if dead(outside.PID) {
		t.Error("what left group and session was killed")
	}
}

// The way for kernels without group signals, taken by hand.
func TestDeliverOneByOneEndsTheGroup(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `sleep 100 & a=$!; sleep 100 & echo $a $!; wait`))
	var rest []observe.Ident
	for field := range strings.FieldsSeq(output(t, in)) {
		rest = append(rest, identNow(t, field))
	}
	h := a.reaper.lookup(in.LastMain)
	if err := deliverOneByOne(h.fd, in.LastMain, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if x := nextExit(t, a, in.LastMain); x.Signal != int(unix.SIGKILL) {
		t.Errorf("the leader ended by itself: code %d", x.Code)
	}
	for _, id := range rest {
		eventually(t, id.String()+" is dead", func() bool { return dead(id.PID) })
	}
}

func TestWatchReportsTheEndOfAStranger(t *testing.T) {
	a, other := newActuator(t), newActuator(t)
	in := mustStart(t, other, entry(t, "sleep", "100"))
	if err := a.Watch(in.LastMain); err != nil {
		t.Fatal(err)
	}
	if err := a.Watch(in.LastMain); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if err := a.Watch(observe.Ident{PID: in.LastMain.PID, Start: in.LastMain.Start + 1}); !errors.Is(err, ErrGone) {
		t.Errorf("with another start tick: %v", err)
	}
	endByPID(t, in.LastMain)
	nextExit(t, a, in.LastMain)
	if err := a.Watch(in.LastMain); err != nil && !errors.Is(err, ErrGone) {
		t.Errorf("after its end: %v", err)
	}
}

func TestHelperIsKilledWithItsGroup(t *testing.T) {
	a := newActuator(t)
	h := &runner{spawner: a.spawner, reaper: a.reaper, null: int(a.null.Fd())}
	code, out, err := h.Run(context.Background(), []string{"/bin/sh", "-c", "echo $0 $X; echo err >&2; exit 3", "arg"}, []string{"X=y"}, "/")
	if code != 3 || out != "arg y\nerr\n" || err != nil {
		t.Errorf("%d, %q, %v", code, out, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	pids := make(chan string, 1)
	go func() {
		defer cancel()
		pids <- childOf(t)
	}()
	_, _, err = h.Run(ctx, []string{"/bin/sh", "-c", "sleep 100 & wait"}, []string{"PATH=/bin:/usr/bin"}, "/")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	pid, _ := strconv.Atoi(<-pids)
	eventually(t, "the helper's child is dead", func() bool { return dead(pid) })
}

// childOf waits for a child of this process that has a child of its own, and
// gives the pid of that.
func childOf(t *testing.T) (pid string) {
	eventually(t, "a grandchild", func() bool {
		for _, c := range children(t) {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c, c))
			if fields := strings.Fields(string(b)); len(fields) > 0 {
				pid = fields[0]
				return true
			}
		}
		return false
	})
	return pid
}
