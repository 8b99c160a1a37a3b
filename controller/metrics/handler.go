package metrics

import (
	"net/http"
	"runtime"

	"github.com/proc-controller/proc-controller/spec"
)

// maxScrapes is how many are answered at one time; more are refused with 503.
const maxScrapes = 2

// Options are what metrics are looked up from, beside what was counted.
type Options struct {
	// Viewer answers what is true now.
	Viewer Viewer
	// Usage reads what workloads use; nil where that is not to be told.
	Usage Usage
	// Version of the program, and the owner whose controller it is.
	Version string
	Owner   spec.Owner
}

// Handler answers scrapes, in the text format of Prometheus. Where the loop gives no
// answer the scrape fails with 500: a wrong number would be worse.
func (m *Metrics) Handler(o Options) http.Handler {
	build := family{desc: ours("build_info", "The program and whose controller it is; always 1.", isGauge, "goversion", "owner", "version")}
	build.add(1, runtime.Version(), string(o.Owner), o.Version)
	looked := &workloads{viewer: o.Viewer, usage: o.Usage, cpu: map[spec.Key]*computed{}}
	turns := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			http.Error(w, "enough is being asked already; try again later", http.StatusServiceUnavailable)
			return
		}
		all, err := looked.collect(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all = append(append(append(all, build), m.collect()...), own()...)
		w.Header().Set("Content-Type", textFormat)
		_, _ = w.Write(encode(all)) // the peer is gone: nobody is left to tell
	})
}
