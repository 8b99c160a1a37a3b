package main

import (
	"cmp"
	"strings"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// step is one thing that is waited for.
type step struct {
	name string
	at   string // how far it is, in a word; a change of it is news
	text string
}

// steps shows what is waited for, on stderr. Where nothing can be written over, a
// text that only counts down is not told again.
type steps struct {
	shown *progress
	told  map[string]step
}

func newSteps(std streams) *steps {
	return &steps{shown: newProgress(std.err), told: map[string]step{}}
}

// show tells of what is left.
func (s *steps) show(left []step) {
	var lines []progressLine
	for _, st := range left {
		if last, told := s.told[st.name]; told && last.at == st.at && !s.shown.moves {
			st = last
		}
		s.told[st.name] = st
		lines = append(lines, progressLine{name: st.name, text: st.text})
	}
	s.shown.show(lines)
}

// clear makes room for something else.
func (s *steps) clear() { s.shown.clear() }

// stepOf says how far a workload is on its way, in the words of wait.
func stepOf(o *api.Object) step {
	s := step{name: shortName(o.Key()), text: strings.ToLower(string(o.Status.Phase))}
	s.at = s.text + " " + string(o.Status.Reason)
	if why := whyLeft(o); why != "" && !strings.EqualFold(why, s.text) {
		s.text += ": " + why
	}
	return s
}

// whyLeft says why a workload is not as it should be, as get does, or else in the
// words of the condition that is the sum of the others.
func whyLeft(o *api.Object) string {
	if o.Status.Reason != "" && o.Status.Message != "" {
		return string(o.Status.Reason) + ": " + o.Status.Message
	}
	return cmp.Or(isReady.judge(o).why, string(o.Status.Reason))
}

// isReady is what is waited for after a restart.
var isReady = aim{condition: spec.CondReady, status: spec.True}
