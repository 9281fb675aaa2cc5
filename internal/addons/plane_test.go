package addons

import (
	"bytes"
	"cmp"
	"context"
	"os"
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

// A real API server validates more than the Go types do.
func TestAPIServerAcceptsAddons(t *testing.T) {
	c, err := client.New(apiServer, client.Options{FieldValidation: "Strict"})
	if err != nil {
		t.Fatal(err)
	}
	created := map[string]string{}
	for _, a := range All() {
		data, err := a.Render(Params{})
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(doc, &u.Object); err != nil {
				t.Fatal(err)
			}
			key := u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
			if other := created[key]; other != "" {
				if a.manifest != other && (other != "calico-windows" || !strings.HasSuffix(a.Name, "-windows")) {
					t.Errorf("%s is in %s and in %s", key, other, a.Name)
				}
				if a.manifest == "" {
					continue // they are alternatives
				}
			}
			created[key] = cmp.Or(a.manifest, a.Name)
			if err := apply(t, c, u); err != nil {
				t.Errorf("%s: %s: %v", a.Name, key, err)
			}
		}
	}
}

// apply creates an object, and first waits until its kind is served, as the addon itself may
// define it.
func apply(t *testing.T, c client.Client, u *unstructured.Unstructured) error {
	var err error
	_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"), client.ForceOwnership)
		return !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err), nil
	})
	return err
}
