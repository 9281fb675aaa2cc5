package cli

import (
	"bytes"
	"context"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/inside"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sshroute"
)

// snapshot reads the facts about an object, with the guests' consoles of the local plane
// where it runs; a management cluster elsewhere has none.
func (a *app) snapshot(ctx context.Context, c client.Client, o facts.Object) (*facts.Snapshot, error) {
	s, err := facts.Of(ctx, c, o)
	if err != nil {
		return nil, err
	}
	local := plane.NewClient(a.dir)
	status, err := local.Status(ctx)
	if err != nil {
		return s, nil
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
	return s, nil
}

// clusterObject is a cluster as the object of a command.
func clusterObject(namespace, name string) facts.Object {
	return facts.Object{Cluster: client.ObjectKey{Namespace: namespace, Name: name}, Kind: "Cluster", Name: name}
}

// lookInside looks into the Windows nodes that an object concerns. It prints nothing.
func (a *app) lookInside(ctx context.Context, t target, s *facts.Snapshot, o facts.Object) {
	quiet := newApp(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	quiet.dir = a.dir
	machine := ""
	if o.Kind == "Machine" {
		machine = o.Name
	}
	inside.Look(ctx, s, machine, func(ctx context.Context, r sshroute.Route) (*sshroute.Entrance, error) {
		return quiet.enter(ctx, way{target: t, user: sshroute.User}, r)
	})
}
