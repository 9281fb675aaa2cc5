package arm

import (
	"net/http"
	"slices"
	"strings"
	"time"
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

// isSpotMachine says whether a VM or an instance may be evicted.
func (s *Server) isSpotMachine(id string) (yes bool) {
	s.read(func(t *tx) {
		if d := t.find(id); d != nil {
			yes = isSpot(spotOf(d))
		}
	})
	return yes
}

// spotOf is where a machine's priority and eviction policy stand: an instance
// does not show them.
func spotOf(d *doc) object {
	if d.Type == typeInstance {
		return d.Hidden
	}
	return sub(d.Body, "properties")
}

// simulateEviction answers 204 and takes a spot machine away. Azure does so within
// 30 minutes, the local one at once.
// Source: https://learn.microsoft.com/azure/virtual-machines/spot-portal#simulate-an-eviction.
func simulateEviction(c *call, id resourceID) *Error {
	there := false
	c.s.read(func(t *tx) { there = t.find(id.key()) != nil })
	if !there {
		return errNotFound(id)
	}
	if e := c.s.evict(id.String()); e != nil {
		return e
	}
	c.reply(http.StatusNoContent, nil)
	return nil
}

// evict takes a spot machine away by its eviction policy: deallocated, with its
// disks kept and its place in the scale set, or deleted.
func (s *Server) evict(id string) *Error {
	return asError(s.update(func(t *tx) error {
		d := t.edit(id)
		switch {
		case d == nil || isDeleting(d):
			return nil
		case !isSpot(spotOf(d)):
			return conflict("OperationNotAllowed", "The VM '%s' is not an Azure Spot Virtual Machine. Only such ones can be evicted.", instanceName(d))
		}
		op := &operation{Method: http.MethodPost, Target: d.ID, Style: styleCompute, Subscription: d.id.Subscription, Namespace: d.id.Namespace, Location: d.location()}
		deleted := str(spotOf(d), "evictionPolicy") == "Delete"
		what := taskDeallocate
		if deleted {
			what = taskDelete
		}
		if set := t.setOf(d); d.Type == typeInstance && set != nil {
			t.assign(d, what)
			if deleted {
				e := t.edit(set.ID)
				setCapacity(e, capacityOf(e)-1)
				t.put(e)
			}
			op.Target, op.Lock, op.Args = set.ID, d.ID+"/eviction", object{"members": []any{d.ID}}
			t.begin(op, scaleTasks(), evictionNotice)
			return nil
		}
		t.supersede(d.key())
		work := vmDeallocate()
		props(d.Body)["provisioningState"] = "Updating"
		if deleted {
			work, props(d.Body)["provisioningState"] = vmDelete(), "Deleting"
		}
		t.put(d)
		t.begin(op, work, evictionNotice)
		return nil
	}))
}

// evictionNotice is how long a machine has from the announcement of an eviction.
const evictionNotice = 30 * time.Second
