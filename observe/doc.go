// Package observe says what is: the process table, the identity of the
// processes in it, and who listens on which port.
//
// It reads and never writes, and it never signals. Its parsers are pure and are
// tested on every system; what asks the kernel stands in a file per system.
//
// Start reading at process.go (one process and the verdict on it), then
// snapshot.go (all of them at one moment) and scanner.go (how one becomes the
// other). Whose a process is, identity.go, gathering.go and descent.go decide,
// as pure functions of a table of sightings; facts.go says in words what speaks
// for and against. Where the bytes of that table come from, table_linux.go and
// reader_linux.go say. question.go is what a workload can be asked; the
// sub-package probe asks. usage.go is what an instance uses of the machine.
package observe
