package preflight

import (
	"fmt"

	"casement.dev/casement/internal/lint"
)

// admission are the checks of casement's own webhooks, made without a server.
func (c checker) admission() []lint.Rule {
	each := func(p *lint.Pass, check func(o *lint.Object, a admitted)) {
		for _, o := range p.Set.Objects {
			if a, ok := c.plan.admitted[o]; ok {
				check(o, a)
			}
		}
	}
	return []lint.Rule{
		{
			ID: "PRE501", Severity: lint.Error, Title: "An object that admission refuses", Oracle: lint.Unit,
			Doc: "What the webhooks of casement's kinds refuse when the object is created, after filling in defaults: names, ranges and subnets, load balancers, disks, images, identities, security.",
			Check: func(p *lint.Pass) {
				each(p, func(o *lint.Object, a admitted) {
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
				each(p, func(o *lint.Object, a admitted) {
					for _, w := range a.Warnings {
						p.Report(o, o.Root, w, say("take it out, or know that it does nothing"))
					}
				})
			},
		},
	}
}
