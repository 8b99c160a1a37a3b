package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Event is something that happened and cannot be observed again.
type Event interface {
	EventKey() spec.Key
	fold(*KeyHistory)
}

// StartAsked says that a start was handed out.
type StartAsked struct {
	Key   spec.Key  `json:"key"`
	Token string    `json:"token"`
	Hash  spec.Hash `json:"hash"`
	At    time.Time `json:"at"`
	// Policy is how what is started is to be stopped.
	Policy StopPolicy `json:"policy,omitzero"`
	// DependsOn is what has to be stopped after it.
	DependsOn []spec.Key `json:"dependsOn,omitempty"`
	// Beside says that it starts beside the instance that it is to replace.
	Beside bool `json:"beside,omitempty"`
	// Renew says that a restart was asked for meanwhile.
	Renew bool `json:"-"`
}

// Started says that a start worked.
type Started struct {
	Key      spec.Key       `json:"key"`
	Token    string         `json:"token"`
	Instance InstanceRecord `json:"instance"`
	At       time.Time      `json:"at"`
	Reason   spec.Reason    `json:"reason,omitempty"`
}

// StartFailed says that a start did not work. Nothing of it runs.
type StartFailed struct {
	Key     spec.Key    `json:"key"`
	Token   string      `json:"token"`
	Hash    spec.Hash   `json:"hash"`
	Reason  spec.Reason `json:"reason"`
	Message string      `json:"message"`
	At      time.Time   `json:"at"`
	// Sent are the signals that ended what had been started already; the ledger
	// does not keep them.
	Sent []observe.Sent `json:"-"`
	// Planned says that it was ended by a stop of ours: no failure, as such an
	// end is no crash.
	Planned bool `json:"planned,omitempty"`
}

// Adopted says that a scan found an instance that was not known.
type Adopted struct {
	Key      spec.Key       `json:"key"`
	Instance InstanceRecord `json:"instance"`
	At       time.Time      `json:"at"`
	// Evidence is what the scan says of the main process; the ledger does not
	// keep it.
	Evidence []string `json:"-"`
}

// PolicyNoted says how what runs of a key is to be stopped, where its manifest
// says something else than what was noted of it.
type PolicyNoted struct {
	Key spec.Key `json:"key"`
	// Hash is that of the manifest.
	Hash      spec.Hash  `json:"hash,omitempty"`
	Policy    StopPolicy `json:"policy"`
	DependsOn []spec.Key `json:"dependsOn,omitempty"`
}

// Watched says that the main process of an adopted instance is watched by
// handle.
type Watched struct {
	Key spec.Key
	ID  spec.Instance
}

// Exited says that a main process has ended.
type Exited struct {
	Key         spec.Key         `json:"key"`
	ID          spec.Instance    `json:"id"`
	Hash        spec.Hash        `json:"hash"`
	PID         int              `json:"pid"`
	StartTick   uint64           `json:"startTick,omitempty"`
	Termination spec.Termination `json:"termination"`
	// ResetAfter is the healthy stretch that clears the crash count.
	ResetAfter time.Duration `json:"resetAfter,omitempty"`
}

// Output says what the ended instance wrote last.
type Output struct {
	Key  spec.Key      `json:"key"`
	ID   spec.Instance `json:"id"`
	Line string        `json:"line"`
	At   time.Time     `json:"at"`
}

// StopAsked says that signals to an instance were handed out.
type StopAsked struct {
	Key    spec.Key      `json:"key"`
	ID     spec.Instance `json:"id"`
	Kill   bool          `json:"kill,omitempty"`
	Reason spec.Reason   `json:"reason"`
	At     time.Time     `json:"at"`
	Policy StopPolicy    `json:"policy"`
	// Targets are the members that it was decided for.
	Targets []observe.Ident `json:"-"`
}

// Signalled says what came of it.
type Signalled struct {
	Key    spec.Key       `json:"key"`
	ID     spec.Instance  `json:"id"`
	Reason spec.Reason    `json:"reason"`
	Sent   []observe.Sent `json:"sent,omitempty"`
	Err    string         `json:"error,omitempty"`
	At     time.Time      `json:"at"`
}

