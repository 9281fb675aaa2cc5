package webhook

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestRegister: the handlers are exactly those in the manifests, so that the API server calls none that
// does not exist.
func TestRegister(t *testing.T) {
	manifests, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`path: (/(?:mutate|validate)-infrastructure\S+)`).FindAllStringSubmatch(string(manifests), -1) {
		want = append(want, m[1])
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	Register(scheme, Config{}, func(path string, _ http.Handler) { got = append(got, path) })
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("handlers %v, manifests %v", got, want)
	}
}
