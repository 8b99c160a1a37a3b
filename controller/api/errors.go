package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/proc-controller/proc-controller/spec"
)

// ErrNotRunning says that no controller answers on the socket.
var ErrNotRunning = errors.New("no controller answers")

// ErrInUse says that another controller already answers on the socket.
var ErrInUse = errors.New("another controller answers on it")

// ErrEnded says that a stream has come to its end, because the controller ends or
// is replaced. Whoever wants to go on asks again.
var ErrEnded = errors.New("the controller has ended the stream: it is stopping or being replaced")

// ErrFellBehind says that who follows events has read so slowly that those to come
// next are not in memory any more.
var ErrFellBehind = errors.New("the reader fell behind; ask again for what is kept")

// Failure is an error on the wire, shaped as a Kubernetes Status so that tools
// which know one can read it.
type Failure struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Status     string   `json:"status"`
	Message    string   `json:"message"`
	Reason     string   `json:"reason"`
	Details    *Details `json:"details,omitempty"`
	Code       int      `json:"code"`
}

// Details says which object a Failure is about.
type Details struct {
	Name  string `json:"name,omitempty"`
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind,omitempty"`
}

// Error makes a Failure the error that the client returns.
func (f *Failure) Error() string { return f.Message }

// The reasons of a Failure, by HTTP status code.
var failureReasons = map[int]string{
	http.StatusBadRequest:         "BadRequest",
	http.StatusUnauthorized:       "Unauthorized",
	http.StatusForbidden:          "Forbidden",
	http.StatusNotFound:           "NotFound",
	http.StatusMethodNotAllowed:   "MethodNotAllowed",
	http.StatusTooManyRequests:    "TooManyRequests",
	http.StatusServiceUnavailable: "ServiceUnavailable",
}

// failure makes a Failure for an HTTP status code.
func failure(code int, format string, args ...any) *Failure {
	return &Failure{
		Kind:       "Status",
		APIVersion: "v1",
		Status:     "Failure",
		Message:    fmt.Sprintf(format, args...),
		Reason:     failureReasons[code],
		Code:       code,
	}
}

// noSuch is the failure of a question about a workload that is not there.
func noSuch(key spec.Key) *Failure {
	f := failure(http.StatusNotFound, "no %s named %s", key.Kind, key.Name)
	f.Details = &Details{Name: key.Name, Group: spec.Group, Kind: string(key.Kind)}
	return f
}
