package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// keeper keeps one server running for those who use it, its members: all sessions with
// sharing Shared, one session with PerSession. When the server dies it is started
// again, at once the first time and then with the back-off, and what the members had
// set up with it is set up again. It may be used by many goroutines.
type keeper struct {
	b     *bridge
	hello hello
	// several says that it serves clients that know nothing of each other.
	several bool
	topics  topics
	cancel  context.CancelFunc // ends keep
	done    chan struct{}      // closed when keep has ended and no process is left

	mu       sync.Mutex
	current  *peer    // nil while none answers
	profile  *profile // of the last greeting
	proc     *process // started last
	changed  chan struct{}
	next     time.Time // of the next start; zero unless it is waited for
	trouble  error     // why there is no current one
	crashes  int       // that count for the back-off
	members  map[member]struct{}
	level    string // that the server was set to, "" for never
	restored string // that one was set to when it was started
	tools    int
	mirrors  map[string][]mirror // of tools that have some
	census   *census
	early    []early
	closed   bool
}

// member is who uses a server: a session, or a stream of notifications.
type member interface {
	// event brings a notification that the member may be interested in. It must not
	// block.
	event(e *event)
	// logLevel is from which level on it wants log messages.
	logLevel() string
}

// keep starts a keeper. The first start is tried once: first hears how it went, and
// with an error nothing more is tried.
func (b *bridge) keep(h hello, several bool, first func(error)) *keeper {
	k, ctx := b.newKeeper(h, several)
	b.mu.Lock()
	b.addKeeperLocked(k)
	b.mu.Unlock()
	k.begin(ctx, first)
	return k
}

// keepOne is keep where that is one server more than maxSessions allows: then it gives
// an error. With common it becomes the one that modern clients share.
func (b *bridge) keepOne(h hello, common bool, first func(error)) (*keeper, error) {
	k, ctx := b.newKeeper(h, common)
	b.mu.Lock()
	err := b.roomLocked()
	if err == nil {
		b.addKeeperLocked(k)
	}
	if err == nil && common {
		b.common = k // before it can fail
	}
	b.mu.Unlock()
	if err != nil {
		k.cancel()
		return nil, err
	}
	k.begin(ctx, first)
	return k, nil
}

func (b *bridge) newKeeper(h hello, several bool) (*keeper, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{b: b, hello: h, several: several, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}), members: map[member]struct{}{}}
	k.topics.init(k)
	return k, ctx
}

func (k *keeper) begin(ctx context.Context, first func(error)) {
	go func() {
		defer close(k.done)
		defer k.b.dropKeeper(k)
		k.run(ctx, first)
	}()
}

// stop ends the keeper and its server; it returns when no process is left.
func (k *keeper) stop() {
	k.cancel()
	<-k.done
}

func (k *keeper) run(ctx context.Context, first func(error)) {
	deadline := k.b.lim.greet
	for ; ; k.b.restarted() {
		p, pr, err := k.start(ctx, deadline)
		if first != nil {
			first(err)
			if err != nil {
				k.fail(err, true)
				return
			}
			first, deadline = nil, k.b.lim.regreet
		}
		if err == nil {
			err = k.serve(ctx, p, pr)
		}
		if ctx.Err() != nil {
			k.fail(errStopping, true)
			return
		}
		pause := k.crashed(err)
		k.b.logf("%v: it is started again %s", err, inWords(pause))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			k.fail(errStopping, true)
			return
		}
	}
}

var errStopping = fmt.Errorf("the server is being stopped")

func inWords(pause time.Duration) string {
	if pause <= 0 {
		return "now"
	}
	return "in " + pause.Round(time.Millisecond).String()
}

// serve lets the members have a server, until it ends or ctx does, and clears it up.
func (k *keeper) serve(ctx context.Context, p *peer, pr *profile) error {
	k.restore(p, pr)
	k.learnTools(ctx, p, pr)
	k.publish(p, pr)
	grace := min(k.b.o.Grace, clearUp)
	select {
	case <-p.over:
	case <-ctx.Done():
		grace = k.b.o.Grace
	}
	if ctx.Err() != nil {
		k.fail(errStopping, true)
	} else {
		k.fail(p.epitaph(), false)
	}
	p.proc.stop(grace, k.b.o.StopSignal)
	<-p.over
	k.b.ended(p.proc, ctx.Err() != nil)
	return p.epitaph()
}

func (k *keeper) started(proc *process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.proc, k.next = proc, time.Time{}
}

func (k *keeper) publish(p *peer, pr *profile) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.level != k.restored { // by who came meanwhile
		k.restoreLevelLocked(p)
	}
	k.current, k.profile, k.trouble = p, pr, nil
	k.tellLocked()
}

// fail says why there is no server; for good if closed.
func (k *keeper) fail(why error, closed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current, k.trouble, k.closed = nil, why, k.closed || closed
	k.tellLocked()
}

func (k *keeper) tellLocked() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// crashed counts an end that nobody asked for, and gives the pause before the next
// start: none after the first one for a long time.
func (k *keeper) crashed(why error) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.b.o.Backoff
	if k.proc != nil && time.Since(k.proc.started) >= time.Duration(b.ResetAfter) && b.ResetAfter > 0 {
		k.crashes = 0
	}
	pause := delay(b, k.crashes)
	k.crashes++
	if k.trouble = why; pause > 0 {
		k.next = time.Now().Add(pause)
	}
	k.tellLocked()
	return pause
}

// ready gives the server that answers, and waits for one that is being started, but
// not for a back-off that is longer than the patience.
func (k *keeper) ready(ctx context.Context) (*peer, *profile, error) {
	ctx, cancel := context.WithTimeout(ctx, k.b.lim.patience)
	defer cancel()
	for {
		k.mu.Lock()
		p, pr, changed, why := k.current, k.profile, k.changed, k.unavailableLocked()
		k.mu.Unlock()
		if p != nil && !p.isOver() { // else it is about to be replaced
			return p, pr, nil
		}
		if why != nil {
			return nil, nil, why
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("the server is being started and has not answered yet")
		}
	}
}

// unavailableLocked says why waiting is no use.
func (k *keeper) unavailableLocked() error {
	if k.closed {
		return k.trouble
	}
	if wait := time.Until(k.next); !k.next.IsZero() && wait > k.b.lim.patience {
		return fmt.Errorf("%w: it is started again in %s", k.trouble, wait.Round(time.Second))
	}
	return nil
}
