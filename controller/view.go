package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Workload is one row of a View.
type Workload struct {
	Key spec.Key
	// Object is the last good manifest; nil where there never was one, or where
	// only processes are known.
	Object *spec.Object
	Status spec.Status
	// File and Line are where the manifest was read.
	File string
	Line int
	// StartedAt is the start of the first instance; zero if there is none.
	StartedAt time.Time
}

// View is the whole state at one moment. Nothing in it changes.
type View struct {
	Owner     spec.Owner
	PID       int
	Ready     bool // the first plan has been handed out
	Workloads []Workload
	// Instances are all that is known to have been spawned and not to be gone, of
	// all workloads.
	Instances []*observe.Instance
	Notices   []spec.Finding
	// Others are processes with a marker of ours that are not this owner's, or
	// that cannot be told; Unattributed came to us from nobody knows where.
	Others       []*observe.Process
	Unattributed []*observe.Process
	Unreadable   int
	Blocked      []int

	world World
	plan  Plan
}

// answer is what the loop gives to a question.
type answer struct {
	world World
	plan  Plan
	ready bool
	// offer counts what was offered to the reporter; settled says that nothing has
	// changed since that status could tell of, and nothing is waited for.
	offer   uint64
	settled bool
}

// View asks the loop for the world and makes status out of it, in the calling
// goroutine.
func (c *Controller) View(ctx context.Context) (View, error) {
	reply := make(chan answer, 1)
	select {
	case c.questions <- reply:
	case <-ctx.Done():
		return View{}, ctx.Err()
	case <-c.ended:
		return View{}, ErrStopped
	}
	a := <-reply
	return c.view(a, c.lately.workloads(a, func() []Workload { return workloadsOf(a, c.reporter.report(a.world, a.plan)) })), nil
}

// lately keeps the workloads of the last view for whoever asks next, as long as
// nothing changes: of a thousand of them making them anew takes ten times as long as
// all else that an answer takes.
type lately struct {
	mu    sync.Mutex
	offer uint64
	kept  []Workload // nil for none
}

// workloads gives what is kept, or else what is made. What the passing of time alone
// could change is never kept.
func (l *lately) workloads(a answer, made func() []Workload) []Workload {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.settled && l.kept != nil && l.offer == a.offer {
		return l.kept
	}
	l.kept = nil
	all := made()
	if a.settled && timeless(&a.world) {
		l.kept, l.offer = all, a.offer
	}
	return all
}

func (c *Controller) view(a answer, workloads []Workload) View {
	o := &a.world.Observed
	return View{
		Owner: c.Owner, PID: c.PID, Ready: a.ready, Notices: slices.Concat(a.world.Desired.Notices, c.Notices()),
		Instances: o.Instances, Others: o.Others, Unattributed: o.Unattributed, Unreadable: o.Unreadable, Blocked: o.Blocked,
		Workloads: workloads, world: a.world, plan: a.plan,
	}
}

// workloadsOf puts every status to its manifest.
func workloadsOf(a answer, statuses map[spec.Key]spec.Status) []Workload {
	all := make([]Workload, 0, len(statuses))
	for s := range situations(&a.world) {
		st, ok := statuses[s.key]
		if !ok {
			continue
		}
		wl := Workload{Key: s.key, Status: st}
		if e := s.entry; e != nil {
			wl.Object, wl.File, wl.Line = e.Object, e.File, e.Line
		}
		if len(st.Instances) > 0 {
			wl.StartedAt = st.Instances[0].StartedAt
		}
		all = append(all, wl)
	}
	return all
}

// reporter keeps the last status of every key, for the times at which conditions
// changed. It reports on its own goroutine a little after the world has changed,
// and at once for whoever asks; the loop never waits for it.
type reporter struct {
	latest  chan answer // holds the newest
	changes changes

	mu   sync.Mutex
	last map[spec.Key]spec.Status
}

// reportEvery bounds how often the times of conditions are brought up to date
// without anybody asking.
const reportEvery = 250 * time.Millisecond

func newReporter() *reporter { return &reporter{latest: make(chan answer, 1)} }

// offer gives the newest world, in place of one that was not taken yet.
func (r *reporter) offer(w World, p Plan) {
	r.changes.announce()
	for {
		select {
		case r.latest <- answer{world: w, plan: p}:
			return
		default:
		}
		select {
		case <-r.latest:
		default:
		}
	}
}

// run reports what is offered, until done is closed.
func (r *reporter) run(done <-chan struct{}) {
	for {
		var a answer
		select {
		case a = <-r.latest:
		case <-done:
			return
		}
		// Not at once: what has changed is being acted upon, and more may come.
		select {
		case <-time.After(reportEvery):
		case <-done:
			return
		}
		select {
		case a = <-r.latest:
		default:
		}
		r.report(a.world, a.plan)
	}
}

func (r *reporter) report(w World, p Plan) map[spec.Key]spec.Status {
	statuses := Report(w, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, st := range statuses {
		CarryTransitions(r.last[k].Conditions, st.Conditions)
	}
	r.last = statuses
	return statuses
}
