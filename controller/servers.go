package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// An agent that uses MCP servers finds them in a file, which all of its
// instances share. What should be in it follows from the world, like everything
// else: it is compared with what is known to be in it, and written where it is
// something else. That restarts nothing.

// Publication is what is known of the file of one agent. It lives no longer than
// the controller: the next one looks at the file.
type Publication struct {
	// Servers are what is in it, in the order of the manifest; nil as long as that
	// is not known.
	Servers []spec.ServerEndpoint
	Path    string
	// Busy says that it is being written, or removed. Unsure says that it has to be
	// looked at again: anybody may have deleted it since.
	Busy, Unsure bool
	// Failures counts attempts in a row that failed, the last At that time.
	Failures int
	At       time.Time
	Reason   spec.Reason
	Message  string
}

// Publishing says that a change of the file was handed out, Published what came
// of it: a Message says why it failed; no Servers, that it is removed.
type (
	Publishing struct {
		Key spec.Key
	}
	Published struct {
		Key spec.Key
		spec.MCPConfigFile
		Reason  spec.Reason
		Message string
		At      time.Time
	}
)

// PublicationFound says that there is a file of which nothing is known,
// PublicationDoubted that it is time to look at it again.
type (
	PublicationFound struct {
		Key spec.Key
	}
	PublicationDoubted struct {
		Key spec.Key
	}
)

// EventKey names the key that the event is about.
func (e Publishing) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e Published) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e PublicationFound) EventKey() spec.Key { return e.Key }

// EventKey names the key that the event is about.
func (e PublicationDoubted) EventKey() spec.Key { return e.Key }

func (e Publishing) fold(k *KeyHistory) {
	next := k.publicationCopy()
	next.Busy = true
	k.Publication = &next
}

func (e Published) fold(k *KeyHistory) {
	switch {
	case e.Message != "":
		next := k.publicationCopy()
		next.Busy, next.Failures, next.At = false, next.Failures+1, e.At
		next.Reason, next.Message = e.Reason, e.Message
		k.Publication = &next
	case e.Servers == nil:
		k.Publication = nil
	default:
		k.Publication = &Publication{Servers: e.Servers, Path: e.Path, At: e.At}
	}
}

func (e PublicationFound) fold(k *KeyHistory) {
	if k.Publication == nil {
		k.Publication = &Publication{}
	}
}

func (e PublicationDoubted) fold(k *KeyHistory) { k.doubtPublication() }

func (k *KeyHistory) doubtPublication() {
	if k.Publication != nil && !k.Publication.Unsure {
		next := *k.Publication
		next.Unsure = true
		k.Publication = &next
	}
}

func (k *KeyHistory) publicationCopy() Publication {
	if k.Publication == nil {
		return Publication{}
	}
	return *k.Publication
}

// publication gives what is known of the file, or nil.
func (k *KeyHistory) publication() *Publication {
	if k == nil {
		return nil
	}
	return k.Publication
}

// server is what the file says of one; without a URL where it says nothing.
func (pb *Publication) server(name string) spec.ServerEndpoint {
	if pb != nil {
		for _, s := range pb.Servers {
			if s.Name == name {
				return s
			}
		}
	}
	return spec.ServerEndpoint{Name: name}
}

// holds says that the file is known to say just this.
func (pb *Publication) holds(want []spec.ServerEndpoint) bool {
	return pb != nil && pb.Failures == 0 && !pb.Busy && !pb.Unsure && slices.Equal(pb.Servers, want)
}

// retryAt is when a change that has failed is tried again.
func (pb *Publication) retryAt() time.Time {
	if pb == nil || pb.Failures == 0 {
		return time.Time{}
	}
	return pb.At.Add(publishBackoff.Delay(pb.Failures))
}

// publishBackoff spaces the attempts at a file that cannot be written.
var publishBackoff = spec.Backoff{
	Initial: spec.Duration(time.Second), Max: spec.Duration(30 * time.Second), Factor: 2,
}

// servers are those that the workload is to be told of now.
func (s *situation) servers() []spec.ServerRef {
	e := s.entry
	if e == nil || e.Object == nil || e.Gone() || len(s.instances) == 0 && replicas(e, s.history) == 0 {
		return nil
	}
	return e.Object.Spec.MCPServers
}

// publish brings the file of an agent up to date.
func (p *planner) publish(s *situation) {
	refs, known := s.servers(), s.history.publication()
	if len(refs) == 0 && known == nil || known != nil && known.Busy {
		return
	}
	a := Action{Type: Publish, Key: s.key, Entry: s.entry, Reason: spec.ReasonWanted}
	if len(refs) > 0 {
		a.Servers = p.endpoints(refs, known)
		if known.holds(a.Servers) {
			return
		}
	} else if a.Reason = spec.ReasonNotWanted; s.mayUseServers() {
		return
	}
	if at := known.retryAt(); p.w.Now.Before(at) {
		p.wake(at)
		return
	}
	p.act(a)
}

// mayUseServers says that something may still read the file of an agent that is
// not to be told of servers, or will again: one that is suspended, or that runs
// by a former manifest.
func (s *situation) mayUseServers() bool {
	if s.history != nil && len(s.history.Starting) > 0 {
		return true
	}
	if e := s.entry; e != nil && !e.Gone() {
		return e.Object == nil || len(e.Object.Spec.MCPServers) > 0 ||
			slices.ContainsFunc(s.instances, func(in *observe.Instance) bool { return in.Hash != e.Hash })
	}
	return len(s.instances) > 0
}

