package network

import (
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func prepareNIC(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	configs := value.Items(p, "ipConfigurations")
	if len(configs) == 0 {
		return engine.BadRequest("NetworkInterfaceMustHaveOneIpConfiguration", "Network interface %s needs an IP configuration.", d.ID)
	}
	for i, c := range configs {
		cp := value.Props(c)
		cp["provisioningState"] = engine.StatusSucceeded
		value.SetDefault(cp, "primary", i == 0)
		subnet := value.Str(cp, "subnet", "id")
		if !t.Exists(subnet) {
			return engine.ErrReference(subnet, d.ID)
		}
		var before value.Object
		if old != nil {
			before = engine.PartOf(old.Body, "ipConfigurations", value.Str(c, "name"))
		}
		if e := allocate(t, d, cp, value.Sub(before, "properties"), subnet); e != nil {
			return e
		}
	}
	d.Body["kind"] = "Regular"
	return nil
}

// nicAtOnce reports whether no machine uses the interface, so that Azure completes a write before
// it answers.
func nicAtOnce(t *engine.Tx, d, old *engine.Doc) bool {
	return unchanged(t, d, old) || len(t.UsersAs(d.ID, engine.AsVirtualMachine)) == 0
}

func guardNIC(t *engine.Tx, d *engine.Doc) *engine.Error {
	if owner := value.Str(d.Body, "managedBy"); owner != "" && t.Exists(owner) {
		return engine.BadRequest("NicInUseWithPrivateEndpoint",
			"Cannot perform operation because network interface %s is in use by %s.", d.ID, owner)
	}
	if vms := t.UsersAs(d.ID, engine.AsVirtualMachine); len(vms) > 0 {
		return engine.BadRequest("NicInUse", "Network Interface %s is used by existing resource %s. In order to "+
			"delete the network interface, it must be dissociated from the resource. To learn more, see "+
			"aka.ms/deletenic.", d.ID, vms[0].ID)
	}
	return nil
}

func viewNIC(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if !t.Since("2021-08-01") {
		delete(body, "kind")
	}
	if vms := t.UsersAs(d.ID, engine.AsVirtualMachine); len(vms) > 0 {
		value.Props(body)["virtualMachine"] = value.Object{"id": vms[0].ID}
		value.Props(body)["macAddress"] = engine.Mac(d.ETag[:0] + d.Key())
		value.Props(body)["primary"] = true
	}
}
