package controller

import (
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// History holds what cannot be observed again: how processes ended, which
// starts failed, what is in flight. It changes only by folding events, and a
// History that was handed out never changes: With gives a new one.
//
// The zero value is an empty history.
type History struct {
	keys []*KeyHistory // sorted by key
}

// KeyHistory is the history of one key.
type KeyHistory struct {
	Key spec.Key `json:"key"`
	// Hash is that of the last start: counts below belong to it.
	Hash spec.Hash `json:"hash,omitempty"`
	// Crashes counts unplanned ends and failed starts since the last healthy
	// stretch. Back-off grows with it.
	Crashes int `json:"crashes,omitempty"`
	// Restarts counts starts after an unplanned end.
	Restarts int `json:"restarts,omitempty"`
	// Ended and Succeeded count unplanned ends of Hash, the latter with exit
	// code that means success: what a restart policy asks for.
	Ended     int `json:"ended,omitempty"`
	Succeeded int `json:"succeeded,omitempty"`
	// AtOnce counts how often in a row it has ended at once, and well (stdio.go).
	AtOnce int `json:"atOnce,omitempty"`
	// CrashedAt is when the last unplanned end or failed start was noticed.
	CrashedAt time.Time `json:"crashedAt,omitzero"`
	// TriedAt is when the last start worked or failed.
	TriedAt time.Time `json:"triedAt,omitzero"`
	// Last is how a main process of this key last ended.
	Last *spec.Termination `json:"last,omitempty"`
	// Failure is the last failed start, if no start has worked since.
	Failure *StartFailed `json:"failure,omitempty"`
	// Ports are those of the instance that was last started, or was last known to
	// be gone: the next one keeps them while they are free.
	Ports spec.PortMap `json:"ports,omitempty"`
	// RestartAskedAt is when a restart was last asked for, SuspendedAt since when
	// the key is suspended at runtime; zero for never.
	RestartAskedAt time.Time `json:"restartAskedAt,omitzero"`
	SuspendedAt    time.Time `json:"suspendedAt,omitzero"`
	// Replacement is the one that is under way or was given up; nil for none.
	Replacement *Replacement `json:"replacement,omitempty"`
	// Policy is how an instance is stopped of which nothing else is known: that
	// of the last start, which may never have been reported.
	Policy StopPolicy `json:"policy,omitzero"`
	// DependsOn are the workloads that it depends on, by its last manifest.
	DependsOn []spec.Key `json:"dependsOn,omitempty"`
	// Instances are the spawns that are known and not known to be gone.
	Instances []InstanceRecord `json:"instances,omitempty"`

	// What is in flight; a restarted controller forgets it and decides afresh.

	Starting []StartAsked `json:"-"`
	Stops    []StopState  `json:"-"`
	// Resolving says that a check of the program is under way.
	Resolving bool `json:"-"`
	// Resolved is the outcome of the last one.
	Resolved *Resolved `json:"-"`
	// Successor is the last instance that was ready beside one that it is to
	// replace.
	Successor Succeeds `json:"-"`
	// Probes are what is known of the health of Instances.
	Probes []ProbeState `json:"-"`
	// Publication is what is known of the file of an agent that uses servers; nil
	// where there is none. It is replaced, never changed.
	Publication *Publication `json:"-"`
	// Death is the last dossier. It stands beside the ledger.
	Death *spec.Dossier `json:"-"`
}

// InstanceRecord is what is remembered of a spawn.
type InstanceRecord struct {
	ID        spec.Instance         `json:"id"`
	Main      observe.Ident         `json:"main"`
	Hash      spec.Hash             `json:"hash"`
	OnExit    spec.OnControllerExit `json:"onExit"`
	Scope     observe.Scope         `json:"scope"`
	Ports     spec.PortMap          `json:"ports,omitempty"`
	Log       string                `json:"log,omitempty"`
	StartedAt time.Time             `json:"startedAt"`
	// UID is as in observe.Instance.
	UID uint32 `json:"uid,omitempty"`
	// Restarts is the key's count when the instance was started.
	Restarts int `json:"restarts,omitempty"`
	// Ended says that the end of its main process was noticed.
	Ended bool `json:"ended,omitempty"`
	// Renew says that a restart was asked for after it was started.
	Renew bool `json:"renew,omitempty"`
	// Policy is how it is stopped where no manifest says so any more.
	Policy StopPolicy `json:"policy,omitzero"`
	// ServerRestarts and ServerEndedAt are what its bridge has told of its server.
	ServerRestarts int       `json:"serverRestarts,omitempty"`
	ServerEndedAt  time.Time `json:"serverEndedAt,omitzero"`
	// Program is the file that was executed.
	Program spec.ProgramFile `json:"program,omitzero"`
	// Entry is the newest manifest of its hash, as far as this life of the
	// controller has seen one; nil where it has not.
	Entry *spec.Entry `json:"-"`
	// Good says that the run has gone well, and that this was written down.
	Good bool `json:"-"`
	// Handle says that its main process is watched by handle in this life of
	// the controller.
	Handle bool `json:"-"`
}

// StopPolicy is how an instance is stopped.
type StopPolicy struct {
	Signal int           `json:"signal"`
	Grace  time.Duration `json:"grace"`
	Mode   spec.KillMode `json:"mode"`
	// Bridged says that the main process is the bridge of a stdio server.
	Bridged bool `json:"bridged,omitempty"`
}

// StopState is a stop in progress.
type StopState struct {
	ID     spec.Instance
	Reason spec.Reason
	Policy StopPolicy
	// At is when the stop began, and with it the grace period; KilledAt is the
	// last SIGKILL.
	At, KilledAt time.Time
	// Kills counts the rounds of SIGKILL.
	Kills int
	// Busy says that signals for the instance are in flight.
	Busy bool
	// Hook is how far its preStop hook is (hook.go).
	Hook HookState
	// Reached are the processes that the stop signal was meant for by ident.
	Reached []observe.Ident
	// Refused names what could not be signalled in the last round.
	Refused string
}

// Of gives the history of a key, or nil.
func (h History) Of(k spec.Key) *KeyHistory {
	if i, ok := h.find(k); ok {
		return h.keys[i]
	}
	return nil
}

func (h History) find(k spec.Key) (int, bool) {
	return slices.BinarySearchFunc(h.keys, k, func(kh *KeyHistory, k spec.Key) int { return kh.Key.Compare(k) })
}

// With folds events, in order, into a new history. The cost is a copy of the
// sorted pointers and of the keys that are touched.
func (h History) With(events ...Event) History {
	next := History{keys: slices.Clone(h.keys)}
	for _, e := range events {
		i, ok := next.find(e.EventKey())
		if !ok {
			next.keys = slices.Insert(next.keys, i, &KeyHistory{Key: e.EventKey()})
		} else {
			next.keys[i] = next.keys[i].clone()
		}
		e.fold(next.keys[i])
		if _, forget := e.(Forgotten); forget {
			next.keys = slices.Delete(next.keys, i, i+1)
		}
	}
	return next
}

func (k *KeyHistory) clone() *KeyHistory {
	c := *k
	c.Instances = slices.Clone(k.Instances)
	c.Starting = slices.Clone(k.Starting)
	c.Stops = slices.Clone(k.Stops)
	c.Probes = slices.Clone(k.Probes)
	return &c
}

// stop gives the stop in progress of an instance, or nil.
func (k *KeyHistory) stop(id spec.Instance) *StopState {
	if k == nil {
		return nil
	}
	for i := range k.Stops {
		if k.Stops[i].ID == id {
			return &k.Stops[i]
		}
	}
	return nil
}

// longestGrace is the longest grace period of anything that is known of the key.
func (k *KeyHistory) longestGrace() time.Duration {
	longest := k.Policy.Grace
	for i := range k.Instances {
		longest = max(longest, k.Instances[i].Policy.Grace)
	}
	for i := range k.Stops {
		longest = max(longest, k.Stops[i].Policy.Grace)
	}
	return longest
}

// instance gives the record of an instance, or nil.
func (k *KeyHistory) instance(id spec.Instance) *InstanceRecord {
	if k == nil {
		return nil
	}
	for i := range k.Instances {
		if k.Instances[i].ID == id {
			return &k.Instances[i]
		}
	}
	return nil
}

// Witnesses gives what the history knows of instances, for the scan. Starts
// that are under way, or have failed when the program may have run already, are
// told without a name: what they leave behind is no known instance's.
func (h History) Witnesses() []observe.Witness {
	ws := make([]observe.Witness, 0, len(h.keys))
	for _, k := range h.keys {
		if len(k.Starting) > 0 || k.Failure != nil && mayHaveRun(k.Failure.Reason) {
			ws = append(ws, observe.Witness{Key: k.Key})
		}
		for i := range k.Instances {
			r := &k.Instances[i]
			ws = append(ws, observe.Witness{
				Key: k.Key, ID: r.ID, UID: r.UID, Hash: r.Hash, OnExit: r.OnExit, Main: r.Main,
				Cgroup: r.Scope.Cgroup, Handle: r.Handle, Ledger: !r.Handle,
				Ports: r.Ports, StartedAt: r.StartedAt, Scope: r.Scope, Log: r.Log,
			})
		}
	}
	return ws
}

// Records gives the events that, folded into an empty history, restore this one
// but for what is in flight: what a compacted ledger holds.
func (h History) Records() []Event {
	events := make([]Event, len(h.keys))
	for i, k := range h.keys {
		events[i] = Remembered{*k}
	}
	return events
}
