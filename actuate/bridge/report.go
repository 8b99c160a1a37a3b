package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

const (
	healthTimeout    = 5 * time.Second
	maxHealthTimeout = time.Minute
	toolsWait        = 2 * time.Second
	maxPages         = 64 // of a list of tools
	// firstRecount and lastRecount lie between two counts: some servers say that their
	// tools have changed whenever they are asked for them.
	firstRecount = 100 * time.Millisecond
	lastRecount  = time.Minute
)

// health answers a probe: 200 if the server answers, else 503, and what there is to
// say of it in either case.
func (b *bridge) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET")
		refuse(w, http.StatusMethodNotAllowed, nil, rpc.CodeInvalidRequest, "only GET is served here")
		return
	}
	timeout := healthTimeout
	if ms, err := strconv.Atoi(r.URL.Query().Get("timeout")); err == nil && ms > 0 {
		timeout = min(time.Duration(ms)*time.Millisecond, maxHealthTimeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	report := b.report()
	if report.Problem == "" && b.o.Sharing != spec.SharingPerSession {
		if n, err := b.ping(ctx); err != nil {
			report = b.report()
			report.Problem, report.Busy = err.Error(), n > 0
		}
	}
	status := http.StatusOK
	if report.Problem != "" {
		status = http.StatusServiceUnavailable
	}
	text, err := json.Marshal(report)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, status, text)
}

// ping asks the server that all share whether it answers, through its own pipe. If it
// does not, it may be for the requests that it works on.
func (b *bridge) ping(ctx context.Context) (working int, err error) {
	p, _, err := b.common.ready(ctx)
	if err != nil {
		return 0, err
	}
	method, params := methodPing, json.RawMessage(nil)
	if p.era == spec.EraModern {
		method, params = methodDiscover, b.common.hello.meta(nil, "")
	}
	began := time.Now()
	_, err = p.ask(ctx, method, params)
	if ctx.Err() != nil {
		err = fmt.Errorf("the server did not answer %s within %s", method, time.Since(began).Round(time.Millisecond))
		if working = p.working(b.lim.busy); working > 0 {
			err = fmt.Errorf("%w: it works on %s", err, times(working, "request"))
		}
		return working, err
	}
	var refused *rpc.Error
	if errors.As(err, &refused) && !p.isOver() {
		return 0, nil // even that it cannot do it is an answer
	}
	return 0, err
}

// report says how things are, without asking the server.
func (b *bridge) report() *observe.BridgeReport {
	b.mu.Lock()
	r := &observe.BridgeReport{Restarts: b.restarts, Last: b.last, Sessions: len(b.sessions), Findings: b.findings.list()}
	common, rehearsed, failure := b.common, b.rehearsed, b.failure
	keepers := make([]*keeper, 0, len(b.keepers))
	for k := range b.keepers {
		keepers = append(keepers, k)
	}
	b.mu.Unlock()
	serves := false
	for _, k := range keepers {
		if k.runs() {
			r.Servers++
		}
		serves = serves || k.serves()
	}
	if b.o.Sharing != spec.SharingPerSession {
		common.describe(r)
		return r
	}
	switch {
	case failure != nil:
		r.Problem, r.Busy = failure.Error(), serves
	case rehearsed == nil:
		r.Starting, r.Problem = true, "the server was started and has not answered yet"
	}
	if rehearsed != nil {
		r.Server, r.Era = rehearsed, rehearsed.Era
	}
	return r
}

// runs says whether a process of the server lives.
func (k *keeper) runs() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.proc != nil && k.proc.lives()
}

// serves says whether one answers its clients.
func (k *keeper) serves() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current != nil
}

func (p *process) lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// describe fills in what concerns the server that all share.
func (k *keeper) describe(r *observe.BridgeReport) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.profile != nil {
		r.Server, r.Era = k.profile.serverInfo(k.tools), k.profile.era
	}
	lives := k.proc != nil && k.proc.lives()
	if lives {
		r.PID = k.proc.os.Pid
	}
	switch {
	case k.current != nil:
	case lives && k.next.IsZero():
		r.Starting = true
		r.Problem = "the server was started and has not answered yet"
	default:
		r.NextStart = k.next
		r.Problem = "the server does not run"
		if k.trouble != nil {
			r.Problem = k.trouble.Error()
		}
	}
}

