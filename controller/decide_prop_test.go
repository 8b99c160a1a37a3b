package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// steps are the actions of a plan as text, with the key under another name.
func steps(p Plan, name func(string) string) (out []string) {
	for _, a := range p.Actions {
		s := fmt.Sprintf("%v %s/%s %s signal %d ports %v reason %s", a.Type, a.Key.Kind, name(a.Key.Name), instanceID(a), a.Signal, a.Ports, a.Reason)
		if a.Instance != nil {
			s += fmt.Sprint(members(a.Instance))
		}
		for _, server := range a.Servers {
			s += " " + name(server.Name) + " at " + server.URL
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func same(name string) string { return name }

// signalling says that an action sends signals.
func signalling(a Action) bool { return a.stops() }

// Safety, in every world: a signal goes to what was verified and may go, and a
// start makes no twin.
func TestDecideIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := aWorld(t)
		p := Decide(w)
		Report(w, p) // must cope with each world
		if blocked := w.Observed.Err != nil || !w.Observed.Complete || !w.Desired.Complete; blocked && len(p.Actions) > 0 {
			t.Fatalf("acts on a world that was not read: %s", said(p))
		}
		starts, acted := map[spec.Key]int{}, map[spec.Instance]int{}
		for _, a := range p.Actions {
			switch {
			case a.Type == Start:
				starts[a.Key]++
			case a.stops():
				acted[a.Instance.ID]++
				checkTarget(t, &w, a)
			}
		}
		for k, n := range starts {
			checkStarts(t, &w, k, n)
		}
		for id, n := range acted {
			if n > 1 {
				t.Errorf("%d actions for the instance %s", n, id)
			}
		}
		checkKept(t, &w, p)
	})
}

// checkTarget objects to a signal that may not be sent.
func checkTarget(t *rapid.T, w *World, a Action) {
	e, in := w.Desired.Lookup(a.Key), a.Instance
	st := w.History.Of(a.Key).stop(in.ID)
	if in.Main == nil && len(in.Members) == 0 {
		t.Errorf("%v of nothing: %s", a.Type, in.ID)
	}
	for _, p := range append(slices.Clone(in.Members), in.Main) {
		if p != nil && p.Verdict != observe.Ours {
			t.Errorf("%v of %v, whose verdict is %v", a.Type, p.Ident, p.Verdict)
		}
	}
	if w.Shutdown == NotShuttingDown {
		if proven, why, _ := w.Desired.Absence(a.Key, w.Now); (e == nil || e.Gone()) && !proven {
			t.Errorf("%v of %v although %s", a.Type, a.Key, why)
		}
		if e != nil && !e.Gone() && e.Object == nil {
			t.Errorf("%v of %v, whose manifest never was a good one", a.Type, a.Key)
		}
	} else if in.OnExit == spec.ExitKeep && st == nil && !w.Down {
		t.Errorf("%v of %v at shutdown, which is to be kept", a.Type, in.ID)
	}
	if a.Type == PreStop && (!in.Live() || st != nil || w.Shutdown == ShutdownNow) {
		t.Errorf("the hook of %s is done, live: %v, while it is stopped: %v", in.ID, in.Live(), st != nil)
	}
	if a.Type == Stop && st != nil && st.Hook == HookRunning && in.Live() {
		t.Errorf("%s is signalled before its hook is done", in.ID)
	}
	if st != nil && st.Busy {
		t.Errorf("%v of %s while signals are on their way", a.Type, in.ID)
	}
	patient := st == nil || st.Kills == 0 && w.Now.Before(st.At.Add(st.Policy.Grace))
	if a.Type == Kill && patient && w.Shutdown != ShutdownNow {
		t.Errorf("%s is killed before its grace period is over", in.ID)
	}
}

