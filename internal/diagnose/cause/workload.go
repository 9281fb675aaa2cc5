package cause

// admission are the causes in an API server's refusals of objects that controllers create. Sources: messages of
// k8s.io/apiserver's webhook client and of the built-in plugins.
var admission = []Cause{
	// Source: go.etcd.io/etcd/api/v3/v3rpc/rpctypes.
	row("EtcdFull", `mvcc: database space exceeded`, "etcd has used up its space, so the API server takes no more writes",
		"compact and defragment etcd and clear its alarm (etcdctl alarm disarm), or raise quota-backend-bytes of etcd's extraArgs"),
	row("EtcdSlow", `etcdserver: (request timed out|leader changed|no leader|too many requests)`,
		"etcd does not answer the API server in time, or has no leader",
		"look at the control plane: casement why CLUSTER; etcd needs fast disks and most of its members"),
	row("ConversionWebhookUnavailable", `conversion webhook for .* failed`,
		"a conversion webhook does not answer, so objects of the kind can be neither read nor written",
		"start the webhook's Deployment, or correct spec.conversion of the CustomResourceDefinition"),
	row("WebhookUnavailable", `failed calling webhook|failed to call webhook`,
		"an admission webhook that has to be asked does not answer",
		"start the webhook's Deployment, or delete its configuration: kubectl get "+
			"validatingwebhookconfigurations,mutatingwebhookconfigurations"),
	row("WebhookDenied", `admission webhook "[^"]*" denied the request`, "an admission webhook refuses the object",
		"change the template as the message says"),
	row("AdmissionPolicyDenied", `ValidatingAdmissionPolicy '[^']*' .*denied`,
		"an admission policy refuses the object", "change the template as the message says"),
	row("ResourceQuotaExceeded", `exceeded quota|must specify (limits|requests|cpu|memory)|failed quota`,
		"the namespace's ResourceQuota lets no more be created",
		"raise the quota, or lower replicas and requests: kubectl describe resourcequota"),
	row("LimitRangeViolated",
		`(maximum|minimum) (cpu|memory|storage|ephemeral-storage) (usage|limit|request)?.*per (Container|Pod|PersistentVolumeClaim)|`+
			`max limit to request ratio`,
		"the namespace's LimitRange forbids such requests",
		"change the requests and limits: kubectl describe limitrange"),
	row("PodSecurityViolated", `violates PodSecurity`, "the namespace's Pod Security level forbids the pod",
		"change the pod as the message says, or the namespace's pod-security.kubernetes.io labels"),
	row("ServiceAccountMissing", `serviceaccount "?[^" ]*"? not found|error looking up service account`,
		"the pod's service account does not exist", "create it in the pod's namespace"),
	row("PriorityClassMissing", `no PriorityClass with name`, "the pod's PriorityClass does not exist",
		"create it, or name one of kubectl get priorityclasses"),
	row("RuntimeClassMissing", `RuntimeClass "[^"]*" not found|runtimeclass.*not found`,
		"the pod's RuntimeClass does not exist", "create it, or name one of kubectl get runtimeclasses"),
	row("NamespaceTerminating", `because it is being terminated|NamespaceTerminating`,
		"the namespace is being deleted",
		"use another namespace, or see what keeps this one: kubectl get namespace -o yaml"),
	row("TemplateMissing", `templates?\b.* (not found|do(es)? not exist)`,
		"the template that the set makes machines of does not exist",
		"create it, or correct the reference in the set's spec"),
	row("Forbidden", `is forbidden: User`, "the controller may not create the object",
		"give the controller's service account the right that the message names"),
	row("InvalidTemplate", `is invalid: |Invalid value|Required value|Unsupported value|strict decoding error`,
		"the template makes an object that the API server refuses", "correct the field that the message names"),
}

// service are the causes in cloud providers' messages about a load balancer.
var service = append([]Cause{
	row("AddressMissing", `StaticIPAddress.*not found|user supplied IP Address .* was not found|PublicIP from annotation .* doesn't exist|`+
		`cannot find public IP`, "the public address that the service names is not in the resource group where it is looked for",
		"name the group that has it in the annotation service.beta.kubernetes.io/azure-load-balancer-resource-group, or correct "+
			"spec.loadBalancerIP or the annotation that names the address"),
	row("AddressInUse", `PublicIPAddressInUse|StaticIPAddress.*in use|PrivateIPAddress(IsAllocated|InReservedRange|NotInSubnet)`,
		"the address that the service asks for is not free",
		"correct spec.loadBalancerIP or the annotation that names the address"),
	row("VMTypeMismatch", `not a vmss instance|not a standard (vm|instance)|instance is not in availability set`,
		"the machines are of another type than azure.json says", "set vmType of azure.json (standard or vmss) to that of the machines"),
	row("AnnotationInvalid", `idle timeout value must be|invalid address prefix|annotation service\.beta\.kubernetes\.io/`,
		"the cloud provider refuses the value of an annotation", "correct the annotation that the message names"),
	row("SubnetUnknown", `subnet.*not found|NotFound.*subnet|failed to get subnet`, "the subnet that the service names does not exist",
		"correct the annotation azure-load-balancer-internal-subnet"),
}, azure...)
