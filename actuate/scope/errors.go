package scope

import "errors"

// What a caller acts on. Every other error of this package means that a fence
// could not be had.
var (
	// ErrRequired says that the manifest requires a scope and there is none.
	ErrRequired = errors.New("a scope is required")
	// ErrLimitsNotApplied says that a scope was required and that its limits
	// are not in force.
	ErrLimitsNotApplied = errors.New("limits are not in force")
	// ErrNotInside says that the child did not come to be in its scope. The
	// command may or may not have run: it must not be run again without one.
	ErrNotInside = errors.New("the child is not in its scope")
	// ErrNoKill says that the cgroup cannot be killed as a whole: the kernel
	// is older than 5.14, or there is no cgroup. Its members still can.
	ErrNoKill = errors.New("the cgroup cannot be killed as a whole")
	// ErrForeign says that a cgroup is none of ours: nothing was done to it.
	ErrForeign = errors.New("not a cgroup of ours")
)
