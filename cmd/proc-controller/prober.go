package main

import (
	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe/probe"
)

var _ controller.Prober = (*probe.Prober)(nil)

// newProber makes what asks workloads whether they work. Its commands are run
// like everything else that is started.
func newProber(a *actuate.Actuator) *probe.Prober {
	return probe.New(probe.Options{Exec: a.RunErrand})
}
