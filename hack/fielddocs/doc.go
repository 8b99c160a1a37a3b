// Fielddocs reads the doc comments of the manifest types in spec/ and writes
// them as Go source to standard output: a program has no access to its own
// comments. hack/generate puts the output into spec/reference/comments.go.
//
// Start reading at collect.go.
package main
