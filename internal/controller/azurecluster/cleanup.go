package azurecluster

import (
	"context"
	"encoding/json"
	"slices"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

// appliedRulesAnnotation contains, per security group, the names of the rules that casement wrote, so that a rule that
// is removed from the spec is deleted in Azure too, while rules of others stay.
const appliedRulesAnnotation = "sigs.k8s.io/cluster-api-provider-azure-last-applied-security-rules"

// cleanup deletes the security rules that casement wrote and that are no longer in the
// spec, and records the current ones in the annotation.
func (r *Reconciler) cleanup(ctx context.Context, s *scope) pass.Result {
	if s.foreignVNet {
		return pass.Next()
	}
	wanted := wantedRules(s.AzureCluster)
	if dropped := droppedRules(s.AzureCluster, wanted); len(dropped) > 0 {
		outcome := s.Azure.Delete(ctx, s.Cluster.Name, dropped, *s.Operations())
		*s.Operations() = record.States(outcome.Tokens)
		if outcome.State != plan.Done {
			reason, message := cloud.Explain(outcome, "Updating")
			return pass.Blocked(reason, message, cloud.Requeue(outcome, r.Resync)).On(infrav1.SecurityGroupsReadyCondition)
		}
	}
	return pass.Error(recordRules(s.AzureCluster, wanted))
}

// wantedRules returns the names of the spec's rules by security group ID.
func wantedRules(c *infrav1.AzureCluster) map[string][]string {
	wanted := map[string][]string{}
	for _, subnet := range c.Spec.NetworkSpec.Subnets {
		if subnet.SecurityGroup.Name == "" {
			continue
		}
		id := desired.VNetGroup(c).Network("networkSecurityGroups", subnet.SecurityGroup.Name)
		for _, rule := range subnet.SecurityGroup.SecurityRules {
			if !slices.Contains(wanted[id], rule.Name) {
				wanted[id] = append(wanted[id], rule.Name)
			}
		}
	}
	return wanted
}

// droppedRules returns the security rules in the annotation that are no longer wanted. An annotation that cannot be
// parsed, such as another provider's, gives none.
func droppedRules(c *infrav1.AzureCluster, wanted map[string][]string) []desired.Resource {
	var applied map[string][]string
	if json.Unmarshal([]byte(c.Annotations[appliedRulesAnnotation]), &applied) != nil {
		return nil
	}
	var dropped []desired.Resource
	for group, names := range applied {
		for _, name := range names {
			if !slices.Contains(wanted[group], name) {
				dropped = append(dropped, desired.Resource{
					ID: group + "/securityRules/" + name, APIVersion: desired.NetworkAPIVersion, Policy: desired.Manage,
					Condition: infrav1.SecurityGroupsReadyCondition, Field: "spec.networkSpec.subnets",
				})
			}
		}
	}
	slices.SortFunc(dropped, func(a, b desired.Resource) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return dropped
}

func recordRules(c *infrav1.AzureCluster, wanted map[string][]string) error {
	if len(wanted) == 0 {
		delete(c.Annotations, appliedRulesAnnotation)
		return nil
	}
	data, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[appliedRulesAnnotation] = string(data)
	return nil
}
