package door

import (
	"io"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// outlet is what the client reads. A client that reads slowly holds up who writes,
// so that nothing piles up here.
type outlet struct {
	gone func() // called when nobody reads

	mu     sync.Mutex
	w      io.Writer
	buf    []byte
	broken bool
}

// keepBuffer bounds what is kept for the next message, in bytes.
const keepBuffer = 64 << 10

func newOutlet(w io.Writer, gone func()) *outlet { return &outlet{w: w, gone: gone} }

// write writes one message as one line.
func (o *outlet) write(m rpc.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken {
		return
	}
	o.buf = append(m.Append(o.buf[:0]), '\n')
	_, err := o.w.Write(o.buf)
	if cap(o.buf) > keepBuffer {
		o.buf = nil
	}
	if err != nil {
		o.broken = true
		o.gone()
	}
}
