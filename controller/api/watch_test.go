package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// world is a Viewer whose workloads a test changes.
type world struct {
	mu        sync.Mutex
	workloads map[spec.Key]controller.Workload
	changed   chan struct{}
	views     int
	err       error
}

func newWorld() *world {
	return &world{workloads: map[spec.Key]controller.Workload{}, changed: make(chan struct{})}
}

func (w *world) View(context.Context) (controller.View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views++
	v := controller.View{Ready: true, Workloads: slices.Collect(maps.Values(w.workloads))}
	slices.SortFunc(v.Workloads, func(a, b controller.Workload) int { return a.Key.Compare(b.Key) })
	return v, w.err
}

func (w *world) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// change changes the world and announces it.
func (w *world) change(f func(map[spec.Key]controller.Workload)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w.workloads)
	close(w.changed)
	w.changed = make(chan struct{})
}

// put has a workload with that many restarts.
func (w *world) put(key string, restarts int, labels map[string]string) {
	k, err := spec.ParseKey(key)
	if err != nil {
		panic(err)
	}
	w.change(func(all map[spec.Key]controller.Workload) {
		all[k] = controller.Workload{
			Key: k, Object: &spec.Object{APIVersion: spec.APIVersion, Kind: k.Kind, Metadata: spec.Metadata{Name: k.Name, Labels: labels}},
			Status: spec.Status{Phase: spec.PhaseRunning, Restarts: restarts},
		}
	})
}

func (w *world) remove(key string) {
	k, _ := spec.ParseKey(key)
	w.change(func(all map[spec.Key]controller.Workload) { delete(all, k) })
}

// quick are bounds that do not keep a test waiting.
func quick() bounds {
	return bounds{streams: 8, patience: time.Minute, look: time.Millisecond, poll: time.Minute}
}

func serveWorld(t *testing.T, w *world, b bounds) (*Server, *Client) {
	t.Helper()
	path := socketPath(t)
	return serve(t, Options{Path: path, Services: Services{Viewer: w, Changes: w}, streams: b}), NewClient(path)
}

// heard collects events as "ADDED Agent/a 0". They are waited for one by one.
type heard struct {
	t      *testing.T
	events chan string
	ended  chan error
}

