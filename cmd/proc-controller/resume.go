package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/store"
)

// resumed is what is undone for one workload.
type resumed struct {
	key  spec.Key
	file string // whose manifest no longer suspends it; empty for none
	live bool   // what the controller was told is taken back
}

// resume undoes whatever suspends the workloads. What is to be written is written
// first: then the controller has nothing to object to.
func (s *switching) resume(ctx context.Context) (keys []spec.Key, lines []string, err error) {
	var all []resumed
	change := store.Change
	if s.runtime {
		change = store.Try
	}
	err = change(ctx, s.place.manifests, func(c *store.Content) (err error) {
		all, err = s.resumeManifests(c)
		return err
	})
	if err != nil && s.runtime && s.lost == nil && !errors.Is(err, errSaid) && isDirError(err) {
		all, err = s.resumeManifests(store.None(s.place.manifests)) // the controller may know them all the same
	}
	if err != nil {
		return nil, nil, err
	}
	running := byKey(s.running)
	for i := range all {
		r := &all[i]
		if o := running[r.key]; o != nil && !o.Status.SuspendedAt.IsZero() {
			if err := s.tellResume(ctx, r.key); err != nil {
				return keys, lines, err
			}
			r.live = true
		}
		keys, lines = append(keys, r.key), append(lines, shortName(r.key)+" "+r.text())
	}
	return keys, lines, nil
}

func isDirError(err error) bool {
	var dir *store.DirError
	return errors.As(err, &dir)
}

// text says what was undone.
func (r *resumed) text() string {
	switch {
	case r.file != "" && r.live:
		return "resumed in " + oneLine(r.file) + " and at runtime"
	case r.file != "":
		return "resumed in " + oneLine(r.file)
	case r.live:
		return "resumed at runtime"
	}
	return "unchanged: not suspended"
}

// resumeManifests lets the manifests suspend nothing any more. Where they are not
// to be written, it is an error that one does.
func (s *switching) resumeManifests(c *store.Content) (all []resumed, err error) {
	known := manifests(c)
	for i := range s.running {
		if !c.Has(s.running[i].Key()) {
			known = append(known, s.running[i])
		}
	}
	found, err := s.pick(known, "")
	if err != nil {
		return nil, err
	}
	for _, k := range keysOf(found) {
		r := resumed{key: k}
		_, d, err := c.Where(k)
		if err != nil {
			return nil, err
		}
		if d != nil && d.Object != nil && d.Object.Spec.Suspend {
			if s.runtime {
				return nil, s.suspendedBy(k, d.File, d.Line)
			}
			f, _, err := c.Reset(k, suspendField, false)
			if err != nil {
				return nil, err
			}
			r.file = f.Path
		}
		all = append(all, r)
	}
	return all, nil
}

// suspendedBy is the error where a manifest suspends a workload and is not to be
// written.
func (s *switching) suspendedBy(k spec.Key, file string, line int) error {
	err := fmt.Errorf("cannot resume %s at runtime: its manifest suspends it (%s:%d)", shortName(k), file, line)
	if s.why != "" {
		return fmt.Errorf("%w, and is left alone since %s; remove spec.suspend there, or use --runtime=false", err, s.why)
	}
	return fmt.Errorf("%w; use --runtime=false", err)
}

// refusedBecause says that the controller refused something for that reason.
func refusedBecause(err error, code int) bool {
	var f *api.Failure
	return errors.As(err, &f) && f.Code == code
}

// tellResume takes a suspension at runtime back. Where the manifest suspends the
// workload, too, the controller says so, and that is dealt with beside it.
func (s *switching) tellResume(ctx context.Context, k spec.Key) error {
	err := s.client.SetSuspended(ctx, k, false)
	if err == nil || refusedBecause(err, http.StatusConflict) {
		return nil
	}
	return fmt.Errorf("cannot resume %s: %w", shortName(k), err)
}