// Gone says that nothing is left of an instance.
type Gone struct {
	Key spec.Key      `json:"key"`
	ID  spec.Instance `json:"id"`
	At  time.Time     `json:"at"`
}

// Resolving says that a check of the program was handed out, Resolved what came
// of it; an empty Message means that the program was found.
type (
	Resolving struct {
		Key spec.Key
	}
	Resolved struct {
		Key     spec.Key
		Hash    spec.Hash
		Reason  spec.Reason
		Message string
		At      time.Time
	}
)

// Remembered restores the history of a key from a ledger.
type Remembered struct {
	KeyHistory
}

// Rebooted says that what is known of a key is from another boot: nothing of it
// runs.
type Rebooted struct {
	Key spec.Key
}

// Forgotten says that nothing wants or runs a key any more, and nothing needs
// to be known of it.
type Forgotten struct {
	Key spec.Key `json:"key"`
}

// EventKey and its like name the key that an event is about.
func (e StartAsked) EventKey() spec.Key  { return e.Key }
func (e Started) EventKey() spec.Key     { return e.Key }
func (e StartFailed) EventKey() spec.Key { return e.Key }
func (e Adopted) EventKey() spec.Key     { return e.Key }
func (e PolicyNoted) EventKey() spec.Key { return e.Key }
func (e Watched) EventKey() spec.Key     { return e.Key }
func (e Exited) EventKey() spec.Key      { return e.Key }
func (e Output) EventKey() spec.Key      { return e.Key }
func (e StopAsked) EventKey() spec.Key   { return e.Key }
func (e Signalled) EventKey() spec.Key   { return e.Key }
func (e Gone) EventKey() spec.Key        { return e.Key }
func (e Resolving) EventKey() spec.Key   { return e.Key }
func (e Resolved) EventKey() spec.Key    { return e.Key }
func (e Remembered) EventKey() spec.Key  { return e.Key }
func (e Rebooted) EventKey() spec.Key    { return e.Key }
func (e Forgotten) EventKey() spec.Key   { return e.Key }

func (e StartAsked) fold(k *KeyHistory) {
	k.Starting = append(k.Starting, e)
	k.Policy, k.DependsOn = e.Policy, e.DependsOn
	if e.Beside && k.replacement(e.Hash) == nil {
		k.Replacement = &Replacement{Hash: e.Hash, Since: e.At}
	}
}

func (e Started) fold(k *KeyHistory) {
	k.begin(e.Instance.Hash)
	renew := k.dropStarting(e.Token)
	k.Failure, k.TriedAt = nil, e.At
	if k.Ended > 0 {
		k.Restarts++
	}
	r := e.Instance
	r.Restarts, r.Renew = k.Restarts, renew
	k.Instances = append(k.Instances, r)
	k.Ports = r.Ports
}

func (e StartFailed) fold(k *KeyHistory) {
	k.begin(e.Hash)
	renew := k.dropStarting(e.Token)
	k.Stops = slices.DeleteFunc(k.Stops, func(s StopState) bool { return s.ID.Token() == e.Token })
	if e.Planned || renew { // it would have been ended
		return
	}
	k.Crashes++
	k.CrashedAt, k.TriedAt = e.At, e.At
	k.Failure = &e
	if mayHaveRun(e.Reason) {
		k.Ended++
	}
}

// mayHaveRun says that a failed start may have got as far as the program.
func mayHaveRun(r spec.Reason) bool {
	return r == spec.ReasonWrapperFailed || r == spec.ReasonLimitsNotApplied
}

// begin notes the program that is started; another one's counts begin anew.
func (k *KeyHistory) begin(h spec.Hash) {
	if k.Hash != h {
		k.Hash, k.Crashes, k.Restarts, k.Ended, k.Succeeded, k.AtOnce, k.Failure = h, 0, 0, 0, 0, 0, nil
	}
}

