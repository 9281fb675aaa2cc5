package rules

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// win401: hostNetwork without hostProcess.
var win401 = lint.Rule{
	ID:       "WIN401",
	Severity: lint.Error,
	Title:    "hostNetwork without hostProcess",
	Oracle:   lint.Unit,
	Doc: "containerd gives the host's network to HostProcess containers alone: the pod stays on the cluster network " +
		"without a word. Source: containerd internal/cri/server/helpers.go; KEP-3503 was withdrawn.",
	Bad:  windowsPod + "  hostNetwork: true\n" + container,
	Good: windowsPod + container,
	Pod:  checkWIN401,
}

func checkWIN401(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Spec.At("hostNetwork"); v.True() && !pod.HostProcess() {
		p.Report(pod.Object, v, "the pod stays on the cluster network: only HostProcess containers share "+
			"the node's", say("take it out, or make the pod a HostProcess one"))
	}
}

// win402: ClusterFirstWithHostNet.
var win402 = lint.Rule{
	ID:       "WIN402",
	Severity: lint.Warning,
	Title:    "ClusterFirstWithHostNet",
	Oracle:   lint.Unit,
	Doc:      "The DNS policy is not supported on Windows. Source: kubernetes.io/docs/concepts/services-networking/dns-pod-service.",
	Bad:      windowsPod + "  dnsPolicy: ClusterFirstWithHostNet\n" + container,
	Good:     windowsPod + container,
	Pod:      checkWIN402,
}

func checkWIN402(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Spec.At("dnsPolicy"); v.Str() == "ClusterFirstWithHostNet" {
		fix := say("ClusterFirst")
		if !pod.HostProcess() {
			fix = safe("ClusterFirst", lint.Replace(v, "ClusterFirst"))
		}
		p.Report(pod.Object, v, "not supported on Windows", fix)
	}
}

// win403: DNS suffixes and ndots.
var win403 = lint.Rule{
	ID:       "WIN403",
	Severity: lint.Warning,
	Title:    "DNS suffixes and ndots",
	Oracle:   lint.Unit,
	Doc: "Windows has one DNS suffix for a pod, that of its namespace, and takes every name with a dot as complete: " +
		"more search domains and `ndots` do nothing. Write names in full, such as web.shop.svc.cluster.local. Source: " +
		"kubernetes.io/docs/concepts/services-networking/dns-pod-service; kubernetes test/e2e/network/dns.go.",
	Bad:  windowsPod + "  dnsConfig:\n    options:\n    - name: ndots\n      value: '2'\n" + container,
	Good: windowsPod + "  dnsConfig:\n    searches: [shop.svc.cluster.local]\n" + container,
	Pod:  checkWIN403,
}

func checkWIN403(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Spec.At("dnsConfig", "searches"); len(v.Items()) > 1 {
		p.Report(pod.Object, v, "Windows uses one DNS suffix", say("names in full"))
	}
	for _, o := range pod.Spec.At("dnsConfig", "options").Items() {
		if v := o.At("name"); v.Str() == "ndots" {
			p.Report(pod.Object, v, "Windows takes every name with a dot as complete, whatever ndots "+
				"says", say("take it out, and write names in full"))
		}
	}
}

// win404: A name that Windows does not complete.
var win404 = lint.Rule{
	ID:       "WIN404",
	Severity: lint.Info,
	Title:    "A name that Windows does not complete",
	Oracle:   lint.Unit,
	Doc: "Windows takes a name with a dot as complete: `web.shop` and `web.shop.svc` do not resolve, web and " +
		"web.shop.svc.cluster.local do. Reported for namespaces that the input names, and for default and " +
		"kube-system. Source: kubernetes test/e2e/network/dns.go.",
	Bad:   windowsPod + container + "    env:\n    - name: DATABASE\n      value: http://db.default:5432/\n",
	Good:  windowsPod + container + "    env:\n    - name: DATABASE\n      value: http://db.default.svc.cluster.local:5432/\n",
	Check: checkWIN404,
}

func checkWIN404(p *lint.Pass) {
	known := map[string]bool{"default": true, "kube-system": true}
	for _, o := range p.Set.Objects {
		known[o.Namespace] = true
		if o.Kind == "Namespace" {
			known[o.Name] = true
		}
	}
	examine := eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
		texts := c.At("args").Items()
		for _, e := range c.At("env").Items() {
			texts = append(texts, e.At("value"))
		}
		for _, probe := range probes {
			texts = append(texts, c.At(probe, "httpGet", "host"), c.At(probe, "tcpSocket", "host"))
		}
		for _, v := range texts {
			if m := shortName.FindStringSubmatch(v.Str()); m != nil && known[m[2]] {
				p.Report(pod.Object, v, fmt.Sprintf("Windows does not complete "+
					"%s.%s", m[1], m[2]), say(fmt.Sprintf("%s.%s.svc.cluster.local", m[1], m[2])))
			}
		}
	})
	for _, pod := range p.Pods() {
		examine(p, pod)
	}
}

