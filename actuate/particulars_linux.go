package actuate

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// particulars are what there is to know of a child on the roll: what makes it a
// witness by itself. The ledger says the same, but only once the start is known to
// have worked, and by then a child has had time to clear its environment and to
// fork.
//
// They lie in a memory file of their own, each at the place of its record on the
// roll: so an older guard, or image, can go on with the roll, and a newer one do
// without them. They are written before that record, and are believed only of the
// process that they name, so that neither a write that was interrupted counts nor
// what is left of an earlier child.
type particulars struct {
	PID      int                   `json:"pid"`
	Start    uint64                `json:"start"`
	Key      spec.Key              `json:"key"`
	Instance spec.Instance         `json:"instance"`
	Hash     spec.Hash             `json:"hash"`
	OnExit   spec.OnControllerExit `json:"onExit"`
	UID      uint32                `json:"uid,omitempty"`
}

// particularsSize is the room for one, padded with zeros. Names are bounded by
// what a DNS label may be, so that less than the half is ever used; it divides a
// page.
const particularsSize = 512

// noParticulars is the descriptor of those that there are not.
const noParticulars = 0

// writeParticulars puts those of one record. Without memory the guard knows a
// little less.
func writeParticulars(f *os.File, record int64, w observe.Witness) {
	text, err := json.Marshal(particulars{
		PID: w.Main.PID, Start: w.Main.Start, Key: w.Key, Instance: w.ID, Hash: w.Hash, OnExit: w.OnExit, UID: w.UID,
	})
	if err != nil || len(text) > particularsSize {
		return
	}
	var b [particularsSize]byte
	copy(b[:], text)
	_, _ = f.WriteAt(b[:], record*particularsSize)
}

// readWitnesses gives who stands on a roll, as witnesses. One without particulars
// has no ID.
func readWitnesses(roll, file *os.File) ([]observe.Witness, error) {
	children, err := readRoll(roll)
	if err != nil {
		return nil, err
	}
	var all []observe.Witness
	for record, id := range children {
		if !id.IsZero() {
			all = append(all, readParticulars(file, int64(record), id))
		}
	}
	return all, nil
}

func readParticulars(f *os.File, record int64, id observe.Ident) observe.Witness {
	w := observe.Witness{Main: id}
	var b [particularsSize]byte
	n, _ := f.ReadAt(b[:], record*particularsSize)
	var p particulars
	if json.Unmarshal(bytes.TrimRight(b[:n], "\x00"), &p) != nil || p.PID != id.PID || p.Start != id.Start {
		return w
	}
	w.Key, w.ID, w.UID, w.Hash, w.OnExit = p.Key, p.Instance, p.UID, p.Hash, p.OnExit
	return w
}
