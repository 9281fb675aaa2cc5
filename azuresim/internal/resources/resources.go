// Package resources is the resource provider Microsoft.Resources of the local
// Azure: groups, tags, deployments of templates, and what belongs to
// subscriptions and tenants. It imports no other provider; package azuresim
// alone imports it.
package resources

import (
	"sync"

	"casement.dev/casement/azuresim/internal/engine"
)

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
		State:     &turns{},
		Answer:    answerResources,
		Tenant:    answerTenant,
	}
}

// turns lets one template be expanded at a time. A request waits for its turn before it locks the store, so that requests
// without templates are answered meanwhile.
type turns struct{ sync.Mutex }

// takeTurn waits until no other template is expanded.
func takeTurn(s *engine.Server) (end func()) {
	t := engine.StateOf[*turns](s, resourcesSpace)
	t.Lock()
	return t.Unlock
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
