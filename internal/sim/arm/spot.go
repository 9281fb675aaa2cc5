package arm

import (
	"slices"
	"strings"
)

// checkSpot holds the rules of spot priority: what is billed at the market's
// price may have a limit, and goes when it is exceeded.
// Source: https://learn.microsoft.com/azure/virtual-machines/spot-vms.
func checkSpot(profile object, path string) *Error {
	priority, policy := str(profile, "priority"), str(profile, "evictionPolicy")
	price, priced := value(profile, "billingProfile", "maxPrice").(float64)
	switch {
	case priority != "" && !slices.Contains([]string{"Regular", "Low", "Spot"}, priority):
		return invalid(path+".priority", "The value '%s' of parameter 'priority' is not one of Regular, Low, Spot.", priority)
	case !isSpot(profile) && policy != "":
		return badRequest("OperationNotAllowed", "Eviction policy can be set only on Azure Spot Virtual Machines. For more information, see http://aka.ms/AzureSpot/errormessages.")
	case !isSpot(profile) && priced && price != -1:
		return badRequest("OperationNotAllowed", "Max price can be set only on Azure Spot Virtual Machines. For more information, see http://aka.ms/AzureSpot/errormessages.")
	case policy != "" && policy != "Deallocate" && policy != "Delete":
		return invalid(path+".evictionPolicy", "The value '%s' of parameter 'evictionPolicy' is not one of Deallocate, Delete.", policy)
	case priced && price != -1 && price <= 0:
		return invalid(path+".billingProfile.maxPrice", "Max price %v is not valid: it has to be greater than 0, or -1 for no limit.", price)
	case isSpot(profile) && str(profile, "storageProfile", "osDisk", "diffDiskSettings", "option") != "" && policy != "Delete":
		return badRequest("OperationNotAllowed", "Ephemeral OS disk is not supported for Azure Spot Virtual Machines with the eviction policy Deallocate: such a VM cannot be deallocated. Use the eviction policy Delete.")
	}
	return nil
}

func isSpot(profile object) bool {
	return strings.EqualFold(str(profile, "priority"), "Spot") || strings.EqualFold(str(profile, "priority"), "Low")
}
