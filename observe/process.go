package observe

import (
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// Ident is one process on this boot: a pid is used again, a pid together with
// its start tick is not.
type Ident struct {
	PID int `json:"pid"`
	// Start is field 22 of proc_pid_stat(5): ticks of sysconf(_SC_CLK_TCK)
	// since boot. On macOS it is microseconds since the epoch.
	Start uint64 `json:"startTick"`
}

// IsZero says that there is no process.
func (i Ident) IsZero() bool { return i.PID == 0 }

func (i Ident) String() string { return fmt.Sprintf("pid %d (start tick %d)", i.PID, i.Start) }

// Verdict is what can be said about whose a process is.
type Verdict uint8

// The verdicts. Only Ours is ever signalled.
const (
	CannotTell Verdict = iota
	NotOurs
	Ours
)

func (v Verdict) String() string { return [...]string{"CannotTell", "NotOurs", "Ours"}[v] }

// MarshalText gives the name of the verdict.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Role is the part that a process has in its instance.
type Role uint8

// The roles. A process without an instance has none.
const (
	NoRole Role = iota
	Main
	Descendant
)

func (r Role) String() string { return [...]string{"", "main", "descendant"}[r] }

// MarshalText gives the name of the role.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Process is one process as a scan saw it.
type Process struct {
	Ident
	PPID, PGID, SID int
	State           byte // the letter of proc_pid_stat(5)
	Threads         int
	UID, EUID       uint32
	Markers         spec.Markers
	// Command is the name for a person: at most 15 bytes of comm.
	Command string
	// Cgroup is the path in the cgroup v2 hierarchy, for processes that a
	// scope may hold; else empty.
	Cgroup   string
	Verdict  Verdict
	Evidence []string // in words, for and against
	Role     Role
	// Key and Instance are what the process is taken to belong to, by markers
	// or by another witness. Zero where there is no such claim.
	Key      spec.Key
	Instance spec.Instance
}

// Dead says that nothing of the process runs any more: a zombie whose other
// threads have ended too. (A main thread may exit while others run on.)
func (p *Process) Dead() bool {
	return p.State == 'X' || p.State == 'Z' && p.Threads <= 1
}
