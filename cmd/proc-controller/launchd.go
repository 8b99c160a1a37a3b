package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// launchdPlist is the text of a launch agent: launchd.plist(5). AbandonProcessGroup
// is what KillMode=process is to systemd.
func launchdPlist(label string, argv []string, path string) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
`)
	fmt.Fprintf(&b, "  <key>Label</key><string>%s</string>\n  <key>ProgramArguments</key>\n  <array>\n", xmlText(label))
	for _, a := range argv {
		fmt.Fprintf(&b, "    <string>%s</string>\n", xmlText(a))
	}
	b.WriteString("  </array>\n")
	if path != "" {
		fmt.Fprintf(&b, "  <key>EnvironmentVariables</key><dict><key>PATH</key><string>%s</string></dict>\n", xmlText(path))
	}
	fmt.Fprintf(&b, `  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>AbandonProcessGroup</key><true/>
  <key>ExitTimeOut</key><integer>%d</integer>
</dict>
</plist>
`, stopTimeout)
	return b.Bytes()
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // it fails as its writer does
	return b.String()
}

// launchd is the manager of a user's login session on macOS.
type launchd struct{}

// domain is that of the user: launchctl(1).
func (launchd) domain(s *service) string { return fmt.Sprintf("gui/%d", s.place.uid) }

func (l launchd) enable(s *service, changed bool) (started bool, err error) {
	active := l.active(s)
	if active && !changed {
		return false, nil
	}
	if active {
		if err := l.disable(s); err != nil {
			return false, err
		}
	}
	return true, runQuietly("launchctl", "bootstrap", l.domain(s), s.path)
}

func (l launchd) disable(s *service) error {
	if !l.active(s) {
		return nil
	}
	return runQuietly("launchctl", "bootout", l.domain(s)+"/"+s.name)
}

func (launchd) forget(*service) error { return nil }

func (l launchd) active(s *service) bool {
	return runQuietly("launchctl", "print", l.domain(s)+"/"+s.name) == nil
}

func (l launchd) how(s *service) string {
	return fmt.Sprintf("launchctl bootstrap %s %s", l.domain(s), spec.ShellWord(s.path))
}

// managerWait is how long a service manager may take: it waits for the end of a
// controller that is stopped.
const managerWait = 10 * time.Minute

// runQuietly runs a command. The error is the last line of what it has said.
func runQuietly(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), managerWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_COLORS=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no %s on this machine", name)
	case !errors.As(err, &exit):
		return fmt.Errorf("cannot run %s: %w", name, err)
	}
	if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); lines[0] != "" {
		return errors.New(oneLine(lines[0]))
	}
	return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
}
