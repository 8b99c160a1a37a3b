// Clock-server is a small MCP server for the example manifests: it tells the
// time and repeats what it is told.
//
// It shows how a server looks that gets along with proc-controller: it takes
// its port from $PORT, listens on the loopback address only, writes what it has
// to say to stderr, and ends with status 0 when it is sent SIGTERM. It speaks
// MCP over Streamable HTTP at /mcp and is built on the official Go SDK.
//
// It knows nothing of proc-controller and imports nothing of it. Start reading
// at main.go, then tools.go.
package main
