// Package controller decides what to do and runs the loop that does it.
//
// # The loop
//
// One goroutine owns all mutable state (loop.go). It sleeps until something
// wakes it: a new set of manifests, the end of a process, the outcome of an
// action, a timer, a question. What woke it is folded in, everything else that
// is waiting is folded in too, and then it decides afresh from the whole world.
// The plan's actions are handed to goroutines that post their outcome back; the
// loop never waits for one.
//
//	source ──Set──▶ ┌──────┐ ──World──▶ Decide ──Plan──▶ actions ─┐
//	exits ──Exit──▶ │ loop │                                      │
//	scans ──────────▶ └──────┘ ◀────────────── events ◀─────────────┘
//
// # What it knows
//
//	            who writes it        who reads it     survives a restart
//	Desired     the source           Decide, Report   last good content, as a hint
//	Observed    scans; own starts    Decide, Report   no: it is read again
//	            and exits between
//	            two scans
//	History     folded events        Decide, Report   as far as the ledger does
//	Status      Report               the API          no
//
// Decide is total and pure; its rows are in rows.go, stop.go, replace.go, ports.go
// and start.go. What its probes come to is in health.go, what depends on what in
// order.go and stoporder.go, what goes before a stop signal in hook.go, what is told
// of a stdio server in stdio.go. Report makes status out of the same world and is
// never on the way of a decision: it runs in the goroutine that asks, on values
// that do not change.
//
// What happened is told in three ways: to the ledger, which restores the history
// (record.go), to the event log, for people (occurrence.go), and to the log of
// the program. Of an unplanned death a dossier is kept beside them (dossier.go),
// which says what has changed since the last good run (goodrun.go). What agents are
// told of their servers is in servers.go. What a person asks of the running
// controller, beside the manifests, comes in by operate.go and is history, too: what
// it means for the rows is in asked.go. A reap (reap.go) is the same loop with
// nothing wanted. What a plan has in mind for one process, prospect.go says.
//
// Start reading at world.go, then decide.go, rows.go and start.go, then loop.go.
package controller
