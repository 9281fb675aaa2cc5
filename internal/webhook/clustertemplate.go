package webhook

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// defaultClusterTemplate only sets defaults that do not depend on the cluster's name; the other defaults are set in the
// clusters that are created from the template.
func defaultClusterTemplate(t *infrav1.AzureClusterTemplate) error {
	s := &t.Spec.Template.Spec
	setDefault(&s.AzureEnvironment, defaultEnvironment)
	if lb := s.NetworkSpec.APIServerLB; lb != nil {
		setDefault(&lb.Type, infrav1.Public)
		defaultLB(lb)
	}
	for i := range s.NetworkSpec.Subnets {
		defaultRules(s.NetworkSpec.Subnets[i].SecurityGroup.SecurityRules)
	}
	return nil
}

// validateClusterTemplate only checks for errors that a cluster created from the template could not correct. The whole
// spec is checked in each cluster.
func validateClusterTemplate(old, t *infrav1.AzureClusterTemplate) field.ErrorList {
	path := field.NewPath("spec", "template", "spec")
	if old != nil {
		if !reflect.DeepEqual(old.Spec.Template.Spec, t.Spec.Template.Spec) {
			return field.ErrorList{field.Forbidden(path, "a cluster template cannot be changed; make a new one and refer to it")}
		}
		return nil
	}
	s, network := &t.Spec.Template.Spec, path.Child("networkSpec")
	errs := validateIdentityRef(s.IdentityRef, path.Child("identityRef"))
	errs = append(errs, validateExtendedLocation(&s.AzureClusterClassSpec, path)...)
	for i, subnet := range s.NetworkSpec.Subnets {
		errs = append(errs, validateSubnetClass(&subnet, network.Child("subnets").Index(i))...)
	}
	if lb := s.NetworkSpec.APIServerLB; lb != nil {
		errs = append(errs, validateLB(lb, network.Child("apiServerLB"))...)
	}
	return errs
}
