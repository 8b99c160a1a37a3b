package api

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// upgrader plays the program that is replaced.
type upgrader struct {
	refusal   error
	failure   string
	committed atomic.Int32
	commit    func()
}

func (u *upgrader) Prepare(context.Context) (func(), error) {
	if u.refusal != nil {
		return nil, u.refusal
	}
	return func() {
		u.committed.Add(1)
		if u.commit != nil {
			u.commit()
		}
	}, nil
}

// Failure has nothing to tell before it was tried.
func (u *upgrader) Failure() string {
	if u.committed.Load() == 0 {
		return ""
	}
	return u.failure
}

func TestUpgradeIsRefusedInWords(t *testing.T) {
	u := &upgrader{refusal: errors.New("cannot upgrade: not today")}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Image: Image{Upgrader: u}}})
	_, err := NewClient(path).Upgrade(t.Context())
	if err == nil || err.Error() != "cannot upgrade: not today" || u.committed.Load() != 0 {
		t.Errorf("%v, %d", err, u.committed.Load())
	}
}

func TestUpgradeThatFailsIsTold(t *testing.T) {
	u := &upgrader{failure: "no memory"}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Image: Image{Upgrader: u}}})
	_, err := NewClient(path).Upgrade(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no memory") || u.committed.Load() != 1 {
		t.Errorf("%v, %d", err, u.committed.Load())
	}
}

// The client gets its answer first, and then waits for the next program.
func TestUpgradeWaitsForTheNextProgram(t *testing.T) {
	path := socketPath(t)
	v := &fixedView{view: sampleView()}
	first, stop := context.WithCancel(t.Context())
	u := &upgrader{commit: stop}
	s, err := Listen(Options{Path: path, Services: Services{Viewer: v, Image: Image{Version: "v1", Upgrader: u}}})
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() {
		s.Run(first)
		n, err := Listen(Options{Path: path, Services: Services{Viewer: v, Image: Image{Version: "v2", Upgrades: 1, Upgrader: u}}})
		next <- err
		if err == nil {
			n.Run(t.Context())
		}
	}()
	now, err := NewClient(path).Upgrade(t.Context())
	if err != nil || now.Version != "v2" || now.Upgrades != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	if err := <-next; err != nil {
		t.Error(err)
	}
}

func TestUpgradeIsAskedForByPost(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Image: Image{Upgrader: &upgrader{}}}})
	var into Accepted
	err := NewClient(path).get(t.Context(), upgradePath, &into)
	var f *Failure
	if !errors.As(err, &f) || f.Code != 405 {
		t.Errorf("GET gives %v", err)
	}
}

// Between two programs nobody listens on the socket. A request waits then, as long as
// the controller lives.
func TestRequestsWaitForTheNextProgram(t *testing.T) {
	path := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	asked := 0
	dead := NewClient(path)
	dead.WaitWhile(func() bool { asked++; return false })
	if _, err := dead.Controller(t.Context()); !errors.Is(err, ErrNotRunning) || asked != 1 {
		t.Errorf("of a controller that has died: %v, asked %d times whether it lives", err, asked)
	}
	lives := 0
	c := NewClient(path)
	c.WaitWhile(func() bool {
		if lives++; lives == 3 {
			serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
		}
		return true
	})
	if _, err := c.Controller(t.Context()); err != nil || lives != 3 {
		t.Errorf("%v, after %d looks", err, lives)
	}
}
