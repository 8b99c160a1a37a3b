// Package api is how the outside asks a running controller what it sees: a
// small HTTP/JSON server on a unix socket, and the client that the command line
// uses.
//
// What should run stands in the manifests, which it never writes. A POST takes what
// is asked of the controller beside them: a restart, a suspension, the end of
// everything (actions.go), another program in its place (upgrade.go). Every answer is made from one controller.View, which the loop
// hands out between two steps, so an answer is never a mix of two moments. The
// socket lies in a directory of the user's own, and both ends check the uid of
// the other. Nothing here knows why a workload is as it is; that stands in its
// status.
//
// Start reading at types.go (what goes over the wire), then handler.go (which
// path gives what), server.go (how long, how many) and client.go.
package api
