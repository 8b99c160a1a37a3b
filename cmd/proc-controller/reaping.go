package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// reaping is the clearing up for one owner.
type reaping struct {
	std   streams
	place place
	flags *reapFlags
	what  controller.Reap
	rows  []reapRow
	left  bool // something is left that should be gone
}

func newReaping(std streams, p place, f *reapFlags) *reaping {
	r := &reaping{std: std, place: p, flags: f, what: controller.Reap{Keep: f.keep}}
	if f.graceGiven {
		r.what.Grace = &f.grace
	}
	return r
}

// run does it all, or says why nothing was done.
func (r *reaping) run(ctx context.Context) error {
	if err := refuseToReap(r.place.uid, r.place.owner); err != nil {
		return err
	}
	out := newPatientWriter(r.std.err)
	defer out.Close(lastWords)
	m := &machine{log: newLogger(out, "text", false, lookFor(r.std.err, os.Getenv)), place: r.place}
	defer m.close()
	state := r.state(m.log)
	if !r.flags.dryRun {
		if err := m.lockForReap(state); err != nil {
			return err
		}
	}
	records := m.openRecords(state, noMirror)
	if err := r.look(ctx, &records); err != nil {
		return err
	}
	if r.flags.dryRun || len(r.rows) == 0 {
		return nil
	}
	return r.stop(ctx, m, &records)
}

// state is the state directory, if there is one. None is made: the processes
// alone are enough.
func (r *reaping) state(log logr.Logger) string {
	dir := r.place.existingState()
	if dir == "" {
		return ""
	}
	if err := journal.PrepareStateDir(dir, r.place.uid); err != nil && !errors.Is(err, journal.ErrNotWritable) {
		log.Info("going on without a state directory", "cause", err)
		return ""
	}
	return dir
}

// lockForReap keeps controllers of the owner from starting meanwhile. A guard
// that is at work is waited for.
func (m *machine) lockForReap(state string) error {
	if err := m.takeLock(state); err != nil {
		return &notReaped{owner: m.place.owner, why: err.Error()}
	}
	return nil
}

// look finds what is to be signalled, and names what is left alone.
func (r *reaping) look(ctx context.Context, records *records) error {
	snapshot, err := r.scan(ctx, records)
	if err != nil {
		return err
	}
	for _, in := range snapshot.Instances {
		if r.what.Takes(in) {
			rows, spared := instanceRows(in, r.policy(in, records))
			r.rows = append(r.rows, rows...)
			r.left = r.left || len(in.Doubtful) > 0
			for _, m := range spared {
				r.note("pid %d (%s) of %s is left running: it left group and session, and killMode is Group", m.PID, m.Command, in.Key)
			}
		} else if in.Live() || len(in.Members) > 0 {
			r.note("%s (%s) is left running: onControllerExit is Keep; --include-keep stops it", in.Key, in.ID)
		}
		for _, d := range in.Doubtful {
			r.note("pid %d (%s) may belong to %s and is never signalled: %s", d.PID, d.Command, in.Key, strings.Join(d.Evidence, "; "))
		}
	}
	for _, p := range snapshot.Others {
		if r.mayBeAnotherUsers(p, records) {
			r.note("pid %d (%s) is left alone: it runs as %s, and no ledger tells whether %s did or somebody has copied its markers",
				p.PID, p.Command, observe.UserName(p.UID), p.Key)
		}
	}
	return nil
}

// mayBeAnotherUsers says that a process has all markers of a workload that root
// can have started as another user, and that nothing is noted of its instance.
func (r *reaping) mayBeAnotherUsers(p *observe.Process, records *records) bool {
	if r.place.uid != 0 || p.UID == 0 || p.UID != p.EUID || p.Verdict != observe.NotOurs ||
		p.Markers.Owner != r.place.owner || !p.Markers.Subprocess || p.Key == (spec.Key{}) || p.Instance == "" {
		return false
	}
	return !slices.ContainsFunc(records.history().Witnesses(), func(w observe.Witness) bool { return w.ID == p.Instance })
}

// note tells what is left alone.
func (r *reaping) note(format string, args ...any) {
	fmt.Fprintln(r.std.err, "note: "+oneLine(fmt.Sprintf(format, args...)))
}

// scan reads the whole process table once, with nothing remembered of before.
func (r *reaping) scan(ctx context.Context, records *records) (observe.Snapshot, error) {
	scanner, err := observe.NewScanner(observe.ScannerOptions{Owner: r.place.owner, UID: r.place.uid})
	if err != nil {
		return observe.Snapshot{}, err
	}
	defer scanner.Close()
	snapshot := scanner.Scan(ctx, records.history().Witnesses(), observe.Full)
	if snapshot.Err != nil {
		return snapshot, fmt.Errorf("cannot read the process table: %w", snapshot.Err)
	}
	return snapshot, nil
}

// policy is how an instance will be stopped.
func (r *reaping) policy(in *observe.Instance, records *records) controller.StopPolicy {
	policy := records.history().StopPolicyOf(in)
	if r.what.Grace != nil {
		policy.Grace = *r.what.Grace
	}
	return policy
}

// stop lets a controller that wants nothing stop what was found, and looks at
// what has become of it.
func (r *reaping) stop(ctx context.Context, m *machine, records *records) error {
	mode, err := scope.ParseMode(string(scope.Auto), os.Getenv(scope.EnvScopes))
	if err != nil {
		return err
	}
	scanner, err := observe.NewScanner(observe.ScannerOptions{Owner: r.place.owner, UID: r.place.uid})
	if err != nil {
		return err
	}
	m.closing(func() { scanner.Close() })
	actuator, err := actuate.New(actuate.Options{
		Owner: r.place.owner, UID: r.place.uid, Environ: os.Environ(), Scopes: mode, Log: m.log,
	})
	if err != nil {
		return err
	}
	m.closing(actuator.Close)
	watched := &signalWatch{Actuator: actuator}
	err = controller.New(controller.Options{
		Owner: r.place.owner, Observer: scanner, Actuator: watched, Events: records.events, Ledger: records.ledger,
		History: records.history(), Boot: observe.BootID(), PID: os.Getpid(), Reap: &r.what, Log: m.log,
	}).Run(ctx)
	if err != nil {
		return err
	}
	return r.settle(ctx, records, watched)
}
