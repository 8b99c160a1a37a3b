package observe

import (
	"bytes"
	"context"
	"time"
)

// Usage is what the processes of one instance use.
type Usage struct {
	// At is when it was read.
	At time.Time
	// CPU is the time that they have computed since the instance was started, in
	// user and kernel mode. From a tree it can also become less: what a process
	// used that was waited for by nobody of the instance is forgotten with it.
	CPU time.Duration
	// Memory is in bytes: of a cgroup all that is charged to it, page cache too;
	// of a tree the sum of what is resident, so that shared pages count for each.
	Memory int64
	// Descriptors are the open ones; -1 where that may not be read.
	Descriptors int
	Processes   int
	Source      UsageSource
}

// UsageSource is where CPU and memory were read. Descriptors and processes are
// counted, always.
type UsageSource string

// The sources.
const (
	UsageOfCgroup UsageSource = "Cgroup"
	UsageOfTree   UsageSource = "Tree"
)

// Meter reads usage; the zero value is ready. Its methods may be called from many
// goroutines.
type Meter struct{}

// Read gives the usage of each instance, nil for one of which nothing runs any
// more or whose reading blocks. It fails with ErrNoUsage where usage cannot
// be read at all, and with that of ctx, which it heeds between two instances.
func (Meter) Read(ctx context.Context, instances []*Instance) ([]*Usage, error) {
	if err := usageSupported(); err != nil {
		return nil, err
	}
	out := make([]*Usage, len(instances))
	for i, in := range instances {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = readUsage(in)
	}
	return out, nil
}

// idents are the processes that are counted: what is known to belong to the
// instance, and not what cannot be told.
func (in *Instance) idents() []Ident {
	ids := make([]Ident, 0, 1+len(in.Members))
	if in.Main != nil {
		ids = append(ids, in.Main.Ident)
	}
	for _, m := range in.Members {
		ids = append(ids, m.Ident)
	}
	return ids
}

// statUsage is what proc_pid_stat(5) says of the use of one process.
type statUsage struct {
	start uint64 // field 22, in ticks since boot
	cpu   uint64 // in ticks: its own, and of its children that it has waited for
	rss   int64  // in pages
}

// The fields of proc_pid_stat(5) that tell of use.
const (
	fieldUTime  = 14
	fieldCSTime = 17 // 15 is stime, 16 cutime
	fieldRSS    = 24
)

// parseStatUsage reads the content of /proc/PID/stat; see parseStat. That the
// time of children counts keeps the sum over a tree from going back when one of
// them ends.
func parseStatUsage(b []byte) (u statUsage, ok bool) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 || end+2 >= len(b) {
		return u, false
	}
	rest := b[end+2:]
	for field := fieldState; field <= fieldRSS; field++ {
		var word []byte
		word, rest = nextWord(rest)
		if field < fieldUTime {
			continue
		}
		n, valid := parseInt(word)
		switch {
		case field <= fieldCSTime:
			u.cpu += uint64(max(n, 0))
		case field == fieldStart:
			u.start = uint64(n)
		case field == fieldRSS:
			return statUsage{u.start, u.cpu, max(n, 0)}, valid
		}
		// The fields between may be larger than what a number here can be (25 is
		// RLIM_INFINITY), and are not asked for.
	}
	return u, false
}

// parseCPUStat gives the microseconds of a cgroup v2's cpu.stat (kernel
// documentation, cgroup-v2.rst):
//
//	usage_usec 8340712
//	user_usec 6101223
//	system_usec 2239489
func parseCPUStat(b []byte) (time.Duration, bool) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, newline)
		if digits, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
			n, ok := parseInt(digits)
			return time.Duration(n) * time.Microsecond, ok && n >= 0
		}
	}
	return 0, false
}

// parseCount reads a file with one number, as memory.current (cgroup v2),
// memory.usage_in_bytes and cpuacct.usage (v1, nanoseconds) are.
func parseCount(b []byte) (int64, bool) { return parseInt(bytes.TrimSuffix(b, newline)) }

// cgroupOf gives the path of a process in the v1 hierarchy that has a controller,
// from the content of /proc/PID/cgroup (cgroups(7)):
//
//	4:memory:/user.slice/a.scope
//	2:cpu,cpuacct:/user.slice/a.scope
func cgroupOf(b []byte, controller string) string {
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, newline)
		_, rest, _ := bytes.Cut(line, []byte{':'})
		names, path, _ := bytes.Cut(rest, []byte{':'})
		for name := range bytes.SplitSeq(names, []byte{','}) {
			if string(name) == controller {
				return string(path)
			}
		}
	}
	return ""
}