// win405: hostPort.
var win405 = lint.Rule{
	ID:       "WIN405",
	Severity: lint.Warning,
	Title:    "hostPort",
	Oracle:   lint.Unit,
	Doc: "A host port works on Windows only when the CNI has the capability portMappings. Source: " +
		"learn.microsoft.com/virtualization/windowscontainers/kubernetes/common-problems.",
	Bad:  windowsPod + container + "    ports:\n    - containerPort: 80\n      hostPort: 8080\n",
	Good: windowsPod + container + "    ports:\n    - containerPort: 80\n",
	Pod:  eachContainer(checkWIN405),
}

func checkWIN405(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, port := range c.At("ports").Items() {
		if v := port.At("hostPort"); v.Exists() && !pod.HostProcess() {
			p.Report(pod.Object, v, "works only with a CNI that maps ports on Windows", say("use a Service"))
		}
	}
}

// win406: SCTP.
var win406 = lint.Rule{
	ID:       "WIN406",
	Severity: lint.Error,
	Title:    "SCTP",
	Oracle:   lint.Unit,
	Doc:      "Windows nodes do not support SCTP. Source: kubernetes.io/docs/reference/networking/service-protocols.",
	Bad:      windowsPod + container + "    ports:\n    - containerPort: 80\n      protocol: SCTP\n",
	Good:     windowsPod + container + "    ports:\n    - containerPort: 80\n      protocol: TCP\n",
	Pod:      eachContainer(checkWIN406),
	Check:    checkWIN406b,
}

func checkWIN406(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, port := range c.At("ports").Items() {
		if v := port.At("protocol"); v.Str() == "SCTP" {
			p.Report(pod.Object, v, "Windows nodes do not support SCTP", say("TCP or UDP"))
		}
	}
}

func checkWIN406b(p *lint.Pass) {
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
}

// win407: Local traffic policy needs direct server return.
var win407 = lint.Rule{
	ID:       "WIN407",
	Severity: lint.Warning,
	Title:    "Local traffic policy needs direct server return",
	Oracle:   lint.Unit,
	Doc: "kube-proxy on Windows keeps to `externalTrafficPolicy: Local` only with direct server return " +
		"(`--enable-dsr=true`, on by default since 1.33); without it the setting is dropped. Source: kubernetes " +
		"pkg/proxy/winkernel/proxier.go.",
	Bad:   service("  type: LoadBalancer\n  externalTrafficPolicy: Local\n"),
	Good:  service("  type: LoadBalancer\n  externalTrafficPolicy: Cluster\n"),
	Check: eachService(checkWIN407),
}

func checkWIN407(p *lint.Pass, s *lint.Object) {
	if v := s.Root.At("metadata", "annotations", "preserve-destination"); v.Str() == "true" {
		p.Report(s, v, "dropped where kube-proxy on Windows runs without direct server return", say("run "+
			"it with --enable-dsr=true"))
	}
	if v := s.Root.At("spec", "externalTrafficPolicy"); v.Str() == "Local" {
		p.Report(s, v, "dropped where kube-proxy on Windows runs without direct server return", say("run "+
			"it with --enable-dsr=true"))
	}
}

// win408: Session affinity.
var win408 = lint.Rule{
	ID:       "WIN408",
	Severity: lint.Warning,
	Title:    "Session affinity",
	Oracle:   lint.Unit,
	Doc: "Windows Server before 2022 ignores `sessionAffinity: ClientIP`. Not reported when `--windows-release` names " +
		"newer ones alone. Source: kubernetes.io/docs/concepts/services-networking/windows-networking.",
	Bad:   service("  sessionAffinity: ClientIP\n"),
	Good:  service("  sessionAffinity: None\n"),
	Check: eachService(checkWIN408),
}

func checkWIN408(p *lint.Pass, s *lint.Object) {
	newer := len(p.Target.Windows) > 0 && !slices.ContainsFunc(p.Target.Windows, func(release string) bool { return release < "2022" })
	if v := s.Root.At("spec", "sessionAffinity"); v.Str() == "ClientIP" && !newer {
		p.Report(s, v, "ignored by Windows Server before 2022", say("keep the session elsewhere, or use newer nodes"))
	}
}

