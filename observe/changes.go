package observe

import (
	"maps"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// WithStarted adds an instance, or puts it in the place of the one that has its
// name. A start knows of no members; those that a scan has seen meanwhile stay.
func (s Snapshot) WithStarted(in *Instance) Snapshot {
	at, found := slices.BinarySearchFunc(s.Instances, in, compareInstances)
	next := slices.Clone(s.Instances)
	if found {
		next[at] = in.withMembersOf(next[at])
	} else {
		next = slices.Insert(next, at, in)
	}
	s.Instances = next
	return s
}

// withMembersOf adds what a scan has found of an instance beside the main
// process; of that itself the start knows more.
func (in *Instance) withMembersOf(seen *Instance) *Instance {
	isMain := func(p *Process) bool { return p.Ident == in.LastMain }
	both := *in
	both.Members = slices.DeleteFunc(slices.Clone(seen.Members), isMain)
	both.Doubtful = slices.DeleteFunc(slices.Clone(seen.Doubtful), isMain)
	return &both
}

// WithExit notes the end of a main process: its instance has none any more, and
// its members are what the last scan saw. A process that is the main one of no
// instance changes nothing.
func (s Snapshot) WithExit(e Exit) Snapshot {
	at := slices.IndexFunc(s.Instances, func(in *Instance) bool { return in.Live() && in.Main.Ident == e.Ident })
	if at < 0 {
		return s
	}
	ended := *s.Instances[at]
	ended.Main, ended.EndedAt = nil, e.At
	s.Instances = slices.Clone(s.Instances)
	s.Instances[at] = &ended
	return s
}

// WithFailedStart notes that a start has failed, and that its process was ended:
// a scan may have shown it while it was waited for. Nobody else tells of that end.
func (s Snapshot) WithFailedStart(token string, at time.Time) Snapshot {
	i := slices.IndexFunc(s.Instances, func(in *Instance) bool { return in.Live() && in.ID.Token() == token })
	if i < 0 {
		return s
	}
	return s.WithExit(Exit{Ident: s.Instances[i].Main.Ident, At: at})
}

// WithoutInstance drops an instance.
func (s Snapshot) WithoutInstance(id spec.Instance) Snapshot {
	at := slices.IndexFunc(s.Instances, func(in *Instance) bool { return in.ID == id })
	if at >= 0 {
		s.Instances = slices.Delete(slices.Clone(s.Instances), at, at+1)
	}
	return s
}

// WithListeners adds a reading of the asked ports, begun at the given time.
// Asked ports that were not found have no listener.
func (s Snapshot) WithListeners(asked []uint16, found map[uint16]Listener, at time.Time) Snapshot {
	next := maps.Clone(s.Listeners)
	if next == nil {
		next = make(map[uint16]Listener, len(asked))
	}
	for _, port := range asked {
		li, listening := found[port]
		li.Port, li.Listening, li.At = port, listening, at
		next[port] = li
	}
	s.Listeners = next
	return s
}

// InstancesOf gives the instances of a workload, the oldest first. The slice is
// a part of the snapshot.
func (s Snapshot) InstancesOf(k spec.Key) []*Instance {
	byKey := func(in *Instance, k spec.Key) int { return in.Key.Compare(k) }
	from, found := slices.BinarySearchFunc(s.Instances, k, byKey)
	if !found {
		return nil
	}
	to := from + 1
	for to < len(s.Instances) && s.Instances[to].Key == k {
		to++
	}
	return s.Instances[from:to:to]
}
