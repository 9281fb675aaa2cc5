// Package webhook is admission for casement's kinds: defaults, validation and
// what may not change. The rules are pure functions over the types; the shells
// here hand them to controller-runtime. It reads neither the API server nor
// Azure. internal/manager registers it.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azurecluster,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclusters,versions=v1beta1,name=default.azurecluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azurecluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclusters,versions=v1beta1,name=validation.azurecluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachine,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachines,versions=v1beta1,name=default.azuremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachines,versions=v1beta1,name=validation.azuremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinetemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates,versions=v1beta1,name=default.azuremachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates,versions=v1beta1,name=validation.azuremachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azureclusteridentity,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclusteridentities,versions=v1beta1,name=validation.azureclusteridentity.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhooks of all kinds.
func SetupWithManager(mgr ctrl.Manager) error {
	for _, setUp := range []func(ctrl.Manager) error{
		hook[*infrav1.AzureCluster]{"AzureCluster", nil, defaultCluster, validateCluster}.setUp,
		hook[*infrav1.AzureMachine]{"AzureMachine", inheritMachine, defaultMachine, validateMachine}.setUp,
		hook[*infrav1.AzureMachineTemplate]{"AzureMachineTemplate", inheritMachineTemplate, defaultMachineTemplate, validateMachineTemplate}.setUp,
		hook[*infrav1.AzureClusterIdentity]{"AzureClusterIdentity", nil, nil, validateIdentity}.setUp,
	} {
		if err := setUp(mgr); err != nil {
			return fmt.Errorf("set up the webhooks: %w", err)
		}
	}
	return nil
}

// hook is admission of one kind. old is nil on create; inherit fills what an
// update left open, and only the old object knows.
type hook[T client.Object] struct {
	kind     string
	inherit  func(old, obj T)
	defaults func(T) error
	validate func(old, obj T) field.ErrorList
}

func (h hook[T]) setUp(mgr ctrl.Manager) error {
	var obj T
	// The builder needs a typed value only for its kind.
	switch h.kind {
	case "AzureCluster":
		obj = any(&infrav1.AzureCluster{}).(T)
	case "AzureMachine":
		obj = any(&infrav1.AzureMachine{}).(T)
	case "AzureMachineTemplate":
		obj = any(&infrav1.AzureMachineTemplate{}).(T)
	case "AzureClusterIdentity":
		obj = any(&infrav1.AzureClusterIdentity{}).(T)
	}
	b := ctrl.NewWebhookManagedBy(mgr, obj).WithValidator(h)
	if h.defaults != nil {
		b = b.WithDefaulter(h)
	}
	return b.Complete()
}

// Default implements admission.Defaulter.
func (h hook[T]) Default(ctx context.Context, obj T) error {
	if req, err := admission.RequestFromContext(ctx); h.inherit != nil && err == nil && len(req.OldObject.Raw) > 0 {
		var old T
		if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
			return fmt.Errorf("read the old object: %w", err)
		}
		h.inherit(old, obj)
	}
	return h.defaults(obj)
}

// ValidateCreate implements admission.Validator.
func (h hook[T]) ValidateCreate(_ context.Context, obj T) (admission.Warnings, error) {
	var none T
	return nil, h.invalid(obj, h.validate(none, obj))
}

// ValidateUpdate implements admission.Validator. An object that is being deleted
// may always lose its finalizers.
func (h hook[T]) ValidateUpdate(_ context.Context, old, obj T) (admission.Warnings, error) {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	return nil, h.invalid(obj, h.validate(old, obj))
}

// ValidateDelete implements admission.Validator.
func (h hook[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (h hook[T]) invalid(obj T, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: infrav1.GroupVersion.Group, Kind: h.kind}, obj.GetName(), errs)
}
