package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/proc-controller/proc-controller/spec"
)

// tell writes the story, from what is true now to how it came to be.
func (st *story) tell(s *sheet) {
	s.line(s.look.paint(bold, st.Key().String()))
	st.summary(s)
	s.section("Conditions", func() { s.table(st.conditions()) })
	s.section("Instances", func() { st.instances(s) })
	s.section("Probes", func() { st.probes(s) })
	s.section("Depends on", func() { s.table(st.dependencies()) })
	s.section("Needed by", func() { s.paragraphs(st.dependents()) })
	if d := st.Status.LastDeath; d != nil {
		s.section("Last death", func() { st.death(s, d) })
	}
	s.section("Events", func() { st.recent(s) })
	s.section("Last output", func() { s.quoted(st.output) })
}

// summary is what one would ask first.
func (st *story) summary(s *sheet) {
	s.field("Manifest", cmp.Or(st.Status.Source.String(), "none; only its processes are known"))
	s.field("Labels", pairs(st.Metadata.Labels)...)
	s.field("Annotations", pairs(st.Metadata.Annotations)...)
	s.fieldIn(tintWorkload(statusHead, string(st.Status.Phase)), "Status", st.phase())
	if st.Spec != nil {
		s.field("Command", commandLine(slices.Concat(st.Spec.Command, st.Spec.Args)))
		s.field("Directory", st.Spec.WorkingDir)
		s.field("User", st.Spec.User)
	}
	st.reached(s)
	s.field("MCP config", st.Status.MCPConfig)
	s.field("Ready", readyCell(st.Object))
	if n := st.Status.Restarts; n > 0 {
		s.field("Restarts", strconv.Itoa(n))
	}
	if at := st.Status.SuspendedAt; !at.IsZero() {
		s.field("Suspended", "at runtime, "+st.ago(at)+", whatever the manifest says")
	}
	if at := st.Status.RestartAskedAt; !at.IsZero() {
		s.field("Restart", "last asked for "+st.ago(at))
	}
	s.field("Hash", string(st.Status.Hash))
	for _, w := range st.Status.Warnings {
		s.field("Warning", string(w.Reason)+": "+w.Message)
	}
}

// phase is the phase, and why it is so where something is wrong or awaited.
func (st *story) phase() string {
	phase, why := string(st.Status.Phase), reasonCell(st.Object)
	switch {
	case why == "":
		return phase
	case why == phase, strings.HasPrefix(why, phase+":"):
		return why // BackOff is the reason of BackOff
	}
	return phase + ", " + why
}

// reached is where it is found, and what it has said of itself.
func (st *story) reached(s *sheet) {
	if server := st.Status.Server; server != nil {
		said := strings.TrimSpace(server.Name + " " + server.Version)
		s.field("Endpoint", server.URL)
		s.field("Server", cmp.Or(said, "without a name")+fmt.Sprintf(", %d %s, MCP %s", server.Tools, plural(server.Tools, "tool", "tools"), server.ProtocolVersion))
	}
	if card := st.Status.Card; card != nil {
		s.field("Endpoint", card.URL)
		s.field("Card", fmt.Sprintf("%s %s, %d %s", card.Name, card.Version, card.Skills, plural(card.Skills, "skill", "skills")))
	}
	var ports []string
	for _, p := range st.Status.Ports {
		ports = append(ports, portCell(p))
	}
	s.field("Ports", strings.Join(ports, ", "))
}

// pairs are key=value, sorted.
func pairs(m map[string]string) (words []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, k+"="+m[k])
	}
	return words
}

// commandLine can be pasted into a shell, but for what the manifest has expanded.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = spec.ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

func (st *story) conditions() *table {
	t := &table{tint: func(column, cell string) string {
		if column == "STATUS" && cell == string(spec.Unknown) {
			return yellow
		}
		return ""
	}}
	said := slices.ContainsFunc(st.Status.Conditions, func(c spec.Condition) bool { return c.Message != "" })
	add := func(cells ...string) {
		if !said {
			cells = cells[:len(cells)-1]
		}
		t.add(cells...)
	}
	add("TYPE", "STATUS", "FOR", "REASON", "MESSAGE")
	for _, c := range st.Status.Conditions {
		add(string(c.Type), string(c.Status), st.since(c.LastTransitionTime), string(c.Reason), c.Message)
	}
	return t
}