// unpublished says that an agent cannot be started yet, since its file does not
// say what it should. It comes after the row that waits for its servers.
func (p *planner) unpublished(s *situation) bool {
	refs, known := s.servers(), s.history.publication()
	if len(refs) == 0 || known.holds(p.endpoints(refs, known)) {
		return false
	}
	why := Reason{Reason: spec.ReasonChecking, Detail: "writing down where its MCP servers are"}
	if known != nil && known.Failures > 0 {
		why = Reason{Reason: known.Reason, Detail: known.Message}
		if at := known.retryAt(); p.w.Now.Before(at) {
			why.Until = at
		}
	}
	p.why(s.key, why)
	return true
}

// endpoints are where servers are now; as far as that is not known, where they
// were.
func (p *planner) endpoints(refs []spec.ServerRef, known *Publication) []spec.ServerEndpoint {
	all := make([]spec.ServerEndpoint, len(refs))
	for i := range refs {
		all[i] = p.endpoint(known.server(refs[i].Name))
	}
	return all
}

// endpoint is where a server is now: at an instance that is ready, if there is
// one, and rather at one of the wanted program than at another. Among equals it
// stays where it was.
//
// Of an instance that runs another program than the manifest says, only the port
// is known for sure; so what leads to it stays as it is, too.
func (p *planner) endpoint(was spec.ServerEndpoint) spec.ServerEndpoint {
	k := spec.Key{Kind: spec.KindMCPServer, Name: was.Name}
	e := p.w.Desired.Lookup(k)
	if e == nil || e.Object == nil {
		return was
	}
	const former, formerAsWas, right, rightAsWas = 1, 2, 3, 4
	h := p.w.History.Of(k)
	best, at := 0, was
	for _, in := range p.w.Observed.InstancesOf(k) {
		rank := former
		now, ok := e.Object.Spec.MCP.Endpoint(k.Name, in.Ports)
		if now.TokenFile != "" {
			now.Dir = e.Dir
		}
		switch {
		case !h.outdated(e, in) && now == was:
			rank = rightAsWas
		case !h.outdated(e, in):
			rank = right
		case was.On(in.Ports):
			rank, now = formerAsWas, was
		}
		if ok && rank > best && p.w.ready(e, h, in) {
			best, at = rank, now
		}
	}
	return at
}

// published gives an agent that runs and may still be told of this instance of a
// server: as long as there is one, it must not be stopped in favour of another.
// One is, too, of which it is not known what it is told.
func (p *planner) published(server spec.Key, in *observe.Instance) (agent spec.Key, is bool) {
	names := func(r spec.ServerRef) bool { return r.Name == server.Name }
	for _, e := range p.w.Desired.Entries {
		if e.Object == nil || e.Gone() || !slices.ContainsFunc(e.Object.Spec.MCPServers, names) {
			continue
		}
		h := p.w.History.Of(e.Key)
		runs := slices.ContainsFunc(p.w.Observed.InstancesOf(e.Key), (*observe.Instance).Live)
		if !runs && (h == nil || len(h.Starting) == 0) {
			continue
		}
		known := h.publication()
		at := known.server(server.Name)
		if known == nil || known.Servers == nil || known.Busy || at.On(in.Ports) {
			return e.Key, true
		}
	}
	return spec.Key{}, false
}

// reportPublication says where the file of an agent is, and whether it is out of
// date.
func (s *situation) reportPublication(st *spec.Status) {
	known := s.history.publication()
	if known == nil || len(s.servers()) == 0 {
		return
	}
	st.MCPConfig = known.Path
	if known.Failures > 0 && len(s.instances) > 0 {
		st.Warnings = append(st.Warnings, spec.Warning{
			Reason: known.Reason, Message: known.Message + "; until then it may not find its MCP servers",
		})
	}
}

// publish changes a file, outside the loop.
func (l *loop) publish(a Action) Published {
	e := Published{Key: a.Key}
	var err error
	if len(a.Servers) == 0 {
		err = l.Actuator.Withdraw(a.Key)
	} else {
		e.MCPConfigFile, err = l.Actuator.Publish(a.Entry, a.Servers)
	}
	e.Reason, e.Message, _ = startError(err)
	e.At = time.Now()
	return e
}

// findPublished looks for the files that a former controller has left.
func (l *loop) findPublished() {
	if l.Reap != nil {
		return // nothing is published, and nothing known to be unwanted
	}
	l.aside(func() outcome {
		found := l.Actuator.Published()
		return func(l *loop) {
			for _, k := range found {
				l.fold(PublicationFound{k})
			}
		}
	})
}

// doubtPublications has the files looked at again: all of the state may be
// deleted at any time.
func (l *loop) doubtPublications() {
	for _, k := range l.world.History.keys {
		if k.Publication != nil {
			l.fold(PublicationDoubted{k.Key})
		}
	}
}

// logPublished says when a file changes, and once why it cannot be changed.
func (l *loop) logPublished(e *Published) {
	known := l.world.History.Of(e.Key).publication()
	switch {
	case e.Message != "":
		if known == nil || known.Message != e.Message {
			l.Log.Info("cannot tell an agent where its MCP servers are", "workload", e.Key.String(), "reason", e.Reason, "cause", e.Message)
			l.Events.Append(Occurrence{Time: e.At, Type: HasNotPublished, Key: e.Key.String(), Reason: e.Reason, Message: e.Message})
		}
	case e.Written && e.text() != "": // else nothing is known of them yet
		l.Log.Info("told an agent where its MCP servers are", "workload", e.Key.String(), "file", e.Path)
		l.Events.Append(Occurrence{Time: e.At, Type: HasPublished, Key: e.Key.String(), Message: e.text()})
	}
}

// text names the servers of a file in one line.
func (e *Published) text() string {
	var parts []string
	for _, s := range e.Servers {
		if s.URL != "" {
			parts = append(parts, s.Name+" at "+s.URL)
		}
	}
	return strings.Join(parts, ", ")
}
