package explain

import (
	"bytes"
	"context"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/rescue"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/machine"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/inside"
	"casement.dev/casement/internal/diagnose/reach"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sshroute"
)

// Snapshot reads the facts about an object. If the local plane is the management cluster, the snapshot includes the
// boot logs of the plane's guests.
func Snapshot(ctx context.Context, a *app.App, c client.Client, o facts.Object) (*facts.Snapshot, error) {
	s, err := facts.Of(ctx, c, o)
	if err != nil {
		return nil, err
	}
	consoles(ctx, a, s)
	return s, nil
}

// consoles lets a snapshot read the guests' boot logs if the local plane is running.
func consoles(ctx context.Context, a *app.App, s *facts.Snapshot) {
	local := plane.NewClient(a.Dir)
	status, err := local.Status(ctx)
	if err != nil {
		return
	}
	var vms []string
	for _, g := range status.Guests {
		vms = append(vms, g.ID)
	}
	s.Consoles(vms, func(id string) string {
		var b bytes.Buffer
		if err := local.Console(ctx, id, false, &b); err != nil {
			return ""
		}
		return b.String()
	})
}

// azureSide adds to a snapshot the Azure resources between a client and the API server, and the state of machines in Azure.
func azureSide(ctx context.Context, a *app.App, t app.Target, s *facts.Snapshot) {
	if s.AzureCluster == nil {
		return
	}
	azure, err := azureOf(ctx, a, t, s.AzureCluster)
	if err != nil {
		s.Unexamined("virtual machines, security rules and routes in Azure", err)
		return
	}
	reach.Read(ctx, azure, s)
}

// azureOf returns a client for the cluster's Azure: the local one, or the public one with the user's own login.
func azureOf(ctx context.Context, a *app.App, t app.Target, ac *infrav1.AzureCluster) (*arm.Client, error) {
	if a.AsksPlane(t.Kubeconfig) {
		s, err := plane.NewClient(a.Dir).Status(ctx)
		if err != nil {
			return nil, err
		}
		return s.Azure.ARM()
	}
	return rescue.Login(ac.Spec.AzureEnvironment, ac.Spec.SubscriptionID)
}

// ClusterObject returns a cluster as an object for a diagnostic command.
func ClusterObject(namespace, name string) facts.Object {
	return facts.Object{Cluster: client.ObjectKey{Namespace: namespace, Name: name}, Kind: "Cluster", Name: name}
}

// lookInside runs the probes on the Windows nodes that concern an object. It prints nothing.
func lookInside(ctx context.Context, a *app.App, t app.Target, s *facts.Snapshot, o facts.Object) {
	quiet := app.New(app.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	quiet.Dir = a.Dir
	name := ""
	if o.Kind == "Machine" {
		name = o.Name
	}
	inside.Observe(ctx, s, name, func(ctx context.Context, r sshroute.Route) (*sshroute.Dialer, error) {
		return machine.Connect(ctx, quiet, machine.Way{Target: t, User: sshroute.User}, r)
	})
}
