package windows

// PodField is a field that the API server refuses together with spec.os.name: windows, with the reaction of a kubelet
// on Windows to a pod without spec.os.name.
type PodField struct {
	// Path is the path below the pod's spec, or below a container if it begins with "C.".
	Path string
	// Since is the first Kubernetes minor version whose API server refuses the field.
	Since int
	// Reason is the reason with which a kubelet on Windows refuses the pod; "" if it ignores the field.
	Reason string
	// Value is the only value that a kubelet refuses; "" means any value.
	Value string
}

// PodFields returns the table of fields. Source: kubernetes pkg/apis/core/validation/validation.go, validateWindows and
// validatePodResources; pkg/kubelet/lifecycle and pkg/kubelet/sysctl, with which TestWindowsSources of
// internal/sim/kubelet compares the simulated kubelet.
func PodFields() []PodField {
	return []PodField{
		{Path: "hostPID", Since: 24},
		{Path: "hostIPC", Since: 24},
		{Path: "hostUsers", Since: 25},
		{Path: "shareProcessNamespace", Since: 24},
		{Path: "resources", Since: 32, Reason: "PodLevelResourcesNotSupported"},
		{Path: "securityContext.runAsUser", Since: 24},
		{Path: "securityContext.runAsGroup", Since: 24},
		{Path: "securityContext.fsGroup", Since: 24},
		{Path: "securityContext.fsGroupChangePolicy", Since: 24},
		{Path: "securityContext.supplementalGroups", Since: 24},
		{Path: "securityContext.supplementalGroupsPolicy", Since: 31, Reason: "SupplementalGroupsPolicyNotSupported", Value: "Strict"},
		{Path: "securityContext.sysctls", Since: 24, Reason: "SysctlForbidden"},
		{Path: "securityContext.seLinuxOptions", Since: 24},
		{Path: "securityContext.seLinuxChangePolicy", Since: 32},
		{Path: "securityContext.seccompProfile", Since: 24},
		{Path: "securityContext.appArmorProfile", Since: 30},
		{Path: "C.securityContext.privileged", Since: 24},
		{Path: "C.securityContext.allowPrivilegeEscalation", Since: 24},
		{Path: "C.securityContext.capabilities", Since: 24},
		{Path: "C.securityContext.readOnlyRootFilesystem", Since: 24},
		{Path: "C.securityContext.procMount", Since: 24},
		{Path: "C.securityContext.runAsUser", Since: 24},
		{Path: "C.securityContext.runAsGroup", Since: 24},
		{Path: "C.securityContext.seLinuxOptions", Since: 24},
		{Path: "C.securityContext.seccompProfile", Since: 24},
		{Path: "C.securityContext.appArmorProfile", Since: 30},
	}
}
