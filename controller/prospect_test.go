package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func TestProspects(t *testing.T) {
	keep := func(s *spec.Spec) { s.OnControllerExit = spec.ExitKeep }
	one := func(ins ...*observe.Instance) func(*World) { return runs(ins...) }
	live := func(hash spec.Hash, members ...*observe.Process) *observe.Instance {
		in := instance(files, hash, 1)
		in.Members = members
		return in
	}
	doubt := process(5)
	doubt.Verdict, doubt.Evidence = observe.CannotTell, []string{"its environment cannot be read"}
	doubtful := live("a")
	doubtful.Doubtful = []*observe.Process{doubt}
	stranger := process(6)
	stranger.Verdict, stranger.Evidence = observe.NotOurs, []string{"no owner"}
	foreign := process(7)
	foreign.Verdict, foreign.Markers.Owner = observe.NotOurs, "else"
	others := func(w *World) { w.Observed.Others = []*observe.Process{stranger, foreign} }
	left := process(9)
	left.Evidence = []string{"it came to the controller as the subreaper"}
	orphaned := func(w *World) { w.Observed.Unattributed = []*observe.Process{left} }
	kept := live("a")
	kept.OnExit = spec.ExitKeep
	away := process(8)
	away.PGID, away.SID = 8, 8
	group := func(s *spec.Spec) { s.KillMode = spec.KillGroup }
	main, member := process(1), process(2)

	tests := map[string]struct {
		world  World
		of     *observe.Process
		fate   Fate
		reason spec.Reason
		detail string
	}{
		"as wanted":    {world(wants(entry(files, "a")), one(live("a"))), main, FateKept, spec.ReasonRunning, "files.yaml asks for"},
		"its member":   {world(wants(entry(files, "a")), one(live("a", member))), member, FateKept, spec.ReasonRunning, ""},
		"not wanted":   {world(one(live("a", member))), member, FateStopped, spec.ReasonNotWanted, ""},
		"another hash": {world(wants(entry(files, "b")), one(live("a"))), main, FateReplaced, spec.ReasonSpecChanged, "checking"},
		"absence held": {world(one(live("a")), func(w *World) { w.Desired.HoldUnknownUntil = t0.Add(time.Second) }), main, FateWaits, spec.ReasonDeletionHeld, "comes back"},
		"absence doubted": {world(one(live("a")), func(w *World) {
			w.Desired.Doubts = []spec.Doubt{{File: "x", Message: "broken", All: true}}
		}), main, FateWaits, spec.ReasonAbsenceUnproven, "broken"},
		"not scanned":    {world(one(live("a")), func(w *World) { w.Observed.Complete = false }), main, FateWaits, spec.ReasonNotObserved, "not been read"},
		"left over":      {world(wants(entry(files, "a")), one(endedInstance(files, "a", 1, t0.Add(-time.Hour), member))), member, FateStopped, spec.ReasonMainGone, ""},
		"cannot be told": {world(wants(entry(files, "a")), one(doubtful)), doubt, FateUntouched, spec.ReasonCannotTell, "cannot be read"},
		"a look-alike":   {world(others), stranger, FateUntouched, spec.ReasonNotManaged, "no owner"},
		"another owner":  {world(others), foreign, FateUntouched, spec.ReasonOtherOwner, ""},
		"an orphan":      {world(orphaned), left, FateWaits, spec.ReasonUnattributed, "it ends with the controller"},
		"a doomed one":   {world(orphaned, func(w *World) { w.Shutdown = ShutdownGraceful }), left, FateStopped, spec.ReasonShutdown, "subreaper"},
		"nobody":         {world(), main, FateUntouched, spec.ReasonNotManaged, "no marker"},
		"shutdown":       {world(wants(entry(files, "a")), one(live("a")), func(w *World) { w.Shutdown = ShutdownGraceful }), main, FateStopped, spec.ReasonShutdown, ""},
		"kept at shutdown": {
			world(wants(entry(files, "a", keep)), one(kept), func(w *World) { w.Shutdown = ShutdownGraceful }),
			main, FateKept, spec.ReasonRunning, "Keep",
		},
		"stop under way": {
			world(one(live("a")), happened(StopAsked{Key: files, ID: live("a").ID, Reason: spec.ReasonNotWanted, At: t0.Add(-time.Second), Policy: StopPolicy{Grace: time.Minute}})),
			main, FateStopped, spec.ReasonNotWanted, "waiting for it to end",
		},
		"spared": {world(wants(entry(files, "a", group, func(s *spec.Spec) { s.Suspend = true })), one(live("a", away))), away, FateUntouched, spec.ReasonSuspended, "killMode is Group"},
	}
	for name, tt := range tests {
		got := ProspectOf("me", tt.world, Decide(tt.world), tt.of.Ident, "")
		if got.Fate != tt.fate || got.Reason != tt.reason || !strings.Contains(got.Detail, tt.detail) {
			t.Errorf("%s: %s %s %q, want %s %s %q", name, got.Fate, got.Reason, got.Detail, tt.fate, tt.reason, tt.detail)
		}
	}
}

// What is newer than the last scan shares the fate of its instance.
func TestProspectOfWhatIsNotSeenYet(t *testing.T) {
	in := instance(files, "a", 1)
	w := world(wants(entry(files, "a")), runs(in))
	p := ProspectOf("me", w, Decide(w), process(9).Ident, in.ID)
	if p.Fate != FateKept || p.Process != nil {
		t.Errorf("%+v", p)
	}
	if p := ProspectOf("me", w, Decide(w), process(9).Ident, "k-7"); p.Fate != FateUntouched {
		t.Errorf("of an instance that is not there: %+v", p)
	}
}
