package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// explained is what "explain -o json" shows.
type explained struct {
	observe.Ident
	Command  string          `json:"command"`
	UID      uint32          `json:"uid"`
	EUID     uint32          `json:"euid"`
	Verdict  observe.Verdict `json:"verdict"`
	Role     string          `json:"role"` // main, descendant or none
	Key      string          `json:"key,omitempty"`
	Instance spec.Instance   `json:"instance,omitempty"`
	// Owner is the one by whose rules it was judged. OwnerAlive says whether its
	// controller lives; null where that cannot be told.
	Owner      spec.Owner `json:"owner"`
	OwnerAlive *bool      `json:"ownerAlive"`
	OwnerPID   int        `json:"ownerPid,omitempty"`
	// Markers are those of its environment, as NAME=value.
	Markers []string `json:"markers"`
	For     []string `json:"for"`
	Against []string `json:"against"`
	Unknown []string `json:"unknown"`
	Silent  []string `json:"silent"`
	Plan    outlook  `json:"plan"`

	connected bool
}

func newExplained(e *observe.Explanation) *explained {
	x := &explained{
		Ident: e.Ident, Command: e.Command, UID: e.UID, EUID: e.EUID, Verdict: e.Verdict, Role: e.Role.String(),
		Instance: e.Instance, Owner: e.Owner, Markers: e.Markers.Environ(), connected: e.Connected,
		For: listed(e.For), Against: listed(e.Against), Unknown: listed(e.Unknown), Silent: listed(e.Silent),
	}
	if x.Role == "" {
		x.Role = "none"
	}
	if e.Key != (spec.Key{}) {
		x.Key = e.Key.String()
	}
	if pid, alive, known := observe.OwnerAlive(e.OwnerUID, e.Owner); known {
		x.OwnerAlive, x.OwnerPID = &alive, pid
	}
	return x
}

// listed makes JSON show a list that is empty as one.
func listed(words []string) []string { return append([]string{}, words...) }

// write lays the explanation out for a person.
func (e *explained) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "pid %d (%s), start tick %d: %s\n", e.PID, oneLine(e.Command), e.Start, e.headline())
	fmt.Fprintf(b, "owner %s: %s\n", e.Owner, e.ownerLine())
	for _, part := range []struct {
		title string
		words []string
	}{
		{"For", e.For},
		{"Against", e.Against},
		{"Not known", e.Unknown},
		{"Says nothing", e.Silent},
	} {
		if len(part.words) > 0 {
			fmt.Fprintf(b, "\n%s:\n", part.title)
		}
		for _, text := range part.words {
			fmt.Fprintf(b, "  %s\n", oneLine(text))
		}
	}
	fmt.Fprintf(b, "\n%s\n", oneLine(e.planLine()))
	return b.Flush()
}

// headline is the verdict in words.
func (e *explained) headline() string {
	switch {
	case e.Verdict == observe.Ours && e.Role == observe.Main.String():
		return fmt.Sprintf("%s, the main process of %s (instance %s)", e.Verdict, e.Key, e.Instance)
	case e.Verdict == observe.Ours && e.Role == observe.Descendant.String():
		return fmt.Sprintf("%s, a descendant in %s (instance %s)", e.Verdict, e.Key, e.Instance)
	case e.Verdict == observe.Ours:
		return e.Verdict.String() + ", and part of no instance"
	case e.Verdict == observe.CannotTell:
		return e.Verdict.String() + ", so it is never signalled"
	}
	return e.Verdict.String()
}

func (e *explained) ownerLine() string {
	state := "its controller does not run"
	switch {
	case e.OwnerAlive == nil:
		state = "whether its controller runs cannot be told"
	case *e.OwnerAlive && e.OwnerPID != 0:
		state = fmt.Sprintf("its controller runs (pid %d)", e.OwnerPID)
	case *e.OwnerAlive:
		state = "its controller runs"
	}
	if !e.connected {
		state += "; asked about because of the flags, nothing leads there"
	}
	return state
}

// fates are the fates in words: what a controller does, and what one would do.
var fates = map[controller.Fate][2]string{
	controller.FateKept:      {"keeps it", "would adopt it"},
	controller.FateStopped:   {"stops it", "would stop it"},
	controller.FateReplaced:  {"replaces it", "would replace it"},
	controller.FateWaits:     {"leaves it running for now", "would leave it running for now"},
	controller.FateUntouched: {"never signals it", "would never signal it"},
}

// planLine says what is done with the process, and why.
func (e *explained) planLine() string {
	var parts []string
	switch p := &e.Plan; p.By {
	case byController:
		parts = append(parts, "Its controller "+fates[p.Fate][0])
	case byForecast:
		parts = append(parts, "A controller with these flags "+fates[p.Fate][1])
	default:
		return "What a controller does with it cannot be told: " + p.Message
	}
	if e.Plan.Reason != "" {
		parts = append(parts, string(e.Plan.Reason))
	}
	if e.Plan.Message != "" {
		parts = append(parts, e.Plan.Message)
	}
	return strings.Join(parts, ": ")
}
