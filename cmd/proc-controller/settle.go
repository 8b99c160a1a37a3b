package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// waitFlag says whether a verb that changes something waits until that is done,
// and how long.
type waitFlag struct {
	waitSwitch
	asked   func() bool // for, and not only by default
	timeout time.Duration
}

// waitSwitch is --wait, and --no-wait where it is the default to wait.
type waitSwitch struct{ wait, noWait bool }

// add adds the flags; what says what is waited for.
func (s *waitSwitch) add(flags *pflag.FlagSet, byDefault bool, what string) {
	flags.BoolVar(&s.wait, "wait", byDefault, what)
	if byDefault {
		flags.BoolVar(&s.noWait, "no-wait", false, "do not wait; the same as --wait=false")
	}
}

// on says that it is waited.
func (s *waitSwitch) on() bool { return s.wait && !s.noWait }

// add adds the flags; what says what is waited for.
func (f *waitFlag) add(flags *pflag.FlagSet, byDefault bool, what string) {
	f.waitSwitch.add(flags, byDefault, what)
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait at most, as `TIME`: 30s, 2m")
	f.asked = func() bool { return f.wait && flags.Changed("wait") }
}

// without ends a verb that has changed files and cannot ask a controller, or finds
// none: then nothing happens before one is started.
func (f *waitFlag) without(std streams, p place, err error) error {
	if !errors.Is(err, api.ErrNotRunning) || f.asked() {
		return p.explain(err)
	}
	fmt.Fprintf(std.err, "note: no controller runs for %s: nothing starts or stops by this before one does; start one with: %s run%s\n",
		p.manifests, program, p.flags.given())
	return nil
}

// until waits, if that is wanted.
func (f *waitFlag) until(ctx context.Context, std streams, client *api.Client, p place, s settling) error {
	if !f.on() || len(s.keys) == 0 {
		return nil
	}
	return s.run(ctx, std, client, p, f.timeout)
}

// settling is a wait until what was changed has come true of every key.
type settling struct {
	keys  []spec.Key
	aim   string // in a word: ready
	judge func(spec.Key, *api.Object) waitState
}

// run waits, shows on stderr how it goes on, and says on stdout what has come true.
func (s *settling) run(ctx context.Context, std streams, client *api.Client, p place, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	shown := newProgress(std.err)
	var states []waitState
	var lost error // why the controller does not answer any more
	err := untilSeen(ctx, client, func(all []api.Object, no error) bool {
		if lost = no; lost != nil {
			return !passing(lost)
		}
		states = s.look(all)
		shown.show(s.lines(states, all))
		return decided(states)
	})
	shown.clear()
	switch {
	case lost != nil:
		return p.explain(lost)
	case err == nil && every(states):
		return s.met(std, states)
	case err == nil:
		return s.tell(std, states, "will not be", "", func(st waitState) bool { return st.hopeless })
	case len(states) == 0:
		return p.explain(err)
	}
	return s.tell(std, states, "is not", fmt.Sprintf(" after %v", limit), func(st waitState) bool { return !st.met })
}

// look judges each.
func (s *settling) look(all []api.Object) []waitState {
	states, known := make([]waitState, len(s.keys)), byKey(all)
	for i, k := range s.keys {
		states[i] = s.judge(k, known[k])
	}
	return states
}

// met says what has come true.
func (s *settling) met(std streams, states []waitState) error {
	for i, k := range s.keys {
		fmt.Fprintf(std.out, "%s is %s\n", shortName(k), cmp.Or(states[i].as, s.aim))
	}
	return nil
}

// tell says of those that are chosen why it has not come true.
func (s *settling) tell(std streams, states []waitState, verb, when string, chosen func(waitState) bool) error {
	for i, st := range states {
		if chosen(st) {
			std.say(fmt.Errorf("%s %s %s%s: %s", shortName(s.keys[i]), verb, s.aim, when, st.why))
		}
	}
	return errSaid
}

// countdown is the time in a message that another message without it is the same
// as.
var countdown = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` ?\(?for another [0-9a-zµ.]+\)?`) })

// lines are what is shown while it is waited for: those that it is not true of.
func (s *settling) lines(states []waitState, all []api.Object) (lines []progressLine) {
	known := byKey(all)
	for i, st := range states {
		if !st.met {
			lines = append(lines, progressLine{name: shortName(s.keys[i]), text: wayOf(known[s.keys[i]], st.why)})
		}
	}
	return lines
}

// wayOf says how far a workload is on its way and why it is no further, as stepOf
// does; o is nil where the controller does not know it yet.
func wayOf(o *api.Object, why string) string {
	why = countdown().ReplaceAllString(why, "")
	if o == nil || o.Status.Phase == "" {
		return why
	}
	phase := string(o.Status.Phase)
	lower := strings.ToLower(phase)
	switch {
	case strings.EqualFold(why, phase):
		return lower
	case strings.HasPrefix(why, phase+":"), strings.HasPrefix(why, lower):
		return why
	}
	return lower + ": " + why
}

// messageOf is what a condition says, or else the given text.
func messageOf(o *api.Object, t spec.ConditionType, otherwise string) string {
	for _, c := range o.Status.Conditions {
		if c.Type == t && c.Status != spec.True && c.Message != "" {
			return c.Message
		}
	}
	return otherwise
}

// isFalse says that a condition is.
func isFalse(o *api.Object, t spec.ConditionType) bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c spec.Condition) bool { return c.Type == t && c.Status == spec.False })
}

// atRest says that nothing of a workload is to run.
func atRest(o *api.Object) bool {
	return !o.Status.SuspendedAt.IsZero() || o.Spec != nil && (o.Spec.Suspend || o.Spec.Replicas != nil && *o.Spec.Replicas == 0)
}

// restState says whether nothing of it runs.
func restState(o *api.Object) waitState {
	switch {
	case len(o.Status.Instances) > 0:
		return waitState{why: stillRuns(o)}
	case !o.Status.SuspendedAt.IsZero():
		return waitState{met: true, as: "suspended at runtime"}
	case o.Spec.Suspend:
		return waitState{met: true, as: "suspended"}
	}
	return waitState{met: true, as: "at rest, with 0 replicas"}
}

// stillRuns says what there still is of a workload, and what it waits for.
func stillRuns(o *api.Object) string {
	text := strings.ToLower(string(o.Status.Phase))
	if o.Status.PID != 0 {
		text += fmt.Sprintf(", with pid %d", o.Status.PID)
	}
	if o.Status.Message != "" {
		text += ": " + o.Status.Message
	}
	return text
}
