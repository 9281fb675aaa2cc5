package preflight

import (
	"fmt"

	"casement.dev/casement/internal/lint"
)

// admission returns the checks of casement's own webhooks and, for a Cluster with a ClusterClass, of Cluster API's
// admission, which run without a server.
func (c checker) admission() []lint.Rule {
	each := func(check func(o *lint.Object, a admitted)) {
		for _, o := range c.plan.created {
			check(o, c.plan.admitted[o])
		}
	}
	return []lint.Rule{
		{
			ID: "PRE501", Severity: lint.Error, Title: "An object that admission refuses", Oracle: lint.Unit,
			Doc: "What the webhooks of casement's kinds refuse when the object is created, after filling in " +
				"defaults: names, ranges and subnets, load balancers, disks, images, identities, security.",
			Check: func(p *lint.Pass) {
				each(func(o *lint.Object, a admitted) {
					if a.err != nil {
						p.Report(o, o.Root, a.err.Error(), say("fields of the kind's own types"))
					}
					for _, e := range a.Errors {
						p.Report(o, in(o, e.Field), fmt.Sprintf("admission refuses it: %s: %s", e.Field, e.ErrorBody()), say("as it says"))
					}
				})
			},
		},
		{
			ID: "PRE502", Severity: lint.Info, Title: "A field without effect", Oracle: lint.Unit,
			Doc: "What the webhooks of casement's kinds warn of: fields that are accepted and not acted on.",
			Check: func(p *lint.Pass) {
				each(func(o *lint.Object, a admitted) {
					for _, w := range a.Warnings {
						p.Report(o, o.Root, w, say("take it out, or know that it does nothing"))
					}
				})
			},
		},
		{
			ID: "PRE503", Severity: lint.Error, Title: "A topology that its ClusterClass does not allow", Oracle: lint.Unit,
			Doc: "What Cluster API's webhook refuses of a Cluster's topology: variables that the class does not " +
				"define or whose values it does not allow, groups of classes that it does not have, versions " +
				"that it does not list. Nothing more is said of such a cluster, as it cannot be rendered.",
			Check: func(p *lint.Pass) {
				for _, o := range p.Set.Objects {
					for _, e := range c.plan.Refused[o] {
						p.Report(o, in(o, e.Field),
							fmt.Sprintf("admission refuses it: %s: %s", e.Field, e.ErrorBody()),
							say("as it says, or change the ClusterClass"))
					}
				}
			},
		},
		{
			ID: "PRE504", Severity: lint.Error, Title: "An object that the management cluster refuses", Oracle: lint.Unit,
			Doc: "With `--plane` the management cluster is asked to create each object as a dry run: kinds that " +
				"it does not serve, feature gates that are off, namespaces that are missing and what any " +
				"admission webhook refuses. A topology is left out whose ClusterClass is in the input too, as " +
				"the dry run of the class leaves none.",
			Check: func(p *lint.Pass) {
				for o, reason := range c.plan.Server { // templates of a rendered class are not in the set
					p.Report(o, o.Root, "the management cluster refuses it: "+reason,
						say("as it says; a kind that is not served needs its provider, and a gate its flag"))
				}
			},
		},
	}
}
