package actuate

import (
	"encoding/json"
	"fmt"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// GuardVerb is the first argument of a guard: the same program, doing something
// else. It is followed by the owner, for whoever reads a process list, and a
// Brief.
const GuardVerb = "guard-of"

// Brief is what a guard is told when it is started. The numbers are those of
// descriptors that it inherits.
type Brief struct {
	Owner spec.Owner `json:"owner"`
	UID   int        `json:"uid"`
	// State is the state directory; empty where there is none.
	State  string `json:"state,omitempty"`
	Scopes string `json:"scopes,omitempty"`
	// LogFormat and Verbose are those of the controller.
	LogFormat string `json:"logFormat,omitempty"`
	Verbose   bool   `json:"verbose,omitempty"`

	// Controller is who is guarded, Handle a pidfd on it.
	Controller observe.Ident `json:"controller"`
	Handle     int           `json:"handle"`
	// Bell is an eventfd(2): once it is rung there is nothing left to guard.
	Bell int `json:"bell"`
	// Roll lists the children of the controller, Particulars say what each of them
	// is. Ledger is its ledger; -1 where there is none.
	Roll        int   `json:"roll"`
	Particulars int   `json:"particulars"`
	Ledger      int   `json:"ledger"`
	Lock        []int `json:"lock,omitempty"`
}

// ParseBrief reads the arguments of a guard, without its verb.
func ParseBrief(args []string) (Brief, error) {
	var b Brief
	if len(args) != 2 {
		return b, fmt.Errorf("cannot guard: %s is what a controller starts by itself", GuardVerb)
	}
	if err := json.Unmarshal([]byte(args[1]), &b); err != nil {
		return b, fmt.Errorf("cannot guard: the brief cannot be read: %v", err)
	}
	return b, nil
}

// argv is the command line of a guard with this brief.
func (b *Brief) argv(program string) ([]string, error) {
	text, err := json.Marshal(b)
	return []string{program, GuardVerb, string(b.Owner), string(text)}, err
}
