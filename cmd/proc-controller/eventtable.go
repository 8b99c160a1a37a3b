package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/controller"
)

// eventTime is how a table writes a time: in local time, to the millisecond.
const eventTime = "2006-01-02 15:04:05.000"

func writeEvents(std streams, found []controller.Occurrence, output string) error {
	if output == "json" {
		return writeJSON(std.out, found)
	}
	if len(found) == 0 {
		return nil
	}
	t := eventTable()
	for i := range found {
		t.add(eventRow(&found[i])...)
	}
	return t.write(std.out)
}

func eventTable() *table {
	t := &table{}
	t.add("TIME", "WORKLOAD", "WHAT", "DETAIL")
	return t
}

func eventRow(o *controller.Occurrence) []string {
	return []string{o.Time.In(time.Local).Format(eventTime), o.Key, eventWhat(o), eventDetail(o)}
}

// eventWhat is what happened, in a word: for a signal its name.
func eventWhat(o *controller.Occurrence) string {
	switch {
	case o.Type == controller.WasSignalled:
		return o.Signal
	case o.Type == controller.WasRefused && o.Signal != "":
		return "no " + o.Signal
	}
	return string(o.Type)
}

// eventDetail is the rest of an event in one line: whom it happened to, why, and
// on what evidence.
func eventDetail(o *controller.Occurrence) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(eventTarget(o))
	add(string(o.Reason))
	if o.Type == controller.WasRefused {
		add(o.Result)
	}
	if o.Message != string(o.Reason) {
		add(o.Message)
	}
	if len(o.Evidence) > 0 {
		add("evidence: " + strings.Join(o.Evidence, ", "))
	}
	return strings.Join(parts, "; ")
}

// eventTarget names the process, or the instance where none is named.
func eventTarget(o *controller.Occurrence) string {
	switch {
	case o.PID == 0 && o.Instance != "":
		return "instance " + string(o.Instance)
	case o.PID == 0:
		return ""
	case o.Group:
		return fmt.Sprintf("pid %d and its group", o.PID)
	}
	return fmt.Sprintf("pid %d", o.PID)
}
