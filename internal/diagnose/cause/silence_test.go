package cause

import (
	"strings"
	"testing"
)

// TestSilence: the words of one program are no evidence in the lines of another.
func TestSilence(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		text string
		// want is the cause, "" for none.
		want string
	}{
		"a user's command cannot connect": {Guest, "curl: (7) Failed to connect to files.example port 443: connection refused", ""},
		"a user's command times out":      {Guest, "myapp: dial tcp 10.9.0.4:443: i/o timeout", ""},
		"a user's gzip":                   {Guest, "gzip: stdin: not in gzip format", ""},
		"a user's token":                  {Guest, "vault: token is invalid or has expired", ""},
		"a user's certificate":            {Guest, "wget: certificate signed by unknown authority", ""},
		"a user's template":               {Guest, "helm: template: x.yaml: syntax error", ""},
		"a user's password":               {Guest, "net user: the password is longer than 14 characters", ""},
		"kubeadm's refused": {Guest, "[discovery] Failed to request cluster info: dial tcp " +
			"10.0.0.4:6443: connect: connection refused", "APIRefused"},
		"kubeadm's timeout": {Guest, `error execution phase preflight: Get ` +
			`"https://10.0.0.4:6443/api": dial tcp 10.0.0.4:6443: i/o timeout`, "NoRouteToAPI"},
		"the name of the API server": {Guest, `[discovery] Get "https://api.example:6443": dial tcp: lookup ` +
			`api.example: no such host`, "APINameUnresolved"},
		"the kubelet and cgroup v1": {Guest, `E1127 06:00:00.000000 1 run.go:72] "command failed" err="kubelet ` +
			`is configured to not run on a host using cgroup v1"`, "CgroupV1Refused"},
		"the kubelet and swap": {Guest, `E1127 06:00:00.000000 1 run.go:72] "command failed" err="running ` +
			`with swap on is not supported, please disable swap"`, "SwapOn"},
		"kubelet.conf": {Guest, "[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: " +
			"/etc/kubernetes/kubelet.conf already exists", "AlreadyJoined"},
		"an old kubeadm": {Guest, "this version of kubeadm only supports deploying clusters with " +
			"the control plane version >= 1.35.0", "KubeadmVersion"},
		"a clock behind": {Guest, "x509: certificate has expired or is not yet valid: current time " +
			"2020-01-01T00:00:00Z is before 2026-01-01T00:00:00Z", "ClockWrong"},
		"Cluster API's syntax error": {Data, "failed to parse certificate: asn1: syntax error: sequence truncated", ""},
		".NET's memory": {Container, "Error: Unhandled exception. System.OutOfMemoryException: " +
			"Array dimensions exceeded", "OutOfMemory"},
		"the kubelet's room": {Container, "OutOfmemory: Node didn't have enough resource: memory", "NodeFull"},
		"an expired secret": {Azure, "Failed: AADSTS7000222: The provided client secret keys are " +
			"expired", "CredentialsRefused"},
		"an unknown application": {Azure, "Failed: AADSTS700016: Application with identifier 'x' was not " +
			"found in the directory", "IdentityUnknown"},
		"a federation that differs": {Azure, "Failed: AADSTS700213: No matching federated identity record " +
			"found for presented assertion subject", "FederationMismatch"},
		"a tenant that does not exist": {Azure, "Failed: AADSTS90002: Tenant 'x' not found", "WrongTenant"},
		"a code of Entra ID":           {Azure, "Failed: AADSTS500011: The resource principal was not found", "SignInRefused"},
		"Conditional Access": {Azure, "Failed: AADSTS53003: Access has been blocked by Conditional " +
			"Access policies", "SignInBlocked"},
		"a deny assignment": {Azure, "DenyAssignmentAuthorizationFailed: The client has permission; " +
			"however, the access is denied because of the deny assignment", "DeniedByAssignment"},
		"another tenant": {Azure, "InvalidAuthenticationTokenTenant: The access token is from the " +
			"wrong issuer", "WrongTenant"},
		"a role": {Azure, "AuthorizationFailed: The client does not have authorization to " +
			"perform action", "AuthorizationFailed"},
		"an extension": {Azure, "VMExtensionProvisioningError: VM has reported a failure when " +
			"processing extension", "ExtensionFailed"},
		"casement's identity": {Azure, "IdentityInvalid: spec.clientID is empty", "IdentityInvalid"},
		"casement's namespaces": {Azure, "NamespaceNotAllowedByIdentity: spec.identityRef: namespace " +
			"x", "NamespaceNotAllowed"},
		"a zone": {Azure, "InvalidAvailabilityZone: The zone(s) '4' is not supported", "ZoneNotSupported"},
		"an ephemeral disk": {Azure, "InvalidParameter: OS disk of Ephemeral VM with size greater than " +
			"50 GB is not allowed", "DiskNotSupported"},
		"Trusted launch": {Azure, "BadRequest: Use of TrustedLaunch setting is not supported for " +
			"the provided image", "GenerationMismatch"},
		"a subnet in use": {Azure, "InUseSubnetCannotBeDeleted: Subnet node is in use by x and " +
			"cannot be deleted", "StillInUse"},
		"a resource group that is gone": {Azure, "ResourceGroupNotFound: Resource group 'demo' could not be " +
			"found", "ResourceGroupGone"},
		"a vault's firewall": {Azure, "ForbiddenByFirewall: Client address is not authorized", "VaultForbidden"},
		"no capacity in a zone": {Azure, "OverconstrainedZonalAllocationRequest: Allocation failed. VM(s) with the following constraints " +
			"cannot be allocated, because the condition is too restrictive.", "AllocationFailed"},
		"an ephemeral disk that the size has not": {Azure, "NotSupported: OS disk of Ephemeral VM is not supported for VM size " +
			"Standard_D2s_v3", "DiskNotSupported"},
		"public addresses": {Azure, "PublicIPCountLimitReached: Cannot create more than 20 public IP addresses for this subscription in " +
			"this region.", "AddressQuotaExceeded"},
		"frontends of a balancer": {Service, "400 LoadBalancerFrontendIPConfigurationCountLimitReached: A load balancer cannot have more " +
			"than 10 FrontendIPConfigurations.", "LimitReached"},
		"a volume that a claim names": {Volume, `Cannot bind to requested volume "old": storageClassName does not match`, "VolumeMismatch"},
		"a small disk": {Azure, "OperationNotAllowed: The specified disk size 30 GB is smaller than the size of the corresponding disk in " +
			"the VM image: 127 GB.", "DiskTooSmall"},
		"a neighbour that failed": {Azure, "ReferencedResourceNotProvisioned: Cannot proceed with operation because resource /x used by " +
			"resource /y is not in Succeeded state. Resource is in Failed state and the last operation is PutPublicIpAddressOperation.",
			"NeighbourFailed"},
		"a neighbour that is changed": {Azure, "ReferencedResourceNotProvisioned: Cannot proceed with operation because resource /x used " +
			"by resource /y is not in Succeeded state. Resource is in Updating state.", "AzureBusy"},
		"a node's label": {Guest, `level=ERROR msg="Unable to register node" err="nodes \"n\" is forbidden: is not allowed to set the ` +
			`following labels: node-role.kubernetes.io/worker"`, "LabelForbidden"},
		"a runtime that does not run": {Guest, "[ERROR CRI]: container runtime is not running: the service containerd does not run",
			"RuntimeNotStarted"},
		"a socket that is not there": {Guest, "[ERROR CRI]: container runtime is not running: npipe: the system cannot find the file",
			"WrongCRISocket"},
		"a bare NotSupported": {Azure, "NotSupported: The requested operation is not supported.", "NotSupported"},
		"no identity":         {Azure, "IdentityNotSet: spec.identityRef is not set", "IdentityNotSet"},
		"an identity that is not there": {Azure, "IdentityNotFound: spec.identityRef: AzureClusterIdentity x/y does not exist",
			"IdentityMissing"},
		"an identity's secret that is not there": {Azure, "IdentitySecretNotFound: secret x/y does not exist", "IdentitySecretMissing"},
		"a secret that may not be named":         {Azure, "IdentitySecretNotAllowed: x", "IdentitySecretNotAllowed"},
		"an identity that goes":                  {Azure, "IdentityBeingDeleted: x", "IdentityBeingDeleted"},
		"a code inside of another":               {Azure, "Failed: the operation failed: SubnetIsFull: Subnet node is full", "SubnetFull"},
		"a code that is a part of a word":        {Azure, "Failed: the resource MySubnetIsFullOfThings is odd", ""},
		"a deny assignment under another code": {Azure, "AuthorizationFailed: The client has permission to perform action; however, the " +
			"access is denied because of the deny assignment with name x", "DeniedByAssignment"},
		"an address and its neighbour": {Azure, "PrivateIPAddressInUse: Private IP address 10.0.0.4 is in use by another resource",
			"AddressInUse"},
		"the CNI's file": {Node, "KubeletNotReady: cni config load failed: failed to load CNI " +
			"config list file: error parsing configuration list: unexpected end of JSON input", "CNIConfigInvalid"},
		"the API server refuses": {Reach, "APIServerUnreachable: dial tcp 10.0.0.4:6443: connect: " +
			"connection refused", "APIRefused"},
		"the API server is not reached":          {Reach, "APIServerUnreachable: dial tcp 10.0.0.4:6443: i/o timeout", "NoRouteToAPI"},
		"a refusal of Azure in the log of a pod": {Log, "QuotaExceeded", ""},
	} {
		t.Run(name, func(t *testing.T) {
			reason, text := "", test.text
			if test.step == Azure || test.step == Node || test.step == Reach || test.step == Container {
				reason, text, _ = strings.Cut(test.text, ": ")
			}
			if c, _, _ := Classify(test.step, reason, text); c.Name != test.want {
				t.Errorf("got %q, want %q", c.Name, test.want)
			}
		})
	}
}

// TestDecisive: a wrapper that only repeats an exit code is shown with the sentence before it.
func TestDecisive(t *testing.T) {
	b := ReadBoot([]string{
		"[preflight] Running pre-flight checks",
		"error execution phase preflight: x509: certificate has expired or is not yet valid",
		"guest: casement-apply.sh: line 13 failed with code 1: exit $code",
	})
	want := "casement-apply.sh: line 13 failed with code 1: exit $code: error execution phase preflight: x509: " +
		"certificate has expired or is not yet valid"
	if len(b.Failed) != 1 || b.Failed[0] != want {
		t.Errorf("got %q", b.Failed)
	}
}
