package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Viewer hands out a consistent view of the world; the controller is one.
type Viewer interface {
	View(ctx context.Context) (controller.View, error)
}

// Usage reads what instances use; observe.Meter is one.
type Usage interface {
	// Read gives the usage of each instance in the same order, nil where it is not
	// known.
	Read(ctx context.Context, instances []*observe.Instance) ([]*observe.Usage, error)
}

// viewTimeout and usageTimeout bound what one scrape may wait for.
const (
	viewTimeout  = 5 * time.Second
	usageTimeout = 5 * time.Second
)

// workloads looks at what is true when it is asked.
type workloads struct {
	viewer Viewer
	usage  Usage

	mu  sync.Mutex
	cpu map[spec.Key]*computed
}

// looked are the metrics of what is looked up.
type looked struct {
	ready, workloads, allReady, oneReady, instances family
	cpu, memory, processes, descriptors             family
}

func newLooked() *looked {
	gauges := func(name, help string, labels ...string) family {
		return family{desc: ours(name, help, isGauge, labels...)}
	}
	return &looked{
		ready:       gauges("ready", "Whether the first plan has been handed out."),
		workloads:   gauges("workloads", "Workloads by kind and phase.", labelKind, "phase"),
		allReady:    gauges("workloads_ready", "Workloads that are ready, by kind.", labelKind),
		oneReady:    gauges("workload_ready", "Whether a workload is ready.", labelKind, labelName),
		instances:   gauges("workload_instances", "Instances of a workload of which anything runs.", labelKind, labelName),
		cpu:         family{desc: ours("workload_cpu_seconds_total", "Processor time that the processes of a workload have used, while the controller was asked.", isCounter, labelKind, labelName)},
		memory:      gauges("workload_memory_bytes", "Memory of the processes of a workload: of its cgroups, else what is resident.", labelKind, labelName),
		processes:   gauges("workload_processes", "Processes of a workload.", labelKind, labelName),
		descriptors: gauges("workload_open_descriptors", "Open file descriptors of the processes of a workload.", labelKind, labelName),
	}
}

func (l *looked) families() []family {
	all := []family{l.ready, l.workloads, l.allReady, l.oneReady, l.instances, l.cpu, l.memory, l.processes, l.descriptors}
	for i := range all {
		all[i].sort()
	}
	return all
}

// collect looks at what is true now. It fails where the loop gives no answer.
func (w *workloads) collect(ctx context.Context) ([]family, error) {
	asked, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	v, err := w.viewer.View(asked)
	if err != nil {
		return nil, fmt.Errorf("the controller gave no answer: %w", err)
	}
	l := newLooked()
	l.ready.add(truth(v.Ready))
	l.takeStatus(&v)
	w.takeUsage(ctx, l, &v)
	return l.families(), nil
}

// phases are those that a workload can be in. All are shown, so that a series
// does not come and go.
var phases = []spec.Phase{
	spec.PhasePending, spec.PhaseStarting, spec.PhaseRunning, spec.PhaseStopping, spec.PhaseBackOff,
	spec.PhaseCompleted, spec.PhaseFailed, spec.PhaseSuspended, spec.PhaseUnknown,
}

// takeStatus tells how many workloads are how.
func (l *looked) takeStatus(v *controller.View) {
	type group struct {
		kind  spec.Kind
		phase spec.Phase
	}
	in, ready := map[group]int{}, map[spec.Kind]int{}
	for i := range v.Workloads {
		w := &v.Workloads[i]
		in[group{w.Key.Kind, w.Status.Phase}]++
		one := isReady(&w.Status)
		ready[w.Key.Kind] += int(truth(one))
		l.oneReady.add(truth(one), of(w.Key)...)
		l.instances.add(float64(len(w.Status.Instances)), of(w.Key)...)
	}
	for _, kind := range []spec.Kind{spec.KindAgent, spec.KindMCPServer} {
		for _, phase := range phases {
			l.workloads.add(float64(in[group{kind, phase}]), string(kind), string(phase))
		}
		l.allReady.add(float64(ready[kind]), string(kind))
	}
}

func isReady(st *spec.Status) bool {
	for i := range st.Conditions {
		if st.Conditions[i].Type == spec.CondReady {
			return st.Conditions[i].Status == spec.True
		}
	}
	return false
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
