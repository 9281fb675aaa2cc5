package arm

import (
	"slices"
	"strings"
)

// prepareArrays gives a type the arrays that clients expect even when empty.
func prepareArrays(names ...string) func(t *tx, d, old *doc) *Error {
	return func(_ *tx, d, _ *doc) *Error {
		for _, n := range names {
			setDefault(props(d.Body), n, []any{})
		}
		return nil
	}
}

// viewUsers lists the resources that point at a document, by the arrays that
// Azure keeps them in.
func viewUsers(fields ...string) func(t *tx, d *doc, body object, expand string) {
	return func(t *tx, d *doc, body object, _ string) {
		for _, f := range fields {
			var users []string
			switch f {
			case "subnets":
				users = t.subnetsUsing(d.ID)
			case "networkInterfaces":
				users = idsOf(t.interfacesUsing(d.ID))
			case "virtualMachines":
				users = idsOf(t.usersAs(d.ID, asVirtualMachine))
			}
			if len(users) > 0 {
				props(body)[f] = ids(users)
			}
		}
	}
}

// subnetsUsing lists the subnets that point at an ID.
func (t *tx) subnetsUsing(id string) []string {
	var out []string
	for _, v := range t.sources(id, typeVNet) {
		for _, s := range items(props(v.Body), "subnets") {
			uses := false
			references(props(s), func(r string) { uses = uses || strings.EqualFold(r, id) })
			if uses {
				out = append(out, v.ID+"/subnets/"+str(s, "name"))
			}
		}
	}
	return out
}

// interfacesUsing are the interfaces that point at an ID, those of scale sets'
// instances included.
func (t *tx) interfacesUsing(id string) []*record {
	return t.usersAs(id, asInterface)
}

// configsUsing lists the IP configurations of interfaces that point at an ID.
func (t *tx) configsUsing(id string) []string {
	var out []string
	for _, n := range t.interfacesUsing(id) {
		for _, c := range n.configs {
			if slices.Contains(c.refs, lower(id)) {
				out = append(out, n.ID+"/ipConfigurations/"+c.name)
			}
		}
	}
	return out
}
