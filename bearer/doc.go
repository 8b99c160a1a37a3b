// Package bearer is about the token that a client shows to a server (RFC 6750): the
// file that holds it, and whether a request shows it.
//
// A token file is believed only as far as its owner has kept it to himself; how far
// that has to be, who reads it says. What cannot be read lets in nobody. Who checks
// requests keeps the token in memory as a sum, and no error and no log has any of it.
//
// Start reading at file.go (what a file has to be), then token.go (what a request
// shows) and watched.go (a file that may change).
package bearer
