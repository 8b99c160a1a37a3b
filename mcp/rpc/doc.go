// Package rpc is what travels between MCP clients and servers, as bytes: JSON-RPC
// 2.0 messages, one a line on a pipe or as events of a stream over HTTP.
//
// It is pure: it reads from what it is given and knows no process, no socket and no
// clock. Nothing is decoded that nobody asks for: of a message only the envelope is
// looked at, and parameters and results stay the bytes that they were, however
// large they are, so that what passes through is what was sent.
//
// Start reading at message.go (the envelope), then id.go (what makes two ids the
// same), object.go (to look into an object and to change it without decoding it),
// error.go (the codes), line.go (messages on a pipe) and event.go (messages in an
// event stream).
package rpc
