package main

import (
	"context"
	"errors"
	"slices"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// outputFiles are the output files of a state directory, as the API tells of them.
type outputFiles struct{ dir string }

// outputs gives nil where no output is kept.
func (m *machine) outputs() api.Logs {
	state, err := m.place.stateDir()
	if err != nil || m.around.lost != "" {
		return nil
	}
	return outputFiles{logs.Dir(state)}
}

// Logs reads the files.
func (o outputFiles) Logs(ctx context.Context, key spec.Key, q api.LogQuery, idle func(), take func(api.LogLine) error) error {
	want := logs.Query{
		Follow: q.Follow, Tail: q.Tail, Since: q.Since, Previous: q.Previous, AllMembers: q.AllMembers, Idle: idle,
	}
	err := logs.Read(ctx, o.dir, key, want, func(l logs.Line) error {
		line := api.LogLine{Instance: spec.Instance(l.Instance), Text: string(l.Text), More: l.More, Skipped: l.Skipped}
		if q.Timestamps {
			line.Time = l.Time
		}
		return take(line)
	})
	if errors.Is(err, logs.ErrNone) {
		return api.ErrNoLogs
	}
	return err
}

// Kept looks for files.
func (o outputFiles) Kept(key spec.Key) bool { return slices.Contains(logs.Known(o.dir), key) }

// remoteLines reads through the API, for whoever cannot reach the files. The time
// of each line is asked for only where it is shown.
func remoteLines(client *api.Client, timestamps bool) lineSource {
	return func(ctx context.Context, key spec.Key, q logs.Query, give func(logs.Line) error) error {
		want := api.LogQuery{
			Follow: q.Follow, Tail: q.Tail, Since: q.Since, Previous: q.Previous, AllMembers: q.AllMembers, Timestamps: timestamps,
		}
		err := client.Logs(ctx, key, want, func(l api.LogLine) error {
			err := give(logs.Line{
				Instance: string(l.Instance), Time: l.Time, Text: []byte(l.Text), More: l.More, Skipped: l.Skipped,
			})
			if err == nil && q.Idle != nil {
				q.Idle() // another may be long in coming
			}
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}
