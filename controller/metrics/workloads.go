package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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

// workloads is a collector of what is true when it is asked.
type workloads struct {
	viewer Viewer
	usage  Usage

	mu  sync.Mutex
	cpu map[spec.Key]*computed
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// What is looked up.
var (
	descReady       = describe("ready", "Whether the first plan has been handed out.")
	descWorkloads   = describe("workloads", "Workloads by kind and phase.", labelKind, "phase")
	descAllReady    = describe("workloads_ready", "Workloads that are ready, by kind.", labelKind)
	descOneReady    = describe("workload_ready", "Whether a workload is ready.", labelKind, labelName)
	descInstances   = describe("workload_instances", "Instances of a workload of which anything runs.", labelKind, labelName)
	descCPU         = describe("workload_cpu_seconds_total", "Processor time that the processes of a workload have used, while the controller was asked.", labelKind, labelName)
	descMemory      = describe("workload_memory_bytes", "Memory of the processes of a workload: of its cgroups, else what is resident.", labelKind, labelName)
	descProcesses   = describe("workload_processes", "Processes of a workload.", labelKind, labelName)
	descDescriptors = describe("workload_open_descriptors", "Open file descriptors of the processes of a workload.", labelKind, labelName)
)

var described = []*prometheus.Desc{
	descReady, descWorkloads, descAllReady, descOneReady, descInstances, descCPU, descMemory, descProcesses, descDescriptors,
}

// Describe implements prometheus.Collector.
func (w *workloads) Describe(to chan<- *prometheus.Desc) {
	for _, d := range described {
		to <- d
	}
}

// Collect implements prometheus.Collector. Where the loop gives no answer the scrape
// fails: a wrong number would be worse.
func (w *workloads) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), viewTimeout)
	defer cancel()
	v, err := w.viewer.View(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(descReady, fmt.Errorf("the controller gave no answer: %w", err))
		return
	}
	to <- gauge(descReady, truth(v.Ready))
	collectStatus(to, &v)
	w.collectUsage(to, &v)
}

// phases are those that a workload can be in. All are shown, so that a series
// does not come and go.
var phases = []spec.Phase{
	spec.PhasePending, spec.PhaseStarting, spec.PhaseRunning, spec.PhaseStopping, spec.PhaseBackOff,
	spec.PhaseCompleted, spec.PhaseFailed, spec.PhaseSuspended, spec.PhaseUnknown,
}

// collectStatus tells how many workloads are how.
func collectStatus(to chan<- prometheus.Metric, v *controller.View) {
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
		to <- gauge(descOneReady, truth(one), of(w.Key)...)
		to <- gauge(descInstances, float64(len(w.Status.Instances)), of(w.Key)...)
	}
	for _, kind := range []spec.Kind{spec.KindAgent, spec.KindMCPServer} {
		for _, phase := range phases {
			to <- gauge(descWorkloads, float64(in[group{kind, phase}]), string(kind), string(phase))
		}
		to <- gauge(descAllReady, float64(ready[kind]), string(kind))
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

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
