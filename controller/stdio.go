package controller

import (
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// An MCP server that speaks over stdin and stdout ends when it reads end-of-file.
// Here it does so at once, since stdin is the null device. That is no failure of
// the program, and waiting for a better day does not help: somebody has to change
// the manifest. It is tried all the same, ever more seldom.

// endsAtOnce is how long a run lasts at most that counts as one that ended at
// once: npx takes some seconds before it starts what it was asked for.
const endsAtOnce = 10 * time.Second

// stdioEnds is how often in a row it has to end so.
const stdioEnds = 2

const stdioAdvice = "it ends at once with exit code 0 and declares no ports: it looks like a stdio server, " +
	"which reads end-of-file here, since there is no client at the other end; " +
	"set spec.mcp.transport: stdio, and it is offered at a URL; " +
	"or, if it can listen, give it the arguments that make it listen on $(PORT) and declare spec.ports"

// atOnce counts on: the ends in a row that are those of a stdio server.
func atOnce(before int, t *spec.Termination) int {
	if t.Reason != spec.ReasonCompleted || t.ExitCode != 0 || t.FinishedAt.Sub(t.StartedAt) > endsAtOnce {
		return 0
	}
	return before + 1
}

// looksLikeStdio says that a server seems to speak over stdin and stdout.
func (s *situation) looksLikeStdio() bool {
	e, h := s.entry, s.history
	if e == nil || e.Object == nil || h == nil || h.AtOnce < stdioEnds || h.Hash != e.Hash {
		return false
	}
	sp := &e.Object.Spec
	return s.key.Kind == spec.KindMCPServer && len(sp.Ports) == 0 && (sp.MCP == nil || sp.MCP.Port == "")
}

// ranOn says that an instance has run for too long to end at once.
func (s *situation) ranOn(now time.Time) bool {
	for _, in := range s.instances {
		if in.Live() && now.Sub(in.StartedAt) > endsAtOnce {
			return true
		}
	}
	return false
}
