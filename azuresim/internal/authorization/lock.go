package authorization

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// typeLock is the type of locks, which prevent deletes or changes of a scope.
const typeLock = "Microsoft.Authorization/locks"

// prepareLock checks a lock.
func prepareLock(_ *engine.Tx, d, _ *engine.Doc) *engine.Error {
	if l := value.Str(value.Props(d.Body), "level"); l != "CanNotDelete" && l != "ReadOnly" {
		return engine.BadRequest("InvalidLockLevel", "The lock level '%s' is not valid. Valid levels are CanNotDelete, ReadOnly.", l)
	}
	return nil
}

// locked returns an error if a lock on the resource or on a parent scope forbids the request. For
// the delete of a group, locks inside the group count too.
func locked(c *engine.Request) (e *engine.Error) {
	method := c.HTTP.Method
	if method == http.MethodGet || method == http.MethodHead || value.Lower(c.ID.Namespace) == "microsoft.authorization" {
		return nil
	}
	key := c.ID.Key()
	c.Server.Read(func(t *engine.Tx) {
		for _, l := range t.All(typeLock, "") {
			scope := "/subscriptions/" + value.Lower(l.Parsed.Subscription)
			if l.Parsed.Scope != nil {
				scope = l.Parsed.Scope.Key()
			}
			readOnly := value.Str(l.Body, "properties", "level") == "ReadOnly"
			above := key == scope || strings.HasPrefix(key, scope+"/")
			below := method == http.MethodDelete && strings.HasPrefix(scope, key+"/")
			if (method == http.MethodDelete && (above || below)) || readOnly && above {
				verb := map[string]string{http.MethodDelete: "delete", http.MethodPost: "action"}[method]
				e = engine.Conflict("ScopeLocked", "The scope '%s' cannot perform %s operation because "+
					"following scope(s) are locked: '%s'. Please remove the lock and try "+
					"again.", c.ID, value.OrDefault(verb, "write"), l.Parsed.Scope)
				return
			}
		}
	})
	return e
}