// listen watches until the test ends.
func listen(t *testing.T, c *Client, o WatchOptions) *heard {
	t.Helper()
	h := &heard{t, make(chan string, 1000), make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		h.ended <- c.Watch(ctx, o, func(e WatchEvent) error {
			h.events <- textOf(e)
			return nil
		})
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return h
}

func textOf(e WatchEvent) string {
	if e.Object == nil {
		return e.Type
	}
	return fmt.Sprintf("%s %s %d", e.Type, e.Object.Key(), e.Object.Status.Restarts)
}

// want takes exactly these events.
func (h *heard) want(events ...string) {
	h.t.Helper()
	for _, want := range events {
		select {
		case got := <-h.events:
			if got != want {
				h.t.Fatalf("heard %q, want %q", got, want)
			}
		case err := <-h.ended:
			h.t.Fatalf("the watch has ended with %v instead of %q", err, want)
		case <-time.After(20 * time.Second):
			h.t.Fatalf("heard nothing, want %q", want)
		}
	}
}

func (h *heard) end() error {
	h.t.Helper()
	select {
	case err := <-h.ended:
		return err
	case <-time.After(20 * time.Second):
		h.t.Fatal("the watch does not end")
		return nil
	}
}

func TestWatchTellsWhatIsAndThenEachChange(t *testing.T) {
	w := newWorld()
	w.put("Agent/a", 0, nil)
	w.put("MCPServer/b", 0, map[string]string{"team": "dev"})
	_, c := serveWorld(t, w, quick())

	all := listen(t, c, WatchOptions{})
	servers := listen(t, c, WatchOptions{Key: spec.Key{Kind: spec.KindMCPServer}})
	one := listen(t, c, WatchOptions{Key: spec.Key{Kind: spec.KindAgent, Name: "z"}})
	dev := listen(t, c, WatchOptions{Labels: "team=dev"})
	all.want("ADDED Agent/a 0", "ADDED MCPServer/b 0", "BOOKMARK")
	servers.want("ADDED MCPServer/b 0", "BOOKMARK")
	one.want("BOOKMARK")
	dev.want("ADDED MCPServer/b 0", "BOOKMARK")

	w.put("Agent/z", 3, map[string]string{"team": "dev"})
	all.want("ADDED Agent/z 3")
	one.want("ADDED Agent/z 3")
	dev.want("ADDED Agent/z 3")
	w.put("Agent/z", 4, nil) // the label is gone: for who goes by it, so is the workload
	all.want("MODIFIED Agent/z 4")
	one.want("MODIFIED Agent/z 4")
	dev.want("DELETED Agent/z 3")
	w.put("Agent/z", 4, nil) // nothing new
	w.remove("MCPServer/b")
	all.want("DELETED MCPServer/b 0")
	servers.want("DELETED MCPServer/b 0")
	dev.want("DELETED MCPServer/b 0")
	w.remove("Agent/z")
	one.want("DELETED Agent/z 4")
}

// TestWatchSeesWhatIsNotAnnounced: what only time changes is noticed by looking.
func TestWatchSeesWhatIsNotAnnounced(t *testing.T) {
	w := newWorld()
	b := quick()
	b.poll = 20 * time.Millisecond
	_, c := serveWorld(t, w, b)
	h := listen(t, c, WatchOptions{})
	h.want("BOOKMARK")
	w.mu.Lock()
	k := spec.Key{Kind: spec.KindAgent, Name: "silent"}
	w.workloads[k] = controller.Workload{Key: k}
	w.mu.Unlock()
	h.want("ADDED Agent/silent 0")
}

// TestWatchUnderLoad changes fifty workloads a thousand times a second, before
// readers of every speed. All arrive at the last state, and nothing is kept for
// those who are behind but that state.
func TestWatchUnderLoad(t *testing.T) {
	const workloads, changes, size = 50, 2000, 8 << 10
	w := newWorld()
	b := quick()
	b.look = streamLook
	_, c := serveWorld(t, w, b)
	put := func(i, restarts int) {
		k := spec.Key{Kind: spec.KindAgent, Name: "w" + strconv.Itoa(i%workloads)}
		w.change(func(all map[spec.Key]controller.Workload) {
			all[k] = controller.Workload{Key: k, Status: spec.Status{Restarts: restarts, Message: strings.Repeat("x", size)}}
		})
	}
	for i := range workloads {
		put(i, 0)
	}
	var readers sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	final := errors.New("seen all")
	for i, pause := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		readers.Go(func() {
			last, count := map[spec.Key]int{}, 0
			err := c.Watch(ctx, WatchOptions{}, func(e WatchEvent) error {
				if e.Object == nil {
					return nil
				}
				count++
				last[e.Object.Key()] = e.Object.Status.Restarts
				if pause > 0 {
					<-time.After(pause)
				}
				for i := range workloads {
					if last[spec.Key{Kind: spec.KindAgent, Name: "w" + strconv.Itoa(i)}] != changes+i {
						return nil
					}
				}
				return final
			})
			if !errors.Is(err, final) {
				t.Errorf("reader %d: %v after %d events", i, err, count)
			}
			t.Logf("reader %d (%v an event) was told %d times of %d changes", i, pause, count, changes+workloads)
		})
	}
	before := heap()
	most := uint64(0)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for i := range changes {
		<-tick.C
		put(i, i)
		if i%500 == 499 {
			most = max(most, heap())
		}
	}
	t.Logf("%d changes in %v", changes, time.Since(began))
	for i := range workloads {
		put(i, changes+i)
	}
	readers.Wait()
	// A queue of what the slow ones have not read would hold some thirty megabytes.
	grown := int64(most) - int64(before)
	t.Logf("the heap grew by %d KiB at most", grown>>10)
	if grown > 12<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
}

func TestWhoNeverReadsIsCutOff(t *testing.T) {
	w := newWorld()
	b := quick()
	b.patience, b.streams = 200*time.Millisecond, 1
	s, c := serveWorld(t, w, b)
	mute := dialWatch(t, s.opts.Path)
	defer mute.Close()
	begin := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(mute, begin); err != nil || string(begin) != "HTTP/1.1 200" {
		t.Fatalf("%s, %v", begin, err)
	}
	w.change(func(all map[spec.Key]controller.Workload) {
		for i := range 100 { // more than any socket buffers
			k := spec.Key{Kind: spec.KindAgent, Name: fmt.Sprintf("w%03d", i)}
			all[k] = controller.Workload{Key: k, Status: spec.Status{Message: strings.Repeat("x", 100<<10)}}
		}
	})
	room(t, c)
	if err := cutOff(mute); err != nil {
		t.Error(err)
	}
}

