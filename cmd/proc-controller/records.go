package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec/source"
)

// ledgerFile is the ledger in the state directory.
const ledgerFile = "ledger.jsonl"

// records are what survives the controller, as far as the disk lets it.
type records struct {
	events *eventLog
	ledger controller.Journal
	deaths *journal.Deaths
	memory source.Memory
	// mirror is the ledger in memory, for the guard and for the next image of
	// this process; nil where it cannot be had.
	mirror *journal.Mirror
	// history restores what the ledger knows now.
	history func() controller.History
	// flush has all of it on the disk, as far as the disk takes it.
	flush func()
}

// noMirror is the descriptor of a mirror that there is not.
const noMirror = -1

// openRecords opens the files of the state directory, if there is one, and the
// mirror of the ledger, which another process may have begun.
func (m *machine) openRecords(state string, mirror int) records {
	r := records{events: &eventLog{}, ledger: nowhere{}, flush: func() {}, deaths: journal.OpenDeaths(state, m.log)}
	boot := observe.BootID()
	compact := func(lines [][]byte) [][]byte { return controller.Compact(boot, lines) }
	lines := func(func([]byte) bool) {}
	if state != "" {
		path := filepath.Join(state, ledgerFile)
		events := journal.Open(filepath.Join(state, eventsFile), journal.Options{Log: m.log})
		ledger := journal.Open(path, journal.Options{Log: m.log, Sync: true, Compact: compact})
		memory := journal.OpenMemory(state, m.log)
		m.around.state, m.around.journals = state, []written{ledger, events, memory}
		m.closing(func() { closeAll(events.Close, ledger.Close, memory.Close) })
		r.events.file, r.ledger, r.memory = events, ledger, memory
		r.flush = func() { closeAll(events.Flush, ledger.Flush, memory.Flush) }
		lines = func(yield func([]byte) bool) { m.load(path, yield) }
	}
	r.history = func() controller.History { return controller.Restore(boot, lines) }
	var err error
	if mirror == noMirror {
		r.mirror, err = newMirror(compact, lines)
	} else {
		r.mirror, err = journal.AdoptMirror(mirror, compact)
	}
	if err != nil {
		m.log.V(1).Info("going on with the ledger on the disk alone", "cause", err)
		r.mirror = nil
		return r
	}
	m.closing(r.mirror.Close)
	r.ledger = both{r.ledger, r.mirror}
	r.history = func() controller.History { return controller.Restore(boot, r.mirror.Lines) }
	return r
}

// newMirror begins a mirror with what the ledger on the disk has to say.
func newMirror(compact func([][]byte) [][]byte, lines func(func([]byte) bool)) (*journal.Mirror, error) {
	mirror, err := journal.NewMirror(compact)
	if err != nil {
		return nil, err
	}
	for _, line := range compact(slices.Collect(lines)) {
		mirror.Append(json.RawMessage(line))
	}
	return mirror, nil
}

// load reads the ledger back.
func (m *machine) load(path string, yield func(line []byte) bool) {
	skipped, err := journal.Load(path, func(line []byte) error {
		yield(slices.Clone(line)) // they take them all
		return nil
	})
	if skipped > 0 || err != nil {
		m.log.Info("not all of the ledger could be read back", "file", path, "skippedLines", skipped, "cause", err)
	}
}

// both is one journal in two places.
type both struct{ disk, memory controller.Journal }

// Append gives the record to either.
func (t both) Append(record any) {
	t.disk.Append(record)
	t.memory.Append(record)
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
