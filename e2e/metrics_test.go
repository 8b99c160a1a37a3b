//go:build linux

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// series are the samples of one scrape, by name and labels as they are written.
type series map[string]float64

// scrape asks for the metrics, and gives them as they came, too.
func (r *rig) scrape() (series, string, error) {
	r.t.Helper()
	status, body, err := r.ask("/metrics")
	if err != nil || status != 200 {
		return nil, "", fmt.Errorf("scrape: status %d, %v: %s", status, err, body)
	}
	all := series{}
	for line := range strings.Lines(body) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(line, "#") {
			all[name] = v
		}
	}
	return all, body, nil
}

// TestMetrics: what has happened is counted, what is true is told, and what is no
// more has no series; the names are what the tool for that finds nothing to say of.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("steady.yaml", manifest("Agent", "steady", `command: [sleep, "1000"]
readinessProbe: {exec: {command: ["true"]}}`))
	r.write("crasher.yaml", manifest("MCPServer", "crasher", `command: [sh, -c, "exit 3"]
backoff: {initial: 10ms, max: 10ms}`))
	r.write("lost.yaml", manifest("Agent", "lost", `command: [nowhere-to-be-found]`))
	r.start()

	const steady, crasher = `{kind="Agent",name="steady"}`, `{kind="MCPServer",name="crasher",reason="Error"}`
	atLeast := series{
		"proc_controller_ready":                                                                   1,
		`proc_controller_workloads{kind="Agent",phase="Running"}`:                                 1,
		"proc_controller_workload_ready" + steady:                                                 1,
		"proc_controller_workload_processes" + steady:                                             1,
		"proc_controller_workload_memory_bytes" + steady:                                          1000,
		"proc_controller_starts_total" + steady:                                                   1,
		"proc_controller_exits_total" + crasher:                                                   3,
		"proc_controller_restarts_total" + crasher:                                                2,
		`proc_controller_start_failures_total{kind="Agent",name="lost",reason="ProgramNotFound"}`: 1,
		`proc_controller_probe_duration_seconds_count{probe="readiness",result="success"}`:        1,
		`proc_controller_spawn_duration_seconds_count{result="success"}`:                          4,
		`proc_controller_scan_duration_seconds_count{depth="full"}`:                               1,
		"proc_controller_scanned_processes":                                                       2,
		"proc_controller_reconcile_duration_seconds_count":                                        4,
		"process_resident_memory_bytes":                                                           1 << 20,
	}
	var body string
	eventually(t, soon, "all of it is counted", func() error {
		all, text, err := r.scrape()
		if err != nil {
			return err
		}
		body = text
		for name, least := range atLeast {
			if all[name] < least {
				return fmt.Errorf("%s is %v, and not yet %v", name, all[name], least)
			}
		}
		return nil
	})
	lint(t, body)

	r.remove("crasher.yaml")
	r.remove("steady.yaml")
	eventually(t, soon, "nothing is told of what is gone", func() error {
		all, _, err := r.scrape()
		for name := range all {
			// What was counted is kept until the controller forgets the workload.
			if strings.HasPrefix(name, "proc_controller_workload_") && !strings.Contains(name, `name="lost"`) {
				return fmt.Errorf("there is still %s", name)
			}
		}
		if err == nil && all[`proc_controller_signals_total{result="success",signal="SIGTERM"}`] < 1 {
			return fmt.Errorf("no signal was counted")
		}
		return err
	})
}

// lint has promtool judge a scrape; hack/install-tools gets it.
func lint(t *testing.T, body string) {
	t.Helper()
	tool := filepath.Join(projectDir, "bin", "tools", "promtool")
	if path, err := exec.LookPath("promtool"); err == nil {
		tool = path
	}
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(body)
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
