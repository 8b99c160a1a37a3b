package observe

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

func usageSupported() error {
	if !IdentitySupported() {
		return ErrNoUsage
	}
	return nil
}

// readUsage reads the use of one instance; nil where nothing of it runs any more,
// or the kernel does not answer.
func readUsage(in *Instance) *Usage {
	members := in.idents()
	if len(members) == 0 {
		return nil
	}
	u, err := once(func(r *reader) (*Usage, error) { return r.usage(in.ID, members), nil })
	if err != nil {
		return nil
	}
	return u
}

// usage adds up what the members use, and takes CPU and memory from their cgroup
// where they have one of their own that counts both.
func (r *reader) usage(id spec.Instance, members []Ident) *Usage {
	u := &Usage{At: time.Now(), Source: UsageOfTree}
	alive := 0
	for _, m := range members {
		if !r.addUsage(u, m) {
			continue
		}
		if alive == 0 {
			alive = m.PID
		}
	}
	if alive == 0 {
		return nil
	}
	membership, errno := r.read(int32(alive), "cgroup")
	if errno != 0 {
		return u
	}
	if cpu, memory, ok := usageOfCgroup(membership, id); ok {
		u.CPU, u.Memory, u.Source = cpu, memory, UsageOfCgroup
	}
	return u
}

// addUsage adds what one process uses, and says whether it is still there. What
// has ended and was not waited for yet counts with the time that it has used.
func (r *reader) addUsage(u *Usage, id Ident) bool {
	data, errno := r.read(int32(id.PID), "stat")
	if errno != 0 {
		return false
	}
	st, ok := parseStatUsage(data)
	whole, okWhole := parseStat(data)
	if !ok || !okWhole || st.start != id.Start {
		return false
	}
	u.CPU += time.Duration(st.cpu * tickLength())
	if p := (Process{State: whole.state, Threads: int(whole.threads)}); p.Dead() {
		return false
	}
	u.Processes++
	u.Memory += st.rss * int64(os.Getpagesize())
	n, errno := r.descriptors(int32(id.PID))
	switch {
	case errno == unix.EACCES || errno == unix.EPERM:
		u.Descriptors = -1
	case errno == 0 && u.Descriptors >= 0:
		u.Descriptors += n
	}
	return true
}

// descriptors counts the open descriptors of a process. Since Linux 6.2 the size
// of the directory is their number (proc_pid_fd(5)); before it is 0.
func (r *reader) descriptors(pid int32) (int, unix.Errno) {
	fd, errno := r.open(pid, "fd")
	if errno != 0 {
		return 0, errno
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Size > 0 {
		return int(st.Size), 0
	}
	total := 0
	for {
		n, err := unix.Getdents(fd, r.data)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			errno, _ := errors.AsType[unix.Errno](err)
			return total, errno
		}
		total += len(appendEntries(nil, r.data[:n])) // the names are numbers, but for . and ..
	}
}

// cgroupsHere are the hierarchies of this machine, as they were when they were
// first asked for.
var cgroupsHere = sync.OnceValue(func() cgroupMounts {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseCgroupMounts(string(content))
})

// usageOfCgroup reads what the cgroup of an instance counts, from the content of
// /proc/PID/cgroup of one of its processes: of cgroup v2, else of both hierarchies
// of v1.
func usageOfCgroup(membership []byte, id spec.Instance) (cpu time.Duration, memory int64, ok bool) {
	mounts := cgroupsHere()
	if dir := mounts.dir("", scopeAbove(parseCgroup(membership), id)); dir != "" {
		cpu, ok1 := readNumber(dir+"/cpu.stat", parseCPUStat)
		memory, ok2 := readNumber(dir+"/memory.current", parseCount)
		if ok1 && ok2 {
			return cpu, memory, true
		}
	}
	of := func(controller string) string {
		return mounts.dir(controller, scopeAbove(cgroupOf(membership, controller), id))
	}
	accounting, charged := of("cpuacct"), of("memory")
	if accounting == "" || charged == "" {
		return 0, 0, false
	}
	nanoseconds, ok1 := readNumber(accounting+"/cpuacct.usage", parseCount)
	memory, ok2 := readNumber(charged+"/memory.usage_in_bytes", parseCount)
	return time.Duration(nanoseconds), memory, ok1 && ok2
}

func readNumber[T any](name string, parse func([]byte) (T, bool)) (T, bool) {
	content, err := os.ReadFile(name)
	if err != nil {
		var none T
		return none, false
	}
	return parse(content)
}
