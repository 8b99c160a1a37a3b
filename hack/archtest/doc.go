// Package archtest holds the rules that keep the rooms of this project apart:
// who may import whom, what the pure rooms may not touch, and how things are
// named. It has tests only.
//
// Start reading at rules_test.go: each rule is a function from source files to
// complaints. arch_test.go runs them over the whole tree, and over small files
// that break each of them.
package archtest
