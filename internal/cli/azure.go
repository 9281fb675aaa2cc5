package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/plane"
)

func newAzure(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "azure",
		Short: "The local Azure: serve it alone, point clients at it, read its log, let it fail",
		Long: `The local Azure is an emulator of Azure Resource Manager whose virtual machines
boot as simulated guests. 'casement up' runs it with everything else; 'casement
azure serve' runs it alone. The other commands talk to whichever runs, except for
permissions, which says what casement needs of the real one, and record, which records
what passes between a client and the real one.`,
		Example: `  casement azure serve --state /tmp/az
  eval "$(casement azure env --for az --state /tmp/az)" && az vm list
  casement azure log -f`,
	}
	c.AddCommand(newAzureServe(a), newAzureEnv(a), newAzureLog(a), newAzureResources(a), newAzureFaults(a), newAzureReset(a), newAzureSnapshot(a), newAzureRestore(a), newAzurePermissions(a), newAzurePrepare(a), newAzureRecord(a))
	return c
}

func newAzureServe(a *app) *cobra.Command {
	var listen, faults, logFile string
	var public azurePublic
	pace, limit := latency("instant"), throttle("off")
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the local Azure alone, in the foreground",
		Long: `Run the local Azure without Kubernetes until it is interrupted: HTTPS with a CA of
its own, state below --state, and virtual machines that boot. Whoever has the secret
of its application, a file in the state directory that 'casement azure env' reads, may
do anything in it; it listens on 127.0.0.1 unless told otherwise.

With --proxy it also answers for the names that clients have built in:
management.azure.com, login.microsoftonline.com, those of the other clouds, key
vaults, and managed identities at 169.254.169.254. The proxy refuses all else, so
that nothing leaves this machine. It asks for a name and a password, which the address
that 'casement azure env --for proxy' prints has.`,
		Example: `  casement azure serve
  casement azure serve --state /tmp/az --latency azure
  casement azure serve --faults faults.yaml --listen 127.0.0.1:8443
  casement azure serve --proxy 127.0.0.1:8080 --clients clients.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			factor, err := pace.factor()
			if err != nil {
				return err
			}
			limits, err := limit.factor()
			if err != nil {
				return err
			}
			opts := plane.Options{Dir: a.dir, AzureOnly: true, Listen: listen, Latency: factor, Throttle: limits, OnStatus: a.azureReady()}
			if opts.Faults, err = readFaults(faults); err != nil {
				return err
			}
			if err := public.apply(&opts); err != nil {
				return err
			}
			if opts.Log = a.Err; logFile != "-" {
				log, err := a.openLog(logFile)
				if err != nil {
					return err
				}
				defer log.Close()
				opts.Log = log
			}
			return plane.Run(cmd.Context(), opts)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on (default the port of the last run, or a free one, of 127.0.0.1)")
	c.Flags().StringVar((*string)(&pace), "latency", string(pace), "pace of operations: instant, azure or a factor of it")
	public.flags(c.Flags())
	c.Flags().StringVar((*string)(&limit), "throttle", string(limit), "limits of requests: off, real or a factor of Azure's")
	c.Flags().StringVar(&faults, "faults", "", "file of fault rules, YAML or JSON")
	c.Flags().StringVar(&logFile, "log", "", "file for the log, - for standard error (default casement.log below --state)")
	return c
}

// throttle is a limit of requests as users write it.
type throttle string

// factor is what Azure's limits are multiplied by, 0 for none.
func (t throttle) factor() (float64, error) {
	switch t {
	case "off":
		return 0, nil
	case "real":
		return 1, nil
	}
	f, err := strconv.ParseFloat(string(t), 64)
	if err != nil || f <= 0 || f > 1000 {
		return 0, usagef("--throttle is off, real or a number from 0 to 1000, not %q", string(t))
	}
	return f, nil
}

func readFaults(file string) (fault.File, error) {
	if file == "" {
		return fault.File{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fault.File{}, fmt.Errorf("read the faults: %w", err)
	}
	f, err := fault.Parse(data)
	if err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

func (a *app) openLog(file string) (io.WriteCloser, error) {
	if file == "" {
		if err := a.dir.Make(); err != nil {
			return nil, err
		}
		file = a.dir.Log()
	}
	return os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// azureReady prints where the local Azure is, once.
func (a *app) azureReady() func(plane.Status) {
	shown := false
	return func(s plane.Status) {
		if shown || s.Phase != plane.PhaseReady {
			return
		}
		shown = true
		state := a.stateFlag()
		fmt.Fprintf(a.Out, `Local Azure (simulated)  %s
CA certificate           %s
Tenant                   %s
Subscription             %s

Use it:
  eval "$(casement azure env%s)"           for SDKs and curl
  eval "$(casement azure env --for az%s)"  for az, logged in
%s`, s.Azure.Endpoint, s.Azure.CAFile, s.Azure.TenantID, s.Azure.SubscriptionID, state, state, proxyHint(s.Azure, state))
	}
}

// stateFlag is what a user has to add to find the same state directory.
func (a *app) stateFlag() string {
	if dir, err := plane.DefaultDir(); err == nil && dir == a.dir {
		return ""
	}
	return " --state " + shellQuote(string(a.dir))
}

func newAzureReset(a *app) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:     "reset",
		Short:   "Delete everything in the local Azure at once, guests included",
		Long:    "Delete everything in the local Azure at once, guests included. It asks first, unless\n--yes is given; without a terminal to ask at, it needs --yes.",
		Example: "  casement azure reset\n  casement azure reset --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !a.confirmed("Delete every resource of the local Azure and end its virtual machines?") {
				return usagef("nothing was deleted; confirm it with --yes")
			}
			if err := plane.NewClient(a.dir).ResetAzure(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, "The local Azure is empty.")
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// confirmed asks a question at the terminal; anything but y or yes is no, and so is where
// there is no terminal.
func (a *app) confirmed(question string) bool {
	in, ok := a.raw.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // what cannot be read is no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func newAzureSnapshot(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Write the state of the local Azure to a file",
		Long: `Write all resources and operations of the local Azure to a file, - for standard
output. The file holds passwords and custom data. The disks of guests are not in it.`,
		Example: "  casement azure snapshot before.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			client := plane.NewClient(a.dir)
			if args[0] == "-" {
				return client.SnapshotAzure(cmd.Context(), a.data())
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

func newAzureRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the state of the local Azure by a snapshot",
		Long: `Replace everything in the local Azure by what a snapshot holds (- for standard
input). VMs that ran boot anew from their custom data.`,
		Example: "  casement azure restore before.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := a.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			if err := plane.NewClient(a.dir).RestoreAzure(cmd.Context(), in); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, "The local Azure is as the snapshot has it; the VMs that ran boot again.")
			return nil
		},
	}
}