// win409: A timeout of session affinity.
var win409 = lint.Rule{
	ID:       "WIN409",
	Severity: lint.Warning,
	Title:    "A timeout of session affinity",
	Oracle:   lint.Unit,
	Doc:      "kube-proxy on Windows never reads the timeout. Source: kubernetes pkg/proxy/winkernel.",
	Bad:      service("  sessionAffinity: ClientIP\n  sessionAffinityConfig:\n    clientIP:\n      timeoutSeconds: 60\n"),
	Good:     service(""),
	Check:    eachService(checkWIN409),
}

func checkWIN409(p *lint.Pass, s *lint.Object) {
	v := s.Root.At("spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds")
	if n, ok := v.Int(); ok && n != 10800 { // the API server's default
		p.Report(s, v, "kube-proxy on Windows does not read the timeout", safe("take it out", lint.Delete(v)))
	}
}

// win410: Traffic distribution.
var win410 = lint.Rule{
	ID:       "WIN410",
	Severity: lint.Warning,
	Title:    "Traffic distribution",
	Since:    30,
	Oracle:   lint.Unit,
	Doc: "kube-proxy on Windows does not look at zones: traffic that starts on a Windows node has no preference. " +
		"Source: kubernetes pkg/proxy/winkernel/proxier.go.",
	Bad:   service("  trafficDistribution: PreferClose\n"),
	Good:  service(""),
	Check: eachService(checkWIN410),
}

func checkWIN410(p *lint.Pass, s *lint.Object) {
	if v := s.Root.At("metadata", "annotations", "service.kubernetes.io/topology-mode"); v.Exists() &&
		!strings.EqualFold(v.Str(), "disabled") {
		p.Report(s, v, "kube-proxy on Windows does not look at zones", say("do not rely on it from Windows nodes"))
	}
	if v := s.Root.At("spec", "trafficDistribution"); v.Exists() {
		p.Report(s, v, "kube-proxy on Windows does not look at zones", say("do not rely on it from Windows nodes"))
	}
}

// win411: A port name with several numbers.
var win411 = lint.Rule{
	ID:       "WIN411",
	Severity: lint.Warning,
	Title:    "A port name with several numbers",
	Oracle:   lint.Unit,
	Doc: "The load balancer of Windows takes the port of the first backend for all: a named targetPort has to be the " +
		"same number in every pod behind the Service. Source: kubernetes pkg/proxy/winkernel/proxier.go, syncProxyRules.",
	Bad:   ports(8080, 8081),
	Good:  ports(8080, 8080),
	Check: eachService(checkWIN411),
}

func checkWIN411(p *lint.Pass, s *lint.Object) {
	for _, port := range s.Root.At("spec", "ports").Items() {
		v := port.At("targetPort")
		numbers := map[string]bool{}
		for _, pod := range p.Set.Selected(s.Root.At("spec", "selector"), s.Namespace) {
			for _, c := range pod.Containers() {
				for _, own := range c.At("ports").Items() {
					if own.At("name").Str() == v.Str() && v.Str() != "" {
						numbers[own.At("containerPort").Str()] = true
					}
				}
			}
		}
		if len(numbers) > 1 {
			p.Report(s, v, fmt.Sprintf("the port %s has different numbers in the pods behind the Service: "+
				"Windows takes one for all", v.Str()), say("the same number in every pod"))
		}
	}
}

// win412: More backends than a Service can have.
var win412 = lint.Rule{
	ID:       "WIN412",
	Severity: lint.Warning,
	Title:    "More backends than a Service can have",
	Oracle:   lint.Unit,
	Doc: "A Service takes at most 1024 backends on Windows. Source: " +
		"kubernetes.io/docs/concepts/services-networking/windows-networking.",
	Bad: "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: example\nspec:\n  replicas: 2000\n  template:\n   " +
		" spec:\n      nodeSelector:\n        kubernetes.io/os: windows\n      containers: [{name: app, image: " +
		"mcr.microsoft.com/windows/nanoserver:ltsc2022}]\n",
	Good: windowsPod + container,
	Pod:  checkWIN412,
}

func checkWIN412(p *lint.Pass, pod *lint.Pod) {
	many := func(o *lint.Object, v lint.Value) {
		if n, ok := v.Int(); ok && n > 1024 {
			p.Report(o, v, fmt.Sprintf("%d replicas: a Service has at most 1024 backends on "+
				"Windows", n), say("split it"))
		}
	}
	many(pod.Object, pod.Object.Root.At("spec", "replicas"))
	for _, o := range p.Set.Kind("HorizontalPodAutoscaler") {
		ref := o.Root.At("spec", "scaleTargetRef")
		if o.Namespace == pod.Object.Namespace && ref.At("kind").Str() == pod.Object.Kind && ref.At("name").Str() == pod.Object.Name {
			many(o, o.Root.At("spec", "maxReplicas"))
		}
	}
}

