package v1beta1

// Annotations of patch day, the controller that moves pools to newer versions of their images
// (feature gate PatchDay). On a Cluster they are for all its pools, on a MachineDeployment or
// MachinePool for that one; the pool's win.
const (
	// ImageChannelAnnotation is the channel that a pool follows: one of the values below.
	// Without it a pool is left alone.
	ImageChannelAnnotation = "infrastructure.cluster.x-k8s.io/image-channel"

	// MaintenanceWindowAnnotation is the cron expression of five fields at which a window
	// opens, such as "0 22 * * 2"; without it changes may begin at any time.
	MaintenanceWindowAnnotation = "infrastructure.cluster.x-k8s.io/maintenance-window"

	// MaintenanceWindowDurationAnnotation is how long a window is open, such as 4h (the default).
	MaintenanceWindowDurationAnnotation = "infrastructure.cluster.x-k8s.io/maintenance-window-duration"

	// MaintenanceWindowTimeZoneAnnotation is the time zone of the cron expression, such as
	// Europe/Berlin; UTC by default.
	MaintenanceWindowTimeZoneAnnotation = "infrastructure.cluster.x-k8s.io/maintenance-window-time-zone"

	// PatchOrderAnnotation is a number: of a cluster's pools those with lower ones are moved
	// first. It is 0 by default; of equal ones the smaller pool is first.
	PatchOrderAnnotation = "infrastructure.cluster.x-k8s.io/patch-order"

	// PatchCanaryAnnotation is the number of nodes of a pool that get a new version before the
	// others; 1 by default, 0 for none.
	PatchCanaryAnnotation = "infrastructure.cluster.x-k8s.io/patch-canary"

	// PatchSoakAnnotation is how long canary nodes have to be healthy; 10m by default.
	PatchSoakAnnotation = "infrastructure.cluster.x-k8s.io/patch-soak"

	// PatchTimeoutAnnotation is how long a pool may be without another healthy node of the new
	// version before it is rolled back; 30m by default.
	PatchTimeoutAnnotation = "infrastructure.cluster.x-k8s.io/patch-timeout"

	// PatchJobAnnotation is NAMESPACE/NAME of a suspended Job of the workload cluster. A copy
	// of it has to succeed on each canary node.
	PatchJobAnnotation = "infrastructure.cluster.x-k8s.io/patch-job"

	// PatchVariableAnnotation is the variable of a ClusterClass in whose value the version of
	// the image is; needed for pools that a topology makes.
	PatchVariableAnnotation = "infrastructure.cluster.x-k8s.io/patch-variable"

	// PatchFreezeAnnotation stops patch day; its value is the reason. A move in progress pauses until the
	// annotation is removed.
	PatchFreezeAnnotation = "infrastructure.cluster.x-k8s.io/patch-freeze"

	// PatchRollbackAnnotation asks for the version before; its value is the reason. It is removed
	// once the way back has begun.
	PatchRollbackAnnotation = "infrastructure.cluster.x-k8s.io/patch-rollback"

	// PatchStateAnnotation on a MachineDeployment or MachinePool is patch day's state of the pool.
	PatchStateAnnotation = "infrastructure.cluster.x-k8s.io/patch-state"

	// PatchBaseAnnotation on an AzureMachineTemplate that patch day made is the name of the
	// template that it is a copy of.
	PatchBaseAnnotation = "infrastructure.cluster.x-k8s.io/patch-base"
)

// Values of ImageChannelAnnotation.
const (
	// ImageChannelVerified is the newest version that is verified: in a gallery of a subscription,
	// `casement images build` has tried it out; in a community gallery or the marketplace, its build of
	// Windows has no known regressions.
	ImageChannelVerified = "latest-verified"
	// ImageChannelLatest is the newest version that its publisher does not exclude.
	ImageChannelLatest = "latest"
	// ImageChannelNone excepts a pool from its cluster's channel.
	ImageChannelNone = "none"
)

// ImageUpToDateCondition on a MachineDeployment or MachinePool is True where it has the image
// version that its channel has, and all its nodes do.
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
