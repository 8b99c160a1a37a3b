package controller

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// TestOccurrencesInJSON holds the names that others rely on.
func TestOccurrencesInJSON(t *testing.T) {
	main := observe.Ident{PID: 7, Start: 70}
	record := InstanceRecord{ID: "a-70", Main: main, Hash: "h", Ports: spec.PortMap{{Name: "http", Port: 80}}}
	head := `"key":"MCPServer/files","instance":"a-70"`
	tests := map[string]struct {
		event Event
		want  []string
	}{
		"start": {
			Started{Key: files, Instance: record, At: t0, Reason: spec.ReasonWanted},
			[]string{`"type":"Started",` + head + `,"pid":7,"startTick":70,"hash":"h","reason":"Wanted","message":"ports http=80"`},
		},
		"failed start": {
			StartFailed{Key: files, Hash: "h", Reason: spec.ReasonNoFreePort, Message: "why", At: t0},
			[]string{`"type":"StartFailed","key":"MCPServer/files","hash":"h","reason":"NoFreePort","message":"why"`},
		},
		"failed start that was killed": {
			StartFailed{
				Key: files, Hash: "h", Reason: spec.ReasonWrapperFailed, Message: "why", At: t0,
				Sent: []observe.Sent{{Target: main, Group: true, Signal: 9, Evidence: []string{"one"}}},
			},
			[]string{
				`"type":"Signalled","key":"MCPServer/files","pid":7,"startTick":70,"group":true,"signal":"SIGKILL","reason":"WrapperFailed","evidence":["one"],"result":"sent"`,
				`"type":"StartFailed","key":"MCPServer/files","hash":"h","reason":"WrapperFailed","message":"why"`,
			},
		},
		"adoption": {
			Adopted{Key: files, Instance: InstanceRecord{ID: "a-70", Main: main}, At: t0, Evidence: []string{"seen"}},
			[]string{`"type":"Adopted",` + head + `,"pid":7,"startTick":70,"reason":"Adopted","evidence":["seen"]`},
		},
		"exit": {
			Exited{Key: files, ID: "a-70", PID: 7, StartTick: 70, Termination: spec.Termination{Reason: spec.ReasonCompleted, FinishedAt: t0}},
			[]string{`"type":"Exited",` + head + `,"pid":7,"startTick":70,"exitCode":0,"reason":"Completed","message":"exit code 0"`},
		},
		"end by a signal": {
			Exited{Key: files, ID: "a-70", PID: 7, Termination: spec.Termination{ExitCode: -1, Signal: "SIGKILL", Reason: spec.ReasonError, FinishedAt: t0}},
			[]string{`"type":"Exited",` + head + `,"pid":7,"signal":"SIGKILL","reason":"Error","message":"ended by SIGKILL"`},
		},
		"last line":    {Output{Key: files, ID: "a-70", Line: "oh", At: t0}, []string{`"type":"Output",` + head + `,"message":"oh"`}},
		"no last line": {Output{Key: files, ID: "a-70", At: t0}, nil},
		"signals": {
			Signalled{Key: files, ID: "a-70", Reason: spec.ReasonNotWanted, At: t0, Sent: []observe.Sent{
				{Target: main, Group: true, Signal: 15, Evidence: []string{"one", "two"}},
				{Target: observe.Ident{PID: 8, Start: 71}, Signal: 9, Err: "refused: why"},
			}},
			[]string{
				`"type":"Signalled",` + head + `,"pid":7,"startTick":70,"group":true,"signal":"SIGTERM","reason":"NotWanted","evidence":["one","two"],"result":"sent"`,
				`"type":"Refused",` + head + `,"pid":8,"startTick":71,"signal":"SIGKILL","reason":"NotWanted","result":"refused: why"`,
			},
		},
		"no signal at all": {
			Signalled{Key: files, ID: "a-70", Reason: spec.ReasonNotWanted, Err: "cannot", At: t0},
			[]string{`"type":"Refused",` + head + `,"reason":"NotWanted","result":"cannot"`},
		},
		"nothing left": {Gone{Key: files, ID: "a-70", At: t0}, []string{`"type":"Gone",` + head}},
		"new program missing": {
			Resolved{Key: files, Hash: "h", Reason: spec.ReasonProgramNotFound, Message: "no x", At: t0},
			[]string{`"type":"Refused","key":"MCPServer/files","hash":"h","reason":"ProgramNotFound","result":"not replaced","message":"no x; the former one runs on"`},
		},
		"new program there": {Resolved{Key: files, Hash: "h", At: t0}, nil},
		"in flight":         {StartAsked{Key: files, At: t0}, nil},
	}
	for name, tt := range tests {
		var got []string
		for _, o := range OccurrencesOf(tt.event) {
			line, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(line), `",`) // the time
			got = append(got, strings.TrimSuffix(rest, "}"))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestLoopLogsWhatItDoes follows one workload through start, crash, edit and
// removal: each leaves its line.
func TestLoopLogsWhatItDoes(t *testing.T) {
	var kept ledger
	faults := within(t, 11, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		m.mu.Lock()
		for _, p := range m.procs {
			if p.main {
				m.end(p, 3, 0)
			}
		}
		m.mu.Unlock()
		wait(time.Minute)
		m.publish(setOf(entry(files, "b")))
		wait(time.Minute)
		m.publish(setOf())
		wait(time.Minute)
	}, func(o *Options) { o.Events = &kept })
	for _, f := range faults {
		t.Error(f)
	}
	var got []OccurrenceType
	for _, line := range kept.lines {
		var o Occurrence
		if err := json.Unmarshal(line, &o); err != nil || o.Key != files.String() || o.Time.IsZero() {
			t.Errorf("%s: %v", line, err)
		}
		if o.Type != WasSignalled && o.Type != HasWritten {
			got = append(got, o.Type)
		}
		if o.Type == WasSignalled && (o.PID == 0 || o.Signal == "" || o.Reason == "" || o.Result == "") {
			t.Errorf("a signal that says too little: %s", line)
		}
	}
	life := []OccurrenceType{HasStarted, HasExited, IsGone}
	if d := cmp.Diff(slices.Concat(life, life, life), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
