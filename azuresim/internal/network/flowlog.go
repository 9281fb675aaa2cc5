package network

import (
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// prepareFlowLog checks what a flow log watches and where it writes to. No flow is
// logged: the storage account stays empty.
func prepareFlowLog(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	target, storage := value.Str(p, "targetResourceId"), value.Str(p, "storageId")
	watched := t.Find(target)
	switch {
	case watched != nil:
		p["targetResourceGuid"] = value.Str(watched.Body, "properties", "resourceGuid")
	case strings.Contains(value.Lower(target), "/networksecuritygroups/"):
		return engine.BadRequest("NetworkSecurityGroupNotFoundForFlowLog",
			"Network security group specified in flow log TargetResourceId %s is not found.", target)
	default:
		return engine.ErrReference(target, d.ID)
	}
	state := "Creating" // what Azure says of an account that it does not see yet
	if account := t.Record(storage); account != nil {
		if state = account.State; state == updating {
			state = "ResolvingDns"
		}
	}
	if state != engine.StatusSucceeded {
		return engine.BadRequest("StorageProvisioningStateNotSucceeded",
			"Storage account (%s) provisioning state %s is not Succeeded.", state, storage)
	}
	fill(p, value.Object{"enabled": true, "flowAnalyticsConfiguration": value.Object{}})
	return nil
}
