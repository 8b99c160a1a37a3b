package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// probed is a history of attempts at a probe of instance(files, "a", 1), the last
// one a second ago: + for each that succeeded, - for each that failed.
func probed(kind ProbeKind, outcomes string, since time.Duration) (events []Event) {
	in := instance(files, "a", 1)
	at := t0.Add(-since)
	for i, o := range outcomes {
		if i == len(outcomes)-1 && i > 0 {
			at = t0.Add(-time.Second)
		}
		e := Probed{Key: files, ID: in.ID, Kind: kind, Main: in.LastMain, At: at, Successes: 2, Failures: 3}
		if o == '-' {
			e.Err = "503"
		}
		events = append(events, ProbeAsked{Key: files, ID: in.ID, Kind: kind, At: at}, e)
	}
	return events
}

func TestHealth(t *testing.T) {
	none := func(*spec.Spec) {}
	for name, c := range map[string]struct {
		spec     func(*spec.Spec)
		happened [][]Event
		ready    bool
		failed   spec.Reason
		why      spec.Reason
	}{
		"no probe":                      {none, nil, true, "", ""},
		"not asked yet":                 {probing("readiness"), nil, false, "", spec.ReasonProbing},
		"one success of two":            {probing("readiness"), [][]Event{probed(Readiness, "+", time.Minute)}, false, "", spec.ReasonProbing},
		"ready":                         {probing("readiness"), [][]Event{probed(Readiness, "++", time.Minute)}, true, "", ""},
		"ready, two misses":             {probing("readiness"), [][]Event{probed(Readiness, "++--", time.Minute)}, true, "", ""},
		"three misses":                  {probing("readiness"), [][]Event{probed(Readiness, "++---", time.Minute)}, false, "", spec.ReasonProbeFailed},
		"three misses, one success":     {probing("readiness"), [][]Event{probed(Readiness, "++---+", time.Minute)}, false, "", spec.ReasonProbeFailed},
		"three misses, two successes":   {probing("readiness"), [][]Event{probed(Readiness, "++---++", time.Minute)}, true, "", ""},
		"starting":                      {probing("startup", "readiness"), [][]Event{probed(Readiness, "++", time.Minute), {ProbeAsked{Key: files, ID: instance(files, "a", 1).ID, Kind: Startup, At: t0}}}, false, "", spec.ReasonProbing},
		"found, and long since started": {probing("startup", "readiness"), [][]Event{probed(Readiness, "++", time.Minute)}, true, "", ""},
		"found, and hangs":              {probing("startup", "liveness"), [][]Event{probed(Liveness, "---", time.Minute)}, false, spec.ReasonLivenessFailed, spec.ReasonLivenessFailed},
		"starting, within its time":     {probing("startup"), [][]Event{probed(Startup, "-----", 29*time.Second)}, false, "", spec.ReasonProbeFailed},
		"starting, for too long":        {probing("startup"), [][]Event{probed(Startup, "--", 30*time.Second)}, false, spec.ReasonStartupFailed, spec.ReasonStartupFailed},
		"started late":                  {probing("startup"), [][]Event{probed(Startup, "-++", time.Hour)}, true, "", ""},
		"alive, two misses":             {probing("liveness"), [][]Event{probed(Liveness, "+--", time.Minute)}, true, "", ""},
		"dead":                          {probing("liveness"), [][]Event{probed(Liveness, "+---", time.Minute)}, false, spec.ReasonLivenessFailed, spec.ReasonLivenessFailed},
		"misses before a sleep":         {probing("liveness"), [][]Event{probed(Liveness, "+--", time.Minute), {Slept{files, t0}}, probed(Liveness, "-", 0)}, true, "", ""},
		"startup begins anew at wake":   {probing("startup"), [][]Event{probed(Startup, "--", time.Hour), {Slept{files, t0.Add(-time.Second)}}, probed(Startup, "-", 0)}, false, "", spec.ReasonProbeFailed},
		"another instance's successes":  {probing("readiness"), [][]Event{{Probed{Key: files, ID: "other-1", Kind: Readiness, Successes: 1}}}, false, "", spec.ReasonProbing},
	} {
		t.Run(name, func(t *testing.T) {
			e, in := entry(files, "a", c.spec), instance(files, "a", 1)
			w := world(wants(e), runs(in))
			for _, es := range c.happened {
				w.History = w.History.With(es...)
			}
			hl := w.healthOf(e, w.History.Of(files), in)
			if hl.ready != c.ready || hl.failed != c.failed || hl.why.Reason != c.why {
				t.Errorf("%+v, want ready %v, failed %q, why %q", hl, c.ready, c.failed, c.why)
			}
			if c.failed != "" {
				if got := said(Decide(w)); got != "Stop files#1" {
					t.Errorf("the plan is %q", got)
				}
			}
		})
	}
}

