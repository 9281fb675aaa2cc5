package network

import (
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// prepareFlowLog checks the target and the storage account of a flow log. No flow is logged: the
// storage account stays empty.
func prepareFlowLog(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	target, storage := value.Str(p, "targetResourceId"), value.Str(p, "storageId")
	watched := t.Find(target)
	switch {
	case old == nil && strings.Contains(value.Lower(target), "/networksecuritygroups/") && engine.Retired(t.Now, "2025-06-30"):
		// Source: https://github.com/Azure/bicep-registry-modules/pull/6049.
		return engine.BadRequest("NsgFlowLogCreationBlocked", "On September 30, 2027, Network Security Group (NSG) flow logs will be "+
			"retired. As part of this retirement, creation of new NSG flow logs is blocked starting June 30, 2025, but you will be able "+
			"to continue using and modifying settings for existing NSG flow logs that are previously deployed/configured until Sept "+
			"30th 2027. We recommend migrating to virtual network flow logs, which overcome the limitations of NSG flow logs. For "+
			"migration, please refer to https://learn.microsoft.com/en-us/azure/network-watcher/nsg-flow-logs-migrate.")
	case watched != nil:
		p["targetResourceGuid"] = value.Str(watched.Body, "properties", "resourceGuid")
	case strings.Contains(value.Lower(target), "/networksecuritygroups/"):
		return engine.BadRequest("NetworkSecurityGroupNotFoundForFlowLog",
			"Network security group specified in flow log TargetResourceId %s is not found.", target)
	default:
		return engine.ErrReference(target, d.ID)
	}
	state := "Creating" // Azure's text for an account that it does not see yet
	if account := t.Record(storage); account != nil {
		if state = account.State; state == updating {
			state = "ResolvingDns"
		}
	}
	if state != engine.StatusSucceeded {
		return engine.BadRequest("StorageProvisioningStateNotSucceeded",
			"Storage account (%s) provisioning state %s is not Succeeded.", state, storage)
	}
	return nil
}
