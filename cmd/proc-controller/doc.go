// Command proc-controller keeps agents and MCP servers running on one machine,
// as the manifests in a watched directory say.
//
// There is no logic here: flags, wiring, one file for each verb (run.go, get.go,
// ps.go, explain.go, events.go, reap.go, upgrade.go, validate.go, version.go),
// guard.go (what ends the work of a controller that was killed), bridge.go (what stands
// before a stdio server), with.go and what
// follows it (withfront.go tells which processes a run of "with" is), and how things
// look on a terminal (table.go, explained.go, eventtable.go, reaped.go,
// logtext.go). Start reading at root.go, then place.go (where manifests, state
// and socket are) and run.go.
package main
