package compute

import (
	"context"
	"strings"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// prepareExtension validates an extension and hides its protected settings, which Azure
// never returns.
func prepareExtension(t *engine.Tx, d, _ *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	for _, field := range []string{"publisher", "type", "typeHandlerVersion"} {
		if value.Str(p, field) == "" {
			return invalid(field, "Required parameter '%s' is missing (null).", field)
		}
	}
	if e := checkHandler(p); e != nil {
		return e
	}
	if v := p["protectedSettings"]; v != nil {
		d.Hidden["protectedSettings"] = v
		delete(p, "protectedSettings")
	}
	if e := checkExtension(t, d); e != nil {
		return e
	}
	if isAccess(d) {
		computeOf(t.Server).passwords.Store(d.Key(), value.Str(d.Hidden, "protectedSettings", "Password"))
		delete(d.Hidden, "protectedSettings")
	}
	return nil
}

// runExtension runs the command of a script extension in the guest.
func runExtension(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	var command, vm, name, user, password string
	access := false
	var files []string
	s.Read(func(t *engine.Tx) {
		if d := t.Find(op.Target); d != nil {
			parent, _ := d.Parsed.Parent()
			vm, name = parent.String(), d.Parsed.Name()
			access, user = isAccess(d), value.Str(value.Props(d.Body), "settings", "UserName")
			if kept, ok := computeOf(t.Server).passwords.LoadAndDelete(d.Key()); ok {
				password, _ = kept.(string)
			}
			files = append(value.Texts(value.Props(d.Body), "settings", "fileUris"), value.Texts(d.Hidden, "protectedSettings", "fileUris")...)
			command = value.OrDefault(value.Str(d.Hidden, "protectedSettings", "commandToExecute"),
				value.Str(value.Props(d.Body), "settings", "commandToExecute"))
		}
	})
	if access && hostOf(s) != nil {
		return nil, runAccess(s, ctx, vm, name, user, password)
	}
	if command == "" || hostOf(s) == nil {
		return nil, nil
	}
	if hostOf(s).View(vm).Empty {
		return nil, nil // the extension's instance view says that it had no effect
	}
	if len(files) > 0 {
		return nil, engine.Conflict("VMExtensionProvisioningError", "VM has reported a failure when processing extension '%s'. Error "+
			"message: \"Failed to download all specified files. Exiting. Error Message: nothing leaves this machine: %s\".", name, files[0])
	}
	code, out, errOut, err := hostOf(s).Run(ctx, vm, command)
	if err == nil && code == 0 {
		return nil, nil
	}
	detail := strings.TrimSpace(out + "\n" + errOut)
	if err != nil {
		detail = err.Error()
	}
	return nil, engine.Conflict("VMExtensionProvisioningError", "VM has reported a failure when processing "+
		"extension '%s'. Error message: \"Command execution finished, but failed because it returned a "+
		"non-zero exit code of: '%d'\". %s", name, code, detail)
}

// isAccess reports whether an extension is VMAccess for Windows.
func isAccess(d *engine.Doc) bool {
	p := value.Props(d.Body)
	return strings.EqualFold(value.Str(p, "publisher"), "Microsoft.Compute") && strings.EqualFold(value.Str(p, "type"), "VMAccessAgent")
}

// checkExtension refuses a second extension with the same handler on a machine, and a password that
// Windows would refuse.
func checkExtension(t *engine.Tx, d *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	parent, _ := d.Parsed.Parent()
	system := "Linux"
	if vm := t.Find(parent.Key()); vm != nil && isWindows(vm.Body) {
		system = "Windows"
	}
	for _, other := range t.All(d.Type, parent.String()) {
		o := value.Props(other.Body)
		if other.Key() != d.Key() && strings.EqualFold(value.Str(o, "publisher"), value.Str(p, "publisher")) &&
			strings.EqualFold(value.Str(o, "type"), value.Str(p, "type")) {
			return engine.BadRequest("BadRequest", "Multiple VMExtensions per handler not supported for OS type "+
				"'%s'. VMExtension '%s' with handler '%s.%s' already added or specified in "+
				"input.", system, other.Parsed.Name(), value.Str(p, "publisher"), value.Str(p, "type"))
		}
	}
	return nil
}

// runAccess sets the password of a VMAccess extension. Without a user name, the extension
// only enables Remote Desktop, which is always enabled here.
func runAccess(s *engine.Server, ctx context.Context, vm, name, user, password string) *engine.Error {
	failed := func(why string) *engine.Error {
		return engine.Conflict("VMExtensionProvisioningError", "VM has reported a failure when processing "+
			"extension '%s' (publisher 'Microsoft.Compute' and type 'VMAccessAgent'). Error message: "+
			"\"%s\".", name, why)
	}
	if user == "" && password == "" {
		return nil
	}
	if e := checkPassword(password); e != nil {
		return failed("VMAccess Extension: the password does not meet the requirements of the guest")
	}
	setter, ok := hostOf(s).(host.PasswordSetter)
	if !ok {
		return failed("the guests of this local Azure have no accounts")
	}
	if err := setter.SetPassword(ctx, vm, user, password); err != nil {
		return failed(err.Error())
	}
	return nil
}

// extensionViews returns the extensions of a machine for its instance view.
func extensionViews(t *engine.Tx, d *engine.Doc) []any {
	var extensions []*engine.Doc
	if d.Type == typeVM {
		extensions = t.All(typeExt, d.ID)
	} else if set := setOf(t, d); set != nil {
		for _, name := range extensionNames(set) {
			if x := t.Find(d.ID + "/extensions/" + name); x != nil {
				extensions = append(extensions, x)
			}
		}
	}
	var out []any
	for _, x := range extensions {
		p := value.Sub(x.Body, "properties")
		status := provisioningStatus(x)
		if m := hostOf(t.Server); m != nil && m.View(d.ID).Empty {
			status["message"] = "simulated: no effect (what the VM's image holds is not known, and nothing runs in it)"
		}
		out = append(out, value.Object{
			"name": x.Parsed.Name(), "type": value.Str(p, "publisher") + "." + value.Str(p, "type"),
			"typeHandlerVersion": value.Str(p, "typeHandlerVersion"), "statuses": []any{status},
		})
	}
	return out
}
