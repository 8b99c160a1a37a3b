// Package journal keeps lines of JSON that should survive the controller: the
// ledger of what was spawned, the event log, the last good manifests.
//
// Nothing in it is believed: the process table is the truth, and all files may
// be deleted at any time. So no caller ever waits for the disk, and no failure
// of it reaches one: a disk that is full, read-only or gone is told once, and
// tried again until it works.
//
// The ledger has a mirror in memory, which the guard and the next image of this
// program share (mirror_linux.go).
//
// Start reading at journal.go, then file.go (what is on the disk), load.go,
// read.go, memory.go (the manifests) and statedir.go.
package journal
