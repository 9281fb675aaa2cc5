// Package azure has the commands of the local Azure, and the selection of the Azure that a command queries (Account).
//
// It only calls internal/plane, azuresim and internal/azure, which do the work. Only internal/cli may import it.
package azure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

func New(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "azure",
		Short: "The local Azure: serve it, point clients at it, let it fail",
		Long: `The local Azure is an emulator of Azure Resource Manager whose virtual machines
boot as simulated guests. 'casement up' runs it with everything else; 'casement
azure serve' runs it alone. The other commands talk to whichever runs, except for
permissions, which says what casement needs of the real one, record, which records
what passes between a client and the real one, and expand, which prints what a template
becomes.`,
		Example: `  casement azure serve --state ~/azure
  eval "$(casement azure env --for az --state ~/azure)" && az vm list
  casement azure log -f`,
	}
	c.AddCommand(newAzureServe(a), newAzureEnv(a), newAzureLog(a), newAzureResources(a), newAzureFaults(a), newAzureDomain(a),
		newAzureReset(a), newAzureSnapshot(a), newAzureRestore(a), newAzurePermissions(a), newAzurePrepare(a),
		newAzureRecord(a), newAzureExpand(a))
	return c
}

// stateFlag returns the --state flag that a suggested command needs to find the same state directory.
func stateFlag(a *app.App) string {
	if dir, err := plane.DefaultDir(); err == nil && dir == a.Dir {
		return ""
	}
	return " --state " + shellQuote(string(a.Dir))
}

func newAzureReset(a *app.App) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Delete everything in the local Azure at once, guests included",
		Long: "Delete everything in the local Azure at once, guests included. It asks first, unless\n" +
			"--yes is given; without a terminal to ask at, it needs --yes.",
		Example: "  casement azure reset\n  casement azure reset --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !confirmed(a, "Delete every resource of the local Azure and end its virtual machines?") {
				return app.Usagef("nothing was deleted; confirm it with --yes")
			}
			if err := plane.NewClient(a.Dir).ResetAzure(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, "The local Azure is empty.")
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// confirmed asks a yes-or-no question at the terminal. It returns true only for the answer y or yes; without a terminal
// it returns false.
func confirmed(a *app.App, question string) bool {
	in, ok := a.Raw.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // an answer that cannot be read means no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func newAzureSnapshot(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Write the state of the local Azure to a file",
		Long: `Write all resources and operations of the local Azure to a file, - for standard
output. The file holds passwords and custom data. The disks of guests are not in it.`,
		Example: "  casement azure snapshot before.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			client := plane.NewClient(a.Dir)
			if args[0] == "-" {
				return client.SnapshotAzure(cmd.Context(), a.Data())
			}
			f, err := os.CreateTemp(filepath.Dir(args[0]), ".snapshot-*")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, removeIfThere(f.Name())) }()
			if err := errors.Join(client.SnapshotAzure(cmd.Context(), f), f.Close()); err != nil {
				return err
			}
			if err := os.Rename(f.Name(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "The state of the local Azure is in %s. It holds passwords and custom data.\n", args[0])
			return nil
		},
	}
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// maxSnapshot is the maximum size of a snapshot in bytes; a snapshot of a thousand VMs has about 50 MiB.
const maxSnapshot = 512 << 20

func newAzureRestore(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the state of the local Azure by a snapshot",
		Long: `Replace everything in the local Azure by what a snapshot holds (- for standard
input). VMs that ran boot again from their custom data.`,
		Example: "  casement azure restore before.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := readInput(args[0], a.In, maxSnapshot)
			if err != nil {
				return err
			}
			if err := plane.NewClient(a.Dir).RestoreAzure(cmd.Context(), bytes.NewReader(in)); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, "The local Azure is as the snapshot has it; the VMs that ran boot again.")
			return nil
		},
	}
}
