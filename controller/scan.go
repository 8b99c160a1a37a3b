package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// delta is a change of the observed world that a scan under way may not show.
type delta func(observe.Snapshot) observe.Snapshot

// change applies a change to the observed world: now, and once more when a scan
// that is under way has come back.
func (l *loop) change(d delta) {
	l.world.Observed, l.news = d(l.world.Observed), true
	if l.scanning {
		l.since = append(l.since, d)
	}
}

// scan has the process table read. One scan runs at a time; another one that is
// asked for meanwhile begins when it is back, since what is to be proven may
// have happened after this one began.
func (l *loop) scan(d observe.Depth) {
	l.depth = max(l.depth, d)
	l.nextScan = time.Now().Add(resyncEvery)
	if l.scanning {
		l.scanAgain = true
		return
	}
	l.foldNoted()
	depth, users := l.depth, UsersOf(&l.world.Desired)
	known := append(l.world.History.Witnesses(), UserWitnesses(users)...)
	l.scanning, l.scanAgain, l.depth = true, false, observe.Look
	l.aside(func() outcome {
		began := time.Now()
		s := l.Observer.Scan(context.Background(), known, depth)
		l.Instruments.Scanned(depth, time.Since(began), s.Processes, s.Err)
		s.Users = users
		return func(l *loop) { l.scanned(s, depth) }
	})
}

// scanned takes the outcome of a scan. A failed one changes nothing of what is
// known, and keeps anything from being decided until one works again.
func (l *loop) scanned(s observe.Snapshot, depth observe.Depth) {
	l.scanning = false
	if s.Err != nil {
		l.logScanError(s.Err)
		l.news = true
		l.world.Observed.Err = s.Err
		l.depth, l.nextScan = observe.Full, time.Now().Add(rescanAfter)
		return
	}
	s.Listeners = l.world.Observed.Listeners
	for _, d := range l.since {
		s = d(s)
	}
	l.since = nil
	l.news = l.news || !slices.Equal(s.Instances, l.world.Observed.Instances) || l.world.Observed.Err != nil
	l.world.Observed = s
	l.settle()
	l.introduce()
	if depth != observe.Look {
		l.forget()
		l.doubtPublications()
		l.listen(l.declaredPorts())
		maps.DeleteFunc(l.early, func(_ observe.Ident, e observe.Exit) bool { return time.Since(e.At) > resyncEvery })
	}
	if l.scanAgain {
		l.scan(observe.Look)
	}
}

// settle brings the history in line with what was seen: instances that nothing
// is left of are gone, instances that were not known are adopted.
func (l *loop) settle() {
	l.dropEmpty()
	l.foldNoted()
	for _, k := range l.world.History.keys {
		present := l.world.Observed.InstancesOf(k.Key)
		for _, r := range k.Instances {
			if !slices.ContainsFunc(present, func(in *observe.Instance) bool { return in.ID == r.ID }) {
				l.gone(k.Key, r)
			}
		}
	}
	for _, in := range l.world.Observed.Instances {
		if l.isNew(in) {
			l.adopt(in)
		}
	}
	l.notePolicies()
}

// dropEmpty drops instances of which, by a scan that began after their end,
// nothing is left.
func (l *loop) dropEmpty() {
	s := &l.world.Observed
	empty := func(in *observe.Instance) bool {
		return !in.Live() && len(in.Members)+len(in.Doubtful) == 0 && in.EndedAt.Before(s.Began)
	}
	if slices.ContainsFunc(s.Instances, empty) {
		s.Instances = slices.DeleteFunc(slices.Clone(s.Instances), empty)
	}
}

// gone notes that a scan shows nothing of an instance. If we watch its main
// process, its exit is on its way and is taken first: it says how it ended.
func (l *loop) gone(k spec.Key, r InstanceRecord) {
	if _, watched := l.mains[r.Main]; watched {
		l.world.Observed = l.world.Observed.WithStarted(r.ended(k))
		return
	}
	if !r.Ended && (r.OnExit == spec.ExitKeep || l.HandedOver) {
		e := l.endedUnseen(mainOf{k, r})
		q := l.inquire(&e, r, false)
		l.note(e)
		l.lastWords(e, q)
	}
	l.release(k, r)
}

// endedUnseen is the end of a main process that nobody watched. Where one controller
// follows another only what outlives a controller can have ended by itself: what
// dies with it is no crash. Where one image of it follows another, everything can.
func (l *loop) endedUnseen(of mainOf) Exited {
	e := Exited{
		Key: of.key, ID: of.ID, Hash: of.Hash, PID: of.Main.PID, ResetAfter: l.resetAfter(of.key),
		Termination: spec.Termination{
			ExitCode: -1, Reason: spec.ReasonUnknown, StartedAt: of.StartedAt, FinishedAt: time.Now(),
			Output: "it ended while no controller ran",
		},
	}
	if l.planned(of) {
		e.Termination.Reason = spec.ReasonStopped
	}
	return e
}

