// Package adopt takes a cluster over from CAPZ (cluster-api-provider-azure) v1.26: the objects and their Azure
// resources stay, and no machine is replaced. Kinds, names, tags and finalizers are the same; only the fields that CAPZ
// writes into the status differ, and CAPZ's additional objects of Azure Service Operator have to be deleted.
//
// Observe only reads, and lists the changes that Apply would make. Apply pauses the cluster, makes the changes, and
// unpauses the cluster; after an interruption, another Apply makes the remaining changes. Neither calls Azure: the
// manager reads Azure when the cluster is unpaused. The command line imports this package.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// pausedHere marks a Cluster that adopt has paused, so that adopt unpauses no Cluster that the
// user paused.
const pausedHere = "casement.dev/paused-by-adopt"

// adopted marks an object that CAPZ managed, with the time of its adoption. The changed annotation
// makes the manager reconcile the object with its tidied status, even if it saw the unpaused
// Cluster earlier.
const adopted = "casement.dev/adopted"

// Change is one change that Apply makes to an object.
type Change struct {
	Object string `json:"object"`
	Does   string `json:"does"`
	Why    string `json:"why"`

	apply func(context.Context) error
}

// Plan lists the changes that taking over a cluster needs.
type Plan struct {
	Cluster string   `json:"cluster"`
	Changes []Change `json:"changes"`
	// Refusals are the reasons not to adopt the cluster, each with the step that removes the reason.
	Refusals []string `json:"refusals,omitempty"`
	// Machines and Pools are the numbers of objects that keep their Azure resources.
	Machines int `json:"machines"`
	Pools    int `json:"pools"`

	cluster client.ObjectKey
}

// Adopter reads and writes a management cluster.
type Adopter struct {
	// Client has a scheme with the kinds of Cluster API and casement, and Deployments.
	Client client.Client
}

// Observe lists the changes that adopting a cluster would make.
func (a Adopter) Observe(ctx context.Context, key client.ObjectKey) (*Plan, error) {
	cluster := &clusterv1.Cluster{}
	if err := a.Client.Get(ctx, key, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	p := &Plan{Cluster: key.String(), cluster: key}
	if err := a.refuse(ctx, cluster, p); err != nil {
		return nil, err
	}
	if len(p.Refusals) > 0 {
		return p, nil
	}
	objects, err := a.objects(ctx, cluster)
	if err != nil {
		return nil, err
	}
	ours := slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetAnnotations()[infrav1.OwnerAnnotation] != ""
	})
	var marks []Change
	for _, o := range objects {
		switch o.GetKind() {
		case "AzureMachine":
			p.Machines++
		case "AzureMachinePool":
			p.Pools++
		}
		if changes := a.tidy(o, ours); len(changes) > 0 {
			p.Changes, marks = append(p.Changes, changes...), append(marks, a.mark(o))
		}
	}
	operator, err := a.operatorObjects(ctx, cluster)
	if err != nil {
		return nil, err
	}
	p.Changes = append(p.Changes, operator...)
	if len(p.Changes) > 0 || cluster.Annotations[pausedHere] != "" {
		p.Changes = slices.Concat(a.pause(cluster), p.Changes, a.goOn(cluster), marks)
	}
	return p, nil
}

// Apply makes the changes of a plan, in their order. It calls said before each change.
func (p *Plan) Apply(ctx context.Context, said func(Change)) error {
	if len(p.Refusals) > 0 {
		return errors.New(strings.Join(p.Refusals, "; "))
	}
	for _, c := range p.Changes {
		said(c)
		if err := c.apply(ctx); err != nil {
			return fmt.Errorf("%s: %s: %w; the cluster stays paused, run adopt again", c.Object, c.Does, err)
		}
	}
	return nil
}

// capzImage is part of the name of CAPZ's manager image.
const capzImage = "cluster-api-azure-controller"

