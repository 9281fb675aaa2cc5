package cli

import (
	"bytes"
	"context"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/rescue"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/inside"
	"casement.dev/casement/internal/diagnose/reach"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sshroute"
)

// snapshot reads the facts about an object. If the local plane is the management cluster, it includes the boot logs of
// the plane's guests.
func (a *app) snapshot(ctx context.Context, c client.Client, o facts.Object) (*facts.Snapshot, error) {
	s, err := facts.Of(ctx, c, o)
	if err != nil {
		return nil, err
	}
	a.consoles(ctx, s)
	return s, nil
}

// consoles lets a snapshot read the guests' boot logs, where the local plane runs.
func (a *app) consoles(ctx context.Context, s *facts.Snapshot) {
	local := plane.NewClient(a.dir)
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

// azureSide adds to a snapshot what Azure has on the way to the API server, and the state of machines there.
func (a *app) azureSide(ctx context.Context, t target, s *facts.Snapshot) {
	if s.AzureCluster == nil {
		return
	}
	azure, err := a.azureOf(ctx, t, s.AzureCluster)
	if err != nil {
		s.Unexamined("virtual machines, security rules and routes in Azure", err)
		return
	}
	reach.Read(ctx, azure, s)
}

// azureOf returns a client of the cluster's Azure: the local one, or the public one with the user's own login.
func (a *app) azureOf(ctx context.Context, t target, ac *infrav1.AzureCluster) (*arm.Client, error) {
	if a.asksPlane(t.kubeconfig) {
		s, err := plane.NewClient(a.dir).Status(ctx)
		if err != nil {
			return nil, err
		}
		return s.Azure.ARM()
	}
	return rescue.Login(ac.Spec.AzureEnvironment, ac.Spec.SubscriptionID)
}

// clusterObject returns a cluster as the object that a diagnostic command examines.
func clusterObject(namespace, name string) facts.Object {
	return facts.Object{Cluster: client.ObjectKey{Namespace: namespace, Name: name}, Kind: "Cluster", Name: name}
}

// lookInside runs the probes on the Windows nodes that an object concerns. It prints nothing.
func (a *app) lookInside(ctx context.Context, t target, s *facts.Snapshot, o facts.Object) {
	quiet := newApp(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	quiet.dir = a.dir
	machine := ""
	if o.Kind == "Machine" {
		machine = o.Name
	}
	inside.Observe(ctx, s, machine, func(ctx context.Context, r sshroute.Route) (*sshroute.Entrance, error) {
		return quiet.enter(ctx, way{target: t, user: sshroute.User}, r)
	})
}
