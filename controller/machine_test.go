package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// machine stands in for the other rooms in a test of the loop: a process table
// in memory whose every answer takes its time, so that what the loop is told is
// always a little old. It keeps book of what must never happen.
type machine struct {
	rand  *rand.Rand
	sets  chan *spec.Set
	exits chan observe.Exit

	mu      sync.Mutex
	set     *spec.Set
	setAt   time.Time // when it was published
	procs   map[observe.Ident]*simulated
	pid     int
	failing bool // scans fail
	unready bool // starts fail
	full    bool // files cannot be written
	configs map[spec.Key][]spec.ServerEndpoint
	bounds  map[spec.Key]spec.LogBounds
	lostAt  time.Time // when somebody deleted one of them
	faults  []string
	did     []string // what was done since the last call of done

	dismissed []spec.Key
}

// simulated is a process of the machine.
type simulated struct {
	observe.Ident
	key      spec.Key
	id       spec.Instance
	hash     spec.Hash
	onExit   spec.OnControllerExit
	main     bool
	deaf     bool // ignores the stop signal
	veiled   bool // cannot be told: its verdict is not Ours
	lastMain observe.Ident
	began    time.Time
}

func newMachine(seed uint64) *machine {
	return &machine{
		rand: rand.New(rand.NewPCG(seed, 1)), sets: make(chan *spec.Set, 1),
		exits: make(chan observe.Exit, 4096), procs: map[observe.Ident]*simulated{}, pid: 100, configs: map[spec.Key][]spec.ServerEndpoint{},
		bounds: map[spec.Key]spec.LogBounds{},
	}
}

func (m *machine) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// pause lets some time pass, as every real answer does.
func (m *machine) pause() {
	m.mu.Lock()
	d := time.Duration(m.rand.IntN(20)) * time.Millisecond
	m.mu.Unlock()
	<-time.After(d)
}

// publish makes a set the newest.
func (m *machine) publish(s *spec.Set) {
	m.mu.Lock()
	m.set, m.setAt = s, time.Now()
	m.mu.Unlock()
	for {
		select {
		case m.sets <- s:
			return
		case <-m.sets:
		}
	}
}

func (m *machine) Sets() <-chan *spec.Set { return m.sets }

// spawn adds a process.
func (m *machine) spawn(p simulated) *simulated {
	m.pid++
	p.Ident = observe.Ident{PID: m.pid, Start: uint64(m.pid)}
	p.began = time.Now()
	if p.main {
		p.lastMain = p.Ident
	}
	m.procs[p.Ident] = &p
	return &p
}

func (m *machine) Start(e *spec.Entry, token string, _ spec.PortMap) (*observe.Instance, error) {
	m.pause()
	m.mu.Lock()
	defer m.pauseUnlocked()
	m.did = append(m.did, "start "+e.Key.String())
	if m.unready {
		return nil, errTest
	}
	most := max(1, replicas(e, nil))
	if now := m.set.Lookup(e.Key); now != nil { // an older start may be the later one to run
		most = max(most, replicas(now, nil))
	}
	if live := m.mains(e.Key); live >= most+count(isBlueGreen(e)) {
		m.fault("%v was started although %d of %d run", e.Key, live, most)
	}
	// That it was deleted is noticed by a resync.
	if m.configs[e.Key] == nil && len(e.Object.Spec.MCPServers) > 0 && time.Since(m.lostAt) > 2*resyncEvery {
		m.fault("%v was started without the file that tells it of its servers", e.Key)
	}
	p := m.spawn(simulated{
		key: e.Key, hash: e.Hash, main: true, onExit: e.Object.Spec.OnControllerExit,
		id: spec.NewInstance(token, uint64(m.pid+1)), deaf: m.rand.IntN(4) == 0,
	})
	if m.rand.IntN(2) == 0 {
		m.spawn(simulated{key: p.key, id: p.id, hash: p.hash, onExit: p.onExit, lastMain: p.Ident, deaf: m.rand.IntN(4) == 0})
	}
	return m.instance(p), nil
}

func (m *machine) pauseUnlocked() {
	m.mu.Unlock()
	m.pause()
}

func (m *machine) mains(k spec.Key) (n int) {
	for _, p := range m.procs {
		if p.main && p.key == k {
			n++
		}
	}
	return n
}

func (m *machine) instance(p *simulated) *observe.Instance {
	in := &observe.Instance{
		Key: p.key, ID: p.id, Hash: p.hash, OnExit: p.onExit, LastMain: p.lastMain, StartedAt: p.began,
		Ports: portsOf(p.lastMain),
	}
	if p.main {
		in.Main = &observe.Process{Ident: p.Ident, State: 'S', Threads: 1, Verdict: observe.Ours}
	}
	return in
}

// end ends a process; the end of a main process is told.
func (m *machine) end(p *simulated, code, signal int) {
	if m.procs[p.Ident] == nil {
		return
	}
	delete(m.procs, p.Ident)
	if p.main {
		m.exits <- observe.Exit{Ident: p.Ident, Known: true, Code: code, Signal: signal, At: time.Now()}
	}
}

