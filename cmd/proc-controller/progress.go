package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// progress tells what is waited for, on stderr: on a terminal in one line that is
// written over, elsewhere in a line for whatever has changed.
type progress struct {
	out     io.Writer
	columns int // 0: no terminal
	line    string
	said    map[string]string // elsewhere: what was said last of each
}

func newProgress(std streams) *progress {
	return &progress{out: std.err, columns: columnsOf(std.err, os.Getenv), said: map[string]string{}}
}

// step is one thing that is waited for.
type step struct {
	name string
	at   string // how far it is, in a word; a change of it is news
	text string
}

// show tells of what is left.
func (p *progress) show(left []step) {
	if p.columns > 0 {
		p.rewrite(left)
		return
	}
	for _, s := range left {
		if p.said[s.name] != s.at {
			p.said[s.name] = s.at
			fmt.Fprintf(p.out, "%s: %s\n", s.name, oneLine(s.text))
		}
	}
}

// rewrite writes the line anew, if it says something else now.
func (p *progress) rewrite(left []step) {
	line := ""
	if len(left) > 0 {
		line = left[0].name + ": " + oneLine(left[0].text)
	}
	if n := len(left) - 1; n > 0 {
		line = fmt.Sprintf("(%d more) %s", n, line)
	}
	if line = shortened(line, p.columns-1); line != p.line {
		fmt.Fprintf(p.out, "\r%s\x1b[K", line) // ECMA-48: erase to the end of the line
		p.line = line
	}
}

// clear takes the line away, before something else is written.
func (p *progress) clear() {
	if p.line != "" {
		p.rewrite(nil)
	}
}

// stepOf says how far a workload is on its way, in the words of wait.
func stepOf(o *api.Object) step {
	s := step{name: shortName(o.Key()), text: strings.ToLower(string(o.Status.Phase))}
	s.at = s.text + " " + string(o.Status.Reason)
	if why := whyLeft(o); why != "" && !strings.EqualFold(why, s.text) {
		s.text += ": " + why
	}
	return s
}

// whyLeft says why a workload is not as it should be, as get does, or else in the
// words of the condition that is the sum of the others.
func whyLeft(o *api.Object) string {
	if o.Status.Reason != "" && o.Status.Message != "" {
		return string(o.Status.Reason) + ": " + o.Status.Message
	}
	return cmp.Or(isReady.judge(o).why, string(o.Status.Reason))
}

// isReady is what is waited for after a restart.
var isReady = aim{condition: spec.CondReady, status: spec.True}

// untilSeen looks at the workloads again and again, until seen says that this was
// the last look. It is told what there is, or why the controller gave no answer.
// The error is that of ctx.
func untilSeen(ctx context.Context, client *api.Client, seen func([]api.Object, error) bool) error {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		all, err := client.Workloads(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if seen(all, err) {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
