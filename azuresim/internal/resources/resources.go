// Package resources is the resource provider Microsoft.Resources of the local Azure: groups, tags,
// deployments of templates, subscriptions and tenants. It imports no other provider; only package
// azuresim imports it.
package resources

import (
	"sync"

	"casement.dev/casement/azuresim/internal/engine"
)

const (
	resourcesSpace = "Microsoft.Resources"
	typeDeployment = "Microsoft.Resources/deployments"
)

// New returns the provider Microsoft.Resources. linked returns the template or the parameters at
// the address that a deployment contains. With nil, such deployments are refused.
func New(linked func(uri string) ([]byte, error)) engine.Provider {
	return engine.Provider{
		Namespace: resourcesSpace,
		Types:     []engine.Type{deploymentType(), groupType(), tagNameType()},
		State:     &state{linked: linked},
		Answer:    answerResources,
		Tenant:    answerTenant,
	}
}

// state is the provider's own state in one server.
type state struct {
	linked func(uri string) ([]byte, error)
	// turns allows only one template to be expanded at a time. A request waits for its turn before
	// it locks the store, so that requests without templates are answered in the meantime.
	turns sync.Mutex
}

// takeTurn waits until no other template is being expanded. The caller calls end after its own
// expansion.
func takeTurn(s *engine.Server) (end func()) {
	turns := &engine.StateOf[*state](s, resourcesSpace).turns
	turns.Lock()
	return turns.Unlock
}

// answerResources answers ARM's own requests: paths without a provider, tags of any resource, and
// the list of providers.
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
