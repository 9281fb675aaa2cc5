package preflight

import (
	"fmt"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/lint"
)

// access returns the checks of the subscription itself.
func (c checker) access() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE101", Severity: lint.Error, Title: "A subscription that cannot be used", Oracle: lint.Unit,
			Doc: "The identity has to see the subscription, and the subscription has to be enabled. A state of " +
				"Warned or PastDue still works, and is a warning. Source: " +
				"learn.microsoft.com/azure/cost-management-billing/manage/subscription-states.",
			Check: c.eachSubscription(checkPRE101),
		},
		{
			ID: "PRE102", Severity: lint.Warning, Title: "A resource provider that is not registered", Oracle: lint.Unit,
			Doc: "A subscription creates resources of registered providers alone. Azure registers one by itself " +
				"only for identities that may do so. Source: " +
				"learn.microsoft.com/azure/azure-resource-manager/management/resource-providers-and-types.",
			Check: c.eachSubscription(checkPRE102),
		},
		{
			ID: "PRE103", Severity: lint.Error, Title: "A location that there is not", Oracle: lint.Unit,
			Doc: "`spec.location` is one of the locations of the subscription, by its short name. Source: " +
				"learn.microsoft.com/rest/api/resources/subscriptions/list-locations.",
			Check: c.eachSubscription(checkPRE103),
		},
		{
			ID: "PRE104", Severity: lint.Warning, Title: "A question that Azure did not answer", Oracle: lint.Unit,
			Doc:   "Some fact could not be read, mostly because the identity may not; the checks that need it have said nothing.",
			Check: c.eachSubscription(checkPRE104),
		},
	}
}

func checkPRE101(p *lint.Pass, c *Cluster, s *Subscription) {
	at := in(c.Infra, "spec.subscriptionID")
	switch {
	case arm.ClassOf(s.Err) == arm.NotFound, arm.ClassOf(s.Err) == arm.Denied:
		p.Report(c.Infra, at,
			fmt.Sprintf("subscription %s does not exist, or the identity may not see it (%s)", s.ID, arm.CodeOf(s.Err)),
			say("the right subscription, or a role such as Contributor on it for the identity"))
	case s.Err != nil:
		p.Report(c.Infra, at, fmt.Sprintf("subscription %s could not be read: %v", s.ID, s.Err),
			say("the way to Azure, then preflight again"))
	case s.State == "Warned", s.State == "PastDue":
		p.ReportAs(lint.Warning, c.Infra, at,
			fmt.Sprintf("subscription %s is %s, and will be disabled", s.ID, s.State),
			say("settle its bill"))
	case s.State != "" && s.State != "Enabled":
		p.Report(c.Infra, at,
			fmt.Sprintf("subscription %s is %s: nothing can be created in it", s.ID, s.State),
			say("enable it, or use another"))
	}
}

func checkPRE102(p *lint.Pass, c *Cluster, s *Subscription) {
	for _, namespace := range providers() {
		if state, ok := s.Unregistered[namespace]; ok {
			p.Report(c.Infra, in(c.Infra, "spec.subscriptionID"),
				fmt.Sprintf("resource provider %s is %s in subscription %s", namespace, state, s.ID),
				say("az provider register --namespace "+namespace))
		}
	}
}

func checkPRE103(p *lint.Pass, c *Cluster, s *Subscription) {
	location := c.Azure.Spec.Location
	if location != "" && len(s.Locations) > 0 && !slices.Contains(s.Locations, normal(location)) {
		p.Report(c.Infra, in(c.Infra, "spec.location"),
			fmt.Sprintf("subscription %s has no location %s", s.ID, location),
			say("one of "+strings.Join(s.Locations, ", ")))
	}
}

func checkPRE104(p *lint.Pass, c *Cluster, s *Subscription) {
	for _, err := range s.Unasked {
		p.Report(c.Infra, in(c.Infra, "spec.subscriptionID"),
			fmt.Sprintf("Azure was asked and did not say: %v", err),
			say("let the identity read it (role Reader), or look yourself"))
	}
}
