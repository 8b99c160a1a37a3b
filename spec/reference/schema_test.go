package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/proc-controller/proc-controller/spec"
)

// validator is the schema in the hands of a validator that is not ours.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json") // checks it against the schema of schemas, too
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// documents reads a file as the YAML language server does.
func documents(t *testing.T, data []byte) (docs []any) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc any
		if d.Decode(&doc) != nil {
			return docs
		}
		docs = append(docs, doc)
	}
}

func TestSchemaTakesTheExamples(t *testing.T) {
	s := validator(t)
	var files []string
	for _, dir := range []string{"../../manifests/*.yaml", "../../manifests/*/*.yaml"} {
		found, err := filepath.Glob(dir)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 4 {
		t.Fatalf("only %d examples: the search is broken", len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs := documents(t, data)
		if len(docs) == 0 {
			t.Errorf("%s has no document", file)
		}
		for _, doc := range docs {
			if err := s.Validate(doc); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		toSchema, err := filepath.Rel(filepath.Dir(file), "../../manifests/schema/proc-controller.dev_v1alpha1.json")
		if line := "# yaml-language-server: $schema=" + toSchema + "\n"; err != nil || !strings.HasPrefix(string(data), line) {
			t.Errorf("%s does not begin with %s", file, line)
		}
	}
}

// full has every field of an MCPServer, and agent those of an Agent alone.
const full = `
apiVersion: proc-controller.dev/v1alpha1
kind: MCPServer
metadata:
  name: files
  labels: {team: dev, example.org/a.b: ""}
  annotations: {Example.org/note: "as it was"}
spec:
  command: [npx, -y, server]
  args: [--port, $(PORT)]
  workingDir: ~/src
  env:
    - {name: LOG_LEVEL, value: debug}
    - {name: TOKEN, valueFrom: {file: {path: ~/.secrets/token, optional: true}}}
  envFrom: [{file: {path: .env, optional: true}}]
  inheritEnv: ["LC_*", HOME]
  user: nobody
  ports: [{name: http, port: 0}]
  replicas: 1
  suspend: true
  restartPolicy: OnFailure
  backoff: {initial: 0s, max: 1m30s, factor: 1.5, resetAfter: 1h}
  stopSignal: INT
  terminationGracePeriodSeconds: 3
  onControllerExit: Keep
  killMode: Group
  scope: Required
  resources: {limits: {memory: 1Gi, cpu: "1.5", pids: 200}}
  logs: {maxBytes: 1Mi, keep: 1}
  startupProbe: {exec: {command: [test, -e, ready]}, initialDelaySeconds: 1, periodSeconds: 2, timeoutSeconds: 2, successThreshold: 1, failureThreshold: 60}
  readinessProbe: {httpGet: {path: /ready, port: http, host: localhost, scheme: HTTPS, httpHeaders: [{name: Accept, value: text/plain}]}, successThreshold: 2}
  livenessProbe: {tcpSocket: {port: 8080, host: "::1"}}
  mcp: {transport: sse, port: http, path: /events, protocol: Legacy}
  dependsOn: [{kind: MCPServer, name: db, condition: Started, onRestart: Restart}]
  strategy: {type: BlueGreen, progressDeadlineSeconds: 30}
  lifecycle: {preStop: {exec: {command: [flush]}}}
  successExitCodes: [143]
`

const agent = `
apiVersion: proc-controller.dev/v1alpha1
kind: Agent
metadata: {name: a}
spec:
  command: [a]
  ports: [{name: http, port: 0}]
  a2a: {port: http, path: /card.json}
  mcpServers: [{name: files}]
  readinessProbe: {mcp: {transport: http, path: /mcp}}
  livenessProbe: {a2a: {port: 80}}
  lifecycle: {preStop: {httpGet: {port: http}}}
`

// replacements are the values that each value is replaced by in turn.
var replacements = []any{
	nil, true, 0, 1, -1, 19, 256, 70000, 1 << 40, 0.5, "", "a", "A", "off", "~x", "/", "a b", "Keep", "5m", "-5m", "5", "SIGTERM", "SIGSTOP",
	strings.Repeat("a", 64),
	[]any{},
	[]any{"a"},
	[]any{""},
	[]any{1, 1},
	[]any{map[string]any{}},
	map[string]any{},
	map[string]any{"a": "b"},
	map[string]any{"A B": "b"},
	map[string]any{"exec": map[string]any{"command": []any{"a"}}},
}

// looser are the values that spec refuses and the schema lets through: they need
// more of the manifest than one field, or more than a pattern. Each is a field,
// with the reason.
var looser = map[string]string{
	"spec.user":  "names of users",
	"spec.ports": "names of ports are referred to", "spec.ports[].name": "names of ports are referred to",
	"spec.ports[].port":                "a fixed port and BlueGreen",
	"spec.backoff.initial":             "initial and max",
	"spec.strategy.type":               "a deadline means something only with BlueGreen",
	"spec.startupProbe.timeoutSeconds": "timeout and period", "spec.startupProbe.periodSeconds": "timeout and period",
	"spec.startupProbe.successThreshold": "1 there and in a liveness probe, any number in a readiness probe",
	"spec.readinessProbe.httpGet.host":   "hosts", "spec.livenessProbe.tcpSocket.host": "hosts",
	"spec.readinessProbe.httpGet.port": "names of ports", "spec.livenessProbe.tcpSocket.port": "names of ports",
	"spec.lifecycle.preStop.httpGet.port": "names of ports", "spec.livenessProbe.a2a.port": "names of ports",
	"spec.mcp.port": "names of ports", "spec.a2a.port": "names of ports",
	"spec.logs.maxBytes": "how much a quantity comes to",
}

// The schema and the decoder are asked the same about thousands of manifests, each
// with one value left out or replaced. What the decoder takes the schema takes; what
// it refuses the schema refuses, but for the fields of which a schema cannot say it.
func TestSchemaAgreesWithDecode(t *testing.T) {
	s := validator(t)
	agreed := 0
	used := map[string]bool{}
	for _, manifest := range []string{full, agent} {
		if err := s.Validate(documents(t, []byte(manifest))[0]); err != nil {
			t.Errorf("the manifest itself: %v", err)
		}
		eachMutation(documents(t, []byte(manifest))[0], func(path string, doc any) {
			data, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			said := spec.Decode("x.json", data)[0]
			if said.Skipped {
				return // of another group
			}
			decoded, asJSON := !said.Broken(), any(nil)
			if asJSON, err = jsonschema.UnmarshalJSON(bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
			problem := s.Validate(asJSON)
			switch {
			case decoded == (problem == nil):
				agreed++
			case decoded:
				t.Errorf("%s: the schema refuses what is valid: %v\n%s", path, problem, data)
			case looser[path] == "" && looser[field(path)] == "":
				t.Errorf("%s: the schema takes what is not valid: %v\n%s", path, said.Findings, data)
			default:
				used[field(path)] = true
			}
		})
	}
	if agreed < 2000 {
		t.Errorf("they agreed only %d times: nothing was asked", agreed)
	}
	for path := range looser {
		if !used[path] {
			t.Errorf("%s need not be in the list of what a schema cannot say", path)
		}
	}
}

// field is a path without the numbers of elements.
func field(path string) string {
	return strings.TrimSuffix(element().ReplaceAllString(path, "[]"), "[]")
}

// eachMutation gives the document with each of its values left out or replaced. The
// document is as it was after each.
func eachMutation(doc any, do func(path string, doc any)) {
	mutate(doc, "", func(path string) { do(path, doc) })
}

func mutate(v any, path string, do func(path string)) {
	try := func(path string, old any, set func(any)) {
		for _, r := range replacements {
			set(r)
			do(path)
		}
		set(old)
		mutate(old, path, do)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			below := strings.TrimPrefix(path+"."+k, ".")
			old := v[k]
			delete(v, k)
			do(below)
			v[k] = old
			try(below, old, func(r any) { v[k] = r })
		}
		v["unknown"] = "x"
		do(path)
		delete(v, "unknown")
	case []any:
		for i := range v {
			try(fmt.Sprintf("%s[%d]", path, i), v[i], func(r any) { v[i] = r })
		}
	}
}

func sortedKeys(m map[string]any) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// What the tests of the decoder have is read by the schema as well: valid objects
// are, and those of another group. Of the broken ones most are refused.
func TestSchemaOnTheDecodersTests(t *testing.T) {
	s := validator(t)
	archives, err := filepath.Glob("../testdata/decode/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	taken, refused := 0, 0
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range spec.Decode(a.Files[0].Name, a.Files[0].Data) {
			lines := strings.SplitAfter(string(a.Files[0].Data), "\n")
			docs := documents(t, []byte(strings.Join(lines[d.Line-1:], "")))
			if len(docs) == 0 {
				continue // no YAML at all
			}
			err := s.Validate(docs[0])
			switch {
			case !d.Broken() && err != nil:
				t.Errorf("%s:%d: refused: %v", name, d.Line, err)
			case !d.Broken():
				taken++
			case err != nil:
				refused++
			}
		}
	}
	if taken < 5 || refused < 10 {
		t.Errorf("%d taken and %d refused: nothing was asked", taken, refused)
	}
}
