package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/spec"
)

type stubborn struct{ err error }

func (s stubborn) Failure() error { return s.err }

func TestNoticesOfTheSurroundings(t *testing.T) {
	full := stubborn{errors.New("no space left on device")}
	tests := map[string]struct {
		s    surroundings
		want []string
	}{
		"all is well":        {surroundings{journals: []written{stubborn{}, stubborn{}}}, nil},
		"full disk":          {surroundings{state: "/s", journals: []written{stubborn{}, full, full}}, []string{"/s no space left"}},
		"no state directory": {surroundings{lost: "cannot make it"}, []string{"cannot make it"}},
		"no linger": {surroundings{lingers: func() (spec.Finding, bool) {
			return session{uid: 7, name: "ann", runtime: "/run/user/7", exists: func(p string) bool { return p == "/run/systemd/users/7" }}.endsWithLogout(scope.Auto)
		}}, []string{"loginctl enable-linger ann"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.s.notices()
			if len(got) != len(tt.want) {
				t.Fatalf("notices: %+v, want %d", got, len(tt.want))
			}
			for i, want := range tt.want {
				for word := range strings.FieldsSeq(want) {
					if !strings.Contains(got[i].File+" "+got[i].Message, word) || got[i].Reason == "" {
						t.Errorf("%+v does not name %q", got[i], word)
					}
				}
			}
		})
	}
}

func TestEndsWithLogout(t *testing.T) {
	const user, linger = "/run/systemd/users/7", "/var/lib/systemd/linger/ann"
	for name, tt := range map[string]struct {
		runtime string
		mode    scope.Mode
		there   string
		want    bool
	}{
		"logged in":                  {"/run/user/7", scope.Auto, user, true},
		"systemd was asked for":      {"/run/user/7/", scope.Systemd, user, true},
		"lingers":                    {"/run/user/7", scope.Auto, user + " " + linger, false},
		"no scopes of the manager":   {"/run/user/7", scope.Cgroup, user, false},
		"no scopes at all":           {"/run/user/7", scope.Off, user, false},
		"no user manager":            {"", scope.Auto, user, false},
		"a manager of one's own":     {"/tmp/x", scope.Auto, user, false},
		"another user's":             {"/run/user/8", scope.Auto, user, false},
		"logind knows of no session": {"/run/user/7", scope.Auto, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := session{uid: 7, name: "ann", runtime: tt.runtime, exists: func(p string) bool {
				return strings.Contains(" "+tt.there+" ", " "+p+" ")
			}}
			if _, got := s.endsWithLogout(tt.mode); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
