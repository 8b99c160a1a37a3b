package controller

import (
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// inquest is a dossier that is being put together, in three steps: what the loop
// knows when a main process has ended, what that wrote last, and what has changed
// since the last good run. The last two wait for the disk, so they are done
// elsewhere.
type inquest struct {
	spec.Dossier
	run InstanceRecord
}

// inquire begins, before the history forgets the instance. Run is what is known
// of it where the history knows nothing.
func (l *loop) inquire(e *Exited, run InstanceRecord, oom bool) inquest {
	l.foldNoted()
	k := l.world.History.Of(e.Key)
	q := inquest{run: run, Dossier: spec.Dossier{
		Key: e.Key, Instance: e.ID, PID: e.PID, Hash: e.Hash, OOMKilled: oom, Probe: k.lastProbeError(e.ID),
	}}
	if r := k.instance(e.ID); r != nil {
		q.run = *r
	}
	return q
}

// lastProbeError is what the probe said that an instance is stopped for, else what
// the one said that failed last, unless it has succeeded since.
func (k *KeyHistory) lastProbeError(id spec.Instance) string {
	if k == nil {
		return ""
	}
	if st := k.stop(id); st != nil {
		if kind, ok := givenUpBy(st.Reason); ok && k.probe(id, kind) != nil {
			return k.probe(id, kind).Message
		}
	}
	last := &ProbeState{}
	for i := range k.Probes {
		if st := &k.Probes[i]; st.ID == id && st.Message != "" && !st.FailedAt.Before(last.FailedAt) {
			last = st
		}
	}
	return last.Message
}

// lastWords finds out what an instance wrote before its unplanned end, and has
// the dossier kept.
func (l *loop) lastWords(e Exited, q inquest) {
	q.NextRetry = l.nextRetry(e.Key)
	if q.run.Log == "" {
		l.logExit(e)
		l.bury(e, q)
		return
	}
	l.aside(func() outcome {
		q.Output = l.Actuator.LastLines(q.run.Log)
		return func(l *loop) {
			if n := len(q.Output); n > 0 {
				e.Termination.Output = strings.TrimSpace(q.Output[n-1])
			}
			l.note(Output{Key: e.Key, ID: e.ID, Line: e.Termination.Output, At: time.Now()})
			l.logExit(e)
			l.bury(e, q)
		}
	})
}

// nextRetry is when a key is started again at the earliest; zero if it is not, as
// far as that is known now.
func (l *loop) nextRetry(k spec.Key) time.Time {
	l.foldNoted()
	s := situation{key: k, entry: l.world.Desired.Lookup(k), history: l.world.History.Of(k)}
	if e := s.entry; e == nil || e.Object == nil || e.Gone() || replicas(e, s.history) <= finished(&s) {
		return time.Time{}
	}
	p := planner{w: &l.world}
	return p.backoff(&s)
}

// bury has a dossier kept. The end of a one-shot that went well needs none.
func (l *loop) bury(e Exited, q inquest) {
	if l.Deaths == nil || completesAsWanted(&e.Termination, q.run.Entry) {
		return
	}
	d := q.Dossier
	d.Termination = e.Termination
	d.Termination.Output = "" // it is the last line of d.Output
	d.Uptime = spec.Duration(e.Termination.FinishedAt.Sub(e.Termination.StartedAt).Round(time.Millisecond))
	l.file(func() outcome {
		d = l.Deaths.Add(d, l.factsOf(&q.run))
		return func(l *loop) { l.note(Died{Key: e.Key, Dossier: &d}) }
	})
}

// completesAsWanted says that a one-shot has done its work.
func completesAsWanted(t *spec.Termination, e *spec.Entry) bool {
	return t.Reason == spec.ReasonCompleted && e != nil && e.Object.Spec.RestartPolicy != spec.RestartAlways
}

// factsOf gives what a run is made of, as far as that is known. It is called
// outside the loop.
func (l *loop) factsOf(r *InstanceRecord) spec.Facts {
	var f spec.Facts
	if r.Entry != nil {
		f = spec.FactsOf(r.Entry)
		f.Env = l.Actuator.EnvNames(r.Entry)
	}
	f.Program = r.Program
	return f
}

// Died brings a dossier. Nil says only that something is kept of the key.
type Died struct {
	Key     spec.Key
	Dossier *spec.Dossier
}

// EventKey names the key that the event is about.
func (e Died) EventKey() spec.Key { return e.Key }

// What was read back at the start can come after a newer one.
func (e Died) fold(k *KeyHistory) {
	if e.Dossier != nil && (k.Death == nil || !e.Dossier.FinishedAt.Before(k.Death.FinishedAt)) {
		k.Death = e.Dossier
	}
}

// recallDeaths reads back what is kept of former lives of the controller.
func (l *loop) recallDeaths() {
	if l.Deaths == nil {
		return
	}
	l.file(func() outcome {
		latest := l.Deaths.Latest()
		return func(l *loop) {
			for k, d := range latest {
				l.fold(Died{Key: k, Dossier: d})
			}
			l.news, l.calm = true, true
		}
	})
}

// forgetFiles drops the dossiers of a key that is forgotten, and what else is kept of
// it.
func (l *loop) forgetFiles(k spec.Key) {
	l.file(func() outcome {
		if l.Deaths != nil {
			l.Deaths.Forget(k)
		}
		l.Actuator.Dismiss(k)
		return func(l *loop) { l.calm = true }
	})
}

// clerk does what waits for the disk and has time, one thing after another.
type clerk struct {
	queue []func() outcome
	busy  bool
}

// maxFiled bounds what may wait for a disk that hangs.
const maxFiled = 4096

// file has something done by the clerk; the oldest that waits gives way to it
// where there is too much.
func (l *loop) file(f func() outcome) {
	if l.clerk.queue = append(l.clerk.queue, f); len(l.clerk.queue) > maxFiled {
		l.clerk.queue = l.clerk.queue[1:]
	}
	l.fileNext()
}

func (l *loop) fileNext() {
	if l.clerk.busy || len(l.clerk.queue) == 0 {
		return
	}
	f := l.clerk.queue[0]
	l.clerk.queue = l.clerk.queue[1:]
	l.clerk.busy = true
	l.aside(func() outcome {
		o := f()
		return func(l *loop) {
			l.clerk.busy = false
			o(l)
			l.fileNext()
		}
	})
}
