package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// bridge is all that there is between the clients and the server.
type bridge struct {
	o        Options
	lim      limits
	log      io.Writer
	findings findings
	era      eraMemory
	door     door
	requests atomic.Int64  // of HTTP, being served
	bodies   atomic.Int64  // bytes of their bodies
	stopping chan struct{} // closed when streams have to end
	// listeners counts the streams of notifications of modern clients.
	listeners atomic.Int64
	// commonStart is held while common is made.
	commonStart sync.Mutex

	mu       sync.Mutex
	sessions map[string]*session
	keepers  map[*keeper]struct{}
	common   *keeper // that modern clients share with sharing PerSession; nil for none
	visits   int     // of modern clients that use common now
	visited  time.Time
	closed   bool
	restarts int
	last     *observe.BridgeEnd
	// With sharing PerSession: what came of the last start, and what the server has
	// said of itself then.
	rehearsed *spec.ServerInfo
	failure   error
	trying    bool // it is being tried again
}

// Run serves until ctx ends, and then stops in order: nothing that it has started is
// left when it returns. An *ExitError says that the server could not be started, and
// with which code to exit.
func Run(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen for clients: %w", err)
	}
	return newBridge(o, defaultLimits(), listener).run(ctx, listener)
}

func newBridge(o Options, lim limits, listener net.Listener) *bridge {
	b := &bridge{
		o: o, lim: lim, log: o.Stderr, stopping: make(chan struct{}),
		sessions: map[string]*session{}, keepers: map[*keeper]struct{}{},
	}
	b.era = eraMemory{file: o.Memory, b: b}
	b.era.load()
	b.door = b.newDoor(listener.Addr())
	return b
}

// run serves on the listener, which it closes.
func (b *bridge) run(ctx context.Context, listener net.Listener) error {
	failed := make(chan error, 1)
	b.begin(func(err error) { failed <- err })
	server := b.httpServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(limited(listener, b.lim.conns)) }()
	sweep, endSweep := context.WithCancel(context.Background())
	swept := make(chan struct{})
	go func() { defer close(swept); b.sweep(sweep) }()

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("cannot serve clients: %w", err)
	case err = <-failed:
		err = exitError(err)
	}
	endSweep()
	<-swept
	b.shutDown(server)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// begin starts the server that all share, or tries it once if each session gets its
// own. An error of that is handed on; nothing is otherwise.
func (b *bridge) begin(failed func(error)) {
	if b.o.Sharing != spec.SharingPerSession {
		k := b.keep(ownHello(), true, func(err error) {
			if err != nil {
				failed(err)
			}
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		b.common = k
		return
	}
	go func() {
		if err := b.rehearse(); err != nil {
			failed(err)
		}
	}()
}

// shutDown ends streams and servers, and then what is left of clients.
func (b *bridge) shutDown(server *http.Server) {
	b.mu.Lock()
	b.closed = true
	var keepers []*keeper
	for k := range b.keepers {
		keepers = append(keepers, k)
	}
	b.mu.Unlock()
	close(b.stopping)
	var all sync.WaitGroup
	for _, k := range keepers {
		all.Go(k.stop)
	}
	all.Wait()
	// Who waited for a server has its answer now, and a moment to take it.
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
}

// exitError makes of a failed start what the bridge exits with.
func exitError(err error) error {
	code := 1
	var failed *startError
	if errors.As(err, &failed) && failed.end != nil {
		code = failed.end.exitCode()
	}
	return &ExitError{Code: code, Reason: err.Error()}
}

func (b *bridge) addKeeperLocked(k *keeper) {
	b.keepers[k] = struct{}{}
	if b.closed {
		k.cancel() // it is too late for anything
	}
}

func (b *bridge) dropKeeper(k *keeper) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keepers, k)
	if b.common == k && b.o.Sharing == spec.SharingPerSession {
		b.common = nil
	}
}

// logf writes a line to the log.
func (b *bridge) logf(format string, args ...any) {
	fmt.Fprintf(b.log, "bridge: "+format+"\n", args...)
}

// newID makes the id of a session, which nobody can guess.
func newID() string { return rand.Text() }
