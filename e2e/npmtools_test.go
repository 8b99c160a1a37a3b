//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The programs of others that a bridge is tested with, pinned.
var npmPrograms = []string{
	"@modelcontextprotocol/conformance@0.2.0-alpha.12",
	"@modelcontextprotocol/inspector@2.12.0",
	"@modelcontextprotocol/sdk@1.32.2",
	"@modelcontextprotocol/server-everything@2026.8.31",
	"@modelcontextprotocol/server-filesystem@2026.8.31",
	"@modelcontextprotocol/server-memory@2026.8.31",
	"node@22.23.3", // the suite wants a newer one than many systems have
}

// npmTools is a directory with all of them, made once. They are run from it without
// npx, which takes longer to start than most of them.
var npmTools = sync.OnceValues(func() (string, error) {
	cache, err := npmCache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(projectDir, "bin", "npm-tools")
	stamp, want := filepath.Join(dir, "installed"), strings.Join(npmPrograms, "\n")
	if got, err := os.ReadFile(stamp); err == nil && string(got) == want {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	args := append([]string{"install", "--prefix", dir, "--no-save", "--no-package-lock", "--no-audit", "--no-fund"}, npmPrograms...)
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Env = append(cleanEnvironment(), "HOME="+os.TempDir(), "npm_config_cache="+cache, "npm_config_prefer_offline=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot install what the tests run: %w\n%s", err, out)
	}
	return dir, os.WriteFile(stamp, []byte(want), 0o644)
})

// needsTools gives the directory of such programs, and the environment to run them in.
func needsTools(t *testing.T) (dir string, env []string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: install the packages nodejs and npm")
	}
	dir, err := npmTools()
	if err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Join(dir, "node_modules", ".bin") + ":" + os.Getenv("PATH")
	return dir, append(cleanEnvironment(), path, "HOME="+t.TempDir(), runMarker+"="+runID)
}

// tool runs one of them to its end.
func tool(t *testing.T, env []string, in string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir, err := npmTools()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", ".bin", name), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = in, env, soon
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestProgramsOfOthersAreThere fetches them. hack/test has it run beside the unit
// tests, since it waits for the network most of the time.
func TestProgramsOfOthersAreThere(t *testing.T) {
	t.Parallel()
	needsNPM(t)
	needsTools(t)
}
