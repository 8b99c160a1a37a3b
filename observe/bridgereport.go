package observe

import (
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// BridgePage is the path of the page on which a bridge says how its server is: it
// answers a BridgeReport in JSON, with the status 200 while the server answers,
// and else 503. The query parameter timeout, in milliseconds, bounds how long it
// waits for the server.
const BridgePage = "/healthz"

// BridgeReport is what the bridge in front of a stdio server says of it.
type BridgeReport struct {
	// Server is what the server has said of itself; nil before it was greeted for
	// the first time. It has no URL.
	Server *spec.ServerInfo `json:"server,omitempty"`
	// Era is the one in which the server is spoken to; empty before it is known.
	Era spec.Era `json:"era,omitempty"`
	// PID is the process of the server; 0 while none runs, and with a process for
	// each session.
	PID int `json:"pid,omitempty"`
	// Starting says that a server was started and has not answered yet.
	Starting bool `json:"starting,omitempty"`
	// Busy says that there is work which a restart would lose: a server that did not
	// answer now works on requests of clients, and was heard of not long ago, since many
	// answer one after another; or one could not be started for a session, and those of
	// others run.
	Busy bool `json:"busy,omitempty"`
	// Restarts counts how often the bridge has started its server again, after an
	// end that nobody asked for, since the bridge itself was started.
	Restarts int `json:"restarts"`
	// Last is how a server last ended that nobody had asked to.
	Last *BridgeEnd `json:"last,omitempty"`
	// NextStart is when the server is started again; zero unless that is waited for.
	NextStart time.Time `json:"nextStart,omitzero"`
	// Sessions are those of clients, Servers the processes that serve them.
	Sessions int `json:"sessions"`
	Servers  int `json:"servers"`
	// Problem is why the server is not well, in one line for a person; empty while
	// it is.
	Problem string `json:"problem,omitempty"`
	// Findings are what the author of the server should mend, a line each.
	Findings []string `json:"findings,omitempty"`
}

// BridgeEnd is how a server behind a bridge ended.
type BridgeEnd struct {
	// ExitCode is -1 where a signal ended it.
	ExitCode int `json:"exitCode"`
	// Signal is the number of the one that ended it, or 0.
	Signal     int       `json:"signal,omitempty"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
}
