package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`; `go doc test2json` and `go help
// buildjson` describe the fields.
type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, in the events of a build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// summary counts the tests of all packages. A test with subtests is one test
// beside them, as `go test` counts.
type summary struct {
	out    io.Writer
	noSkip bool

	passed, failed, skipped int
	builds                  []string            // import paths that did not compile
	packages                map[string]*tally   // of those that are still running
	output                  map[string][]string // by package and test, until the test ends
}

// tally is what one package did.
type tally struct {
	passed, failed, skipped int
	noFiles                 bool
}

// Summarize reads events from r until its end and writes the verdict to w. It
// is ok if tests ran, and none failed. Lines that are no events are passed on.
func Summarize(r io.Reader, w io.Writer, noSkip bool) (ok bool, err error) {
	s := &summary{out: w, noSkip: noSkip, packages: map[string]*tally{}, output: map[string][]string{}}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			s.line(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, fmt.Errorf("cannot read events: %w", err)
		}
	}
	return s.close(), nil
}

// line takes one line of input.
func (s *summary) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		fmt.Fprintf(s.out, "%s\n", bytes.TrimRight(line, "\n"))
		return
	}
	switch {
	case e.ImportPath != "":
		s.build(e)
	case e.Test != "":
		s.test(e)
	default:
		s.pkg(e)
	}
}

// build takes an event of a build: what the compiler says is always shown.
func (s *summary) build(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "build-fail":
		s.builds = append(s.builds, e.ImportPath)
	}
}

// test takes an event of one test.
func (s *summary) test(e event) {
	key, t := e.Package+"\x00"+e.Test, s.tally(e.Package)
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
		return
	case "pass":
		t.passed++
	case "fail":
		t.failed++
		s.show("FAIL", e, key)
	case "skip":
		t.skipped++
		s.show("SKIP", e, key)
	default:
		return
	}
	delete(s.output, key)
}

// show writes what a test had to say.
func (s *summary) show(verdict string, e event, key string) {
	fmt.Fprintf(s.out, "%s %s %s (%.2fs)\n", verdict, e.Package, e.Test, e.Elapsed)
	for _, l := range s.output[key] {
		if !chatter(l) {
			fmt.Fprintf(s.out, "    %s\n", strings.TrimRight(l, "\n"))
		}
	}
}

// pkg takes an event of a package as a whole.
func (s *summary) pkg(e event) {
	key, t := e.Package+"\x00", s.tally(e.Package)
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
		t.noFiles = t.noFiles || strings.Contains(e.Output, "[no test files]")
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	s.passed, s.failed, s.skipped = s.passed+t.passed, s.failed+t.failed, s.skipped+t.skipped
	why := t.fault(e.Action, s.noSkip)
	switch {
	case why != "":
		if t.failed == 0 {
			s.failed++ // the package itself: it panicked, timed out, did not build, ran nothing
			s.show("FAIL", e, key)
		}
		fmt.Fprintf(s.out, "FAIL %s: %s\n", e.Package, why)
	case !t.noFiles:
		fmt.Fprintf(s.out, "ok   %s (%d tests, %.1fs)\n", e.Package, t.passed, e.Elapsed)
	}
	delete(s.output, key)
	delete(s.packages, e.Package)
}

// fault says what is wrong with a package that ended with the action; empty
// where nothing is.
func (t *tally) fault(action string, noSkip bool) string {
	switch {
	case t.failed > 0:
		return fmt.Sprintf("%d of %d tests failed", t.failed, t.passed+t.failed+t.skipped)
	case action == "fail":
		return "did not run to its end"
	case t.noFiles:
		return ""
	case t.passed == 0:
		return fmt.Sprintf("ran no test (%d skipped)", t.skipped)
	case noSkip && t.skipped > 0:
		return fmt.Sprintf("%d skipped; nothing may be skipped here", t.skipped)
	}
	return ""
}

// close writes the count and gives the verdict.
func (s *summary) close() bool {
	for p := range s.packages {
		s.failed++
		fmt.Fprintf(s.out, "FAIL %s: the events end before it does\n", p)
	}
	for _, b := range slices.Compact(slices.Sorted(slices.Values(s.builds))) {
		fmt.Fprintf(s.out, "FAIL %s: does not build\n", b)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return s.passed > 0 && s.failed == 0 && len(s.builds) == 0
}

func (s *summary) tally(pkg string) *tally {
	t := s.packages[pkg]
	if t == nil {
		t = &tally{}
		s.packages[pkg] = t
	}
	return t
}

// chatter says that a line is only the frame that `go test` puts around output.
func chatter(l string) bool {
	l = strings.TrimSpace(l)
	for _, p := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- FAIL", "--- SKIP", "--- PASS"} {
		if strings.HasPrefix(l, p) {
			return true
		}
	}
	return false
}
