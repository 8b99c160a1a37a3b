package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// reapRow is one process that is signalled, as "reap -o json" shows it.
type reapRow struct {
	observe.Ident
	Key      string        `json:"key"`
	Instance spec.Instance `json:"instance"`
	Role     string        `json:"role"`
	// Action is what is done to it: in a dry run what would be.
	Action string `json:"action"`
	// Result is "gone", "left: why", or "not signalled" in a dry run.
	Result string `json:"result"`

	group int // that it is in
}

// What a row's result says where nothing went wrong.
const (
	resultGone   = "gone"
	resultDryRun = "not signalled"
)

// instanceRows lists what would be signalled of an instance, and what its kill
// mode spares.
func instanceRows(in *observe.Instance, policy controller.StopPolicy) (rows []reapRow, spared []*observe.Process) {
	action := fmt.Sprintf("%s, SIGKILL after %v", spec.SignalName(policy.Signal), policy.Grace)
	add := func(p *observe.Process, role observe.Role) {
		rows = append(rows, reapRow{
			Ident: p.Ident, Key: in.Key.String(), Instance: in.ID, Role: role.String(),
			Action: action, Result: resultDryRun, group: p.PGID,
		})
	}
	if in.Main != nil {
		add(in.Main, observe.Main)
	}
	for _, m := range in.Members {
		if policy.Spares(in, m) {
			spared = append(spared, m)
			continue
		}
		add(m, observe.Descendant)
	}
	return rows, spared
}

// settle writes into each row what was sent and what has become of it, by a
// look of its own at the process table.
func (r *reaping) settle(ctx context.Context, records *records, w *signalWatch) error {
	snapshot, err := r.scan(ctx, records)
	if err != nil {
		return err
	}
	for _, in := range snapshot.Instances { // what came to light while it was stopped
		if !r.what.Takes(in) {
			continue
		}
		rows, _ := instanceRows(in, r.policy(in, records))
		for _, row := range rows {
			if !slices.ContainsFunc(r.rows, func(o reapRow) bool { return o.Ident == row.Ident }) {
				r.rows = append(r.rows, row)
			}
		}
		r.left = r.left || len(in.Doubtful) > 0
	}
	for i := range r.rows {
		row := &r.rows[i]
		var refused string
		row.Action, refused = w.sentTo(row)
		row.Result = resultGone
		if observe.Verify(row.Ident) == nil {
			row.Result, r.left = "left: "+cmp.Or(refused, "it has not ended yet"), true
		}
	}
	return nil
}

// signalWatch is an actuator of which it is remembered what was sent.
type signalWatch struct {
	*actuate.Actuator
	mu   sync.Mutex
	sent []observe.Sent
}

// Signal signals, and remembers.
func (w *signalWatch) Signal(in *observe.Instance, sig int, mode spec.KillMode) ([]observe.Sent, error) {
	sent, err := w.Actuator.Signal(in, sig, mode)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, sent...)
	return sent, err
}

// sentTo names the signals that a process got, by itself or with its group, and
// the last reason why it did not get one. SIGCONT goes with every other signal
// and is left out.
func (w *signalWatch) sentTo(row *reapRow) (signals, refused string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, s := range w.sent {
		name := spec.SignalName(s.Signal)
		switch {
		case s.Target != row.Ident && (!s.Group || s.Target.PID != row.group), name == "SIGCONT":
		case s.Err != "":
			refused = s.Err
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "none"), refused
}

func writeReaped(std streams, rows []reapRow, output string) error {
	if output == "json" {
		return writeJSON(std.out, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(std.err, "Nothing to reap.")
		return nil
	}
	t := &table{}
	t.add("KEY", "INSTANCE", "PID", "ROLE", "ACTION", "RESULT")
	for _, r := range rows {
		t.add(r.Key, string(r.Instance), strconv.Itoa(r.PID), r.Role, r.Action, r.Result)
	}
	return t.write(std.out)
}