// checkStarts objects to starts that make a twin or come too early.
func checkStarts(t *rapid.T, w *World, k spec.Key, n int) {
	e, h := w.Desired.Lookup(k), w.History.Of(k)
	if w.Shutdown != NotShuttingDown || e == nil || e.Object == nil || e.Gone() {
		t.Fatalf("%v is started, and not wanted", k)
	}
	there := 0
	for _, in := range w.Observed.InstancesOf(k) {
		s := situation{k, e, nil, h}
		if !spared(s.stopPolicy(in), in) {
			there++
		}
		if len(in.Doubtful) > 0 {
			t.Errorf("%v is started although %v may be it", k, in.Doubtful[0].Ident)
		}
	}
	if h != nil {
		there += len(h.Starting)
	}
	surplus := 0
	if isBlueGreen(e) && slices.ContainsFunc(w.Observed.InstancesOf(k), func(in *observe.Instance) bool { return in.Live() && h.outdated(e, in) }) {
		surplus = 1
	}
	if there+n > replicas(e, h)+surplus {
		t.Errorf("%d starts of %v beside %d, want %d and %d", n, k, there, replicas(e, h), surplus)
	}
	if h := h.publication(); len(e.Object.Spec.MCPServers) > 0 && (h == nil || h.Servers == nil || h.Failures > 0 || h.Busy || h.Unsure) {
		t.Errorf("%v is started before its file is known to be there: %+v", k, h)
	}
	for _, port := range e.Object.Spec.Ports {
		if port.Port != 0 && w.Observed.Listeners[uint16(port.Port)].Listening {
			t.Errorf("%v is started although port %d is held", k, port.Port)
		}
	}
	if h != nil && h.Crashes > 0 && h.Hash == e.Hash && w.Now.Before(h.CrashedAt.Add(min(e.Object.Spec.Backoff.Delay(h.Crashes), time.Second))) {
		t.Errorf("%v is started within its back-off", k)
	}
}

// checkKept objects if more of the right ones are stopped than are too many.
func checkKept(t *rapid.T, w *World, p Plan) {
	for _, e := range w.Desired.Entries {
		if e.Object == nil || e.Gone() || w.Shutdown != NotShuttingDown {
			continue
		}
		right, stopped, former := 0, 0, 0
		for _, in := range w.Observed.InstancesOf(e.Key) {
			if !in.Live() || w.History.Of(e.Key).stop(in.ID) != nil || w.healthOf(e, w.History.Of(e.Key), in).failed != "" {
				continue
			}
			if w.History.Of(e.Key).outdated(e, in) {
				former++
				continue
			}
			right++
			if slices.ContainsFunc(p.Actions, func(a Action) bool { return a.stops() && a.Instance.ID == in.ID }) {
				stopped++
			}
		}
		if isBlueGreen(e) && former > 0 {
			continue // checkBlueGreen has its own idea
		}
		if right-stopped < min(right, replicas(e, w.History.Of(e.Key))) {
			t.Errorf("%v: %d of %d that are as wanted are stopped, want %d to stay", e.Key, stopped, right, replicas(e, w.History.Of(e.Key)))
		}
	}
}

