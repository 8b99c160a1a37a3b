package api

import "net/http"

// metricsPath is where Prometheus asks by default.
const metricsPath = "/metrics"

func (h *handler) metricsRoutes() []route {
	return []route{{http.MethodGet, metricsPath, h.metrics, operation{
		summary: "What the controller has done and what is true of its workloads, for Prometheus.", media: "text/plain",
	}}}
}

func (h *handler) metrics(w http.ResponseWriter, r *http.Request) {
	if h.Metrics == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller has no metrics"))
		return
	}
	h.Metrics.ServeHTTP(w, r)
}
