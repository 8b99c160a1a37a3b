// Package source turns a watched directory of manifests into a spec.Set.
//
// Two things make it look: file events, which make it fast, and a poll, which
// makes it true. Both end in the same look at the same entry, so what an event
// said never matters, only what is in the directory now. The room reads; it
// never writes into the directory, and it decides nothing about processes: it
// says what is wanted and what stands against believing that something is not.
//
// One goroutine (Source.Run) owns all state. Reading and decoding many files
// is spread over workers, which share nothing and hand back a reading each.
//
// Start reading at source.go (the loop), then pass.go (one look at the whole
// directory), look.go (one look at one entry), file.go (what a reading does to
// what is known) and hold.go (when a key that vanished is believed gone).
package source
