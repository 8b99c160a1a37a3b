// Package observe says what is: the process table, the identity of the
// processes in it, and who listens on which port.
//
// It reads and never writes, and it never signals. Its parsers are pure and are
// tested on every system; what asks the kernel stands in a file per system.
//
// Start reading at process.go (one process and the verdict on it), then
// snapshot.go (all of them at one moment), then identity.go (how the verdict
// comes about) and scan_linux.go (where the bytes come from).
package observe
