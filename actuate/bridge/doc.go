// Package bridge stands between a stdio MCP server and its clients: it runs the
// server, and offers it at one loopback address over Streamable HTTP, in both eras of
// MCP, whichever the server itself speaks.
//
// One server for all (sharing Shared): it is greeted once, by the bridge, which offers
// it no capabilities of a client, so that it asks nobody back. Each request gets an id
// of the bridge's own; what comes back is told apart by that. What the server says by
// itself goes to the sessions that it concerns, and nowhere if that cannot be told.
//
// A server for each session (PerSession): it is greeted with what the client has said,
// and may ask that client. Clients of the modern era have no session, so that those
// share one, which is started when the first of them comes.
//
// Three rules hold everywhere. The goroutine that hears the server waits for nobody:
// streams are bounded, and who does not read loses what is old, or is cut off.
// Everything that waits has a deadline or ends with the server, whose end answers all
// that was asked of it. And what passes through stays as it is, byte by byte, but for
// the envelope.
//
// Start reading at bridge.go (the whole) and keeper.go (how a server is kept running;
// start.go: how it is greeted; process.go: how it ends). peer.go and hear.go are the
// conversation with one process, audience.go and topics.go who hears what it says by
// itself. http.go lets clients in, legacy.go and modern.go are the two eras,
// sessions.go, session.go, request.go and questions.go sessions, what they ask and what
// they are asked, stream.go and answer.go what is sent back.
// translate.go and inputs.go turn one era into the other.
package bridge
