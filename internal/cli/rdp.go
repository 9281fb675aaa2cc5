package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/reach"
)

func newRDP(a *app) *cobra.Command {
	var w way
	var port uint16
	var file string
	c := &cobra.Command{
		Use:   "rdp NODE|MACHINE",
		Short: "Open a tunnel to a Windows machine's Remote Desktop on a local port",
		Long: `Listen on a local port and carry each connection over the control plane endpoint to
port 3389 of a Windows machine, until interrupted. Give the printed address to a
Remote Desktop client, or write a file for one with --file. On the local plane the
machine is simulated: it negotiates, and has no desktop.`,
		Example: "  casement rdp demo-md-win-x7k2p\n  casement rdp demo-md-win-x7k2p --port 5555 --file node.rdp",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rdp(cmd.Context(), w, args[0], port, file)
		},
	}
	w.addFlags(c)
	c.Flags().Uint16Var(&port, "port", 0, "local port (default any that is free)")
	c.Flags().StringVar(&file, "file", "", "write a Remote Desktop file for the tunnel")
	return c
}

func (a *app) rdp(ctx context.Context, w way, name string, port uint16, file string) error {
	r, err := a.route(ctx, w, name)
	if err != nil {
		return err
	}
	if !r.Windows {
		return fmt.Errorf("machine %s runs Linux and has no Remote Desktop; log in with: casement ssh %s", r.Machine, name)
	}
	e, err := a.enter(ctx, w, r)
	if err != nil {
		return err
	}
	defer e.Close()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("listen for the tunnel: %w; choose another with --port", err)
	}
	defer l.Close()
	if file != "" {
		if err := os.WriteFile(file, reach.RDPFile(l.Addr().String(), w.user), 0o600); err != nil {
			return fmt.Errorf("write the Remote Desktop file: %w", err)
		}
	}
	fmt.Fprintf(a.Out, "%s leads to Remote Desktop of %s (%s:%s); end with Ctrl-C\n", l.Addr(), r.Machine, r.Address, reach.RDPPort)
	return e.Tunnel(ctx, l, reach.RDPPort, a.Err)
}
