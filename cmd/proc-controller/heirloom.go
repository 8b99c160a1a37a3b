package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/actuate/lock"
	"github.com/proc-controller/proc-controller/controller"
)

// heirloomVariable carries an heirloom from one image of the controller to the
// next, across execve(2). No child ever gets it.
const heirloomVariable = "PROC_CONTROLLER_HEIRLOOM"

// heirloomFormat is raised when an image could not go on with what an earlier
// one hands over. "version -o json" tells it.
const heirloomFormat = 1

// heirloom is what an image of the controller goes on with. The numbers are
// those of descriptors that were left open for it.
type heirloom struct {
	// Upgrades counts the images before this one.
	Upgrades int              `json:"upgrades"`
	Lock     []int            `json:"lock"`
	Ledger   int              `json:"ledger"` // the mirror, or noMirror
	History  int              `json:"history"`
	Actuator actuate.Heritage `json:"actuator"`
}

// takeHeirloom gives what the former image has left, once; nil if this is the
// first.
func takeHeirloom() (*heirloom, error) {
	text, ok := os.LookupEnv(heirloomVariable)
	if !ok {
		return nil, nil
	}
	os.Unsetenv(heirloomVariable)
	h := &heirloom{}
	if err := json.Unmarshal([]byte(text), h); err != nil {
		return nil, fmt.Errorf("cannot go on after the upgrade: %v", err)
	}
	return h, nil
}

// environ is the environment that hands it over.
func (h *heirloom) environ() ([]string, error) {
	text, err := json.Marshal(h)
	return append(os.Environ(), heirloomVariable+"="+string(text)), err
}

// acquire takes the lock, or goes on with the one that was handed over.
func (m *machine) acquire(state string) (err error) {
	if m.heirloom == nil {
		return m.takeLock(state)
	}
	if m.lock, err = lock.Adopt(m.heirloom.Lock, nil); err != nil {
		return fmt.Errorf("cannot go on with the lock after the upgrade: %v", err)
	}
	m.closing(m.lock.Release)
	return nil
}

// formerMirror says which mirror of the ledger to go on with.
func (m *machine) formerMirror() int {
	if m.heirloom == nil {
		return noMirror
	}
	return m.heirloom.Ledger
}

// heritage is the part of the actuator.
func (m *machine) heritage() *actuate.Heritage {
	if m.heirloom == nil {
		return nil
	}
	return &m.heirloom.Actuator
}

// history is what is remembered: all of it after an upgrade, else what the
// ledger has.
func (m *machine) history() controller.History {
	if m.heirloom == nil {
		return m.records.history()
	}
	h, err := m.handedHistory()
	if err != nil {
		m.log.Error(err, "going on with the ledger instead")
		return m.records.history()
	}
	return h
}

func (m *machine) handedHistory() (controller.History, error) {
	content, err := actuate.ReadParcel(m.heirloom.History)
	if err != nil {
		return controller.History{}, err
	}
	return controller.Resume(content)
}
