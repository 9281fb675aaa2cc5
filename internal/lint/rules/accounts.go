package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// administrator is the account that Server Core images run as.
const administrator = "ContainerAdministrator"

// maxCredentialSpec is what the API server takes of a credential spec, in bytes.
const maxCredentialSpec = 64 << 10

// accounts are the rules about what accounts may do, and what HostProcess needs.
func accounts() []lint.Rule {
	const system = "hostProcess: true\n      runAsUserName: 'NT AUTHORITY\\SYSTEM'"
	host := windowsPod + "  hostNetwork: true\n"
	return []lint.Rule{
		{
			ID: "WIN503", Severity: lint.Error, Title: "A credential spec by hand", Since: 16, Oracle: lint.APIServer,
			Doc: "The gMSA webhook writes `gmsaCredentialSpec` from the object that `gmsaCredentialSpecName` names. The API server refuses an empty one and one over 64 KiB, and the webhook one without the name. Leave it out. Source: validation.go; kubernetes-sigs/windows-gmsa admission-webhook/webhook.go.",
			Bad: options(windowsPod, "gmsaCredentialSpec: ''"), Good: options(windowsPod, "gmsaCredentialSpecName: web"),
			Check: func(p *lint.Pass) {
				report := func(pod *lint.Pod, context lint.Value) {
					v := context.At("windowsOptions", "gmsaCredentialSpec")
					switch {
					case !v.Exists():
					case v.Str() == "":
						p.Report(pod.Object, v, "the API server refuses an empty credential spec", say("gmsaCredentialSpecName alone"))
					case len(v.Str()) > maxCredentialSpec:
						p.Report(pod.Object, v, "the API server takes at most 64 KiB", say("gmsaCredentialSpecName alone"))
					case !context.At("windowsOptions", "gmsaCredentialSpecName").Exists():
						p.Report(pod.Object, v, "the gMSA webhook refuses a credential spec without its name", say("gmsaCredentialSpecName alone"))
					}
				}
				for _, pod := range p.Set.Pods {
					report(pod, pod.Spec.At("securityContext"))
					for _, c := range pod.Containers() {
						report(pod, c.At("securityContext"))
					}
				}
			},
		},
		{
			ID: "WIN504", Severity: lint.Warning, Title: "A gMSA that the pod may not use", Since: 16, Oracle: lint.Unit,
			Doc: "The pod's service account needs the verb `use` on the credential spec, by a role that is bound to it; else the gMSA webhook refuses the pod. Looked at when the input has GMSACredentialSpecs. Source: kubernetes-sigs/windows-gmsa admission-webhook/webhook.go.",
			Bad: gmsa("other"), Good: gmsa("default"),
			Check: gmsaAccess,
		},
		{
			ID: "WIN509", Severity: lint.Warning, Title: "HostProcess with runAsNonRoot", Since: 22, Oracle: lint.Unit,
			Doc: "Kubernetes does not support runAsNonRoot for HostProcess containers, and the kubelet does not stop SYSTEM with it. Leave it out. Source: kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
			Bad: options(host, system+"\n    runAsNonRoot: true"), Good: options(host, system),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				if v := c.RunAsNonRoot(); v.True() && c.WindowsOption("hostProcess").True() {
					p.Report(pod.Object, v, "not supported for HostProcess containers, and does not stop SYSTEM", say("take it out"))
				}
			}),
		},
		{
			ID: "WIN510", Severity: lint.Error, Title: "A pipe mounted into HostProcess", Since: 22, Oracle: lint.Unit,
			Doc: "Named pipes and sockets cannot be mounted into HostProcess containers, which see the node's anyway: the container is not made. Open the pipe by its path. Source: microsoft/hcsshim internal/jobcontainers/mounts.go.",
			Bad: options(host, system) + "  volumes:\n  - name: runtime\n    hostPath:\n      path: '\\\\.\\pipe\\containerd-containerd'\n", Good: options(host, system),
			Pod: eachVolume(func(p *lint.Pass, pod *lint.Pod, volume lint.Value) {
				v := volume.At("hostPath", "path")
				if pod.HostProcess() && (isPipe(v.Str()) || volume.At("hostPath", "type").Str() == "Socket") {
					p.Report(pod.Object, v, "HostProcess containers cannot mount pipes and sockets, they see the node's", say("take the volume out, and open the path itself"))
				}
			}),
		},
		{
			ID: "WIN511", Severity: lint.Error, Title: "HostProcess on a release without it", Oracle: lint.Unit, For: lint.Target{Minor: 21},
			Doc: "HostProcess containers came with 1.22, behind the feature gate WindowsHostProcessContainers (`featureGates` of the configuration), and are on since 1.23; they need containerd 1.6 (`containerd`) and not Docker. With containerd 1.6 volumes are below `$CONTAINER_SANDBOX_MOUNT_POINT` alone, which is a warning. Source: KEP-1981; kubernetes-sigs/cluster-api-provider-azure docs/book/src/self-managed/windows.md.",
			Bad: options(host, system), Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if !pod.HostProcess() {
					return
				}
				at := pod.Spec.At("securityContext", "windowsOptions", "hostProcess")
				switch t := p.Target; {
				case !t.AtLeast(22):
					p.Report(pod.Object, at, "Kubernetes has HostProcess containers since 1.22", say("upgrade"))
				case !t.AtLeast(23) && !t.Gates["WindowsHostProcessContainers"]:
					p.Report(pod.Object, at, "off on 1.22 without the feature gate WindowsHostProcessContainers", say("set the gate on API server and kubelets, or upgrade"))
				case t.Docker:
					p.Report(pod.Object, at, "Docker has no HostProcess containers", say("nodes with containerd"))
				case olderContainerd(t, 6):
					p.Report(pod.Object, at, fmt.Sprintf("containerd %s has no HostProcess containers", t.Containerd), say("containerd 1.7 or newer"))
				case olderContainerd(t, 7):
					p.ReportAs(lint.Warning, pod.Object, at, "with containerd 1.6 volumes are below $CONTAINER_SANDBOX_MOUNT_POINT alone, and the in-cluster configuration is not found", say("containerd 1.7 or newer"))
				}
			},
		},
		{
			ID: "WIN513", Severity: lint.Info, Title: "HostProcess as SYSTEM", Since: 22, Oracle: lint.Unit,
			Doc: "SYSTEM may do everything on the node. `NT AUTHORITY\\Local service` or a local group of your own often is enough. Source: kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
			Bad: options(host, system), Good: options(host, "hostProcess: true\n      runAsUserName: 'NT AUTHORITY\\Local service'"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				seen := map[string]bool{}
				for _, c := range pod.Containers() {
					v := c.WindowsOption("runAsUserName")
					if c.WindowsOption("hostProcess").True() && strings.EqualFold(v.Str(), `NT AUTHORITY\SYSTEM`) && !seen[v.Path()] {
						seen[v.Path()] = true
						p.Report(pod.Object, v, "SYSTEM may do everything on the node", say(`NT AUTHORITY\Local service or a local group, if that is enough`))
					}
				}
			},
		},
		{
			ID: "WIN517", Severity: lint.Info, Title: "An administrator in the container", Oracle: lint.Unit,
			Doc: "Images of Server Core run as ContainerAdministrator unless the pod says `runAsUserName: ContainerUser`; Nano Server ones run as ContainerUser. With a hostPath volume the administrator writes to the node: a warning. Source: learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security.",
			Bad: windowsPod + "  containers:\n  - name: app\n    image: mcr.microsoft.com/windows/servercore:ltsc2022\n", Good: windowsPod + container,
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				v := c.WindowsOption("runAsUserName")
				admin := strings.EqualFold(v.Str(), administrator) || !v.Exists() && !strings.Contains(c.At("image").Str(), "nanoserver")
				if !admin || pod.HostProcess() {
					return
				}
				if mountsNode(pod, c) {
					p.ReportAs(lint.Warning, pod.Object, v, "an administrator with a directory of the node mounted: it can write there", say("runAsUserName: ContainerUser"))
					return
				}
				p.Report(pod.Object, v, "the container runs as administrator unless its image says otherwise", say("runAsUserName: ContainerUser"))
			}),
		},
	}
}