// ended notes the end of a server.
func (b *bridge) ended(proc *process, wanted bool) {
	<-proc.ended
	if wanted {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = &observe.BridgeEnd{
		ExitCode: proc.end.code, Signal: proc.end.signal, StartedAt: proc.started, FinishedAt: proc.end.at,
	}
}

func (b *bridge) restarted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restarts++
}

// learnTools counts the tools of a server that was started, so that the first report
// of it has them. It does not wait long for one that takes its time.
func (k *keeper) learnTools(ctx context.Context, p *peer, pr *profile) {
	done := make(chan struct{})
	c := &census{p: p, pr: pr}
	k.mu.Lock()
	k.census = c
	k.mu.Unlock()
	go k.count(c, sync.OnceFunc(func() { close(done) }))
	timer := time.NewTimer(toolsWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-p.over:
	case <-ctx.Done():
	}
}

// countTools counts the tools of a server for the report, and notes which arguments
// of them are repeated in headers.
func (k *keeper) countTools(ctx context.Context, p *peer, pr *profile) {
	mirrors := map[string][]mirror{}
	n, err := k.listTools(ctx, p, pr, mirrors)
	if err != nil {
		return // the report says what was known before
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tools, k.mirrors = n, mirrors
}

// census is the count of the tools of one server. What changes is guarded by the keeper.
type census struct {
	p     *peer
	pr    *profile
	stale bool // they have changed since the count was begun
	busy  bool
}

// recount counts again after a change. What changes before a server is counted for the
// first time needs none.
func (k *keeper) recount(p *peer) {
	k.mu.Lock()
	c := k.census
	k.mu.Unlock()
	if c != nil && c.p == p {
		go k.count(c, func() {})
	}
}

// count counts one at a time, and once more what has changed meanwhile. It calls counted
// after each time.
func (k *keeper) count(c *census, counted func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.stale = true; c.busy {
		return
	}
	c.busy = true
	for pause := firstRecount; c.stale; pause = min(2*pause, lastRecount) {
		c.stale = false
		k.mu.Unlock()
		k.countTools(context.Background(), c.p, c.pr)
		counted()
		k.mu.Lock()
		if c.stale {
			k.mu.Unlock()
			c.p.rest(pause)
			k.mu.Lock()
		}
	}
	c.busy = false
}

// rest waits for a time, or for the end of the server.
func (p *peer) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.over:
	}
}

func (k *keeper) listTools(ctx context.Context, p *peer, pr *profile, mirrors map[string][]mirror) (n int, err error) {
	if !pr.can("tools") {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.b.lim.own)
	defer cancel()
	var params json.RawMessage
	for range maxPages {
		if p.era == spec.EraModern {
			params = k.hello.meta(params, "")
		}
		result, err := p.ask(ctx, methodTools, params)
		if err != nil {
			return 0, err
		}
		for tool := range rpc.Items(rpc.Get(result, "tools")) {
			n++
			name, _ := rpc.Text(rpc.Get(tool, "name"))
			if found := mirrorsOf(rpc.Get(tool, "inputSchema"), nil); found != nil && len(mirrors) < maxMirrors {
				mirrors[name] = found
			}
		}
		cursor := rpc.Get(result, "nextCursor")
		if cursor == nil || string(cursor) == "null" {
			break
		}
		params = rpc.Set(nil, cursor, "cursor")
	}
	return n, nil
}

// rehearse starts the server once and stops it again, to know that it can be started
// and what it is.
func (b *bridge) rehearse() error {
	k, ctx := b.newKeeper(ownHello(), false)
	defer k.cancel()
	b.mu.Lock()
	b.addKeeperLocked(k)
	b.mu.Unlock()
	defer b.dropKeeper(k)
	defer close(k.done)
	p, pr, err := k.start(ctx, b.lim.greet)
	if err == nil {
		k.countTools(ctx, p, pr)
		p.proc.stop(b.o.Grace, b.o.StopSignal)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = err
	if err == nil {
		b.rehearsed = pr.serverInfo(k.tools)
	}
	return err
}
