package why

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1 "k8s.io/api/apps/v1"
)

// waits makes the pod's container wait, with a message of the kubelet.
func waits(reason, message string) func(*scene) {
	return func(s *scene) {
		s.pod.Status.Phase = corev1.PodPending
		s.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

// pulling makes a pull fail with a message of containerd: the container backs off, and an event
// contains the error.
func pulling(message string) func(*scene) {
	return func(s *scene) {
		waits("ImagePullBackOff", `Back-off pulling image "registry.example/web:1"`)(s)
		s.events = []event{{s.pod, "Failed", `Failed to pull image "registry.example/web:1": ` + message},
			{s.pod, "Failed", "Error: ErrImagePull"}}
	}
}

// creating leaves the pod without containers, with a warning of the kubelet.
func creating(reason, message string) func(*scene) {
	return func(s *scene) {
		waits("ContainerCreating", "")(s)
		s.events = []event{{s.pod, reason, message}}
	}
}

// crashes makes the container end repeatedly.
func crashes(exit int32, reason, message, log string) func(*scene) {
	return func(s *scene) {
		waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=web")(s)
		s.pod.Status.Phase = corev1.PodRunning
		c := &s.pod.Status.ContainerStatuses[0]
		c.RestartCount, c.LastTerminationState.Terminated = 7,
			&corev1.ContainerStateTerminated{ExitCode: exit, Reason: reason, Message: message}
		s.logs = "starting\n" + log + "\n"
	}
}

// runs leaves the container running and not ready, with a warning of the kubelet.
func runs(message string) func(*scene) {
	return func(s *scene) {
		s.pod.Status.ContainerStatuses[0].Ready = false
		s.events = []event{{s.pod, "Unhealthy", message}}
	}
}

// unscheduled leaves the pod without a node.
func unscheduled(message string) func(*scene) {
	return func(s *scene) {
		s.pod.Spec.NodeName, s.pod.Status.ContainerStatuses, s.pod.Status.Phase = "", nil, corev1.PodPending
		s.pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message},
		}
	}
}

// refusedPods makes the ReplicaSet report that it cannot create its pods.
func refusedPods(message string) func(*scene) {
	return func(s *scene) {
		s.gone = append(s.gone, s.pod)
		s.replicas.Spec.Replicas, s.replicas.Status.Replicas = new(int32(4)), 2
		s.replicas.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure,
			Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: message}}
	}
}

// balanced makes the service one of type LoadBalancer, with warnings of the cloud provider.
func balanced(messages ...string) func(*scene) {
	return func(s *scene) {
		s.service.Spec.Type, s.service.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, new(false)
		for _, m := range messages {
			s.events = append(s.events, event{s.service, "SyncLoadBalancerFailed", m})
		}
	}
}

// claims adds a PersistentVolumeClaim without a volume, with a warning.
func claims(reason, message string) func(*scene) {
	return func(s *scene) {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data"}}
		c.Spec.AccessModes, c.Spec.StorageClassName = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, new("fast")
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		c.Status.Phase = corev1.ClaimPending
		s.more, s.events = append(s.more, c), []event{{c, reason, message}}
	}
}

func ended(reason, message string) func(*scene) {
	return func(s *scene) {
		s.pod.Status.Phase, s.pod.Status.Reason, s.pod.Status.Message, s.pod.Status.ContainerStatuses = corev1.PodFailed,
			reason, message, nil
	}
}