// mountsNode says whether a container may write to a hostPath volume.
func mountsNode(pod *lint.Pod, c lint.Container) bool {
	return slices.ContainsFunc(c.At("volumeMounts").Items(), func(m lint.Value) bool {
		return !m.At("readOnly").True() && slices.ContainsFunc(pod.Spec.At("volumes").Items(), func(v lint.Value) bool {
			return v.At("hostPath").Exists() && v.At("name").Str() == m.At("name").Str() && !isPipe(v.At("hostPath", "path").Str())
		})
	})
}

// gmsaAccess finds pods whose service account may not use their credential spec.
func gmsaAccess(p *lint.Pass) {
	specs := p.Set.Kind("GMSACredentialSpec")
	if len(specs) == 0 {
		return
	}
	eachOption("gmsaCredentialSpecName", func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
		account := pod.Spec.At("serviceAccountName").Str()
		if account == "" {
			account = "default"
		}
		switch {
		case !slices.ContainsFunc(specs, func(o *lint.Object) bool { return o.Name == v.Str() }):
			p.Report(pod.Object, v, fmt.Sprintf("there is no GMSACredentialSpec %s in the input", v.Str()), say("one of its credential specs"))
		case !mayUse(p.Set, pod.Object.Namespace, account, v.Str()):
			p.Report(pod.Object, v, fmt.Sprintf("no role in the input lets the service account %s use the credential spec %s: the gMSA webhook refuses the pod", account, v.Str()), say("a Role with the verb use on it, bound to the account"))
		}
	})(p)
}

