// Package local has the commands of the local plane: up, down, status, kubectl.
//
// It parses flags and prints; internal/plane/supervisor runs the plane, and internal/plane finds what runs. Only
// internal/cli may import it.
package local

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/inotify"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
)

// ticking draws a running clock on a terminal, for an operation that reports no progress, until stop is called.
func ticking(a *app.App, title, detail string) (stop func()) {
	screen := terminal.NewScreen(a.Raw.Out)
	if screen.Size == nil {
		return func() {}
	}
	progress, begun := terminal.NewProgress(screen), time.Now()
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(drawPeriod)
		defer tick.Stop()
		for {
			progress.Show(terminal.View{Title: title, Elapsed: time.Since(begun),
				Steps: []terminal.Step{{Name: detail, State: terminal.Now}}})
			select {
			case <-done:
				progress.Clear()
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		drawing.Wait()
	}
}

// drawPeriod is the interval at which a running clock is drawn.
const drawPeriod = 200 * time.Millisecond

func NewStatus(a *app.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show what of the local plane runs, and what of it is simulated",
		Example: "  casement status\n  casement status -o json\n  export KUBECONFIG=$(casement status -o kubeconfig)",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := plane.StatusOf(cmd.Context(), a.Dir)
			if err != nil {
				return err
			}
			if err := showStatus(a, s, output); err != nil {
				return err
			}
			if s.NoAnswer != "" {
				return errors.New(s.NoAnswer)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table",
		"table, wide (all VMs), json, yaml, kubeconfig (its path) or clusterctl (template variables)")
	return c
}

func showStatus(a *app.App, s plane.Status, output string) error {
	switch output {
	case "kubeconfig":
		_, err := fmt.Fprintln(a.Out, s.Kubernetes.Kubeconfig)
		return err
	case "clusterctl":
		variables, err := plane.TemplateVariables(s)
		if err != nil {
			return err
		}
		return a.Print("yaml", variables, nil)
	}
	return a.Print(output, s, func(w io.Writer) { statusTable(w, s, output == "wide") })
}

// maxGuests is the number of healthy VMs that a table shows.
const maxGuests = 20

// guestTable lists the VMs, VMs with problems first.
func guestTable(w io.Writer, guests []plane.Guest, wide bool) {
	if len(guests) == 0 {
		return
	}
	well := func(g plane.Guest) bool { return g.Message == "" && g.Phase == plane.GuestRunning }
	guests = slices.Clone(guests)
	slices.SortStableFunc(guests, func(a, b plane.Guest) int { return order(well(a), well(b)) })
	fmt.Fprintln(w, "\nSIMULATED VM\tOS\tPHASE\tADDRESS\tON THIS MACHINE\tIMAGE HOLDS\tREALLY RUNS")
	running := 0
	for _, g := range guests {
		if well(g) {
			if running++; running > maxGuests && !wide {
				continue
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Name, g.OS, g.Phase, g.Address, g.Loopback, g.Asked, g.Runs)
	}
	if running > maxGuests && !wide {
		fmt.Fprintf(w, "… %d more run; -o wide shows them\n", running-maxGuests)
	}
	for _, g := range guests {
		if g.Message != "" {
			fmt.Fprintf(w, "%s: %s\n", g.Name, g.Message)
		}
	}
}

// order compares two rows by whether they have a problem: a row with a problem comes first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// listenerTable lists load balancers, and the listeners whose actual address differs from the requested one; wide lists
// all listeners. Load balancers without a healthy backend are first.
func listenerTable(w io.Writer, listeners []plane.Listener, wide bool) {
	listeners = slices.Clone(listeners)
	slices.SortStableFunc(listeners, func(a, b plane.Listener) int {
		return order(a.Backends == 0 || a.Healthy > 0, b.Backends == 0 || b.Healthy > 0)
	})
	more := 0
	for i, l := range listeners {
		if l.Backends == 0 && l.Instead == "" && !wide {
			more++
			continue
		}
		if i == more {
			fmt.Fprintln(w, "\nLISTENER\tADDRESS\tHEALTHY BACKENDS\tNOTE")
		}
		backends, note := "-", l.Note
		if l.Backends > 0 {
			backends = fmt.Sprintf("%d of %d", l.Healthy, l.Backends)
		}
		if l.Instead != "" {
			note = "instead of " + l.Instead + ", which needs privileges"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Owner, l.Address, backends, note)
	}
	if more > 0 {
		fmt.Fprintf(w, "… %d more, for SSH, RDP, kubelets and node ports; -o wide shows them\n", more)
	}
}

func statusTable(w io.Writer, s plane.Status, wide bool) {
	phase := s.Phase
	if s.Bare {
		phase += ", bare"
	}
	if s.NoAnswer != "" {
		phase = "no answer, was " + phase + " at " + s.Written.Format(time.TimeOnly)
	}
	fmt.Fprintf(w, "Plane\t%s\tprocess %d, since %s\n", phase, s.PID, s.Started.Format(time.DateTime))
	for _, text := range append([]string{s.Error, s.Waiting}, s.Notices...) {
		if text != "" {
			fmt.Fprintf(w, "\t%s\n", text)
		}
	}
	fmt.Fprintf(w, "Kubernetes\t%s\t%s\n", s.Kubernetes.Version, s.Kubernetes.Server)
	if s.Kubernetes.ClusterAPI != "" {
		fmt.Fprintf(w, "Cluster API\t%s\n", s.Kubernetes.ClusterAPI)
	}
	if s.Azure.Outside {
		fmt.Fprintf(w, "Azure\tsubscription %s\t%s\n", s.Azure.SubscriptionID, s.Azure.Endpoint)
	} else {
		fmt.Fprintf(w, "Local Azure\tsimulated\t%s\n", s.Azure.Endpoint)
	}
	fmt.Fprintf(w, "Kubeconfig\t%s\n", s.Kubernetes.Kubeconfig)
	if usage := inotify.Now(); usage.Scarce() {
		fmt.Fprintf(w, "File watches\tfew left\t%s\n", usage)
	}
	if len(s.Restarts) > 0 {
		fmt.Fprintln(w, "\nSTARTED AGAIN\tTIMES\tLAST\tREASON")
		for _, r := range s.Restarts {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", r.Name, r.Times, r.Last.Format(time.TimeOnly), r.Reason)
		}
	}
	guestTable(w, s.Guests, wide)
	listenerTable(w, s.Listeners, wide)
	fmt.Fprintln(w, "\nSIMULATED HERE")
	for _, what := range s.Simulated {
		fmt.Fprintf(w, "%s\n", what)
	}
	fmt.Fprintln(w, "\nSTUB\tDOES")
	for _, p := range s.Stubs {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Does)
	}
}

// noteInotify prints, before a plane starts, that few file watches are available.
func noteInotify(a *app.App) {
	if usage := inotify.Now(); usage.Scarce() {
		fmt.Fprintf(a.Err, "Few file watches are left: API servers that start now read their certificates once a minute "+
			"instead, and other programs may fail with \"too many open files\". %s\n", usage)
	}
}

// azureLabel and azureAt return the name and the address of a plane's Azure.
func azureLabel(s plane.Status) string {
	if s.Azure.Outside {
		return "Azure"
	}
	return "Local Azure"
}

func azureAt(s plane.Status) string {
	if s.Azure.Outside {
		return s.Azure.Endpoint + "  (subscription " + s.Azure.SubscriptionID + ")"
	}
	return s.Azure.Endpoint + "  (simulated)"
}