// A verdict of an instance that has ended changes nothing, however late it comes.
func TestLateVerdictIsDropped(t *testing.T) {
	in := instance(files, "a", 1)
	events := append(probed(Liveness, "+--", time.Minute), Exited{Key: files, ID: in.ID, Hash: "a"})
	before := History{}.With(events...)
	after := before.With(Probed{Key: files, ID: in.ID, Kind: Liveness, Err: "late", Failures: 1})
	if diff := cmp.Diff(before.Of(files), after.Of(files)); diff != "" {
		t.Error(diff)
	}
}

// Nor does one of an instance that is being stopped, which hangs up, or wakes: why
// it was given up stands.
func TestVerdictOfWhatIsStoppedIsDropped(t *testing.T) {
	in := instance(files, "a", 1)
	stopped := History{}.With(append(probed(Liveness, "+---", time.Minute), probed(Readiness, "+", time.Minute)...)...).
		With(StopAsked{Key: files, ID: in.ID, Reason: spec.ReasonLivenessFailed, At: t0})
	for _, late := range []Probed{{Kind: Liveness}, {Kind: Readiness, Err: "connection reset by peer", Failures: 1}} {
		late.Key, late.ID, late.At, late.Successes = files, in.ID, t0.Add(time.Second), 1
		h := stopped.With(ProbeAsked{Key: files, ID: in.ID, Kind: late.Kind, At: t0}, late).Of(files)
		if got := h.lastProbeError(in.ID); got != "503" {
			t.Errorf("after %+v the last error is %q", late, got)
		}
		if h.probe(in.ID, late.Kind).Busy {
			t.Errorf("the %v probe is still under way", late.Kind)
		}
	}
}

// What is suspended is stopped for that: it has not failed, and did not crash.
func TestWhatIsNotWantedHasNotFailed(t *testing.T) {
	suspended := func(s *spec.Spec) { s.Suspend = true }
	w := world(wants(entry(files, "a", probing("liveness"), suspended)), runs(instance(files, "a", 1)), happened(probed(Liveness, "+---", time.Minute)...))
	if p := Decide(w); said(p) != "Stop files#1" || p.Actions[0].Reason != spec.ReasonSuspended {
		t.Errorf("the plan is %q, because of %q", said(p), p.Actions[0].Reason)
	}
}

// A port that somebody else listens on does not make a workload ready, whoever
// answers there; and after a failure it is looked at anew whose it is.
func TestReadinessNeedsItsOwnListener(t *testing.T) {
	web := func(s *spec.Spec) {
		s.Ports = []spec.Port{{Name: "http", Port: 8080}}
		s.ReadinessProbe = &spec.Probe{HTTPGet: &spec.HTTPGetAction{Port: "http"}, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 1}
	}
	in := instance(files, "a", 1)
	in.Ports = spec.PortMap{{Name: "http", Port: 8080}}
	stranger := observe.Listener{Port: 8080, Listening: true, Holders: []observe.Ident{{PID: 7, Start: 7}}, Command: "nginx", User: "www"}
	own := observe.Listener{Port: 8080, Listening: true, Holders: []observe.Ident{in.LastMain}}
	for name, c := range map[string]struct {
		listener observe.Listener
		at       time.Duration
		outcomes string
		why      spec.Reason
		listens  bool // it is looked at again
	}{
		"its own":                     {own, 0, "++", "", false},
		"a stranger's":                {stranger, 0, "++", spec.ReasonForeignListener, false},
		"a stranger's, some time ago": {stranger, time.Minute, "++", spec.ReasonForeignListener, true},
		"its own, before a failure":   {own, time.Minute, "-++", spec.ReasonChecking, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(wants(entry(files, "a", web)), runs(in), happened(probed(Readiness, c.outcomes, 30*time.Second)...))
			c.listener.At = t0.Add(-c.at)
			w.Observed.Listeners = map[uint16]observe.Listener{8080: c.listener}
			hl := w.healthOf(w.Desired.Entries[0], w.History.Of(files), in)
			if hl.why.Reason != c.why {
				t.Errorf("%+v, want %q", hl, c.why)
			}
			listens := false
			for _, a := range Decide(w).Actions {
				listens = listens || a.Type == Listen
			}
			if listens != c.listens {
				t.Errorf("looks again: %v", listens)
			}
		})
	}
}

