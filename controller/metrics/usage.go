package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// computed is the processor time of a workload over its instances: what those that
// are gone have used as far as it was seen, and the most that was seen of each that
// is there. So it never goes back, which a counter must not.
type computed struct {
	gone time.Duration
	of   map[spec.Instance]time.Duration
}

// total takes a reading of the instances that are there.
func (c *computed) total(now map[spec.Instance]time.Duration) time.Duration {
	for id, used := range c.of {
		if _, there := now[id]; !there {
			c.gone += used
			delete(c.of, id)
		}
	}
	sum := c.gone
	for id, used := range now {
		c.of[id] = max(c.of[id], used)
		sum += c.of[id]
	}
	return sum
}

// used is what the instances of a workload use together.
type used struct {
	cpu                            map[spec.Instance]time.Duration
	memory, processes, descriptors float64
	// unknown says that descriptors could not be counted of all of them.
	unknown bool
}

// collectUsage tells what each workload uses. Where that cannot be read there is
// nothing of it: that is so on whole systems, and is no failure.
func (w *workloads) collectUsage(to chan<- prometheus.Metric, v *controller.View) {
	if w.usage == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), usageTimeout)
	defer cancel()
	read, err := w.usage.Read(ctx, v.Instances)
	if err != nil {
		return
	}
	all := summed(v, read)
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.cpu {
		if all[k] == nil {
			delete(w.cpu, k)
		}
	}
	for k, u := range all {
		if w.cpu[k] == nil {
			w.cpu[k] = &computed{of: map[spec.Instance]time.Duration{}}
		}
		to <- prometheus.MustNewConstMetric(descCPU, prometheus.CounterValue, w.cpu[k].total(u.cpu).Seconds(), of(k)...)
		to <- gauge(descMemory, u.memory, of(k)...)
		to <- gauge(descProcesses, u.processes, of(k)...)
		if !u.unknown {
			to <- gauge(descDescriptors, u.descriptors, of(k)...)
		}
	}
}

// summed adds up the usage of each workload of the view; one of which nothing runs
// uses nothing.
func summed(v *controller.View, read []*observe.Usage) map[spec.Key]*used {
	all := make(map[spec.Key]*used, len(v.Workloads))
	for i := range v.Workloads {
		all[v.Workloads[i].Key] = &used{cpu: map[spec.Instance]time.Duration{}}
	}
	for i, u := range read {
		in := v.Instances[i]
		sum := all[in.Key]
		if u == nil || sum == nil {
			continue
		}
		sum.cpu[in.ID] = u.CPU
		sum.memory += float64(u.Memory)
		sum.processes += float64(u.Processes)
		sum.descriptors += float64(max(u.Descriptors, 0))
		sum.unknown = sum.unknown || u.Descriptors < 0
	}
	return all
}
