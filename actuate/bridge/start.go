package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// startError says why a server could not be started.
type startError struct {
	end    *ending // nil if it did not end by itself
	reason string  // one line
	// client says that the server is well, as far as is known: it has refused what its
	// client said, or nobody waited for it any more.
	client bool
	// refused is what the server has answered to being greeted; nil if it did not.
	refused *rpc.Error
}

func (e *startError) Error() string { return "the server did not start: " + e.reason }

// start starts a process of the server and greets it, in the era that it is known to
// speak or else in both, one after the other.
func (k *keeper) start(ctx context.Context, deadline time.Duration) (*peer, *profile, error) {
	eras := k.b.era.order(k.b.o.Protocol)
	for i, era := range eras {
		if ctx.Err() != nil {
			return nil, nil, &startError{reason: errStopping.Error(), client: true}
		}
		p, pr, err := k.startIn(ctx, deadline, era, eras[i+1:])
		var failed *startError
		if err == nil || ctx.Err() != nil || !errors.As(err, &failed) || !k.b.era.doubt(era) {
			return p, pr, err
		}
		// It was remembered wrongly: some servers of the other era stay silent or end.
		k.b.logf("the server did not answer in the %s era, as it did before: %s", era, failed.reason)
	}
	return nil, nil, &startError{reason: "it answers in neither era of MCP"}
}

// startIn starts a process and greets it in an era, and in the rest of them if it
// refuses that one: then the same process can be asked again.
func (k *keeper) startIn(ctx context.Context, deadline time.Duration, era spec.Era, rest []spec.Era) (*peer, *profile, error) {
	proc, err := startProcess(k.b.o.Command, k.b.o.Stderr)
	if err != nil {
		return nil, nil, &startError{end: &ending{code: 127}, reason: err.Error()}
	}
	k.started(proc)
	p := converse(proc, k, &k.b.findings, k.b.log, k.b.lim)
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	pr, err := greet(ctx, p, k.hello, era)
	var refused *refusedError
	if errors.As(err, &refused) && len(rest) > 0 {
		first := refused
		if pr, err = k.greetAlso(ctx, p, rest[0]); err != nil {
			refused = first.orRather(err)
			err = fmt.Errorf("%w; and %w", first, err)
		}
	}
	if err == nil {
		p.era = pr.era
		k.b.era.learned(pr.era)
		return p, pr, nil
	}
	failed := &startError{reason: err.Error(), client: refused != nil && !k.hello.own || errors.Is(err, context.Canceled)}
	if refused != nil {
		failed.refused = refused.err
	}
	if errors.Is(err, context.Canceled) {
		failed.reason = errStopping.Error()
	}
	select {
	case <-proc.ended:
		// A server that has refused a client may end of the greeting that came after.
		failed.end, failed.client = &proc.end, errors.Is(err, context.Canceled) || refused != nil && refused.method == methodInitialize && !k.hello.own
		failed.reason = fmt.Sprintf("%s (%s)", err, proc.end)
	default:
	}
	proc.stop(min(k.b.o.Grace, clearUp), k.b.o.StopSignal)
	return nil, nil, failed
}

// greetAlso greets a server in an era after it has refused the other. It has shown that
// it answers, and whoever was refused waits for the outcome.
func (k *keeper) greetAlso(ctx context.Context, p *peer, era spec.Era) (*profile, error) {
	ctx, cancel := context.WithTimeout(ctx, k.b.lim.own)
	defer cancel()
	return greet(ctx, p, k.hello, era)
}

// orRather gives what is to be told of two refusals, of which next is the second if it
// is one at all: that of initialize, which a client of a session has asked for, unless
// it says no more than that there is no such method.
func (e *refusedError) orRather(next error) *refusedError {
	var second *refusedError
	if errors.As(next, &second) && second.method == methodInitialize && second.err.Code != rpc.CodeMethodNotFound {
		return second
	}
	return e
}

// clearUp is how long what a server leaves behind has to end.
const clearUp = 5 * time.Second

// eraMemory is which era the server speaks, as far as it is known. It is kept in a
// file, so that the next bridge opens with the right one.
type eraMemory struct {
	file string
	b    *bridge
	// guarded by b.mu
	known    spec.Era
	believed bool // it was read from the file, and has not been seen since
}

func (m *eraMemory) load() {
	if m.file == "" {
		return
	}
	text, err := os.ReadFile(m.file)
	if err != nil {
		return // it is a hint: without it both are tried
	}
	switch era := spec.Era(strings.TrimSpace(string(text))); era {
	case spec.EraLegacy, spec.EraModern:
		m.known, m.believed = era, true
	}
}

// order gives the eras to try. Legacy comes first: a server of that era may end, or
// say nothing, if it hears a request of the other, while one of the modern era
// refuses initialize.
func (m *eraMemory) order(p spec.Protocol) []spec.Era {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	switch {
	case p == spec.ProtocolLegacy:
		return []spec.Era{spec.EraLegacy}
	case p == spec.ProtocolModern:
		return []spec.Era{spec.EraModern}
	case m.known == spec.EraModern:
		return []spec.Era{spec.EraModern, spec.EraLegacy}
	}
	return []spec.Era{spec.EraLegacy, spec.EraModern}
}

// doubt forgets the modern era if it was only remembered, and says whether it did. A
// server of the legacy era needs no doubt: it would have refused what it does not know.
func (m *eraMemory) doubt(era spec.Era) bool {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if era != spec.EraModern || !m.believed || m.known != era {
		return false
	}
	m.known, m.believed = "", false
	return true
}

func (m *eraMemory) learned(era spec.Era) {
	m.b.mu.Lock()
	fresh := m.known != era
	m.known, m.believed = era, false
	m.b.mu.Unlock()
	if !fresh || m.file == "" {
		return
	}
	temp := m.file + ".new"
	err := os.MkdirAll(filepath.Dir(m.file), 0o700)
	if err == nil {
		err = os.WriteFile(temp, []byte(era+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(temp, m.file)
	}
	if err != nil {
		m.b.logf("cannot remember the era of the server: %v", err)
	}
}