// One attempt that is due takes those along that soon would be, and no others.
func TestAttemptsAreMadeTogether(t *testing.T) {
	w := world()
	ask := func(name string, ago time.Duration) {
		k := spec.Key{Kind: spec.KindAgent, Name: name}
		in := instance(k, "a", 1)
		w.Desired.Entries = append(w.Desired.Entries, entry(k, "a", probing("readiness")))
		w.Observed.Instances = append(w.Observed.Instances, in)
		for i := range 3 {
			at := t0.Add(-ago).Add(time.Duration(i-2) * time.Minute)
			w.History = w.History.With(
				ProbeAsked{Key: k, ID: in.ID, Kind: Readiness, At: at},
				Probed{Key: k, ID: in.ID, Kind: Readiness, At: at, Successes: 1, Failures: 1})
		}
	}
	ask("due", 10*time.Second)
	ask("late", time.Minute)
	ask("later", 9*time.Second)
	ask("soon", 9900*time.Millisecond)
	p := Decide(w)
	if got := said(p); got != "Probe due#1, Probe late#1, Probe soon#1" {
		t.Errorf("the plan is %q", got)
	}
	if want := t0.Add(time.Second); !p.WakeAt.Equal(want) {
		t.Errorf("wakes at %v, want %v", p.WakeAt, want)
	}
	w.Now = t0.Add(-150 * time.Millisecond)
	w.Desired.Entries, w.Observed.Instances = w.Desired.Entries[2:], w.Observed.Instances[2:]
	if p := Decide(w); len(p.Actions) > 0 {
		t.Errorf("none is due, and the plan is %q", said(p))
	}
}

func TestProbesOverTime(t *testing.T) {
	faults := within(t, 11, func(m *machine, c *Controller) {
		a := askedBy(c)
		status := func() spec.Status {
			v, err := c.View(context.Background())
			if err != nil || len(v.Workloads) != 1 {
				m.fault("view: %v, %d workloads", err, len(v.Workloads))
				return spec.Status{}
			}
			return v.Workloads[0].Status
		}
		expect := func(what string, ready bool, restarts int) {
			t.Helper()
			if st := status(); st.Ready != ready || st.Restarts != restarts {
				m.fault("%s: ready %v, %d restarts, %s: %s", what, st.Ready, st.Restarts, st.Reason, st.Message)
			}
		}
		a.fail("startup", errors.New("refused"))
		m.publish(setOf(entry(files, "a", probing("startup", "readiness", "liveness"), func(s *spec.Spec) { s.MCP = &spec.MCP{} })))
		wait(5 * time.Second)
		expect("refuses", false, 0)
		if n := a.of("readiness"); n > 0 {
			m.fault("asked whether it is ready before it has started: %d times", n)
		}
		a.fail("startup", nil)
		wait(3 * time.Second)
		expect("answers", true, 0)
		if st := status(); st.Server == nil || st.Server.Name != "files" {
			m.fault("not verified: %+v", st.Server)
		}
		a.of("")
		wait(10 * time.Minute)
		if n := a.of("readiness"); n < 58 || n > 64 {
			m.fault("asked %d times in ten minutes, want about 60", n)
		}

		a.fail("readiness", errors.New("busy"))
		wait(33 * time.Second)
		expect("busy", false, 0)
		a.fail("readiness", nil)
		wait(11 * time.Second)
		expect("no longer busy", true, 0)

		a.hang("liveness", true)
		wait(15 * time.Second)
		expect("hangs, but only for once", true, 0)
		a.hang("liveness", false)
		wait(15 * time.Second)
		a.hang("liveness", true)
		for range 60 { // until it is given up
			if wait(time.Second); status().Restarts > 0 {
				break
			}
		}
		a.hang("liveness", false)
		wait(time.Minute)
		expect("hung", true, 1)
		if st := status(); st.LastTermination == nil || st.LastTermination.Reason != spec.ReasonLivenessFailed {
			m.fault("ended by %+v", st.LastTermination)
		}
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// A loop that wakes much later than it wanted to has slept, and so has one whose
// two clocks have parted.
func TestSleepIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		late, wall, monotonic time.Duration
		slept                 bool
	}{
		"in time":            {0, time.Minute, time.Minute, false},
		"a little late":      {time.Second, time.Minute, time.Minute, false},
		"woken by something": {-time.Minute, time.Second, time.Second, false},
		"stopped":            {3 * time.Second, time.Minute, time.Minute, true},
		"suspended":          {-time.Second, time.Hour, time.Minute, true},
		"the clock set back": {0, -time.Hour, time.Minute, false},
	} {
		if got := slept(c.late, c.wall, c.monotonic); got != c.slept {
			t.Errorf("%s: %v", name, got)
		}
	}
	now := time.Now()
	for late, failures := range map[time.Duration]int{time.Second: 2, 3 * time.Second: 0} {
		l := &loop{Controller: New(Options{Log: logr.Discard()}), due: now.Add(-late), awake: now.Add(-time.Minute)}
		l.world.History = History{}.With(probed(Liveness, "+--", time.Minute)...)
		l.noticeSleep(now)
		l.foldNoted()
		if got := l.world.History.Of(files).probe(instance(files, "a", 1).ID, Liveness).Failures; got != failures {
			t.Errorf("%v late: %d failures count, want %d", late, got, failures)
		}
	}
}
