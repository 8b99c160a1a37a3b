package door

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// Endpoint is where a server is spoken to.
type Endpoint struct {
	URL string
	// Token is what the header Authorization bears; empty for none.
	Token string
	// SSE says that it is HTTP+SSE of 2024-11-05, and not Streamable HTTP.
	SSE bool
}

// Coming is an error of Options.Endpoint that passes by itself: the server is on its
// way. It is asked for again until Options.Patience is over.
type Coming struct{ Cause error }

func (c *Coming) Error() string { return c.Cause.Error() }

// Unwrap gives the cause.
func (c *Coming) Unwrap() error { return c.Cause }

// Options are what a door is between.
type Options struct {
	// Endpoint says where the server is now. It is called at the start and whenever
	// the server was lost, by one goroutine at a time. Its errors are shown to the
	// client, and to Log; one that is a *Coming is waited out.
	Endpoint func(context.Context) (Endpoint, error)
	// In is read until its end, Out is written to, a message a line.
	In  io.Reader
	Out io.Writer
	// Log takes a line for a person. It is called by one goroutine at a time; lines
	// are dropped while it takes none.
	Log func(format string, args ...any)
	// Patience is how long a server that is away is waited for; 0 for 30 s. It is also
	// how long requests that are under way at the end of In may take.
	Patience time.Duration
}

const (
	// patience is the default of Options.Patience.
	patience = 30 * time.Second
	// maxMessage bounds a message, in bytes.
	maxMessage = 32 << 20
	// farewell bounds the end of a session.
	farewell = time.Second
)

// door is one run of Run.
type door struct {
	o    Options
	http *http.Client
	out  *outlet
	log  *logbook
	// life ends what is under way.
	life context.Context
	work sync.WaitGroup

	calls  calls
	outbox outbox
	asked  asked
	memory memory
	params paramHeaders
	lastID atomic.Int64 // of requests that are the door's own

	ways // the way to the server
}

// Run is a door until In ends and what was asked before is answered, or until ctx is
// done. Then the session is ended, if there is one. A client that reads no more ends
// it, too. The error is that of reading In. The goroutine that reads In, and one that
// is stuck in writing to Out, may be left.
func Run(ctx context.Context, o Options) error {
	if o.Patience == 0 {
		o.Patience = patience
	}
	life, end := context.WithCancel(ctx)
	defer end()
	d := &door{o: o, life: life, out: newOutlet(o.Out, end), log: openLogbook(o.Log), http: newClient()}
	defer d.log.close()
	d.calls.init()
	d.outbox.init()
	d.asked.init()
	d.ways.lost = make(chan struct{}, 1)
	d.work.Go(d.send)
	d.work.Go(d.seek)
	input := make(chan error, 1)
	go func() { input <- d.read(o.In) }()
	var err error
	select {
	case err = <-input:
		d.drain()
	case <-life.Done():
	}
	d.calls.close() // what waits for its turn is not begun any more
	end()
	d.leave()
	d.finish()
	return err
}

// drain waits until the client has its answers, and the server what the client said.
func (d *door) drain() {
	limit := time.NewTimer(d.o.Patience)
	defer limit.Stop()
	d.calls.endStreams()
	for _, idle := range []<-chan struct{}{d.outbox.close(), d.calls.idle()} {
		select {
		case <-idle:
		case <-limit.C:
			d.log.say("standard input has ended; what is not answered after %v is given up", d.o.Patience)
			return
		case <-d.life.Done():
			return
		}
	}
}

// finish waits for the goroutines, unless one is stuck in writing.
func (d *door) finish() {
	d.http.CloseIdleConnections()
	done := make(chan struct{})
	go func() { d.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(farewell):
	}
}

// ownID is the id of a request of the door's own.
func (d *door) ownID() []byte {
	return append(append([]byte(`"door-`), rpc.NumberID(d.lastID.Add(1))...), '"')
}
