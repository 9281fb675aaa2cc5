package arm

import (
	"context"
	"strings"
)

// prepareExtension files an extension; its protected settings are never shown.
func prepareExtension(t *tx, d, _ *doc) *Error {
	p := props(d.Body)
	for _, field := range []string{"publisher", "type", "typeHandlerVersion"} {
		if str(p, field) == "" {
			return invalid(field, "Required parameter '%s' is missing (null).", field)
		}
	}
	if v := p["protectedSettings"]; v != nil {
		d.Hidden["protectedSettings"] = v
		delete(p, "protectedSettings")
	}
	if e := checkExtension(t, d); e != nil {
		return e
	}
	if isAccess(d) {
		computeOf(t.s).passwords.Store(d.key(), str(d.Hidden, "protectedSettings", "Password"))
		delete(d.Hidden, "protectedSettings")
	}
	return nil
}

// runExtension runs the command of a script extension in the guest.
func runExtension(ctx context.Context, s *Server, op *operation) (any, *Error) {
	var command, vm, name, user, password string
	access := false
	s.read(func(t *tx) {
		if d := t.find(op.Target); d != nil {
			parent, _ := d.id.parent()
			vm, name = parent.String(), d.id.name()
			access, user = isAccess(d), str(props(d.Body), "settings", "UserName")
			if kept, ok := computeOf(t.s).passwords.LoadAndDelete(d.key()); ok {
				password, _ = kept.(string)
			}
			command = orDefault(str(d.Hidden, "protectedSettings", "commandToExecute"), str(props(d.Body), "settings", "commandToExecute"))
		}
	})
	if access && hostOf(s) != nil {
		return nil, s.runAccess(ctx, vm, name, user, password)
	}
	if command == "" || hostOf(s) == nil {
		return nil, nil
	}
	code, out, errOut, err := hostOf(s).Run(ctx, vm, command)
	if err == nil && code == 0 {
		return nil, nil
	}
	detail := strings.TrimSpace(out + "\n" + errOut)
	if err != nil {
		detail = err.Error()
	}
	return nil, conflict("VMExtensionProvisioningError", "VM has reported a failure when processing extension '%s'. Error message: \"Command execution finished, but failed because it returned a non-zero exit code of: '%d'\". %s", name, code, detail)
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
	setter, ok := hostOf(s).(PasswordSetter)
	if !ok {
		return failed("the guests of this local Azure have no accounts")
	}
	if err := setter.SetPassword(ctx, vm, user, password); err != nil {
		return failed(err.Error())
	}
	return nil
}

// extensionViews are the extensions of a machine in its instance view.
func (t *tx) extensionViews(d *doc) []any {
	var extensions []*doc
	if d.Type == typeVM {
		extensions = t.all(typeExt, d.ID)
	} else if set := t.setOf(d); set != nil {
		for _, name := range extensionNames(set) {
			if x := t.find(d.ID + "/extensions/" + name); x != nil {
				extensions = append(extensions, x)
			}
		}
	}
	var out []any
	for _, x := range extensions {
		p := sub(x.Body, "properties")
		out = append(out, object{"name": x.id.name(), "type": str(p, "publisher") + "." + str(p, "type"), "typeHandlerVersion": str(p, "typeHandlerVersion"), "statuses": []any{provisioningStatus(x)}})
	}
	return out
}
