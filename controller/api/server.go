package api

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
)

const (
	// maxConns is how many connections are served at once; more wait in the
	// kernel's queue. Each lasts for one request.
	maxConns = 32
	// headerTimeout and answerTimeout bound a peer that stalls.
	headerTimeout = 5 * time.Second
	answerTimeout = 20 * time.Second
	// checkEvery is how often the socket's file is looked for.
	checkEvery = 10 * time.Second
	// closeTimeout is how long answers under way may take at the end.
	closeTimeout = 2 * time.Second
)

// Options are what a Server needs.
type Options struct {
	// Path is the socket's. Its directory is made where it is missing.
	Path string
	Services
	// Log tells when the socket's file had to be made again. The zero Logger
	// tells nothing.
	Log logr.Logger
	// CheckEvery is how often the socket's file is looked for; zero is 10 s.
	CheckEvery time.Duration

	streams bounds // of the streams; zero is standardBounds
}

// Server answers on a unix socket.
type Server struct {
	opts Options
	http *http.Server
	sock *socket // the one that is served now; owned by Run once it runs
	// ending is done when the streams are to end.
	ending context.Context
	end    func()
}

// Listen makes the socket. Connections wait until Run. It fails with ErrInUse
// where another controller answers on the path.
func Listen(o Options) (*Server, error) {
	if o.CheckEvery == 0 {
		o.CheckEvery = checkEvery
	}
	sock, err := listenUnix(o.Path)
	if err != nil {
		return nil, err
	}
	if o.streams == (bounds{}) {
		o.streams = standardBounds()
	}
	s := &Server{opts: o, sock: sock}
	s.ending, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           refusePeers(newHandler(o.Services, o.streams)),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      answerTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(logWriter{o.Log}, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, &connection{
				refused: checkPeer(c, os.Getuid()), slot: slotOf(c), ending: s.ending,
			})
		},
	}
	// One request for each connection: an idle client then costs nothing.
	s.http.SetKeepAlivesEnabled(false)
	return s, nil
}

// Run answers until ctx is done, then lets answers under way end and removes
// the socket's file. It is called once.
func (s *Server) Run(ctx context.Context) {
	slots := make(chan struct{}, maxConns)
	s.serve(slots)
	tick := time.NewTicker(s.opts.CheckEvery)
	defer tick.Stop()
	missing := false
	for {
		select {
		case <-ctx.Done():
			s.close()
			return
		case <-tick.C:
			if s.sock.intact() {
				missing = false
				continue
			}
			err := s.renew(slots)
			if err != nil && !missing { // once, not every ten seconds
				s.opts.Log.Error(err, "api socket is gone and cannot be made again", "socket", s.opts.Path)
			}
			missing = err != nil
		}
	}
}

// renew listens afresh on the same path, because a cleaner took the file.
// Whoever is connected stays so.
func (s *Server) renew(slots chan struct{}) error {
	sock, err := listenUnix(s.opts.Path)
	if err != nil {
		return err
	}
	_ = s.sock.Close() // nobody can reach it any more
	s.sock = sock
	s.serve(slots)
	s.opts.Log.Info("api socket was gone; made it again", "socket", s.opts.Path)
	return nil
}

// serve accepts on the present socket until that is closed.
func (s *Server) serve(slots chan struct{}) {
	l := &limitListener{Listener: s.sock, slots: slots, closed: make(chan struct{})}
	go s.http.Serve(l) // ends with the listener, on purpose
}

func (s *Server) close() {
	_ = s.sock.Close() // a stale file is cleared by the next start
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // what is left is cut off
	}
}

// refusePeers answers other users with a reason instead of silence.
func refusePeers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := connectionOf(r.Context()).refused; err != nil {
			writeFailure(w, failure(http.StatusForbidden, "not answered: %v", err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// logWriter hands the lines of net/http (a panic in a handler, say) to a Logger.
type logWriter struct{ log logr.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Error(fmt.Errorf("%s", p), "api request failed")
	return len(p), nil
}
