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
// belongs to subscriptions and tenants. linked returns the template or the
// parameters at the address that a deployment names; with nil such deployments
// are refused.
func New(linked func(uri string) ([]byte, error)) engine.Provider {
	return engine.Provider{
		Namespace: resourcesSpace,
		Types:     []engine.Type{deploymentType(), groupType(), tagNameType()},
		State:     &state{linked: linked},
		Answer:    answerResources,
		Tenant:    answerTenant,
	}
}

// state is what the provider keeps for a server.
type state struct {
	linked func(uri string) ([]byte, error)
	// turns lets one template be expanded at a time. A request waits for its turn before it locks the store, so that
	// requests without templates are answered meanwhile.
	turns sync.Mutex
}

// takeTurn waits until no other template is expanded.
func takeTurn(s *engine.Server) (end func()) {
	turns := &engine.StateOf[*state](s, resourcesSpace).turns
	turns.Lock()
	return turns.Unlock
}

// answerResources answers what ARM itself has: paths without a provider, tags on
// any resource, and the providers.
func answerResources(c *engine.Request) (bool, *engine.Error) {
	if c.ID.Group == "" && answerSubscription(c) {
		return true, nil
	}
	if handled, e := answerTagName(c); handled {
		return true, e
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
