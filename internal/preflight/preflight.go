// Package preflight reports, before anything is created, the parts of a cluster's manifests that Azure, Kubernetes or
// Windows will refuse: access, quota, sizes, zones, images, networks, names, versions, admission, bootstrap data, and
// the rules of lint.
//
// Its checks are lint rules that use a Plan, which is read only from manifests, and Facts, which Ask reads from Azure.
// It changes nothing, uses no Kubernetes API and does not determine exit codes. internal/cli imports it.
package preflight

import (
	"slices"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

// Run checks a set of manifests. If facts is nil, because Azure was not queried, the checks that need it report nothing.
func Run(set *lint.Set, plan *Plan, facts *Facts) []lint.Finding {
	return lint.Run(set, All(plan, facts), lint.Target{})
}

// All returns the rules of package lint together with Rules.
func All(plan *Plan, facts *Facts) []lint.Rule {
	return slices.Concat(rules.All(), Rules(plan, facts))
}

// Rules returns the checks of this package. Their documentation and examples do not depend on plan and facts.
func Rules(plan *Plan, facts *Facts) []lint.Rule {
	checks := checker{plan: plan, facts: facts}
	if plan == nil {
		checks.plan = &Plan{}
	}
	return slices.Concat(checks.access(), checks.capacity(), checks.networks(), checks.cni(), checks.versions(), checks.support(),
		checks.names(), checks.domains(), checks.admission(), checks.bootstrap(), checks.disks(), checks.scriptLines(), checks.types())
}

// checker has the plan and the facts for the checks.
type checker struct {
	plan  *Plan
	facts *Facts
}

// eachCluster returns a check that runs check for each cluster.
func (c checker) eachCluster(check func(p *lint.Pass, c *Cluster)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, cluster := range c.plan.Clusters {
			check(p, cluster)
		}
	}
}

// eachSubscription returns a check that runs check for each cluster with the facts of its
// subscription; it reports nothing if Azure was not read.
func (c checker) eachSubscription(check func(p *lint.Pass, c *Cluster, s *Subscription)) func(*lint.Pass) {
	return c.eachCluster(func(p *lint.Pass, cluster *Cluster) {
		if s := c.facts.of(cluster); s != nil {
			check(p, cluster, s)
		}
	})
}

// say returns a fix that the user has to make.
func say(text string) lint.Fix { return lint.Fix{Text: text} }
