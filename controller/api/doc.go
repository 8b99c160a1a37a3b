// Package api is how the outside asks a running controller what it sees, and what it
// is to do: a small HTTP/JSON server on a unix socket, where it was asked for on a port
// of the loopback too, and the client that the command line uses.
//
// Every answer is made from one controller.View, which the loop hands out between two
// steps, so an answer is never a mix of two moments. Who watches is told what is other
// than it was told last (watch.go), from snapshots that all watchers share
// (snapshots.go). What should run is said in the manifests: only what is no matter of
// theirs can be asked for (actions.go, upgrade.go).
//
// The socket lies in a directory of the user's own, and both ends check the uid of the
// other; on a port a token has to be shown, and Host and Origin are checked
// (loopback.go, token.go). Nothing here knows why a workload is as it is; that stands in
// its status.
//
// Start reading at types.go (what goes over the wire), then handler.go (which path gives
// what) and operation.go (what is said of it in the OpenAPI document), server.go (how
// long, how many), stream.go (what goes on), client.go and follow.go.
package api
