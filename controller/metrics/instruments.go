package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Passed implements Instruments.
func (m *Metrics) Passed(took time.Duration) { m.reconcile.Observe(took.Seconds()) }

// Spawned implements Instruments.
func (m *Metrics) Spawned(took time.Duration, err error) {
	m.spawn[result(err != nil)].Observe(took.Seconds())
}

// Scanned implements Instruments.
func (m *Metrics) Scanned(depth observe.Depth, took time.Duration, processes int, err error) {
	if err != nil {
		m.scanFails.Inc()
		return
	}
	m.scans[depth].Observe(took.Seconds())
	m.scanned.Set(float64(processes))
}

// Probed implements Instruments.
func (m *Metrics) Probed(kind controller.ProbeKind, took time.Duration, failed bool) {
	m.probes[kind][result(failed)].Observe(took.Seconds())
}

// Happened implements Instruments.
func (m *Metrics) Happened(e controller.Event) {
	switch e := e.(type) {
	case controller.StartAsked:
		if e.Beside {
			m.endsOf(e.Key, func(n *ends) { n.beside(e.Token) })
		}
	case controller.Started:
		m.starts.WithLabelValues(of(e.Key)...).Inc()
		m.endsOf(e.Key, func(n *ends) {
			if why := n.started(e.Token); why != "" {
				m.restarts.WithLabelValues(of(e.Key, string(why))...).Inc()
			}
		})
	case controller.StartFailed:
		m.sent(e.Sent)
		if !e.Planned {
			m.startFailures.WithLabelValues(of(e.Key, string(e.Reason))...).Inc()
		}
		m.endsOf(e.Key, func(n *ends) { n.failed(e.Token) })
	case controller.StopAsked:
		m.endsOf(e.Key, func(n *ends) { n.stopping(e.ID, e.Reason) })
	case controller.Exited:
		m.exits.WithLabelValues(of(e.Key, string(e.Termination.Reason))...).Inc()
		m.endsOf(e.Key, func(n *ends) { n.exited(e.ID, e.Termination.Reason) })
	case controller.ServerEnded:
		m.exits.WithLabelValues(of(e.Key, string(e.Termination.Reason))...).Inc()
		m.restarts.WithLabelValues(of(e.Key, string(e.Termination.Reason))...).Inc()
	case controller.Gone:
		m.endsOf(e.Key, func(n *ends) { delete(n.stops, e.ID) })
	case controller.Signalled:
		m.sent(e.Sent)
	case controller.Forgotten:
		m.forget(e.Key)
	}
}

// of gives the labels of a workload, and what follows them.
func of(k spec.Key, more ...string) []string {
	return append([]string{string(k.Kind), k.Name}, more...)
}

func (m *Metrics) sent(all []observe.Sent) {
	for _, s := range all {
		m.signals.WithLabelValues(spec.SignalName(s.Signal), results[result(s.Err != "")]).Inc()
	}
}

// endsOf does something with what is kept of a workload.
func (m *Metrics) endsOf(k spec.Key, do func(*ends)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.ends[k]
	if n == nil {
		n = newEnds()
		m.ends[k] = n
	}
	do(n)
}

// forget ends the series of a workload that is no more.
func (m *Metrics) forget(k spec.Key) {
	m.mu.Lock()
	delete(m.ends, k)
	m.mu.Unlock()
	for _, v := range []*prometheus.CounterVec{m.starts, m.startFailures, m.exits, m.restarts} {
		v.DeletePartialMatch(prometheus.Labels{labelKind: string(k.Kind), labelName: k.Name})
	}
}
