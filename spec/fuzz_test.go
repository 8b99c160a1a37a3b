package spec

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// lineBreaks are those of YAML 1.1, which the parser counts.
var lineBreaks = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// Whatever a file holds: no panic, at least one document, each either good or
// with a finding that has a place in the file, and a good one can be written
// and decoded again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		smallManifest, fullManifest, agentManifest, "", "---\n---\n", "a: b: c", "x: *y", "- [a", "\t", "a: \"\\ud83d\"", "<<: {}", "? [a]\n: b", "%YAML 1.2\n---\n",
		"apiVersion: apps/v1\n", "spec: &a {env: [*a], <<: *a}\n", "{\"apiVersion\": \"proc-controller.dev/v1alpha1\"}", "...\n---\n...\n", "---\r-", "metadata: {labels: {<<: [a]}}",
		healthy("ports: [{port: 0}], mcp: {transport: sse}, livenessProbe: {mcp: {}, periodSeconds: 3}"),
		healthy("mcp: {port: 1}, strategy: {type: BlueGreen}, startupProbe: {httpGet: {port: 65535}, periodSeconds: -1}"),
		healthy("dependsOn: [{kind: Agent, name: b}, {}], lifecycle: {preStop: {httpGet: {port: \"1\", httpHeaders: []}}}"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := 1 + len(lineBreaks.FindAllIndex(data, -1))
		docs := Decode("x.yaml", data)
		if len(docs) == 0 {
			t.Fatal("no document")
		}
		for _, d := range docs {
			if (d.Object != nil) != (len(d.Findings) == 0) || d.Line < 1 || d.Line > lines {
				t.Fatalf("document %+v", d)
			}
			for _, g := range d.Findings {
				if g.Line < 1 || g.Line > lines || g.Column < 1 || g.Message == "" || !utf8.ValidString(g.Message) {
					t.Fatalf("finding %+v", g)
				}
			}
			if d.Object != nil {
				checkRoundTrip(t, d.Object)
			}
		}
	})
}

func checkRoundTrip(t *testing.T, o *Object) {
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	again := Decode("x.json", out)
	if again[0].Object == nil || !again[0].Object.Equal(o) || HashOf(again[0].Object, nil) != HashOf(o, nil) {
		t.Fatalf("%s\nis decoded to %+v", out, again[0])
	}
}

// The walk over the nodes must be as strict as the strict JSON decoder, which
// knows no positions: what the walk lets through, that must take.
func FuzzWalkIsAsStrictAsJSON(f *testing.F) {
	f.Add("command", "[a]")
	f.Add("Command", "[a]")
	f.Add("replicas", "1.0")
	f.Add("replicas", "2147483648")
	f.Add("backoff", "{factor: 1e400}")
	f.Add("backoff", "{initial: 1s, initial: 2s}")
	f.Add("env", "[{name: A, value: \"\\0\"}]")
	f.Add("readinessProbe", "{httpGet: {port: 80}, timeoutSeconds: 1.0, TimeoutSeconds: 2}")
	f.Add("livenessProbe", "{exec: {command: [5]}, timeoutSeconds: 2147483648}")
	f.Add("startupProbe", "{timeoutSeconds: 1, <<: {timeoutSeconds: 2}}")
	f.Add("strategy", "{type: BlueGreen, type: Recreate, progressDeadlineSeconds: 1e1}")
	f.Add("lifecycle", "{preStop: {httpGet: {httpHeaders: [{name: A}, 5]}}}")
	f.Fuzz(func(t *testing.T, field, value string) {
		docs := Decode("x.yaml", []byte("apiVersion: "+APIVersion+"\nkind: Agent\nmetadata: {name: a}\nspec:\n  "+field+": "+value+"\n"))
		for _, d := range docs {
			for _, g := range d.Findings {
				if strings.Contains(g.Message, "json:") || strings.Contains(g.Message, "strict decoding") {
					t.Fatalf("only the JSON decoder found it: %+v", g)
				}
			}
		}
	})
}

func FuzzParseMarkers(f *testing.F) {
	f.Add(block(testMarkers.Environ()...))
	f.Add([]byte("PROC_CONTROLLER_OWNER"))
	f.Add([]byte("AGENT_NAME=\x00PROC_CONTROLLER_=\x00"))
	f.Fuzz(func(t *testing.T, environ []byte) {
		m := ParseMarkers(environ)
		env := m.Environ()
		again := ParseMarkers(block(env...))
		if strings.Join(again.Environ(), "\x00") != strings.Join(env, "\x00") {
			t.Fatalf("%+v is parsed again as %+v", m, again)
		}
	})
}

func FuzzParseEnvFile(f *testing.F) {
	f.Add([]byte("A=1\nexport B='x' # y\n"))
	f.Add([]byte("\xef\xbb\xbf\r\nA=\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		vars, err := ParseEnvFile(data)
		if err != nil && vars != nil {
			t.Fatal("variables and an error")
		}
		for _, v := range vars {
			if !isEnvFileName(v.Name) || strings.ContainsAny(v.Value, "\x00\n") {
				t.Fatalf("variable %+v", v)
			}
		}
	})
}

func FuzzParsePortMap(f *testing.F) {
	f.Add("http=8123,=9000")
	f.Add("=9000,http=8123")
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := ParsePortMap(s); err == nil && m.String() != s {
			t.Fatalf("%q is %q", s, m.String())
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add("mcp/files")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		if err != nil {
			return
		}
		if again, err := ParseKey(k.String()); err != nil || again != k {
			t.Fatalf("%q is %v, and that %v", s, k, again)
		}
	})
}

func FuzzDuration(f *testing.F) {
	f.Add(`"1m30s"`)
	f.Add(`"5h"`)
	f.Fuzz(func(t *testing.T, s string) {
		var d, again Duration
		if json.Unmarshal([]byte(s), &d) != nil {
			return
		}
		out, err := json.Marshal(d)
		if err != nil || json.Unmarshal(out, &again) != nil || again != d {
			t.Fatalf("%s is %v, and that %v", s, d, again)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	f.Add("1.5Gi")
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := quantity(s, 1000); ok != (n > 0) {
			t.Fatalf("%q: %d, %v", s, n, ok)
		}
	})
}