// since is how long ago something was, in a word.
func (st *story) since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, st.now.Sub(at)))
}

// ago is how long ago something was, in words.
func (st *story) ago(at time.Time) string { return st.since(at) + " ago" }

// instances tells of each spawn that is not gone.
func (st *story) instances(s *sheet) {
	for _, in := range st.Status.Instances {
		s.line(s.look.paint(bold, string(in.Instance)))
		s.within(func() {
			s.field("Process", st.process(&in))
			s.field("Bridge", bridgeText(in.Bridge))
			s.field("Scope", in.Scope)
			var ports []string
			for _, p := range in.Ports {
				ports = append(ports, portCell(p))
			}
			s.field("Ports", strings.Join(ports, ", "))
			if in.Outdated {
				s.field("Outdated", "it is to be replaced")
			}
			if in.Hash != "" && in.Hash != st.Status.Hash && st.Status.Hash != "" {
				s.field("Hash", string(in.Hash)+", which the manifest has no more")
			}
			s.field("Evidence", strings.Join(st.evidence[in.Instance], "; "))
			s.field("Output", in.Log)
		})
	}
}

func (st *story) process(in *spec.InstanceStatus) string {
	text := "none any more"
	if in.PID != 0 {
		text = fmt.Sprintf("pid %d", in.PID)
	}
	if in.Bridge != nil && in.PID != 0 {
		text += " (bridge)"
	}
	if n := in.Members; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	if !in.StartedAt.IsZero() {
		text += ", started " + st.ago(in.StartedAt)
	}
	if in.Ready {
		return text + ", ready"
	}
	return text + ", not ready"
}

// bridgeText says what a bridge is busy with.
func bridgeText(b *spec.BridgeStatus) string {
	if b == nil {
		return ""
	}
	server := fmt.Sprintf("%d server processes", b.Servers)
	switch {
	case b.ServerPID != 0:
		server = fmt.Sprintf("server pid %d", b.ServerPID)
	case b.Servers == 0:
		server = "no server process now"
	case b.Servers == 1:
		server = "1 server process"
	}
	return fmt.Sprintf("%s, %d %s", server, b.Sessions, plural(b.Sessions, "session", "sessions"))
}

// dependencies are what it waits for, with what those are now.
func (st *story) dependencies() *table {
	t := &table{}
	t.add("WORKLOAD", "UNTIL", "IS")
	if st.Spec == nil {
		return t
	}
	for _, d := range st.Spec.DependsOn {
		t.add(shortName(d.Key()), cmp.Or(string(d.Condition), string(spec.DependencyReady)), st.isNow(d.Key()))
	}
	for _, r := range st.Spec.MCPServers {
		k := spec.Key{Kind: spec.KindMCPServer, Name: r.Name}
		if !slices.ContainsFunc(st.Spec.DependsOn, func(d spec.Dependency) bool { return d.Key() == k }) {
			t.add(shortName(k), "", st.isNow(k))
		}
	}
	return t
}

// isNow is the phase of another workload.
func (st *story) isNow(k spec.Key) string {
	for i := range st.all {
		if o := &st.all[i]; o.Key() == k {
			return string(o.Status.Phase) + ", " + readyCell(o) + " ready"
		}
	}
	return "not there"
}

// dependents are the workloads that wait for this one.
func (st *story) dependents() (names []string) {
	for i := range st.all {
		o := &st.all[i]
		if o.Spec == nil {
			continue
		}
		depends := slices.ContainsFunc(o.Spec.DependsOn, func(d spec.Dependency) bool { return d.Key() == st.Key() })
		serves := slices.ContainsFunc(o.Spec.MCPServers, func(r spec.ServerRef) bool {
			return st.Kind == spec.KindMCPServer && r.Name == st.Metadata.Name
		})
		if depends || serves {
			names = append(names, shortName(o.Key()))
		}
	}
	return names
}

// recent are the newest events.
func (st *story) recent(s *sheet) {
	if st.eventsErr != nil {
		s.paragraphs([]string{"cannot be told: " + st.eventsErr.Error()})
		return
	}
	t := &table{}
	t.add("AGE", "WHAT", "DETAIL")
	for i := range st.events {
		e := &st.events[i]
		t.add(st.since(e.Time), eventWhat(e), eventDetail(e))
	}
	s.table(t)
}
