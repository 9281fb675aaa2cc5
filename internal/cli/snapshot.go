package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/rescue"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/inside"
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

// rulesOf reads the security rules and routes of a cluster's virtual network, and records in the snapshot those that
// block machines from the API server.
func (a *app) rulesOf(ctx context.Context, t target, s *facts.Snapshot) {
	const what = "security rules and routes of the virtual network"
	ac := s.AzureCluster
	if ac == nil {
		return
	}
	azure, err := a.azureOf(ctx, t, ac)
	if err != nil {
		s.Unexamined(what, err)
		return
	}
	port := 6443
	if p := ac.Spec.ControlPlaneEndpoint.Port; p != 0 {
		port = int(p)
	}
	group := cmp.Or(ac.Spec.NetworkSpec.Vnet.ResourceGroup, ac.Spec.ResourceGroup, ac.Name)
	network := "/subscriptions/" + azure.SubscriptionID() + "/resourceGroups/" + group + "/providers/Microsoft.Network/"
	n := facts.Network{Vnet: ac.Spec.NetworkSpec.Vnet.Name, Host: ac.Spec.ControlPlaneEndpoint.Host, Port: port}
	for _, subnet := range ac.Spec.NetworkSpec.Subnets {
		if subnet.Role == infrav1.SubnetControlPlane {
			n.ControlPlane = append(n.ControlPlane, subnet.Name)
		}
	}
	for kind, into := range map[string]*[]json.RawMessage{
		"virtualNetworks": &n.Vnets, "networkSecurityGroups": &n.Groups, "routeTables": &n.Tables,
		"networkInterfaces": &n.Interfaces, "loadBalancers": &n.Balancers,
	} {
		for item, err := range azure.List(ctx, network+kind, desired.NetworkAPIVersion) {
			if err != nil {
				s.Unexamined(what, err)
				return
			}
			*into = append(*into, item)
		}
	}
	blocked, unknown := n.Blocked()
	s.Closed = blocked
	for _, hop := range unknown {
		s.Unexamined(hop, errors.New("only its owner can say"))
	}
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
