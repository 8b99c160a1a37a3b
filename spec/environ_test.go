package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// manifestWith is an agent with further lines in its spec.
func manifestWith(t *testing.T, lines string) *Object {
	t.Helper()
	return decodeOne(t, "apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: a}\nspec:\n  command: [a]\n"+lines)
}

func TestEnviron(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		in   EnvInputs
		want []string
	}{
		"nothing": {"", EnvInputs{}, []string{"PATH=/bin:/usr/bin"}},
		"inherits all but what is the controller's": {"", EnvInputs{Inherit: []string{
			"PATH=/opt", "A=1", "A=2", "=C:=x", "junk", "EMPTY=", "PROC_CONTROLLER_OWNER=x", "PROC_CONTROLLER_SCOPES=off", "NOTIFY_SOCKET=x", "LISTEN_FDS=1",
			"LISTEN_PID=1", "WATCHDOG_USEC=1", "JOURNAL_STREAM=x", "INVOCATION_ID=x", "AGENT_NAME=x", "MCP_SERVICE_ID=x",
		}}, []string{"PATH=/opt", "A=1", "EMPTY="}},
		"globs": {"  inheritEnv: [HOME, 'LC_*', 'X?', 'LISTEN_*']\n", EnvInputs{Inherit: []string{
			"HOME=/root", "HOMES=x", "LC_ALL=C", "XY=1", "XYZ=1", "LISTEN_FDS=1", "PATH=/opt",
		}}, []string{"HOME=/root", "LC_ALL=C", "XY=1", "PATH=/bin:/usr/bin"}},
		"an empty list takes nothing": {"  inheritEnv: []\n", EnvInputs{Inherit: []string{"A=1"}}, []string{"PATH=/bin:/usr/bin"}},
		"another user's account takes the place of what is the controller's user's": {
			"  env: [{name: SHELL, value: /bin/true}]\n",
			EnvInputs{
				Inherit: []string{"HOME=/root", "PATH=x", "USER=root", "XDG_RUNTIME_DIR=/run/user/0", "DBUS_SESSION_BUS_ADDRESS=x", "MAIL=x", "LANG=C"},
				Account: []string{"HOME=/home/a", "USER=a", "LOGNAME=a", "SHELL=/bin/sh"},
			},
			[]string{"PATH=x", "LANG=C", "HOME=/home/a", "USER=a", "LOGNAME=a", "SHELL=/bin/true"},
		},
		"PWD": {"", EnvInputs{Inherit: []string{"PATH=", "PWD=/old"}, Dir: "/srv"}, []string{"PATH=", "PWD=/srv"}},
		"env wins over files, later over earlier": {
			"  envFrom: [{file: {path: one}}, {file: {path: two}}, {file: {path: none, optional: true}}]\n  env: [{name: C, value: env}, {name: D, value: env}, {name: D, value: last}]\n",
			EnvInputs{Inherit: []string{"PATH=x", "A=i", "B=i"}, Files: map[string][]byte{"one": []byte("A=one\nB=one\nC=one"), "two": []byte("B=$(A)\nC=two\n")}},
			[]string{"PATH=x", "A=one", "B=$(A)", "C=env", "D=last"},
		},
		"values from files": {
			"  env: [{name: A, valueFrom: {file: {path: f}}}, {name: B, valueFrom: {file: {path: none, optional: true}}}, {name: C, valueFrom: {file: {path: crlf}}}]\n",
			EnvInputs{Inherit: []string{"PATH=x"}, Files: map[string][]byte{"f": []byte("$(PATH)\n\n"), "crlf": []byte("x\r\n")}},
			[]string{"PATH=x", "A=$(PATH)\n", "B=", "C=x"},
		},
		"expansion sees what is defined before": {
			"  env: [{name: A, value: '$(B)'}, {name: B, value: '$(PATH):$(C)'}, {name: C, value: '$(B)'}, {name: C, value: '$(C)$(C)'}, {name: M, value: $(AGENT_NAME)}]\n",
			EnvInputs{Inherit: []string{"PATH=x"}, Markers: Markers{AgentName: "a"}},
			[]string{"PATH=x", "AGENT_NAME=a", "A=$(B)", "B=x:$(C)", "C=x:$(C)x:$(C)", "M=a"},
		},
		"one named port": {
			"  ports: [{name: http, port: 0}]\n  env: [{name: URL, value: ':$(PORT)'}]\n",
			EnvInputs{Inherit: []string{"PATH=x", "PORT=3000"}, Ports: NewPortMap(NamedPort{"http", 8123})},
			[]string{"PATH=x", "PORT=8123", "PORT_HTTP=8123", "URL=:8123"},
		},
		"several ports": {
			"  ports: [{name: http-api, port: 0}, {name: grpc, port: 0}]\n",
			EnvInputs{Inherit: []string{"PATH=x"}, Ports: NewPortMap(NamedPort{"http-api", 1}, NamedPort{"grpc", 2})},
			[]string{"PATH=x", "PORT=1", "PORT_HTTP_API=1", "PORT_GRPC=2"},
		},
		"an unnamed port is PORT": {
			"  ports: [{name: http, port: 0}, {port: 0}]\n",
			EnvInputs{Inherit: []string{"PATH=x"}, Ports: NewPortMap(NamedPort{"http", 1}, NamedPort{"", 2})},
			[]string{"PATH=x", "PORT=2", "PORT_HTTP=1"},
		},
		"the user's PORT wins": {
			"  ports: [{name: http, port: 0}]\n  env: [{name: PORT, value: '1$(PORT)'}]\n",
			EnvInputs{Inherit: []string{"PATH=x"}, Ports: NewPortMap(NamedPort{"http", 80})},
			[]string{"PATH=x", "PORT=180", "PORT_HTTP=80"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Environ(manifestWith(t, c.spec), c.in)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestEnvironFails(t *testing.T) {
	long := strings.Repeat("x", MaxEnvString)
	bomb := "  env:\n    - {name: A0, value: xxxxxxxx}\n"
	for i := range 60 {
		bomb += fmt.Sprintf("    - {name: A%d, value: $(A%d)$(A%d)}\n", i+1, i, i)
	}
	for name, c := range map[string]struct {
		spec string
		in   EnvInputs
		want string
	}{
		"missing env file":   {"  envFrom: [{file: {path: f}}]\n", EnvInputs{}, "cannot read f: it is missing"},
		"missing value":      {"  env: [{name: A, valueFrom: {file: {path: f}}}]\n", EnvInputs{}, "cannot read f: it is missing"},
		"broken env file":    {"  envFrom: [{file: {path: f}}]\n", EnvInputs{Files: map[string][]byte{"f": []byte("A=1\nsecret\n")}}, "cannot read env file f: line 2: there is no '=': write NAME=value"},
		"marker in env file": {"  envFrom: [{file: {path: f}}]\n", EnvInputs{Files: map[string][]byte{"f": []byte("PROC_CONTROLLER_OWNER=x")}}, "cannot use env file f: PROC_CONTROLLER_OWNER is set by the controller"},
		"NUL in a value":     {"  env: [{name: A, valueFrom: {file: {path: f}}}]\n", EnvInputs{Files: map[string][]byte{"f": {'a', 0}}}, "cannot take A from f: it has a NUL byte in it"},
		"doubling":           {bomb, EnvInputs{}, "cannot set A14: it is longer than the 128 KiB that the kernel takes for one variable"},
		"much of one":        {"  env: [{name: A, value: " + long[:100000] + "}, {name: B, value: '" + strings.Repeat("$(A)", 20000) + "'}]\n", EnvInputs{}, "cannot set B: it is longer than the 128 KiB that the kernel takes for one variable"},
		"too long":           {"  env: [{name: A, value: '$(B)$(B)'}]\n", EnvInputs{Inherit: []string{"B=" + long[:MaxEnvString/2]}}, "cannot set A: it is longer than the 128 KiB that the kernel takes for one variable"},
	} {
		if _, err := Environ(manifestWith(t, c.spec), c.in); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEnvironHasNoDuplicatesAndKeepsMarkers(t *testing.T) {
	o := sample(t)
	rapid.Check(t, func(t *rapid.T) {
		in := EnvInputs{
			Inherit: rapid.SliceOf(rapid.StringMatching(`(A|B|LC_A|HOME|PATH|PROC_CONTROLLER_OWNER)=[a-z$()]*`)).Draw(t, "inherit"),
			Files:   map[string][]byte{".env": []byte(rapid.StringMatching(`((A|HOME|PORT)=[a-z]*\n)*`).Draw(t, "file")), "~/.secrets/token": nil},
			Markers: drawMarkers(t),
		}
		env, err := Environ(o, in)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, e := range env {
			name, _, _ := strings.Cut(e, "=")
			if names[name] {
				t.Fatalf("%s is there twice: %q", name, env)
			}
			names[name] = true
		}
		if diff := cmp.Diff(in.Markers, ParseMarkers(block(env...))); diff != "" {
			t.Fatalf("markers (-want +got):\n%s", diff)
		}
		again, _ := Environ(o, in)
		if !slices.Equal(env, again) {
			t.Fatalf("the order is not a matter of the inputs alone")
		}
	})
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "a", "EMPTY": "", "SELF": "$(A)", "x y": "odd"}
	lookup := func(n string) (string, bool) { v, ok := vars[n]; return v, ok }
	// The first block is what a Pod does, from the Kubernetes documentation.
	for in, want := range map[string]string{
		"$(A)": "a", "$$(A)": "$(A)", "$$$(A)": "$a", "$$$$(A)": "$$(A)", "$(NONE)": "$(NONE)", "x$(A)y$(A)": "xaya", "$(A": "$(A", "$A ${A} $": "$A ${A} $",
		"": "", "$": "$", "$$": "$", "$(": "$(", "$()": "$()", "$(EMPTY)": "", "$(SELF)": "$(A)", "$(x y)": "odd", "$(date) $(A)": "$(date) a", "($(A))": "(a)", "a$": "a$",
	} {
		if got := expand(in, lookup); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestExpandLeavesOtherTextAlone(t *testing.T) {
	lookup := func(string) (string, bool) { return "", false }
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`([a-z(){} ]|\$[a-z{ ]|\$\([a-z]*\))*`).Draw(t, "text")
		if got := expand(s, lookup); got != s {
			t.Fatalf("%q became %q", s, got)
		}
		escaped := strings.ReplaceAll(s, "$", "$$")
		if got := expand(escaped, lookup); got != s {
			t.Fatalf("%q, escaped, became %q", s, got)
		}
	})
}

func TestArgv(t *testing.T) {
	o := manifestWith(t, "  args: [--port, $(PORT), $$(PORT), $(NONE), $HOME]\n")
	got := Argv(o, []string{"PORTS=1", "PORT=8123"})
	if want := []string{"a", "--port", "8123", "$(PORT)", "$(NONE)", "$HOME"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestParseEnvFile(t *testing.T) {
	in := "\xef\xbb\xbf# comment\r\nA=1\r\n\n  B = two words \nexport C='it # is'\nexport\tD=\"q\" # why\nE=a # part\nF=\nG=$(A)${A}\\n\nH=a=b\nexported=1\nI='a\"b'"
	want := []EnvVar{
		{Name: "A", Value: "1"},
		{Name: "B", Value: "two words"},
		{Name: "C", Value: "it # is"},
		{Name: "D", Value: "q"},
		{Name: "E", Value: "a # part"},
		{Name: "F"},
		{Name: "G", Value: "$(A)${A}\\n"},
		{Name: "H", Value: "a=b"},
		{Name: "exported", Value: "1"},
		{Name: "I", Value: `a"b`},
	}
	got, err := ParseEnvFile([]byte(in))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for bad, want := range map[string]string{
		"A=1\nsecret": "line 2: there is no '='", "=x": "line 1: what stands before", "a b=x": "line 1: what", "MIIE/x+==": "line 1: what", "1A=x": "line 1: what",
		"A='x": "line 1: the quote ' is never closed", "\n\nA=\"x\"y": "line 3: there is text after", "A=\x00": "line 1: it has a NUL",
	} {
		if v, err := ParseEnvFile([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v", bad, v, err)
		}
	}
}
