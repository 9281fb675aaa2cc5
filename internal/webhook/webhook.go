// Package webhook is admission for casement's kinds: defaults, validation, immutable fields, and warnings about fields
// without effect. The rules are pure functions over the types, which this package wraps in controller-runtime's
// handlers. It reads only these facts from the API server: the Secrets that the author of an identity may read, the
// subnets of a machine's cluster, and other clusters of the same name. It does not read Azure. internal/manager
// registers it.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/grant"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azurecluster,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclusters,versions=v1beta1,name=default.azurecluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azurecluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclusters,versions=v1beta1,name=validation.azurecluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azureclustertemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclustertemplates,versions=v1beta1,name=default.azureclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azureclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclustertemplates,versions=v1beta1,name=validation.azureclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachine,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachines,versions=v1beta1,name=default.azuremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachines,versions=v1beta1,name=validation.azuremachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinetemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates,versions=v1beta1,name=default.azuremachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinetemplates,versions=v1beta1,name=validation.azuremachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinepool,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools,versions=v1beta1,name=default.azuremachinepool.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinepool,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepools,versions=v1beta1,name=validation.azuremachinepool.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinepooltemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepooltemplates,versions=v1beta1,name=validation.azuremachinepooltemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azuremachinepoolmachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azuremachinepoolmachines,versions=v1beta1,name=validation.azuremachinepoolmachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-azureclusteridentity,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=azureclusteridentities,versions=v1beta1,name=validation.azureclusteridentity.infrastructure.cluster.x-k8s.io,sideEffects=NoneOnDryRun,admissionReviewVersions=v1

// Config has an operator's settings for admission.
type Config struct {
	// MachinePools permits new AzureMachinePools. Existing ones can be changed and deleted in any case.
	MachinePools bool
	// Client reads the API server. Grants records the decisions about identities.
	Client client.Client
	Grants *grant.Book
}

// Register calls register with the handler of each webhook and its path in the manifests.
func Register(scheme *runtime.Scheme, c Config, register func(path string, h http.Handler)) {
	for _, k := range kinds() {
		if !c.MachinePools && strings.HasPrefix(k.name(), "AzureMachinePool") {
			k = k.refusing("the manager's feature gate MachinePool is off: start it with --feature-gates=MachinePool=true")
		}
		k.register(scheme, c, register)
	}
}

// kind is the admission of one kind, independent of its Go type.
type kind interface {
	name() string
	// refusing returns the same admission, but refusing new objects, with the reason.
	refusing(why string) kind
	register(scheme *runtime.Scheme, c Config, register func(path string, h http.Handler))
	admit(raw []byte) (Admission, error)
}

// kinds returns all kinds with an admission webhook.
func kinds() []kind {
	return []kind{
		hook[*infrav1.AzureCluster]{kind: "AzureCluster", inherit: inheritCluster, defaults: defaultCluster,
			validate: validateCluster, ask: askCluster},
		hook[*infrav1.AzureClusterTemplate]{
			kind: "AzureClusterTemplate", defaults: defaultClusterTemplate, validate: validateClusterTemplate, warn: warnClusterTemplate,
		},
		hook[*infrav1.AzureMachine]{kind: "AzureMachine", inherit: inheritMachine, defaults: defaultMachine,
			validate: validateMachine, warn: warnMachine, ask: askMachine},
		hook[*infrav1.AzureMachineTemplate]{kind: "AzureMachineTemplate", inherit: inheritMachineTemplate,
			defaults: defaultMachineTemplate, validate: validateMachineTemplate, warn: warnMachineTemplate, ask: askMachineTemplate},
		hook[*infrav1.AzureMachinePool]{kind: "AzureMachinePool", inherit: inheritPool, defaults: defaultPool,
			validate: validatePool, ask: askPool},
		hook[*infrav1.AzureMachinePoolTemplate]{kind: "AzureMachinePoolTemplate", validate: validatePoolTemplate, warn: warnPoolTemplate},
		hook[*infrav1.AzureMachinePoolMachine]{kind: "AzureMachinePoolMachine", validate: validatePoolMachine},
		hook[*infrav1.AzureClusterIdentity]{kind: "AzureClusterIdentity", validate: validateIdentity, warn: warnIdentity, ask: askIdentity},
	}
}

func (h hook[T]) name() string { return h.kind }

func (h hook[T]) refusing(why string) kind {
	h.refuses = why
	return h
}

// object returns a new, empty object of the kind.
func (h hook[T]) object() T {
	obj, _ := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	return obj
}

func (h hook[T]) register(scheme *runtime.Scheme, c Config, register func(path string, h http.Handler)) {
	h.config = c
	of := strings.ReplaceAll(infrav1.GroupVersion.Group, ".", "-") + "-" + infrav1.GroupVersion.Version + "-" + strings.ToLower(h.kind)
	register("/validate-"+of, admission.WithValidator(scheme, h))
	if h.defaults != nil {
		register("/mutate-"+of, admission.WithDefaulter(scheme, h))
	}
}

// hook is the admission of one kind. old is nil for a create; inherit copies the fields that an update leaves unset
// from the old object. Functions that are nil are skipped.
type hook[T client.Object] struct {
	kind     string
	inherit  func(old, obj T)
	defaults func(T) error
	validate func(old, obj T) field.ErrorList
	warn     func(T) []string
	// ask runs the checks that need the API server, after validate.
	ask     func(ctx context.Context, c Config, old, obj T) ([]string, field.ErrorList, error)
	config  Config
	refuses string // reason why new objects are refused, or ""
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
func (h hook[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	if h.refuses != "" {
		return nil, h.invalid(obj, field.ErrorList{field.Forbidden(field.NewPath("spec"), h.refuses)})
	}
	var none T
	return h.decide(ctx, h.warnings(obj), none, obj)
}

// decide validates an object and, if it is valid, runs the checks that read the API server.
func (h hook[T]) decide(ctx context.Context, warnings []string, old, obj T) (admission.Warnings, error) {
	errs := h.validate(old, obj)
	if len(errs) > 0 || h.ask == nil || h.config.Client == nil {
		return warnings, h.invalid(obj, errs)
	}
	more, errs, err := h.ask(ctx, h.config, old, obj)
	if err != nil {
		return warnings, apierrors.NewInternalError(err)
	}
	return append(warnings, more...), h.invalid(obj, errs)
}

// ValidateUpdate implements admission.Validator. An object that is being deleted may always lose its finalizers. The
// topology controller tries changes of templates as a dry run, to find out whether it has to create a new template.
func (h hook[T]) ValidateUpdate(ctx context.Context, old, obj T) (admission.Warnings, error) {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	if req, err := admission.RequestFromContext(ctx); err == nil && topology.IsDryRunRequest(req, obj) {
		return nil, nil
	}
	// Only new problems get a warning, because controllers write these objects often.
	before := h.warnings(old)
	warnings := slices.DeleteFunc(h.warnings(obj), func(w string) bool { return slices.Contains(before, w) })
	warnings = append(warnings, withoutEffect(h.kind, old, obj)...)
	return h.decide(ctx, warnings, old, obj)
}

// ValidateDelete implements admission.Validator.
func (h hook[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (h hook[T]) warnings(obj T) []string {
	warnings := ignored(h.kind, obj)
	if h.warn != nil {
		warnings = append(warnings, h.warn(obj)...)
	}
	return warnings
}

func (h hook[T]) invalid(obj T, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: infrav1.GroupVersion.Group, Kind: h.kind}, obj.GetName(), errs)
}
