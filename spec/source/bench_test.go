package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// fill writes a directory of n manifests, of a usual size.
func fill(b *testing.B, n int) string {
	dir := newDir(b)
	for i := range n {
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("w%05d.yaml", i)), []byte(usual(i, "1")), 0o644))
	}
	return dir
}

func usual(i int, arg string) string {
	return manifest(fmt.Sprintf("w%05d", i), arg,
		"args: [--verbose, --level, debug]",
		"env: [{name: LOG_LEVEL, value: debug}, {name: REGION, value: eu}]",
		"ports: [{name: http, port: 0}]",
		"terminationGracePeriodSeconds: 5")
}

// From the rename of a manifest into the directory to the set that has it.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := start(b, fill(b, n))
			r.complete()
			path := filepath.Join(r.dir, "w00005.yaml")
			tmp := filepath.Join(r.dir, ".tmp")
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				must(b, os.WriteFile(tmp, []byte(usual(5, fmt.Sprint(i+2))), 0o644))
				b.StartTimer()
				must(b, os.Rename(tmp, path))
				<-r.source.Sets()
			}
		})
	}
}

// The same without the kernel's event and the goroutines on its way: what one
// look costs.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := read(b, fill(b, n))
			path := filepath.Join(s.options.Dir, "w00005.yaml")
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				must(b, os.WriteFile(path, []byte(usual(5, fmt.Sprint(i+2))), 0o644))
				b.StartTimer()
				s.look([]string{"w00005.yaml"}, time.Now())
				<-s.sets
			}
		})
	}
}

// One workload depends on another one than before, among as many that all
// depend on some.
func BenchmarkLookWithDependencies(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := newDir(b)
			dependent := func(i, other int) string {
				return usual(i, "1") + "  " + on(fmt.Sprintf("w%05d", other)) + "\n"
			}
			must(b, os.WriteFile(filepath.Join(dir, "w00000.yaml"), []byte(usual(0, "1")), 0o644))
			for i := range n - 1 {
				must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("w%05d.yaml", i+1)), []byte(dependent(i+1, (i+1)/2)), 0o644))
			}
			s := read(b, dir)
			path := filepath.Join(dir, "w00005.yaml")
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				must(b, os.WriteFile(path, []byte(dependent(5, 1+i%2)), 0o644))
				b.StartTimer()
				s.look([]string{"w00005.yaml"}, time.Now())
				<-s.sets
			}
		})
	}
}

// read makes a source that has read its directory, and is not running.
func read(b *testing.B, dir string) *Source {
	s, err := New(Options{Dir: dir, UID: os.Getuid()})
	must(b, err)
	s.pass(time.Now())
	b.Cleanup(s.watch.close)
	if set := <-s.sets; len(set.Doubts) > 0 || len(set.Notices) > 0 {
		b.Fatal(show(set))
	}
	return s
}

func BenchmarkPollUnchanged(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := read(b, fill(b, n))
			b.ReportAllocs()
			for b.Loop() {
				s.pass(time.Now())
			}
			if len(s.sets) > 0 {
				b.Error("an unchanged directory gave a set")
			}
		})
	}
}

func BenchmarkFirstRead(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := fill(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s, err := New(Options{Dir: dir, UID: os.Getuid()})
				must(b, err)
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- s.Run(ctx) }()
				set := <-s.Sets()
				cancel()
				<-ended
				if len(set.Entries) != n {
					b.Fatalf("%d entries", len(set.Entries))
				}
			}
		})
	}
}

// What decoding alone costs, to compare with.
func BenchmarkDecode(b *testing.B) {
	data := []byte(usual(5, "1"))
	b.ReportAllocs()
	for b.Loop() {
		spec.Decode("w.yaml", data)
	}
}
