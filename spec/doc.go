// Package spec says what a manifest means: kinds, strict decoding, defaults,
// validation, the restart hash, the marker variables and the environment of a
// child.
//
// It is pure. It opens no file, reads no clock and knows nothing of processes;
// what it needs from outside (the content of an env file, the home directory)
// comes in as an argument. Every other room imports it and it imports none.
//
// Start reading at object.go (the manifest as Go types), then decode.go (from
// bytes to objects and findings), set.go (what a source hands to the
// controller), marker.go (how a child is recognised) and environ.go (what it
// is started with).
//
// Decoding goes through four steps, each in a file: split.go cuts a file into
// documents, syntax.go parses one into YAML nodes, walk.go checks the nodes
// against the types (schema.go) and writes them as JSON for the strict decoder,
// validate.go checks the values.
package spec
