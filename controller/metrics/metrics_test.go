package metrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

var (
	files = spec.Key{Kind: spec.KindMCPServer, Name: "files"}
	coder = spec.Key{Kind: spec.KindAgent, Name: "coder"}
)

// world is a view and usage that a test sets.
type world struct {
	view controller.View
	err  error
	read []*observe.Usage
}

func (w *world) View(context.Context) (controller.View, error) { return w.view, w.err }

func (w *world) Read(context.Context, []*observe.Instance) ([]*observe.Usage, error) {
	if w.read == nil {
		return nil, observe.ErrNoUsage
	}
	return w.read, nil
}

func sampleWorld() *world {
	ready := []spec.Condition{{Type: spec.CondReady, Status: spec.True}}
	return &world{
		view: controller.View{
			Ready: true,
			Workloads: []controller.Workload{
				{Key: coder, Status: spec.Status{Phase: spec.PhaseBackOff}},
				{Key: files, Status: spec.Status{Phase: spec.PhaseRunning, Conditions: ready, Instances: make([]spec.InstanceStatus, 2)}},
			},
			Instances: []*observe.Instance{{Key: files, ID: "a-1"}, {Key: files, ID: "b-1"}},
		},
		read: []*observe.Usage{
			{CPU: 2 * time.Second, Memory: 1000, Processes: 3, Descriptors: 7},
			{CPU: 3 * time.Second, Memory: 500, Processes: 1, Descriptors: 2},
		},
	}
}

