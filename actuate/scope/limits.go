package scope

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// cpuPeriod is the period of a CPU quota in microseconds, the default of both
// cpu.max and CPUQuotaPeriodSec=.
const cpuPeriod = 100_000

// limits are spec.Limits as numbers; zero means no limit.
type limits struct {
	memory   int64 // bytes
	milliCPU int64 // thousandths of a core
	pids     int64 // processes and threads
}

func (l limits) none() bool { return l == limits{} }

func parseLimits(in spec.Limits) (l limits, err error) {
	ok := true
	if in.Memory != "" {
		if l.memory, ok = in.MemoryBytes(); !ok {
			return limits{}, fmt.Errorf("cannot limit memory to %q: it is not a positive quantity", in.Memory)
		}
	}
	if in.CPU != "" {
		if l.milliCPU, ok = in.CPUMillis(); !ok {
			return limits{}, fmt.Errorf("cannot limit the CPU to %q: it is not a positive quantity", in.CPU)
		}
	}
	if in.PIDs != nil {
		if l.pids = *in.PIDs; l.pids <= 0 {
			return limits{}, fmt.Errorf("cannot limit processes to %d: it must be positive", l.pids)
		}
	}
	return l, nil
}

// properties are the limits as unit properties of systemd.resource-control(5).
func (l limits) properties() []string {
	var p []string
	if l.memory > 0 {
		p = append(p, "MemoryMax="+strconv.FormatInt(l.memory, 10))
	}
	if l.milliCPU > 0 {
		// In percent of one core; systemd takes two decimals.
		p = append(p, fmt.Sprintf("CPUQuota=%d.%d%%", l.milliCPU/10, l.milliCPU%10))
	}
	if l.pids > 0 {
		p = append(p, "TasksMax="+strconv.FormatInt(l.pids, 10))
	}
	return p
}

// limitFile is one limit as a file of the cgroup: which controller must be
// there, what is written, and whether what is read back is at least as tight.
type limitFile struct {
	controller, name, value string
	tight                   func(content string) bool
}

// files are the limits as the kernel's Documentation/admin-guide/cgroup-v2.rst
// has them.
func (l limits) files() []limitFile {
	var f []limitFile
	if l.memory > 0 {
		f = append(f, limitFile{"memory", "memory.max", strconv.FormatInt(l.memory, 10), atMost(l.memory)})
	}
	if l.milliCPU > 0 {
		quota := max(l.milliCPU*cpuPeriod/1000, 1000) // the kernel takes no less than 1 ms
		f = append(f, limitFile{"cpu", "cpu.max", fmt.Sprintf("%d %d", quota, cpuPeriod), l.cpuWithin})
	}
	if l.pids > 0 {
		f = append(f, limitFile{"pids", "pids.max", strconv.FormatInt(l.pids, 10), atMost(l.pids)})
	}
	return f
}

// atMost takes a number that is not above the limit; "max" is none.
func atMost(limit int64) func(string) bool {
	return func(content string) bool {
		v, err := strconv.ParseInt(strings.TrimSpace(content), 10, 64)
		return err == nil && v <= limit
	}
}

// cpuWithin takes a cpu.max ("QUOTA PERIOD") that gives no more than the limit
// and one percent of a core: systemd rounds.
func (l limits) cpuWithin(content string) bool {
	quota, period, ok := strings.Cut(strings.TrimSpace(content), " ")
	q, err1 := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	return ok && err1 == nil && err2 == nil && p > 0 && q*1000/p <= l.milliCPU+10
}
