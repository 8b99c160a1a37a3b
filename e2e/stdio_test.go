//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counter is a stdio server, and the directory that says what ails it.
type counter struct {
	*rig
	name, dir string
}

// counter gives a stdio server with these ails. It is asked often how it is.
func (r *rig) counter(name string, ails ...string) *counter {
	r.t.Helper()
	c := &counter{rig: r, name: name, dir: filepath.Join(r.dir, name)}
	r.mkdir(c.dir, 0o755)
	for _, a := range ails {
		c.ails(a)
	}
	return c
}

func (c *counter) ails(what string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, what), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// body is its spec, with further fields of mcp and further lines.
func (c *counter) body(mcp string, more ...string) string {
	return fmt.Sprintf("command: [%s, %s, %s]\nmcp: {transport: stdio%s}\n"+
		"readinessProbe: {mcp: {}, periodSeconds: 1, failureThreshold: 1}\nlivenessProbe: {mcp: {}, periodSeconds: 1}\n%s",
		os.Args[0], stdioPayload, c.dir, mcp, strings.Join(more, "\n"))
}

func (c *counter) drop(mcp string, more ...string) {
	c.t.Helper()
	c.write(c.name+".yaml", manifest("MCPServer", c.name, c.body(mcp, more...)))
}

func (c *counter) key() string { return "mcp/" + c.name }

// ended waits until it has noted these ends, in order.
func (c *counter) ended(want ...string) {
	c.t.Helper()
	text := strings.Join(want, "\n") + "\n"
	eventually(c.t, soon, fmt.Sprintf("%s has noted %q", c.name, want), func() error {
		got, err := os.ReadFile(filepath.Join(c.dir, "ended"))
		if err == nil && string(got) != text {
			err = fmt.Errorf("it has noted %q", got)
		}
		return err
	})
}

// withToken shows a token with each request.
type withToken string

func (token withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	if token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	return http.DefaultTransport.RoundTrip(req)
}

// The newest revision of each era, for connect.
const (
	legacyEra = "2025-11-25"
	modernEra = "2026-07-28"
)

// connect opens a session of the legacy era, which is one that the server knows of.
func connect(t *testing.T, url, token string) (*mcp.ClientSession, error) {
	t.Helper()
	return connectIn(t, legacyEra, url, token)
}

func connectIn(t *testing.T, era, url, token string) (*mcp.ClientSession, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "v1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: era})
}

