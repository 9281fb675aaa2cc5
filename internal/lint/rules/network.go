package rules

import (
	"fmt"
	"slices"

	"casement.dev/casement/internal/lint"
)

// network are the rules about networking.
func network() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN401", Severity: lint.Error, Title: "hostNetwork without hostProcess", Oracle: lint.Unit,
			Doc: "containerd gives the host's network to HostProcess containers alone: the pod stays on the cluster network without a word. Source: containerd internal/cri/server/helpers.go; KEP-3503 was withdrawn.",
			Bad: windowsPod + "  hostNetwork: true\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Spec.At("hostNetwork"); v.True() && !pod.HostProcess() {
					p.Report(pod.Object, v, "the pod stays on the cluster network: only HostProcess containers share the node's", say("take it out, or make the pod a HostProcess one"))
				}
			},
		},
		{
			ID: "WIN402", Severity: lint.Warning, Title: "ClusterFirstWithHostNet", Oracle: lint.Unit,
			Doc: "The DNS policy is not supported on Windows. Source: kubernetes.io/docs/concepts/services-networking/dns-pod-service.",
			Bad: windowsPod + "  dnsPolicy: ClusterFirstWithHostNet\n" + container, Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Spec.At("dnsPolicy"); v.Str() == "ClusterFirstWithHostNet" {
					fix := say("ClusterFirst")
					if !pod.HostProcess() {
						fix = safe("ClusterFirst", lint.Replace(v, "ClusterFirst"))
					}
					p.Report(pod.Object, v, "not supported on Windows", fix)
				}
			},
		},
		{
			ID: "WIN405", Severity: lint.Warning, Title: "hostPort", Oracle: lint.Unit,
			Doc: "A host port works on Windows only when the CNI has the capability portMappings. Source: learn.microsoft.com/virtualization/windowscontainers/kubernetes/common-problems.",
			Bad: windowsPod + container + "    ports:\n    - containerPort: 80\n      hostPort: 8080\n", Good: windowsPod + container + "    ports:\n    - containerPort: 80\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				for _, port := range c.At("ports").Items() {
					if v := port.At("hostPort"); v.Exists() && !pod.HostProcess() {
						p.Report(pod.Object, v, "works only with a CNI that maps ports on Windows", say("use a Service"))
					}
				}
			}),
		},
		{
			ID: "WIN406", Severity: lint.Error, Title: "SCTP", Oracle: lint.Unit,
			Doc: "Windows nodes do not support SCTP. Source: kubernetes.io/docs/reference/networking/service-protocols.",
			Bad: windowsPod + container + "    ports:\n    - containerPort: 80\n      protocol: SCTP\n", Good: windowsPod + container + "    ports:\n    - containerPort: 80\n      protocol: TCP\n",
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				for _, port := range c.At("ports").Items() {
					if v := port.At("protocol"); v.Str() == "SCTP" {
						p.Report(pod.Object, v, "Windows nodes do not support SCTP", say("TCP or UDP"))
					}
				}
			}),
			Check: func(p *lint.Pass) {
				eachService(func(p *lint.Pass, s *lint.Object) {
					for _, port := range s.Root.At("spec", "ports").Items() {
						if v := port.At("protocol"); v.Str() == "SCTP" {
							p.Report(s, v, "Windows nodes do not support SCTP", say("TCP or UDP"))
						}
					}
				})(p)
				for _, o := range p.Set.Kind("NetworkPolicy") {
					for _, v := range policyProtocols(o) {
						if v.Str() == "SCTP" && slices.ContainsFunc(p.Pods(), func(pod *lint.Pod) bool {
							return pod.Object.Namespace == o.Namespace && matches(o.Root.At("spec", "podSelector"), pod.Meta.At("labels"))
						}) {
							p.Report(o, v, "Windows nodes do not support SCTP", say("TCP or UDP"))
						}
					}
				}
			},
		},
		{
			ID: "WIN409", Severity: lint.Warning, Title: "A timeout of session affinity", Oracle: lint.Unit,
			Doc: "kube-proxy on Windows never reads the timeout. Source: kubernetes pkg/proxy/winkernel.",
			Bad: service("  sessionAffinity: ClientIP\n  sessionAffinityConfig:\n    clientIP:\n      timeoutSeconds: 60\n"), Good: service(""),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
				v := s.Root.At("spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds")
				if n, ok := v.Int(); ok && n != 10800 { // the API server's default
					p.Report(s, v, "kube-proxy on Windows does not read the timeout", safe("take it out", lint.Delete(v)))
				}
			}),
		},
		{
			ID: "WIN412", Severity: lint.Warning, Title: "More backends than a Service can have", Oracle: lint.Unit,
			Doc: "A Service takes at most 1024 backends on Windows. Source: kubernetes.io/docs/concepts/services-networking/windows-networking.",
			Bad: "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: example\nspec:\n  replicas: 2000\n  template:\n    spec:\n      nodeSelector:\n        kubernetes.io/os: windows\n      containers: [{name: app, image: mcr.microsoft.com/windows/nanoserver:ltsc2022}]\n", Good: windowsPod + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				many := func(o *lint.Object, v lint.Value) {
					if n, ok := v.Int(); ok && n > 1024 {
						p.Report(o, v, fmt.Sprintf("%d replicas: a Service has at most 1024 backends on Windows", n), say("split it"))
					}
				}
				many(pod.Object, pod.Object.Root.At("spec", "replicas"))
				for _, o := range p.Set.Kind("HorizontalPodAutoscaler") {
					ref := o.Root.At("spec", "scaleTargetRef")
					if o.Namespace == pod.Object.Namespace && ref.At("kind").Str() == pod.Object.Kind && ref.At("name").Str() == pod.Object.Name {
						many(o, o.Root.At("spec", "maxReplicas"))
					}
				}
			},
		},
	}
}

// policyProtocols are the protocols that a NetworkPolicy names.
func policyProtocols(o *lint.Object) []lint.Value {
	var out []lint.Value
	for _, direction := range []string{"ingress", "egress"} {
		for _, rule := range o.Root.At("spec", direction).Items() {
			for _, port := range rule.At("ports").Items() {
				out = append(out, port.At("protocol"))
			}
		}
	}
	return out
}

// service is a Service in front of a Windows pod.
func service(lines string) string {
	return "apiVersion: v1\nkind: Service\nmetadata:\n  name: example\nspec:\n  selector:\n    app: example\n" + lines + "  ports:\n  - port: 80\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n  labels:\n    app: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container
}

// eachService runs check for the Services that have Windows pods behind them.
func eachService(check func(p *lint.Pass, s *lint.Object)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, s := range p.Set.Kind("Service") {
			for _, pod := range p.Set.Selected(s.Root.At("spec", "selector"), s.Namespace) {
				if pod.Windows() {
					check(p, s)
					break
				}
			}
		}
	}
}
