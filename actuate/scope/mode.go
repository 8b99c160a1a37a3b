package scope

import (
	"fmt"
	"strings"
)

// EnvScopes is the variable that overrides the mode that was asked for.
const EnvScopes = "PROC_CONTROLLER_SCOPES"

// Mode is the host's policy: which kind of scope children get.
type Mode string

// The modes. Auto tries the user manager, then a delegated cgroup, and else
// goes without.
const (
	Auto    Mode = "auto"
	Systemd Mode = "systemd"
	Cgroup  Mode = "cgroup"
	Off     Mode = "off"
)

// ParseMode gives the mode for the value of the --scopes flag and that of
// EnvScopes. The variable wins where it says yes or no; anything else in it is
// as if it were not set. An empty flag is auto.
func ParseMode(flag, env string) (Mode, error) {
	switch strings.ToLower(strings.TrimSpace(env)) {
	case "0", "off", "false", "no":
		return Off, nil
	case "1", "on", "true", "yes", "auto":
		return Auto, nil
	}
	switch m := Mode(flag); m {
	case "":
		return Auto, nil
	case Auto, Systemd, Cgroup, Off:
		return m, nil
	}
	return "", fmt.Errorf("unknown scope mode %q: use auto, systemd, cgroup or off", flag)
}
