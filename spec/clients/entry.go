package clients

import "strings"

// Endpoint is a server of ours, as a client can be told of it.
type Endpoint struct {
	Name string
	URL  string
	SSE  bool // HTTP+SSE of 2024-11-05, not Streamable HTTP
	// TokenFile holds what has to be shown; empty where nothing has. It is absolute.
	TokenFile string
	// Door is the command that comes to it by standard input and output.
	Door []string
}

// TokenVariable is the variable that a client takes the token from.
func (e *Endpoint) TokenVariable() string {
	return strings.ToUpper(strings.ReplaceAll(e.Name, "-", "_")) + "_MCP_TOKEN"
}

// Entry is what a client is told of a server.
type Entry struct {
	Name  string
	value *node
	// Variable has to be set where the client runs; empty where none has.
	Variable string
	// Door says that the client starts our program to come to the server; Why, that
	// it cannot do otherwise.
	Door bool
	Why  string
}

// Entry makes the entry of a server. It connects by HTTP where the client can and
// door is false; a token is never in it, so where the client cannot take that from
// elsewhere it comes by the door, too.
func (c *Client) Entry(e Endpoint, door bool) Entry {
	out := Entry{Name: e.Name}
	switch {
	case door:
	case c.http == nil:
		out.Why = c.Title + " can only start programs"
	case e.SSE && !c.sse:
		out.Why = c.Title + " does not speak SSE"
	case e.TokenFile != "" && c.token == nil:
		out.Why = c.Title + " could only have its token in the file"
	default:
		out.value = c.http(e)
		if e.TokenFile != "" {
			out.Variable = c.token(out.value, e)
		}
		return out
	}
	out.Door, out.value = true, c.stdio(e)
	return out
}

// tokenFrom says how a client is told where a token comes from. It changes an entry,
// and gives the variable that has to be set.
type tokenFrom func(entry *node, e Endpoint) (variable string)

// bearer is a header with a reference to a variable, as the client writes it.
func bearer(before, after string) tokenFrom {
	return func(entry *node, e Endpoint) string {
		v := e.TokenVariable()
		entry.with("headers", objectNode().with("Authorization", textNode("Bearer "+before+v+after)))
		return v
	}
}

// bearerFile is a header with a reference to the file; OpenCode puts what it finds
// there in its place, without the white space around it.
func bearerFile(entry *node, e Endpoint) string {
	if strings.ContainsAny(e.TokenFile, "{}\n") {
		return bearer("{env:", "}")(entry, e)
	}
	entry.with("headers", objectNode().with("Authorization", textNode("Bearer {file:"+e.TokenFile+"}")))
	return ""
}

// bearerVariable is a field that names a variable.
func bearerVariable(entry *node, e Endpoint) string {
	entry.with("bearer_token_env_var", textNode(e.TokenVariable()))
	return e.TokenVariable()
}

// typed is an entry for HTTP that says so in a field "type".
func typed(e Endpoint) *node {
	kind := "http"
	if e.SSE {
		kind = "sse"
	}
	return objectNode().with("type", textNode(kind)).with("url", textNode(e.URL))
}

// field is an entry for HTTP that has its URL in a field of this name.
func field(name string) func(Endpoint) *node {
	return func(e Endpoint) *node { return objectNode().with(name, textNode(e.URL)) }
}

// command is the common form of an entry that starts a program.
func command(e Endpoint) *node {
	return objectNode().with("command", textNode(e.Door[0])).with("args", listNode(e.Door[1:]))
}

func typedCommand(e Endpoint) *node {
	n := objectNode().with("type", textNode("stdio"))
	n.members = append(n.members, command(e).members...)
	return n
}

// gooseEntry has what Goose wants of every extension. Its timeout is in seconds, for
// one call of a tool.
func gooseEntry(e Endpoint, kind string) *node {
	return objectNode().with("enabled", truthNode(true)).with("type", textNode(kind)).
		with("name", textNode(e.Name)).with("description", textNode("run by "+program)).
		with("timeout", numberNode(300))
}
