// Package clients knows how programs that use MCP servers, and runners of
// processes, write down what is to be run: mcp.json and its relatives, and the
// Procfile. It reads such a file into a Config, and makes manifests of that. Pure:
// bytes in, values out; secrets come out apart from the manifests, for the caller
// to put into files of their own.
//
// What a manifest cannot say is not dropped in silence: it is a note.
//
// Start reading at config.go (what all formats come to), then mcpservers.go,
// vscode.go and procfile.go (one small type for each), then workload.go (what
// becomes of an entry), reference.go (${...}) and secret.go.
package clients
