package rules

import (
	"casement.dev/casement/internal/lint"
)

// policyProtocols returns the protocols in a NetworkPolicy.
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

// service returns a Service that selects a Windows pod.
func service(lines string) string {
	return "apiVersion: v1\nkind: Service\nmetadata:\n  name: example\nspec:\n  selector:\n    app: example\n" + lines +
		"  ports:\n  - port: 80\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\n  labels:\n    app: example\nspec:\n  nodeSelector:\n" +
		"    kubernetes.io/os: windows\n" + container
}

// eachService runs check for the Services that select Windows pods.
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
