package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// The pauses between two looks at a set that is starting.
const (
	firstSetLook = 5 * time.Millisecond
	lastSetLook  = 100 * time.Millisecond
)

// setLook is one look at a set.
type setLook struct {
	objects []api.Object
	states  []waitState // of the keys that are waited for
}

// awaitReady waits until the set is ready. Any other code than exitDone says that
// it never will be; why has been said then.
func (k *keeper) awaitReady() ([]api.Object, int) {
	began := time.Now()
	limit := time.After(k.brief.Timeout)
	show := newSetProgress(k.std.err, k.brief.Quiet)
	for pause := firstSetLook; ; pause = min(2*pause, lastSetLook) {
		look, err := k.look()
		if err == nil {
			show.update(k.brief.Keys, look)
		}
		switch {
		case err != nil && !errors.Is(err, api.ErrNotRunning):
			show.clear()
			k.std.say(err)
			return nil, exitNotReady
		case err == nil && every(look.states):
			show.ready(k.brief.Keys, time.Since(began))
			return look.objects, exitDone
		case err == nil && slices.ContainsFunc(look.states, func(st waitState) bool { return st.hopeless }):
			show.clear()
			k.tellUnready(look, "the set will not be ready")
			return nil, exitNotReady
		}
		select {
		case <-time.After(pause):
		case <-limit:
			show.clear()
			k.tellUnready(look, fmt.Sprintf("the set is not ready after %v", k.brief.Timeout))
			return nil, exitNotReady
		case <-k.ended:
			show.clear()
			if code := k.interrupted(); code != exitDone {
				return nil, code
			}
			k.std.say(errors.New("the set was not started: its controller has ended"))
			k.quote(k.logPath())
			return nil, exitNotReady
		case sig, more := <-k.told:
			show.clear()
			return nil, codeOfTold(sig, more)
		}
	}
}

// interrupted is why the controller may have ended: a key that reached it before it
// had a session of its own. The front hears of that, too, and so do we.
func (k *keeper) interrupted() int {
	select {
	case sig, more := <-k.told:
		return codeOfTold(sig, more)
	case <-time.After(keyboardLag):
		return exitDone
	}
}

// codeOfTold is the exit code where what the front was told comes before the command.
func codeOfTold(sig byte, more bool) int {
	if !more {
		return exitFailed // nobody is there who would see it
	}
	return exitSignal + int(sig)
}

// look asks the controller once.
func (k *keeper) look() (setLook, error) {
	ctx, cancel := context.WithTimeout(context.Background(), leftoversWait)
	defer cancel()
	objects, err := k.client.Workloads(ctx)
	if err != nil {
		return setLook{}, err
	}
	l := setLook{objects: objects}
	aim := aim{condition: spec.CondReady, status: spec.True}
	for _, key := range k.brief.Keys {
		i := slices.IndexFunc(objects, func(o api.Object) bool { return o.Key() == key })
		if i < 0 {
			l.states = append(l.states, k.unread(ctx))
			continue
		}
		st := aim.judge(&objects[i])
		st.hopeless = st.hopeless || !st.met && beyondWaiting(&objects[i])
		l.states = append(l.states, st)
	}
	return l, nil
}

// beyondWaiting says that only another manifest would help. None will come.
func beyondWaiting(o *api.Object) bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c spec.Condition) bool {
		return c.Type == spec.CondAccepted && c.Status == spec.False ||
			c.Type == spec.CondStalled && c.Status == spec.True && c.Reason == spec.ReasonLooksLikeStdio
	})
}

// unread is the state of a workload that the controller does not know: it has not
// read the manifests yet, or there is one that it does not take.
func (k *keeper) unread(ctx context.Context) waitState {
	st := waitState{why: "its manifest has not been read yet"}
	info, err := k.client.Controller(ctx)
	if err != nil || !info.Ready {
		return st
	}
	for _, n := range info.Notices {
		if n.Reason == spec.ReasonUntrusted || n.Reason == spec.ReasonUnreadable || n.Reason == spec.ReasonInvalid {
			return waitState{hopeless: true, why: n.String()}
		}
	}
	return st
}

// tellUnready names what is not ready, with the last that it has written.
func (k *keeper) tellUnready(l setLook, what string) {
	k.std.say(errors.New(what))
	for i, st := range l.states {
		if st.met {
			continue
		}
		fmt.Fprintf(k.std.err, "  %s: %s\n", shortName(k.brief.Keys[i]), oneLine(st.why))
		j := slices.IndexFunc(l.objects, func(o api.Object) bool { return o.Key() == k.brief.Keys[i] })
		if j < 0 {
			continue
		}
		k.quoteWorkload(&l.objects[j])
	}
	if l.states == nil {
		k.quote(k.logPath())
	}
}

// quoteWorkload shows the last lines of a workload: those of the run that failed,
// where there is one.
func (k *keeper) quoteWorkload(o *api.Object) {
	if d := o.Status.LastDeath; d != nil && len(d.Output) > 0 {
		k.quoteLines(d.Output)
		return
	}
	for _, in := range o.Status.Instances {
		if in.Log != "" {
			k.quote(in.Log)
			return
		}
	}
	if t := o.Status.LastTermination; t != nil && t.Output != "" {
		k.quoteLines([]string{t.Output})
	}
}

func (k *keeper) quote(file string) { k.quoteLines(actuate.LastLines(file)) }

func (k *keeper) quoteLines(lines []string) {
	for _, line := range lines {
		fmt.Fprintf(k.std.err, "    | %s\n", line)
	}
}

// setProgress shows how a set gets ready: in a terminal what is not, and why;
// elsewhere one line at the end.
type setProgress struct {
	*progress
	quiet bool
}

func newSetProgress(w io.Writer, quiet bool) *setProgress {
	return &setProgress{newProgress(w), quiet}
}

// update shows what is still waited for.
func (p *setProgress) update(keys []spec.Key, l setLook) {
	if p.quiet || !p.moves {
		return
	}
	var waiting []progressLine
	known := byKey(l.objects)
	for i, st := range l.states {
		if !st.met {
			waiting = append(waiting, progressLine{name: shortName(keys[i]), text: wayOf(known[keys[i]], st.why)})
		}
	}
	p.show(waiting)
}

// ready says that all is ready.
func (p *setProgress) ready(keys []spec.Key, took time.Duration) {
	p.clear()
	if p.quiet || len(keys) == 0 {
		return
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = shortName(k)
	}
	fmt.Fprintf(p.out, "%s: ready after %v: %s\n", program, took.Round(time.Millisecond), strings.Join(names, ", "))
}
