//go:build e2e

package capi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// spec is a row of the table of specs.
type spec struct {
	name     string
	describe func(suite)
	// reason is the reason why the spec is not run; "" if it is run.
	reason string
}

// provider names the provider and its release to clusterctl, because the plane has no inventory of
// providers from which clusterctl could read them.
var provider = new("azure:" + release)

// specs returns Cluster API's specs in the order in which they run.
func specs() []spec {
	return slices.Concat([]spec{
		{name: "QuickStart windows", describe: quickStart("windows", false)},
		{name: "QuickStart linux", describe: quickStart("", false)},
		{name: "QuickStart topology-windows", describe: quickStart("topology-windows", true)},
		{name: "ClusterClass of other namespace", describe: classElsewhere},
		{name: "MachineDeployment scale", describe: scaleOutAndIn},
		{name: "MachinePool", describe: machinePool},
		{name: "Cluster deletion", describe: deletion},
		{name: "Node drain", describe: nodeDrain},
		{name: "KCP and MachineDeployment rollout", describe: rollout},
		{name: "MachineDeployment remediation", describe: workerRemediation},
		{name: "KCP adoption", describe: adoption},
		{name: "KCP remediation", describe: controlPlaneRemediation},
		{name: "Upgrade of Kubernetes", describe: upgrade},
		{name: "ClusterClass changes", describe: classChanges},
		{name: "ClusterClass rollout", describe: classRollout},
		{name: "Scale 10 clusters", describe: scale},
	}, notRun)
}

// notRun lists the specs that are not run, each with the reason.
var notRun = []spec{
	{name: "QuickStart machinepool-windows", reason: "the MachinePool spec creates this flavor"},
	{name: "Self-hosted", reason: "containers of the local plane are simulated: no controller runs in a workload cluster"},
	{name: "Autoscaler", reason: "containers of the local plane are simulated: the autoscaler's does not run"},
	{name: "Runtime SDK, in-place update", reason: "the plane runs no test extension"},
	{name: "clusterctl upgrade", reason: "make e2e-clusterctl has it: the plane here is not installed by clusterctl"},
	{name: "Conformance", reason: "containers of the local plane are simulated"},
}

func quickStart(flavor string, topology bool) func(suite) {
	return func(s suite) {
		e2e.QuickStartSpec(context.Background(), func() e2e.QuickStartSpecInput {
			return e2e.QuickStartSpecInput{
				E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
				InfrastructureProvider: provider, Flavor: &flavor, PostMachinesProvisioned: s.resilience(topology),
			}
		})
	}
}

func classElsewhere(s suite) {
	e2e.QuickStartSpec(context.Background(), func() e2e.QuickStartSpecInput {
		return e2e.QuickStartSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: new("topology-windows"), DeployClusterClassInSeparateNamespace: true,
		}
	})
}

func scaleOutAndIn(s suite) {
	e2e.MachineDeploymentScaleSpec(context.Background(), func() e2e.MachineDeploymentScaleSpecInput {
		return e2e.MachineDeploymentScaleSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: "windows",
		}
	})
}

func machinePool(s suite) {
	e2e.MachinePoolSpec(context.Background(), func() e2e.MachinePoolInput {
		return e2e.MachinePoolInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: new("machinepool-windows"),
		}
	})
}

func deletion(s suite) {
	e2e.ClusterDeletionSpec(context.Background(), func() e2e.ClusterDeletionSpecInput {
		return e2e.ClusterDeletionSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: new("topology-windows"), ControlPlaneMachineCount: new(int64(3)),
			ClusterDeletionPhases: []e2e.ClusterDeletionPhase{
				phase("Machine", "MachineDeployment", "MachineSet"),
				phase("Machine", "KubeadmControlPlane"),
				phase("AzureCluster"),
			},
		}
	})
}

// phase returns a step of a deletion: objects of the kinds, and Machines that one of the other
// kinds owns, are deleted together. The step lasts until the objects of the first kind are deleted.
func phase(first string, others ...string) e2e.ClusterDeletionPhase {
	return e2e.ClusterDeletionPhase{
		ObjectFilter: func(o corev1.ObjectReference, owners []metav1.OwnerReference) bool {
			if o.Kind == "Machine" {
				return slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return slices.Contains(others, r.Kind) })
			}
			return o.Kind == first || slices.Contains(others, o.Kind)
		},
		BlockingObjectFilter: func(o corev1.ObjectReference, _ []metav1.OwnerReference) bool { return o.Kind == first },
	}
}

