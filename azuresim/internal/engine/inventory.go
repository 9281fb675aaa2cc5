package engine

import "casement.dev/casement/azuresim/internal/value"

// Resource is one line of the list of all resources.
type Resource struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Group    string `json:"group,omitempty"`
	Location string `json:"location,omitempty"`
	// State is the provisioning state; for a VM, a comma and the power state follow.
	State string `json:"state"`
}

// Inventory returns all resources in the order of their IDs.
func (s *Server) Inventory() []Resource {
	out := []Resource{}
	s.Read(func(t *Tx) {
		for r := range Ascend(t.Order, "") {
			if k := s.Registry.TypeOf(r.Type); k != nil && k.Remains {
				continue
			}
			id := r.Parsed()
			line := Resource{ID: r.ID, Name: id.Name(), Type: r.Type, Group: id.Group, Location: r.Location,
				State: value.OrDefault(r.State, StatusSucceeded)}
			if r.power != "" {
				line.State += ", " + r.power
			}
			out = append(out, line)
		}
	})
	return out
}
