package rules

import (
	"fmt"
	"slices"

	"casement.dev/casement/internal/lint"
)

// administrator is the default account of Server Core images.
const administrator = "ContainerAdministrator"

// maxCredentialSpec is the largest credential spec that the API server accepts, in bytes.
const maxCredentialSpec = 64 << 10

// asSystem are the windowsOptions of a HostProcess container that runs as SYSTEM.
const asSystem = "hostProcess: true\n      runAsUserName: 'NT AUTHORITY\\SYSTEM'"

// inHostNetwork is a Windows pod in the host's network.
var inHostNetwork = windowsPod + "  hostNetwork: true\n"

// mountsNode reports whether a container may write to a hostPath volume.
func mountsNode(pod *lint.Pod, c lint.Container) bool {
	return slices.ContainsFunc(c.At("volumeMounts").Items(), func(m lint.Value) bool {
		host := pod.Volume(m.At("name").Str()).At("hostPath")
		return !m.At("readOnly").True() && host.Exists() && !isPipe(host.At("path").Str())
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
			p.Report(pod.Object, v, fmt.Sprintf("there is no GMSACredentialSpec %s in the input", v.Str()),
				say("one of its credential specs"))
		case !mayUse(p.Set, pod.Object.Namespace, account, v.Str()):
			p.Report(pod.Object, v, fmt.Sprintf("no role in the input lets the service account %s use the credential spec %s: the "+
				"gMSA webhook refuses the pod", account, v.Str()), say("a Role with the verb use on it, bound to the account"))
		}
	})(p)
}

// mayUse reports whether a role for a credential spec is bound to a service account.
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
			if bound && role.Kind == ref.At("kind").Str() && role.Name == ref.At("name").Str() && (role.Kind == "ClusterRole" ||
				role.Namespace == namespace) && slices.ContainsFunc(role.Root.At("rules").Items(),
				func(r lint.Value) bool { return allowsUse(r, spec) }) {
				return true
			}
		}
	}
	return false
}

// allowsUse reports whether a rule of a role permits the use of a credential spec.
func allowsUse(rule lint.Value, spec string) bool {
	has := func(key, want string) bool {
		list := rule.At(key).Strings()
		return slices.Contains(list, want) || slices.Contains(list, "*")
	}
	names := rule.At("resourceNames").Strings()
	return has("apiGroups", "windows.k8s.io") && has("resources", "gmsacredentialspecs") && has("verbs", "use") &&
		(len(names) == 0 || slices.Contains(names, spec))
}

// gmsa returns a pod with a credential spec whose role is bound to an account.
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
