package rules

import (
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// securityAnnotation is one of the two that came before the fields.
var securityAnnotation = regexp.MustCompile(`^(container\.apparmor\.security\.beta|seccomp\.security\.alpha)\.kubernetes\.io/`)

// services are the rules about Services that have Windows pods behind them.
func services() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN407", Severity: lint.Warning, Title: "Local traffic policy needs direct server return", Oracle: lint.Unit,
			Doc: "kube-proxy on Windows keeps to `externalTrafficPolicy: Local` only with direct server return (`--enable-dsr=true`, on by default since 1.33); without it the setting is dropped. Source: kubernetes pkg/proxy/winkernel/proxier.go.",
			Bad: service("  type: LoadBalancer\n  externalTrafficPolicy: Local\n"), Good: service("  type: LoadBalancer\n  externalTrafficPolicy: Cluster\n"),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
				if v := s.Root.At("metadata", "annotations", "preserve-destination"); v.Str() == "true" {
					p.Report(s, v, "dropped where kube-proxy on Windows runs without direct server return", say("run it with --enable-dsr=true"))
				}
				if v := s.Root.At("spec", "externalTrafficPolicy"); v.Str() == "Local" {
					p.Report(s, v, "dropped where kube-proxy on Windows runs without direct server return", say("run it with --enable-dsr=true"))
				}
			}),
		},
		{
			ID: "WIN408", Severity: lint.Warning, Title: "Session affinity", Oracle: lint.Unit,
			Doc: "Windows Server before 2022 ignores `sessionAffinity: ClientIP`. Not reported when `--windows-release` names newer ones alone. Source: kubernetes.io/docs/concepts/services-networking/windows-networking.",
			Bad: service("  sessionAffinity: ClientIP\n"), Good: service("  sessionAffinity: None\n"),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
				newer := len(p.Target.Windows) > 0 && !slices.ContainsFunc(p.Target.Windows, func(release string) bool { return release < "2022" })
				if v := s.Root.At("spec", "sessionAffinity"); v.Str() == "ClientIP" && !newer {
					p.Report(s, v, "ignored by Windows Server before 2022", say("keep the session elsewhere, or use newer nodes"))
				}
			}),
		},
		{
			ID: "WIN410", Severity: lint.Warning, Title: "Traffic distribution", Since: 30, Oracle: lint.Unit,
			Doc: "kube-proxy on Windows does not look at zones: traffic that starts on a Windows node has no preference. Source: kubernetes pkg/proxy/winkernel/proxier.go.",
			Bad: service("  trafficDistribution: PreferClose\n"), Good: service(""),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
				if v := s.Root.At("metadata", "annotations", "service.kubernetes.io/topology-mode"); v.Exists() && !strings.EqualFold(v.Str(), "disabled") {
					p.Report(s, v, "kube-proxy on Windows does not look at zones", say("do not rely on it from Windows nodes"))
				}
				if v := s.Root.At("spec", "trafficDistribution"); v.Exists() {
					p.Report(s, v, "kube-proxy on Windows does not look at zones", say("do not rely on it from Windows nodes"))
				}
			}),
		},
		{
			ID: "WIN413", Severity: lint.Error, Title: "IPv6 alone", Oracle: lint.Unit,
			Doc: "Windows has no networking of pods with IPv6 alone. Add IPv4. With an overlay network (VXLAN of Calico or Flannel in the input) dual-stack does not work either, which is a warning. Source: kubernetes.io/docs/concepts/services-networking/dual-stack.",
			Bad: service("  ipFamilies: [IPv6]\n"), Good: service("  ipFamilies: [IPv4]\n"),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
				v := s.Root.At("spec", "ipFamilies")
				if families := v.Strings(); len(families) == 1 && families[0] == "IPv6" {
					p.Report(s, v, "pods on Windows have no IPv6 alone", say("IPv4, or both"))
				}
				policy := s.Root.At("spec", "ipFamilyPolicy")
				if dual := policy.Str() == "RequireDualStack" || policy.Str() == "PreferDualStack"; dual && overlay(p.Set) {
					p.ReportAs(lint.Warning, s, policy, "the overlay network of the input has no dual-stack on Windows", say("SingleStack"))
				}
			}),
		},
		{
			ID: "WIN416", Severity: lint.Warning, Title: "hostAliases of a HostProcess pod", Oracle: lint.Unit,
			Doc: "The hosts file is not mounted into HostProcess containers, so hostAliases do nothing. Take them out. Source: kubernetes pkg/kubelet/kubelet_pods.go, shouldMountHostsFile.",
			Bad: aliases(true), Good: aliases(false),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Spec.At("hostAliases"); len(v.Items()) > 0 && (pod.HostProcess() || p.Target.Docker) {
					p.Report(pod.Object, v, "HostProcess containers see the node's hosts file, and Docker mounts no single file: the names are not there", safe("take it out", lint.Delete(v)))
				}
			},
		},
		{
			ID: "WIN132", Severity: lint.Warning, Title: "Annotations of AppArmor and seccomp", Oracle: lint.Unit,
			Doc: "Neither exists on Windows; the annotations do nothing. Source: kubernetes pkg/registry/core/pod/strategy.go.",
			Bad: annotated("container.apparmor.security.beta.kubernetes.io/app: runtime/default"), Good: annotated("example.org/owner: web"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				for _, f := range pod.Meta.At("annotations").Fields() {
					if securityAnnotation.MatchString(f.Key) {
						p.Report(pod.Object, f.Value, "does nothing on Windows", safe("take it out", lint.Delete(pod.Meta.At("annotations", f.Key))))
					}
				}
			},
		},
	}
}

func aliases(hostProcess bool) string {
	process := ""
	if hostProcess {
		process = "  hostNetwork: true\n  securityContext:\n    windowsOptions:\n      hostProcess: true\n      runAsUserName: NT AUTHORITY\\SYSTEM\n"
	}
	return windowsPod + "  hostAliases:\n  - ip: 10.0.0.9\n    hostnames: [db]\n" + process + container
}

func annotated(line string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n  annotations:\n    " + line + "\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container
}
