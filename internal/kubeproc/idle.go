package kubeproc

import "strings"

// uncached are resources that are rarely written and have few watchers, each with its API group. A watch cache wakes
// about once a second, as of Kubernetes 1.36, and an API server has one for each resource: without these caches an idle
// server needs a third less processor time. Watches of these resources read from etcd. Names that a server does not
// know are harmless.
const uncached = `
	endpoints limitranges persistentvolumeclaims persistentvolumes podtemplates replicationcontrollers resourcequotas
	mutatingadmissionpolicies.admissionregistration.k8s.io mutatingadmissionpolicybindings.admissionregistration.k8s.io
	mutatingwebhookconfigurations.admissionregistration.k8s.io validatingadmissionpolicies.admissionregistration.k8s.io
	validatingadmissionpolicybindings.admissionregistration.k8s.io validatingwebhookconfigurations.admissionregistration.k8s.io
	customresourcedefinitions.apiextensions.k8s.io apiservices.apiregistration.k8s.io controllerrevisions.apps
	statefulsets.apps horizontalpodautoscalers.autoscaling cronjobs.batch jobs.batch certificatesigningrequests.certificates.k8s.io
	flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
	ingressclasses.networking.k8s.io ingresses.networking.k8s.io ipaddresses.networking.k8s.io networkpolicies.networking.k8s.io
	servicecidrs.networking.k8s.io runtimeclasses.node.k8s.io poddisruptionbudgets.policy
	clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io
	roles.rbac.authorization.k8s.io deviceclasses.resource.k8s.io resourceclaims.resource.k8s.io
	resourceclaimtemplates.resource.k8s.io resourceslices.resource.k8s.io priorityclasses.scheduling.k8s.io
	csidrivers.storage.k8s.io csinodes.storage.k8s.io csistoragecapacities.storage.k8s.io storageclasses.storage.k8s.io
	volumeattachments.storage.k8s.io volumeattributesclasses.storage.k8s.io
	kubeadmconfigs.bootstrap.cluster.x-k8s.io machinedeployments.cluster.x-k8s.io machinehealthchecks.cluster.x-k8s.io
	machinepools.cluster.x-k8s.io kubeadmcontrolplanes.controlplane.cluster.x-k8s.io clusters.cluster.x-k8s.io
	clusterclasses.cluster.x-k8s.io machinedrainrules.cluster.x-k8s.io clusterresourcesets.addons.cluster.x-k8s.io
	extensionconfigs.runtime.cluster.x-k8s.io ipaddresses.ipam.cluster.x-k8s.io ipaddressclaims.ipam.cluster.x-k8s.io
	kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io kubeadmcontrolplanetemplates.controlplane.cluster.x-k8s.io
	azureclustertemplates.infrastructure.cluster.x-k8s.io azuremachinetemplates.infrastructure.cluster.x-k8s.io
	azureclusteridentities.infrastructure.cluster.x-k8s.io
	azuremachinepooltemplates.infrastructure.cluster.x-k8s.io
	helmchartproxies.addons.cluster.x-k8s.io helmreleaseproxies.addons.cluster.x-k8s.io
	bgpconfigurations.crd.projectcalico.org bgpfilters.crd.projectcalico.org bgppeers.crd.projectcalico.org
	blockaffinities.crd.projectcalico.org caliconodestatuses.crd.projectcalico.org clusterinformations.crd.projectcalico.org
	felixconfigurations.crd.projectcalico.org globalnetworkpolicies.crd.projectcalico.org
	globalnetworksets.crd.projectcalico.org hostendpoints.crd.projectcalico.org ipamblocks.crd.projectcalico.org
	ipamconfigs.crd.projectcalico.org ipamhandles.crd.projectcalico.org ippools.crd.projectcalico.org
	ipreservations.crd.projectcalico.org kubecontrollersconfigurations.crd.projectcalico.org
	networkpolicies.crd.projectcalico.org networksets.crd.projectcalico.org
	stagedglobalnetworkpolicies.crd.projectcalico.org stagedkubernetesnetworkpolicies.crd.projectcalico.org
	stagednetworkpolicies.crd.projectcalico.org tiers.crd.projectcalico.org`

// IdleFlags returns the flags, each as NAME=VALUE and sorted by name, with which a kube-apiserver on this machine needs
// little processor time while it is idle: no watch caches where they are of little use, and no counting of objects for
// metrics that nothing reads. etcd compacts more often, because a growing cluster writes thousands of versions in the
// default period of five minutes.
func IdleFlags() []string {
	sizes := strings.Fields(uncached)
	for i := range sizes {
		sizes[i] += "#0"
	}
	return []string{
		"etcd-compaction-interval=2m0s", "etcd-count-metric-poll-period=0", "etcd-db-metric-poll-interval=0",
		"watch-cache-sizes=" + strings.Join(sizes, ","),
	}
}
