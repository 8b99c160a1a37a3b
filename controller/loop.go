package controller

import (
	"context"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// resyncEvery is how often the process table is read without a reason: what no
// event tells of is noticed after this time at the latest.
const resyncEvery = 30 * time.Second

// rescanAfter is the pause after a failed scan.
const rescanAfter = time.Second

// maxInFlight bounds the actions that run at one time. Most take a fraction of
// a millisecond; a launch into a scope can take seconds and must delay no other.
const maxInFlight = 128

// loop is the state of the one goroutine that decides.
type loop struct {
	*Controller
	world World
	plan  Plan
	ready bool // the first plan has been handed out
	// young ends the time in which questions wait for that; it is nil afterwards.
	young <-chan time.Time
	news  bool // something has changed that status may tell of
	// offers counts what was offered to the reporter.
	offers uint64
	timer  *time.Timer

	notBefore time.Time // of the next decision, in a burst
	due       time.Time // when the timer is to fire
	awake     time.Time // when the loop last ran

	noted    []Event  // not yet folded into the history
	queue    []Action // handed out as soon as there is room
	inFlight int
	outside  int // all that is done outside the loop, actions too
	probing  prober
	hooks    hooks
	clerk    clerk
	calm     bool // the last outcome is no reason to decide at once

	scanning  bool          // a scan is under way
	scanAgain bool          // one that begins later was asked for meanwhile
	depth     observe.Depth // of the next scan
	since     []delta       // own starts and exits since the scan began
	nextScan  time.Time     // a resync, or another try
	listening bool          // a reading of listeners is under way

	mains   map[observe.Ident]mainOf       // who is watched
	early   map[observe.Ident]observe.Exit // ends that came before their start did
	answers []func()                       // to demands that the next plan follows
	// leaving is a handover that waits for rest; nil where none was asked for.
	leaving *leaving
	// giveUp is when a shutdown that cannot go on is ended all the same.
	giveUp time.Time
}

// mainOf is whose main process an ident is.
type mainOf struct {
	key spec.Key
	InstanceRecord
}

// outcome is what an action posts back: a change to the loop's state.
type outcome func(*loop)

// run wakes, folds in all that is waiting, decides, hands out, sleeps.
func (l *loop) run(ctx context.Context) {
	stop := l.begin(ctx)
	defer l.timer.Stop()
	defer func() { l.probing.cancel() }()
	for !l.finished() {
		calm := false
		select {
		case set := <-l.Source.Sets():
			l.desire(set)
		case e := <-l.Actuator.Exits():
			l.exited(e)
		case o := <-l.outcomes:
			calm = l.take(o)
		case <-stop:
			stop = nil
			l.shutDown(ShutdownGraceful)
		case s := <-l.shutdown:
			l.shutDown(s)
		case d := <-l.newDemands():
			l.obey(d)
		case lv := <-l.newcomers():
			l.leaving = lv
		case <-l.leavingDone():
		case <-l.leavingLate():
			l.leaving.hasty = true
		case <-l.young:
			l.young = nil
		case q := <-l.newQuestions():
			q <- answer{l.now(), l.plan, l.ready, l.offers, !l.news}
			continue
		case <-l.timer.C:
		}
		l.noticeSleep(time.Now())
		calm = l.drain() && calm
		l.work()
		if l.leaving != nil {
			l.tryLeave()
		}
		if l.leaving != nil {
			continue
		}
		if calm {
			l.arm(earlier(l.due, time.Now().Add(calmRest)))
			continue
		}
		if time.Now().Before(l.notBefore) {
			l.arm(l.notBefore)
			continue
		}
		l.pass()
	}
}

// begin has everything looked at for the first time, and gives what ends the loop: nil
// if it is told to end before anything is decided.
func (l *loop) begin(ctx context.Context) (stop <-chan struct{}) {
	l.timer = time.NewTimer(resyncEvery)
	l.due = time.Now().Add(resyncEvery)
	l.probing.ctx, l.probing.cancel = context.WithCancel(context.Background())
	l.young = time.After(youth)
	l.scan(observe.Full)
	l.findPublished()
	l.recallDeaths()
	if ctx.Err() != nil {
		l.shutDown(ShutdownGraceful)
		return nil
	}
	return ctx.Done()
}

// take folds in an outcome, and says whether it is no reason to decide at once.
func (l *loop) take(o outcome) (calm bool) {
	l.calm = false
	o(l)
	return l.calm
}

// calmRest is how long what is no reason to decide at once may wait.
const calmRest = 100 * time.Millisecond

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// drain folds in what else is waiting, so that a burst is decided upon once. It
// is bounded: a flood must not keep the loop from deciding. It says whether none
// of it is a reason to decide at once.
func (l *loop) drain() (calm bool) {
	calm = true
	for range 4 * maxInFlight {
		select {
		case set := <-l.Source.Sets():
			l.desire(set)
			calm = false
		case e := <-l.Actuator.Exits():
			l.exited(e)
			calm = false
		case o := <-l.outcomes:
			calm = l.take(o) && calm
		default:
			return calm
		}
	}
	return calm
}

// youth is how long whoever asks at the start of a controller waits for its first look
// at the world: what it knows before is little, and after an upgrade less than a moment
// ago. Where the look takes longer, the answer says what is missing.
const youth = 2 * time.Second

// newQuestions is where questions come in.
func (l *loop) newQuestions() <-chan chan<- answer {
	if !l.presentable() {
		return nil
	}
	return l.questions
}

// presentable says that questions and demands are not better answered in a moment.
func (l *loop) presentable() bool {
	return l.ready || l.young == nil || l.world.Shutdown != NotShuttingDown
}

// now is the world with the present time in it.
func (l *loop) now() World {
	l.foldNoted()
	w := l.world
	w.Now = time.Now()
	return w
}

// pass decides and hands out.
func (l *loop) pass() {
	w := l.now()
	if !w.Now.Before(l.nextScan) {
		l.scan(observe.Resync)
	}
	blocked := l.plan.Blocked
	l.plan = Decide(w)
	l.news = l.news || l.plan.Blocked != blocked
	for _, a := range l.plan.Actions {
		l.hand(a, w.Now)
	}
	l.work()
	l.Instruments.Passed(time.Since(w.Now))
	if !l.ready && l.plan.Blocked.Reason == "" {
		l.ready = true
		l.OnReady()
	}
	l.offer()
	l.answerDemands()
	l.rest(w.Now)
	l.sleep()
}

// offer gives the world to the reporter if a report could say something new.
func (l *loop) offer() {
	moving := l.plan.moving()
	if !l.news && !moving {
		return
	}
	l.news = moving // its end is news, too
	l.offers++
	l.reporter.offer(l.now(), l.plan)
}

// rest keeps a burst of events from being decided upon one by one: deciding
// takes at most a third of the time, and while there is no room for what was
// handed out already, nothing that is new could be done sooner.
func (l *loop) rest(began time.Time) {
	pause := min(2*time.Since(began), crowdedRest)
	if len(l.queue) > 0 {
		pause = crowdedRest
	}
	l.notBefore = time.Now().Add(pause)
}

// crowdedRest is the longest pause between two decisions.
const crowdedRest = 10 * time.Millisecond

// sleep sets the timer to the earliest time at which something is due.
func (l *loop) sleep() {
	at := l.nextScan
	if !l.plan.WakeAt.IsZero() && l.plan.WakeAt.Before(at) {
		at = l.plan.WakeAt
	}
	l.arm(at)
}

// arm has the loop wake at a time, if nothing else wakes it before.
func (l *loop) arm(at time.Time) {
	l.due = at
	l.timer.Reset(max(time.Until(at), time.Millisecond))
}

// desire takes a new set of manifests.
func (l *loop) desire(set *spec.Set) {
	if set != nil {
		l.world.Desired, l.news = *set, true
		l.introduce()
		l.notePolicies()
		l.boundLogs()
	}
}

// boundLogs hands on how much is to be kept of the output: it needs no decision.
func (l *loop) boundLogs() {
	bounds := make(map[spec.Key]spec.LogBounds, len(l.world.Desired.Entries))
	for _, e := range l.world.Desired.Entries {
		if e.Object != nil {
			bounds[e.Key] = e.Object.Spec.Logs.Bounds()
		}
	}
	l.Actuator.BoundLogs(bounds, l.world.Desired.Complete && len(l.world.Desired.Doubts) == 0)
}

// notePolicies sees to it that the ledger tells how each instance is stopped, and
// after which others: a guard knows no manifest, and neither does whoever stops
// what is removed. What was adopted has nothing noted, and a grace period or a
// dependency can change without a restart.
func (l *loop) notePolicies() {
	l.foldNoted()
	for _, e := range l.world.Desired.Entries {
		k := l.world.History.Of(e.Key)
		if e.Object == nil || k == nil {
			continue
		}
		policy := policyOf(&e.Object.Spec)
		deps := dependenciesOf(e)
		if slices.ContainsFunc(k.Instances, func(r InstanceRecord) bool { return r.Policy != policy.asStarted(e.Hash, r.Hash, &r) }) ||
			len(k.Instances) > 0 && !slices.Equal(deps, k.DependsOn) {
			l.note(PolicyNoted{Key: e.Key, Hash: e.Hash, Policy: policy, DependsOn: deps})
		}
	}
}

// note takes an event into ledger and log at once, and into the history before
// the next decision: a burst of events costs one copy of the history.
func (l *loop) note(e Event) {
	l.noted, l.news = append(l.noted, e), true
	l.record(e)
}

// fold takes an event into the history alone.
func (l *loop) fold(e Event) { l.noted = append(l.noted, e) }

// foldNoted brings the history up to date.
func (l *loop) foldNoted() {
	if len(l.noted) == 0 {
		return
	}
	l.world.History = l.world.History.With(l.noted...)
	l.noted = l.noted[:0]
}

// shutDown begins to end everything; a second call can only hasten it.
func (l *loop) shutDown(s Shutdown) {
	if s > l.world.Shutdown {
		l.world.Shutdown = s
		l.giveUp = time.Now().Add(l.patience())
		l.scan(observe.Look) // what came since the last one is not to be left behind
	}
}

// patience is how long a shutdown may take at most: the longest grace period of
// what is stopped, once for each that has to wait for the one before, and some
// time for what refuses.
func (l *loop) patience() time.Duration {
	longest := defaultGrace
	for _, e := range l.world.Desired.Entries {
		if e.Object != nil {
			longest = max(longest, policyOf(&e.Object.Spec).Grace)
		}
	}
	for _, k := range l.world.History.keys {
		longest = max(longest, k.longestGrace())
	}
	if r := l.world.Reap; r != nil && r.Grace != nil {
		longest = *r.Grace
	}
	// What others depend on is stopped after them.
	return time.Duration(l.world.stopDepth())*(longest+5*time.Second) + 15*time.Second
}

// finished says that a shutdown has done all that it can.
func (l *loop) finished() bool {
	switch {
	case l.world.Shutdown == NotShuttingDown:
		return false
	case l.world.Reap != nil && !l.ready:
		return !time.Now().Before(l.giveUp)
	}
	// Before the first look nothing is known to be gone.
	if o := &l.world.Observed; !o.Complete && o.Err == nil && time.Now().Before(l.giveUp) {
		return false
	}
	left := len(l.queue) + l.inFlight
	if l.scanning || doomed(&l.world) != nil {
		left++
	}
	for _, in := range l.world.Observed.Instances {
		s := situation{in.Key, l.world.Desired.Lookup(in.Key), nil, l.world.History.Of(in.Key)}
		if !spared(s.stopPolicy(in), in) && !l.onlyDoubt(in) && !l.world.stays(in) {
			left++
		}
	}
	return left == 0 || !time.Now().Before(l.giveUp)
}

// onlyDoubt says that all that is left of an instance cannot be told, and so can
// never be signalled: it is named, and there is nothing to wait for.
func (l *loop) onlyDoubt(in *observe.Instance) bool {
	return !in.Live() && len(in.Members) == 0 && len(in.Doubtful) > 0 && in.EndedAt.Before(l.world.Observed.Began)
}
