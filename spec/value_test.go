package spec

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: `"0s"`, time.Second: `"1s"`, 90 * time.Second: `"1m30s"`, 5 * time.Minute: `"5m"`, time.Hour: `"1h"`,
		time.Hour + time.Second: `"1h0m1s"`, 10 * time.Hour: `"10h"`, 500 * time.Millisecond: `"500ms"`, 100 * time.Minute: `"1h40m"`,
	} {
		out, err := json.Marshal(Duration(d))
		var back Duration
		if err != nil || string(out) != want || json.Unmarshal(out, &back) != nil || back != Duration(d) {
			t.Errorf("%v: %s, back %v (%v)", d, out, back, err)
		}
	}
	for _, bad := range []string{`5`, `"5"`, `"x"`, `null1`, `{}`} {
		if err := json.Unmarshal([]byte(bad), new(Duration)); err == nil {
			t.Errorf("%s is taken for a duration", bad)
		}
	}
}

// What the API shows can be decoded again to the same object.
func TestObjectRoundTrip(t *testing.T) {
	for _, m := range []string{smallManifest, fullManifest, agentManifest} {
		o := decodeOne(t, m)
		out, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		docs := Decode("x.json", out)
		if docs[0].Object == nil {
			t.Fatalf("%s\n%+v", out, docs[0].Findings)
		}
		if diff := cmp.Diff(o, docs[0].Object); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestQuantities(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "1Ki": 1024, "512Mi": 512 << 20, "1Gi": 1 << 30, "1.5Gi": 3 << 29, "1G": 1e9, "100k": 1e5, ".5Ki": 512, "1.": 1, "1500m": 2,
		"": 0, "0": 0, "-1": 0, "1gi": 0, "1 Gi": 0, "Gi": 0, "9Ei": 0, "1e999999999": 0, "0x10": 0, "1/3": 0, ".": 0, "1..2": 0, strings.Repeat("9", 40): 0,
	} {
		if got, ok := (Limits{Memory: s}).MemoryBytes(); got != want || ok != (want > 0) {
			t.Errorf("memory %q: %d, %v", s, got, ok)
		}
	}
	for s, want := range map[string]int64{"1": 1000, "1.5": 1500, "500m": 500, "0.0001": 1, "": 0, "x": 0} {
		if got, ok := (Limits{CPU: s}).CPUMillis(); got != want || ok != (want > 0) {
			t.Errorf("cpu %q: %d, %v", s, got, ok)
		}
	}
}

func TestSignals(t *testing.T) {
	for s, want := range map[string]int{"SIGTERM": 15, "TERM": 15, "15": 15, "HUP": 1, "SIGKILL": 9, "SIGSYS": 31} {
		if n, ok := SignalNumber(s); n != want || !ok {
			t.Errorf("%s: %d, %v", s, n, ok)
		}
	}
	for _, bad := range []string{"", "SIG", "sigterm", "0", "-1", "015", "+15", "32", "64", "SIGRTMIN", "SIGSIGTERM"} {
		if n, ok := SignalNumber(bad); ok {
			t.Errorf("%q is taken for %d", bad, n)
		}
	}
	if s := SignalName(15) + " " + SignalName(0) + " " + SignalName(64); s != "SIGTERM 0 64" {
		t.Errorf("names: %s", s)
	}
}

func TestFileSources(t *testing.T) {
	o := manifestWith(t, `  envFrom: [{file: {path: a, optional: true}}, {file: {path: b}}]
  env: [{name: X, value: x}, {name: A, valueFrom: {file: {path: a}}}, {name: C, valueFrom: {file: {path: c, optional: true}}}]
`)
	want := []FileSource{{Path: "a"}, {Path: "b"}, {Path: "c", Optional: true}}
	if got := o.FileSources(); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestResolvePath(t *testing.T) {
	for p, want := range map[string]string{
		"": "/m", ".": "/m", "a/../b": "/m/b", "../x": "/x", "/abs/./x": "/abs/x", "~": "/home/me", "~/x": "/home/me/x", "~/../x": "/home/x", "x~": "/m/x~",
	} {
		if got, err := ResolvePath(p, "/m", "/home/me"); got != want || err != nil {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
	if got, err := ResolvePath("~/x", "/m", ""); !errors.Is(err, ErrNoHome) {
		t.Errorf("without a home: %q, %v", got, err)
	}
}

func TestConflicts(t *testing.T) {
	object := func(kind, name, ports string) *Object {
		return decodeOne(t, "{apiVersion: proc-controller.dev/v1alpha1, kind: "+kind+", metadata: {name: "+name+"}, spec: {command: [a], ports: ["+ports+"]}}")
	}
	all := []Located{
		{object("Agent", "a", "{port: 80}"), "a.yaml", 1},
		{object("Agent", "b", "{port: 0}, {name: x, port: 81}"), "b.yaml", 2},
		{object("Agent", "a", "{port: 81}"), "c.yaml", 3},
		{object("MCPServer", "a", "{port: 0}, {name: x, port: 80}"), "d.yaml", 4},
	}
	var got []string
	for _, c := range Conflicts(all) {
		got = append(got, c.Key.String()+" "+c.Finding.File+" "+string(c.Finding.Reason)+" "+c.Finding.Message)
	}
	want := []string{
		"Agent/a a.yaml DuplicateKey Agent/a is defined in c.yaml:3 too",
		"Agent/a c.yaml DuplicateKey Agent/a is defined in a.yaml:1 too",
		"Agent/a a.yaml PortConflict the fixed port 80 is wanted in d.yaml:4 too",
		"MCPServer/a d.yaml PortConflict the fixed port 80 is wanted in a.yaml:1 too",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"command", "args", "env", "envFrom", "terminationGracePeriodSeconds"}
	for word, want := range map[string]string{
		"comand": "command", "COMMAND": "command", "commadn": "command", "arg": "args", "enviroment": "", "x": "", "": "",
		"terminationGraceperiodSecond": "terminationGracePeriodSeconds", "ENVFROM": "envFrom", "ev": "",
	} {
		if got := nearest(word, candidates); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
