package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// namespace begins the names of all metrics that are ours.
const namespace = "proc_controller"

// The labels of a workload: its kind and its name.
const (
	labelKind   = "kind"
	labelName   = "name"
	labelReason = "reason"
)

// Metrics count what a controller does. They are its Instruments; their methods
// may be called from many goroutines.
type Metrics struct {
	reconcile *histogram
	spawn     [2]*histogram    // by success
	scans     [3]*histogram    // by depth
	probes    [4][2]*histogram // by kind, and success
	scanned   atomic.Int64
	scanFails atomic.Int64

	starts, startFailures *counters
	restarts, exits       *counters
	signals               *counters

	// all gives the values of every metric that is counted.
	all []func() family

	mu   sync.Mutex
	ends map[spec.Key]*ends
}

var _ controller.Instruments = (*Metrics)(nil)

// The bounds of the buckets, in seconds. A decision takes from microseconds to
// tens of milliseconds, a start from a millisecond to the seconds that a launch
// into a scope may take, a scan of some thousand processes a few milliseconds, a
// probe up to its timeout.
var (
	reconcileBuckets = []float64{.00001, .00005, .0001, .0005, .001, .005, .01, .05, .1, .5, 1}
	spawnBuckets     = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	scanBuckets      = []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
	probeBuckets     = []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 60}
)

// New gives metrics that have counted nothing yet.
func New() *Metrics {
	m := &Metrics{ends: map[spec.Key]*ends{}}
	m.reconcile = m.histograms("reconcile_duration_seconds", "How long the loop took to decide once and to hand out what it decided.", reconcileBuckets).with()
	spawn := m.histograms("spawn_duration_seconds", "How long starts took, until the program was executed.", spawnBuckets, "result")
	scans := m.histograms("scan_duration_seconds", "How long readings of the process table took, by how much was read again.", scanBuckets, "depth")
	probes := m.histograms("probe_duration_seconds", "How long attempts of probes took, by what the probe is for.", probeBuckets, "probe", "result")
	for i, result := range results {
		m.spawn[i] = spawn.with(result)
		for kind := controller.Startup; kind <= controller.Verification; kind++ {
			m.probes[kind][i] = probes.with(kind.String(), result)
		}
	}
	for depth, name := range depths {
		m.scans[depth] = scans.with(name)
	}
	m.number("scanned_processes", "Processes in the process table, of whomever, at the last reading.", isGauge, &m.scanned)
	m.number("scan_failures_total", "Readings of the process table that failed: nothing is decided until one works again.", isCounter, &m.scanFails)
	m.starts = m.counters("starts_total", "Starts that worked.", labelKind, labelName)
	m.startFailures = m.counters("start_failures_total", "Starts that did not work, by why.", labelKind, labelName, labelReason)
	m.exits = m.counters("exits_total", "Ends of main processes, by how they ended.", labelKind, labelName, labelReason)
	m.restarts = m.counters("restarts_total", "Starts in the place of a run that ended, by how that ended or why it was stopped.", labelKind, labelName, labelReason)
	m.signals = m.counters("signals_total", "Signals to processes, by whether they could be sent.", "result", "signal")
	return m
}

// collect gives the values of all that is counted.
func (m *Metrics) collect() []family {
	all := make([]family, 0, len(m.all))
	for _, values := range m.all {
		all = append(all, values())
	}
	return all
}

// results and depths are how outcomes and depths are labelled.
var (
	results = [2]string{"success", "failure"}
	depths  = [3]string{observe.Look: "look", observe.Resync: "resync", observe.Full: "full"}
)

// result is the index of an outcome in results.
func result(failed bool) int {
	if failed {
		return 1
	}
	return 0
}

// ours describes a metric of this program.
func ours(name, help string, kind kind, labels ...string) desc {
	return desc{namespace + "_" + name, help, kind, labels}
}

func (m *Metrics) histograms(name, help string, bounds []float64, labels ...string) *histograms {
	h := &histograms{desc: ours(name, help, isHistogram, labels...), bounds: bounds}
	m.all = append(m.all, h.collect)
	return h
}

func (m *Metrics) counters(name, help string, labels ...string) *counters {
	c := &counters{desc: ours(name, help, isCounter, labels...), of: map[values]float64{}}
	m.all = append(m.all, c.collect)
	return c
}

func (m *Metrics) number(name, help string, kind kind, n *atomic.Int64) {
	m.all = append(m.all, func() family { return single(ours(name, help, kind), float64(n.Load())) })
}
