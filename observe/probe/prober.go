package probe

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ExecFunc runs a command in the surroundings of an instance and waits for its
// end, or ends it when ctx does. Nil is exit code 0; the error says what else it
// was, with the last line of the output.
type ExecFunc func(ctx context.Context, e *spec.Entry, in *observe.Instance, argv []string) error

// Options are what a Prober is made of.
type Options struct {
	// Exec runs the commands of exec probes and hooks. Without it they fail.
	Exec ExecFunc
}

// Prober makes attempts, and keeps what lies between two of them. It implements
// the controller's interface of the same name. Its methods may be called from
// many goroutines. At rest it holds no goroutine, timer or connection.
type Prober struct {
	exec ExecFunc
	eras eraMemory

	mu      sync.Mutex
	servers map[spec.Instance][]*server
	pending sync.WaitGroup
}

// New makes a Prober.
func New(o Options) *Prober {
	return &Prober{exec: o.Exec, servers: map[spec.Instance][]*server{}}
}

// Probe makes one attempt, and is back when ctx ends at the latest. With a failure
// comes what a bridge has reported.
func (p *Prober) Probe(ctx context.Context, q observe.Question) (observe.Answer, error) {
	var answer observe.Answer
	probe, err := p.probeOf(q, &answer)
	if err == nil {
		err = probe(withAllowance(ctx))
	}
	if err != nil {
		return observe.Answer{Bridge: answer.Bridge}, err
	}
	if !q.Verify {
		answer.Card = nil
	}
	return answer, nil
}

// probeOf gives the attempt that is asked for.
func (p *Prober) probeOf(q observe.Question, answer *observe.Answer) (Func, error) {
	h, in := q.Probe, q.Instance
	switch {
	case h.Exec != nil:
		return Exec(p.exec, q.Entry, in, h.Exec.Command), nil
	case h.HTTPGet != nil:
		return httpGet(in, h.HTTPGet)
	case h.TCPSocket != nil:
		address, err := addressOf(in, h.TCPSocket.Host, h.TCPSocket.Port)
		return TCPSocket(address), err
	case h.MCP.IsStdio():
		b, err := bridgeOf(q)
		return Bridge(b, q.Verify, answer), err
	case h.MCP != nil:
		address, err := addressOf(in, "", h.MCP.Port)
		if err != nil {
			return nil, err
		}
		return MCP(p.server(q, urlOf(spec.SchemeHTTP, address, h.MCP.Path)), q.Verify, answer), nil
	case h.A2A != nil:
		address, err := addressOf(in, "", h.A2A.Port)
		return A2A("http://"+address, h.A2A.Path, answer), err
	}
	return nil, errNoHandler
}

var errNoHandler = errors.New("the probe says not how to ask")

// Do carries out a hook, within ctx.
func (p *Prober) Do(ctx context.Context, e *spec.Entry, in *observe.Instance, h *spec.Hook) error {
	ctx = withAllowance(ctx)
	switch {
	case h.Exec != nil:
		return Exec(p.exec, e, in, h.Exec.Command)(ctx)
	case h.HTTPGet != nil:
		get, err := httpGet(in, h.HTTPGet)
		if err != nil {
			return err
		}
		return get(ctx)
	}
	return errNoHandler
}

// Exec has a command run.
func Exec(run ExecFunc, e *spec.Entry, in *observe.Instance, argv []string) Func {
	return func(ctx context.Context) error {
		if run == nil {
			return failuref("cannot run %s: commands cannot be run here", strings.Join(argv, " "))
		}
		return run(ctx, e, in, argv)
	}
}

func httpGet(in *observe.Instance, a *spec.HTTPGetAction) (Func, error) {
	address, err := addressOf(in, a.Host, a.Port)
	if err != nil {
		return nil, err
	}
	return HTTPGet(urlOf(a.Scheme, address, a.Path), a.HTTPHeaders), nil
}

// server gives the MCP server at a URL, whose session all probes of the instance
// share.
func (p *Prober) server(q observe.Question, at string) *server {
	m := q.Probe.MCP
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers[q.Instance.ID] {
		if s.url == at && s.sse == (m.Transport == spec.TransportSSE) && s.protocol == m.Protocol {
			return s
		}
	}
	s := newServer(at, m, &p.eras, program{q.Entry.Hash, m.Port, m.Path})
	p.servers[q.Instance.ID] = append(p.servers[q.Instance.ID], s)
	return s
}

// Forget lets go of what is kept for an instance that is gone. It does not wait:
// a session that can still be ended is, within a second.
func (p *Prober) Forget(id spec.Instance) {
	p.mu.Lock()
	gone := p.servers[id]
	delete(p.servers, id)
	p.mu.Unlock()
	p.farewell(gone)
}

func (p *Prober) farewell(servers []*server) {
	for _, s := range servers {
		if s.forget() {
			p.pending.Go(s.pending.Wait)
		}
	}
}

// Close forgets every instance, and waits until that is done: a second where a
// server does not answer, seldom two. What lives on without the controller is
// left without a session of it. A later attempt begins anew.
func (p *Prober) Close() {
	p.mu.Lock()
	for id, servers := range p.servers {
		delete(p.servers, id)
		p.farewell(servers)
	}
	p.mu.Unlock()
	p.pending.Wait()
}

// loopback is what a server is asked at where its manifest does not say.
const loopback = "127.0.0.1"

// addressOf gives where a port of an instance is connected to.
func addressOf(in *observe.Instance, host, port string) (string, error) {
	number, err := portOf(in.Ports, port)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, strconv.Itoa(int(number))), nil
}

// portOf resolves a number, or the name of a port that the instance has.
func portOf(ports spec.PortMap, port string) (uint16, error) {
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
		return uint16(n), nil
	}
	if n, ok := ports.Lookup(port); ok {
		return n, nil
	}
	if port == "" && len(ports) == 1 {
		return ports[0].Port, nil
	}
	if len(ports) == 0 {
		return 0, failuref("cannot ask port %q: the instance has no ports", port)
	}
	return 0, failuref("cannot ask port %q: the instance has only %s", port, ports)
}

// urlOf puts a URL together. The path may have a query.
func urlOf(scheme spec.Scheme, address, path string) string {
	u := url.URL{Scheme: strings.ToLower(string(scheme)), Host: address}
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	if path == "" {
		path = "/"
	}
	return u.String() + path
}
