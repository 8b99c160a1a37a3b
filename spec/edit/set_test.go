package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

var (
	agentA      = spec.Key{Kind: spec.KindAgent, Name: "a"}
	suspendPath = []string{"spec", "suspend"}
)

const head = "apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: a}\n"

// Each text is suspended, and then resumed, which gives the text before again
// unless after says otherwise.
func TestSuspendAndResume(t *testing.T) {
	tests := []struct{ name, file, before, suspended, after string }{
		{
			name:      "block",
			before:    head + "spec:\n  command: [x] # run it\n",
			suspended: head + "spec:\n  suspend: true\n  command: [x] # run it\n",
		},
		{
			name:      "comments",
			before:    "# top\n" + head + "spec: # what to run\n    # the program\n    command: [x]\n# end\n",
			suspended: "# top\n" + head + "spec: # what to run\n    suspend: true\n    # the program\n    command: [x]\n# end\n",
		},
		{
			name:      "no line end",
			before:    head + "spec:\n  command:\n  - x\n  - 'y'",
			suspended: head + "spec:\n  suspend: true\n  command:\n  - x\n  - 'y'",
		},
		{
			name:      "Windows lines",
			before:    strings.ReplaceAll(head+"spec:\n  command: [x]\n", "\n", "\r\n"),
			suspended: strings.ReplaceAll(head+"spec:\n  suspend: true\n  command: [x]\n", "\n", "\r\n"),
		},
		{
			name:      "flow",
			before:    head + "spec: {command: [x]}\n",
			suspended: head + "spec: {suspend: true, command: [x]}\n",
		},
		{
			name:      "flow on lines",
			before:    head + "spec: {\n  command: [x],\n  }\n",
			suspended: head + "spec: {\n  suspend: true,\n  command: [x],\n  }\n",
		},
		{
			name:      "flow with a comment",
			before:    head + "spec: { # all of it\n  command: [x]}\n",
			suspended: head + "spec: {suspend: true, # all of it\n  command: [x]}\n",
			after:     head + "spec: {suspend: false, # all of it\n  command: [x]}\n",
		},
		{
			name:      "whole document in flow",
			before:    "--- {apiVersion: proc-controller.dev/v1alpha1, kind: Agent, metadata: {name: a}, spec: {command: [x]}}\n",
			suspended: "--- {apiVersion: proc-controller.dev/v1alpha1, kind: Agent, metadata: {name: a}, spec: {suspend: true, command: [x]}}\n",
		},
		{
			name: "JSON", file: "a.json",
			before:    "{\"apiVersion\":\"proc-controller.dev\\/v1alpha1\",\"kind\":\"Agent\",\"metadata\":{\"name\":\"a\"},\n \"spec\":{\"command\":[\"\\ud83d\\ude00\\/x\"]}}",
			suspended: "{\"apiVersion\":\"proc-controller.dev\\/v1alpha1\",\"kind\":\"Agent\",\"metadata\":{\"name\":\"a\"},\n \"spec\":{\"suspend\": true, \"command\":[\"\\ud83d\\ude00\\/x\"]}}",
		},
		{
			name: "JSON on lines", file: "a.json",
			before:    "{\n  \"apiVersion\": \"proc-controller.dev/v1alpha1\", \"kind\": \"Agent\", \"metadata\": {\"name\": \"a\"},\n  \"spec\": {\n    \"command\": [\"x\"]\n  }\n}\n",
			suspended: "{\n  \"apiVersion\": \"proc-controller.dev/v1alpha1\", \"kind\": \"Agent\", \"metadata\": {\"name\": \"a\"},\n  \"spec\": {\n    \"suspend\": true,\n    \"command\": [\"x\"]\n  }\n}\n",
		},
		{
			name:      "there already",
			before:    head + "spec:\n  command: [x]\n  suspend: false\n  replicas: 1\n",
			suspended: head + "spec:\n  command: [x]\n  suspend: true\n  replicas: 1\n",
			after:     head + "spec:\n  command: [x]\n  replicas: 1\n",
		},
		{
			name:      "with a comment beside it",
			before:    head + "spec:\n  command: [x]\n  suspend: false   # since May\n",
			suspended: head + "spec:\n  command: [x]\n  suspend: true   # since May\n",
		},
		{
			name:      "with a comment above it",
			before:    head + "spec:\n  command: [x]\n  # since May\n  suspend: false\n",
			suspended: head + "spec:\n  command: [x]\n  # since May\n  suspend: true\n",
		},
		{
			name:      "last between braces",
			before:    head + "spec: {command: [x], suspend: false}\n",
			suspended: head + "spec: {command: [x], suspend: true}\n",
			after:     head + "spec: {command: [x]}\n",
		},
		{
			name:      "an anchor on what it lies in",
			before:    head + "spec: &s\n  command: [x]\n",
			suspended: head + "spec: &s\n  suspend: true\n  command: [x]\n",
		},
		{
			name:      "an anchor on braces",
			before:    head + "spec: &s {command: [x]}\n",
			suspended: head + "spec: &s {suspend: true, command: [x]}\n",
		},
		{
			name:      "an alias for the value",
			before:    strings.Replace(head, "name: a", "name: a, annotations: {\"no\": &no 'false'}", 1) + "spec: {suspend: false, command: [&x x, *x]}\n",
			suspended: strings.Replace(head, "name: a", "name: a, annotations: {\"no\": &no 'false'}", 1) + "spec: {suspend: true, command: [&x x, *x]}\n",
			after:     strings.Replace(head, "name: a", "name: a, annotations: {\"no\": &no 'false'}", 1) + "spec: {command: [&x x, *x]}\n",
		},
		{
			name:      "wide characters and odd line breaks before it",
			before:    head + "spec:\n  command: [\"é\u2028漢\"]\n  args: ['x\n\n    y']\n  env: [{name: A, value: \"\U0001F600\"}]\n",
			suspended: head + "spec:\n  suspend: true\n  command: [\"é\u2028漢\"]\n  args: ['x\n\n    y']\n  env: [{name: A, value: \"\U0001F600\"}]\n",
		},
		{
			name:      "a byte order mark",
			before:    "\xef\xbb\xbf" + head + "spec:\n  command: [x]\n",
			suspended: "\xef\xbb\xbf" + head + "spec:\n  suspend: true\n  command: [x]\n",
		},
		{
			name:      "other documents",
			before:    "# 1\nkind: Broken\n---\n# 2\n" + head + "spec:\n  command: [x]\n\n---   # 3\napiVersion: v1\nkind: Pod\n...\n",
			suspended: "# 1\nkind: Broken\n---\n# 2\n" + head + "spec:\n  suspend: true\n  command: [x]\n\n---   # 3\napiVersion: v1\nkind: Pod\n...\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := "m.yaml"
			if tt.file != "" {
				file = tt.file
			}
			suspended, err := Set(file, []byte(tt.before), agentA, suspendPath, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.suspended, string(suspended)); diff != "" {
				t.Errorf("suspended (-want +got):\n%s", diff)
			}
			again, err := Set(file, suspended, agentA, suspendPath, true)
			if err != nil || string(again) != string(suspended) {
				t.Errorf("a second time: %v, %s", err, again)
			}
			after, err := Reset(file, suspended, agentA, suspendPath, false)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.after
			if want == "" {
				want = tt.before
			}
			if diff := cmp.Diff(want, string(after)); diff != "" {
				t.Errorf("resumed (-want +got):\n%s", diff)
			}
		})
	}
}

