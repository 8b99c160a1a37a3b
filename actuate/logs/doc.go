// Package logs is what the output files of workloads are to whoever reads them:
// how they are called, when each part of them was written, and their lines, from
// the end, from a time on, or as they come. It writes nothing but the times.
//
// A workload writes its file itself, so nobody stamps its lines. Instead whoever
// looks after the files keeps a second, small one beside each, which says how
// large the output was at which time (times.go): a line was written at about the
// first time at which the output reached beyond it.
//
// Readers must never hold up a writer: they take no lock, and let the kernel
// tell them of one write at a time at most (bell_linux.go). The oldest part of a
// file may be freed under them, and the instance may be replaced: follow.go goes
// through every run, one after the other, and loses or doubles no line.
//
// Start reading at read.go (what can be asked for), then run.go (which files
// there are), cursor.go (one file from some place on) and follow.go.
package logs
