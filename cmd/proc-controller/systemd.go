package main

import (
	"fmt"
	"strings"
)

// stopTimeout is how long systemd waits for the end of the controller, unless it
// asks for more: see notifier.
const stopTimeout = 90 // seconds

// systemdUnit is the text of a user unit: systemd.service(5).
func systemdUnit(manifests string, argv []string, path string) []byte {
	var command strings.Builder
	for i, a := range argv {
		if i > 0 {
			command.WriteByte(' ')
		}
		command.WriteString(systemdQuote(strings.ReplaceAll(a, "$", "$$")))
	}
	environment := ""
	if path != "" {
		environment = "Environment=" + systemdQuote("PATH="+path) + "\n"
	}
	return fmt.Appendf(nil, `# Written by "proc-controller install", which also changes it; "uninstall" removes it.
[Unit]
Description=Agents and MCP servers of %s

[Service]
Type=notify
ExecStart=%s
%sRestart=on-failure
# Workloads get cgroups of their own below this one.
Delegate=yes
# The controller stops its workloads by itself; those that are kept live on.
KillMode=process
TimeoutStopSec=%d
# That one workload runs out of memory is not the end of all.
OOMPolicy=continue

[Install]
WantedBy=default.target
`, systemdText(manifests), command.String(), environment, stopTimeout)
}

// systemdText is text in which %% means nothing (systemd.unit(5), specifiers), on
// one line.
func systemdText(s string) string { return strings.ReplaceAll(oneLine(s), "%", "%%") }

// systemdQuote quotes one word: systemd.syntax(7). In a command line $ has to be
// doubled, too.
func systemdQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%").Replace(s)
	if strings.ContainsAny(s, " \t\"'\\;") || s == "" {
		return `"` + s + `"`
	}
	return s
}

// systemd is the manager of the user.
type systemd struct{}

func (systemd) enable(s *service, changed bool) (started bool, err error) {
	active := systemd{}.active(s)
	if !changed && active && systemctl("is-enabled", "--quiet", s.name) == nil {
		return false, nil
	}
	if err := systemctl("daemon-reload"); err != nil {
		return false, err
	}
	if err := systemctl("enable", s.name); err != nil {
		return false, err
	}
	if active && !changed {
		return false, nil
	}
	return true, systemctl("restart", s.name) // also starts what does not run
}

func (systemd) disable(s *service) error { return systemctl("disable", "--now", s.name) }

func (systemd) forget(*service) error { return systemctl("daemon-reload") }

func (systemd) active(s *service) bool { return systemctl("is-active", "--quiet", s.name) == nil }

func (systemd) how(s *service) string {
	return fmt.Sprintf("systemctl --user daemon-reload && systemctl --user enable --now %s", s.name)
}

func systemctl(args ...string) error {
	return runQuietly("systemctl", append([]string{"--user"}, args...)...)
}
