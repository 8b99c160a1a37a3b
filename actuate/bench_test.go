//go:build linux

package actuate

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// BenchmarkStart is one start after the other, until the program is executed
// and under watch; the end is not waited for. BenchmarkForkExec is its floor.
func BenchmarkStart(b *testing.B) {
	a := newActuator(b)
	e := entry(b, "/bin/true")
	b.ReportAllocs()
	for b.Loop() {
		in, err := a.Start(e, newToken(), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		<-a.Exits()
		a.Forget(in)
		b.StartTimer()
	}
}

func BenchmarkForkExec(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		pid := forkExec(b)
		b.StopTimer()
		_, _ = unix.Wait4(pid, nil, 0, nil)
		b.StartTimer()
	}
}

// forkExec is what nothing can be faster than.
func forkExec(b *testing.B) int {
	b.Helper()
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{
		Env: []string{"PATH=/bin:/usr/bin"}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	return pid
}

// BenchmarkStartThousand starts a thousand from a pool, as the controller does,
// and waits for their ends; beside it the bare loop.
func BenchmarkStartThousand(b *testing.B) {
	const n = 1000
	b.Run("actuate", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			a, err := New(Options{
				Owner: "bench", UID: os.Getuid(), StateDir: b.TempDir(), Scopes: scope.Off,
				Environ: []string{"PATH=" + os.Getenv("PATH")}, Log: logr.Discard(),
			})
			if err != nil {
				b.Fatal(err)
			}
			var entries [n]*spec.Entry
			for i := range entries {
				entries[i] = entry(b, "/bin/true")
				entries[i].Key.Name = fmt.Sprintf("work-%d", i)
			}
			b.StartTimer()
			startMany(b, a, func(i int) (*observe.Instance, error) { return a.Start(entries[i], newToken(), nil) })
			b.StopTimer()
			a.Close()
			b.StartTimer()
		}
	})
	b.Run("bare", func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for b.Loop() {
			for range n {
				forkExec(b)
			}
			for range n {
				_, _ = unix.Wait4(-1, nil, 0, nil)
			}
		}
	})
}

func startMany(b *testing.B, a *Actuator, start func(int) (*observe.Instance, error)) {
	b.Helper()
	const n = 1000
	jobs := make(chan int)
	late := make(chan int, n)
	for range 16 {
		go func() {
			for i := range jobs {
				in, err := start(i)
				if err != nil {
					panic(err)
				}
				tick, _ := in.ID.Tick()
				late <- int(in.LastMain.Start - tick)
			}
		}()
	}
	go func() {
		defer close(jobs)
		for i := range n {
			jobs <- i
		}
	}()
	beyond := 0
	for range n {
		if <-late > 2 {
			beyond++
		}
	}
	for range n {
		<-a.Exits()
	}
	b.ReportMetric(float64(beyond), "late-ticks")
}

// BenchmarkSignal is a SIGCONT to a group with everything that is verified
// before.
func BenchmarkSignal(b *testing.B) {
	a := newActuator(b)
	in := mustStart(b, a, entry(b, "sleep", "100"))
	b.ReportAllocs()
	for b.Loop() {
		if sent, err := a.Signal(in, int(unix.SIGCONT), "Tree"); err != nil || len(sent) != 1 {
			b.Fatal(sent, err)
		}
	}
}

// BenchmarkExit is from the kill of a child until its end is reported.
func BenchmarkExit(b *testing.B) {
	a := newActuator(b)
	e := entry(b, "sleep", "100")
	var total time.Duration
	for b.Loop() {
		in, err := a.Start(e, newToken(), nil)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		_, _ = a.Signal(in, int(unix.SIGKILL), "Tree")
		<-a.Exits()
		total += time.Since(began)
		a.Forget(in)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/exit")
}