func (m *machine) Signal(in *observe.Instance, sig int, _ spec.KillMode) ([]observe.Sent, error) {
	m.pause()
	m.mu.Lock()
	defer m.pauseUnlocked()
	m.did = append(m.did, "signal "+in.Key.String())
	// A signal may have been on its way when the set came.
	settled := time.Since(m.setAt) > 100*time.Millisecond
	if proven, why, _ := m.set.Absence(in.Key, time.Now()); !proven && settled && m.set.Lookup(in.Key) == nil {
		m.fault("%v was signalled although %s", in.Key, why)
	}
	for _, p := range in.Members {
		if p.Verdict != observe.Ours {
			m.fault("%v was to be signalled, whose verdict is %v", p.Ident, p.Verdict)
		}
	}
	var sent []observe.Sent
	for _, p := range m.procs {
		if p.id == in.ID && !p.veiled && (sig == sigKill || !p.deaf) {
			m.end(p, 0, sig)
			sent = append(sent, observe.Sent{Target: p.Ident, Signal: sig})
		}
	}
	return sent, nil
}

func (m *machine) Scan(_ context.Context, _ []observe.Witness, _ observe.Depth) observe.Snapshot {
	m.mu.Lock()
	defer m.pauseUnlocked()
	return m.scan()
}

// scan is what the process table shows at this moment.
func (m *machine) scan() observe.Snapshot {
	if m.failing {
		return observe.Snapshot{Err: errTest}
	}
	s := observe.Snapshot{Complete: true, Began: time.Now()}
	for _, p := range m.procs {
		i := slices.IndexFunc(s.Instances, func(in *observe.Instance) bool { return in.ID == p.id })
		if i < 0 {
			s.Instances = append(s.Instances, m.instance(p))
			i = len(s.Instances) - 1
		}
		in := s.Instances[i]
		switch {
		case p.main:
			in.Main = &observe.Process{Ident: p.Ident, State: 'S', Threads: 1, Verdict: observe.Ours}
		case p.veiled:
			in.Doubtful = append(in.Doubtful, &observe.Process{Ident: p.Ident, State: 'S', Threads: 1, Verdict: observe.CannotTell})
		default:
			in.Members = append(in.Members, &observe.Process{Ident: p.Ident, State: 'S', Threads: 1, Verdict: observe.Ours})
		}
	}
	slices.SortFunc(s.Instances, func(a, b *observe.Instance) int {
		if c := a.Key.Compare(b.Key); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return s
}

func (m *machine) Listeners([]uint16, []observe.Ident) (map[uint16]observe.Listener, error) {
	return nil, nil
}

func (m *machine) Resolve(*spec.Entry) error { m.pause(); return nil }

func (m *machine) Watch(id observe.Ident) error {
	m.pause()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.procs[id] == nil {
		return errTest
	}
	return nil
}

func (m *machine) Exits() <-chan observe.Exit { return m.exits }

func (m *machine) Forget(in *observe.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.procs {
		if p.id == in.ID {
			m.fault("%v was forgotten although %v runs", in.ID, p.Ident)
		}
	}
}

// portsOf are those of an instance: each has another one.
func portsOf(main observe.Ident) spec.PortMap {
	return spec.PortMap{{Name: "http", Port: 10_000 + uint16(main.PID)}}
}

func (m *machine) Publish(e *spec.Entry, servers []spec.ServerEndpoint) (spec.MCPConfigFile, error) {
	m.pause()
	m.mu.Lock()
	defer m.pauseUnlocked()
	if m.full {
		return spec.MCPConfigFile{}, errTest
	}
	servers = spec.WithKnown(servers, spec.EncodeMCPConfig(m.configs[e.Key], nil))
	written := !slices.Equal(m.configs[e.Key], servers)
	if written {
		m.did = append(m.did, "publish "+e.Key.String())
	}
	m.configs[e.Key] = servers
	return spec.MCPConfigFile{Path: e.Key.Name + ".json", Servers: servers, Written: written}, nil
}

func (m *machine) Withdraw(k spec.Key) error {
	m.pause()
	m.mu.Lock()
	defer m.pauseUnlocked()
	if m.full {
		return errTest
	}
	if proven, why, _ := m.set.Absence(k, time.Now()); !proven && time.Since(m.setAt) > 100*time.Millisecond && m.set.Lookup(k) == nil {
		m.fault("the file of %v was removed although %s", k, why)
	}
	if m.mains(k) > 0 {
		m.fault("the file of %v was removed although it runs", k)
	}
	m.did = append(m.did, "withdraw "+k.String())
	delete(m.configs, k)
	return nil
}

func (m *machine) Dismiss(k spec.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dismissed = append(m.dismissed, k)
}

func (m *machine) Published() []spec.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Keys(m.configs), spec.Key.Compare)
}

func (m *machine) BoundLogs(bounds map[spec.Key]spec.LogBounds, _ bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.bounds, bounds)
}

func (m *machine) LastLines(string) []string { return nil }

func (m *machine) EnvNames(*spec.Entry) []string { return nil }

// discard is a journal that keeps nothing.
type discard struct{}

func (discard) Append(any) {}

// controller is a controller of this machine that, unless changed, remembers
// nothing.
func (m *machine) controller(change ...func(*Options)) *Controller {
	o := Options{
		Owner: "test", Source: m, Observer: m, Actuator: m, Prober: newAsked(m), Events: discard{}, Ledger: discard{},
		Boot: "boot", Log: logr.Discard(),
	}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

// lives has a process run before the controller begins: what came later would be
// somebody else's doing, and a twin of what the controller may have started.
func lives(p simulated) func(*Options) {
	return func(o *Options) { o.Actuator.(*machine).spawn(p) }
}

// done gives what was done since it was last called.
func (m *machine) done() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.did
	m.did = nil
	return d
}
