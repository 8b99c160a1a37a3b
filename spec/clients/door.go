package clients

import (
	"path"
	"slices"
	"strings"
)

// program is what this program is called, and doorVerb how a client that can only
// start programs comes to a server of ours.
const (
	program  = "proc-controller"
	doorVerb = "connect"
)

// isDoor says that an entry starts our door, wherever the program is.
func (s *Server) isDoor() bool {
	name := path.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	return strings.TrimSuffix(name, ".exe") == program && slices.Contains(s.Args, doorVerb)
}
