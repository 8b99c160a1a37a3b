// Testsum reads what `go test -json` writes and turns it into a verdict: the
// output of what failed, a line for each package, and a closing count.
//
//	go test -json ./... | testsum [-no-skip]
//
// `go test` is content with a package whose tests were all skipped, or that ran
// none. Testsum is not: a package with test files that ran no test to its end
// fails, and with -no-skip so does each single skip. It exits 1 if anything
// failed, 2 for wrong usage.
//
// Start reading at summary.go.
package main
