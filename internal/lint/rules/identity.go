package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"casement.dev/casement/internal/lint"
)

func options(pod, lines string) string {
	return pod + "  securityContext:\n    windowsOptions:\n      " + lines + "\n" + container
}

// What the API server demands of the parts of a user name.
// Source: validation.go, validateWindowsSecurityContextOptions.
var (
	control       = regexp.MustCompile(`[[:cntrl:]]`)
	netBIOSDomain = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	dnsDomain     = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

// userChars are what no Windows user name may contain.
var userChars = regexp.MustCompile(`["/\\:;|=,+*?<>@\[\]]`)

// identity are the rules about accounts and HostProcess containers.
func identity() []lint.Rule {
	const hostProcess = "hostProcess: true\n      runAsUserName: 'NT AUTHORITY\\SYSTEM'"
	return []lint.Rule{
		{
			ID: "WIN501", Severity: lint.Error, Title: "A user name that Windows does not know", Since: 17, Oracle: lint.APIServer,
			Doc: "`runAsUserName` is USER or DOMAIN\\USER; the API server refuses user@domain, more than one backslash, and more than 104 characters. Source: validation.go, validateWindowsSecurityContextOptions.",
			Bad: options(windowsPod, "runAsUserName: user@example.com"), Good: options(windowsPod, "runAsUserName: ContainerUser"),
			Check: eachOption("runAsUserName", func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if problem := userProblem(v.Str()); problem != "" {
					p.Report(pod.Object, v, problem, say(`USER or DOMAIN\USER`))
				}
			}),
		},
		{
			ID: "WIN502", Severity: lint.Error, Title: "The name of a gMSA credential spec", Since: 16, Oracle: lint.APIServer,
			Doc: "The name is a DNS subdomain, in lower case; the API server refuses capitals. Source: validation.go.",
			Bad: options(windowsPod, "gmsaCredentialSpecName: gmsa-WebApp1"), Good: options(windowsPod, "gmsaCredentialSpecName: gmsa-webapp1"),
			Check: eachOption("gmsaCredentialSpecName", func(p *lint.Pass, pod *lint.Pod, v lint.Value) {
				if problems := validation.IsDNS1123Subdomain(v.Str()); len(problems) > 0 {
					p.Report(pod.Object, v, problems[0], say("write it in lower case, in the credential spec and its role too"))
				}
			}),
		},
		{
			ID: "WIN505", Severity: lint.Error, Title: "HostProcess for some containers", Since: 22, Oracle: lint.APIServer,
			Doc: "If one container of a pod is a HostProcess one, all have to be, init containers too. Set it on the pod. Source: validation.go, validateWindowsHostProcessPod.",
			Bad: windowsPod + "  hostNetwork: true\n" + container + "    securityContext:\n      windowsOptions:\n        " + strings.ReplaceAll(hostProcess, "\n", "\n  ") + "\n  - name: other\n    image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n", Good: options(windowsPod+"  hostNetwork: true\n", hostProcess),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if !runsHostProcess(pod) {
					return
				}
				for _, c := range pod.Containers() {
					if v := c.WindowsOption("hostProcess"); !v.True() {
						p.Report(pod.Object, c.At("securityContext", "windowsOptions", "hostProcess"), "all containers of the pod have to be HostProcess containers", say("set hostProcess on the pod"))
					}
				}
			},
		},
		{
			ID: "WIN506", Severity: lint.Error, Title: "HostProcess without hostNetwork", Since: 22, Oracle: lint.APIServer,
			Doc: "HostProcess containers share the node's network: hostNetwork has to be true. Source: validation.go, validateWindowsHostProcessPod.",
			Bad: options(windowsPod, hostProcess), Good: options(windowsPod+"  hostNetwork: true\n", hostProcess),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				v := pod.Spec.At("hostNetwork")
				if !runsHostProcess(pod) || v.True() {
					return
				}
				edit := lint.Insert(pod.Spec, "hostNetwork: true\n")
				if v.Exists() {
					edit = lint.Replace(v, "true")
				}
				p.Report(pod.Object, v, "hostNetwork must be true if pod contains any hostProcess containers", safe("hostNetwork: true", edit))
			},
		},
		{
			ID: "WIN507", Severity: lint.Error, Title: "hostProcess of pod and container differ", Since: 22, Oracle: lint.APIServer,
			Doc: "Where both are set they have to be the same. Source: validation.go, validateWindowsHostProcessPod.",
			Bad: options(windowsPod+"  hostNetwork: true\n", hostProcess) + "    securityContext:\n      windowsOptions:\n        hostProcess: false\n", Good: options(windowsPod+"  hostNetwork: true\n", hostProcess),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				ofPod, set := pod.Spec.At("securityContext", "windowsOptions", "hostProcess").Bool()
				for _, c := range pod.Containers() {
					v := c.At("securityContext", "windowsOptions", "hostProcess")
					if own, ok := v.Bool(); ok && set && own != ofPod {
						p.Report(pod.Object, v, "pod hostProcess value must be identical if both are specified", say("leave one out"))
					}
				}
			},
		},
		{
			ID: "WIN508", Severity: lint.Warning, Title: "HostProcess without an account of the host", Since: 22, Oracle: lint.Unit,
			Doc: "The account of a HostProcess container is one of the node: `NT AUTHORITY\\SYSTEM`, `Local service`, `NetworkService`, or a local group. ContainerUser and ContainerAdministrator do not exist there. Source: kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
			Bad: options(windowsPod+"  hostNetwork: true\n", "hostProcess: true\n      runAsUserName: ContainerUser"), Good: options(windowsPod+"  hostNetwork: true\n", hostProcess),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				if !c.WindowsOption("hostProcess").True() {
					return
				}
				v := c.WindowsOption("runAsUserName")
				if name := strings.ToLower(v.Str()); name == "" || name == "containeruser" || name == "containeradministrator" {
					p.Report(pod.Object, v, "a HostProcess container runs under an account of the node", say(`set runAsUserName, such as NT AUTHORITY\SYSTEM`))
				}
			}),
		},
		{
			ID: "WIN515", Severity: lint.Error, Title: "runAsNonRoot as administrator", Since: 20, Oracle: lint.Unit,
			Doc: "The kubelet refuses to start a container that runs as ContainerAdministrator beside runAsNonRoot (CreateContainerConfigError). Source: kubernetes pkg/kubelet/kuberuntime/security_context_windows.go.",
			Bad: windowsPod + "  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: ContainerAdministrator\n" + container, Good: windowsPod + "  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: ContainerUser\n" + container,
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				if v := c.WindowsOption("runAsUserName"); c.RunAsNonRoot().True() && strings.EqualFold(v.Str(), "ContainerAdministrator") {
					p.Report(pod.Object, v, "ContainerAdministrator beside runAsNonRoot: the container does not start", say("ContainerUser"))
				}
			}),
		},
		{
			ID: "WIN516", Severity: lint.Warning, Title: "runAsNonRoot without a user", Since: 20, Oracle: lint.Unit,
			Doc: "The kubelet refuses only an image that declares ContainerAdministrator; one that declares no user passes, and Server Core then runs as administrator. Source: kubernetes pkg/kubelet/kuberuntime/helpers.go, getImageUser.",
			Bad: windowsPod + "  securityContext:\n    runAsNonRoot: true\n" + container, Good: windowsPod + "  securityContext:\n    runAsNonRoot: true\n    windowsOptions:\n      runAsUserName: ContainerUser\n" + container,
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				if v := c.RunAsNonRoot(); v.True() && !c.WindowsOption("runAsUserName").Exists() && !c.WindowsOption("hostProcess").True() {
					p.Report(pod.Object, v, "a false comfort: an image that declares no user can still run as administrator", say("set runAsUserName: ContainerUser"))
				}
			}),
		},
	}
}

