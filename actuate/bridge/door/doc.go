// Package door is a stdio client's way to an MCP server that listens on a port: each
// line of standard input is a message that is sent to the server's endpoint, and what
// comes back is written to standard output, one message a line.
//
// It speaks Streamable HTTP as the revisions up to 2025-11-25 and as 2026-07-28 have
// it, and HTTP+SSE of 2024-11-05. The client speaks whichever era it likes: what is
// sent follows from each message, and nothing is translated.
//
// A server that is replaced is found again: the endpoint is looked up anew, what the
// client has told the former one (initialize, the log level, subscriptions) is told
// again, and the client hears of a change of the lists. A request that cannot have
// reached the former server is sent again, and so is one that changes nothing; any
// other is answered with an error that says so. No request is left without an answer.
//
// Start reading at door.go (Run), then intake.go (from the client), call.go (what
// becomes of a request), enter.go (how the server is found), streamable.go and sse.go
// (the two transports), memory.go (what is told again).
package door
