package cli

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"casement.dev/casement/internal/reach"
)

// way is how the user wants to get to a machine, by the flags of ssh and rdp.
type way struct {
	target
	user, identity, jump string
}

func (w *way) addFlags(c *cobra.Command) {
	w.target.addFlags(c)
	c.Flags().StringVarP(&w.user, "user", "l", reach.User, "user to log in as")
	c.Flags().StringVarP(&w.identity, "identity", "i", "", "private key file (default the local plane's key, and the SSH agent's)")
	c.Flags().StringVar(&w.jump, "jump", "", "HOST[:PORT] of the way in (default the control plane endpoint, port 22)")
}

func (a *app) route(ctx context.Context, w way, name string) (reach.Route, error) {
	c, err := a.client(w.target)
	if err != nil {
		return reach.Route{}, err
	}
	return reach.Find(ctx, c, w.namespace, name, w.jump)
}

func (a *app) enter(ctx context.Context, w way, r reach.Route) (*reach.Entrance, error) {
	return reach.Enter(ctx, r, reach.Access{
		User:       w.user,
		Keys:       reach.Keys{Identity: w.identity, PlaneKey: a.dir.SSHKey(), AgentSocket: os.Getenv("SSH_AUTH_SOCK")},
		KnownHosts: r.KnownHosts(string(a.dir)), Notes: a.Err,
	})
}

func newSSH(a *app) *cobra.Command {
	var w way
	c := &cobra.Command{
		Use:   "ssh NODE|MACHINE [-- COMMAND...]",
		Short: "Open a shell on a machine, or run a command there, over the control plane endpoint",
		Long: `Log in to a machine by SSH: to the control plane endpoint's port 22, and from there
to the machine's private address. NODE|MACHINE is the name of a Machine, of its node,
or of its AzureMachine. Host keys are remembered per cluster, below the state
directory; a changed one is refused. The exit code is the command's. On the local
plane the machine is simulated, and so is what answers.`,
		Example: "  casement ssh demo-md-win-x7k2p\n  casement ssh demo-md-win-x7k2p -- hostname\n  casement ssh demo-md-win-x7k2p --identity ~/.ssh/id_ed25519 -- powershell Get-Service kubelet",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return usagef("the command follows a --: casement ssh %s -- %s", args[0], strings.Join(args[1:], " "))
			}
			return a.ssh(cmd.Context(), w, args[0], strings.Join(args[1:], " "))
		},
	}
	w.addFlags(c)
	return c
}

// ssh runs command on the machine called name, or a shell.
func (a *app) ssh(ctx context.Context, w way, name, command string) error {
	r, err := a.route(ctx, w, name)
	if err != nil {
		return err
	}
	e, err := a.enter(ctx, w, r)
	if err != nil {
		return err
	}
	defer e.Close()
	c, err := e.SSH(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var terminal *reach.Terminal
	if command == "" {
		var restore func()
		if terminal, restore, err = a.rawTerminal(); err != nil {
			return err
		}
		defer restore()
	}
	code, err := reach.Run(ctx, c, command, terminal, a.In, a.Out, a.Err)
	if err == nil && code != 0 {
		return exitError{code}
	}
	return err
}

// rawTerminal hands the user's terminal to the far shell; nil where there is none.
func (a *app) rawTerminal() (*reach.Terminal, func(), error) {
	f, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || !a.Terminal() {
		return nil, func() {}, nil
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return nil, nil, err
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, nil, err
	}
	restore := func() { _ = term.Restore(int(f.Fd()), before) } // the terminal may be gone
	return &reach.Terminal{Kind: cmp.Or(os.Getenv("TERM"), "xterm"), Width: width, Height: height}, restore, nil
}