// eachOption runs check where a field of windowsOptions is set.
func eachOption(field string, check func(p *lint.Pass, pod *lint.Pod, v lint.Value)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, pod := range p.Set.Pods {
			if v := pod.Spec.At("securityContext", "windowsOptions", field); v.Exists() {
				check(p, pod, v)
			}
			for _, c := range pod.Containers() {
				if v := c.At("securityContext", "windowsOptions", field); v.Exists() {
					check(p, pod, v)
				}
			}
		}
	}
}

// userProblem says what the API server has against a user name.
func userProblem(name string) string {
	domain, user, both := strings.Cut(name, `\`)
	if !both {
		user, domain = domain, ""
	}
	switch {
	case name == "":
		return "the user name is empty"
	case strings.Count(name, `\`) > 1:
		return "more than one backslash"
	case control.MatchString(name):
		return "the user name has a control character"
	case len(domain) >= 256:
		return "the domain has more than 255 characters"
	case both && !netBIOSDomain.MatchString(domain) && !dnsDomain.MatchString(domain):
		return fmt.Sprintf("%q is neither a NetBIOS nor a DNS name of a domain", domain)
	case user == "" || strings.Trim(user, " .") == "":
		return "the user is empty, or dots and spaces alone"
	case len(user) > 104:
		return fmt.Sprintf("the user has %d characters, more than 104", len(user))
	case userChars.MatchString(user):
		return fmt.Sprintf("the user %q has a character that Windows does not allow", user)
	}
	return ""
}

// runsHostProcess says whether any container is in effect a HostProcess one. The
// API server counts so: the pod's field alone, overruled by every container, is none.
func runsHostProcess(pod *lint.Pod) bool {
	return slices.ContainsFunc(pod.Containers(), func(c lint.Container) bool { return c.WindowsOption("hostProcess").True() })
}