// mayUse says whether a role for a credential spec is bound to a service account.
func mayUse(s *lint.Set, namespace, account, spec string) bool {
	for _, binding := range s.Kind("RoleBinding", "ClusterRoleBinding") {
		if binding.Kind == "RoleBinding" && binding.Namespace != namespace {
			continue
		}
		bound := slices.ContainsFunc(binding.Root.At("subjects").Items(), func(v lint.Value) bool {
			in := v.At("namespace").Str()
			switch name := v.At("name").Str(); v.At("kind").Str() {
			case "ServiceAccount":
				return name == account && (in == namespace || in == "")
			case "Group":
				return name == "system:serviceaccounts" || name == "system:serviceaccounts:"+namespace || name == "system:authenticated"
			}
			return false
		})
		ref := binding.Root.At("roleRef")
		for _, role := range s.Kind("Role", "ClusterRole") {
			if bound && role.Kind == ref.At("kind").Str() && role.Name == ref.At("name").Str() && (role.Kind == "ClusterRole" || role.Namespace == namespace) && slices.ContainsFunc(role.Root.At("rules").Items(), func(r lint.Value) bool { return allowsUse(r, spec) }) {
				return true
			}
		}
	}
	return false
}

// allowsUse says whether a rule of a role is about using a credential spec.
func allowsUse(rule lint.Value, spec string) bool {
	has := func(key, want string) bool {
		list := rule.At(key).Strings()
		return slices.Contains(list, want) || slices.Contains(list, "*")
	}
	names := rule.At("resourceNames").Strings()
	return has("apiGroups", "windows.k8s.io") && has("resources", "gmsacredentialspecs") && has("verbs", "use") && (len(names) == 0 || slices.Contains(names, spec))
}

// gmsa is a pod with a credential spec whose role is bound to an account.
func gmsa(account string) string {
	return `apiVersion: windows.k8s.io/v1
kind: GMSACredentialSpec
metadata:
  name: web
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: web
rules:
- apiGroups: [windows.k8s.io]
  resources: [gmsacredentialspecs]
  verbs: [use]
  resourceNames: [web]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: web
subjects:
- kind: ServiceAccount
  name: ` + account + `
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: web
---
` + options(windowsPod, "gmsaCredentialSpecName: web")
}
