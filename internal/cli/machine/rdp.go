package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/sshroute"
)

// desktop contains rdp's flags for the remote desktop session.
type desktop struct {
	port uint16
	file string
	open bool
	// account is the user who logs in to the desktop; reset requests a new password for the account.
	account string
	reset   bool
}

func NewRDP(a *app.App) *cobra.Command {
	var w Way
	var d desktop
	c := &cobra.Command{
		Use:   "rdp NODE|MACHINE",
		Short: "Open a tunnel to a Windows machine's Remote Desktop",
		Long: `Listen on a local port and carry each connection over the control plane endpoint to
port 3389 of a Windows machine, until interrupted. The address is printed and is
in a Remote Desktop file; --open starts an installed client with it and ends with it.
The password that cloudbase-init gave the administrator is not known: --reset-password
sets a new one through Azure's VMAccess extension and shows it, once; it is stored
nowhere. An account that is not there is made, as an administrator.
On the local plane the machine is simulated: it shows one picture that says so, to any
account and password.`,
		Example: "  casement rdp demo-md-win-x7k2p\n" +
			"  casement rdp demo-md-win-x7k2p --port 5555 --file node.rdp\n" +
			"  casement rdp demo-md-win-x7k2p --reset-password --open",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return rdp(cmd.Context(), a, w, args[0], d)
		},
	}
	w.addFlags(c)
	c.Flags().Uint16Var(&d.port, "port", 0, "local port (default any that is free)")
	c.Flags().StringVar(&d.file, "file", "", "where to write the Remote Desktop file (default with the remembered host keys)")
	c.Flags().StringVar(&d.account, "account", sshroute.User, "Windows account for the desktop; --user is who goes through SSH")
	c.Flags().BoolVar(&d.reset, "reset-password", false, "give the account a new password and show it")
	c.Flags().BoolVar(&d.open, "open", false, "start an installed Remote Desktop client")
	return c
}

func rdp(ctx context.Context, a *app.App, w Way, name string, d desktop) error {
	r, err := route(ctx, a, w, name)
	if err != nil {
		return err
	}
	if !r.Windows {
		return fmt.Errorf("machine %s runs Linux and has no Remote Desktop; log in with: casement ssh %s", r.Machine, name)
	}
	e, err := Connect(ctx, a, w, r)
	if err != nil {
		return err
	}
	defer e.Close()
	if d.reset {
		if err := resetPassword(ctx, a, w.Target, r, d.account); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(d.port))))
	if err != nil {
		return fmt.Errorf("listen for the tunnel: %w; choose another with --port", err)
	}
	defer l.Close()
	address, file := l.Addr().String(), d.file
	if file == "" {
		dir, err := accessDir(a, w.Target)
		if err != nil {
			return err
		}
		file = filepath.Join(dir, "rdp", r.Name()+".rdp")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("write the Remote Desktop file: %w", err)
		}
	}
	if err := os.WriteFile(file, sshroute.RDPFile(address, d.account), 0o600); err != nil {
		return fmt.Errorf("write the Remote Desktop file: %w", err)
	}
	fmt.Fprintf(a.Out, "%s leads to Remote Desktop of %s (%s:%s)\nRemote Desktop file: %s\nEnd with Ctrl-C.\n",
		address, r.Machine, r.Address, sshroute.RDPPort, file)
	if a.AsksPlane(w.Kubeconfig) {
		fmt.Fprintln(a.Out, "The machine is simulated: it has no desktop, and shows a picture that says so.")
	}
	if !d.open {
		return e.Tunnel(ctx, l, sshroute.RDPPort, a.Err)
	}
	argv, err := sshroute.Desktop(exec.LookPath, address, d.account, file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	viewer := exec.CommandContext(ctx, argv[0], argv[1:]...)
	viewer.Stdin, viewer.Stdout, viewer.Stderr = a.Raw.In, a.Raw.Err, a.Raw.Err
	if err := viewer.Start(); err != nil {
		return fmt.Errorf("start the Remote Desktop client: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- viewer.Wait(); cancel() }()
	err = e.Tunnel(ctx, l, sshroute.RDPPort, a.Err)
	cancel()
	return errors.Join(err, <-ended)
}

// resetPassword sets a new password of an account and prints it; the password is stored nowhere else.
func resetPassword(ctx context.Context, a *app.App, t app.Target, r sshroute.Route, account string) error {
	vm, err := vm(ctx, a, t, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "setting the password of %s through VMAccess, which takes Azure a minute or two\n", account)
	password, err := vm.ResetPassword(ctx, account)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "New password of %s, shown this once: %s\n", account, password)
	return nil
}
