// Package resources is the resource provider Microsoft.Resources of the local
// Azure: groups, tags, deployments of templates, and what belongs to
// subscriptions and tenants. It imports no other provider; package azuresim
// alone imports it.
package resources

import "casement.dev/casement/azuresim/internal/engine"

const (
	resourcesSpace = "Microsoft.Resources"
	typeDeployment = "Microsoft.Resources/deployments"
)

// New is Microsoft.Resources: groups, tags, deployments, and what
// belongs to subscriptions and tenants.
func New() engine.Provider {
	return engine.Provider{
		Namespace: resourcesSpace,
		Types:     []engine.Type{deploymentType(), groupType()},
		Answer:    answerResources,
		Tenant:    answerTenant,
	}
}

// answerResources answers what ARM itself has: paths without a provider, tags on
// any resource, and the providers.
func answerResources(c *engine.Request) (bool, *engine.Error) {
	if c.ID.Group == "" && answerSubscription(c) {
		return true, nil
	}
	if handled, e := answerTags(c); handled {
		return true, e
	}
	if handled, e := answerDeployment(c); handled {
		return true, e
	}
	switch {
	case c.ID.Namespace == "":
		return true, serveGroups(c)
	case len(c.ID.Types) == 0:
		return true, engine.ErrUnsupported("the resource provider " + c.ID.Namespace)
	}
	return false, nil
}