// refuse returns the reasons why a cluster must not be taken over.
func (a Adopter) refuse(ctx context.Context, cluster *clusterv1.Cluster, p *Plan) error {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group || ref.Kind != "AzureCluster" {
		p.Refusals = append(p.Refusals, fmt.Sprintf("Cluster %s has the infrastructure %s.%s: only "+
			"AzureCluster, of self-managed clusters, can be taken over", p.Cluster, ref.Kind, ref.APIGroup))
	}
	if !cluster.DeletionTimestamp.IsZero() {
		p.Refusals = append(p.Refusals, fmt.Sprintf("Cluster %s is being deleted: let CAPZ finish that", p.Cluster))
	}
	var deployments appsv1.DeploymentList
	if err := a.Client.List(ctx, &deployments); err != nil {
		return fmt.Errorf("look for CAPZ's manager: %w", err)
	}
	for _, d := range deployments.Items {
		if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if strings.Contains(c.Image, capzImage) {
				p.Refusals = append(p.Refusals, fmt.Sprintf(
					"CAPZ still runs (Deployment %s/%s), and two providers would work on the same objects: "+
						"pause the clusters, end it (kubectl scale -n %[1]s deployment %[2]s --replicas=0, or "+
						"clusterctl delete --infrastructure azure, never with --include-crd), and install "+
						"casement",
					d.Namespace, d.Name))
			}
		}
	}
	return nil
}

// kinds returns the kinds of objects that CAPZ writes for a cluster.
func kinds() []string {
	return []string{"AzureCluster", "AzureMachine", "AzureMachinePool", "AzureMachinePoolMachine"}
}

// objects returns the cluster's objects as they are stored: unstructured, so that fields unknown to casement's types are kept.
func (a Adopter) objects(ctx context.Context, cluster *clusterv1.Cluster) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind + "List"))
		if err := a.Client.List(ctx, list, client.InNamespace(cluster.Namespace)); err != nil {
			return nil, fmt.Errorf("list %ss: %w", kind, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if o.GetLabels()[clusterv1.ClusterNameLabel] == cluster.Name ||
				kind == "AzureCluster" && o.GetName() == cluster.Spec.InfrastructureRef.Name {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// pause stops the controllers of Cluster API and casement from reconciling the cluster.
func (a Adopter) pause(cluster *clusterv1.Cluster) []Change {
	if cluster.Spec.Paused != nil && *cluster.Spec.Paused {
		return nil
	}
	return []Change{{Object: name("Cluster", cluster), Does: "pause", Why: "no controller acts on what is half changed",
		apply: func(ctx context.Context) error { return a.setPaused(ctx, cluster, true) }}}
}

// goOn unpauses the cluster, unless it was paused before adopt began.
func (a Adopter) goOn(cluster *clusterv1.Cluster) []Change {
	if cluster.Spec.Paused != nil && *cluster.Spec.Paused && cluster.Annotations[pausedHere] == "" {
		return nil
	}
	return []Change{{Object: name("Cluster", cluster), Does: "go on", Why: "casement reads Azure and compares",
		apply: func(ctx context.Context) error { return a.setPaused(ctx, cluster, false) }}}
}

func (a Adopter) mark(o *unstructured.Unstructured) Change {
	return Change{Object: name(o.GetKind(), o), Does: "set the annotation " + adopted, Why: "casement looks at it again",
		apply: func(ctx context.Context) error {
			return a.patch(ctx, o, false, func(live *unstructured.Unstructured) {
				annotate(live, adopted, time.Now().UTC().Format(time.RFC3339))
			})
		}}
}

func (a Adopter) setPaused(ctx context.Context, cluster *clusterv1.Cluster, paused bool) error {
	live := &clusterv1.Cluster{}
	if err := a.Client.Get(ctx, client.ObjectKeyFromObject(cluster), live); err != nil {
		return err
	}
	before := live.DeepCopy()
	if live.Spec.Paused = new(paused); paused {
		annotate(live, pausedHere, "true")
	} else {
		delete(live.Annotations, pausedHere)
	}
	return a.Client.Patch(ctx, live, client.MergeFrom(before))
}

func annotate(o client.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

func name(kind string, o client.Object) string { return kind + "/" + o.GetName() }

// gvk is a kind of the API server.
type gvk = schema.GroupVersionKind
