// Package e2e drives the built binary on a real machine: it writes manifests,
// sends signals to the controller, and looks at what becomes of processes,
// files, ports and output. It imports nothing of the product.
//
// What is running is judged by an observer of its own (proctable_test.go) that
// reads /proc itself, so that a mistake in the product's scan cannot hide
// behind the same mistake here; what has no markers left is found by its command
// line. A rig (rig_test.go) is one controller with
// directories, a socket and an owner of its own; at the end of each test
// nothing of that owner may be left. Child programs are sleep, sh, and this
// test binary itself (payload_test.go).
//
// The tests run on Linux. Those with a systemd user manager and with mounts
// need root, those with npx need node and npm; where that is missing they skip
// and say why, which hack/test takes for a failure when
// PROC_CONTROLLER_NO_SKIP=1 is set.
package e2e
