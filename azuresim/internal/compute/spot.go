package compute

import (
	"net/http"
	"slices"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// checkSpot checks the rules of spot priority: only a spot VM can have a maximum price and
// an eviction policy. Source: https://learn.microsoft.com/azure/virtual-machines/spot-vms.
func checkSpot(profile value.Object, path string) *engine.Error {
	policy := value.Str(profile, "evictionPolicy")
	price, priced := value.At(profile, "billingProfile", "maxPrice").(float64)
	switch {
	case !isSpot(profile) && policy != "":
		return engine.BadRequest("OperationNotAllowed", "Eviction policy can be set only on Azure Spot Virtual "+
			"Machines. For more information, see http://aka.ms/AzureSpot/errormessages.")
	case !isSpot(profile) && priced && price != -1:
		return engine.BadRequest("OperationNotAllowed", "Max price can be set only on Azure Spot Virtual "+
			"Machines. For more information, see http://aka.ms/AzureSpot/errormessages.")
	case priced && price != -1 && price <= 0:
		return invalid(path+".billingProfile.maxPrice",
			"Max price %v is not valid: it has to be greater than 0, or -1 for no limit.", price)
	case isSpot(profile) && value.Str(profile, "storageProfile", "osDisk", "diffDiskSettings", "option") != "" && policy != "Delete":
		return engine.BadRequest("OperationNotAllowed", "Ephemeral OS disk is not supported for Azure Spot "+
			"Virtual Machines with the eviction policy Deallocate: such a VM cannot be deallocated. Use the "+
			"eviction policy Delete.")
	}
	return nil
}

func isSpot(profile value.Object) bool {
	return slices.Contains([]string{"low", "spot", "spotplus"}, value.Lower(value.Str(profile, "priority")))
}

// isSpotMachine reports whether a VM or an instance can be evicted.
func isSpotMachine(s *engine.Server, id string) (yes bool) {
	s.Read(func(t *engine.Tx) {
		if d := t.Find(id); d != nil {
			yes = isSpot(spotOf(d))
		}
	})
	return yes
}

// spotOf returns the object that contains a machine's priority and eviction policy: a hidden one
// for an instance, whose view lacks both.
func spotOf(d *engine.Doc) value.Object {
	if d.Type == typeInstance {
		return d.Hidden
	}
	return value.Sub(d.Body, "properties")
}

// simulateEviction answers 204 and evicts a spot machine. Azure does so within 30 minutes, the
// local Azure immediately. Source:
// https://learn.microsoft.com/azure/virtual-machines/spot-portal#simulate-an-eviction.
func simulateEviction(c *engine.Request, id engine.ID) *engine.Error {
	there := false
	c.Server.Read(func(t *engine.Tx) { there = t.Find(id.Key()) != nil })
	if !there {
		return engine.ErrNotFound(id)
	}
	if e := evict(c.Server, id.String()); e != nil {
		return e
	}
	c.Reply(http.StatusNoContent, nil)
	return nil
}

// evict applies a spot machine's eviction policy: it deallocates the machine, which keeps
// its disks and remains in its scale set, or deletes it.
func evict(s *engine.Server, id string) *engine.Error {
	return engine.AsError(s.Update(func(t *engine.Tx) error {
		d := t.Edit(id)
		switch {
		case d == nil || isDeleting(d):
			return nil
		case !isSpot(spotOf(d)):
			return engine.Conflict("OperationNotAllowed",
				"The VM '%s' is not an Azure Spot Virtual Machine. Only such ones can be evicted.", instanceName(d))
		}
		op := &engine.Operation{Method: http.MethodPost, Target: d.ID, Style: engine.StyleCompute,
			Subscription: d.Parsed.Subscription, Namespace: d.Parsed.Namespace, Location: d.Location()}
		deleted := value.Str(spotOf(d), "evictionPolicy") == "Delete"
		what := taskDeallocate
		if deleted {
			what = taskDelete
		}
		if set := setOf(t, d); d.Type == typeInstance && set != nil {
			assign(t, d, what)
			if deleted {
				e := t.Edit(set.ID)
				setCapacity(e, capacityOf(e)-1)
				t.Put(e)
			}
			op.Target, op.Lock, op.Args = set.ID, d.ID+"/eviction", value.Object{"members": []any{d.ID}}
			t.Begin(op, scaleTasks(), evictionNotice)
			return nil
		}
		t.Supersede(d.Key())
		work := vmDeallocate()
		value.Props(d.Body)["provisioningState"] = "Updating"
		if deleted {
			work, value.Props(d.Body)["provisioningState"] = vmDelete(), "Deleting"
		}
		t.Put(d)
		t.Begin(op, work, evictionNotice)
		return nil
	}))
}

// evictionNotice is the time between the announcement of an eviction and the eviction.
const evictionNotice = 30 * time.Second