// What is merged in is overridden, never changed where it is defined.
func TestResetOfWhatIsMergedIn(t *testing.T) {
	before := strings.Replace(head, "metadata: {name: a}", "metadata: {name: a, annotations: &n {x: 'y'}}", 1) +
		"spec:\n  command: [x]\n  env: [&e {name: A, value: 'true'}, {<<: *e, name: B}]\n"
	suspended, err := Set("m.yaml", []byte(before), agentA, suspendPath, true)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Reset("m.yaml", suspended, agentA, suspendPath, false)
	if err != nil || string(after) != before {
		t.Errorf("%v, %s", err, after)
	}
}

func TestSetOtherFields(t *testing.T) {
	tests := []struct {
		path          string
		value         any
		before, after string
	}{
		{"spec.replicas", 3, "spec:\n  command: [x]\n  replicas: 1 # few\n", "spec:\n  command: [x]\n  replicas: 3 # few\n"},
		{"spec.restartPolicy", "Never", "spec: {restartPolicy: 'Always', command: [x]}\n", "spec: {restartPolicy: \"Never\", command: [x]}\n"},
		{"spec.backoff.max", "1m", "spec:\n  command: [x]\n  backoff: {initial: 2s}\n", "spec:\n  command: [x]\n  backoff: {max: \"1m\", initial: 2s}\n"},
	}
	for _, tt := range tests {
		got, err := Set("m.yaml", []byte(head+tt.before), agentA, strings.Split(tt.path, "."), tt.value)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		if diff := cmp.Diff(head+tt.after, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
}

// What cannot be changed without changing something else is refused, in one
// line that says what to do.
func TestSetRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no such key", strings.Replace(head, "name: a", "name: b", 1) + "spec: {command: [x]}\n", "no document"},
		{"a mistake", head + "spec: {comand: [x]}\n", "mistake at line 4"},
		{"twice", head + "spec: {command: [x]}\n---\n" + head + "spec: {command: [x]}\n", "defined twice, at lines 1 and 6"},
		{"no YAML", "a: [\n", "no document"},
		{"a name over lines", head + "? spec\n:\n  command: [x]\n", "by hand"},
	}
	for _, tt := range tests {
		got, err := Set("m.yaml", []byte(tt.text), agentA, suspendPath, true)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it; %s", tt.name, err, tt.want, got)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "cannot set spec.suspend of Agent/a in m.yaml: ") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	_, err := Set("m.yaml", []byte("# nothing\n"), agentA, suspendPath, true)
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}
