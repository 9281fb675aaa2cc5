package arm

// Resource is one line of the inventory.
type Resource struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Group    string `json:"group,omitempty"`
	Location string `json:"location,omitempty"`
	// State is the provisioning state; a VM's power state follows a comma.
	State string `json:"state"`
}

// Inventory lists all resources, by ID.
func (s *Server) Inventory() []Resource {
	out := []Resource{}
	s.read(func(t *tx) {
		for _, k := range sortedKeys(t.docs) {
			d := t.docs[k]
			r := Resource{ID: d.ID, Name: d.id.name(), Type: d.Type, Group: d.id.Group, Location: d.location(), State: d.state()}
			if power := str(d.Hidden, "power"); power != "" {
				r.State += ", " + power
			}
			out = append(out, r)
		}
	})
	return out
}
