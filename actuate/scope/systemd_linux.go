package scope

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/proc-controller/proc-controller/observe"
)

// The options that not every systemd has.
const (
	// Without it a future release may expand $NAME in the arguments
	// (systemd-run(1), since systemd 254).
	optExpand = "--expand-environment=no"
	// Without it an out-of-memory kill of one process stops the whole scope
	// (systemd.scope(5), since systemd 253).
	optOOM = "OOMPolicy=continue"
)

// systemdRun finds the wrapper: never in PATH, where an agent could put one.
func systemdRun() (string, bool) {
	for _, p := range []string{"/usr/bin/systemd-run", "/bin/systemd-run"} {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, true
		}
	}
	return "", false
}

// systemdFence makes f a scope of the user manager, if a probe scope with the
// child's environment, directory and limits works at this moment.
func (s *Scopes) systemdFence(ctx context.Context, f *Fence, r Request) (why string) {
	if r.OtherUser {
		return "a user manager starts nothing as another user"
	}
	program, ok := systemdRun()
	if !ok {
		return "there is no systemd-run in /usr/bin or /bin"
	}
	if lookupEnv(r.Env, "XDG_RUNTIME_DIR") == "" && lookupEnv(r.Env, "DBUS_SESSION_BUS_ADDRESS") == "" {
		return "the child's environment names no user manager: it has neither XDG_RUNTIME_DIR nor DBUS_SESSION_BUS_ADDRESS"
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	p := prober{s: s, request: r, program: program, properties: f.limits.properties()}
	options, why := s.probes.ask(ctx, question(r, p.properties), p.probe)
	if why != "" {
		return why
	}
	f.scope.Mode = observe.ScopeSystemd
	f.named = func(name string) string {
		f.scope.Unit = name + ".scope"
		f.wrapper = p.wrapper(f.scope.Unit, describe(r.Key), options)
		return ""
	}
	return ""
}

// prober asks the user manager, before one start, whether it can.
type prober struct {
	s          *Scopes
	request    Request
	program    string
	properties []string
}

// wrapper is the command that registers its own pid as a scope and then
// executes what follows in its place.
func (p prober) wrapper(unit, description string, options []string) []string {
	argv := []string{p.program, "--user", "--scope", "--quiet", "--collect", "--unit=" + unit, "--description=" + description}
	for _, property := range p.properties {
		argv = append(argv, "-p", property)
	}
	argv = append(argv, options...)
	return append(argv, "--")
}

// probe gives the options with which a scope works now, or why none does.
func (p prober) probe(ctx context.Context) (options []string, why string) {
	var base []string
	if p.knowsExpand(ctx) {
		base = []string{optExpand}
	}
	withOOM := append(base[:len(base):len(base)], "-p", optOOM)
	takes, known := p.s.host.options.get(optOOM)
	if known && takes {
		return withOOM, p.try(ctx, withOOM)
	}
	if !known {
		if p.try(ctx, withOOM) == "" {
			p.s.host.options.set(optOOM, true)
			return withOOM, ""
		}
	}
	if why = p.try(ctx, base); why != "" {
		return nil, why
	}
	// It works without. Whether that was for the option or by chance is seen
	// by asking once more; an answer "no" is kept.
	if !known && p.try(ctx, withOOM) != "" && ctx.Err() == nil {
		p.s.host.options.set(optOOM, false)
	}
	return base, ""
}

// try runs /bin/true in a scope of its own, exactly as the child is to run.
func (p prober) try(ctx context.Context, options []string) (why string) {
	argv := append(p.wrapper("proc-controller-probe-"+strings.ToLower(rand.Text())+".scope", "proc-controller probe", options), "/bin/true")
	code, output, err := p.s.run.Run(ctx, argv, p.request.Env, p.request.Dir)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return tooSlow
	case err != nil:
		return "cannot probe the user manager: " + err.Error()
	case code != 0:
		return fmt.Sprintf("the user manager refused a probe scope (exit code %d): %s", code, firstLine(output))
	}
	return ""
}

// knowsExpand says whether systemd-run has optExpand. It reads its options in
// order and asks nobody for --version, so this needs no manager.
func (p prober) knowsExpand(ctx context.Context) bool {
	yes, known := p.s.host.options.get(optExpand)
	if known {
		return yes
	}
	code, _, err := p.s.run.Run(ctx, []string{p.program, optExpand, "--version"}, p.request.Env, p.request.Dir)
	if err != nil {
		return false
	}
	p.s.host.options.set(optExpand, code == 0)
	return code == 0
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// knownOptions remembers which options this systemd has: never that it works.
type knownOptions struct {
	mu    sync.Mutex
	known map[string]bool
}

func (k *knownOptions) get(option string) (takes, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	takes, known = k.known[option]
	return takes, known
}

func (k *knownOptions) set(option string, takes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]bool{}
	}
	k.known[option] = takes
}
