//go:build !client

package azure

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/plane/supervisor"
)

func newAzureServe(a *app.App) *cobra.Command {
	var listen, faults, logFile string
	var public Public
	pace, limit := Latency("instant"), throttle("off")
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the local Azure alone, in the foreground",
		Long: `Run the local Azure without Kubernetes until it is interrupted: HTTPS with a CA of
its own, state below --state, and virtual machines that boot. Whoever has the secret
of its application, a file in the state directory that 'casement azure env' reads, may
do anything in it; it listens on 127.0.0.1 unless a flag says otherwise.

With --proxy it also answers for the names that clients have built in:
management.azure.com, login.microsoftonline.com, those of the other clouds, key
vaults, and managed identities at 169.254.169.254. The proxy refuses all else, so
that nothing leaves this machine. It asks for a name and a password, which the address
that 'casement azure env --for proxy' prints has.`,
		Example: `  casement azure serve
  casement azure serve --state ~/azure --latency azure
  casement azure serve --faults faults.yaml --listen 127.0.0.1:8443
  casement azure serve --proxy 127.0.0.1:8080 --clients clients.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			factor, err := pace.Factor()
			if err != nil {
				return err
			}
			limits, err := limit.factor()
			if err != nil {
				return err
			}
			opts := supervisor.Options{Dir: a.Dir, AzureOnly: true, Listen: listen, Latency: factor,
				Throttle: limits, OnStatus: azureReady(a), OnPanic: simulationFault(a)}
			if opts.Faults, err = readFaults(faults); err != nil {
				return err
			}
			if err := public.Apply(&opts); err != nil {
				return err
			}
			if opts.Log = a.Err; logFile != "-" {
				log, err := openLog(a, logFile)
				if err != nil {
					return err
				}
				defer log.Close()
				opts.Log = log
			}
			return supervisor.Run(cmd.Context(), opts)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on (default the port of the last run, or a free one, of 127.0.0.1)")
	c.Flags().StringVar((*string)(&pace), "latency", string(pace), "pace of operations: instant, azure or a factor of it")
	public.Flags(c.Flags())
	c.Flags().StringVar((*string)(&limit), "throttle", string(limit), "limits of requests: off, real or a factor of Azure's")
	c.Flags().StringVar(&faults, "faults", "", "file of fault rules, YAML or JSON")
	c.Flags().StringVar(&logFile, "log", "", "file for the log, - for standard error (default casement.log below --state)")
	return c
}

// simulationFault returns a function that shows a fault of the simulation as an event of the affected machine.
func simulationFault(a *app.App) func(id string, p *contain.Panic) {
	return func(id string, p *contain.Panic) {
		fmt.Fprintf(a.Err, "Warning  %s  %s  %.900s\n", supervisor.SimulationFaultReason, id, p.Error())
	}
}

// throttle is a limit of requests as users write it.
type throttle string

// factor returns the number by which Azure's limits are multiplied; 0 means no limits.
func (t throttle) factor() (float64, error) {
	switch t {
	case "off":
		return 0, nil
	case "real":
		return 1, nil
	}
	f, err := strconv.ParseFloat(string(t), 64)
	if err != nil || f <= 0 || f > 1000 {
		return 0, app.Usagef("--throttle is off, real or a number from 0 to 1000, not %q", string(t))
	}
	return f, nil
}

func readFaults(file string) (fault.File, error) {
	if file == "" {
		return fault.File{}, nil
	}
	data, err := input.File(file, input.Small)
	if err != nil {
		return fault.File{}, fmt.Errorf("read the faults: %w", err)
	}
	f, err := fault.Parse(data)
	if err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

func openLog(a *app.App, file string) (io.WriteCloser, error) {
	if file == "" {
		if err := a.Dir.Make(); err != nil {
			return nil, err
		}
		return a.Dir.OpenLog()
	}
	return os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// azureReady returns a function that prints the address of the local Azure the first time it is called.
func azureReady(a *app.App) func(plane.Status) {
	shown := false
	return func(s plane.Status) {
		if shown || s.Phase != plane.PhaseReady {
			return
		}
		shown = true
		state := stateFlag(a)
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

// Latency is the value of the flag for the duration of Azure's operations.
type Latency string

// Factor returns the number by which Azure's durations are multiplied.
func (l Latency) Factor() (float64, error) {
	switch l {
	case "instant":
		return 0, nil
	case "azure":
		return 1, nil
	}
	f, err := strconv.ParseFloat(string(l), 64)
	if err != nil || f < 0 || f > 100 {
		return 0, app.Usagef("--latency is instant, azure or a number from 0 to 100, not %q", string(l))
	}
	return f, nil
}
