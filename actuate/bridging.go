package actuate

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/actuate/bridge"
	"github.com/proc-controller/proc-controller/spec"
)

// BridgeVerb is the first argument of a bridge: the same program, doing something
// else.
const BridgeVerb = "bridge"

// BridgeName is how a bridge shows as comm (proc_pid_comm(5)).
const BridgeName = "mcp-bridge"

// Bridging is what a bridge is told when it is started. ParseBridge is the reverse
// of its Args.
type Bridging struct {
	Name, Listen string
	// Spec is that of the server.
	Spec *spec.Spec
	// TokenFile and Memory are absolute; empty for none.
	TokenFile, Memory string
	// Command begins with an absolute path.
	Command []string
}

// Args is the command line, without the program.
func (b *Bridging) Args() []string {
	m, back := b.Spec.MCP, &b.Spec.Backoff
	grace := time.Duration(*b.Spec.TerminationGracePeriodSeconds) * time.Second
	args := []string{
		BridgeVerb, "--name", b.Name, "--listen", b.Listen, "--path", m.Path,
		"--sharing", string(m.Sharing), "--protocol", string(m.Protocol),
		"--idle-timeout", m.IdleTimeout.String(),
		"--grace", grace.String(), "--stop-signal", b.Spec.StopSignal,
		"--backoff-initial", back.Initial.String(), "--backoff-max", back.Max.String(),
		"--backoff-factor", strconv.FormatFloat(back.Factor, 'g', -1, 64), "--backoff-reset-after", back.ResetAfter.String(),
	}
	if m.Sharing == spec.SharingPerSession {
		args = append(args, "--max-sessions", strconv.Itoa(int(m.MaxSessions)))
	}
	if b.TokenFile != "" {
		args = append(args, "--token-file", b.TokenFile)
	}
	if b.Memory != "" {
		args = append(args, "--memory", b.Memory)
	}
	return append(append(args, "--"), b.Command...)
}

// ParseBridge reads the arguments of a bridge, without its verb.
func ParseBridge(args []string) (bridge.Options, error) {
	var o bridge.Options
	var signal string
	f := flag.NewFlagSet(BridgeVerb, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.Name, "name", "", "")
	f.StringVar(&o.Listen, "listen", "", "")
	f.StringVar(&o.Path, "path", "/mcp", "")
	f.StringVar((*string)(&o.Sharing), "sharing", string(spec.SharingShared), "")
	f.StringVar((*string)(&o.Protocol), "protocol", string(spec.ProtocolAuto), "")
	f.IntVar(&o.MaxSessions, "max-sessions", 0, "")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", 0, "")
	f.StringVar(&o.TokenFile, "token-file", "", "")
	f.DurationVar((*time.Duration)(&o.Backoff.Initial), "backoff-initial", 0, "")
	f.DurationVar((*time.Duration)(&o.Backoff.Max), "backoff-max", 0, "")
	f.Float64Var(&o.Backoff.Factor, "backoff-factor", 1, "")
	f.DurationVar((*time.Duration)(&o.Backoff.ResetAfter), "backoff-reset-after", 0, "")
	f.DurationVar(&o.Grace, "grace", 0, "")
	f.StringVar(&signal, "stop-signal", "SIGTERM", "")
	f.StringVar(&o.Memory, "memory", "", "")
	if err := f.Parse(args); err != nil {
		return o, fmt.Errorf("cannot be a bridge: %v", err)
	}
	n, ok := spec.SignalNumber(signal)
	switch {
	case !ok:
		return o, fmt.Errorf("cannot be a bridge: there is no signal %q", signal)
	case o.Listen == "" || f.NArg() == 0:
		return o, fmt.Errorf("cannot be a bridge: %s is what a controller starts by itself", BridgeVerb)
	}
	o.StopSignal, o.Command = syscall.Signal(n), f.Args()
	o.Grace = bridgeGrace(o.Grace)
	return o, nil
}

// bridgeGrace is how much of the grace period a bridge takes to stop its server:
// what is left is for its own end, before the controller's patience has one.
func bridgeGrace(grace time.Duration) time.Duration { return grace * 9 / 10 }
