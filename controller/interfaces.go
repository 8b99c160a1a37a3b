package controller

import (
	"context"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Source gives the manifests.
type Source interface {
	// Sets delivers the newest set whenever it has changed. The channel holds
	// one; a newer set replaces one that was not taken yet.
	Sets() <-chan *spec.Set
}

// Observer reads the process table.
type Observer interface {
	// Scan reads the process table to the given depth. It is called by one
	// goroutine at a time. On error the snapshot says what was known before,
	// with Err set. It never blocks for longer than its own deadline.
	Scan(ctx context.Context, known []observe.Witness, depth observe.Depth) observe.Snapshot
	// Listeners tells who listens on the given ports; members are tried first
	// when the holders are looked for. A port with no listener is not in the
	// answer.
	Listeners(ports []uint16, members []observe.Ident) (map[uint16]observe.Listener, error)
}

// Actuator carries out what was decided. All methods may be called from many
// goroutines. Start, Signal, Resolve and Dismiss may take long; the others do not.
type Actuator interface {
	// Start spawns one instance of the entry and returns it once the program
	// has been executed (and, in a scope, is in it). The token becomes the
	// random part of the instance's name. A failed start has left no process;
	// its error is a StartError, which says what was signalled to that end. A port
	// that is allocated is the one in prefer, if that is free.
	Start(e *spec.Entry, token string, prefer spec.PortMap) (*observe.Instance, error)
	// Signal sends sig to the group of the main process and to each verified
	// member outside it (as far as the kill mode reaches), then SIGCONT.
	// SIGKILL uses the cgroup where there is one. Every process is verified
	// again immediately before, through the handle that is signalled. It does
	// not wait for anything to end.
	Signal(in *observe.Instance, sig int, mode spec.KillMode) ([]observe.Sent, error)
	// Resolve checks that the program of the entry could be started; its error
	// is a StartError.
	Resolve(e *spec.Entry) error
	// Watch begins to watch the main process of an instance that we did not
	// spawn, by handle, and reserves its ports. Its end comes through Exits. The
	// error is observe.ErrGone if the process has already ended; any other says
	// that it cannot be watched now.
	Watch(id observe.Ident) error
	// Exits delivers the end of every main process, started or watched.
	Exits() <-chan observe.Exit
	// Forget releases what is held for an instance (handle, port reservations,
	// an empty cgroup), once nothing of it is left.
	Forget(in *observe.Instance)
	// Publish writes the file that tells an agent where its servers are, whole or
	// not at all, and only where it says something else. A server whose URL is
	// empty is left as the file has it. The path depends on the key alone; all
	// instances share the file. The error is a StartError.
	Publish(e *spec.Entry, servers []spec.ServerEndpoint) (spec.MCPConfigFile, error)
	// Withdraw removes that file; that there is none is no error.
	Withdraw(agent spec.Key) error
	// Published names the agents for which there is such a file.
	Published() []spec.Key
	// Dismiss removes what is kept in files of a workload that is forgotten. It may
	// wait for the disk.
	Dismiss(k spec.Key)
	// BoundLogs says how much is kept of the output of each workload from now on.
	// A workload that is not named keeps what it had. One of which nothing was ever
	// said gets the default once all were named, and nothing is cut before: it may
	// be wanted to keep more. It does not wait for the disk.
	BoundLogs(bounds map[spec.Key]spec.LogBounds, all bool)
	// LastLines gives the last lines of an output file, for a person: a bounded
	// number, the newest last.
	LastLines(log string) []string
	// EnvNames gives the names of the variables of an instance of the entry,
	// sorted; nil where they cannot be had.
	EnvNames(e *spec.Entry) []string
}

// Deaths keeps the dossiers of unplanned deaths. Its methods may wait for the
// disk; they are called by one goroutine at a time. What cannot be kept is not
// kept: nothing depends on it.
type Deaths interface {
	// Latest gives each workload of which anything is kept, with its last dossier,
	// which is nil where it has not died.
	Latest() map[spec.Key]*spec.Dossier
	// Add keeps a dossier, and gives it back with what has changed since the last
	// good run; made is what this run was made of.
	Add(d spec.Dossier, made spec.Facts) spec.Dossier
	// Good keeps what a run that went well was made of.
	Good(k spec.Key, run spec.Run)
	// Forget drops all that is kept of a workload.
	Forget(k spec.Key)
}

// Prober asks workloads whether they work. Its methods may be called from many
// goroutines.
type Prober interface {
	// Probe makes one attempt, and is back when ctx ends at the latest. The error
	// is the failure, in one line for a person; a bridge's report comes with it. What it connects to may be held by
	// anybody: that is for the caller to judge.
	Probe(ctx context.Context, q observe.Question) (observe.Answer, error)
	// Do carries out a hook, within ctx.
	Do(ctx context.Context, e *spec.Entry, in *observe.Instance, h *spec.Hook) error
	// Forget lets go of what is kept for an instance that is gone.
	Forget(id spec.Instance)
}

// Instruments measure what the controller does, for metrics. They are called by
// the loop and beside it, by many goroutines: each call has to be quick, and keeps
// nothing of what it is given.
type Instruments interface {
	// Passed tells how long the loop took to decide once and to hand out what it
	// decided.
	Passed(took time.Duration)
	// Happened tells of an event, when it is recorded.
	Happened(e Event)
	// Spawned tells how long a start took, and why it failed if it did.
	Spawned(took time.Duration, err error)
	// Scanned tells of a reading of the process table: how many processes there
	// were, or why it failed.
	Scanned(depth observe.Depth, took time.Duration, processes int, err error)
	// Probed tells of an attempt that counts, whatever it changes, and of its
	// failure.
	Probed(kind ProbeKind, took time.Duration, failed bool)
}

// noInstruments measure nothing.
type noInstruments struct{}

func (noInstruments) Passed(time.Duration)                             {}
func (noInstruments) Happened(Event)                                   {}
func (noInstruments) Spawned(time.Duration, error)                     {}
func (noInstruments) Scanned(observe.Depth, time.Duration, int, error) {}
func (noInstruments) Probed(ProbeKind, time.Duration, bool)            {}

// StartError is a start that did not happen. It has a reason for programs.
type StartError interface {
	error
	StartReason() spec.Reason
	// SignalsSent are the signals that have ended what was started of it.
	SignalsSent() []observe.Sent
}

// Journal keeps lines that should survive the controller. Append never blocks
// on the disk and never fails the caller: what cannot be written is reported by
// the journal itself.
type Journal interface {
	Append(record any)
}
