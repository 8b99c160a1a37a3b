package main

import (
	"context"
	"time"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// The bounds of what one call of logs gives.
const (
	usualLines = 100
	mostText   = 256 << 10 // bytes
)

// logsInput says what is read.
type logsInput struct {
	Workload string `json:"workload" jsonschema:"KIND/NAME: mcpserver/files, agent/writer"`
	Lines    int    `json:"lines,omitempty" jsonschema:"only the newest, as many; 100 if left out, 1000 at most"`
	Since    string `json:"since,omitempty" jsonschema:"only what was written in this time before now: 10m, 2h30m"`
	Previous bool   `json:"previous,omitempty" jsonschema:"of the run before the present one: what it said before it crashed"`
}

type logsOutput struct {
	Lines []logRow `json:"lines" jsonschema:"the oldest first"`
	Left  int      `json:"left,omitempty" jsonschema:"how many of the lines asked for were left out at the beginning, because they were too long together"`
}

// logRow is one line of output.
type logRow struct {
	Time     string        `json:"time,omitempty" jsonschema:"about when it was written"`
	Instance spec.Instance `json:"instance"`
	Text     string        `json:"text"`
}

func (t *tools) logs(ctx context.Context, in logsInput) (logsOutput, error) {
	out := logsOutput{Lines: []logRow{}}
	k, err := spec.ParseKey(in.Workload)
	if err != nil {
		return out, err
	}
	q := api.LogQuery{Tail: bounded(in.Lines, usualLines, mostLines), Previous: in.Previous, Timestamps: true}
	if q.Since, err = before(in.Since); err != nil {
		return out, err
	}
	size := 0
	err = t.client.Logs(ctx, k, q, func(l api.LogLine) error {
		row := logRow{Instance: l.Instance, Text: l.Text}
		if !l.Time.IsZero() {
			row.Time = l.Time.UTC().Format(time.RFC3339)
		}
		out.Lines = append(out.Lines, row)
		for size += len(l.Text); size > mostText && len(out.Lines) > 1; out.Left++ {
			size -= len(out.Lines[0].Text)
			out.Lines = out.Lines[1:]
		}
		return nil
	})
	if err != nil {
		err = t.missing(ctx, k, err)
	}
	return out, err
}
