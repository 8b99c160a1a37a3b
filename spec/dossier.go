package spec

import "time"

// Dossier is what is kept of an unplanned death: how it ended, what it said last,
// and what is other than it was when all went well. There is never the value of a
// variable in it.
type Dossier struct {
	Key      Key      `json:"key"`
	Instance Instance `json:"instance"`
	PID      int      `json:"pid,omitempty"`
	Hash     Hash     `json:"hash,omitempty"`
	// Termination is how it ended; of its output there are more lines below.
	Termination
	// OOMKilled says that the kernel has killed a process of its cgroup for want
	// of memory (memory.events).
	OOMKilled bool     `json:"oomKilled,omitempty"`
	Uptime    Duration `json:"uptime"`
	// Output are the last lines that it wrote, at most 20, the newest last.
	Output []string `json:"output,omitempty"`
	// Probe is what the probe said that failed last, if none has succeeded since.
	Probe string `json:"probe,omitempty"`
	// Changes is what is other than in the last good run; nil where no good run is
	// known.
	Changes *Changes `json:"changes,omitempty"`
	// NextRetry is when it is started again at the earliest; zero where it is not.
	NextRetry time.Time `json:"nextRetry,omitzero"`
}

// Changes is what a run has other than the last good one. All of it may be empty:
// then nothing that is known of has changed.
type Changes struct {
	// LastGood is the run that this one is compared with, GoodSince when it was
	// started.
	LastGood  Instance  `json:"lastGood"`
	GoodSince time.Time `json:"goodSince"`
	// Spec are the paths of the fields that differ, and the files that they name.
	Spec []string `json:"spec,omitempty"`
	// Program is the file that is executed; nil where it is the same.
	Program *ProgramChange `json:"program,omitempty"`
	// EnvAdded and EnvRemoved are names of variables.
	EnvAdded   []string `json:"envAdded,omitempty"`
	EnvRemoved []string `json:"envRemoved,omitempty"`
}

// ProgramChange is one program file in the place of another.
type ProgramChange struct {
	Was ProgramFile `json:"was"`
	Is  ProgramFile `json:"is"`
}

// ProgramFile is the file that was executed, as it was then. For a script it is
// the script.
type ProgramFile struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"` // bytes
	ModTime time.Time `json:"modTime"`
	Inode   uint64    `json:"inode"`
}

func (p ProgramFile) same(q ProgramFile) bool {
	return p.Path == q.Path && p.Size == q.Size && p.Inode == q.Inode && p.ModTime.Equal(q.ModTime)
}