func (e Adopted) fold(k *KeyHistory) {
	if r := k.instance(e.Instance.ID); r != nil {
		r.Main = e.Instance.Main
		return
	}
	if k.Hash == "" {
		k.Hash = e.Instance.Hash
	}
	k.Instances = append(k.Instances, e.Instance)
	k.Ports = e.Instance.Ports
}

func (e PolicyNoted) fold(k *KeyHistory) {
	k.Policy, k.DependsOn = e.Policy, e.DependsOn
	for i := range k.Instances {
		r := &k.Instances[i]
		r.Policy = e.Policy.asStarted(e.Hash, r.Hash, r)
	}
}

func (e Watched) fold(k *KeyHistory) {
	if r := k.instance(e.ID); r != nil {
		r.Handle = true
	}
}

// A planned end is no crash, and neither is that of what was to be restarted. An
// unplanned one counts, from one again if the instance ran for a healthy stretch.
func (e Exited) fold(k *KeyHistory) {
	t := e.Termination
	k.Last = &t
	renew := k.renews(e.ID)
	if r := k.instance(e.ID); r != nil {
		r.Ended = true
		k.keepServerRestarts(r)
	}
	k.dropProbes(e.ID)
	k.replaced(e.Hash, renew)
	k.doubtPublication()
	if t.Reason == spec.ReasonStopped || renew || e.Hash != k.Hash {
		return
	}
	if e.ResetAfter > 0 && t.FinishedAt.Sub(t.StartedAt) >= e.ResetAfter {
		k.Crashes = 0
	}
	k.Crashes++
	k.CrashedAt = t.FinishedAt
	k.Ended++
	if t.Reason == spec.ReasonCompleted {
		k.Succeeded++
	}
	k.AtOnce = atOnce(k.AtOnce, &t)
}

func (e Output) fold(k *KeyHistory) {
	if k.Last != nil && k.Last.Output == "" {
		last := *k.Last
		last.Output = e.Line
		k.Last = &last
	}
}

func (e StopAsked) fold(k *KeyHistory) {
	s := k.stop(e.ID)
	if s == nil {
		k.Stops = append(k.Stops, StopState{ID: e.ID, Reason: e.Reason, Policy: e.Policy, At: e.At})
		s = &k.Stops[len(k.Stops)-1]
	}
	s.Busy, s.Hook = true, NoHook
	s.Reached = append(slices.Clone(s.Reached), e.Targets...)
	if e.Kill {
		s.Kills++
		s.KilledAt = e.At
	}
}

func (e Signalled) fold(k *KeyHistory) {
	s := k.stop(e.ID)
	if s == nil {
		return
	}
	s.Busy = false
	s.Refused = e.Err
	for _, sent := range e.Sent {
		if sent.Err != "" && s.Refused == "" {
			s.Refused = fmt.Sprintf("%v: %s", sent.Target, sent.Err)
		}
	}
}

func (e Gone) fold(k *KeyHistory) {
	k.dropProbes(e.ID)
	if r := k.instance(e.ID); r != nil {
		k.Ports = r.Ports
		k.replaced(r.Hash, r.Renew)
	}
	k.Instances = slices.DeleteFunc(k.Instances, func(r InstanceRecord) bool { return r.ID == e.ID })
	k.Stops = slices.DeleteFunc(k.Stops, func(s StopState) bool { return s.ID == e.ID })
}

func (e Resolving) fold(k *KeyHistory) { k.Resolving = true }

func (e Resolved) fold(k *KeyHistory) { k.Resolving, k.Resolved = false, &e }

func (e Remembered) fold(k *KeyHistory) { *k = *e.KeyHistory.clone() }

func (e Rebooted) fold(k *KeyHistory) { k.Instances = nil }

func (e Forgotten) fold(*KeyHistory) {} // With drops the key

// dropStarting forgets a start that is over, and says whether a restart was
// asked for while it was under way.
func (k *KeyHistory) dropStarting(token string) (renew bool) {
	k.Starting = slices.DeleteFunc(k.Starting, func(s StartAsked) bool {
		renew = renew || s.Token == token && s.Renew
		return s.Token == token
	})
	return renew
}
