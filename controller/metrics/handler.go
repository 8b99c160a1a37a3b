package metrics

import (
	"net/http"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/proc-controller/proc-controller/spec"
)

// maxScrapes is how many are answered at one time; more are refused with 503.
const maxScrapes = 2

// Options are what metrics are looked up from, beside what was counted.
type Options struct {
	Viewer Viewer
	// Usage reads what workloads use; nil where that is not to be told.
	Usage Usage
	// Version of the program, and the owner whose controller it is.
	Version string
	Owner   spec.Owner
}

// Handler answers scrapes, in the text format of Prometheus or in OpenMetrics. The
// registry is its own: nothing that a library registers elsewhere is in it. It is
// made at the first scrape, since most controllers are never asked.
func (m *Metrics) Handler(o Options) http.Handler {
	build := sync.OnceValue(func() http.Handler {
		r := m.Registry(o)
		return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, DisableCompression: true})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { build().ServeHTTP(w, r) })
}

// Registry gives a registry of all metrics: ours, and those of this very process
// and its Go runtime.
func (m *Metrics) Registry(o Options) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "The program and whose controller it is; always 1.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version(), "owner": string(o.Owner)},
	})
	build.Set(1)
	r.MustRegister(build, &workloads{viewer: o.Viewer, usage: o.Usage, cpu: map[spec.Key]*computed{}})
	r.MustRegister(m.all...)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
