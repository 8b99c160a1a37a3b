package spec

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden hashes of manifests that have none yet")

var hashFiles = map[string][]byte{".env": []byte("A=1\n"), "~/.secrets/token": []byte("s3cret\n")}

// A field on neither list would be in the hash without anybody having thought
// about it.
func TestEveryFieldIsOnOneListOfTheHash(t *testing.T) {
	for f := range reflect.TypeFor[Spec]().Fields() {
		name := jsonName(f)
		if slices.Contains(restarts, name) == slices.Contains(neverRestarts, name) {
			t.Errorf("spec.%s: put it on exactly one of restarts and neverRestarts", name)
		}
	}
	for _, name := range slices.Concat(restarts, neverRestarts) {
		if objectSchema().fields[objectSchema().index("spec")].schema.index(name) < 0 {
			t.Errorf("%s is on a list and is no field", name)
		}
	}
}

// Processes carry the hash that an older release gave them. These must come out
// the same for ever: never change a line of the file, only add some.
func TestGoldenHashes(t *testing.T) {
	const golden = "testdata/hashes.txt"
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for s := bufio.NewScanner(strings.NewReader(string(data))); s.Scan(); {
		if name, hash, ok := strings.Cut(s.Text(), " "); ok && name != "#" {
			want[name] = hash
		}
	}
	manifests := map[string]string{
		"small":   smallManifest,
		"full":    fullManifest,
		"minimal": "{apiVersion: proc-controller.dev/v1alpha1, kind: Agent, metadata: {name: a}, spec: {command: [a]}}",
		"user":    "{apiVersion: proc-controller.dev/v1alpha1, kind: Agent, metadata: {name: a}, spec: {command: [a], user: nobody}}",
		"agent":   agentManifest,
		"stdio":   stdioManifest("{transport: stdio}"),
		"alone":   stdioManifest("{transport: stdio, sharing: PerSession, protocol: Modern, path: /x, auth: {tokenFile: a}}"),
	}
	for name, m := range manifests {
		got := string(HashOf(decodeOne(t, m), hashFiles))
		switch {
		case want[name] == "" && *update:
			data = fmt.Appendf(data, "%s %s\n", name, got)
		case want[name] != got:
			t.Errorf("%s: hash %s, and was %q: every process that runs would be restarted", name, got, want[name])
		}
	}
	if *update {
		if err := os.WriteFile(golden, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The hash of a release that knows one field more is the same: what has its
// default leaves no trace.
func TestHashDoesNotSeeDefaults(t *testing.T) {
	base := decodeOne(t, smallManifest)
	for _, line := range []string{"args: []", `inheritEnv: ["*"]`, "onControllerExit: Stop", "scope: Auto", "resources: {limits: {}}", `workingDir: ""`, "envFrom: []", `user: ""`, "mcpServers: []", "strategy: {}"} {
		o := decodeOne(t, smallManifest+"  "+line+"\n")
		if HashOf(o, nil) != HashOf(base, nil) {
			t.Errorf("%s changes the hash", line)
		}
	}
	for _, f := range hashedFields() {
		if encoded := string(appendField(nil, f.name, reflect.ValueOf(Defaulted(Spec{})).Field(f.index))); encoded != f.unset {
			t.Errorf("the default of %s is encoded", f.name)
		}
	}
}

func TestHashSeesWhatRestarts(t *testing.T) {
	seen := map[Hash]string{HashOf(decodeOne(t, smallManifest), nil): "the manifest as it is"}
	for _, change := range []string{
		"args: [a]", "args: [ab]", "args: [a, b]", `args: [""]`, "workingDir: /a", "envFrom: [{file: {path: a}}]", "envFrom: [{file: {path: a, optional: true}}]",
		"inheritEnv: []", "inheritEnv: [A]", "onControllerExit: Keep", "scope: Required",
		"resources: {limits: {memory: 1Gi}}", `resources: {limits: {cpu: "1"}}`, "resources: {limits: {pids: 1}}", "user: nobody", "user: 65534", "user: nobody:nogroup",
	} {
		h := HashOf(decodeOne(t, smallManifest+"  "+change+"\n"), nil)
		if other, twin := seen[h]; twin {
			t.Errorf("%q has the hash of %q", change, other)
		}
		seen[h] = change
	}
	for old, changed := range map[string]string{"debug": "info", "LOG_LEVEL": "LEVEL", "streamableHttp": "sse", "port: 0": "port: 1", "name: http": "name: web"} {
		h := HashOf(decodeOne(t, strings.Replace(smallManifest, old, changed, 1)), nil)
		if other, twin := seen[h]; twin {
			t.Errorf("%s -> %s has the hash of %q", old, changed, other)
		}
		seen[h] = changed
	}
}

func TestHashDoesNotSeeWhatNeverRestarts(t *testing.T) {
	want := HashOf(sample(t), hashFiles)
	for old, changed := range map[string]string{
		"team: dev": "team: ops", "as it was": "as it is", "replicas: 2": "replicas: 3", "suspend: true": "suspend: false",
		"OnFailure": "Never", "initial: 0s": "initial: 1s", "stopSignal: INT": "stopSignal: HUP", "Seconds: 3": "Seconds: 4", "killMode: Group": "killMode: Tree",
	} {
		if HashOf(decodeOne(t, strings.Replace(fullManifest, old, changed, 1)), hashFiles) != want {
			t.Errorf("%s -> %s changes the hash", old, changed)
		}
	}
}

func TestHashSeesTheContentOfFiles(t *testing.T) {
	o := sample(t)
	base := HashOf(o, hashFiles)
	if HashOf(o, map[string][]byte{".env": []byte("A=2\n"), "~/.secrets/token": []byte("s3cret\n")}) == base {
		t.Error("a changed env file does not change the hash")
	}
	if HashOf(o, map[string][]byte{".env": []byte("A=1\n"), "~/.secrets/token": []byte("changed")}) == base {
		t.Error("a changed secret does not change the hash")
	}
	missing := HashOf(o, map[string][]byte{"~/.secrets/token": []byte("s3cret\n")})
	if empty := HashOf(o, map[string][]byte{".env": {}, "~/.secrets/token": []byte("s3cret\n")}); empty != missing {
		t.Error("an optional file that is missing is not the same as an empty one")
	}
	with := map[string][]byte{"/not/named": []byte("x")}
	for k, v := range hashFiles {
		with[k] = v
	}
	if HashOf(o, with) != base {
		t.Error("a file that is not named changes the hash")
	}
}

// The order of the fields in a manifest means nothing.
func TestHashIsStableUnderReordering(t *testing.T) {
	head, body, _ := strings.Cut(fullManifest, "spec:\n")
	var fields []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "    ") {
			fields[len(fields)-1] += line
		} else {
			fields = append(fields, line)
		}
	}
	base := sample(t)
	rapid.Check(t, func(rt *rapid.T) {
		shuffled := rapid.Permutation(fields).Draw(rt, "fields")
		o := decodeOne(t, head+"spec:\n"+strings.Join(shuffled, ""))
		if diff := cmp.Diff(base, o); diff != "" || HashOf(o, hashFiles) != HashOf(base, hashFiles) {
			rt.Fatalf("another object (-want +got):\n%s", diff)
		}
	})
}
