package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proc-controller/proc-controller/controller/api"
)

// tokenFile is the token of the API in the state directory.
const tokenFile = "token"

// portFlags say on which port of the loopback something is served, and to whom.
type portFlags struct {
	listen, token string
}

func (f *portFlags) addTo(flags *pflag.FlagSet, what, token string) {
	flags.StringVar(&f.listen, "listen", "", what+": 127.0.0.1:PORT or [::1]:PORT; port 0 is any free one")
	flags.StringVar(&f.token, "token-file", "", "`FILE` with the token that --listen asks for "+token)
	// It fails only for a flag that does not exist.
	_ = cobra.MarkFlagFilename(flags, "token-file")
}

// check finds values that make no sense.
func (f *portFlags) check(cmd *cobra.Command) error {
	if f.listen == "" {
		if cmd.Flags().Changed("listen") {
			return misused(cmd, "bad value of --listen: it is empty")
		}
		if f.token != "" {
			return misused(cmd, "--token-file is of no use without --listen")
		}
		return nil
	}
	if err := api.CheckLoopback(f.listen); err != nil {
		return misused(cmd, "bad value of --listen: %v", err)
	}
	return nil
}

// openPort gives the port on which the API is served too, and its token; nil for
// none.
func (m *machine) openPort(f *portFlags, state string) (*api.Loopback, string, error) {
	if f.listen == "" {
		return nil, "", nil
	}
	file := f.token
	if file == "" {
		if state == "" {
			return nil, "", errors.New("cannot keep a token for --listen, because there is no state directory; use --token-file FILE")
		}
		file = filepath.Join(state, tokenFile)
	}
	token, err := api.Token(file)
	if err != nil {
		return nil, "", err
	}
	port, err := api.ListenLoopback(f.listen)
	if err != nil {
		return nil, "", err
	}
	m.log.Info("the API is on a port, too", "url", port.URL()+api.Root, "tokenFile", file)
	return port, token, nil
}
