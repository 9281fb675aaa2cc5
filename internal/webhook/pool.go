package webhook

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

// The permitted minutes of notice before an instance ends. Source:
// https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification.
const (
	shortestNotice = 5
	longestNotice  = 15
)

// inheritPool copies generated values that an update leaves empty from the old object.
func inheritPool(old, p *infrav1.AzureMachinePool) {
	was, is := old.MachineSpec(), p.MachineSpec()
	inheritDrawn(&was, &is)
	p.SetMachineSpec(is)
}

func defaultPool(p *infrav1.AzureMachinePool) error {
	spec := p.MachineSpec()
	defaultRole(&spec)
	if err := defaultMachineSpec(&spec); err != nil {
		return err
	}
	p.SetMachineSpec(spec)
	setDefault(&p.Spec.OrchestrationMode, infrav1.UniformOrchestrationMode)
	strategy := &p.Spec.Strategy
	setDefault(&strategy.Type, infrav1.RollingUpdateAzureMachinePoolDeploymentStrategyType)
	if strategy.RollingUpdate == nil {
		strategy.RollingUpdate = &infrav1.MachineRollingUpdateDeployment{}
	}
	rolling := strategy.RollingUpdate
	if rolling.MaxSurge == nil {
		rolling.MaxSurge = new(intstr.FromInt32(1))
	}
	if rolling.MaxUnavailable == nil {
		rolling.MaxUnavailable = new(intstr.FromInt32(0))
	}
	setDefault(&rolling.DeletePolicy, infrav1.OldestDeletePolicyType)
	return nil
}

func validatePool(old, p *infrav1.AzureMachinePool) field.ErrorList {
	template := field.NewPath("spec", "template")
	spec := p.MachineSpec()
	errs := append(misnamed(desired.MachineNames(&spec, template.String())), validatePoolSpec(p, spec)...)
	if old != nil {
		errs = append(errs, poolImmutable(old, p)...)
	}
	return errs
}

func validatePoolSpec(p *infrav1.AzureMachinePool, spec infrav1.AzureMachineSpec) field.ErrorList {
	path := field.NewPath("spec")
	template := path.Child("template")
	errs := append(validateVM(&spec, template), validateIdentities(&spec, path)...)
	errs = append(errs, validateStrategy(p.Spec.Strategy.RollingUpdate, path.Child("strategy", "rollingUpdate"))...)
	if n := p.Spec.Template.TerminateNotificationTimeout; n != nil && (*n < shortestNotice || *n > longestNotice) {
		errs = append(errs, field.Invalid(template.Child("terminateNotificationTimeout"), *n, "must be 5 to 15 minutes"))
	}
	return errs
}

// validatePoolTemplate checks the pools that a template creates in the same way as their own admission, except names
// and IDs. The template itself gets no defaults and can be changed, because a topology changes its pools in place.
func validatePoolTemplate(_, t *infrav1.AzureMachinePoolTemplate) field.ErrorList {
	p := &infrav1.AzureMachinePool{ObjectMeta: metav1.ObjectMeta{Annotations: t.Spec.Template.ObjectMeta.Annotations},
		Spec: *t.Spec.Template.Spec.DeepCopy()}
	resource := field.NewPath("spec", "template")
	if err := defaultPool(p); err != nil {
		return field.ErrorList{field.InternalError(resource, err)}
	}
	errs := validatePoolSpec(p, p.MachineSpec())
	for _, err := range errs {
		err.Field = resource.String() + "." + err.Field
	}
	return errs
}

func validateStrategy(r *infrav1.MachineRollingUpdateDeployment, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	isZero := func(v *intstr.IntOrString, name string) bool {
		if v == nil {
			return true
		}
		if n, err := intstr.GetScaledValueFromIntOrPercent(v, 100, true); err != nil || n < 0 {
			errs = append(errs, field.Invalid(path.Child(name), v.String(), "must be a number or a percentage, 0 or more"))
			return false
		}
		return *v == intstr.FromInt32(0)
	}
	surge, unavailable := isZero(r.MaxSurge, "maxSurge"), isZero(r.MaxUnavailable, "maxUnavailable")
	// A percentage of 0 is valid, as in CAPZ: the controller then adds one instance at a time.
	if surge && unavailable {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), 0,
			"cannot be 0 when maxSurge is 0: no instance could ever be replaced"))
	}
	return errs
}

// poolImmutable refuses changes that Azure does not allow in a scale set.
func poolImmutable(old, p *infrav1.AzureMachinePool) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	same := func(at *field.Path, was, is any, why string) {
		if !reflect.DeepEqual(was, is) {
			errs = append(errs, field.Invalid(at, is, why))
		}
	}
	errs = append(errs, sameProviderID(path.Child("providerID"), old.Spec.ProviderID, p.Spec.ProviderID)...)
	same(path.Child("location"), old.Spec.Location, p.Spec.Location, "a scale set stays in its location; make a new pool")
	was := old.Spec.OrchestrationMode
	setDefault(&was, infrav1.UniformOrchestrationMode)
	same(path.Child("orchestrationMode"), was, p.Spec.OrchestrationMode, "a scale set keeps its orchestration mode; make a new pool")
	same(path.Child("template", "osDisk", "osType"), old.Spec.Template.OSDisk.OSType, p.Spec.Template.OSDisk.OSType,
		"a scale set keeps its operating system; make a new pool")
	if off := old.Spec.Template.DisableVMBootstrapExtension; off != nil {
		same(path.Child("template", "disableVMBootstrapExtension"), off,
			p.Spec.Template.DisableVMBootstrapExtension, "cannot be changed once it is set")
	}
	if role := old.Spec.SystemAssignedIdentityRole; role != nil && role.Name != "" {
		now := ""
		if p.Spec.SystemAssignedIdentityRole != nil {
			now = p.Spec.SystemAssignedIdentityRole.Name
		}
		same(path.Child("systemAssignedIdentityRole", "name"), role.Name, now, "cannot be changed once it is set")
	}
	return errs
}

func validatePoolMachine(old, m *infrav1.AzureMachinePoolMachine) field.ErrorList {
	if old == nil {
		return nil
	}
	return sameProviderID(field.NewPath("spec", "providerID"), old.Spec.ProviderID, m.Spec.ProviderID)
}
