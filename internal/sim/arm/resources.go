package arm

const (
	resourcesSpace = "Microsoft.Resources"
	typeDeployment = "Microsoft.Resources/deployments"
)

// resourcesProvider is Microsoft.Resources: groups, tags, deployments, and what
// belongs to subscriptions and tenants.
func resourcesProvider() Provider {
	return Provider{
		Namespace: resourcesSpace,
		Versions:  []string{"2025-04-01", "2022-09-01", "2021-04-01", "2020-06-01", "2019-10-01"},
		Types:     []Type{deploymentType(), groupType()},
		Answer:    answerResources,
		Tenant:    answerTenant,
	}
}

// answerResources answers what ARM itself has: paths without a provider, tags on
// any resource, and the providers.
func answerResources(c *call) (bool, *Error) {
	if c.id.Group == "" && answerSubscription(c) {
		return true, nil
	}
	if handled, e := answerTags(c); handled {
		return true, e
	}
	if handled, e := answerDeployment(c); handled {
		return true, e
	}
	switch {
	case c.id.Namespace == "":
		return true, c.serveGroups()
	case len(c.id.Types) == 0:
		return true, errUnsupported("the resource provider " + c.id.Namespace)
	}
	return false, nil
}
