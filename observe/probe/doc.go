// Package probe asks a workload whether it works: it fetches a page, opens a
// connection, speaks MCP or A2A, or has a command run. A probe is one attempt
// (Func); how many have to fail, and what follows from it, is decided elsewhere.
//
// Whatever is at the other end is believed nothing. Each read has a bound, each
// attempt ends with its context, and each failure is one line that says what was
// asked and what came of it. A probe opens a connection and closes it: nothing
// of it is left, neither here nor, as a connection that waits out its time, on
// the port of the server. What is kept from one attempt to the next is the
// session with an MCP server, since one for each probe would pile up there, and
// the era of MCP that a program speaks.
//
// Nothing here judges who holds the port that is asked, and nothing here signals
// or spawns: commands are run by whom the Prober is given.
//
// Start reading at prober.go (what is asked of whom), then func.go and http.go.
// bridge.go asks after a stdio server; mcp.go is the walk of one MCP probe:
// mcp_dialogue.go has the two eras, mcp_sse.go the older transport, jsonrpc.go and
// eventstream.go what a probe makes of the messages and streams of mcp/rpc.
package probe
