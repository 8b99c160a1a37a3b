package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

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
	reconcile prometheus.Histogram
	spawn     [2]prometheus.Observer // by success
	scans     [3]prometheus.Observer // by depth
	scanned   prometheus.Gauge
	scanFails prometheus.Counter
	probes    [4][2]prometheus.Observer // by kind, and success

	starts, startFailures *prometheus.CounterVec
	restarts, exits       *prometheus.CounterVec
	signals               *prometheus.CounterVec

	all []prometheus.Collector

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
	m.reconcile = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "reconcile_duration_seconds", Buckets: reconcileBuckets,
		Help: "How long the loop took to decide once and to hand out what it decided.",
	})
	m.all = append(m.all, m.reconcile)
	spawn := m.histograms("spawn_duration_seconds", "How long starts took, until the program was executed.", spawnBuckets, "result")
	scans := m.histograms("scan_duration_seconds", "How long readings of the process table took, by how much was read again.", scanBuckets, "depth")
	probes := m.histograms("probe_duration_seconds", "How long attempts of probes took, by what the probe is for.", probeBuckets, "probe", "result")
	for i, result := range results {
		m.spawn[i] = spawn.WithLabelValues(result)
		for kind := controller.Startup; kind <= controller.Verification; kind++ {
			m.probes[kind][i] = probes.WithLabelValues(kind.String(), result)
		}
	}
	for depth, name := range depths {
		m.scans[depth] = scans.WithLabelValues(name)
	}
	m.scanned = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "scanned_processes", Help: "Processes in the process table, of whomever, at the last reading.",
	})
	m.scanFails = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "scan_failures_total", Help: "Readings of the process table that failed: nothing is decided until one works again.",
	})
	m.all = append(m.all, m.scanned, m.scanFails)
	m.starts = m.counters("starts_total", "Starts that worked.", labelKind, labelName)
	m.startFailures = m.counters("start_failures_total", "Starts that did not work, by why.", labelKind, labelName, labelReason)
	m.exits = m.counters("exits_total", "Ends of main processes, by how they ended.", labelKind, labelName, labelReason)
	m.restarts = m.counters("restarts_total", "Starts in the place of a run that ended, by how that ended or why it was stopped.", labelKind, labelName, labelReason)
	m.signals = m.counters("signals_total", "Signals to processes, by whether they could be sent.", "signal", "result")
	return m
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

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.all = append(m.all, v)
	return v
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.all = append(m.all, v)
	return v
}
