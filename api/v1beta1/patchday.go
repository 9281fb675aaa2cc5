package v1beta1

// Annotations of patch day, the controller that moves pools to newer versions of their images (feature gate PatchDay).
// On a Cluster they apply to all its pools, on a MachineDeployment or MachinePool to that pool alone, where they take
// precedence.
const (
	// ImageChannelAnnotation is the channel that a pool follows: one of the values below. Without it, patch day does
	// not change the pool.
	ImageChannelAnnotation = "infrastructure.cluster.x-k8s.io/image-channel"

	// MaintenanceWindowAnnotation is the cron expression of five fields at which a window
	// opens, such as "0 22 * * 2"; without it changes may begin at any time.
	MaintenanceWindowAnnotation = "infrastructure.cluster.x-k8s.io/maintenance-window"

	// MaintenanceWindowDurationAnnotation is the length of a window, such as 4h (the default).
	MaintenanceWindowDurationAnnotation = "infrastructure.cluster.x-k8s.io/maintenance-window-duration"

	// MaintenanceWindowTimeZoneAnnotation is the time zone of the cron expression, such as
	// Europe/Berlin; UTC by default.
	MaintenanceWindowTimeZoneAnnotation = "infrastructure.cluster.x-k8s.io/maintenance-window-time-zone"

	// PatchOrderAnnotation is a number, 0 by default: pools with a lower number are moved first. Of pools with equal
	// numbers, the smaller pool is first.
	PatchOrderAnnotation = "infrastructure.cluster.x-k8s.io/patch-order"

	// PatchCanaryAnnotation is the number of nodes of a pool that get a new version before the
	// others; 1 by default, 0 for none.
	PatchCanaryAnnotation = "infrastructure.cluster.x-k8s.io/patch-canary"

	// PatchSoakAnnotation is the time that canary nodes have to be healthy; 10m by default.
	PatchSoakAnnotation = "infrastructure.cluster.x-k8s.io/patch-soak"

	// PatchTimeoutAnnotation is the time after which a pool is rolled back if no further node of the new version
	// becomes healthy; 30m by default.
	PatchTimeoutAnnotation = "infrastructure.cluster.x-k8s.io/patch-timeout"

	// PatchJobAnnotation is NAMESPACE/NAME of a suspended Job of the workload cluster. A copy
	// of it has to succeed on each canary node.
	PatchJobAnnotation = "infrastructure.cluster.x-k8s.io/patch-job"

	// PatchVariableAnnotation is the name of the variable of a ClusterClass whose value contains the image version;
	// pools that a topology creates require it.
	PatchVariableAnnotation = "infrastructure.cluster.x-k8s.io/patch-variable"

	// PatchFreezeAnnotation stops patch day; its value is the reason. A move in progress pauses until the
	// annotation is removed; a rollback still begins and goes on.
	PatchFreezeAnnotation = "infrastructure.cluster.x-k8s.io/patch-freeze"

	// PatchRollbackAnnotation requests the previous version; its value is the reason. It is removed once the rollback has begun.
	PatchRollbackAnnotation = "infrastructure.cluster.x-k8s.io/patch-rollback"

	// PatchStateAnnotation on a MachineDeployment or MachinePool is patch day's state of the pool.
	PatchStateAnnotation = "infrastructure.cluster.x-k8s.io/patch-state"

	// PatchBaseAnnotation on an AzureMachineTemplate that patch day made is the name of the
	// template that it is a copy of.
	PatchBaseAnnotation = "infrastructure.cluster.x-k8s.io/patch-base"
)

// Values of ImageChannelAnnotation.
const (
	// ImageChannelVerified is the newest verified version. In a gallery of a subscription, that is a version which
	// `casement images build` has tested; in a community gallery or the marketplace, a version whose build of Windows
	// has no known regressions.
	ImageChannelVerified = "latest-verified"
	// ImageChannelLatest is the newest version that its publisher does not exclude.
	ImageChannelLatest = "latest"
	// ImageChannelNone excludes a pool from its cluster's channel.
	ImageChannelNone = "none"
)

// ImageUpToDateCondition on a MachineDeployment or MachinePool is True if the pool and all its nodes have the image
// version of its channel.
const ImageUpToDateCondition = "ImageUpToDate"

// Reasons of ImageUpToDateCondition.
const (
	ImageUpToDateReason       = "UpToDate"
	ImageNotVersionedReason   = "ImageNotVersioned"
	ImageNotReadReason        = "ImageNotRead"
	PatchPolicyInvalidReason  = "PolicyInvalid"
	PatchFrozenReason         = "Frozen"
	PatchOutsideWindowReason  = "WaitingForWindow"
	PatchWaitingForPoolReason = "WaitingForPool"
	PatchCanaryReason         = "Canary"
	PatchSoakingReason        = "Soaking"
	PatchRollingReason        = "Rolling"
	PatchRollingBackReason    = "RollingBack"
	PatchRolledBackReason     = "RolledBack"
	PatchChangeRefusedReason  = "ChangeRefused"
	PatchRefusedReason        = "RefusedElsewhere"
)
