package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// usagePath is where usage is asked for.
const usagePath = Root + "/usage"

// usageTimeout bounds one reading of all instances: some ten files of /proc for
// each process.
const usageTimeout = 10 * time.Second

// Meter reads what instances use; observe.Meter is one.
type Meter interface {
	// Read gives the usage of each instance in the same order, nil where nothing of
	// it runs any more or its reading blocks. It is called beside the loop, by many
	// goroutines.
	Read(ctx context.Context, instances []*observe.Instance) ([]*observe.Usage, error)
}

// Usage is what one instance uses.
type Usage struct {
	// Key is the workload as people write it: MCPServer/files.
	Key      string        `json:"key"`
	Instance spec.Instance `json:"instance"`
	// PID is the main process; zero where it has ended and others are left.
	PID int `json:"pid,omitempty"`
	// At is when it was read: two readings give a rate.
	At time.Time `json:"at"`
	// CPUSeconds is the time that was computed since the start, of all processors.
	// Of a tree it can also become less; see observe.Usage.
	CPUSeconds  float64 `json:"cpuSeconds"`
	MemoryBytes int64   `json:"memoryBytes"`
	// Descriptors are the open ones; nil where they may not be counted.
	Descriptors *int `json:"descriptors,omitempty"`
	Processes   int  `json:"processes"`
	// Source is where CPU and memory were read: Cgroup or Tree.
	Source observe.UsageSource `json:"source"`
}

// UsageList is the usage of all instances that run, sorted by key, then start.
type UsageList struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Items      []Usage `json:"items"`
}

func (h *handler) usageRoutes() []route {
	return []route{{http.MethodGet, usagePath, h.usage, operation{
		summary: "What each instance uses that runs: processor time, memory, descriptors, processes.", answer: UsageList{},
	}}}
}

// usage reads in the goroutine of the request: the loop has done with it when it
// has said which instances there are.
func (h *handler) usage(w http.ResponseWriter, r *http.Request) {
	if h.Meter == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller does not tell what workloads use"))
		return
	}
	v, ok := h.view(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), usageTimeout)
	defer cancel()
	read, err := h.Meter.Read(ctx, v.Instances)
	if err != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(err, observe.ErrNoUsage) {
			code = http.StatusNotImplemented
		}
		writeFailure(w, failure(code, "cannot tell what workloads use: %v", err))
		return
	}
	list := UsageList{APIVersion: spec.APIVersion, Kind: "UsageList", Items: []Usage{}}
	for i, u := range read {
		if u != nil {
			list.Items = append(list.Items, usageOf(v.Instances[i], u))
		}
	}
	writeJSON(w, http.StatusOK, list)
}

func usageOf(in *observe.Instance, u *observe.Usage) Usage {
	out := Usage{
		Key: in.Key.String(), Instance: in.ID, At: u.At, CPUSeconds: u.CPU.Seconds(),
		MemoryBytes: u.Memory, Processes: u.Processes, Source: u.Source,
	}
	if in.Main != nil {
		out.PID = in.Main.PID
	}
	if u.Descriptors >= 0 {
		out.Descriptors = &u.Descriptors
	}
	return out
}

// Usage gives what each instance uses that runs now.
func (c *Client) Usage(ctx context.Context) ([]Usage, error) {
	var l UsageList
	err := c.get(ctx, usagePath, &l)
	return l.Items, err
}