func nodeDrain(s suite) {
	e2e.NodeDrainTimeoutSpec(context.Background(), func() e2e.NodeDrainTimeoutSpecInput {
		return e2e.NodeDrainTimeoutSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: new("topology-windows"), PostNamespaceCreated: drainAddonsNever,
		}
	})
}

// drainAddonsNever excludes the addons of clusters from drains. A Machine's condition names at most
// three Pods, and the spec expects its own Pod among them, but the first control plane node has
// four Pods of addons, which come first in the alphabet.
func drainAddonsNever(plane framework.ClusterProxy, namespace string) {
	gomega.Expect(plane.GetClient().Create(context.Background(), &clusterv1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Name: "addons", Namespace: namespace},
		Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorSkip},
			Pods: []clusterv1.MachineDrainRulePodSelector{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem}},
			}},
		},
	})).To(gomega.Succeed())
}

func rollout(s suite) {
	e2e.KCPAndMachineDeploymentRolloutSpec(context.Background(), func() e2e.KCPAndMachineDeploymentRolloutSpecInput {
		return e2e.KCPAndMachineDeploymentRolloutSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: "kcp-md-taints",
		}
	})
}

func workerRemediation(s suite) {
	e2e.MachineDeploymentRemediationSpec(context.Background(), func() e2e.MachineDeploymentRemediationSpecInput {
		return e2e.MachineDeploymentRemediationSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider,
		}
	})
}

func controlPlaneRemediation(s suite) {
	e2e.KCPRemediationSpec(context.Background(), func() e2e.KCPRemediationSpecInput {
		return e2e.KCPRemediationSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider,
		}
	})
}

func adoption(s suite) {
	e2e.KCPAdoptionSpec(context.Background(), func() e2e.KCPAdoptionSpecInput {
		return e2e.KCPAdoptionSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider,
		}
	})
}

func upgrade(s suite) {
	e2e.ClusterUpgradeConformanceSpec(context.Background(), func() e2e.ClusterUpgradeConformanceSpecInput {
		return e2e.ClusterUpgradeConformanceSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: new("topology-windows"), SkipConformanceTests: true,
			ControlPlaneMachineCount: new(int64(1)), WorkerMachineCount: new(int64(2)),
		}
	})
}

func classChanges(s suite) {
	e2e.ClusterClassChangesSpec(context.Background(), func() e2e.ClusterClassChangesSpecInput {
		return e2e.ClusterClassChangesSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: "topology-windows",
			ModifyControlPlaneFields:                                   map[string]any{"spec.kubeadmConfigSpec.verbosity": int64(4)},
			ModifyMachineDeploymentBootstrapConfigTemplateFields:       map[string]any{"spec.template.spec.verbosity": int64(4)},
			ModifyMachineDeploymentInfrastructureMachineTemplateFields: map[string]any{"spec.template.spec.osDisk.diskSizeGB": int64(130)},
		}
	})
}

func classRollout(s suite) {
	e2e.ClusterClassRolloutSpec(context.Background(), func() e2e.ClusterClassRolloutSpecInput {
		return e2e.ClusterClassRolloutSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: "topology-taints", FilterMetadataBeforeValidation: withoutOwn,
		}
	})
}

// withoutOwn returns the labels and annotations of an object that the provider has not written. The
// annotation that selects where bootstrap secrets are stored comes from the template.
func withoutOwn(o client.Object) clusterv1.ObjectMeta {
	own := func(key, _ string) bool {
		return strings.HasPrefix(key, "infrastructure.cluster.x-k8s.io/") && key != "infrastructure.cluster.x-k8s.io/bootstrap-secrets" ||
			strings.HasPrefix(key, "casement.dev/") || key == "clusterctl.cluster.x-k8s.io/block-move" // as CAPZ's AzureClusters have
	}
	labels, annotations := maps.Clone(o.GetLabels()), maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(labels, own)
	maps.DeleteFunc(annotations, own)
	return clusterv1.ObjectMeta{Labels: labels, Annotations: annotations}
}

func scale(s suite) {
	e2e.ScaleSpec(context.Background(), func() e2e.ScaleSpecInput {
		return e2e.ScaleSpecInput{
			E2EConfig: s.config, ClusterctlConfigPath: s.clusterctl, BootstrapClusterProxy: s.proxy, ArtifactFolder: s.artifacts,
			InfrastructureProvider: provider, Flavor: new("scale"), ClusterClassName: "casement-windows",
			ClusterCount: new(int64(10)), Concurrency: new(int64(2)), ControlPlaneMachineCount: new(int64(1)),
			MachineDeploymentCount: new(int64(1)), WorkerPerMachineDeploymentCount: new(int64(1)), SkipUpgrade: true,
		}
	})
}