func workload() []failure {
	pod := func(name, cause, shows string, change func(*scene)) failure {
		return failure{name, cause, "Pod/web-1-x", shows, change}
	}
	set := func(name, cause, shows, message string) failure {
		return failure{name, cause, "ReplicaSet/web-1", shows, refusedPods(message)}
	}
	return []failure{
		set("pods: quota", "ResourceQuotaExceeded", "2 of 4", `pods "web-1-abcde" is forbidden: exceeded quota: `+
			`compute, requested: pods=1, used: pods=2, limited: pods=2`),
		set("pods: quota wants limits", "ResourceQuotaExceeded", "must specify", `pods "web-1-abcde" is `+
			`forbidden: failed quota: compute: must specify limits.cpu for: web; limits.memory for: web`),
		set("pods: webhook denies", "WebhookDenied", "signed",
			`admission webhook "images.example.com" denied the request: the image is not signed`),
		set("pods: webhook is gone", "WebhookUnavailable", "connection refused", `Internal error occurred: `+
			`failed calling webhook "images.example.com": failed to call webhook: Post `+
			`"https://images.images.svc:443/mutate?timeout=10s": dial tcp 10.96.7.7:443: connect: connection `+
			`refused`),
		set("pods: webhook with another certificate", "WebhookUnavailable", "x509", `Internal error occurred: `+
			`failed calling webhook "images.example.com": failed to call webhook: Post `+
			`"https://images.images.svc:443/mutate?timeout=10s": x509: certificate signed by unknown `+
			`authority`),
		set("pods: Pod Security", "PodSecurityViolated", "hostProcess", `pods "web-1-abcde" is forbidden: `+
			`violates PodSecurity "baseline:latest": hostProcess (pod must not set `+
			`securityContext.windowsOptions.hostProcess=true)`),
		set("pods: service account", "ServiceAccountMissing", "builder", `pods "web-1-" is forbidden: error `+
			`looking up service account why/builder: serviceaccount "builder" not found`),
		set("pods: limit range", "LimitRangeViolated", "maximum memory",
			`pods "web-1-abcde" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi`),
		set("pods: priority class", "PriorityClassMissing", "gold",
			`pods "web-1-" is forbidden: no PriorityClass with name gold was found`),
		set("pods: admission policy", "AdmissionPolicyDenied", "replicas", `pods "web-1-abcde" is forbidden: `+
			`ValidatingAdmissionPolicy 'limits.example.com' with binding 'limits' denied request: too many `+
			`replicas`),
		set("pods: namespace goes", "NamespaceTerminating", "terminated", `pods "web-1-abcde" is forbidden: `+
			`unable to create new content in namespace why because it is being terminated`),
		{"DaemonSet: quota", "ResourceQuotaExceeded", "DaemonSet/agent", "exceeded quota", func(s *scene) {
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "agent"}}
			d.Spec.Selector, d.Spec.Template = s.web.Spec.Selector, s.web.Spec.Template
			d.Status.DesiredNumberScheduled = 2
			s.more, s.events = append(s.more, d), []event{{d, "FailedCreate", `Error creating: pods "agent-" is ` +
				`forbidden: exceeded quota: compute, requested: pods=1, used: pods=2, limited: pods=2`}}
		}},
		{"StatefulSet: webhook", "WebhookDenied", "StatefulSet/db", "denied", func(s *scene) {
			d := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
			d.Spec.Selector, d.Spec.Template, d.Spec.ServiceName, d.Spec.Replicas = s.web.Spec.Selector,
				s.web.Spec.Template, "db", new(int32(1))
			s.more, s.events = append(s.more, d), []event{{d, "FailedCreate", `create Pod db-0 in StatefulSet ` +
				`db failed error: admission webhook "images.example.com" denied the request: no`}}
			s.asked = "sts/why/db"
		}},
		{"Job gave up", "JobFailed", "Job/report", "backoff limit", func(s *scene) {
			j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "report"}}
			j.Spec.Template = *s.web.Spec.Template.DeepCopy()
			j.Spec.Template.Labels, j.Spec.Template.Spec.RestartPolicy = nil, corev1.RestartPolicyNever
			at := past()
			j.Status.StartTime, j.Status.Failed = &at, 7
			j.Status.Conditions = []batchv1.JobCondition{
				{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", LastTransitionTime: at},
				{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded",
					Message: "Job has reached the specified backoff limit", LastTransitionTime: at}}
			s.more = append(s.more, j)
		}},
		{"rollout makes no progress", "ProgressDeadlineExceeded", "Deployment/web", "progressing", func(s *scene) {
			s.web.Status.Conditions = []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse,
				Reason: "ProgressDeadlineExceeded", Message: `ReplicaSet "web-1" has timed out progressing.`,
			}}
			s.asked = "deployment/why/web"
		}},
		pod("image not found", "ContainerImageNotFound", "not found", pulling(`rpc error: code = NotFound desc `+
			`= failed to pull and unpack image "registry.example/web:1": failed to resolve reference `+
			`"registry.example/web:1": registry.example/web:1: not found`)),
		pod("image not found at Docker Hub", "PullDenied", "repository does not exist", pulling(`failed to pull `+
			`and unpack image "docker.io/library/wbe:1": failed to resolve reference `+
			`"docker.io/library/wbe:1": pull access denied, repository does not exist or may require `+
			`authorization: server message: insufficient_scope: authorization failed`)),
		pod("tag unknown", "ContainerImageNotFound", "manifest unknown", pulling(`Error response from daemon: `+
			`manifest for mcr.microsoft.com/windows/servercore:latest not found: manifest unknown: manifest `+
			`tagged by "latest" is not found`)),
		pod("registry throttles", "PullThrottled", "429", pulling(`failed to pull and unpack image `+
			`"docker.io/library/nginx:1": failed to copy: httpReadSeeker: failed open: unexpected status code `+
			`https://registry-1.docker.io/v2/library/nginx/manifests/sha256:x: 429 Too Many Requests - Server `+
			`message: toomanyrequests: You have reached your pull rate limit.`)),
		pod("registry's certificate", "RegistryCertificate", "x509", pulling(`failed to pull and unpack image `+
			`"registry.example/web:1": failed to resolve reference "registry.example/web:1": failed to do `+
			`request: Head "https://registry.example/v2/web/manifests/1": tls: failed to verify certificate: `+
			`x509: certificate signed by unknown authority`)),
		pod("registry speaks HTTP", "RegistryCertificate", "HTTP response", pulling(`failed to do request: Head `+
			`"https://registry.example:5000/v2/web/manifests/1": http: server gave HTTP response to HTTPS `+
			`client`)),
		pod("pull unauthorized", "PullDenied", "401", pulling(`failed to authorize: failed to fetch oauth `+
			`token: unexpected status from GET request to https://demo.azurecr.io/oauth2/token: 401 `+
			`Unauthorized`)),
		pod("registry's name", "RegistryNameUnresolved", "no such host", pulling(`failed to do request: Head `+
			`"https://registry.exmaple/v2/web/manifests/1": dial tcp: lookup registry.exmaple on `+
			`168.63.129.16:53: no such host`)),
		pod("registry not reached", "RegistryUnreachable", "i/o timeout", pulling(`failed to do request: Head `+
			`"https://registry.example/v2/web/manifests/1": dial tcp 20.1.2.3:443: i/o timeout`)),
		pod("image for another Windows", "HostBuildMismatch", "no matching manifest for windows",
			pulling(`no matching manifest for windows(10.0.20348)/amd64 10.0.20348 in the manifest list entries`)),
		pod("image for Linux alone", "WrongOS", "no match for platform", pulling(`failed to pull and unpack `+
			`image "docker.io/library/redis:7": no match for platform in manifest: not found`)),
		pod("layer does not unpack", "LayerCorrupt", "ImportLayer", pulling(`failed to extract layer sha256:x: `+
			`hcsshim::ImportLayer failed in Win32: The system cannot find the path specified. (0x3): `+
			`unknown`)),
		pod("disk full while pulling", "DiskFull", "not enough space", pulling(`failed to copy: write `+
			`C:\ProgramData\containerd\root\io.containerd.content.v1.content\ingest\x: There is not enough `+
			`space on the disk.`)),
		pod("image name invalid", "InvalidImageName", "couldn't parse", waits("InvalidImageName", `Failed to `+
			`apply default image tag "Registry.example/Web:1": couldn't parse image name `+
			`"Registry.example/Web:1": invalid reference format: repository name must be lowercase`)),
		pod("image never pulled", "ImageNeverPulled", "Never",
			waits("ErrImageNeverPull", `Container image "web:1" is not present with pull policy of Never`)),
		pod("secret missing", "ConfigMissing", "gzip-cert", waits("CreateContainerConfigError", `secret "gzip-cert" not found`)),
		pod("key of a ConfigMap missing", "ConfigMissing", "couldn't find key",
			waits("CreateContainerConfigError", `couldn't find key url in ConfigMap why/settings`)),
		pod("secret to mount missing", "ConfigMissing", "gzip-cert",
			creating("FailedMount", `MountVolume.SetUp failed for volume "tls" : secret "gzip-cert" not found`)),
		pod("image runs as root", "RunAsRoot", "runAsNonRoot", waits("CreateContainerConfigError",
			`container has runAsNonRoot and image will run as root (pod: "web-1-x_why(x)", container: web)`)),
		pod("gMSA denied to the node", "GMSADenied", "Access is denied", waits("CreateContainerError", `failed to create `+
			`containerd task: failed to create shim task: hcs::CreateComputeSystem web: Access is denied. (0x80070005): `+
			`the credential spec's account WebApp1: unknown`)),
		pod("gMSA of a node in no domain", "GMSADomainNotFound", "could not be contacted", waits("CreateContainerError",
			`failed to create containerd task: failed to create shim task: hcs::CreateComputeSystem web: The specified `+
				`domain either does not exist or could not be contacted. (0x8007054b): the credential spec's account WebApp1: unknown`)),
		pod("gMSA plug-in missing", "GMSAPluginMissing", "instantiate", waits("CreateContainerError", `failed to create `+
			`containerd task: failed to create shim task: hcs::CreateComputeSystem web: Container Credential Guard failed to `+
			`instantiate the plugin: {CCC2A336-D7F3-4818-A213-272B7924213E}. Error: Object was not found in registry: unknown`)),
		pod("gMSA password expired", "GMSAPasswordExpired", "password", waits("CreateContainerError", `failed to create `+
			`containerd task: hcs::CreateComputeSystem web: The specified account's password has expired. `+
			`(credential spec contoso-web)`)),
		pod("command missing", "CommandMissing", "cannot find the file", waits("RunContainerError", `failed to `+
			`create containerd task: failed to create shim task: hcs::System::CreateProcess web: The system `+
			`cannot find the file specified.: unknown`)),
		pod("command missing on Linux", "CommandMissing", "bash", waits("RunContainerError", `failed to create `+
			`shim task: OCI runtime create failed: runc create failed: unable to start container process: `+
			`exec: "bash": executable file not found in $PATH: unknown`)),
		pod("user unknown", "UserUnknown", "ContainerUsr", waits("CreateContainerError",
			`hcs::System::CreateProcess web: failed to create process: the runAsUserName "ContainerUsr" is unknown (0x80070525)`)),
		pod("user unknown to containerd", "UserUnknown", "incorrect", waits("RunContainerError", `failed to start containerd task `+
			`"web": hcs::System::CreateProcess web: The user name or password is incorrect.: unknown`)),
		pod("user unknown on the node", "UserUnknown", "logon", waits("RunContainerError", `failed to start containerd task "web": `+
			`failed to logon user: The user name or password is incorrect.: unknown`)),
		pod("container of another Windows", "HostBuildMismatch", "0xc0370101", waits("CreateContainerError",
			`hcs::CreateComputeSystem web: The container operating system does not match the host operating system. (0xc0370101)`)),
		pod("memory", "OutOfMemory", "exit code 137", crashes(137, "OOMKilled", "", "")),
		pod("application port refused", "DependencyUnreachable", "5432",
			crashes(1, "Error", "", "panic: dial tcp 10.96.3.4:5432: connect: connection refused")),
		pod("name unresolved", "DependencyUnresolved", "db.why.svc", crashes(1, "Error", "",
			"could not connect: lookup db.why.svc.cluster.local on 10.96.0.10:53: no such host")),
		pod("certificate of a dependency", "CertificateExpired", "x509", crashes(1, "Error", "", "error: x509: "+
			"certificate has expired or is not yet valid: current time 2026-11-21T14:00:00Z is after "+
			"2026-11-20T00:00:00Z")),
		pod("rights of the service account", "PermissionDenied", "secrets", crashes(1, "Error", "", `secrets is `+
			`forbidden: User "system:serviceaccount:why:pods" cannot list resource "secrets" in API group "" `+
			`at the cluster scope`)),
		pod("port taken", "PortTaken", "Only one usage", crashes(1, "Error", "", "listen tcp :80: bind: Only "+
			"one usage of each socket address (protocol/network address/port) is normally permitted.")),
		pod("flag unknown", "UnknownFlag", "--lisen", crashes(2, "Error", "", "unknown flag: --lisen")),
		pod("file missing", "FileMissing", "appsettings", crashes(1, "Error", "",
			`Unhandled exception. System.IO.FileNotFoundException: Could not find file 'C:\app\appsettings.json'.`)),
		pod("crash that says nothing", "CrashLoop", "exit code -1073741819", crashes(-1073741819, "Error", "", "")),
		pod("liveness", "LivenessProbeFails", "statuscode: 500", func(s *scene) {
			crashes(137, "Error", "", "")(s)
			s.events = []event{{s.pod, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500"}}
		}),
		pod("readiness", "ReadinessProbeFails", "connection refused", runs("Readiness probe failed: Get "+
			"\"http://10.244.1.5:8080/\": dial tcp 10.244.1.5:8080: connect: connection refused")),
		pod("no node fits", "Unschedulable", "untolerated", unscheduled("0/2 nodes are available: 1 node(s) had "+
			"untolerated taint {os: windows}, 1 node(s) didn't match Pod's node affinity/selector.")),
		pod("no room", "Unschedulable", "Insufficient memory", unscheduled("0/2 nodes are available: 2 "+
			"Insufficient memory. preemption: 0/2 nodes are available: 2 No preemption victims found for "+
			"incoming pod.")),
		pod("claim missing", "ClaimMissing", "data", unscheduled(`0/2 nodes are available: persistentvolumeclaim "data" not found.`)),
		pod("claim unbound", "ClaimUnbound", "unbound",
			unscheduled(`0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.`)),
		pod("volume in another zone", "VolumeElsewhere", "affinity conflict",
			unscheduled(`0/2 nodes are available: 2 node(s) had volume node affinity conflict.`)),
		pod("volume attached elsewhere", "VolumeElsewhere", "Multi-Attach", creating("FailedAttachVolume", `Multi-`+
			`Attach error for volume "pvc-1" Volume is already exclusively attached to one node and can't be `+
			`attached to another`)),
		pod("CSI driver missing", "CSIDriverMissing", "smb.csi.k8s.io", creating("FailedMount", `MountVolume.`+
			`MountDevice failed for volume "share" : kubernetes.io/csi: attacher.MountDevice failed to create `+
			`newCsiDriverClient: driver name smb.csi.k8s.io not found in the list of registered CSI drivers`)),
		pod("share denied", "ShareDenied", "Permission denied", creating("FailedMount", `MountVolume.MountDevice `+
			`failed for volume "share" : rpc error: code = Internal desc = volume(x) mount `+
			`"//x.file.core.windows.net/share" failed with mount error(13): Permission denied`)),
		pod("HNS leak", "HNSLeak", "0x803b001e", creating("FailedCreatePodSandBox", `Failed to create pod `+
			`sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "x": plugin `+
			`type="calico" failed (add): hcnCreateEndpoint failed in Win32: IP address is either invalid or `+
			`not part of any configured subnet(s). (0x803b001e)`)),
		pod("pause image", "PauseImageMissing", "sandbox image", creating("FailedCreatePodSandBox", `Failed to `+
			`create pod sandbox: rpc error: code = NotFound desc = failed to get sandbox image `+
			`"mcr.microsoft.com/oss/kubernetes/pause:3.6": no match for platform in manifest: not found`)),
		pod("registry of the pause image", "RegistryUnreachable", "pause", creating("FailedCreatePodSandBox", `Failed `+
			`to create pod sandbox: failed to get sandbox image "registry.k8s.io/pause:3.10": failed to pull `+
			`image: failed to do request: Head "https://registry.k8s.io/v2/pause/manifests/3.10": dial tcp `+
			`34.96.1.1:443: i/o timeout`)),
		pod("flannel not there", "SubnetEnvMissing", "subnet.env", creating("FailedCreatePodSandBox", `Failed `+
			`to create pod sandbox: plugin type="flannel" failed (add): open /run/flannel/subnet.env: no such `+
			`file or directory`)),
		pod("CNI plugin missing", "CNIPluginMissing", "failed to find plugin", creating("FailedCreatePodSandBox",
			`Failed to create pod sandbox: failed to find plugin "win-overlay" in path [C:\opt\cni\bin]`)),
		pod("CNI's token", "CNIUnauthorized", "Unauthorized", creating("FailedCreatePodSandBox", `Failed to `+
			`create pod sandbox: plugin type="calico" failed (add): error getting ClusterInformation: `+
			`connection is unauthorized: Unauthorized`)),
		pod("addresses used up", "AddressesUsedUp", "no IP addresses", creating("FailedCreatePodSandBox", `Failed `+
			`to create pod sandbox: plugin type="host-local" failed (add): failed to allocate for range 0: no `+
			`IP addresses available in range set: 10.244.1.1-10.244.1.254`)),
		pod("evicted", "DiskFull", "ephemeral-storage", ended("Evicted",
			"The node was low on resource: ephemeral-storage. Threshold quantity: 10%, available: 5%.")),
		pod("other operating system", "WrongOS", "does not match",
			ended("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS, does not match")),
		{"load balancer without a cloud controller", "CloudControllerMissing", "Service/web", "no pod", balanced()},
		{"load balancer: address", "AddressMissing", "Service/web", "not found", balanced(`Error syncing load ` +
			`balancer: failed to ensure load balancer: user supplied IP Address 20.1.2.3 was not found in ` +
			`resource group demo`)},
		{"load balancer: public IP", "AddressMissing", "Service/web", "azure-pip-name", balanced(`Error syncing load ` +
			`balancer: failed to ensure load balancer: PublicIP from annotation azure-pip-name(-IPv6)=x for service shop/web doesn't exist`)},
		{"load balancer: subnet", "SubnetUnknown", "Service/web", "v/nosuch", balanced(`Error syncing load ` +
			`balancer: failed to ensure load balancer: ensure(shop/web): lb(demo-internal) - failed to get subnet: v/nosuch`)},
		{"load balancer: timeout", "AnnotationInvalid", "Service/web", "between 4 and 100", balanced(`Error syncing load ` +
			`balancer: failed to ensure load balancer: idle timeout value must be a whole number representing minutes ` +
			`between 4 and 100, actual value: 1`)},
		{"load balancer: rights", "AuthorizationFailed", "Service/web", "publicIPAddresses", balanced(`Error ` +
			`syncing load balancer: failed to ensure load balancer: RESPONSE 403: 403 Forbidden ERROR CODE: ` +
			`AuthorizationFailed The client 'x' does not have authorization to perform action ` +
			`'Microsoft.Network/publicIPAddresses/write'`)},
		{"port that no pod has", "TargetPortUnknown", "Service/web", "htpp",
			func(s *scene) { s.service.Spec.Ports[0].TargetPort = intstr.FromString("htpp") }},
		{"selector of nothing", "SelectorMatchesNothing", "Service/web", "wbe", func(s *scene) {
			s.service.Spec.Selector, s.asked = map[string]string{"app": "wbe"}, "service/why/web"
		}},
		{"StorageClass missing", "StorageClassMissing", "PersistentVolumeClaim/data", "fast",
			claims("ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`)},
		{"disks refused", "ProvisioningFailed", "PersistentVolumeClaim/data", "quota", claims("ProvisioningFailed", `failed `+
			`to provision volume with StorageClass "fast": rpc error: code = Internal desc = Retriable: false, `+
			`HTTPStatusCode: 403, quota of disks reached`)},
	}
}

func failures() []failure { return append(management(), workload()...) }
