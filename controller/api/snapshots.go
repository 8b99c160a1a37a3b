package api

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// Changes tells when a View may say something new; the controller does.
type Changes interface {
	// Changed gives a channel that is closed when a View could say something else
	// than one that was made after the call.
	Changed() <-chan struct{}
}

// row is one workload as it was at some moment. It never changes: a workload that
// is as before has the same row in the next snapshot, so that who compares two
// snapshots compares pointers, and all watchers share one encoding.
type row struct {
	object Object
	line   func() []byte // in JSON
}

func newRow(o Object) *row {
	return &row{object: o, line: sync.OnceValue(func() []byte {
		var b bytes.Buffer
		_ = newEncoder(&b).Encode(o) // nothing in an Object fails to encode
		return bytes.TrimSpace(b.Bytes())
	})}
}

// same says that a workload is as the row has it.
func (r *row) same(o *Object) bool {
	a, b := &r.object, o
	if (a.Spec == nil) != (b.Spec == nil) || (a.Status.Source == nil) != (b.Status.Source == nil) {
		return false
	}
	if a.Status.Source != nil && *a.Status.Source != *b.Status.Source {
		return false
	}
	if a.Spec != nil && a.Spec != b.Spec { // the pointer is the same until the file is read again
		x := spec.Object{APIVersion: a.APIVersion, Kind: a.Kind, Metadata: a.Metadata, Spec: *a.Spec}
		if !x.Equal(&spec.Object{APIVersion: b.APIVersion, Kind: b.Kind, Metadata: b.Metadata, Spec: *b.Spec}) {
			return false
		}
	}
	return controller.SameStatus(&a.Status.Status, &b.Status.Status)
}

// snapshot is all workloads at one moment, sorted by key.
type snapshot struct {
	rows []*row
	// stale is closed when the world has changed since.
	stale <-chan struct{}
}

// snapshots makes them, for all watchers together: one when the world has
// changed, after a rest, and only while somebody asks.
type snapshots struct {
	viewer  Viewer
	changes Changes
	// rest is the least pause between two looks; poll is after which time the world
	// is looked at although no change was announced.
	rest, poll time.Duration

	// turn is held by who looks; the others wait for what it sees.
	turn    chan struct{}
	known   map[spec.Key]*row
	current *snapshot
	made    time.Time
	next    time.Time // when the next look may begin

	mu    sync.Mutex
	users int
}

func newSnapshots(s Services, b bounds) *snapshots {
	return &snapshots{viewer: s.Viewer, changes: s.Changes, rest: b.look, poll: b.poll, turn: make(chan struct{}, 1)}
}

// latest gives a snapshot that was not stale when it was asked for.
func (s *snapshots) latest(ctx context.Context) (*snapshot, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.fresh() {
		return s.current, nil
	}
	if pause := time.Until(s.next); pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.look(ctx)
}

func (s *snapshots) fresh() bool {
	if s.current == nil || time.Since(s.made) >= s.poll {
		return false
	}
	select {
	case <-s.current.stale:
		return false
	default:
		return true
	}
}

// after waits until there may be a newer snapshot than the one given, and gives
// that.
func (s *snapshots) after(ctx context.Context, now *snapshot) (*snapshot, error) {
	poll := time.NewTimer(s.poll)
	defer poll.Stop()
	select {
	case <-now.stale:
	case <-poll.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.latest(ctx)
}

// restShare keeps the looks from taking more than a fifth of the time, and
// longestRest the pause from becoming long.
const (
	restShare   = 4
	longestRest = time.Second
)

// look makes a snapshot. What changes while it does makes it stale at once.
func (s *snapshots) look(ctx context.Context) (*snapshot, error) {
	began := time.Now()
	stale := s.changes.Changed()
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	v, err := s.viewer.View(ctx)
	if err != nil {
		return nil, err
	}
	next := &snapshot{rows: make([]*row, 0, len(v.Workloads)), stale: stale}
	known := make(map[spec.Key]*row, len(v.Workloads))
	for i := range v.Workloads {
		o := objectOf(&v.Workloads[i])
		r := s.known[o.Key()]
		if r == nil || !r.same(&o) {
			r = newRow(o)
		}
		known[o.Key()] = r
		next.rows = append(next.rows, r)
	}
	s.known, s.current, s.made = known, next, time.Now()
	s.next = s.made.Add(max(s.rest, min(restShare*s.made.Sub(began), longestRest)))
	return next, nil
}

// join counts a watcher; leave forgets everything with the last one.
func (s *snapshots) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

func (s *snapshots) leave() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if !last {
		return
	}
	select {
	case s.turn <- struct{}{}:
		s.known, s.current = nil, nil
		<-s.turn
	default: // somebody new looks already
	}
}
