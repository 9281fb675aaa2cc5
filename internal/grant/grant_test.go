package grant

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
)

var api client.Client

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		crds, err := config.CRDs()
		if err != nil {
			return err
		}
		if err := kubeproc.InstallCRDs(context.Background(), plane.Config(), crds); err != nil {
			return err
		}
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, infrav1.AddToScheme} {
			if err := add(scheme); err != nil {
				return err
			}
		}
		api, err = client.New(plane.Config(), client.Options{Scheme: scheme})
		return err
	}))
}

func create(t *testing.T, name, secretNamespace string) *infrav1.AzureClusterIdentity {
	t.Helper()
	i := &infrav1.AzureClusterIdentity{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name,
	}, Spec: infrav1.AzureClusterIdentitySpec{
		Type: infrav1.ServicePrincipal, ClientID: "c", TenantID: "t",
		ClientSecret: corev1.SecretReference{Namespace: secretNamespace, Name: "sp"},
	}}
	if err := api.Create(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestBook: a record is for one identity and one Secret, and is deleted when the identity has been gone for long enough.
func TestBook(t *testing.T) {
	book := New(api, "default", logr.Discard())
	holds := func(what string, i *infrav1.AzureClusterIdentity, want bool) {
		t.Helper()
		if got, err := book.Holds(t.Context(), i); err != nil || got != want {
			t.Errorf("%s: holds %v, %v, want %v", what, got, err, want)
		}
	}
	i, other := create(t, "i", "elsewhere"), create(t, "other", "elsewhere")
	holds("before", i, false)
	for range 2 { // the second time changes nothing
		if err := book.Write(t.Context(), i, "admin"); err != nil {
			t.Fatal(err)
		}
	}
	holds("written", i, true)
	holds("another identity", other, false)
	moved := i.DeepCopy()
	moved.Spec.ClientSecret.Name = "other"
	holds("another secret", moved, false)
	again := i.DeepCopy()
	again.UID = other.UID
	holds("another UID", again, false)
	var none *Book
	if got, err := none.Holds(t.Context(), i); got || err != nil {
		t.Errorf("no book holds: %v, %v", got, err)
	}
	if err := book.Write(t.Context(), &infrav1.AzureClusterIdentity{}, "admin"); err == nil {
		t.Error("what has no UID is recorded")
	}
	later := time.Now().Add(2 * sweepAge)
	if err := book.sweep(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	holds("swept while it is there", i, true)
	if err := api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if err := book.sweep(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	holds("swept too early", i, true)
	if err := book.sweep(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	holds("swept", i, false)
}

func TestNames(t *testing.T) {
	i := &infrav1.AzureClusterIdentity{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "i"}}
	for value, want := range map[string]bool{
		"": false, "b/i": true, "a/x, b/i": true, "b/i2": false, "i": false, "b/*": false, "b/i,": true,
	} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{IdentitiesAnnotation: value}}}
		if got := Names(s, i); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestForeign(t *testing.T) {
	for secret, want := range map[corev1.SecretReference]bool{{}: false, {Namespace: "a"}: false,
		{Name: "s"}: false, {Namespace: "b", Name: "s"}: false, {Namespace: "a", Name: "s"}: true} {
		i := &infrav1.AzureClusterIdentity{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "i"},
			Spec: infrav1.AzureClusterIdentitySpec{ClientSecret: secret}}
		if got := Foreign(i); got != want {
			t.Errorf("%+v: %v", secret, got)
		}
	}
}