// The same world gives the same plan, whatever else there is in it, and nothing
// changes before the plan says that it could.
func TestDecideIsAFunctionOfTheWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := aWorld(t)
		p := Decide(w)
		if diff := cmp.Diff(steps(p, same), steps(Decide(w), same)); diff != "" {
			t.Errorf("another plan for the same world: %s", diff)
		}
		crowd := w
		crowd.Observed.Others = []*observe.Process{{Ident: observe.Ident{PID: 7}, Verdict: observe.CannotTell, Key: files}}
		crowd.Observed.Unattributed, crowd.Observed.Unreadable, crowd.Observed.Blocked = crowd.Observed.Others, 3, []int{8}
		if diff := cmp.Diff(steps(p, same), steps(Decide(crowd), same)); diff != "" {
			t.Errorf("strangers change the plan: %s", diff)
		}
		if !p.WakeAt.IsZero() && !p.WakeAt.After(w.Now) {
			t.Errorf("wants to be woken %v ago", w.Now.Sub(p.WakeAt))
		}
		// What is due to be asked is, at once; that much is news.
		for _, a := range p.Actions {
			if a.Type == Probe {
				w.History = w.History.With(ProbeAsked{Key: a.Key, ID: a.Instance.ID, Kind: a.Kind, At: w.Now})
			}
		}
		p = Decide(w)
		later := w
		later.Now = w.Now.Add(time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "later")))
		if !p.WakeAt.IsZero() && !later.Now.Before(p.WakeAt) {
			later.Now = p.WakeAt.Add(-1)
		}
		if diff := cmp.Diff(steps(p, same), steps(Decide(later), same)); diff != "" {
			t.Errorf("%v later, with no news and before WakeAt (%v), another plan: %s", later.Now.Sub(w.Now), p.WakeAt.Sub(w.Now), diff)
		}
	})
}

// Names mean nothing: with the workloads renamed, in another order, the plan is
// the same but for the names.
func TestDecideDependsOnNoName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := aWorld(t)
		to := rapid.Permutation([]string{"alpha", "w0", "zeta", "mike"}).Draw(t, "names")
		rename := func(name string) string {
			if name == "" {
				return "" // of an action that concerns no workload
			}
			if i := int(name[1] - '0'); i < len(to) {
				return to[i]
			}
			return name // of a workload that is nowhere
		}
		if diff := cmp.Diff(steps(Decide(w), rename), steps(Decide(renamed(w, rename)), same)); diff != "" {
			t.Errorf("another plan under other names: %s", diff)
		}
	})
}

// renamed is a world with every workload under another name.
func renamed(w World, name func(string) string) World {
	key := func(k spec.Key) spec.Key { return spec.Key{Kind: k.Kind, Name: name(k.Name)} }
	next := w
	next.Desired.Entries, next.Observed.Instances, next.Desired.Doubts = nil, nil, nil
	for _, e := range w.Desired.Entries {
		c := *e
		c.Key = key(e.Key)
		if e.Object != nil {
			o := *e.Object
			o.Spec.MCPServers = slices.Clone(o.Spec.MCPServers)
			for i := range o.Spec.MCPServers {
				o.Spec.MCPServers[i].Name = name(o.Spec.MCPServers[i].Name)
			}
			o.Spec.DependsOn = slices.Clone(o.Spec.DependsOn)
			for i := range o.Spec.DependsOn {
				o.Spec.DependsOn[i].Name = name(o.Spec.DependsOn[i].Name)
			}
			c.Object = &o
		}
		next.Desired.Entries = append(next.Desired.Entries, &c)
	}
	for _, in := range w.Observed.Instances {
		c := *in
		c.Key = key(in.Key)
		next.Observed.Instances = append(next.Observed.Instances, &c)
	}
	for _, d := range w.Desired.Doubts {
		d.Names = slices.Clone(d.Names)
		for i := range d.Names {
			d.Names[i] = name(d.Names[i])
		}
		next.Desired.Doubts = append(next.Desired.Doubts, d)
	}
	next.History = History{}
	for _, k := range w.History.keys {
		c := *k.clone()
		c.Key = key(k.Key)
		c.DependsOn = slices.Clone(k.DependsOn)
		for i := range c.DependsOn {
			c.DependsOn[i] = key(c.DependsOn[i])
		}
		if c.Publication != nil {
			pb := c.publicationCopy()
			pb.Servers = slices.Clone(pb.Servers)
			for i := range pb.Servers {
				pb.Servers[i].Name = name(pb.Servers[i].Name)
			}
			c.Publication = &pb
		}
		next.History.keys = append(next.History.keys, &c)
	}
	slices.SortFunc(next.History.keys, func(a, b *KeyHistory) int { return a.Key.Compare(b.Key) })
	sortWorld(&next)
	return next
}
