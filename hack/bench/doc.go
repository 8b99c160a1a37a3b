//go:build linux

// Command bench measures how fast the controller is, each figure beside the bare
// floor of the machine in the same run and, where they are installed, beside
// other supervisors. README.md says how to read the table.
//
//	go run ./hack/bench [-run REGEX] [-n SAMPLES] [-bin PATH] [-o table|json]
//
// Start reading at figures.go (what is measured against which target), then
// supervisor.go (what is asked of each subject) and ours.go and floor.go (the
// two that matter).
package main
