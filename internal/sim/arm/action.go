package arm

// act begins the operation of an action.
func (c *call) act(id resourceID, a *Action) *Error {
	args, e := c.body()
	if e != nil {
		return e
	}
	var op *operation
	err := c.s.update(func(t *tx) error {
		d := t.edit(id.key())
		if d == nil {
			return errNotFound(id)
		}
		if e := t.writable(id, id.key(), ""); e != nil {
			return e
		}
		if a.Begin != nil {
			if e := a.Begin(t, d, args); e != nil {
				return e
			}
		}
		op = t.begin(&operation{Method: c.r.Method, Target: d.ID, Style: t.s.registry.typeOf(d.Type).Style, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: d.location(), APIVersion: c.version, Args: args}, a.Work, a.Takes)
		return nil
	})
	return c.accepted(op, err)
}
