package probe

import (
	"errors"
	"io"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

var (
	// errStreamTooLong ends a stream that does not end.
	errStreamTooLong = errors.New("the event stream does not end")
	// errCutOff is io.ErrUnexpectedEOF, by which an rpc.EventReader would only know
	// that the stream is over.
	errCutOff = errors.New("the connection was closed before the answer was complete")
)

// newEventReader reads an event stream, of which it takes at most limit bytes in
// all, so that one which never ends does.
func newEventReader(r io.Reader, limit int) *rpc.EventReader {
	return rpc.NewEventReader(&bounded{r: r, left: limit}, limit)
}

// bounded fails with errStreamTooLong where more is wanted than is left.
type bounded struct {
	r    io.Reader
	left int // bytes
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errStreamTooLong
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCutOff
	}
	return n, err
}
