// Package clients knows how programs that use MCP servers, and runners of
// processes, write down what is to be run: the files of ten clients, the registry's
// server.json, and the Procfile. Pure: bytes in, bytes or values out.
//
// It reads such a file into a Config, and makes manifests of that; secrets come out
// apart from the manifests, for the caller to put into files of their own. What a
// manifest cannot say is not dropped in silence: it is a note.
//
// The other way round it puts entries for servers that run into the text of a
// client's file, and takes them out again. Such a change is cut into the text: what
// is not ours stays as it is, byte for byte, and each result is read again and
// compared before it is handed out. Which entries are ours is said by a Record that
// the caller keeps, and by nothing in the file.
//
// Start reading at tree.go (a file as values, whatever it is written in). Then, to
// read: config.go (what all formats come to), mcpservers.go (the fields of an entry),
// the small files named after a format, workload.go (what becomes of an entry),
// reference.go (${...}) and secret.go. To write: catalog.go (the clients), entry.go
// (what each is told), merge.go (what is changed and what not), jsontext.go,
// tomltext.go and yamltext.go (how), record.go.
package clients
