package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// psRow is one process, as "ps -o json" shows it.
type psRow struct {
	observe.Ident
	Key        string          `json:"key"`
	Instance   spec.Instance   `json:"instance"`
	Owner      spec.Owner      `json:"owner"`
	OwnerAlive bool            `json:"ownerAlive"`
	Role       observe.Role    `json:"role"`
	Verdict    observe.Verdict `json:"verdict"`
	Evidence   []string        `json:"evidence"`

	// OwnerUID is the user that the owner's controller runs as.
	OwnerUID int `json:"ownerUid"`

	ownerKnown bool // whether the owner's controller lives could be told
}

// newPs is the verb that shows the process table as the controller sees it.
func newPs(std streams, at *placeFlags) *cobra.Command {
	var output string
	var all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "Show the processes that carry our markers",
		Long: `Show the processes on this machine that carry the markers of a controller, of
any directory, with what is known of each. No controller is needed. One that
runs is asked for what was left to it by its workloads and belongs to none of
them (-): without markers nobody else can tell.

VERDICT is Ours (all evidence agrees), CannotTell (never signalled) or, with
--all, NotOurs (looks alike and is not, or another user's). ALIVE says whether
the controller of the owner runs.`,
		Example: `  proc-controller ps
  proc-controller ps --all
  proc-controller ps -o json | jq '.[] | select(.ownerAlive | not).pid'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "output", output, "json"); err != nil {
				return err
			}
			return ps(cmd.Context(), std, at, all, output)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show look-alikes and other users' processes too")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: json (default a table)")
	completeWords(cmd, "output", "json")
	return cmd
}

func ps(ctx context.Context, std streams, at *placeFlags, all bool, output string) error {
	p, err := at.locate(thisHost())
	if _, misused := errors.AsType[*usageError](err); misused {
		return err
	}
	from := observe.Viewpoint{UID: os.Getuid()}
	if err == nil { // else a HOME is missing, which only the ledger needs
		from = p.viewpoint(ctx)
	}
	seen, err := observe.ScanAll(ctx, from)
	if err != nil {
		return err
	}
	rows := psRows(seen, all, from.UID)
	if from.Owner != "" {
		rows = withLeftovers(ctx, std, p, rows)
	}
	switch {
	case output == "json":
		err = writeJSON(std.out, rows)
	case len(rows) > 0:
		err = psTable(rows, from.UID).write(std.out)
	default:
		fmt.Fprintln(std.err, "No process carries the markers of a controller.")
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// psRows leaves out what is not ours, unless all is asked for, and asks once for
// each owner whether its controller lives.
func psRows(seen []observe.Seen, all bool, uid int) []psRow {
	type holder struct {
		uid   int
		owner spec.Owner
	}
	type life struct{ alive, known bool }
	lives := map[holder]life{}
	rows := []psRow{}
	for _, s := range seen {
		if !all && (s.Verdict == observe.NotOurs || s.OwnerUID != uid) {
			continue
		}
		h := holder{s.OwnerUID, s.Owner}
		if _, asked := lives[h]; !asked && s.Owner != "" {
			_, alive, known := observe.OwnerAlive(h.uid, h.owner)
			lives[h] = life{alive, known}
		}
		r := psRow{
			Ident: s.Ident, Instance: s.Instance, Owner: s.Owner, OwnerAlive: lives[h].alive,
			Role: s.Role, Verdict: s.Verdict, Evidence: append([]string{}, s.Evidence...),
			ownerKnown: lives[h].known, OwnerUID: s.OwnerUID,
		}
		if s.Key != (spec.Key{}) {
			r.Key = s.Key.String()
		}
		rows = append(rows, r)
	}
	return rows
}

// evidenceWidth is how much of the evidence a table shows; JSON has all of it.
const evidenceWidth = 72

func psTable(rows []psRow, uid int) *table {
	t := &table{}
	t.add("PID", "ROLE", "KEY", "INSTANCE", "OWNER", "ALIVE", "VERDICT", "EVIDENCE")
	for _, r := range rows {
		t.add(strconv.Itoa(r.PID), r.Role.String(), r.Key, string(r.Instance), ownerCell(r, uid), aliveCell(r),
			r.Verdict.String(), shortened(strings.Join(r.Evidence, "; "), evidenceWidth))
	}
	return t
}

// ownerCell names the user too, where the controller is another user's.
func ownerCell(r psRow, uid int) string {
	if r.Owner == "" || r.OwnerUID == uid {
		return string(r.Owner)
	}
	return fmt.Sprintf("%s (uid %d)", r.Owner, r.OwnerUID)
}

func aliveCell(r psRow) string {
	switch {
	case !r.ownerKnown:
		return "?"
	case r.OwnerAlive:
		return "yes"
	}
	return "no"
}
