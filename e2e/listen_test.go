//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// apiURL is what the controller says where the API is.
var apiURL = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)(/apis/\S+)`)

// listens starts a controller that listens, and gives the address and the path.
func (r *rig) listens() (address, root string) {
	r.t.Helper()
	r.flags = append(r.flags, "--listen=127.0.0.1:0")
	r.start()
	said := apiURL.FindStringSubmatch(r.proc.stderr.String())
	if said == nil {
		r.t.Fatalf("it does not say where it listens:\n%s", r.proc.stderr)
	}
	return said[1], strings.TrimRight(said[2], `"`)
}

// asks makes one request to a port.
func asks(t *testing.T, url, token, host, origin string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	req.Host = host
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestListenAnswersOnlyWhoShowsTheToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address, root := r.listens()
	file := filepath.Join(r.state, "token")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	token := strings.TrimSpace(string(content))
	if strings.Contains(r.proc.stderr.String(), token) {
		t.Error("the token is in the log")
	}
	for _, tt := range []struct {
		name, path, token, host, origin string
		code                            int
	}{
		{"good", root + "/controller", token, "", "", 200},
		{"no token", root + "/controller", "", "", "", 401},
		{"no token, what is not there", "/x", "", "", "", 401},
		{"wrong token", root + "/workloads", token + "x", "", "", 401},
		{"another host", root + "/workloads", token, "evil.example", "", 403},
		{"another page", root + "/workloads", token, "", "http://evil.example", 403},
		{"health", "/healthz", "", "", "", 200},
		{"health under another name", "/healthz", "", "evil.example", "", 403},
		{"description", "/openapi.json", token, "", "", 200},
	} {
		code, body := asks(t, address+tt.path, tt.token, tt.host, tt.origin)
		if code != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.name, code, body, tt.code)
		}
		var failure struct{ Kind, Message string }
		if code >= 400 && (json.Unmarshal([]byte(body), &failure) != nil || failure.Kind != "Status" || failure.Message == "") {
			t.Errorf("%s: no Status: %s", tt.name, body)
		}
	}
	// The next controller takes the same token, on another port.
	r.stop()
	r.start()
	address = apiURL.FindStringSubmatch(r.proc.stderr.String())[1]
	if code, body := asks(t, address+root+"/controller", token, "", ""); code != 200 {
		t.Errorf("after a restart: %d %s", code, body)
	}
}

func TestListenSurvivesAnUpgrade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address, root := r.listens()
	// From now on it has one port, as a person would give it.
	r.stop()
	r.flags[len(r.flags)-1] = "--listen=" + strings.TrimPrefix(address, "http://")
	r.start()
	if res := r.run("upgrade"); res.code != 0 {
		t.Fatalf("upgrade: %d %s", res.code, res.stderr)
	}
	content, err := os.ReadFile(filepath.Join(r.state, "token"))
	if err != nil {
		t.Fatal(err)
	}
	code, body := asks(t, address+root+"/controller", strings.TrimSpace(string(content)), "", "")
	if code != 200 || !strings.Contains(body, `"upgrades":1`) {
		t.Errorf("%d %s", code, body)
	}
}

func TestListenIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	open := filepath.Join(r.dir, "open")
	if err := errors.Join(os.WriteFile(open, []byte("0123456789abcdef"), 0o600), os.Chmod(open, 0o644)); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--listen", "0.0.0.0:8080"}, 2, "open to other machines"},
		{[]string{"--listen", ":8080"}, 2, "write 127.0.0.1:PORT"},
		{[]string{"--listen", "localhost:8080"}, 2, "write 127.0.0.1:PORT"},
		{[]string{"--listen", ""}, 2, "it is empty"},
		{[]string{"--token-file", open}, 2, "without --listen"},
		{[]string{"--listen", "127.0.0.1:0", "--token-file", open}, 1, "chmod 600"},
		{[]string{"--listen", taken.Addr().String()}, 1, "another process has it"},
	} {
		res := r.run("run", append([]string{"--scopes=off"}, tt.flags...)...)
		if res.code != tt.code || !strings.Contains(res.stderr, tt.says) {
			t.Errorf("%q: exit code %d, %s; want %d with %q", tt.flags, res.code, res.stderr, tt.code, tt.says)
		}
	}
}
