package scope

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Runner runs a helper command to its end.
type Runner interface {
	// Run starts argv in a session of its own, with exactly the environment
	// and directory given and the null device as its input, and waits for it.
	// Output is the first part of what it wrote, both streams. A command that
	// ran gives its exit code (-1 if a signal ended it) and no error. When ctx
	// ends first, the command's whole group is killed before it is reaped and
	// the error is that of ctx. It may be called from many goroutines.
	Run(ctx context.Context, argv, env []string, dir string) (exitCode int, output string, err error)
}

// Options are what Scopes are made of.
type Options struct {
	Mode  Mode
	Owner spec.Owner
	// UID is the user that the controller runs as.
	UID int
	// Run starts the probes.
	Run Runner
	Log logr.Logger
}

// Scopes gives fences to children. Its methods may be called from many
// goroutines; calls of Prepare do not wait for each other.
type Scopes struct {
	mode  Mode
	owner spec.Owner
	run   Runner
	host  *host // what this system has to offer
	// probes are those under way.
	probes sharedProbes
}

// New gives the scopes of one controller. It fails for an unknown mode; that
// scopes are not to be had is found out, and told, at each start.
func New(o Options) (*Scopes, error) {
	mode, err := ParseMode(string(o.Mode), "")
	if err != nil {
		return nil, err
	}
	s := &Scopes{mode: mode, owner: o.Owner, run: o.Run, host: newHost(mode, o.UID)}
	if why := s.host.lacks(); mode == Cgroup && why != "" {
		o.Log.Info("no scopes", "mode", mode, "reason", why)
	}
	return s, nil
}

// Request is a start that wants a fence.
type Request struct {
	// Instance names the fence. It may be empty: then Name has to follow.
	Instance spec.Instance
	Key      spec.Key
	// Env and Dir are exactly what the child will have.
	Env    []string
	Dir    string
	Policy spec.ScopePolicy
	Limits spec.Limits
	// OtherUser says that the child becomes another user than the controller's,
	// as whom a user manager starts nothing.
	OtherUser bool
}

// Fence is what stands around one child: how it is to be started, and whether
// it got there. It is used by one goroutine at a time, and closed.
type Fence struct {
	scope    observe.Scope
	limits   limits
	required bool
	inside   bool
	wrapper  []string // systemd: what comes before the program
	dir      *os.File // cgroup: the directory to clone into
	tree     tree     // cgroup files of this machine
	// named makes the fence, now that its name is known, or says why it could
	// not. Nil for no fence.
	named func(name string) (why string)
	owner spec.Owner
}

// Prepare makes a fence for one start: it asks the user manager for a probe
// scope (up to 3 s), or makes a cgroup. Where neither is to be had the fence is
// none and its scope says why; under spec.ScopeRequired that is ErrRequired.
// Calls with the same environment, directory and limits share a probe that
// begins after they have asked; others are independent.
func (s *Scopes) Prepare(ctx context.Context, r Request) (*Fence, error) {
	l, err := parseLimits(r.Limits)
	if err != nil {
		return nil, err
	}
	f := &Fence{limits: l, required: r.Policy == spec.ScopeRequired, tree: s.host.tree, owner: s.owner}
	why := s.prepare(ctx, f, r)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if why != "" {
		err = f.off(why)
	} else if r.Instance != "" {
		err = f.Name(r.Instance)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (s *Scopes) prepare(ctx context.Context, f *Fence, r Request) (why string) {
	switch {
	case r.Policy == spec.ScopeOff:
		return "the manifest says so"
	case s.mode == Off:
		return "scopes are switched off on this host"
	}
	return s.fence(ctx, f, r)
}

// Name gives the fence the name of its instance, for a start whose instance is
// known only right before the fork. It waits for nobody: for a cgroup it makes
// and fills a directory, else it only remembers. It is called before Wrap and
// CgroupFD, unless the request had the instance already; a further call gives it
// another name. Its error is ErrRequired.
func (f *Fence) Name(id spec.Instance) error {
	if f.named == nil {
		return nil
	}
	f.Close() // what was made under another name
	if why := f.named(observe.ScopeName(f.owner, id)); why != "" {
		f.named = nil
		return f.off(why)
	}
	return nil
}

// off makes the fence none, which is an error where one is required.
func (f *Fence) off(why string) error {
	if f.required {
		return fmt.Errorf("%w, but there is none: %s", ErrRequired, why)
	}
	f.scope = observe.Scope{Mode: observe.ScopeOff, Note: why, LimitsNotApplied: !f.limits.none()}
	return nil
}

// Mode says what kind of fence it is, before it has been verified.
func (f *Fence) Mode() observe.ScopeMode { return f.scope.Mode }

// Wrap gives the command that starts the program inside the fence. The first
// word of argv must be the absolute path of the program; argv is not modified.
func (f *Fence) Wrap(argv []string) []string {
	return append(f.wrapper[:len(f.wrapper):len(f.wrapper)], argv...)
}

// CgroupFD gives the directory that the child is to be cloned into
// (CLONE_INTO_CGROUP, clone(2), kernel 5.7); ok is false where there is none.
// It is valid until Close.
func (f *Fence) CgroupFD() (fd int, ok bool) {
	if f.dir == nil {
		return -1, false
	}
	return int(f.dir.Fd()), true
}

// Verify waits, up to 5 s, until the child that was started with Wrap and
// CgroupFD runs its program and is inside, and says what its scope is. The
// child must not have been reaped yet. ErrNotInside and ErrLimitsNotApplied
// mean that what runs as pid is to be killed, and the start has failed;
// the scope is then what there is of it.
func (f *Fence) Verify(ctx context.Context, pid int) (observe.Scope, error) {
	if f.scope.Mode == observe.ScopeOff {
		return f.scope, nil
	}
	at, err := f.await(ctx, pid)
	if err != nil {
		return f.scope, err
	}
	f.inside = true
	f.scope.Cgroup = at.unified
	if at.unified == "" {
		f.scope.Note = "in the name=systemd hierarchy only: it cannot be killed as a whole"
	}
	if missing := f.tree.notInForce(at, f.limits); len(missing) > 0 {
		f.scope.LimitsNotApplied = true
		f.scope.Note = "limits that are not in force here: " + strings.Join(missing, ", ")
		if f.required {
			return f.scope, fmt.Errorf("%w here: %s", ErrLimitsNotApplied, strings.Join(missing, ", "))
		}
	}
	return f.scope, nil
}

// Close releases what the fence holds. After a start that was not verified it
// also removes the cgroup that was made for it, if nothing is in it.
func (f *Fence) Close() {
	if f.dir == nil {
		return
	}
	f.dir.Close()
	f.dir = nil
	if !f.inside {
		f.tree.remove(f.scope.Cgroup)
	}
}
