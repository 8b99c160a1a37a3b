// Command proc-controller keeps agents and MCP servers running on one machine,
// as the manifests in a watched directory say.
//
// There is no logic here: flags, wiring, one file for each verb (run.go, get.go,
// ps.go, validate.go, version.go), and how things look on a terminal
// (table.go, logtext.go). Start reading at root.go, then place.go (where
// manifests, state and socket are) and run.go.
package main
