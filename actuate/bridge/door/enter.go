package door

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// link is a way to one server, until it is lost. It may be used by many goroutines.
type link interface {
	// call sends a request. It returns nil once x has taken the answer. The error is a
	// *lostError where the server, or the session, is not there any more, and a
	// *refusedError where the server does not want it.
	call(ctx context.Context, x *exchange) error
	// post sends a message that has no answer. Errors are as those of call.
	post(ctx context.Context, m rpc.Message) error
	// follow takes what the server says by itself, until the end of the link.
	follow()
	// leave tells the server that the session has ended.
	leave()
	// close ends what is under way.
	close()
}

// exchange is a request and what comes for it.
type exchange struct {
	m        rpc.Message
	revision string // of the modern era
	// sent is called once it was written.
	sent func()
	// take is called with what comes, by one goroutine at a time, and says whether it
	// was the answer.
	take func(rpc.Message) bool
}

// ways is how the server is reached.
type ways struct {
	looking sync.Mutex // held while the endpoint is looked up

	mu      sync.Mutex
	at      Endpoint // of link
	link    link     // nil where there is none
	opening *opening // nil where none is under way
	// since is when the server was lost, failures how often it was not found since
	// then, and fault why.
	since    time.Time
	failures int
	fault    error
	said     string        // what was logged last of it
	lost     chan struct{} // of size one: the server was lost
}

// opening is the search for a way that is under way.
type opening struct {
	done chan struct{}
	link link
	err  error
}

const (
	// firstPause and lastPause lie between two looks for a server that is away.
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
	// seekPause lies between them when nobody waits for it any more.
	seekPause = 5 * time.Second
)

// enter gives the way to the server. It waits for a server that is on its way, for as
// long as Options.Patience since it was lost.
func (d *door) enter(ctx context.Context) (link, error) {
	d.mu.Lock()
	if d.link != nil {
		defer d.mu.Unlock()
		return d.link, nil
	}
	o := d.opening
	if o == nil {
		o = &opening{done: make(chan struct{})}
		d.opening = o
		d.work.Go(func() { d.open(o) })
	}
	d.mu.Unlock()
	select {
	case <-o.done:
		return o.link, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open finds a way for all who wait for one.
func (d *door) open(o *opening) {
	var at Endpoint
	for {
		if o.err = d.pause(); o.err != nil {
			break
		}
		at, o.link, o.err = d.reach()
		if o.err == nil || !d.failed(o.err) {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opening, d.at, d.link = nil, at, o.link
	close(o.done)
}

// pause waits for as long as it failed often.
func (d *door) pause() error {
	d.mu.Lock()
	n, overdue := d.failures, d.overdueLocked()
	d.mu.Unlock()
	if n == 0 || overdue {
		return d.life.Err()
	}
	select {
	case <-time.After(min(firstPause<<min(n-1, 10), lastPause)):
	case <-d.life.Done():
	}
	return d.life.Err()
}

// reach looks for the server, and tells it what the client has told a former one.
func (d *door) reach() (Endpoint, link, error) {
	at, err := d.lookup(d.life)
	if err != nil {
		return at, nil, err
	}
	way, err := d.connect(at)
	if err != nil {
		return at, nil, err
	}
	if err := d.retell(way); err != nil {
		way.close()
		return at, nil, err
	}
	return at, way, nil
}

// lookup asks where the server is.
func (d *door) lookup(ctx context.Context) (Endpoint, error) {
	d.looking.Lock()
	defer d.looking.Unlock()
	return d.o.Endpoint(ctx)
}

func (d *door) connect(at Endpoint) (link, error) {
	if at.SSE {
		return openSSE(d, at)
	}
	return newStreamable(d, at), nil
}

// failed notes that the server was not found, and says whether to try again at once.
func (d *door) failed(err error) (again bool) {
	_, lost := isLost(err)
	var coming *Coming
	wait := lost || errors.As(err, &coming)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteFaultLocked(err)
	if wait && !d.overdueLocked() {
		d.tellLocked("%v; waiting for it", err)
		return true
	}
	d.tellLocked("%v", err)
	return false
}

// lose takes a way out of use. It says whether it is worth while to look for another
// one; the server has been away for too long otherwise.
func (d *door) lose(way link, err error) (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link == way {
		d.link = nil
		d.noteFaultLocked(err)
		d.tellLocked("%v; looking for it", err)
		way.close()
		for _, id := range d.asked.forget(way) {
			d.work.Go(func() { d.out.write(revoked(id)) })
		}
		select {
		case d.lost <- struct{}{}:
		default:
		}
	}
	return !d.overdueLocked() && d.life.Err() == nil
}

// revoked tells the client that a request of the server needs no answer any more.
func revoked(id []byte) rpc.Message {
	return rpc.Message{
		Method: methodCancelled,
		Params: fmt.Appendf(nil, `{"requestId":%s,"reason":"the server was replaced"}`, id),
	}
}

func (d *door) noteFaultLocked(err error) {
	if d.failures == 0 {
		d.since = time.Now()
	}
	d.failures++
	d.fault = err
}

func (d *door) overdueLocked() bool {
	return d.failures > 0 && time.Since(d.since) > d.o.Patience
}

// reached notes that the server has answered.
func (d *door) reached(at Endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failures == 0 {
		return
	}
	d.failures, d.fault = 0, nil
	if d.said != "" {
		d.said = ""
		d.log.say("the server answers at %s", at.URL)
	}
}

// tellLocked logs a line, unless it was the last one.
func (d *door) tellLocked(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); line != d.said && d.life.Err() == nil {
		d.said = line
		d.log.say("%s", line)
	}
}

// seek finds the server at the start and whenever it was lost, although nobody waits
// for it: to say what is wrong, and to hear what the server says by itself.
func (d *door) seek() {
	for {
		if _, err := d.enter(d.life); err == nil {
			select {
			case <-d.lost:
				continue
			case <-d.life.Done():
				return
			}
		}
		select {
		case <-time.After(seekPause):
		case <-d.life.Done():
			return
		}
	}
}

// leave ends the session.
func (d *door) leave() {
	d.mu.Lock()
	way := d.link
	d.mu.Unlock()
	if way != nil {
		way.leave()
		way.close()
	}
}
