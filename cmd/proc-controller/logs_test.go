package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

var (
	logsOfA = spec.Key{Kind: spec.KindAgent, Name: "a"}
	logsOfB = spec.Key{Kind: spec.KindMCPServer, Name: "bb"}
)

// The parts of a long line are put together, unless another line comes between
// them.
func TestLinePrinter(t *testing.T) {
	type from struct {
		key  spec.Key
		line logs.Line
	}
	part := func(k spec.Key, id, text string, more bool) from {
		return from{k, logs.Line{Instance: id, Text: []byte(text), More: more}}
	}
	for name, tc := range map[string]struct {
		keys  []spec.Key
		flags logsFlags
		lines []from
		want  string
		note  string
	}{
		"one, byte for byte": {
			[]spec.Key{logsOfA},
			logsFlags{},
			[]from{part(logsOfA, "k7", "ab\xff", true), part(logsOfA, "k7", "\tc", false), part(logsOfA, "k7", "", false)},
			"ab\xff\tc\n\n", "",
		},
		"several": {
			[]spec.Key{logsOfA, logsOfB},
			logsFlags{},
			[]from{part(logsOfA, "k7", "x", false), part(logsOfB, "k8", "a", true), part(logsOfB, "k8", "b", true), part(logsOfA, "k7", "y", false), part(logsOfB, "k8", "c", true)},
			"agent/a      | x\nmcpserver/bb | ab\nagent/a      | y\nmcpserver/bb | c\n", "",
		},
		"instances": {
			[]spec.Key{logsOfA},
			logsFlags{allMembers: true},
			[]from{part(logsOfA, "k7", "x", true), part(logsOfA, "k8", "y", false)},
			"k7 | x\nk8 | y\n", "",
		},
		"times": {
			[]spec.Key{logsOfA},
			logsFlags{timestamps: true},
			[]from{
				{logsOfA, logs.Line{Time: time.Unix(1700000000, 0), Text: []byte("x")}},
				part(logsOfA, "", "unknown", false),
			},
			"~" + time.Unix(1700000000, 0).Format(time.RFC3339) + " x\n-" + strings.Repeat(" ", len(about(time.Now()))) + "unknown\n", "",
		},
		"left out": {
			[]spec.Key{logsOfA},
			logsFlags{},
			[]from{part(logsOfA, "k7", "cut", true), {logsOfA, logs.Line{Instance: "k7", Text: []byte("on"), Skipped: 5}}, {logsOfA, logs.Line{Instance: "k7", Skipped: 2}}},
			"cut\non\n\n", "note: agent/a writes faster than its lines are read: some are left out\nnote: 7 bytes were left out\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, said bytes.Buffer
			p := newLinePrinter(streams{out: &out, err: &said}, tc.keys, &tc.flags)
			for _, l := range tc.lines {
				if err := p.of(l.key)(l.line); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.end(); err != nil || out.String() != tc.want || said.String() != tc.note {
				t.Errorf("%v\n%q, want\n%q; said %q", err, out.String(), tc.want, said.String())
			}
		})
	}
}

// distantView is that of a controller whose files cannot be reached.
type distantView struct{ dir string }

func (d distantView) View(context.Context) (controller.View, error) {
	status := spec.Status{Instances: []spec.InstanceStatus{{Instance: "k7-1", Log: filepath.Join(d.dir, "x.log")}}}
	return controller.View{Ready: true, Workloads: []controller.Workload{{Key: logsOfA, Status: status}}}, nil
}

// Whoever can reach the socket alone, from inside a container say, has the lines
// all the same.
func TestLogsThroughTheSocketAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Agent.a.k7.log"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "api.sock")
	server, err := api.Listen(api.Options{Path: socket, Services: api.Services{
		Viewer: distantView{filepath.Join(dir, "out-of-reach")}, Logs: outputFiles{dir},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { server.Run(ctx) })
	defer done.Wait()
	defer cancel()
	for args, want := range map[string]string{
		"agent/a": "one\ntwo\n", "agent/a --tail 1": "two\n", "agent/a --all-members --tail 1": "k7 | two\n", "agent/a -p": "",
	} {
		var out, said bytes.Buffer
		line := append([]string{"logs", "--manifests", dir, "--state-dir", dir, "--socket", socket}, strings.Fields(args)...)
		code := execute(line, streams{in: strings.NewReader(""), out: &out, err: &said})
		if out.String() != want || (code == 0) != (want != "") {
			t.Errorf("logs %s: %d %q, want %q; said %q", args, code, out.String(), want, said.String())
		}
	}
}
