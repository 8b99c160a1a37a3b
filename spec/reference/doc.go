// Package reference says what there is to know of each field of a manifest: its
// type, default, bounds, what a change does, and the words of its comment in
// spec. The command line, the JSON Schema for editors and docs/manifests.md are
// made of it, so that they cannot say different things.
//
// It decides nothing: what is valid is decided by spec, and tests hold the two
// together. Like spec it is pure.
//
// Start reading at field.go, which makes the tree of fields from the Go types;
// defaults.go and bounds.go say how the rest is known, schema.go and page.go lay
// it out. comments.go, manifests/schema and docs/manifests.md are generated: run
// hack/generate after a change.
package reference
