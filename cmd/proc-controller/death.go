package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// death tells of an unplanned end: how, and what was other than it was when all
// went well.
func (st *story) death(s *sheet, d *spec.Dossier) {
	how := howEnded(&d.Termination)
	if d.OOMKilled {
		how += "; the kernel has killed a process of it for want of memory"
	}
	s.field("Ended", how)
	s.field("When", fmt.Sprintf("%s, at %s, after %s", st.ago(d.FinishedAt), d.FinishedAt.In(time.Local).Format(eventTime), time.Duration(d.Uptime)))
	s.field("Process", fmt.Sprintf("pid %d, instance %s", d.PID, d.Instance))
	s.field("Probe", d.Probe)
	st.changes(s, d.Changes)
	if d.NextRetry.After(st.now) {
		s.field("Next try", "in "+st.until(d.NextRetry))
	}
	if len(d.Output) > 0 {
		s.line(s.look.paint(bold, "Output:"))
		s.within(func() { s.quoted(d.Output) })
	}
}

// until is how long it is to an instant, in a word.
func (st *story) until(at time.Time) string { return at.Sub(st.now).Round(time.Second).String() }

// howEnded is an end in words.
func howEnded(t *spec.Termination) string {
	var how string
	switch {
	case t.Signal != "":
		how = "by " + t.Signal
	case t.Reason == spec.ReasonUnknown:
		how = "in a way that is not known"
	default:
		how = fmt.Sprintf("with exit code %d", t.ExitCode)
	}
	if t.Reason != spec.ReasonError && t.Reason != spec.ReasonUnknown {
		how += " (" + string(t.Reason) + ")"
	}
	if t.Message != "" {
		how += ": " + t.Message
	}
	return how
}

// changes tells what was other than in the last good run.
func (st *story) changes(s *sheet, c *spec.Changes) {
	if c == nil {
		s.field("Changed", "not known: there was no good run before")
		return
	}
	var what []string
	add := func(title string, names []string) {
		if len(names) > 0 {
			what = append(what, title+" "+strings.Join(names, ", "))
		}
	}
	add("manifest:", c.Spec)
	if p := c.Program; p != nil {
		what = append(what, "program: "+programChange(p))
	}
	add("variables added:", c.EnvAdded)
	add("variables removed:", c.EnvRemoved)
	if len(what) == 0 {
		what = []string{"nothing that is known of"}
	}
	s.field("Changed", append(what, fmt.Sprintf("since the last good run, %s, started %s", c.LastGood, st.ago(c.GoodSince)))...)
}

// programChange names what is other of the file that was executed.
func programChange(p *spec.ProgramChange) string {
	if p.Was.Path != p.Is.Path {
		return p.Is.Path + ", and was " + p.Was.Path
	}
	return fmt.Sprintf("%s is another file: %d bytes of %s, and was %d bytes of %s", p.Is.Path,
		p.Is.Size, p.Is.ModTime.In(time.Local).Format(time.DateTime), p.Was.Size, p.Was.ModTime.In(time.Local).Format(time.DateTime))
}