// win413: Only IPv6.
var win413 = lint.Rule{
	ID:       "WIN413",
	Severity: lint.Error,
	Title:    "IPv6 alone",
	Oracle:   lint.Unit,
	Doc: "Windows has no networking of pods with IPv6 alone. Add IPv4. With an overlay network (VXLAN of Calico or " +
		"Flannel in the input) dual-stack does not work either, which is a warning. Source: " +
		"kubernetes.io/docs/concepts/services-networking/dual-stack.",
	Bad:   service("  ipFamilies: [IPv6]\n"),
	Good:  service("  ipFamilies: [IPv4]\n"),
	Check: eachService(checkWIN413),
}

func checkWIN413(p *lint.Pass, s *lint.Object) {
	v := s.Root.At("spec", "ipFamilies")
	if families := v.Strings(); len(families) == 1 && families[0] == "IPv6" {
		p.Report(s, v, "pods on Windows have no IPv6 alone", say("IPv4, or both"))
	}
	policy := s.Root.At("spec", "ipFamilyPolicy")
	if dual := policy.Str() == "RequireDualStack" || policy.Str() == "PreferDualStack"; dual && overlay(p.Set) {
		p.ReportAs(lint.Warning, s, policy, "the overlay network of the input has no dual-stack on "+
			"Windows", say("SingleStack"))
	}
}

// win414: Ping to an address outside the cluster.
var win414 = lint.Rule{
	ID:       "WIN414",
	Severity: lint.Warning,
	Title:    "Ping to the outside",
	Oracle:   lint.Unit,
	Doc: "Windows does not translate the addresses of outgoing ICMP: a ping out of the cluster gets no answer, " +
		"whatever the network. Test with TCP: curl, or Test-NetConnection -Port. Source: " +
		"kubernetes.io/docs/concepts/services-networking/windows-networking.",
	Bad:  command("ping, -n, '1', example.com"),
	Good: command("curl.exe, https://example.com"),
	Pod:  eachContainer(checkWIN414),
}

func checkWIN414(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	lines := []lint.Value{c.At("args")}
	for _, v := range append(commands(c), lines...) {
		line := strings.Join(v.Strings(), " ")
		for _, m := range pinging.FindAllStringSubmatch(line, -1) {
			if words := strings.Fields(m[1]); !strings.Contains(strings.ToLower(m[1]), "-tcpport") && slices.ContainsFunc(words, outside) {
				p.Report(pod.Object, v, "no answer to a ping comes back from outside the "+
					"cluster", say("curl.exe, or Test-NetConnection -Port"))
				break
			}
		}
	}
}

// win415: Features of Services that differ on Windows.
var win415 = lint.Rule{
	ID:       "WIN415",
	Severity: lint.Info,
	Title:    "What Services do otherwise on Windows",
	Oracle:   lint.Unit,
	Doc: "A NodePort can fail from the node itself, and kube-proxy on Windows does not enforce " +
		"`loadBalancerSourceRanges`: only the cloud's load balancer or security group does. Source: " +
		"kubernetes.io/docs/concepts/services-networking/windows-networking; kubernetes pkg/proxy/winkernel.",
	Bad:   service("  type: NodePort\n"),
	Good:  service("  type: ClusterIP\n"),
	Check: eachService(checkWIN415),
}

func checkWIN415(p *lint.Pass, s *lint.Object) {
	if v := s.Root.At("spec", "type"); v.Str() == "NodePort" {
		p.Report(s, v, "a node port can fail from a Windows node itself", say("use the Service's name "+
			"inside the cluster"))
	}
	if v := s.Root.At("spec", "loadBalancerSourceRanges"); len(v.Items()) > 0 {
		p.Report(s, v, "kube-proxy on Windows does not enforce the ranges, only the cloud's load balancer "+
			"does", say("see that the load balancer does"))
	}
}

// win416: hostAliases of a HostProcess pod.
var win416 = lint.Rule{
	ID:       "WIN416",
	Severity: lint.Warning,
	Title:    "hostAliases of a HostProcess pod",
	Oracle:   lint.Unit,
	Doc: "The hosts file is not mounted into HostProcess containers, so hostAliases do nothing. Take them out. " +
		"Source: kubernetes pkg/kubelet/kubelet_pods.go, shouldMountHostsFile.",
	Bad:  aliases(true),
	Good: aliases(false),
	Pod:  checkWIN416,
}

func checkWIN416(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Spec.At("hostAliases"); len(v.Items()) > 0 && (pod.HostProcess() || p.Target.Docker) {
		p.Report(pod.Object, v, "HostProcess containers see the node's hosts file, and Docker mounts no "+
			"single file: the names are not there", safe("take it out", lint.Delete(v)))
	}
}
