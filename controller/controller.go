package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ErrStopped is the answer to a question after the loop has ended.
var ErrStopped = errors.New("the controller has stopped")

// Options are what a Controller is made of. All but Deaths, Instruments, Inherited,
// HandedOver, Notices and OnReady are required.
type Options struct {
	Owner    spec.Owner
	Source   Source
	Observer Observer
	Actuator Actuator
	// Prober is not asked by a controller that clears up, and may be nil there.
	Prober Prober
	// Deaths keeps dossiers; nil where none are to be made.
	Deaths Deaths
	// Instruments measure; nil where nothing is to be measured.
	Instruments Instruments
	// Events takes everything that happened, for people; Ledger takes what
	// Restore needs.
	Events, Ledger Journal
	// History is what a ledger has restored; the zero value if there is none.
	History History
	// Inherited are main processes of the history that are children of ours and are
	// watched already, or have ended in this moment: those of our former image, after
	// a handover.
	Inherited []observe.Ident
	// HandedOver says that the history comes from a handover: the ledger may have
	// been deleted since, and gets all of it anew.
	HandedOver bool
	// PID is that of the controller, for a View.
	PID int
	// Boot names this boot of the machine; idents of another are meaningless.
	Boot string
	// Reap makes the controller clear up and end; Source is not asked then.
	Reap *Reap
	Log  logr.Logger
	// Notices gives what a person should know of the surroundings: what the
	// journals and the host have to say. It is called for each View, by many
	// goroutines, and must not block. Nil for nothing.
	Notices func() []spec.Finding
	// OnReady is called once, from the loop, when the first scan and read are
	// done and the first plan has been handed out. It must not block.
	OnReady func()
}

// Controller runs the loop. Its methods may be called from any goroutine.
type Controller struct {
	Options
	outcomes  chan outcome
	shutdown  chan Shutdown
	questions chan chan<- answer
	demands   chan demand
	handovers chan *leaving
	ended     chan struct{}  // the loop has ended
	done      chan struct{}  // so has everything else
	running   sync.WaitGroup // the reporter, and what is done aside
	reporter  *reporter
	lately    lately
}

// New makes a controller; Run makes it go.
func New(o Options) *Controller {
	if o.OnReady == nil {
		o.OnReady = func() {}
	}
	if o.Reap != nil {
		o.Source = noSource{}
	}
	if o.Instruments == nil {
		o.Instruments = noInstruments{}
	}
	if o.Notices == nil {
		o.Notices = func() []spec.Finding { return nil }
	}
	c := &Controller{
		Options:   o,
		outcomes:  make(chan outcome, 4*maxInFlight),
		shutdown:  make(chan Shutdown, 2),
		questions: make(chan chan<- answer),
		demands:   make(chan demand),
		handovers: make(chan *leaving),
		ended:     make(chan struct{}),
		done:      make(chan struct{}),
		reporter:  newReporter(),
	}
	return c
}

// Run decides and acts until ctx is done, or Shutdown or Down is called, and until then
// what is to stop has stopped. The end of ctx is a graceful shutdown; where it has
// ended already nothing else is ever decided on. Run is called once.
func (c *Controller) Run(ctx context.Context) error {
	defer close(c.done)
	c.running.Go(func() { c.reporter.run(c.ended) })
	l := &loop{
		Controller: c,
		world:      World{History: c.Options.History.Clamped(time.Now()), Reap: c.Reap},
		mains:      map[observe.Ident]mainOf{},
		early:      map[observe.Ident]observe.Exit{},
		hooks:      hooks{cancel: map[spec.Instance]context.CancelCauseFunc{}},
	}
	l.inherit()
	if c.Reap != nil {
		l.clearUp()
	}
	l.run(ctx)
	l.answerDemands()
	l.nameKept()
	close(c.ended)
	c.reporter.changes.announce()
	if l.inFlight == 0 { // else something hangs, and has been named
		c.running.Wait()
	}
	return nil
}

// Shutdown ends the controller: gracefully, or, if now is set, by killing what
// is to stop. It does not wait; Done tells.
func (c *Controller) Shutdown(now bool) {
	s := ShutdownGraceful
	if now {
		s = ShutdownNow
	}
	select {
	case c.shutdown <- s:
	default: // two are waiting already
	}
}

// Done is closed when Run has returned.
func (c *Controller) Done() <-chan struct{} { return c.done }