// room waits until there is room for another stream.
func room(t *testing.T, c *Client) {
	t.Helper()
	enough := errors.New("enough")
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if err = c.Watch(t.Context(), WatchOptions{}, func(WatchEvent) error { return enough }); errors.Is(err, enough) {
			return
		}
	}
	t.Fatalf("no room for another stream within 20 s: %v", err)
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// dialWatch asks for a watch as a program would that then forgets about it.
func dialWatch(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s/workloads?watch=true HTTP/1.1\r\nHost: x\r\n\r\n", Root)
	return conn
}

// cutOff reads what is left, and wants the stream to have no proper end.
func cutOff(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	var all []byte
	buf := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buf)
		all = append(all, buf[:n]...)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			return errors.New("it was not cut off")
		case err != nil && strings.HasSuffix(string(all), "0\r\n\r\n"):
			return errors.New("its answer was ended as if it were whole")
		case err != nil:
			return nil
		}
	}
}

func TestStreamsAreBoundedAndKeepNobodyWaiting(t *testing.T) {
	w := newWorld()
	b := quick()
	b.streams = maxConns + 3
	_, c := serveWorld(t, w, b)
	for range b.streams {
		listen(t, c, WatchOptions{}).want("BOOKMARK")
	}
	if _, err := c.Workloads(t.Context()); err != nil {
		t.Errorf("a request beside many streams: %v", err)
	}
	err := c.Watch(t.Context(), WatchOptions{}, func(WatchEvent) error { return nil })
	var f *Failure
	if !errors.As(err, &f) || f.Code != http.StatusTooManyRequests || f.Reason != "TooManyRequests" {
		t.Errorf("one more: %v", err)
	}
}

// TestStreamsOutliveTheTimeoutsOfAnswers, and are noticed when the peer leaves.
func TestStreamsOutliveTheTimeoutsOfAnswers(t *testing.T) {
	w := newWorld()
	path := socketPath(t)
	s, err := Listen(Options{Path: path, Services: Services{Viewer: w, Changes: w}, streams: quick()})
	if err != nil {
		t.Fatal(err)
	}
	s.http.ReadTimeout, s.http.WriteTimeout = 30*time.Millisecond, 30*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
	h := listen(t, NewClient(path), WatchOptions{})
	h.want("BOOKMARK")
	<-time.After(100 * time.Millisecond)
	w.put("Agent/late", 1, nil)
	h.want("ADDED Agent/late 1")
}

