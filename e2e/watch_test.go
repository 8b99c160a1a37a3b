//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// watcher is a program that watches, and believes what it is told.
type watcher struct {
	mu      sync.Mutex
	objects map[string]object
	whole   bool  // the bookmark has come
	ended   error // io.EOF for a proper end
	done    chan struct{}
}

// watch begins to watch. After each event it rests for a while.
func (r *rig) watch(rest time.Duration) *watcher {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.socket)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://controller/apis/proc-controller.dev/v1alpha1/workloads?watch=true", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	w := &watcher{objects: map[string]object{}, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer resp.Body.Close()
		events := json.NewDecoder(resp.Body)
		for {
			var e struct {
				Type   string
				Object object
			}
			if err := events.Decode(&e); err != nil {
				w.ended = err
				return
			}
			w.take(e.Type, e.Object)
			if rest > 0 {
				<-time.After(rest)
			}
		}
	}()
	r.t.Cleanup(func() { cancel(); <-w.done })
	return w
}

func (w *watcher) take(typ string, o object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := strings.ToLower(o.Kind) + "/" + o.Metadata.Name
	switch typ {
	case "BOOKMARK":
		w.whole = true
	case "DELETED":
		delete(w.objects, key)
	default:
		w.objects[key] = o
	}
}

// agrees objects unless the watcher believes what the controller says now.
func (w *watcher) agrees(r *rig) error {
	res := r.run("get", "-o", "json")
	var list struct{ Items []object }
	if err := json.Unmarshal([]byte(res.stdout), &list); err != nil {
		return fmt.Errorf("%w: %s", err, res.stderr)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.whole || len(list.Items) != len(w.objects) {
		return fmt.Errorf("it knows %d workloads of %d, all told: %v", len(w.objects), len(list.Items), w.whole)
	}
	for _, o := range list.Items {
		got := w.objects[strings.ToLower(o.Kind)+"/"+o.Metadata.Name]
		if got.Status.PID != o.Status.PID || got.Status.Phase != o.Status.Phase || got.Status.Restarts != o.Status.Restarts {
			return fmt.Errorf("of %s it knows %s, pid %d, %d restarts, and it is %s, pid %d, %d restarts", o.Metadata.Name,
				got.Status.Phase, got.Status.PID, got.Status.Restarts, o.Status.Phase, o.Status.PID, o.Status.Restarts)
		}
	}
	return nil
}

// TestWatchersAgreeInTheEnd lets workloads come, crash, be replaced and go before
// readers that are fast, slow and very slow. Whatever each has missed on the way, it
// ends at what is, and the end of the controller is a proper end of the stream.
func TestWatchersAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	const workloads = 8
	r := newRig(t)
	r.start()
	watchers := map[string]*watcher{"fast": r.watch(0), "slow": r.watch(10 * time.Millisecond), "very slow": r.watch(50 * time.Millisecond)}
	write := func(round int) {
		for i := range workloads {
			name := fmt.Sprintf("w%d", i)
			r.write(name+".yaml", agent(name, fmt.Sprintf("env: [{name: ROUND, value: '%d'}]\nbackoff: {initial: 10ms, max: 20ms}", round)))
		}
	}
	for round := range 3 {
		write(round)
		for i := range workloads / 2 { // what runs of them crashes
			o, err := r.get(fmt.Sprintf("agent/w%d", i))
			if p, lives := lookup(o.Status.PID); err == nil && lives && p.has("PROC_CONTROLLER_OWNER", r.owner) {
				end(p)
			}
		}
	}
	r.remove("w0.yaml")
	eventually(t, soon, "all settle", func() error {
		if res := r.run("wait", "--all", "--timeout", "10s"); res.code != 0 {
			return errors.New(res.stderr)
		}
		if res := r.run("get", "agent/w0"); res.code == 0 {
			return errors.New("w0 is still there")
		}
		return nil
	})
	for name, w := range watchers {
		eventually(t, soon, "the "+name+" watcher agrees", func() error { return w.agrees(r) })
	}
	r.stop()
	for name, w := range watchers {
		select {
		case <-w.done:
		case <-time.After(soon):
			t.Fatalf("the watch of the %s one does not end", name)
		}
		if name != "very slow" && !errors.Is(w.ended, io.EOF) {
			t.Errorf("the watch of the %s one ended with %v", name, w.ended)
		}
	}
}
