package actuate

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
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

// bridgeFlags are the flags of a bridge.
func bridgeFlags(o *bridge.Options, signal *string) *flag.FlagSet {
	f := flag.NewFlagSet(BridgeVerb, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.Name, "name", "", "`NAME` of the workload, for messages")
	f.StringVar(&o.Listen, "listen", "", "`ADDRESS` to serve clients at: 127.0.0.1:PORT")
	f.StringVar(&o.Path, "path", "/mcp", "`PATH` of the endpoint")
	f.StringVar((*string)(&o.Sharing), "sharing", string(spec.SharingShared), "`HOW` sessions share a process: Shared or PerSession")
	f.StringVar((*string)(&o.Protocol), "protocol", string(spec.ProtocolAuto), "`ERA` of MCP that the server speaks: Auto, Legacy or Modern")
	f.IntVar(&o.MaxSessions, "max-sessions", 0, "at most `N` processes at a time with PerSession")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", 0, "`TIME` that an unused session lives")
	f.StringVar(&o.TokenFile, "token-file", "", "`FILE` with the token that clients have to show")
	f.DurationVar((*time.Duration)(&o.Backoff.Initial), "backoff-initial", 0, "`TIME` before a server that crashes again is started")
	f.DurationVar((*time.Duration)(&o.Backoff.Max), "backoff-max", 5*time.Minute, "most `TIME` before a start")
	f.Float64Var(&o.Backoff.Factor, "backoff-factor", 1, "that time grows by `FACTOR` with each crash")
	f.DurationVar((*time.Duration)(&o.Backoff.ResetAfter), "backoff-reset-after", 0, "`TIME` of running after which it is small again")
	f.DurationVar(&o.Grace, "grace", 0, "`TIME` that a stop may take")
	f.StringVar(signal, "stop-signal", "SIGTERM", "`SIGNAL` for a server that does not end with its input")
	f.StringVar(&o.Memory, "memory", "", "`FILE` to remember the era of the server in")
	return f
}

// BridgeUsage says how a bridge is started, for a person who asks.
func BridgeUsage() string {
	var b strings.Builder
	b.WriteString("Offers an MCP server that speaks over its standard input and output at a URL.\n\n" +
		"The controller starts one for each manifest with spec.mcp.transport: stdio, as the\n" +
		"main process of that workload; there is no need to do it by hand.\n\n" +
		"Usage:\n  proc-controller " + BridgeVerb + " --listen 127.0.0.1:PORT [flags] -- PROGRAM [ARGUMENT...]\n\nFlags:\n")
	bridgeFlags(&bridge.Options{}, new(string)).VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %-27s %s", "--"+f.Name+" "+value, text)
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" {
			fmt.Fprintf(&b, " (default %s)", f.DefValue)
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// ParseBridge reads the arguments of a bridge, without its verb. The error is
// flag.ErrHelp where they ask for its usage.
func ParseBridge(args []string) (bridge.Options, error) {
	var o bridge.Options
	var signal string
	f := bridgeFlags(&o, &signal)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
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