func TestWatchEndsWellWithTheServer(t *testing.T) {
	w := newWorld()
	path := socketPath(t)
	s, err := Listen(Options{Path: path, Services: Services{Viewer: w, Changes: w}, streams: quick()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	h := listen(t, NewClient(path), WatchOptions{})
	h.want("BOOKMARK")
	cancel()
	if err := h.end(); !errors.Is(err, ErrEnded) {
		t.Errorf("the watch ended with %v", err)
	}
	done.Wait()
}

func TestWatchEndsWithTheLoop(t *testing.T) {
	w := newWorld()
	_, c := serveWorld(t, w, quick())
	h := listen(t, c, WatchOptions{})
	h.want("BOOKMARK")
	w.change(func(map[spec.Key]controller.Workload) { w.err = controller.ErrStopped })
	if err := h.end(); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end of the loop: %v", err)
	}
	w.change(func(map[spec.Key]controller.Workload) { w.err = nil })
	h = listen(t, c, WatchOptions{})
	h.want("BOOKMARK")
	w.change(func(map[spec.Key]controller.Workload) { w.err = context.DeadlineExceeded })
	var f *Failure
	if err := h.end(); !errors.As(err, &f) || !strings.Contains(f.Message, "busy for too long") {
		t.Errorf("a loop that does not answer: %v", err)
	}
}

// TestWatchAgain: after a restart only what is other is told.
func TestWatchAgain(t *testing.T) {
	w := newWorld()
	w.put("Agent/same", 1, nil)
	w.put("Agent/other", 1, nil)
	w.put("Agent/gone", 1, nil)
	path := socketPath(t)
	o := Options{Path: path, Services: Services{Viewer: w, Changes: w}, streams: quick()}
	start := func() (stop func()) {
		s, err := Listen(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		done.Go(func() { s.Run(ctx) })
		return func() { cancel(); done.Wait() }
	}
	stop := start()
	lost := make(chan error, 10)
	h := listen(t, NewClient(path), WatchOptions{Reconnect: true, Lost: func(err error) { lost <- err }})
	h.want("ADDED Agent/gone 1", "ADDED Agent/other 1", "ADDED Agent/same 1", "BOOKMARK")
	stop()
	if err := <-lost; !errors.Is(err, ErrEnded) {
		t.Errorf("lost: %v", err)
	}
	w.put("Agent/other", 2, nil)
	w.put("Agent/new", 1, nil)
	w.remove("Agent/gone")
	stop = start()
	defer stop()
	h.want("ADDED Agent/new 1", "MODIFIED Agent/other 2", "DELETED Agent/gone 1", "BOOKMARK")
	w.put("Agent/same", 5, nil)
	h.want("MODIFIED Agent/same 5")
	if len(lost) != 0 {
		t.Errorf("lost once more: %v", <-lost)
	}
}

func TestWatchThatIsRefused(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: newWorld()}})
	for query, code := range map[string]int{
		"watch=true": 501, "watch=maybe": 400, "labelSelector=a%20b": 400, "watch=0&labelSelector=a=b": 200,
	} {
		if got, body := ask(t, path, "GET", Root+"/workloads?"+query); got != code {
			t.Errorf("%s: %d %s, want %d", query, got, body, code)
		}
	}
	c := NewClient(path)
	err := c.Watch(t.Context(), WatchOptions{Reconnect: true}, func(WatchEvent) error { return nil })
	var f *Failure
	if !errors.As(err, &f) || f.Code != http.StatusNotImplemented {
		t.Errorf("watch: %v", err)
	}
	if err := NewClient(path+"x").Watch(t.Context(), WatchOptions{Reconnect: true}, nil); !errors.Is(err, ErrNotRunning) {
		t.Errorf("nobody there: %v", err)
	}
	if err := c.Watch(t.Context(), WatchOptions{Key: spec.Key{Name: "a"}}, nil); err == nil {
		t.Error("a name without a kind is taken")
	}
}

func TestLabelSelectorOfAList(t *testing.T) {
	w := newWorld()
	w.put("Agent/a", 0, map[string]string{"team": "dev"})
	w.put("Agent/b", 0, nil)
	_, c := serveWorld(t, w, quick())
	if l, err := c.List(t.Context(), ListOptions{Kind: spec.KindAgent, Labels: "team=dev"}); err != nil || len(l) != 1 || l[0].Metadata.Name != "a" {
		t.Errorf("%+v, %v", l, err)
	}
	o, err := c.Workload(t.Context(), spec.Key{Kind: spec.KindAgent, Name: "b"})
	if d := cmp.Diff("b", o.Metadata.Name); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
	var f *Failure
	if _, err := c.Workload(t.Context(), spec.Key{Kind: spec.KindAgent, Name: "c"}); !errors.As(err, &f) || f.Code != 404 {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestWatchersShareTheirLooks: who watches beside others costs no further view.
func TestWatchersShareTheirLooks(t *testing.T) {
	w := newWorld()
	b := quick()
	b.look = 50 * time.Millisecond
	_, c := serveWorld(t, w, b)
	var all []*heard
	for range 5 {
		h := listen(t, c, WatchOptions{})
		h.want("BOOKMARK")
		all = append(all, h)
	}
	w.put("Agent/a", 0, nil)
	for _, h := range all {
		h.want("ADDED Agent/a 0")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.views != 2 {
		t.Errorf("%d views for five watchers and one change, want 2", w.views)
	}
}

// BenchmarkLook is a look at a thousand workloads of which one has changed.
func BenchmarkLook(b *testing.B) {
	w := newWorld()
	for i := range 1000 {
		w.put(fmt.Sprintf("Agent/w%d", i), 0, map[string]string{"team": "dev"})
	}
	s := newSnapshots(Services{Viewer: w, Changes: w}, bounds{})
	for n := 0; b.Loop(); n++ {
		w.put("Agent/w5", n, nil)
		if _, err := s.look(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
