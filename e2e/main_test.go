//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The binaries under test, built once per run, and the top of the project.
var (
	controllerBinary string
	clockBinary      string
	projectDir       string
)

// runMarker is in the environment of every process that a run of these tests
// starts, and runID is its value: the last look for leftovers goes by it.
const runMarker = "E2E_RUN"

var runID = strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && payloads[os.Args[1]] != nil {
		os.Exit(payloads[os.Args[1]](os.Args[2:]))
	}
	if name := os.Getenv(payloadVariable); name != "" {
		os.Exit(payload(name))
	}
	os.Exit(runTests(m))
}

// runTests builds, runs, and looks for what was left behind.
func runTests(m *testing.M) int {
	bin, err := os.MkdirTemp("", "e2e-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	if err := build(bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// What is ignored here (nohup) would be ignored by every controller.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	code := m.Run()
	if err := stopUserManager(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if left := leftovers(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "left behind by the tests: %v\n", left)
		for _, p := range left {
			end(p)
		}
		code = 1
	}
	return code
}

// build compiles the controller and the example server into dir. If this test
// binary has the race detector, so does the controller.
func build(dir string) error {
	if path := os.Getenv(insideVariable); path != "" {
		controllerBinary = path
		return nil
	}
	var err error
	if projectDir, err = filepath.Abs(".."); err != nil {
		return err
	}
	args := []string{"build", "-buildvcs=false", "-o", dir + "/"}
	if raceDetector {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/proc-controller", "./examples/clock-server")...)
	cmd.Dir = projectDir
	if !raceDetector {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build: %w\n%s", err, out)
	}
	controllerBinary = filepath.Join(dir, "proc-controller")
	clockBinary = filepath.Join(dir, "clock-server")
	// Tests that run the controller as another user must be able to reach it.
	return os.Chmod(dir, 0o755)
}

// leftovers waits a moment for what is just ending, and gives what stays.
func leftovers() []proc {
	var left []proc
	_ = within(context.Background(), 3*time.Second, func() error {
		left = living(func(p proc) bool {
			return p.pid != os.Getpid() && (p.has(runMarker, runID) || strings.Contains(commandLine(p.pid), runID))
		})
		if len(left) > 0 {
			return fmt.Errorf("%d left", len(left))
		}
		return nil
	})
	return left
}
