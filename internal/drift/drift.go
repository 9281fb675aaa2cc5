// Package drift finds the differences between Azure and the specs of a cluster's objects, the parts that others have
// added, and the resources without an owner, each with the author of the last write. It compares in the same way as
// package plan before a write, and writes nothing.
//
// It does not judge the differences, because they may be intended. The command line imports it.
package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
)

// Kind is a kind of drift.
type Kind string

const (
	// Changed means that the resource differs from the spec.
	Changed Kind = "changed"
	// Added means that others have added a part to a resource of the cluster.
	Added Kind = "added"
	// Missing means that a resource of the spec does not exist in Azure.
	Missing Kind = "missing"
	// Stray means that the resource is in the cluster's group or has its tags, but no object requests it.
	Stray Kind = "stray"
)

// Finding is one difference.
type Finding struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// What describes the difference; for Changed it is "path: have -> want".
	What string `json:"what"`
	// Object is the object that requests the resource, and Field the field of its spec.
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	// Then is the consequence, for example that casement writes the resource again.
	Then string `json:"then"`
	// Last is the last write of the resource in the activity log; nil if it has none.
	Last *Event `json:"last,omitempty"`
}

// Report is the drift of one cluster.
type Report struct {
	Cluster string `json:"cluster"`
	// Compared is the number of resources that were compared.
	Compared int       `json:"compared"`
	Findings []Finding `json:"findings"`
	// Notes describe the parts that could not be compared.
	Notes []string `json:"notes,omitempty"`
}

// Input selects the cluster to compare, and has the clients.
type Input struct {
	// Kube reads the management cluster.
	Kube client.Reader
	// Azure reads the cluster's subscription.
	Azure *arm.Client
	// Cluster is the key of the Cluster.
	Cluster client.ObjectKey
	// Since is the earliest time for which the activity log is read.
	Since time.Time
}

// Find compares a cluster with Azure.
func Find(ctx context.Context, in Input) (*Report, error) {
	o, err := readObjects(ctx, in.Kube, in.Cluster)
	if err != nil {
		return nil, err
	}
	f := &finder{objects: o, azure: in.Azure, planner: plan.New(in.Azure, plan.Options{}), wanted: map[string]bool{},
		report: &Report{Cluster: in.Cluster.String(), Findings: []Finding{}}}
	if err := f.compare(ctx); err != nil {
		return nil, err
	}
	if err := f.strays(ctx); err != nil {
		return nil, err
	}
	f.name(ctx, in.Since)
	slices.SortStableFunc(f.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(arm.Key(a.ID), arm.Key(b.ID)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What))
	})
	return f.report, nil
}

// ClusterOf returns the AzureCluster of a Cluster.
func ClusterOf(ctx context.Context, c client.Reader, key client.ObjectKey) (*infrav1.AzureCluster, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, key, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	return azureClusterOf(ctx, c, cluster)
}

func azureClusterOf(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster) (*infrav1.AzureCluster, error) {
	ref, azure := cluster.Spec.InfrastructureRef, &infrav1.AzureCluster{}
	if ref.Kind != "AzureCluster" {
		return nil, fmt.Errorf("cluster %s/%s has the infrastructure %s: only an AzureCluster can be compared with Azure",
			cluster.Namespace, cluster.Name, cmp.Or(ref.Kind, "none"))
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, azure); err != nil {
		return nil, fmt.Errorf("read AzureCluster %s of Cluster %s: %w", ref.Name, cluster.Name, err)
	}
	return azure, nil
}

// finder collects the findings of one cluster.
type finder struct {
	*objects
	azure   *arm.Client
	planner *plan.Planner
	// wanted are the keys of all resources that some object requests.
	wanted map[string]bool
	report *Report
}

func (f *finder) add(found Finding) { f.report.Findings = append(f.report.Findings, found) }

func (f *finder) note(format string, args ...any) {
	f.report.Notes = append(f.report.Notes, fmt.Sprintf(format, args...))
}

func (f *finder) live(ctx context.Context, id string) (json.RawMessage, error) {
	live, err := f.planner.Live(ctx, id, desired.APIVersion(arm.TypeOf(id)))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	return live, nil
}

// compare compares all resources of the cluster's specs with Azure.
func (f *finder) compare(ctx context.Context) error {
	all, err := f.asked(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		f.wanted[arm.Key(a.resource.ID)] = true
	}
	for _, a := range all {
		live, err := f.live(ctx, a.resource.ID)
		if err != nil {
			return err
		}
		f.report.Compared++
		if err := f.compareOne(a, live); err != nil {
			return fmt.Errorf("compare %s with %s: %w", a.resource.ID, a.object, err)
		}
	}
	return nil
}

// asked is a resource with the object that requests it.
type asked struct {
	resource desired.Resource
	object   string
}

// compareOne compares one resource.
func (f *finder) compareOne(a asked, live json.RawMessage) error {
	found := Finding{ID: a.resource.ID, Object: a.object, Field: a.resource.Field}
	if live == nil {
		found.Kind, found.What, found.Then = Missing, "it is not in Azure", "casement makes it again"
		switch a.resource.Policy {
		case desired.Observe:
			found.Then = "it is the user's own: casement waits for it"
		case desired.CreateOnly:
			found.Then = "it comes back with a new machine only"
		}
		f.add(found)
		return nil
	}
	if a.resource.Policy == desired.Observe {
		return nil
	}
	differences, err := plan.Differences(live, a.resource.Body)
	if err != nil {
		return err
	}
	tags, err := tagsOf(live)
	if err != nil {
		return err
	}
	owner := desired.OwnershipTag(f.cluster.Name)
	for _, d := range differences {
		found.Kind, found.What, found.Then = Changed, d, "casement writes it back"
		tag := strings.HasPrefix(d, "tags")
		switch wants, _ := tagsOf(body(a.resource)); {
		case wants[owner] != "" && tags[owner] != desired.Owned && !strings.HasPrefix(d, "tags."+owner+":"):
			continue // without the tag the resource is not the cluster's, and the other differences follow from that
		case wants[owner] != "" && tags[owner] != desired.Owned:
			found.Then = "casement takes it for somebody else's, and leaves it"
		case a.resource.Policy == desired.CreateOnly && !tag:
			found.Then = "it stays until the machine is replaced"
		case f.paused:
			found.Then = "the cluster is paused"
		}
		f.add(found)
	}
	return f.additions(a, live)
}

// body returns the body of a write of a resource.
func body(r desired.Resource) json.RawMessage {
	data, err := json.Marshal(r.Body)
	if err != nil {
		return nil // plan.Differences has reported the error
	}
	return data
}

func tagsOf(live json.RawMessage) (map[string]string, error) {
	var head struct {
		Tags map[string]string `json:"tags"`
	}
	if live == nil {
		return nil, nil
	}
	err := json.Unmarshal(live, &head)
	return head.Tags, err
}