// scrape gives the lines of an answer that begin with a prefix.
func scrape(t *testing.T, m *Metrics, w *world, prefixes ...string) string {
	t.Helper()
	rec := httptest.NewRecorder()
	h := m.Handler(Options{Viewer: w, Usage: w, Version: "v1", Owner: "o"})
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != 200 {
		t.Fatalf("%d: %s", rec.Code, rec.Body)
	}
	var found []string
	for line := range strings.Lines(rec.Body.String()) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) {
				found = append(found, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return strings.Join(found, "\n")
}

func wants(t *testing.T, got string, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// exercised has every series that there can be.
func exercised() *Metrics {
	m := New()
	m.Passed(time.Millisecond)
	m.Spawned(time.Millisecond, nil)
	m.Scanned(observe.Full, time.Millisecond, 300, nil)
	m.Scanned(observe.Look, time.Millisecond, 0, errors.New("no"))
	m.Probed(controller.Readiness, time.Millisecond, true)
	happen(m,
		controller.Started{Key: files, Token: "a"},
		controller.Exited{Key: files, ID: "a-1", Termination: spec.Termination{Reason: spec.ReasonError}},
		controller.Started{Key: files, Token: "b"},
		controller.StartFailed{Key: coder, Token: "c", Reason: spec.ReasonProgramNotFound},
		controller.Signalled{Key: files, Sent: []observe.Sent{{Signal: 15}, {Signal: 9, Err: "no"}}},
	)
	return m
}

func happen(m *Metrics, events ...controller.Event) {
	for _, e := range events {
		m.Happened(e)
	}
}

// What promtool check metrics finds, without the tool: names, units, help.
func TestLint(t *testing.T) {
	w := sampleWorld()
	r := exercised().Registry(Options{Viewer: w, Usage: w, Version: "v1", Owner: "o"})
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, namespace) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if _, err := promlint.New(strings.NewReader("x 1\n")).Lint(); err != nil {
		t.Errorf("the linter does not work: %v", err)
	}
}

func TestWhatIsLookedUp(t *testing.T) {
	got := scrape(t, New(), sampleWorld(), "proc_controller_ready", "proc_controller_workload_", "proc_controller_workloads_ready")
	wants(t, got,
		`proc_controller_ready 1`,
		`proc_controller_workload_cpu_seconds_total{kind="Agent",name="coder"} 0`,
		`proc_controller_workload_cpu_seconds_total{kind="MCPServer",name="files"} 5`,
		`proc_controller_workload_instances{kind="Agent",name="coder"} 0`,
		`proc_controller_workload_instances{kind="MCPServer",name="files"} 2`,
		`proc_controller_workload_memory_bytes{kind="Agent",name="coder"} 0`,
		`proc_controller_workload_memory_bytes{kind="MCPServer",name="files"} 1500`,
		`proc_controller_workload_open_descriptors{kind="Agent",name="coder"} 0`,
		`proc_controller_workload_open_descriptors{kind="MCPServer",name="files"} 9`,
		`proc_controller_workload_processes{kind="Agent",name="coder"} 0`,
		`proc_controller_workload_processes{kind="MCPServer",name="files"} 4`,
		`proc_controller_workload_ready{kind="Agent",name="coder"} 0`,
		`proc_controller_workload_ready{kind="MCPServer",name="files"} 1`,
		`proc_controller_workloads_ready{kind="Agent"} 0`,
		`proc_controller_workloads_ready{kind="MCPServer"} 1`,
	)
	got = scrape(t, New(), sampleWorld(), `proc_controller_workloads{kind="Agent",phase="BackOff"}`, `proc_controller_workloads{kind="Agent",phase="Running"}`)
	wants(t, got, `proc_controller_workloads{kind="Agent",phase="BackOff"} 1`, `proc_controller_workloads{kind="Agent",phase="Running"} 0`)
}

// Every phase that there is has a series.
func TestPhasesAreAll(t *testing.T) {
	w := sampleWorld()
	for i, phase := range phases {
		w.view.Workloads[i%2].Status.Phase = phase
		line := `phase="` + string(phase) + `"} 1`
		if got := scrape(t, New(), w, "proc_controller_workloads{"); !strings.Contains(got, line) {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}

// A system that cannot tell usage has all other metrics; a loop that does not answer
// fails the scrape.
func TestScrapeWithoutAnswers(t *testing.T) {
	w := sampleWorld()
	w.read = nil
	wants(t, scrape(t, New(), w, "proc_controller_ready", "proc_controller_workload_cpu", "proc_controller_workload_memory"), "proc_controller_ready 1")
	w.view, w.err = controller.View{}, controller.ErrStopped
	rec := httptest.NewRecorder()
	New().Handler(Options{Viewer: w, Usage: w}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != 500 || !strings.Contains(rec.Body.String(), "the controller gave no answer: the controller has stopped") {
		t.Errorf("%d: %s", rec.Code, rec.Body)
	}
}

// A counter must not go back when an instance ends, nor when what a tree has used
// is forgotten with a process.
func TestProcessorTimeNeverGoesBack(t *testing.T) {
	w, m := sampleWorld(), New()
	h := m.Handler(Options{Viewer: w, Usage: w})
	cpu := func(want string) {
		t.Helper()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		if line := `proc_controller_workload_cpu_seconds_total{kind="MCPServer",name="files"} ` + want + "\n"; !strings.Contains(rec.Body.String(), line) {
			t.Errorf("no %s", line)
		}
	}
	cpu("5")
	w.read[0].CPU = time.Second // a process of the tree has ended
	cpu("5")
	w.view.Instances, w.read = w.view.Instances[1:], w.read[1:] // an instance has
	cpu("5")
	w.read[0].CPU = 4 * time.Second
	cpu("6")
	w.view.Instances, w.read = nil, []*observe.Usage{}
	cpu("6")
}

func TestRestartsByReason(t *testing.T) {
	exited := func(id spec.Instance, how spec.Reason) controller.Event {
		return controller.Exited{Key: files, ID: id, Termination: spec.Termination{Reason: how}}
	}
	stopped := func(id spec.Instance, why spec.Reason) controller.Event {
		return controller.StopAsked{Key: files, ID: id, Reason: why}
	}
	started := func(token string) controller.Event { return controller.Started{Key: files, Token: token} }
	beside := controller.StartAsked{Key: files, Token: "b", Beside: true}
	for _, tt := range []struct {
		name   string
		events []controller.Event
		want   string // reason and count
	}{
		{"the first start", []controller.Event{started("a")}, ""},
		{"a crash", []controller.Event{started("a"), exited("a-1", spec.ReasonError), started("b")}, `reason="Error"} 1`},
		{"a change", []controller.Event{started("a"), stopped("a-1", spec.ReasonSpecChanged), stopped("a-1", spec.ReasonGraceOver), exited("a-1", spec.ReasonStopped), started("b")}, `reason="SpecChanged"} 1`},
		{"no answers", []controller.Event{started("a"), stopped("a-1", spec.ReasonLivenessFailed), exited("a-1", spec.ReasonLivenessFailed), started("b")}, `reason="LivenessFailed"} 1`},
		{"two replicas", []controller.Event{exited("a-1", spec.ReasonError), exited("b-1", spec.ReasonError), started("c"), started("d")}, `reason="Error"} 2`},
		{"suspended and resumed", []controller.Event{started("a"), stopped("a-1", spec.ReasonSuspended), exited("a-1", spec.ReasonStopped), started("b")}, ""},
		{"beside", []controller.Event{
			started("a"), beside, started("b"), stopped("a-1", spec.ReasonSpecChanged), exited("a-1", spec.ReasonStopped),
			exited("b-2", spec.ReasonError), started("c"),
		}, `reason="Error"} 1` + "\n" + `reason="SpecChanged"} 1`},
		{"beside, in vain", []controller.Event{
			started("a"), beside, controller.StartFailed{Key: files, Token: "b"}, started("b"),
		}, ""},
	} {
		m := New()
		happen(m, tt.events...)
		got := scrape(t, m, sampleWorld(), "proc_controller_restarts_total")
		got = strings.ReplaceAll(got, `proc_controller_restarts_total{kind="MCPServer",name="files",`, "")
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// What no manifest names and nothing runs of has no series any more.
func TestForgottenWorkloadsHaveNoSeries(t *testing.T) {
	m := exercised()
	counted := []string{"proc_controller_starts", "proc_controller_start_failures", "proc_controller_exits", "proc_controller_restarts"}
	if got := scrape(t, m, sampleWorld(), counted...); strings.Count(got, "\n") != 3 {
		t.Fatalf("before:\n%s", got)
	}
	happen(m, controller.Forgotten{Key: files})
	wants(t, scrape(t, m, sampleWorld(), counted...),
		`proc_controller_start_failures_total{kind="Agent",name="coder",reason="ProgramNotFound"} 1`)
	if len(m.ends) != 1 {
		t.Errorf("kept: %v", m.ends)
	}
}

func TestWhatIsCounted(t *testing.T) {
	got := scrape(t, exercised(), sampleWorld(), "proc_controller_scan", "proc_controller_signals", "proc_controller_probe", "proc_controller_spawn", "proc_controller_reconcile")
	for _, want := range []string{
		`proc_controller_scanned_processes 300`, `proc_controller_scan_failures_total 1`,
		`proc_controller_scan_duration_seconds_count{depth="full"} 1`, `proc_controller_scan_duration_seconds_count{depth="look"} 0`,
		`proc_controller_signals_total{result="success",signal="SIGTERM"} 1`, `proc_controller_signals_total{result="failure",signal="SIGKILL"} 1`,
		`proc_controller_probe_duration_seconds_count{probe="readiness",result="failure"} 1`,
		`proc_controller_spawn_duration_seconds_count{result="success"} 1`, `proc_controller_reconcile_duration_seconds_count 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// The loop pays for its instruments at each pass and each probe: no garbage.
func TestInstrumentsAllocateNothing(t *testing.T) {
	m := New()
	n := testing.AllocsPerRun(100, func() {
		m.Passed(time.Millisecond)
		m.Spawned(time.Millisecond, nil)
		m.Scanned(observe.Look, time.Millisecond, 10, nil)
		m.Probed(controller.Liveness, time.Millisecond, false)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkInstruments(b *testing.B) {
	m := New()
	started := controller.Started{Key: files, Token: "a"}
	for b.Loop() {
		m.Passed(time.Millisecond)
		m.Happened(started)
	}
}
