package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

func seen(pid int, uid uint32, v observe.Verdict) observe.Seen {
	return observe.Seen{Owner: "nobody-runs-this", OwnerUID: int(uid), Process: &observe.Process{
		Ident: observe.Ident{PID: pid, Start: 77}, UID: uid, Verdict: v, Role: observe.Main,
		Key: spec.Key{Kind: spec.KindAgent, Name: "a"}, Instance: "k7-77",
		Evidence: []string{"all markers are there", "its user is the one of the controller", "a session leader"},
	}}
}

func TestProcessesOfOthersNeedAll(t *testing.T) {
	uid := os.Getuid()
	scan := []observe.Seen{
		seen(1001, uint32(uid), observe.Ours), seen(1002, uint32(uid), observe.CannotTell),
		seen(1003, uint32(uid), observe.NotOurs), seen(1004, uint32(uid)+1, observe.Ours),
	}
	for all, want := range map[bool][]int{false: {1001, 1002}, true: {1001, 1002, 1003, 1004}} {
		var got []int
		for _, r := range psRows(scan, all, uid) {
			got = append(got, r.PID)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("all is %v (-want +got):\n%s", all, d)
		}
	}
}

func TestProcessTable(t *testing.T) {
	rows := psRows([]observe.Seen{seen(1001, 0, observe.Ours), seen(1002, 7, observe.NotOurs), {Process: &observe.Process{Ident: observe.Ident{PID: 9}}}}, true, 0)
	rows[0].ownerKnown, rows[1].ownerKnown = true, true // whatever this system can tell
	checkTable(t, psTable(rows, 0), `
PID   ROLE  KEY      INSTANCE  OWNER                     ALIVE  VERDICT     EVIDENCE
1001  main  Agent/a  k7-77     nobody-runs-this          no     Ours        all markers are there; its user is the one of the controller; a session…
1002  main  Agent/a  k7-77     nobody-runs-this (uid 7)  no     NotOurs     all markers are there; its user is the one of the controller; a session…
9     -     -        -         -                         ?      CannotTell  -
`)
}

// TestProcessJSON holds the names that others rely on.
func TestProcessJSON(t *testing.T) {
	var b strings.Builder
	if err := writeJSON(&b, psRows([]observe.Seen{seen(1001, 0, observe.Ours)}, true, 0)); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{
		"pid": 1001.0, "startTick": 77.0, "key": "Agent/a", "instance": "k7-77", "owner": "nobody-runs-this", "ownerAlive": false, "ownerUid": 0.0,
		"role": "main", "verdict": "Ours",
		"evidence": []any{"all markers are there", "its user is the one of the controller", "a session leader"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	b.Reset()
	if err := writeJSON(&b, psRows(nil, true, 0)); err != nil || b.String() != "[]\n" {
		t.Errorf("nothing is %q (%v), want []", b.String(), err)
	}
}
