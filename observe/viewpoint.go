package observe

import (
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// Viewpoint says from where processes are judged that need no controller for it.
type Viewpoint struct {
	// Owner and UID are those of the controller that is asked about. Without an
	// Owner it is nobody's.
	Owner spec.Owner
	UID   int
	// Users are the witnesses of whom the manifests of Owner have its workloads
	// run as.
	Users []Witness
	// Ledger gives what is noted of the instances of an owner whose controller
	// runs as UID; ok is false where there is no such ledger. It may be nil.
	Ledger func(spec.Owner) (known []Witness, ok bool)
}

// judge is somebody by whose rules processes are judged, with what is known of
// that one's instances.
type judge struct {
	identity
	known  []Witness
	ledger bool // there is one
}

func (v *Viewpoint) judge(owner spec.Owner, uid uint32) judge {
	j := judge{identity: identity{owner: owner, uid: uid, self: ownPID()}}
	if uid != uint32(v.UID) {
		return j
	}
	if v.Ledger != nil {
		j.known, j.ledger = v.Ledger(owner)
	}
	if owner == v.Owner {
		j.users = uidsOf(v.Users, uidOfUser)
	}
	return j
}

// judges are all by whose rules a process of the table may have to be judged:
// those of whom more is known than markers tell come first.
func (v *Viewpoint) judges(rows []sighting) (all []judge) {
	marked := claimants(rows)
	if v.Owner != "" {
		all = append(all, v.judge(v.Owner, uint32(v.UID)))
	}
	for _, who := range marked {
		known := func(j judge) bool { return j.owner == who.owner }
		if who.owner == "" || int(who.uid) == v.UID || slices.ContainsFunc(all, known) {
			continue
		}
		if j := v.judge(who.owner, uint32(v.UID)); j.ledger {
			all = append(all, j)
		}
	}
	for _, who := range marked {
		all = append(all, v.judge(who.owner, who.uid))
	}
	return all
}

// claimants are the owners and users that the marked processes name, in the
// order of their first process.
func claimants(rows []sighting) []identity {
	var all []identity
	for i := range rows {
		if rows[i].environ != environMarked {
			continue
		}
		d := rows[i].detail
		known := func(who identity) bool { return who.owner == d.markers.Owner && who.uid == d.uid }
		if !slices.ContainsFunc(all, known) {
			all = append(all, identity{owner: d.markers.Owner, uid: d.uid})
		}
	}
	return all
}
