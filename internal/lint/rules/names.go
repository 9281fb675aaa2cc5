package rules

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/lint"
)

// shortName is a Service's name with its namespace, and maybe svc, in an address.
var shortName = regexp.MustCompile(`^(?:[a-z]+://)?([a-z][-a-z0-9]*)\.([a-z][-a-z0-9]*)(?:\.svc)?(?::\d+)?(?:/\S*)?$`)

// pinging starts a program that sends ICMP, up to its arguments.
var pinging = regexp.MustCompile(`(?i)(?:^|[\s;&|/\\])(?:ping(?:\.exe)?|test-connection)\s+([^;&|]*)`)

// names are the rules about names, addresses and ports of Services.
func names() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN403", Severity: lint.Warning, Title: "DNS suffixes and ndots", Oracle: lint.Unit,
			Doc: "Windows has one DNS suffix for a pod, that of its namespace, and takes every name with a dot as complete: more search domains and `ndots` do nothing. Write names in full, such as web.shop.svc.cluster.local. Source: kubernetes.io/docs/concepts/services-networking/dns-pod-service; kubernetes test/e2e/network/dns.go.",
			Bad: windowsPod + "  dnsConfig:\n    options:\n    - name: ndots\n      value: '2'\n" + container, Good: windowsPod + "  dnsConfig:\n    searches: [shop.svc.cluster.local]\n" + container,
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				if v := pod.Spec.At("dnsConfig", "searches"); len(v.Items()) > 1 {
					p.Report(pod.Object, v, "Windows uses one DNS suffix", say("names in full"))
				}
				for _, o := range pod.Spec.At("dnsConfig", "options").Items() {
					if v := o.At("name"); v.Str() == "ndots" {
						p.Report(pod.Object, v, "Windows takes every name with a dot as complete, whatever ndots says", say("take it out, and write names in full"))
					}
				}
			},
		},
		{
			ID: "WIN404", Severity: lint.Info, Title: "A name that Windows does not complete", Oracle: lint.Unit,
			Doc: "Windows takes a name with a dot as complete: `web.shop` and `web.shop.svc` do not resolve, web and web.shop.svc.cluster.local do. Reported for namespaces that the input names, and for default and kube-system. Source: kubernetes test/e2e/network/dns.go.",
			Bad: windowsPod + container + "    env:\n    - name: DATABASE\n      value: http://db.default:5432/\n", Good: windowsPod + container + "    env:\n    - name: DATABASE\n      value: http://db.default.svc.cluster.local:5432/\n",
			Check: func(p *lint.Pass) {
				known := map[string]bool{"default": true, "kube-system": true}
				for _, o := range p.Set.Objects {
					known[o.Namespace] = true
					if o.Kind == "Namespace" {
						known[o.Name] = true
					}
				}
				look := eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
					texts := c.At("args").Items()
					for _, e := range c.At("env").Items() {
						texts = append(texts, e.At("value"))
					}
					for _, probe := range probes {
						texts = append(texts, c.At(probe, "httpGet", "host"), c.At(probe, "tcpSocket", "host"))
					}
					for _, v := range texts {
						if m := shortName.FindStringSubmatch(v.Str()); m != nil && known[m[2]] {
							p.Report(pod.Object, v, fmt.Sprintf("Windows does not complete %s.%s", m[1], m[2]), say(fmt.Sprintf("%s.%s.svc.cluster.local", m[1], m[2])))
						}
					}
				})
				for _, pod := range p.Pods() {
					look(p, pod)
				}
			},
		},
		{
			ID: "WIN411", Severity: lint.Warning, Title: "A port name with several numbers", Oracle: lint.Unit,
			Doc: "The load balancer of Windows takes the port of the first backend for all: a named targetPort has to be the same number in every pod behind the Service. Source: kubernetes pkg/proxy/winkernel/proxier.go, syncProxyRules.",
			Bad: ports(8080, 8081), Good: ports(8080, 8080),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
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
						p.Report(s, v, fmt.Sprintf("the port %s has different numbers in the pods behind the Service: Windows takes one for all", v.Str()), say("the same number in every pod"))
					}
				}
			}),
		},
		{
			ID: "WIN414", Severity: lint.Warning, Title: "Ping to the outside", Oracle: lint.Unit,
			Doc: "Windows does not translate the addresses of outgoing ICMP: a ping out of the cluster gets no answer, whatever the network. Test with TCP: curl, or Test-NetConnection -Port. Source: kubernetes.io/docs/concepts/services-networking/windows-networking.",
			Bad: command("ping, -n, '1', example.com"), Good: command("curl.exe, https://example.com"),
			Pod: eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
				lines := []lint.Value{c.At("args")}
				for _, v := range append(commands(c), lines...) {
					line := strings.Join(v.Strings(), " ")
					for _, m := range pinging.FindAllStringSubmatch(line, -1) {
						if words := strings.Fields(m[1]); !strings.Contains(strings.ToLower(m[1]), "-tcpport") && slices.ContainsFunc(words, outside) {
							p.Report(pod.Object, v, "no answer to a ping comes back from outside the cluster", say("curl.exe, or Test-NetConnection -Port"))
							break
						}
					}
				}
			}),
		},
		{
			ID: "WIN415", Severity: lint.Info, Title: "What Services do otherwise on Windows", Oracle: lint.Unit,
			Doc: "A NodePort can fail from the node itself, and kube-proxy on Windows does not enforce `loadBalancerSourceRanges`: only the cloud's load balancer or security group does. Source: kubernetes.io/docs/concepts/services-networking/windows-networking; kubernetes pkg/proxy/winkernel.",
			Bad: service("  type: NodePort\n"), Good: service("  type: ClusterIP\n"),
			Check: eachService(func(p *lint.Pass, s *lint.Object) {
				if v := s.Root.At("spec", "type"); v.Str() == "NodePort" {
					p.Report(s, v, "a node port can fail from a Windows node itself", say("use the Service's name inside the cluster"))
				}
				if v := s.Root.At("spec", "loadBalancerSourceRanges"); len(v.Items()) > 0 {
					p.Report(s, v, "kube-proxy on Windows does not enforce the ranges, only the cloud's load balancer does", say("see that the load balancer does"))
				}
			}),
		},
	}
}

// probes are the fields of a container's probes.
var probes = []string{"livenessProbe", "readinessProbe", "startupProbe"}

// outside says whether a word is an address that is not in the cluster: a public one,
// or a complete name of another domain.
func outside(word string) bool {
	word = strings.ToLower(strings.Trim(word, `"'`))
	if a, err := netip.ParseAddr(word); err == nil {
		return a.IsGlobalUnicast() && !a.IsPrivate()
	}
	dot := strings.LastIndex(word, ".")
	return dot > 0 && dot < len(word)-2 && !strings.ContainsAny(word, `\/$%(){}=`) && !strings.HasPrefix(word, "-") &&
		!slices.Contains([]string{".local", ".svc", ".internal", ".exe", ".ps1", ".txt", ".log"}, word[dot:]) && !numeric(word)
}

// numeric says whether a word is a number such as 1.5.
func numeric(word string) bool { return strings.Trim(word, "0123456789.") == "" }

// ports is a Service with a named port, and two pods behind it.
func ports(first, second int) string {
	pod := func(name string, port int) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  labels:\n    app: example\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n" + container + fmt.Sprintf("    ports:\n    - name: web\n      containerPort: %d\n", port)
	}
	return "apiVersion: v1\nkind: Service\nmetadata:\n  name: example\nspec:\n  selector:\n    app: example\n  ports:\n  - port: 80\n    targetPort: web\n" + pod("one", first) + pod("two", second)
}