func mustConnect(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	s, err := connect(t, url, "")
	if err != nil {
		t.Fatalf("cannot connect to %s: %v", url, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// asked asks which process answers, and how often it was asked.
func asked(t *testing.T, s *mcp.ClientSession) (pid, calls int, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "count"})
	if err != nil {
		return 0, 0, err
	}
	if res.IsError || len(res.Content) != 1 {
		return 0, 0, fmt.Errorf("the answer is %+v", res)
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	if _, err := fmt.Sscan(text.Text, &pid, &calls); err != nil {
		return 0, 0, fmt.Errorf("the answer is %q", text.Text)
	}
	return pid, calls, nil
}

// answers waits until a session has an answer, and gives what it says.
func answers(t *testing.T, s *mcp.ClientSession) (pid, calls int) {
	t.Helper()
	eventually(t, soon, "the session has an answer", func() (err error) {
		pid, calls, err = asked(t, s)
		return err
	})
	return pid, calls
}

// One process serves all sessions. When it dies the sessions go on with the next one,
// and when its bridge dies nothing of the former is left.
func TestStdioServerIsShared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.counter("counter", "noisy")
	c.drop("")
	r.start()
	o, port := r.available(c.key())
	o = r.until(c.key(), "is verified", func(o object) bool { return o.condition("Verified").Status == "True" })
	if s := o.Status.Server; s == nil || s.Name != "counter" || s.Version != "2.1" || s.Tools != 2 || s.URL != clockURL(port) {
		t.Errorf("it says of itself %+v", s)
	}
	r.until(c.key(), "has a finding about what it writes", func(o object) bool {
		return len(o.Status.Warnings) == 1 && o.Status.Warnings[0].Reason == "ServerFinding"
	})
	a, b := mustConnect(t, o.Status.Server.URL), mustConnect(t, o.Status.Server.URL)
	first, _ := answers(t, a)
	if other, calls := answers(t, b); other != first || calls < 2 {
		t.Errorf("the second session is answered by pid %d after %d calls, the first by pid %d", other, calls, first)
	}
	modern, err := connectIn(t, modernEra, o.Status.Server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer modern.Close()
	if other, calls := answers(t, modern); other != first || calls < 3 {
		t.Errorf("a client of the other era is answered by pid %d after %d calls", other, calls)
	}
	if all := marked(r.owner); len(all) != 2 {
		t.Errorf("two sessions are served by %v, want the bridge and the server", all)
	}
	r.until(c.key(), "is known with its server and both sessions", func(o object) bool {
		b := o.Status.Instances[0].Bridge
		return b != nil && b.ServerPID == first && b.Sessions == 2 && b.Servers == 1
	})

	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, first)
	second, _ := answers(t, a)
	if other, _ := answers(t, b); second == first || other != second {
		t.Errorf("the sessions go on with pids %d and %d", second, other)
	}
	after := r.until(c.key(), "is ready, with one restart", func(o object) bool {
		return o.Status.Restarts == 1 && o.condition("Ready").Status == "True"
	})
	if lt := after.Status.LastTermination; lt == nil || lt.Signal != "SIGKILL" || lt.Reason != "Error" || after.Status.PID != o.Status.PID {
		t.Errorf("last termination %+v; the bridge is pid %d, was %d", lt, after.Status.PID, o.Status.PID)
	}
	r.awaitEvent("the end of the server", func(e event) bool { return e.Type == "ServerExited" })

	if err := syscall.Kill(o.Status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, second)
	next := r.replaced(c.key(), o)
	r.available(c.key())
	if next.Status.Restarts != 2 {
		t.Errorf("%d restarts after the bridge died, too, want 2", next.Status.Restarts)
	}
	r.remove(c.name + ".yaml")
	nothingLeft(t, r.owner)
	portFree(t, port)
}

// A stop closes the input of the server, waits, signals it, and kills it at last,
// all within the grace period.
func TestStdioServerIsStoppedInOrder(t *testing.T) {
	t.Parallel()
	for _, mode := range scopeModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			stopsStdioServers(t, mode.rig(t))
		})
	}
}

func stopsStdioServers(t *testing.T, r *rig) {
	all := map[string]*counter{}
	for name, ails := range map[string][]string{"good": nil, "stays": {"stays"}, "deaf": {"stays", "deaf"}} {
		all[name] = r.counter(name, ails...)
		all[name].drop("", "terminationGracePeriodSeconds: 4")
	}
	r.start()
	for name := range all {
		r.available("mcp/" + name)
	}
	for name, c := range all {
		r.write(name+".yaml", manifest("MCPServer", name, c.body("", "terminationGracePeriodSeconds: 4", "suspend: true")))
	}
	nothingLeft(t, r.owner)
	all["good"].ended("end of input")
	all["stays"].ended("end of input", "SIGTERM")
	all["deaf"].ended("end of input", "SIGTERM")
}

