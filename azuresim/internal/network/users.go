package network

import (
	"slices"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// viewUsers adds the resources that refer to a document to the properties that Azure lists them in.
func viewUsers(fields ...string) func(t *engine.Tx, d *engine.Doc, body value.Object, expand string) {
	return func(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
		for _, f := range fields {
			var users []string
			switch f {
			case "subnets":
				users = subnetsUsing(t, d.ID)
			case "networkInterfaces":
				users = engine.IdsOf(interfacesUsing(t, d.ID))
			case "virtualMachines":
				users = engine.IdsOf(t.UsersAs(d.ID, engine.AsVirtualMachine))
			}
			if len(users) > 0 {
				value.Props(body)[f] = value.IDs(users)
			}
		}
	}
}

// subnetsUsing returns the subnets that refer to an ID.
func subnetsUsing(t *engine.Tx, id string) []string {
	var out []string
	for _, v := range t.Sources(id, typeVNet) {
		for _, s := range value.Items(value.Props(v.Body), "subnets") {
			uses := false
			value.References(value.Props(s), func(r string) { uses = uses || strings.EqualFold(r, id) })
			if uses {
				out = append(out, v.ID+"/subnets/"+value.Str(s, "name"))
			}
		}
	}
	return out
}

// interfacesUsing returns the interfaces that refer to an ID, including those of scale
// sets' instances.
func interfacesUsing(t *engine.Tx, id string) []*engine.Record {
	return t.UsersAs(id, engine.AsInterface)
}

// configsUsing returns the IP configurations of interfaces that refer to an ID.
func configsUsing(t *engine.Tx, id string) []string {
	var out []string
	for _, n := range interfacesUsing(t, id) {
		for _, c := range n.Configs {
			if slices.Contains(c.Refs, value.Lower(id)) {
				out = append(out, n.ID+"/ipConfigurations/"+c.Name)
			}
		}
	}
	return out
}
