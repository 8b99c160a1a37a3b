package main

import (
	"strings"
	"testing"
)

func TestSummarize(t *testing.T) {
	const (
		passed  = `{"Action":"run","Package":"p","Test":"T"}` + "\n" + `{"Action":"pass","Package":"p","Test":"T"}` + "\n"
		skipped = `{"Action":"output","Package":"p","Test":"S","Output":"    s_test.go:3: needs root\n"}` + "\n" + `{"Action":"skip","Package":"p","Test":"S"}` + "\n"
		failed  = `{"Action":"output","Package":"p","Test":"F","Output":"    f_test.go:9: got 1, want 2\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"F"}` + "\n"
		pass    = `{"Action":"pass","Package":"p","Elapsed":0.5}` + "\n"
		fail    = `{"Action":"fail","Package":"p","Elapsed":0.5}` + "\n"
		noFiles = `{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}` + "\n" + `{"Action":"skip","Package":"q"}` + "\n"
	)
	tests := []struct {
		name   string
		in     string
		noSkip bool
		ok     bool
		want   []string // each must be in the output
	}{
		{"all pass", passed + pass, true, true, []string{"ok   p (1 tests, 0.5s)", "1 passed, 0 failed, 0 skipped"}},
		{"a package without tests is fine", passed + pass + noFiles, true, true, []string{"1 passed, 0 failed, 0 skipped"}},
		{"nothing at all", "", false, false, []string{"0 passed, 0 failed, 0 skipped"}},
		{"only packages without tests", noFiles, false, false, []string{"0 passed"}},
		{"a package that ran no test", pass, false, false, []string{"FAIL p: ran no test (0 skipped)", "0 passed, 1 failed"}},
		{"a package that skipped all", skipped + pass, false, false, []string{"ran no test (1 skipped)", "needs root"}},
		{"a skip that is allowed", passed + skipped + pass, false, true, []string{"SKIP p S", "needs root", "1 passed, 0 failed, 1 skipped"}},
		{"a skip that is not", passed + skipped + pass, true, false, []string{"nothing may be skipped", "1 passed, 1 failed, 1 skipped"}},
		{"a failure", passed + failed + fail, false, false, []string{"FAIL p F", "got 1, want 2", "1 of 2 tests failed", "1 passed, 1 failed, 0 skipped"}},
		{"a panic", passed + `{"Action":"output","Package":"p","Output":"panic: no\n"}` + "\n" + fail, false, false, []string{"panic: no", "did not run to its end", "1 passed, 1 failed"}},
		{"a build that fails", `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1: no\n"}` + "\n" + `{"ImportPath":"p [p.test]","Action":"build-fail"}` + "\n" + fail, false, false, []string{"p.go:1: no", "p [p.test]: does not build"}},
		{"events that break off", passed, false, false, []string{"FAIL p: the events end before it does"}},
		{"other lines are passed on", "go: downloading x\n" + passed + pass, true, true, []string{"go: downloading x\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := Summarize(strings.NewReader(tt.in), &out, tt.noSkip)
			if err != nil {
				t.Fatal(err)
			}
			if ok != tt.ok {
				t.Errorf("ok = %v, want %v", ok, tt.ok)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output does not contain %q:\n%s", want, out.String())
				}
			}
		})
	}
}