// Of a controller that dies nothing is left but what is to be kept, which the next one
// knows with its server. An edit of what the bridge was told restarts it, and nothing
// else does.
func TestStdioServerAndItsController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop, keep := r.counter("stop"), r.counter("keep")
	stop.drop("")
	keep.drop("", "onControllerExit: Keep")
	r.start()
	r.available(stop.key())
	o, _ := r.available(keep.key())
	session := mustConnect(t, clockURL(o.Status.Ports[0].Port))
	pid, _ := answers(t, session)
	r.crash()
	eventually(t, soon, "only what is to be kept is left", func() error {
		for _, p := range marked(r.owner) {
			if !p.has("MCP_SERVICE_ID", keep.name) {
				return fmt.Errorf("%v is left", p)
			}
		}
		return nil
	})
	stop.ended("end of input")
	if again, _ := answers(t, session); again != pid {
		t.Errorf("pid %d answers, was %d", again, pid)
	}
	r.start()
	r.available(keep.key())
	r.kept(keep.key(), o)
	r.signal(syscall.SIGUSR2)
	r.upgraded(1)
	r.kept(keep.key(), o)
	r.write(keep.name+".yaml", strings.Replace(manifest("MCPServer", keep.name, keep.body("", "onControllerExit: Keep")), "metadata:\n", "metadata:\n  labels: {new: label}\n", 1))
	r.until(keep.key(), "has the label", func(o object) bool { return o.Metadata.Labels["new"] == "label" })
	r.kept(keep.key(), o)
	if again, calls := answers(t, session); again != pid || calls < 3 {
		t.Errorf("pid %d answers, was %d", again, pid)
	}
	keep.drop(", sharing: PerSession", "onControllerExit: Keep")
	r.replaced(keep.key(), o)
	gone(t, pid)
	_, port := r.available(keep.key())
	a, b := mustConnect(t, clockURL(port)), mustConnect(t, clockURL(port))
	first, _ := answers(t, a)
	if second, calls := answers(t, b); second == first || calls != 1 {
		t.Errorf("both sessions are answered by pid %d", first)
	}
	r.remove(keep.name + ".yaml")
	r.remove(stop.name + ".yaml")
	nothingLeft(t, r.owner)
}

// What cannot be started backs off like every workload, with what it said.
func TestStdioServerThatCannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.counter("counter", "broken")
	c.drop("", "backoff: {initial: 500ms, max: 3s}")
	r.start()
	o := r.until(c.key(), "has crashed again and again", func(o object) bool {
		return o.Status.Phase == "BackOff" && o.Status.Restarts > 1
	})
	if lt := o.Status.LastTermination; lt == nil || lt.ExitCode != 7 || lt.Reason != "Error" {
		t.Errorf("last termination = %+v, want exit code 7", lt)
	}
	if d := o.Status.LastDeath; d == nil || !slices.Contains(d.Output, "not today") {
		t.Errorf("what is kept of it is %+v", d)
	}
	if err := os.Remove(filepath.Join(c.dir, "broken")); err != nil {
		t.Fatal(err)
	}
	r.available(c.key())
}

// What dies after it was good is started again by its bridge, ever later, and that is
// shown as a back-off.
func TestStdioServerThatCrashes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.counter("counter")
	c.drop("", "backoff: {initial: 1m, max: 1m}")
	r.start()
	o, port := r.available(c.key())
	session := mustConnect(t, clockURL(port))
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	for range 2 {
		answers(t, session)
		if res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "crash"}); err == nil && !res.IsError {
			t.Errorf("a call that the server did not live through is answered: %+v", res)
		}
	}
	shown := r.until(c.key(), "backs off, and says so", func(o object) bool {
		return o.Status.Phase == "BackOff" && o.condition("Available").Status == "False" // known by readiness, within a second
	})
	if av := shown.condition("Available"); av.Reason != "BackOff" || !strings.Contains(av.Message, "for another") {
		t.Errorf("Available is %+v", av)
	}
	if lt := shown.Status.LastTermination; lt == nil || lt.ExitCode != 3 || shown.Status.PID != o.Status.PID {
		t.Errorf("last termination %+v; the bridge is pid %d, was %d", lt, shown.Status.PID, o.Status.PID)
	}
	renewed := r.restart(c.key())
	if renewed.Status.PID == o.Status.PID {
		t.Error("a restart has not replaced the bridge")
	}
}

