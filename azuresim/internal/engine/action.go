package engine

// invoke starts the long-running operation of a POST action on a resource.
func (c *Request) invoke(id ID, a *Action) *Error {
	args, e := c.Body()
	if e != nil {
		return e
	}
	var op *Operation
	err := c.Server.Update(func(t *Tx) error {
		d := t.Edit(id.Key())
		if d == nil {
			return t.Server.Registry.notFound(id)
		}
		if e := t.Writable(id, id.Key(), ""); e != nil {
			return e
		}
		if a.Begin != nil {
			if e := a.Begin(t, d, args); e != nil {
				return e
			}
		}
		op = t.Begin(&Operation{Method: c.HTTP.Method, Target: d.ID, Style: t.Server.Registry.TypeOf(d.Type).Style,
			Subscription: c.ID.Subscription,
			Namespace:    c.ID.Namespace, Location: d.Location(), APIVersion: c.Version, Args: args}, a.Work, a.Takes)
		return nil
	})
	return c.Accepted(op, err)
}
