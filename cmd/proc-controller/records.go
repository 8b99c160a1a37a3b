package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec/source"
)

// records are what survives the controller, as far as the disk lets it.
type records struct {
	events, ledger controller.Journal
	memory         source.Memory
	history        controller.History
}

// openRecords opens the files of the state directory, if there is one.
func (m *machine) openRecords(state string) records {
	if state == "" {
		return records{events: nowhere{}, ledger: nowhere{}}
	}
	boot := observe.BootID()
	path := filepath.Join(state, "ledger.jsonl")
	events := journal.Open(filepath.Join(state, "events.jsonl"), journal.Options{Log: m.log})
	ledger := journal.Open(path, journal.Options{
		Log: m.log, Sync: true,
		Compact: func(lines [][]byte) [][]byte { return controller.Compact(boot, lines) },
	})
	memory := journal.OpenMemory(state, m.log)
	m.around.state, m.around.journals = state, []written{ledger, events, memory}
	m.closing(func() { closeAll(events.Close, ledger.Close, memory.Close) })
	return records{events: events, ledger: ledger, memory: memory, history: m.restore(boot, path)}
}

// restore reads the ledger back.
func (m *machine) restore(boot, path string) controller.History {
	return controller.Restore(boot, func(yield func(line []byte) bool) {
		skipped, err := journal.Load(path, func(line []byte) error {
			yield(line) // Restore takes them all
			return nil
		})
		if skipped > 0 || err != nil {
			m.log.Info("not all of the ledger could be read back", "file", path, "skippedLines", skipped, "cause", err)
		}
	})
}

// nowhere is a journal without a place to be in.
type nowhere struct{}

// Append forgets the record.
func (nowhere) Append(any) {}

// diskWait is how long the disk may take for the last records at the end.
const diskWait = 2 * time.Second

func closeAll(closes ...func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), diskWait)
	defer cancel()
	for _, c := range closes {
		_ = c(ctx) // the journal has said itself what it could not write
	}
}
