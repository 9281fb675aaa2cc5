package addons

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		apiServer = p.Config()
		return nil
	}))
}

// TestAPIServerAcceptsAddons creates the objects of every addon in a real API server, which
// validates more than the Go types do.
func TestAPIServerAcceptsAddons(t *testing.T) {
	c, err := client.New(apiServer, client.Options{FieldValidation: "Strict"})
	if err != nil {
		t.Fatal(err)
	}
	created := map[string]addons.Addon{}
	for _, a := range addons.All() {
		data, err := a.Render(addons.Params{})
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(doc, &u.Object); err != nil {
				t.Fatal(err)
			}
			key := u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
			// Labels alone would allow calico-windows beside another network of Windows nodes, but
			// no template requests both.
			networks := created[key].Name == "calico-windows" && strings.HasSuffix(a.Name, "-windows")
			if other, twice := created[key]; twice && !networks && !alternatives(a, other) {
				t.Errorf("%s is in %s and in %s", key, other.Name, a.Name)
			}
			created[key] = a
			if err := apply(t, c, u); err != nil {
				t.Errorf("%s: %s: %v", a.Name, key, err)
			}
		}
	}
}

// alternatives reports whether no cluster can match the selectors of both addons.
func alternatives(a, b addons.Addon) bool {
	for _, one := range a.Selectors {
		for _, other := range b.Selectors {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(one)), func(label string) bool {
				value, both := other[label]
				return both && value != one[label]
			}) {
				return false
			}
		}
	}
	return true
}

// apply creates an object. It first waits until the object's kind is served, because the addon
// itself may define the kind.
func apply(t *testing.T, c client.Client, u *unstructured.Unstructured) error {
	var err error
	_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"), client.ForceOwnership)
		return !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err), nil
	})
	return err
}
