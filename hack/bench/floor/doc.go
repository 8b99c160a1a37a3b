//go:build linux

// Command floor is the bare minimum of a process supervisor: it forks, executes,
// waits on pidfds by epoll, and nothing else. It reads no manifests, keeps no
// state and proves nothing. What it needs for a request is what any supervisor
// on this kernel has to pay; hack/bench prints every figure beside it.
//
// It takes requests as lines on stdin ("start NAME", "fill PREFIX COUNT") and,
// with -watch, as files renamed into a directory, whose names it takes for
// those of workloads. At the end of stdin or on SIGTERM it signals and reaps
// all its children and exits.
package main
