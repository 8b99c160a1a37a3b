//go:build linux

// Chaos torments a real controller and looks whether what it promises still
// holds: only what is wanted runs, all of it, nothing of a dead instance is
// left, and nobody else was ever signalled.
//
//	make chaos ARGS='-duration 1h'
//	go run ./hack/chaos -seed 42 -rounds 7 -v
//	go run ./hack/chaos -scopes systemd -seed 42 -rounds 7
//
// A run goes in rounds. Each is a burst of operations (edits, broken files,
// crashes of children, of the controller and of its guard, upgrades), and then a quiet
// point, at which everything must come right within a bounded time and stay so.
// The stream of operations is a pure function of the seed: with the seed that a
// failing run prints, the same things happen in the same order again, with each
// workload in a scope of its own or without.
//
// What runs is judged by an observer that reads /proc itself and shares nothing
// with the product: it goes by command lines, which the product never looks at.
//
// Start reading at plan.go (the stream), then work.go (what the workloads are
// made of), chaos.go (the rounds), look.go (what is seen) and judge.go (what is
// wrong with it).
package main
