package spec

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Each archive has a manifest (in.yaml or in.json), the findings that are
// wanted, and the keys of the objects that are good.
func TestDecodeFindings(t *testing.T) {
	archives, err := filepath.Glob("testdata/decode/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, want := a.Files[0], map[string]string{}
			for _, f := range a.Files[1:] {
				want[f.Name] = string(f.Data)
			}
			findings, good := render(Decode(in.Name, in.Data))
			if diff := cmp.Diff(want["want"], findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want["good"], good); diff != "" {
				t.Errorf("good objects (-want +got):\n%s", diff)
			}
		})
	}
}

func render(docs []Document) (findings, good string) {
	for _, d := range docs {
		for _, f := range d.Findings {
			findings += fmt.Sprintf("%d:%d: %s\n", f.Line, f.Column, f.Message)
		}
		if d.Object != nil {
			good += d.Key.String() + "\n"
		}
	}
	return findings, good
}

func TestDecodeFillsInDefaults(t *testing.T) {
	got := decodeOne(t, `{apiVersion: proc-controller.dev/v1alpha1, kind: Agent, metadata: {name: a}, spec: {command: [a]}}`)
	want := &Object{
		APIVersion: APIVersion, Kind: KindAgent, Metadata: Metadata{Name: "a"},
		Spec: Spec{
			Command: []string{"a"}, InheritEnv: []string{"*"}, Replicas: new(int32(1)), RestartPolicy: RestartAlways,
			Backoff:    Backoff{Duration(time.Second), Duration(5 * time.Minute), 2, Duration(10 * time.Minute)},
			StopSignal: "SIGTERM", TerminationGracePeriodSeconds: new(int64(10)), OnControllerExit: ExitStop,
			KillMode: KillTree, Scope: ScopeAuto, Strategy: Strategy{Type: Recreate},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeTakesEveryField(t *testing.T) {
	want := &Object{
		APIVersion: APIVersion, Kind: KindMCPServer,
		Metadata: Metadata{Name: "files", Labels: map[string]string{"team": "dev"}, Annotations: map[string]string{"example.org/note": "as it was"}},
		Spec: Spec{
			Command: []string{"npx", "-y", "@modelcontextprotocol/server-everything", "streamableHttp"},
			Args:    []string{"--port", "$(PORT)"}, WorkingDir: "~/src",
			Env: []EnvVar{
				{Name: "LOG_LEVEL", Value: "debug"},
				{Name: "TOKEN", ValueFrom: &EnvVarSource{File: &FileSource{Path: "~/.secrets/token"}}},
			},
			EnvFrom:    []EnvFromSource{{File: &FileSource{Path: ".env", Optional: true}}},
			InheritEnv: []string{"LC_*", "HOME"}, Ports: []Port{{Name: "http"}}, Replicas: new(int32(2)), Suspend: true,
			RestartPolicy: RestartOnFailure, Backoff: Backoff{0, Duration(90 * time.Second), 1.5, Duration(time.Hour)},
			StopSignal: "SIGINT", TerminationGracePeriodSeconds: new(int64(3)), OnControllerExit: ExitKeep,
			KillMode: KillGroup, Scope: ScopeRequired, Resources: Resources{Limits{"1Gi", "1.5", new(int64(200))}},
			StartupProbe: &Probe{
				Exec:                &ExecAction{[]string{"test", "-e", "ready"}},
				InitialDelaySeconds: 1, PeriodSeconds: 2, TimeoutSeconds: 2, SuccessThreshold: 1, FailureThreshold: 60,
			},
			ReadinessProbe: &Probe{
				HTTPGet:       &HTTPGetAction{"/ready", "http", "localhost", SchemeHTTPS, []HTTPHeader{{"Accept", "text/plain"}}},
				PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 2, FailureThreshold: 3,
			},
			LivenessProbe: &Probe{
				TCPSocket:     &TCPSocketAction{"8080", "::1"},
				PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
			},
			MCP:       &MCP{Transport: TransportSSE, Port: "http", Path: "/events", Protocol: ProtocolLegacy},
			DependsOn: []Dependency{{KindMCPServer, "db", DependencyStarted, OnRestartRestart}},
			Strategy:  Strategy{BlueGreen, 30}, Lifecycle: Lifecycle{&Hook{Exec: &ExecAction{[]string{"flush"}}}},
			SuccessExitCodes: []int32{143}, Logs: Logs{"1Mi", new(int32(1))},
		},
	}
	if diff := cmp.Diff(want, sample(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeEqualMeaning(t *testing.T) {
	a := decodeOne(t, smallManifest)
	b := decodeOne(t, strings.Replace(smallManifest, "spec:", "spec:\n  args: []\n  stopSignal: TERM\n  scope: Auto\n  dependsOn: []\n  mcpServers: []\n  successExitCodes: []\n  strategy: {}\n  lifecycle: {}", 1))
	if !a.Equal(b) {
		t.Errorf("(-a +b):\n%s", cmp.Diff(a, b))
	}
	if c := decodeOne(t, strings.Replace(smallManifest, "debug", "info", 1)); a.Equal(c) {
		t.Error("different objects are equal")
	}
}

func TestDecodeWholeFile(t *testing.T) {
	long := smallManifest + "#" + strings.Repeat("x", MaxFileSize)
	for name, c := range map[string]struct {
		data         string
		line, column int
		message      string
	}{
		"empty":       {"", 1, 1, "holds no object"},
		"comments":    {"# nothing\n\n# at all\n", 1, 1, "holds no object"},
		"too large":   {long, 0, 0, "larger than 1 MiB"},
		"NUL":         {"a: b\nc: \x00", 2, 4, "NUL"},
		"Latin-1":     {"a: é\nc: é\xe9", 2, 5, "UTF-8"},
		"ELF":         {"\x7fELF\x02\x01\x01\x00", 1, 8, "binary"},
		"UTF-16":      {"\xff\xfea\x00", 1, 4, "binary"},
		"bell":        {"a: \"\a\"", 1, 5, "control characters"},
		"YAML 1.2":    {"%YAML 1.2\n---\n", 2, 1, "empty document"},
		"only ---":    {"---\n---\n", 1, 1, "empty document"},
		"null":        {"null\n", 1, 1, "not nothing"},
		"bare scalar": {"x", 1, 1, "a manifest is a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			docs := Decode("x.yaml", []byte(c.data))
			if len(docs) == 0 || !docs[0].Broken() || len(docs[0].Findings) != 1 {
				t.Fatalf("Decode: %+v", docs)
			}
			f := docs[0].Findings[0]
			if f.Line != c.line || f.Column != c.column || !strings.Contains(f.Message, c.message) || f.File != "x.yaml" || f.Reason != ReasonInvalid {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestDecodeTakesBOMAndCRLF(t *testing.T) {
	decodeOne(t, "\xef\xbb\xbf"+strings.ReplaceAll(smallManifest, "\n", "\r\n"))
}

func TestDecodeTakesEveryJSONEscape(t *testing.T) {
	docs := Decode("a.json", []byte(`{"apiVersion": "proc-controller.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "a"}, "spec": {"command": ["\ud83d\ude00 \u00e9 \/ \\/ \\ud83d \n"]}}`))
	if docs[0].Object == nil || docs[0].Object.Spec.Command[0] != "😀 é / \\/ \\ud83d \n" {
		t.Errorf("got %+v", docs[0])
	}
}

// Bombs must cost no more than a bounded time and no memory to speak of.
func TestDecodeBombs(t *testing.T) {
	head := "apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: a}\nspec:\n"
	text := strings.Repeat("x", 100<<10)
	merges := "  backoff: &m0 {factor: 2}\n"
	for i := range 40 {
		merges += fmt.Sprintf("  k%d: &m%d {<<: [*m%d, *m%d]}\n", i, i+1, i, i)
	}
	for name, body := range map[string]string{
		"texts":     "  workingDir: &x " + text + "\n  command: [" + strings.Repeat("*x,", 10000) + "]\n",
		"lists":     "  command: [a]\n  args: &x [" + strings.Repeat("a,", 1000) + "]\n  env: [" + strings.Repeat("{name: *x},", 5000) + "]\n",
		"merges":    merges + "  resources: {<<: *m40}\n  command: [a]\n",
		"itself":    "  command: [a]\n  backoff: &x {<<: *x}\n  args: &y [*y]\n",
		"unknown":   strings.Repeat("  a: b\n", 140000),
		"bad names": "  command: [a]\n  env: [" + strings.Repeat("{name: 5},", 90000) + "]\n",
		"no names":  "  command: [a]\n  env: [" + strings.Repeat("{},", 300000) + "]\n",
		"ports":     "  command: [a]\n  ports: [" + strings.Repeat("{port: 1},", 90000) + "]\n",
		"args":      "  command: [a]\n  args: [" + strings.Repeat("5,", 300000) + "]\n",
		"documents": strings.Repeat("--- {\n", 150000),
		"broken":    strings.Repeat("---\n{\n", 11900),
		"deep":      "  command: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n",
		"deeper":    "  command: " + strings.Repeat("[", 20000) + "\n",
		"wide":      "  command: [a]\n  x: [" + strings.Repeat("[],", 200000) + "]\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			docs := Decode("x.yaml", []byte(head+body))
			if !docs[0].Broken() || len(docs[0].Findings) == 0 {
				t.Errorf("it is taken for good")
			}
			if len(docs) == 1 && len(docs[0].Findings) > maxFindings+1 {
				t.Errorf("%d findings", len(docs[0].Findings))
			}
			// About 0.5 s each on an idle machine; what is quadratic takes minutes.
			if d := time.Since(start); d > time.Minute {
				t.Errorf("it took %v", d)
			}
		})
	}
}

func TestDecodeLongStrings(t *testing.T) {
	fits := strings.Repeat("x", MaxEnvString-len("A=")-1)
	manifest := func(v string) []byte {
		return fmt.Appendf(nil, "apiVersion: %s\nkind: Agent\nmetadata: {name: a}\nspec:\n  command: [a]\n  env: [{name: A, value: %s}]\n", APIVersion, v)
	}
	if d := Decode("x.yaml", manifest(fits)); d[0].Broken() {
		t.Errorf("the longest variable is refused: %+v", d[0].Findings)
	}
	if d := Decode("x.yaml", manifest(fits+"x")); !d[0].Broken() || d[0].Findings[0].Line != 6 || d[0].Findings[0].Column != 26 {
		t.Errorf("a longer variable: %+v", d[0].Findings)
	}
}

func TestDecodeKeepsNothingOfItsInput(t *testing.T) {
	data := []byte(smallManifest)
	o := Decode("x.yaml", data)[0].Object
	copy(data, bytes.Repeat([]byte{'#'}, len(data)))
	if o.Metadata.Name != "files" || !o.Equal(decodeOne(t, smallManifest)) {
		t.Errorf("the object changed with the buffer: %+v", o)
	}
}
