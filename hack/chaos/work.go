//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// keys is how many workloads there are at most, slots how many files.
const (
	keys  = 8
	slots = 4
)

// grace is the grace period of every workload, in seconds.
const grace = 1

// tagMark stands in a plan for the tag of a run, which is not of the seed.
const tagMark = "@TAG@"

// work is one workload as its manifest asks for it.
type work struct {
	key, rev int // the revision is new with each change that restarts it
	shape    int // which of the shapes below
	replicas int
	suspend  bool
	keep     bool // onControllerExit: Keep
	group    bool // killMode: Group
	port     bool
	policy   string // restartPolicy
	backoff  string // backoff.initial
}

// wanted is how many main processes it asks for.
func (w *work) wanted() int {
	if w == nil || w.suspend {
		return 0
	}
	return w.replicas
}

// A shape is a shell script. MAIN and MEMBER become numbers for sleep(1) that
// say whose process it is (see tagged); members add the pid of the main process
// as a second operand, which tells the instance even where the environment is
// cleared and session, group and parent are others.
type shape struct {
	name, script string
	// escapes: a member leaves group and session.
	escapes bool
	// finishes: SIGUSR1 makes the main process end with exit code 0.
	finishes bool
}

const loop = "trap 'exit 0' USR1; while :; do sleep MEMBER $$ & wait $!; done"

var shapes = []shape{
	{name: "single", script: "exec sleep MAIN"},
	{name: "pair", script: loop, finishes: true},
	{name: "family", script: "sleep MEMBER $$ & sh -c 'sleep MEMBER '$$'; :' & " + loop, finishes: true},
	{name: "other session", script: "setsid sleep MEMBER $$ & " + loop, escapes: true, finishes: true},
	{name: "daemon", script: "(setsid sh -c 'sleep MEMBER '$$' &' &); " + loop, escapes: true, finishes: true},
	{name: "deaf main", script: "trap '' TERM; while :; do sleep MEMBER $$ & wait $!; done"},
	{name: "deaf member elsewhere", script: "(trap '' TERM; exec setsid sleep MEMBER $$) & " + loop, escapes: true, finishes: true},
	{name: "cleared member", script: "env -i sleep MEMBER $$ & " + loop, finishes: true},
}

// role says what part a process plays in its instance.
const (
	roleMain   = 1
	roleMember = 2
)

// tagged is the number by which a process is known: the tag of the run before
// the point, key, revision and role after it.
func (w *work) tagged(role int) string {
	return fmt.Sprintf("%s.%02d%06d%d", tagMark, w.key, w.rev, role)
}

func kindOf(key int) string { return [...]string{"Agent", "MCPServer"}[key%2] }

func nameOf(key int) string { return "chaos-w" + strconv.Itoa(key) }

// script is what /bin/sh is given. The leading word makes each shell of it known
// by its command line.
func (w *work) script() string {
	s := strings.NewReplacer("MAIN", w.tagged(roleMain), "MEMBER", w.tagged(roleMember)).Replace(shapes[w.shape].script)
	return ": " + w.tagged(roleMain) + "; " + s
}

// manifest is the document of the workload.
func (w *work) manifest() string {
	onExit, mode, ports := "Stop", "Tree", ""
	if w.keep {
		onExit = "Keep"
	}
	if w.group {
		mode = "Group"
	}
	if w.port {
		// Nobody listens on it: without a probe that says otherwise no replica would
		// ever be ready, and none but the first be replaced.
		ports = "  ports: [{name: http, port: 0}]\n  readinessProbe: {exec: {command: [/bin/true]}, periodSeconds: 1}\n"
	}
	return fmt.Sprintf(`apiVersion: proc-controller.dev/v1alpha1
kind: %s
metadata:
  name: %s
spec:
  command: [/bin/sh, -c, %s]
  env: [{name: CHAOS_REV, value: "%d"}]
  replicas: %d
  suspend: %v
  restartPolicy: %s
  backoff: {initial: %s, max: 200ms, factor: 2, resetAfter: 1m}
  terminationGracePeriodSeconds: %d
  onControllerExit: %s
  killMode: %s
  scope: %s
%s`, kindOf(w.key), nameOf(w.key), strconv.Quote(strings.ReplaceAll(w.script(), "$", "$$")),
		w.rev, w.replicas, w.suspend, w.policy, w.backoff, grace, onExit, mode, scopeMark, ports)
}