// forget drops the history of keys that nothing wants or runs any more.
func (l *loop) forget() {
	if l.world.Shutdown != NotShuttingDown {
		return // whoever only ends what is left has no say in what is wanted
	}
	l.foldNoted()
	for s := range situations(&l.world) {
		if s.entry != nil || s.history == nil || s.history.Publication != nil || len(s.instances)+len(s.history.Instances)+len(s.history.Starting)+len(s.history.Stops) > 0 {
			continue
		}
		if proven, _, _ := l.world.Desired.Absence(s.key, time.Now()); proven {
			l.note(Forgotten{s.key})
			l.forgetFiles(s.key)
		}
	}
}

// release lets go of an instance of which nothing is left.
func (l *loop) release(k spec.Key, r InstanceRecord) {
	l.endHook(r.ID)
	l.Actuator.Forget(r.ended(k))
	if l.Prober != nil {
		l.Prober.Forget(r.ID)
	}
	l.note(Gone{Key: k, ID: r.ID, At: time.Now()})
}

// ended is the instance of a record as it is after its end.
func (r InstanceRecord) ended(k spec.Key) *observe.Instance {
	return &observe.Instance{
		Key: k, ID: r.ID, UID: r.UID, Hash: r.Hash, OnExit: r.OnExit, Ports: r.Ports, LastMain: r.Main,
		EndedAt: time.Now(), StartedAt: r.StartedAt, Scope: r.Scope, Log: r.Log,
	}
}

// isNew says that an instance was not known: neither from the history nor as a
// start of ours whose outcome is still on its way. One that has ended while the
// scan was under way, as that of a failed start, is one only if the next scan finds
// that something is left of it.
func (l *loop) isNew(in *observe.Instance) bool {
	k := l.world.History.Of(in.Key)
	if r := k.instance(in.ID); r != nil {
		_, watched := l.mains[in.LastMain]
		return in.Live() && !watched // from the ledger
	}
	if in.EndedAt.After(l.world.Observed.Began) {
		return false
	}
	return k == nil || !slices.ContainsFunc(k.Starting, func(s StartAsked) bool { return s.Token == in.ID.Token() })
}

// adopt takes over an instance that lived before this controller did.
func (l *loop) adopt(in *observe.Instance) {
	r := recordOf(in, false)
	adopted := Adopted{Key: in.Key, Instance: r, At: time.Now()}
	if in.Live() {
		adopted.Evidence = in.Main.Evidence
	}
	l.note(adopted)
	if !in.Live() {
		return
	}
	l.watched(in.Key, r)
	l.aside(func() outcome {
		err := l.Actuator.Watch(in.LastMain)
		return func(l *loop) {
			switch {
			case errors.Is(err, observe.ErrGone): // nobody else will tell
				l.exited(observe.Exit{Ident: in.LastMain, At: time.Now(), Message: err.Error()})
				return
			case err != nil: // the next scan tries again; until then scans see its end
				delete(l.mains, in.LastMain)
				l.Log.Info("cannot watch an adopted process", "workload", in.Key.String(), "pid", in.LastMain.PID, "cause", err)
				return
			}
			l.note(Watched{Key: in.Key, ID: in.ID})
		}
	})
}

// declaredPorts are the ports that live instances are to listen on, sorted.
func (l *loop) declaredPorts() []uint16 {
	var ports []uint16
	for _, in := range l.world.Observed.Instances {
		for _, p := range in.Ports {
			ports = append(ports, p.Port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// listen has the listeners of ports read, by one goroutine at a time. What was
// asked for meanwhile is asked for again by the next plan.
func (l *loop) listen(ports []uint16) {
	if l.listening || len(ports) == 0 {
		return
	}
	l.listening = true
	members := l.membersWith(ports)
	l.aside(func() outcome {
		at := time.Now()
		found, err := l.Observer.Listeners(ports, members)
		return func(l *loop) {
			l.listening = false
			if err != nil {
				l.Log.Error(err, "cannot read who listens")
				return
			}
			l.news = true
			l.world.Observed = l.world.Observed.WithListeners(ports, found, at)
		}
	})
}

// membersWith are the processes of instances that have one of the ports.
func (l *loop) membersWith(ports []uint16) (ids []observe.Ident) {
	for _, in := range l.world.Observed.Instances {
		has := func(p spec.NamedPort) bool { _, ok := slices.BinarySearch(ports, p.Port); return ok }
		if !slices.ContainsFunc(in.Ports, has) {
			continue
		}
		if in.Live() {
			ids = append(ids, in.Main.Ident)
		}
		for _, m := range in.Members {
			ids = append(ids, m.Ident)
		}
	}
	return ids
}
