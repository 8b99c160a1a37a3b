package controller

import (
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// World is everything that a decision rests on. It is a value: nothing in it
// changes after it was put together, so it can be handed to other goroutines.
type World struct {
	Desired  spec.Set
	Observed observe.Snapshot
	History  History
	Shutdown Shutdown
	// Down says of a shutdown that it leaves nothing running.
	Down bool
	// Reap is set for a controller that only clears up; nil for one that runs.
	Reap *Reap
	Now  time.Time
}

// Shutdown says whether the controller is on its way out.
type Shutdown uint8

// The ways out: workloads with onControllerExit Stop get their stop signal and
// their grace period, or are killed at once. With World.Down all others do, too.
const (
	NotShuttingDown Shutdown = iota
	ShutdownGraceful
	ShutdownNow
)

// Plan is what to do now, when to look again without further news, and why.
type Plan struct {
	// Actions are sorted by key, then instance. At most one of those that act
	// concerns an instance.
	Actions []Action
	// WakeAt is the earliest time at which the same inputs would give another
	// plan; zero if only news can change it.
	WakeAt time.Time
	// Why says for each key that is not simply as wanted what it waits for or
	// what is done with it.
	Why map[spec.Key]Reason
	// Blocked is set when nothing at all could be decided (row 1).
	Blocked Reason
}

// moving says that the plan changes something, or waits for something.
func (p *Plan) moving() bool {
	return len(p.Why) > 0 || slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Type != Probe && a.Type != Praise })
}

// Reason is why a key is where it is: the constant for programs, a detail for a
// person, and the time that it waits for, if there is one.
type Reason struct {
	Reason spec.Reason
	Detail string
	Until  time.Time
}

// ActionType is what an action does.
type ActionType uint8

// The actions. Look, Listen and Probe only read; the first two have no key.
const (
	// Start spawns one instance of Entry.
	Start ActionType = iota
	// Stop sends the stop signal to every member of Instance.
	Stop
	// Kill sends SIGKILL to every member of Instance.
	Kill
	// Resolve checks that the program of Entry could be started.
	Resolve
	// Look reads what is new in the process table, to prove that nothing of an
	// ended instance is left.
	Look
	// Listen reads who listens on Ports.
	Listen
	// Probe makes one attempt at the probe Kind of Instance.
	Probe
	// Note takes Event into the history: what was decided, and has to be
	// remembered.
	Note
	// Publish tells the agent Entry where its Servers are, or removes what told it
	// so, where there are none.
	Publish
	// PreStop begins the stop of Instance with the hook of Entry.
	PreStop
	// Praise writes down what the run of Instance is made of: it goes well.
	Praise
)

func (t ActionType) String() string {
	return [...]string{"Start", "Stop", "Kill", "Resolve", "Look", "Listen", "Probe", "Note", "Publish", "PreStop", "Praise"}[t]
}

// stops says that an action is a step of a stop.
func (a *Action) stops() bool { return a.Type == Stop || a.Type == Kill || a.Type == PreStop }

// Action is one thing to do. It is data; the loop hands it to the room that can.
type Action struct {
	Type     ActionType
	Key      spec.Key
	Entry    *spec.Entry           // Start, Resolve, Probe, Publish, PreStop, Praise
	Instance *observe.Instance     // Stop, Kill, Probe, PreStop, Praise
	Signal   int                   // Stop, Kill
	Policy   StopPolicy            // Stop, Kill, PreStop
	Ports    []uint16              // Listen, sorted
	Kind     ProbeKind             // Probe
	Beside   bool                  // Start: beside the instance that it is to replace
	Event    Event                 // Note
	Servers  []spec.ServerEndpoint // Publish
	Token    string                // Start; given by the loop when it is handed out
	Prefer   spec.PortMap          // Start; likewise
	Reason   spec.Reason
}
