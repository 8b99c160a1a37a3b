// Package prefault has the memory that a short command is going to touch mapped at
// once, before the packages of the program make their tables: a start touches some
// five hundred pages, and each is a page fault of its own. Under a hypervisor a fault
// can take 20 to 40 microseconds, and they are most of what a command takes; where a
// fault is cheap, the two calls cost about what they save.
//
// It does so when it is imported, and on Linux alone. Packages are made ready in the
// order of their paths, as soon as what they import is: this one imports syscall alone,
// and so comes before most. For a process that stays it has the opposite: Drop. See
// docs/decisions/0018.
package prefault
