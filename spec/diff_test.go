package spec

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// decoded is the object of a manifest with that spec.
func decoded(t interface {
	Helper()
	Fatalf(string, ...any)
}, meta, body string,
) *Object {
	t.Helper()
	text := "apiVersion: " + APIVersion + "\nkind: MCPServer\nmetadata: {name: x" + meta + "}\nspec: {" + body + "}\n"
	docs := Decode("x.yaml", []byte(text))
	if docs[0].Object == nil {
		t.Fatalf("%s: %v", text, docs[0].Findings)
	}
	return docs[0].Object
}

func TestDiff(t *testing.T) {
	tests := []struct{ metaA, a, metaB, b, want string }{
		{"", "command: [x]", "", "command: [x], replicas: 1, suspend: false, env: []", ""},
		{"", "command: [x]", "", "command: [x], backoff: {max: 1m}", `live spec.backoff.max "5m" -> "1m"`},
		{"", "command: [x]", "", "command: [z]", `restarts spec.command ["x"] -> ["z"]`},
		{
			"", "command: [x], env: [{name: A, value: '1'}, {name: B, value: '2'}]", "", "command: [x], env: [{name: B, value: '3'}, {name: C, value: '4'}]",
			`restarts spec.env[A].value "1" -> ; restarts spec.env[B].value "2" -> "3"; restarts spec.env[C].value  -> "4"`,
		},
		{"", "command: [x], env: [{name: A, value: '1'}, {name: B, value: '2'}]", "", "command: [x], env: [{name: B, value: '2'}, {name: A, value: '1'}]", `restarts spec.env  -> `},
		{"", "command: [x], env: [{name: A, value: '1'}, {name: A, value: '2'}]", "", "command: [x], env: [{name: A, value: '1'}, {name: A, value: '3'}]", `restarts spec.env[1].value "2" -> "3"`},
		{", labels: {a: b}", "command: [x]", ", labels: {a: c, d.e/f: g}", "command: [x]", `live metadata.labels.a "b" -> "c"; live metadata.labels.d.e/f  -> "g"`},
		{"", "command: [x]", "", "command: [x], inheritEnv: []", `restarts spec.inheritEnv ["*"] -> []`},
		{"", "command: [x]", "", "command: [x], replicas: 2, suspend: true", `live spec.replicas 1 -> 2; live spec.suspend  -> true`},
		{"", "command: [x]", "", "command: [x], resources: {limits: {memory: 1Gi}}", `restarts spec.resources.limits.memory  -> "1Gi"`},
		{"", "command: [x]", "", "command: [x], env: [{name: A}]", `restarts spec.env[A].name  -> "A"`},
	}
	for _, tt := range tests {
		got := ""
		for i, c := range Diff(decoded(t, tt.metaA, tt.a), decoded(t, tt.metaB, tt.b)) {
			if i > 0 {
				got += "; "
			}
			effect := "live"
			if c.Restarts {
				effect = "restarts"
			}
			got += fmt.Sprintf("%s %s %s -> %s", effect, c.Path, c.Was, c.Is)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, then %s (-want +got):\n%s", tt.a, tt.b, diff)
		}
	}
}

// TestDiffAgreesWithHash: a change restarts exactly where the hash is another,
// and nothing differs of an object that went over the wire.
func TestDiffAgreesWithHash(t *testing.T) {
	parts := []string{
		"replicas: 2", "env: [{name: A, value: '1'}]", "env: [{name: B, value: '2'}, {name: A, value: '1'}]", "env: [{name: A, value: '1'}, {name: B, value: '2'}]",
		"args: [z]", "inheritEnv: []", "backoff: {factor: 3}", "ports: [{port: 0}], mcp: {path: /x}", "ports: [{name: a, port: 0}, {name: b, port: 0}]", "user: 12",
		"workingDir: /tmp", "dependsOn: [{kind: Agent, name: q}]", "livenessProbe: {exec: {command: [x]}}", "strategy: {type: BlueGreen}",
	}
	draw := func(t *rapid.T, label string) *Object {
		body, fields := "command: [x]", map[string]bool{}
		for _, p := range rapid.SliceOfDistinct(rapid.SampledFrom(parts), func(s string) string { return s }).Draw(t, label) {
			if name := p[:4]; !fields[name] {
				fields[name] = true
				body += ", " + p
			}
		}
		return decoded(t, "", body)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		restarts := false
		changes := Diff(a, b)
		for _, c := range changes {
			restarts = restarts || c.Restarts
		}
		if differ := HashOf(a, nil) != HashOf(b, nil); differ != restarts {
			t.Errorf("the hash differs: %v; the fields: %+v", differ, changes)
		}
		if len(changes) == 0 && !a.Equal(b) {
			t.Errorf("no change, and not equal")
		}
		wire, err := json.Marshal(a)
		var back Object
		if err == nil {
			err = json.Unmarshal(wire, &back)
		}
		if err != nil {
			t.Fatal(err)
		}
		if changes := Diff(a, &back); len(changes) > 0 {
			t.Errorf("over the wire: %+v", changes)
		}
	})
}
