package actuate

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What a child leaves behind is found without its environment, and ended.
func TestFoster(t *testing.T) {
	f, err := NewFoster()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("sh", "-c", `env -i setsid sh -c 'trap "" TERM; echo on; while :; do sleep 1000; done' & read x`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(cmd, Apart); err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 1)); err != nil { // the deaf one stands
		t.Fatal(err)
	}
	if left := f.Left(); len(left) != 0 {
		t.Errorf("left before its end: %v", left)
	}
	in.Close()
	if err := f.Wait(cmd); err == nil {
		t.Log("it read a line")
	}
	left := f.Left()
	if len(left) == 0 || !strings.Contains(left[0].Command, "sh -c trap") {
		t.Errorf("left: %v", left)
	}
	began := time.Now()
	if refused := f.End(200 * time.Millisecond); len(refused) != 0 {
		t.Errorf("still there: %v", refused)
	}
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("a deaf one was killed after %v, before its grace was over", took)
	}
}
