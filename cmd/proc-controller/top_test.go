package main

import (
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// usage is what one instance uses at now plus after.
func usage(key string, id spec.Instance, after time.Duration, cpu float64, memory int64, fds, processes int) api.Usage {
	return api.Usage{
		Key: key, Instance: id, At: now.Add(after), CPUSeconds: cpu, MemoryBytes: memory,
		Descriptors: &fds, Processes: processes, Source: observe.UsageOfTree,
	}
}

// twoSamples are of three workloads, two seconds apart; of web there are two
// instances, and idle has just been started.
func twoSamples() (before, after []api.Usage) {
	before = []api.Usage{
		usage("Agent/writer", "a-1", 0, 10, 5<<20, 4, 1),
		usage("MCPServer/web", "w-1", 0, 1, 1<<30, 10, 2),
		usage("MCPServer/web", "w-2", 0, 1, 1<<30, 10, 2),
	}
	after = []api.Usage{
		usage("Agent/writer", "a-1", 2*time.Second, 11, 6<<20, 4, 1),
		usage("MCPServer/idle", "i-1", 2*time.Second, 0.5, 900, 99, 7),
		usage("MCPServer/web", "w-1", 2*time.Second, 2.5, 1<<30, 10, 2),
		usage("MCPServer/web", "w-2", 2*time.Second, 0.9, 1<<29, 11, 1), // what it had started is gone
	}
	return before, after
}

func TestTopRows(t *testing.T) {
	before, after := twoSamples()
	after[3].Source = observe.UsageOfCgroup
	after[0].Descriptors = nil
	tab := &table{}
	tab.add(topHead...)
	for _, r := range topRows(nil, before, after, orderCPU) {
		tab.add(r.cells()...)
	}
	checkTable(t, tab, `
NAME            CPU    MEMORY  DESCRIPTORS  PROCESSES  SOURCE
mcpserver/web   75.0%  1.5Gi   21           3          Tree
agent/writer    50.0%  6.0Mi   -            1          Tree
mcpserver/idle  -      900     99           7          Tree
`)
}

func TestTopOrders(t *testing.T) {
	before, after := twoSamples()
	for order, want := range map[string]string{
		orderCPU:         "web writer idle",
		orderMemory:      "web writer idle",
		orderDescriptors: "idle web writer",
		orderProcesses:   "idle web writer",
		orderName:        "writer idle web",
	} {
		got := ""
		for _, r := range topRows(nil, before, after, order) {
			got += r.Name + " "
		}
		if got != want+" " {
			t.Errorf("by %s: %s, want %s", order, got, want)
		}
	}
	if rows := topRows(selectors{{Kind: spec.KindMCPServer, Name: "idle"}}, before, after, orderCPU); len(rows) != 1 || rows[0].Name != "idle" {
		t.Errorf("one alone: %+v", rows)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1023: "1023", 1024: "1.0Ki", 10 << 20: "10Mi", 1536 << 20: "1.5Gi", 1 << 50: "1.0Pi"} {
		if got := byteCell(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestTopScreen(t *testing.T) {
	before, after := twoSamples()
	v := &topView{order: orderMemory, before: before, now: after, at: now}
	wide := []string{
		v.at.Format(time.TimeOnly) + "  3 workloads  CPU 125.0%  memory 1.5Gi  by memory  q quits", "",
		"NAME            CPU    MEMORY  DESCRIPTORS  PROCESSES  SOURCE",
		"mcpserver/web   75.0%  1.5Gi   21           3          Tree",
		"agent/writer    50.0%  6.0Mi   4            1          Tree",
		"mcpserver/idle  -      900     99           7          Tree",
	}
	if d := cmp.Diff(wide, v.screen(80, 24)); d != "" {
		t.Errorf("80 columns (-want +got):\n%s", d)
	}
	narrow := []string{
		v.at.Format(time.TimeOnly) + "  3 workloa…", "",
		"NAME  CPU    MEMORY", "web   75.0%  1.5Gi", "wri…  50.0%  6.0Mi", "idle  -      900",
	}
	if d := cmp.Diff(narrow, v.screen(20, 24)); d != "" {
		t.Errorf("20 columns (-want +got):\n%s", d)
	}
	for columns := 1; columns < 90; columns++ {
		for _, line := range v.screen(columns, 4) {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns: %q has %d", columns, line, n)
			}
		}
	}
	if got := len(v.screen(80, 4)); got != 4 {
		t.Errorf("%d lines in 4 rows", got)
	}
	v.take(topSample{err: errors.New("gone")})
	if got := v.screen(80, 24); got[0] != "The controller does not answer; what was last: gone" || len(got) != 6 {
		t.Errorf("without an answer: %q", got)
	}
}

func TestTopKeys(t *testing.T) {
	v := &topView{}
	for key, want := range map[byte]string{'m': orderMemory, 'n': orderName, 'd': orderDescriptors, 'p': orderProcesses, 'c': orderCPU} {
		if !v.press(key) || v.order != want {
			t.Errorf("%q: order %s, want %s", key, v.order, want)
		}
	}
	if !v.press('x') || v.press('q') || v.press(3) {
		t.Error("q and Ctrl-C end it, and nothing else")
	}
}
