package controller

import (
	"context"

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
// goroutines. Start, Signal and Resolve may take long; the others do not.
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
	// LastLine gives the last line of an output file, for a person.
	LastLine(log string) string
	// Publish writes the file that tells an agent where its servers are, whole or
	// not at all, and only where it says something else. A server whose URL is
	// empty is left as the file has it. The path depends on the key alone; all
	// instances share the file. The error is a StartError.
	Publish(e *spec.Entry, servers []spec.ServerEndpoint) (spec.MCPConfigFile, error)
	// Withdraw removes that file; that there is none is no error.
	Withdraw(agent spec.Key) error
	// Published names the agents for which there is such a file.
	Published() []spec.Key
}

// Prober asks workloads whether they work. Its methods may be called from many
// goroutines.
type Prober interface {
	// Probe makes one attempt, and is back when ctx ends at the latest. The error
	// is the failure, in one line for a person. What it connects to may be held by
	// anybody: that is for the caller to judge.
	Probe(ctx context.Context, q observe.Question) (observe.Answer, error)
	// Do carries out a hook, within ctx.
	Do(ctx context.Context, e *spec.Entry, in *observe.Instance, h *spec.Hook) error
	// Forget lets go of what is kept for an instance that is gone.
	Forget(id spec.Instance)
}

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
