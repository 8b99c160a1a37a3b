//go:build darwin || freebsd

package actuate

import (
	"context"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// RunErrand refuses: without handles nothing here could end one whole.
func (a *Actuator) RunErrand(context.Context, *spec.Entry, *observe.Instance, []string) error {
	return ErrUnsupported
}

func (a *Actuator) endErrands() {}
