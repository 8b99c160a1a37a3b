package actuate

import (
	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Options are what an Actuator is made of.
type Options struct {
	// Owner names this installation; it goes into the markers.
	Owner spec.Owner
	// UID is the user that the controller runs as, and every child whose
	// manifest names no other.
	UID int
	// StateDir is the absolute directory below which output files are kept. It
	// may be missing or read-only, and empty where there is none: workloads then
	// run without.
	StateDir string
	// Home is what ~ means in a manifest.
	Home string
	// Environ is the environment that children inherit from: the controller's
	// own as it was at the start.
	Environ []string
	// Scopes is the host's policy for scopes; empty is auto.
	Scopes scope.Mode
	// Heritage is what this process was handed by its former image, before an
	// execve(2); nil in a process that began by itself.
	Heritage *Heritage
	Log      logr.Logger
}

// Heritage is what an Actuator hands to the one of the next image: numbers of
// descriptors that stay open, and the guard. See Actuator.Bequeath.
type Heritage struct {
	Roll int `json:"roll"`
	// Particulars is 0 from an image that knew of none.
	Particulars int `json:"particulars,omitempty"`

	Bell  int           `json:"bell"`
	Guard observe.Ident `json:"guard,omitzero"`
}
