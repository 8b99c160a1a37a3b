package lock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// HeldError says that somebody else has the lock.
type HeldError struct {
	Owner spec.Owner
	// PID is the holder, 0 where it cannot be told. That of a guard is the
	// controller which it outlived.
	PID int
	// What is the thing that is held: "this directory", or the path of a state
	// directory that another owner uses.
	What string
	// Guard is what the guard of a controller that died says it is doing. It is
	// empty where the holder is a controller. Only then can it be waited for.
	Guard string

	conn net.Conn // to the guard, which closes it when it ends
}

func (e *HeldError) Error() string {
	switch {
	case e.Guard != "":
		return fmt.Sprintf("the guard for %s is still at work: %s", e.What, e.Guard)
	case e.PID == 0:
		return "another controller runs for " + e.What
	}
	return fmt.Sprintf("another controller (pid %d) runs for %s", e.PID, e.What)
}

// A holder that has not answered after hearWithin is a controller that is busy
// or stopped. maxAnswer bounds what is read of an answer.
const (
	hearWithin = 2 * time.Second
	maxAnswer  = 512
)

// hear takes the answer of a guard, or sees that there is none: a controller
// closes the connection without a word.
func (e *HeldError) hear(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(hearWithin))
	line, err := bufio.NewReader(io.LimitReader(conn, maxAnswer)).ReadString('\n')
	if err != nil {
		conn.Close()
		return
	}
	e.Guard, e.conn = strings.TrimSpace(line), conn
}

// Wait waits until the guard has ended, and with it the reason for the error.
// The error is that of ctx, if that ends first. It is called once.
func (e *HeldError) Wait(ctx context.Context) error {
	if e.conn == nil {
		return e
	}
	defer e.conn.Close()
	_ = e.conn.SetReadDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { e.conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, e.conn)
	return ctx.Err()
}
