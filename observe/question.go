package observe

import "github.com/proc-controller/proc-controller/spec"

// Question is one attempt of a probe, asked of one instance.
type Question struct {
	Entry    *spec.Entry
	Instance *Instance // live
	Probe    *spec.Probe
	// Verify asks for all that a server or an agent says of itself, too.
	Verify bool
}

// Answer is what a probe has learned beside that it has succeeded.
type Answer struct {
	Server *spec.ServerInfo // of an MCP probe that verifies
	Card   *spec.CardInfo   // of an A2A probe that verifies
	// Bridge is what the bridge of a stdio server has reported, also with a failure;
	// nil where there is none.
	Bridge *BridgeReport
	// Unauthorized says that it was reached and asked for credentials (401 or
	// 403), which is a success: nothing more can be known without them.
	Unauthorized bool
}
