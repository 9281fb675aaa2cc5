package webhook

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func validateIdentity(old, i *infrav1.AzureClusterIdentity) field.ErrorList {
	path := field.NewPath("spec")
	if old == nil {
		return validateIdentitySpec(&i.Spec, path)
	}
	errs := immutable(path.Child("type"), old.Spec.Type, i.Spec.Type)
	return append(errs, added(validateIdentitySpec(&old.Spec, path), validateIdentitySpec(&i.Spec, path))...)
}

func validateIdentitySpec(s *infrav1.AzureClusterIdentitySpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Type != infrav1.UserAssignedMSI && s.ResourceID != "" {
		errs = append(errs, field.Forbidden(path.Child("resourceID"), "only with type UserAssignedMSI"))
	}
	if s.Type != infrav1.UserAssignedIdentityCredential {
		if s.UserAssignedIdentityCredentialsPath != "" {
			errs = append(errs, field.Forbidden(path.Child("userAssignedIdentityCredentialsPath"),
				"only with type UserAssignedIdentityCredential"))
		}
		if s.UserAssignedIdentityCredentialsCloudType != "" {
			errs = append(errs, field.Forbidden(path.Child("userAssignedIdentityCredentialsCloudType"),
				"only with type UserAssignedIdentityCredential"))
		}
	} else if s.UserAssignedIdentityCredentialsPath == "" {
		errs = append(errs, field.Required(path.Child("userAssignedIdentityCredentialsPath"),
			fmt.Sprintf("type %s reads its credentials from a file", s.Type)))
	}
	if clouds := []string{"public", "china", "usgovernment"}; s.UserAssignedIdentityCredentialsCloudType != "" &&
		!slices.Contains(clouds, s.UserAssignedIdentityCredentialsCloudType) {
		errs = append(errs, field.NotSupported(path.Child("userAssignedIdentityCredentialsCloudType"),
			s.UserAssignedIdentityCredentialsCloudType, clouds))
	}
	return errs
}
