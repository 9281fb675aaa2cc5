package machine

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/sshroute"
)

func NewCp(a *app.App) *cobra.Command {
	var w Way
	var recursive bool
	c := &cobra.Command{
		Use:   "cp FROM TO",
		Short: "Copy files to or from a machine, over the control plane endpoint",
		Long: `Copy a file, or with --recursive a directory, to or from a machine over SFTP, by the
way that casement ssh goes. One of FROM and TO is NODE:PATH or MACHINE:PATH, with a
path as the machine has it (C:\k\config, /etc/hosts) or relative to the user's home.
A directory is copied into a directory that is there.`,
		Example: "  casement cp demo-md-win-x7k2p:C:/k/config .\n" +
			"  casement cp --recursive demo-md-win-x7k2p:C:/var/log/kubelet logs\n" +
			"  casement cp hns.psm1 demo-md-win-x7k2p:C:/k/debug/hns.psm1",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, there := onMachine(args[0])
			to, toThere := onMachine(args[1])
			switch {
			case there == toThere && there:
				return app.Usagef("both are on a machine: copy to this one first")
			case there == toThere:
				return app.Usagef("neither is on a machine: write NODE:PATH")
			case there:
				return copy(cmd.Context(), a, w, from.machine, recursive,
					func(c *sshroute.Copier) (sshroute.Copied, error) { return c.Get(from.path, to.path) })
			}
			return copy(cmd.Context(), a, w, to.machine, recursive,
				func(c *sshroute.Copier) (sshroute.Copied, error) { return c.Put(from.path, to.path) })
		},
	}
	w.addFlags(c)
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy directories")
	return c
}

// place is a path on a machine; an empty machine means this computer.
type place struct{ machine, path string }

// onMachine splits NODE:PATH. An argument with a slash before its colon is a local path, and so is a path with a drive
// letter on Windows.
func onMachine(arg string) (place, bool) {
	name, file, ok := strings.Cut(arg, ":")
	if !ok || name == "" || strings.ContainsAny(name, `/\`) || (runtime.GOOS == "windows" && len(name) == 1) {
		return place{path: arg}, false
	}
	if file == "" {
		file = "."
	}
	return place{name, file}, true
}

// copy connects to a machine and runs move, which copies files to or from it.
func copy(ctx context.Context, a *app.App, w Way, name string, recursive bool, move func(*sshroute.Copier) (sshroute.Copied, error)) error {
	r, err := route(ctx, a, w, name)
	if err != nil {
		return err
	}
	c, leave, err := login(ctx, a, w, r)
	if err != nil {
		return err
	}
	defer leave()
	copier, err := sshroute.NewCopier(ctx, c, recursive)
	if err != nil {
		return err
	}
	defer copier.Close()
	copied, err := move(copier)
	if err != nil {
		return fmt.Errorf("copied %d files of machine %s, then: %w", copied.Files, r.Machine, err)
	}
	fmt.Fprintf(a.Err, "copied %d files, %d bytes\n", copied.Files, copied.Bytes)
	return nil
}
