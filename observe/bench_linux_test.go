package observe

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// benchProcesses is bounded so that the benchmark can run anywhere.
const benchProcesses = 200

// crowd starts processes with environments of 4 KB.
func crowd(b *testing.B, env []string) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	var all []*exec.Cmd
	b.Cleanup(func() {
		_ = w.Close()
		_ = r.Close()
		for _, c := range all {
			_ = c.Wait()
		}
	})
	for range benchProcesses {
		c := exec.Command("/bin/cat")
		c.Env = append([]string{"PATH=/usr/bin:/bin", "PADDING=" + strings.Repeat("x", 4000)}, env...)
		c.Stdin = r
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		all = append(all, c)
	}
}

func benchScanner(b *testing.B) *Scanner {
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func BenchmarkScan(b *testing.B) {
	depths := []struct {
		name  string
		depth Depth
	}{{"Look", Look}, {"Resync", Resync}, {"Full", Full}}
	tables := []struct {
		name string
		env  []string
	}{{"strangers", nil}, {"members", markers(testKey, testOwner, spec.NewInstance("bench", 1))}}
	for _, t := range tables {
		b.Run(t.name, func(b *testing.B) {
			crowd(b, t.env)
			s := benchScanner(b)
			s.table.sights.settle = 0 // nothing is read again for being young
			for _, d := range depths {
				b.Run(d.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if snap := s.Scan(context.Background(), nil, d.depth); snap.Err != nil {
							b.Fatal(snap.Err)
						}
					}
					b.ReportMetric(float64(len(s.table.rows)), "processes")
				})
			}
		})
	}
}

// BenchmarkFloor is the same work with nothing around it: what a loop over
// /proc costs that lists it, and one that reads stat and environ of each.
func BenchmarkFloor(b *testing.B) {
	crowd(b, nil)
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	r := newReader(fd)
	var list []entry
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			list, _ = r.list(list[:0])
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			list, _ = r.list(list[:0])
			for _, e := range list {
				_, _ = r.read(e.pid, "stat")
				_, _ = r.read(e.pid, "environ")
			}
		}
	})
}

func BenchmarkParseStat(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := parseStat([]byte(statSample)); !ok {
			b.Fatal("not parsed")
		}
	}
}
