package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proc-controller/proc-controller/observe"
)

// programs are what this test binary is besides, by the name that it is called by.
var programs = map[string]func(){program: main}

func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// TestScripts tells the behaviour of the program as command lines with what
// they print; see testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               privateHome,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// privateHome gives each script a home and a runtime directory of its own.
func privateHome(env *testscript.Env) error {
	home := env.WorkDir + "/home"
	env.Setenv("OWNER", fmt.Sprintf("%s-%d", filepath.Base(env.WorkDir), os.Getpid())) // for those that look at all processes
	env.Setenv("HOME", home)
	env.Setenv("XDG_RUNTIME_DIR", env.WorkDir+"/run")
	for _, unset := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "PROC_CONTROLLER_SOCKET", "PROC_CONTROLLER_SCOPES"} {
		env.Setenv(unset, "")
	}
	env.Defer(func() { endAll(env.Getenv("OWNER")) })
	return os.MkdirAll(home, 0o700)
}

// endAll ends what a script that failed has left of its owner.
func endAll(owner string) {
	seen, err := observe.ScanAll(context.Background(), observe.Viewpoint{UID: os.Getuid()})
	if err != nil {
		return // a system without processes of ours
	}
	for _, s := range seen {
		if string(s.Owner) != owner || s.Verdict != observe.Ours {
			continue
		}
		p, err := os.FindProcess(s.PID) // a handle, so what is verified now is what is killed
		if err == nil && observe.Verify(s.Ident) == nil {
			_ = p.Kill()
		}
	}
}

// eventually REGEXP COMMAND... runs a command until its standard output matches,
// for at most twenty seconds. Negated, until it does not match.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] eventually REGEXP COMMAND...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(20 * time.Second); ; <-tick.C {
		err := ts.Exec(args[1], args[2:]...) // it may fail until then
		out := ts.ReadFile("stdout")
		if want.MatchString(out) != neg && (err == nil || neg) {
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("still not so (%v), stdout:\n%sstderr:\n%s", err, out, ts.ReadFile("stderr"))
		}
	}
}
