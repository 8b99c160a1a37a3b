//go:build linux

package e2e

import (
	"io"
	"os"
	"testing"
)

// Whatever goes on showing what changes ends well with Ctrl-C, and as soon as nobody
// reads it any more, also while nothing changes.
func TestViewsEndWithTheirReader(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	r.running("agent/a")
	for _, args := range [][]string{{"get", "-w"}, {"get", "-w", "-o", "json"}, {"events", "-w"}} {
		in, out, err := os.Pipe()
		must(t, err)
		v := r.viewTo(out, args[0], args[1:]...)
		out.Close()
		if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		in.Close()
		v.ended()
		if v.stderr.String() != "" {
			t.Errorf("%q into a closed pipe: %s", args, v.stderr)
		}

		in, out, err = os.Pipe()
		must(t, err)
		v = r.viewTo(out, args[0], args[1:]...)
		out.Close()
		if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		v.end()
		in.Close()
	}
}
