// Package scope fences a child in: it gives it a cgroup of its own, through the
// systemd user manager or directly in a delegated subtree, so that an
// out-of-memory kill takes one server and that nothing can escape a stop.
//
// It prepares a fence before a start, verifies after it that the child is
// really inside, and later kills, counts and removes what is in a cgroup of
// ours. It starts nothing itself: a Runner does. It never touches a cgroup
// whose name is not one that observe.ScopeName gives.
//
// Start reading at fence.go (one start), then systemd_linux.go and
// cgroup_linux.go (the two kinds of fence) and members_linux.go (a stop).
package scope
