package images

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/cluster"
	"casement.dev/casement/internal/cli/explain"
	"casement.dev/casement/internal/diagnose/rollout"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/image"
	"casement.dev/casement/internal/windows"
)

// trialLabel marks the namespace of a throw-away cluster, so that no other namespace is deleted.
const trialLabel = "image.casement.dev/trial"

// trials creates the throw-away clusters of image builds in a management cluster. Each has a namespace and a resource
// group with the cluster's name.
type trials struct {
	a *app.App
	t app.Target
}

// trialPause is the time between two reads of a throw-away cluster's state.
const trialPause = 2 * time.Second

// Join implements image.Joiner.
func (t trials) Join(ctx context.Context, trial image.Trial) error {
	c, err := t.a.Client(t.t)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.a.Out, "      cluster %s in a namespace and a resource group of that name\n", trial.Name)
	if err := t.settle(ctx, c, trial.Name); err != nil {
		return err
	}
	objects, err := t.objects(ctx, trial)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return fmt.Errorf("create %s %s of the throw-away cluster: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
	}
	return t.joined(ctx, c, trial)
}

// settle waits for the end of a deletion that an earlier process began.
func (t trials) settle(ctx context.Context, c client.Client, name string) error {
	var n corev1.Namespace
	if err := c.Get(ctx, client.ObjectKey{Name: name}, &n); err != nil {
		return client.IgnoreNotFound(err)
	}
	if n.Labels[trialLabel] != name {
		return fmt.Errorf("the namespace %s is there and no image build's: give another metadata.name", name)
	}
	var cluster clusterv1.Cluster
	err := c.Get(ctx, client.ObjectKey{Namespace: name, Name: name}, &cluster)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if n.DeletionTimestamp.IsZero() && (err != nil || cluster.DeletionTimestamp.IsZero()) {
		return nil
	}
	return t.Leave(ctx, name)
}

// objects returns the namespace, the addons and the cluster of a trial.
func (t trials) objects(ctx context.Context, trial image.Trial) ([]client.Object, error) {
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: trial.Name, Labels: map[string]string{trialLabel: trial.Name}}}
	sets, err := addons.ClusterResourceSets(trial.Name, addons.Params{KubernetesVersion: trial.KubernetesVersion})
	if err != nil {
		return nil, err
	}
	own := map[string]string{
		"AZURE_LOCATION": trial.Location, "AZURE_RESOURCE_GROUP": trial.Name, "AZURE_VNET_NAME": trial.Name,
		"AZURE_SUBSCRIPTION_ID": trial.SubscriptionID,
	}
	flavor, machines, workers := "default", trial.Name+"-md-0", 1
	if trial.OS == windows.OSWindows {
		flavor, machines, workers = "windows", trial.Name+"-md-win", 0
		own["WINDOWS_WORKER_MACHINE_COUNT"], own["WINDOWS_SERVER_VERSION"] = "1", "windows-"+trial.Release
	}
	template, err := flavors.Get(flavor)
	if err != nil {
		return nil, err
	}
	values := cluster.Lookup(ctx, t.a, cluster.GenerateOptions{Name: trial.Name, Namespace: trial.Name,
		Kubernetes: trial.KubernetesVersion, ControlPlanes: 1, Workers: workers})
	manifest, _, err := flavors.Fill(template, func(name string) (string, bool) {
		if v, ok := own[name]; ok {
			return v, true
		}
		return values(name)
	})
	if err == nil {
		manifest, err = flavors.InNamespace(manifest, trial.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("make the throw-away cluster: %w", cluster.SuggestUp(ctx, t.a, err))
	}
	out := append([]client.Object{namespace}, sets...)
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(o); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the throw-away cluster: %w", err)
		}
		if o.GetKind() == "AzureMachineTemplate" && o.GetName() == machines {
			err := unstructured.SetNestedMap(o.Object, map[string]any{
				"gallery": trial.Gallery, "name": trial.Definition, "version": trial.Version,
				"resourceGroup": trial.ResourceGroup, "subscriptionID": trial.SubscriptionID,
			}, "spec", "template", "spec", "image", "computeGallery")
			if err != nil {
				return nil, fmt.Errorf("name the version in the throw-away cluster: %w", err)
			}
		}
		out = append(out, o)
	}
}

// joined waits until all machines of the cluster are Ready nodes.
func (t trials) joined(ctx context.Context, c client.Client, trial image.Trial) error {
	key := client.ObjectKey{Namespace: trial.Name, Name: trial.Name}
	bound, cancel := context.WithTimeout(ctx, trial.Timeout)
	defer cancel()
	missing := "it is not there"
	for {
		o, err := rollout.Read(bound, c, key)
		switch {
		case err == nil && o.Missing() == "" && o.NodesReady() > 1:
			fmt.Fprintf(t.a.Out, "      %d machines are Ready nodes\n", o.NodesReady())
			return nil
		case err == nil:
			missing = cmp.Or(o.Missing(), "not all of its machines are nodes")
		case bound.Err() == nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("look at the throw-away cluster: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-bound.Done():
			return fmt.Errorf("no machine of the version is a Ready node after %s (spec.timeouts.join): %s",
				trial.Timeout, t.cause(ctx, c, key, missing))
		case <-time.After(trialPause):
		}
	}
}

// cause returns the cause that casement why finds for a cluster, or else the part that the cluster waits
// for.
func (t trials) cause(ctx context.Context, c client.Client, key client.ObjectKey, missing string) string {
	answer, err := explain.Answer(ctx, t.a, t.t, c, explain.ClusterObject(key.Namespace, key.Name))
	if err != nil || answer.Healthy {
		return app.Sentence(missing)
	}
	text := fmt.Sprintf("%s at %s: %s", answer.Name(), answer.At, answer.Means.Says)
	if lines := answer.Lines(); len(lines) > 0 {
		text += " (" + strings.Join(lines, "; ") + ")"
	}
	return text
}

// Leave implements image.Joiner.
func (t trials) Leave(ctx context.Context, name string) error {
	c, err := t.a.Client(t.t)
	if err != nil {
		return err
	}
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
		return client.IgnoreNotFound(err)
	}
	if n.Labels[trialLabel] != name {
		return fmt.Errorf("the namespace %s is no image build's", name)
	}
	fmt.Fprintf(t.a.Out, "      deleting the throw-away cluster %s\n", name)
	// The namespace contains objects that the cluster's deletion needs, such as its identity, and is deleted after the
	// cluster.
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}}
	for _, o := range []client.Object{cluster, n} {
		if err := deleteAndWait(ctx, c, o); err != nil {
			return fmt.Errorf("delete %T %s: %w", o, name, err)
		}
	}
	return nil
}

// deleteAndWait deletes an object and waits until it no longer exists.
func deleteAndWait(ctx context.Context, c client.Client, o client.Object) error {
	for {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return client.IgnoreNotFound(err)
		}
		if o.GetDeletionTimestamp().IsZero() {
			if err := c.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(trialPause):
		}
	}
}