// Who has no token is not let in, and the agents are told it.
func TestStdioServerWithAToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := filepath.Join(r.manifests, ".token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(token, 0o644); err != nil {
		t.Fatal(err)
	}
	c := r.counter("clock")
	c.drop(", auth: {tokenFile: .token}")
	r.write("reader.yaml", reader(""))
	r.start()
	o := r.until(c.key(), "is refused, with the mode of the file", func(o object) bool {
		return o.condition("Accepted").Status == "False" && o.condition("Accepted").Reason == "TokenFileRefused"
	})
	if m := o.condition("Accepted").Message; !strings.Contains(m, "chmod o= "+token) {
		t.Errorf("message %q", m)
	}
	if err := os.Chmod(token, 0o600); err != nil {
		t.Fatal(err)
	}
	_, port := r.available(c.key())
	url := clockURL(port)
	for wrong, why := range map[string]string{"": "without a token", "s3cre": "with another token"} {
		if _, err := connect(t, url, wrong); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
			t.Errorf("%s: %v", why, err)
		}
	}
	session, err := connect(t, url, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	answers(t, session)
	_ = session.Close()
	agent := r.running("agent/reader")
	config, err := readMCPConfig(agent.Status.MCPConfig)
	if got := config.MCPServers["clock"]; err != nil || got.URL != url || got.Type != "http" || got.Headers["Authorization"] != "Bearer s3cret" {
		t.Errorf("the agent is told %+v, %v", got, err)
	}
	r.until(c.key(), "is verified all the same", func(o object) bool { return o.condition("Verified").Status == "True" })
}

// The example through npx: what one session has the server remember, the other finds.
func TestStdioServerThroughNpx(t *testing.T) {
	t.Parallel()
	npm := needsNPM(t)
	r := newRig(t)
	r.env, r.patience = append(r.env, npm...), npxPatience
	example, err := os.ReadFile(filepath.Join(projectDir, "manifests", "npm", "memory.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("memory.yaml", strings.Replace(string(example), "  mcp:", "  env: [{name: MEMORY_FILE_PATH, value: "+filepath.Join(r.dir, "memory.jsonl")+"}]\n  mcp:", 1))
	r.start()
	_, port := r.available("mcp/memory")
	a, b := mustConnect(t, clockURL(port)), mustConnect(t, clockURL(port))
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	entity := map[string]any{"name": "proc-controller", "entityType": "program", "observations": []string{"shares"}}
	if res, err := a.CallTool(ctx, &mcp.CallToolParams{Name: "create_entities", Arguments: map[string]any{"entities": []any{entity}}}); err != nil || res.IsError {
		t.Fatalf("it remembers nothing: %+v, %v", res, err)
	}
	res, err := b.CallTool(ctx, &mcp.CallToolParams{Name: "read_graph", Arguments: map[string]any{}})
	if err != nil || len(res.Content) == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if text, _ := res.Content[0].(*mcp.TextContent); text == nil || !strings.Contains(text.Text, "proc-controller") {
		t.Errorf("the other session reads %+v", res.Content[0])
	}
	r.remove("memory.yaml")
	nothingLeft(t, r.owner)
	portFree(t, port)
}

// A bridge that its user may not execute is named, with what would help.
func TestStdioServerOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to start workloads as another user")
	}
	t.Parallel()
	r := newRig(t)
	r.ownBinary()
	if err := os.Chmod(r.binary, 0o700); err != nil { // of what the link leads to
		t.Fatal(err)
	}
	r.write("a.yaml", manifest("MCPServer", "a", "command: [cat]\nuser: nobody\nworkingDir: /\nmcp: {transport: stdio}"))
	r.start()
	o := r.until("mcp/a", "is refused", func(o object) bool { return o.condition("Accepted").Status == "False" })
	if a := o.condition("Accepted"); a.Reason != "NotExecutable" || !strings.Contains(a.Message, "bridge") || !strings.Contains(a.Message, "as user nobody") {
		t.Errorf("Accepted is %+v", a)
	}
}

// A bridge is small, however much passes through it.
func TestABridgeIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector everything is large")
	}
	t.Parallel()
	r := newRig(t)
	c := r.counter("counter")
	c.drop("")
	r.start()
	o, port := r.available(c.key())
	for range 5 {
		session := mustConnect(t, clockURL(port))
		for range 50 {
			answers(t, session)
		}
	}
	const most = 15 << 10
	if got := residentKiB(t, o.Status.PID); got > most {
		t.Errorf("the bridge has %d KiB resident, want at most %d", got, most)
	}
}
