package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// leftoversWait is how long a controller may take to name them.
const leftoversWait = 2 * time.Second

// withLeftovers adds what was left to the controllers of this user that run and
// belongs to no workload of theirs. It carries no marker: only the parent can
// tell it from what it has started itself.
func withLeftovers(ctx context.Context, std streams, p place, rows []psRow) []psRow {
	for _, owner := range livingOwners(p, rows) {
		left, err := p.of(owner).leftovers(ctx)
		switch {
		case err == nil:
			rows = appendLeftovers(rows, p.uid, owner, left)
		case owner == p.owner || !errors.Is(err, api.ErrNotRunning): // else it has a socket that only its flags name
			fmt.Fprintf(std.err, "note: what belongs to no workload of owner %s is not shown: %v\n", owner, err)
		}
	}
	slices.SortFunc(rows, func(a, b psRow) int { return cmp.Compare(a.PID, b.PID) })
	return rows
}

// livingOwners are those of this user whose controllers run: the one of the
// flags, and those of the rows.
func livingOwners(p place, rows []psRow) (owners []spec.Owner) {
	if _, alive, _ := observe.OwnerAlive(p.uid, p.owner); alive {
		owners = append(owners, p.owner)
	}
	for _, r := range rows {
		if r.OwnerAlive && r.OwnerUID == p.uid && !slices.Contains(owners, r.Owner) {
			owners = append(owners, r.Owner)
		}
	}
	return owners
}

func (p place) leftovers(ctx context.Context) ([]api.Process, error) {
	socket, err := p.socket()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, leftoversWait)
	defer cancel()
	info, err := api.NewClient(socket).Controller(ctx)
	if err == nil && info.Owner != p.owner {
		return nil, fmt.Errorf("the controller on %s is that of owner %s", socket, info.Owner)
	}
	return info.Unattributed, err
}

// appendLeftovers leaves out what the scan has told of already.
func appendLeftovers(rows []psRow, uid int, owner spec.Owner, left []api.Process) []psRow {
	for _, l := range left {
		if slices.ContainsFunc(rows, func(r psRow) bool { return r.Ident == l.Ident }) {
			continue
		}
		r := psRow{Ident: l.Ident, Owner: owner, OwnerUID: uid, OwnerAlive: true, ownerKnown: true, Evidence: l.Evidence}
		if l.Verdict == observe.Ours.String() {
			r.Verdict = observe.Ours
		}
		rows = append(rows, r)
	}
	return rows
}
