package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// envServe makes the test binary a server for a benchmark, so that what is
// measured here is the probe alone.
const envServe = "PROBE_TEST_SERVE"

func playsPart() bool {
	if os.Getenv(envServe) == "" {
		return false
	}
	playServer()
	return true
}

// measure reports the CPU time of this process for each probe.
func measure(b *testing.B, q observe.Question) {
	p := newProber(b)
	mustAsk(b, p, q)
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	for b.Loop() {
		mustAsk(b, p, q)
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/op")
}

// elsewhere runs this binary as a server, in a process of its own.
func elsewhere(b *testing.B) *observe.Instance {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServe+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var base string
	if _, err := fmt.Fscanln(out, &base); err != nil {
		b.Fatal(err)
	}
	return instance(b, base)
}

// playServer serves both kinds of the benchmarks, until it is killed.
func playServer() {
	legacy := &legacyServer{unknown: http.StatusNotFound}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, strings.Repeat("fine ", 20))
			return
		}
		legacy.ServeHTTP(w, r)
	}))
	fmt.Println(s.URL)
	select {}
}

func BenchmarkHTTPGet(b *testing.B) { measure(b, question(elsewhere(b), get("/"))) }

func BenchmarkTCPSocket(b *testing.B) {
	measure(b, question(elsewhere(b), spec.Probe{TCPSocket: &spec.TCPSocketAction{Port: "http"}}))
}

func BenchmarkMCPPing(b *testing.B) { measure(b, question(elsewhere(b), overHTTP(spec.ProtocolAuto))) }
