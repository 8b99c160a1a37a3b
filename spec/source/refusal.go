package source

import (
	"errors"
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// Sentinels that this package acts on itself.
var (
	errNoLease  = errors.New("the file system or system has no read leases for this file")
	errBusy     = errors.New("somebody still writes it")
	errTooLarge = errors.New("too large")
	errLinkLoop = errors.New("too many levels of symbolic links")
	errNotFile  = errors.New("not a regular file")
)

// refusal is why a place was not read, in a form that can be shown.
type refusal struct {
	reason  spec.Reason
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(reason spec.Reason, format string, args ...any) *refusal {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// asRefusal gives an error the form of a refusal; what is not one yet is
// unreadable.
func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return refuse(spec.ReasonUnreadable, "cannot read: %v", err)
}
