//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"
)

// kind is what an operation does.
type kind string

// The operations. Those on files carry what to write; those on processes carry
// a number by which one of those that are there is picked.
const (
	opEdit       kind = "edit"           // another program: replaces
	opTouch      kind = "touch"          // the same meaning in other words: restarts nothing
	opScale      kind = "scale"          // another count, or suspended
	opRemove     kind = "remove"         // a workload from its file
	opAdd        kind = "add"            // a workload
	opRename     kind = "rename"         // a file
	opMove       kind = "move"           // a workload to another file
	opBreak      kind = "break"          // a file: stops nothing
	opMend       kind = "mend"           // a broken file
	opDropDir    kind = "drop directory" // of manifests: stops nothing
	opMakeDir    kind = "make directory" // again
	opKillMain   kind = "kill main"      // with SIGKILL
	opFinishMain kind = "finish main"    // with exit code 0
	opKillMember kind = "kill member"    // with SIGKILL
	opFreeze     kind = "freeze"         // a process, with SIGSTOP
	opThaw       kind = "thaw"           // all frozen ones of a workload
	opKillGuard  kind = "kill guard"     // with SIGKILL
	opCrash      kind = "crash"          // the controller, with SIGKILL
	opCrashBoth  kind = "crash both"     // guard and controller
	opLaunch     kind = "launch"         // the controller
	opRestart    kind = "restart"        // the controller, gracefully
	opUpgrade    kind = "upgrade"        // the controller, by the binary on the disk: restarts nothing
	opDropState  kind = "drop state"     // the state directory
)

// manner is how a file is written.
type manner string

// The manners of writing: by rename, in place, in place with a rest in the
// middle, or away and new as `git checkout` does it.
const (
	byRename manner = "rename"
	inPlace  manner = "in place"
	inHalves manner = "in halves"
	anew     manner = "anew"
)

// write is one change of a file: new content, or none where it is removed.
type write struct {
	name, content string
	how           manner
}

// op is one operation of a round.
type op struct {
	kind   kind
	key    int // -1 where it concerns none
	pick   int // which of the processes that are there
	writes []write
	// wait: the next operation comes after a crash not before everything of the
	// dead controller is gone, and after an upgrade not before it is done.
	wait  bool
	pause time.Duration // afterwards
}

func (o op) String() string {
	var b strings.Builder
	b.WriteString(string(o.kind))
	if o.key >= 0 {
		fmt.Fprintf(&b, " %s", nameOf(o.key))
	}
	switch o.kind {
	case opKillMain, opFinishMain, opKillMember, opFreeze:
		fmt.Fprintf(&b, " #%d", o.pick)
	case opCrash, opCrashBoth, opUpgrade:
		fmt.Fprintf(&b, " (wait: %v)", o.wait)
	}
	for _, w := range o.writes {
		if w.content == "" {
			fmt.Fprintf(&b, "; remove %s", w.name)
			continue
		}
		fmt.Fprintf(&b, "; write %s %s (%d bytes)", w.name, w.how, len(w.content))
	}
	if o.pause > 0 {
		fmt.Fprintf(&b, "; pause %v", o.pause)
	}
	return b.String()
}

// round is a burst of operations, and what must be so after it.
type round struct {
	number int
	ops    []op
	want   [keys]*work // nil: not wanted
	// altered are keys whose manifest was changed in a way that may restart.
	altered [keys]bool
}
