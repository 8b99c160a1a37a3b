package source

import (
	"io/fs"
	"time"
)

// stamp is what tells one content of a file from another without reading it,
// together with what trust is judged by. Stamps are compared with ==.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds since the epoch
	mode         fs.FileMode
	uid, gid     uint32
}

// lastChange is the later of modification and status change. The latter cannot
// be set back by a user, where the system has it.
func (st stamp) lastChange() time.Time { return time.Unix(0, max(st.mtime, st.ctime)) }

// sameFile tells whether two stamps are of one file or directory.
func (st stamp) sameFile(o stamp) bool { return st.dev == o.dev && st.ino == o.ino }
