package observe

import (
	"net/netip"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// Snapshot is the process table at one moment, as far as it concerns one owner.
//
// A Snapshot and everything that it points to are never modified after they
// were handed out; the With methods give a new one.
type Snapshot struct {
	// Complete says that a full scan has succeeded. Until then nothing may be
	// decided from the snapshot.
	Complete bool
	// Err is why the last scan failed; the rest is then what was known before.
	Err error
	// Began is when the scan began to read. What ended before it and left
	// members shows them; what ended after it has still to be looked at.
	Began time.Time
	// Instances of this owner, sorted by key, then start tick, then name.
	Instances []*Instance
	// Others are processes with a marker of ours that belong to no instance of
	// this owner: another owner's, look-alikes, and what cannot be told.
	Others []*Process
	// Unattributed were re-parented to us and belong to no known instance. Those
	// that are Ours came from something that we have started: they may be ended
	// with it.
	Unattributed []*Process
	// Processes counts what the process table held, of whomever.
	Processes int
	// Unreadable counts processes that could not be read and that no witness
	// connects with us. They block nothing.
	Unreadable int
	// Blocked are pids whose reading did not come back in time.
	Blocked []int
	// Users are the workloads of which the scan knew that they run as another
	// user than the controller, and as whom; the loop sets it. What a scan that
	// did not know it says of the processes of such a workload proves nothing.
	Users map[spec.Key]string
	// Listeners says for each TCP port that was asked about who listens on it,
	// and when that was read. A port that nobody listens on has an entry with
	// Listening false. WithListeners adds to it and keeps what is there.
	Listeners map[uint16]Listener
}

// Instance is one spawn of a workload with every process that is known to
// belong to it.
type Instance struct {
	Key    spec.Key
	ID     spec.Instance
	Hash   spec.Hash
	OnExit spec.OnControllerExit
	Ports  spec.PortMap
	// Main is the main process while it lives, else nil.
	Main *Process
	// LastMain is the ident of the main process, also when it is gone. Its pid
	// is the group and the session of the instance.
	LastMain Ident
	// EndedAt is when the end of the main process was noticed; zero while it
	// lives. Members are proven gone only by a scan that began after it.
	EndedAt time.Time
	// Members are the verified processes beside Main.
	Members []*Process
	// Doubtful are processes that cannot be told but that a witness connects
	// with this instance: they prevent a twin and are never signalled.
	Doubtful []*Process
	// UID is the user that it was started as, where that is another than the
	// controller's; 0 is the controller's own. (Only root can start as another.)
	UID uint32
	// StartedAt is the wall time of the spawn (from the start tick, if the
	// instance was adopted).
	StartedAt time.Time
	Scope     Scope
	// Log is the path of the output file; empty where it is not known.
	Log string
	// Program is the file that was executed, as it was then; zero where it was
	// not spawned in this life of the controller.
	Program spec.ProgramFile
	// Child says that we spawned it in this life of the controller and so have
	// its exit status from wait; otherwise it was adopted.
	Child bool
}

// Live says that the main process runs.
func (in *Instance) Live() bool { return in.Main != nil }

// ScopeMode is how an instance is fenced in.
type ScopeMode string

// The scope modes.
const (
	ScopeSystemd ScopeMode = "systemd"
	ScopeCgroup  ScopeMode = "cgroup"
	ScopeOff     ScopeMode = "off"
)

// Scope is the fence around an instance.
type Scope struct {
	Mode ScopeMode
	// Unit is the systemd unit, Cgroup the path below the cgroup v2 mount.
	Unit, Cgroup string
	// Note says why there is none, or what of it could not be had.
	Note string
	// LimitsNotApplied says that resources were asked for and are not in force.
	LimitsNotApplied bool
}

// Listener is what is known of one TCP port.
type Listener struct {
	Port uint16
	// Listening says that somebody does; At is when that was read. Both are
	// set by WithListeners.
	Listening bool
	At        time.Time
	// Addr is the local address in text: 127.0.0.1, ::, ...
	Addr string
	// Holders are the processes that have it open; empty where that cannot be
	// told (another user's).
	Holders []Ident
	Command string // of the first holder
	UID     uint32
	User    string // name of UID; the number where it has none
}

// Exposed says that other machines can reach it: it listens on more than the
// loopback addresses.
func (l Listener) Exposed() bool {
	addr, err := netip.ParseAddr(l.Addr)
	return err == nil && !addr.IsLoopback()
}

// Exit is the end of a main process.
type Exit struct {
	Ident
	// Known says that Code and Signal are right; without it only the end is.
	Known   bool
	Code    int // -1 where a signal ended it
	Signal  int // 0 where it exited
	OOM     bool
	At      time.Time
	Message string // why it is not known
	// Alone says that, when the end was noticed, nothing was left of what the
	// process had started: no process in its group, and none that was handed to
	// us as an orphan. No scan has to prove it then.
	Alone bool
}

// Witness is what is known of an instance beside what environments say.
//
// One without an ID is about the workload. With User it says who its manifest has
// it run as, in the form of the manifest; without, that something is being
// started, or was, that is no known instance: an orphan may have come from there.
type Witness struct {
	Key    spec.Key
	ID     spec.Instance
	User   string
	UID    uint32 // as Instance.UID
	Hash   spec.Hash
	OnExit spec.OnControllerExit
	Main   Ident // the main process, alive or not
	Cgroup string
	// Handle says that a handle has been held since the spawn (or since a
	// verified adoption), so that Main cannot be somebody else.
	Handle bool
	// Ledger says that it comes from the ledger of this boot.
	Ledger bool

	// HeldUntil is the tick of the boot clock until which Main was a child that
	// nobody had reaped, alive or not; zero where that is not known. Until then
	// its pid was nobody else's, and so was the session that it leads.
	HeldUntil uint64

	// What follows is no witness: a scan cannot see it and hands it on to the
	// instance. Zero where it is not known.
	Ports     spec.PortMap
	StartedAt time.Time
	Scope     Scope
	Log       string
}

// Depth is how much a scan reads again.
type Depth uint8

const (
	// Look reads processes that are new since the last scan, and what is known
	// of instances whose main process has ended. It proves that nothing is left.
	Look Depth = iota
	// Resync looks, and checks of every known process that it is still the
	// same.
	Resync
	// Full reads everything again.
	Full
)

// Sent is the record of one signal: what the event log shows.
type Sent struct {
	Target   Ident
	Group    bool // sent to the process group that Target leads
	Signal   int
	Evidence []string
	// Err is why it was not sent, or "" if it was.
	Err string
}
