package preflight

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/lint"
)

// kinds returns a scheme with the kinds of Kubernetes and Cluster API as Go types; casement's kinds are checked by
// their schemas.
func kinds() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	var errs []error
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, clusterv1beta1.AddToScheme,
		bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme} {
		errs = append(errs, add(scheme))
	}
	return scheme, errors.Join(errs...)
}

// types returns the check of the types of fields.
func (c checker) types() []lint.Rule {
	return []lint.Rule{{
		ID: "PRE505", Severity: lint.Error, Title: "A value of the wrong type", Oracle: lint.Unit,
		Doc: "A number in quotes, a list where there is one value, a word where there is a number: the API server refuses " +
			"the object (\"json: cannot unmarshal\", \"Invalid value\"). Kinds of Kubernetes and Cluster API are read into their own " +
			"types; PRE501 does it for casement's kinds.",
		Check: func(p *lint.Pass) {
			scheme, err := kinds()
			if err != nil {
				return // the scheme is part of the program, and a test would fail
			}
			for _, o := range p.Set.Objects {
				into, err := scheme.New(runtimeschema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
				if err != nil {
					continue // a kind that is not in the scheme
				}
				raw, err := o.Root.JSON()
				if err != nil {
					continue // WIN rules report documents that cannot be parsed
				}
				err = json.Unmarshal(raw, into)
				if err == nil || strings.Contains(string(raw), "${") {
					continue // a template variable may have any type
				}
				at, message := o.Root, err.Error()
				if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
					if strings.HasSuffix(wrong.Field, "version") {
						continue // check PRE301 reports it
					}
					at, message = nearestPlace(o, wrong.Field), fmt.Sprintf("%s is a %s, and a %s is wanted", wrong.Field, wrong.Value, wrong.Type)
				}
				p.Report(o, at, message, say("a value of that type, without quotes where it is a number or true or false"))
			}
		},
	}}
}

// nearestPlace returns the field at a path, or the nearest existing field above it.
func nearestPlace(o *lint.Object, path string) lint.Value {
	at := o.Root
	for name := range strings.SplitSeq(path, ".") {
		next := at.At(name)
		if !next.Exists() {
			break
		}
		at = next
	}
	return at
}
