package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/component-base/featuregate"
)

// MachinePool is the gate for AzureMachinePools. Cluster API has a gate of the same name for its MachinePools: if it is
// off, this one can be off too.
const MachinePool featuregate.Feature = "MachinePool"

// PatchDay is the gate for moving pools to newer versions of their images, as annotations request.
const PatchDay featuregate.Feature = "PatchDay"

// idleGates returns the gates of CAPZ v1.26 that have no effect here, with the reasons. They are known so that an
// operator's flags continue to work.
func idleGates() map[featuregate.Feature]string {
	return map[featuregate.Feature]string{
		"AKS":               "there are no AKS kinds",
		"AKSResourceHealth": "there are no AKS kinds",
		"ASOAPI":            "there is no Azure Service Operator",
		"APIServerILB": "an internal load balancer is made where the API server's load " +
			"balancer has a private frontend IP, and only there",
		"EdgeZone":                           "edge zones need no gate",
		"SkipMachinePoolModelReconciliation": "a scale set's model always follows its AzureMachinePool",
	}
}

// gates returns all feature gates with the values that FeatureGates sets.
func (o *Options) gates() (featuregate.MutableVersionedFeatureGate, error) {
	specs := map[featuregate.Feature]featuregate.FeatureSpec{MachinePool: {Default: true, PreRelease: featuregate.Beta},
		PatchDay: {PreRelease: featuregate.Alpha}}
	for gate := range idleGates() {
		specs[gate] = featuregate.FeatureSpec{PreRelease: featuregate.Alpha}
	}
	gates := featuregate.NewFeatureGate()
	if err := gates.Add(specs); err != nil {
		return nil, err
	}
	if err := gates.SetFromMap(o.FeatureGates); err != nil {
		return nil, fmt.Errorf("--feature-gates: %w; known are %s", err, strings.Join(gates.KnownFeatures(), ", "))
	}
	return gates, nil
}

// tellIdleGates logs each gate that was set although it has no effect.
func tellIdleGates(gates featuregate.MutableVersionedFeatureGate, log logr.Logger) {
	idle := idleGates()
	for _, gate := range slices.Sorted(maps.Keys(idle)) {
		if gates.ExplicitlySet(gate) {
			log.Info("The feature gate changes nothing", "gate", gate, "value", gates.Enabled(gate), "reason", idle[gate])
		}
	}
}
