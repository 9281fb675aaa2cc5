package arm

import (
	"context"
	"strings"
)

// PasswordSetter is what a Machines implements when its guests have accounts: it
// is how the VMAccess extension reaches them. An account that is not there is made,
// with administrator's rights.
type PasswordSetter interface {
	SetPassword(ctx context.Context, id, user, password string) error
}

// isAccess says whether an extension is VMAccess for Windows.
func isAccess(d *doc) bool {
	p := props(d.Body)
	return strings.EqualFold(str(p, "publisher"), "Microsoft.Compute") && strings.EqualFold(str(p, "type"), "VMAccessAgent")
}

// checkExtension refuses a second extension of one handler on a machine, and a
// password that Windows would not take.
func checkExtension(t *tx, d *doc) *Error {
	p := props(d.Body)
	parent, _ := d.id.parent()
	for _, other := range t.all(d.Type, parent.String()) {
		o := props(other.Body)
		if other.key() != d.key() && strings.EqualFold(str(o, "publisher"), str(p, "publisher")) && strings.EqualFold(str(o, "type"), str(p, "type")) {
			return badRequest("BadRequest", "Multiple VMExtensions per handler not supported for OS type 'Windows'. VMExtension '%s' with handler '%s.%s' already added or specified in input.", other.id.name(), str(p, "publisher"), str(p, "type"))
		}
	}
	return nil
}

// runAccess sets the password that a VMAccess extension brings. Without a user
// name it only opens Remote Desktop, which is open here.
func (s *Server) runAccess(ctx context.Context, vm, name, user, password string) *Error {
	failed := func(why string) *Error {
		return conflict("VMExtensionProvisioningError", "VM has reported a failure when processing extension '%s' (publisher 'Microsoft.Compute' and type 'VMAccessAgent'). Error message: \"%s\".", name, why)
	}
	if user == "" && password == "" {
		return nil
	}
	if e := checkPassword(password); e != nil {
		return failed("VMAccess Extension: the password does not meet the requirements of the guest")
	}
	setter, ok := s.cfg.Machines.(PasswordSetter)
	if !ok {
		return failed("the guests of this local Azure have no accounts")
	}
	if err := setter.SetPassword(ctx, vm, user, password); err != nil {
		return failed(err.Error())
	}
	return nil
}
