package powershell

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"casement.dev/casement/internal/guestfs"
)

var pathCmdlets = []cmdlet{
	{name: "Get-Location", parameters: "", run: func(c *call) error { return c.emit(pathObject(c.dir)) }},
	{name: "Set-Location", parameters: "Path%:0 LiteralPath% PassThru?", run: setLocation},
	{name: "Push-Location", parameters: "Path%:0 LiteralPath% PassThru?", run: pushLocation},
	{name: "Pop-Location", parameters: "PassThru?", run: popLocation},
	{name: "Join-Path", flat: true, parameters: "Path%&!:0 ChildPath%:1 Resolve?", run: joinPath},
	{name: "Split-Path", flat: true,
		parameters: "Path%&!:0 LiteralPath|PSPath%! Parent? Leaf? Qualifier? NoQualifier? IsAbsolute? Resolve?",
		run:        splitPath},
	{name: "Resolve-Path", flat: true, parameters: "Path%&!:0 LiteralPath|PSPath%!", run: resolvePath},
	{name: "Convert-Path", flat: true, parameters: "Path%&!:0 LiteralPath|PSPath%!", run: convertPath},
	{name: "Test-Path", flat: true, parameters: "Path%!:0 LiteralPath|PSPath%! PathType|Type NewerThan OlderThan IsValid?", run: testPath},
}

func pathObject(dir string) *object {
	return tabled(kindPath, 1, "Path", dir, "ProviderPath", dir, "Provider", "FileSystem", "Drive", dir[:1])
}

// path returns a path as an absolute path, relative to the current location.
func (r *run) path(name string) string {
	name = strings.TrimPrefix(name, "Microsoft.PowerShell.Core\\FileSystem::")
	name = strings.TrimPrefix(name, "FileSystem::")
	if name == "~" || strings.HasPrefix(name, `~\`) || strings.HasPrefix(name, "~/") {
		home, _ := r.env("USERPROFILE")
		name = home + name[1:]
	}
	if r.noDrive(name) != "" {
		return name
	}
	return r.m.Root.Abs(r.dir, name)
}

// qualifier returns the text before the first colon of a path, usually a drive, or "".
func qualifier(name string) string {
	head, _, ok := strings.Cut(name, ":")
	if !ok {
		return ""
	}
	return head
}

// noDrive returns the drive of a path if no such drive exists, else "".
func (r *run) noDrive(name string) string {
	head := qualifier(name)
	if provider, _ := drive(name); provider != "" || len(head) == 1 && r.m.Root.Exists(head+`:\`) {
		return ""
	}
	return head
}

func noDriveError(head string) *failure {
	f := broken("DriveNotFoundException", "DriveNotFound", "Cannot find drive. A drive with the name '%s' does not exist.", head)
	f.category, f.target = "ObjectNotFound", head
	return f
}

// drive returns the provider of a path and the rest of the path: registry, env, cert and so on, or "" for files.
func drive(name string) (provider, rest string) {
	low := strings.ToLower(name)
	for _, prefix := range []string{`registry::`, `microsoft.powershell.core\registry::`} {
		if strings.HasPrefix(low, prefix) {
			return "registry", name[len(prefix):]
		}
	}
	head, rest, ok := strings.Cut(name, ":")
	if !ok || len(head) < 2 || strings.ContainsAny(head, `\/`) {
		return "", name
	}
	switch strings.ToLower(head) {
	case "hklm", "hkcu", "hkcr", "hku":
		return "registry", strings.ToUpper(head) + `\` + strings.TrimLeft(rest, `\/`)
	case "env", "function", "variable", "cert", "wsman", "alias", "iis":
		return strings.ToLower(head), strings.TrimLeft(rest, `\/`)
	}
	return "", name
}

func (r *run) notFound(name string) *failure {
	if head := r.noDrive(name); head != "" {
		return noDriveError(head)
	}
	return missingItem(name)
}

func missingItem(name string) *failure {
	f := broken("ItemNotFoundException", "PathNotFound", "Cannot find path '%s' because it does not exist.", name)
	f.target = name
	return f.withProperty("ItemName", name)
}

// diskError returns the failure of PowerShell for an error of the guest's file system.
func diskError(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		f := broken("System.IO.DirectoryNotFoundException", "GetContentWriterDirectoryNotFoundError",
			"Could not find a part of the path '%s'.", name)
		return f
	case errors.Is(err, guestfs.ErrDrive):
		return noDriveError(qualifier(name))
	case errors.Is(err, fs.ErrPermission):
		return broken("System.UnauthorizedAccessException", "UnauthorizedAccessError", "Access to the path '%s' is denied.", name)
	case errors.Is(err, guestfs.ErrName) && len(qualifier(name)) > 1:
		return noDriveError(qualifier(name))
	case errors.Is(err, guestfs.ErrName), errors.Is(err, guestfs.ErrEscape):
		return thrown("ArgumentException", "The filename, directory name, or volume label syntax is incorrect. : '%s'", name)
	}
	return thrown("IO.IOException", "The path '%s' cannot be used: %v", name, errors.Unwrap(err))
}

// openFailure makes an error one of opening an output file.
func openFailure(err error) error {
	if f := failed(err); f != nil && f.id != "DriveNotFound" {
		f.id, f.category = "FileOpenFailure,Microsoft.PowerShell.Commands.OutFileCommand", "OpenError"
	}
	return err
}

func setLocation(c *call) error {
	name := c.textOf("path") + c.textOf("literalpath")
	if name == "" {
		return nil
	}
	if provider, _ := drive(name); provider != "" {
		return lacking("a location outside of the file system (%s)", name)
	}
	dir := c.path(name)
	if !c.m.Root.IsDir(dir) {
		return c.fault(c.notFound(dir))
	}
	c.dir = dir
	if c.is("passthru") {
		return c.emit(pathObject(dir))
	}
	return nil
}

func pushLocation(c *call) error {
	old := c.dir
	if err := setLocation(c); err != nil {
		return err
	}
	if len(c.stack) < 1000 {
		c.stack = append(c.stack, old)
	}
	return nil
}

func popLocation(c *call) error {
	if n := len(c.stack); n > 0 {
		c.dir, c.stack = c.stack[n-1], c.stack[:n-1]
	}
	return nil
}

func joinPath(c *call) error {
	if err := c.needInput("path"); err != nil {
		return err
	}
	return every(c, c.textsOf("path"), func(p string) error {
		if head := c.noDrive(p); head != "" && !strings.ContainsAny(head, `\/`) {
			return noDriveError(head)
		}
		child := strings.TrimLeft(c.textOf("childpath"), `\/`)
		out := strings.TrimRight(strings.ReplaceAll(p, "/", `\`), `\`) + `\` + strings.ReplaceAll(child, "/", `\`)
		if c.is("resolve") && !c.m.Root.Exists(c.path(out)) {
			return c.notFound(c.path(out))
		}
		return c.emit(out)
	})
}

func splitPath(c *call) error {
	return every(c, c.names(), func(p string) error {
		p = strings.ReplaceAll(p, "/", `\`)
		if len(p) > 3 {
			p = strings.TrimRight(p, `\`)
		}
		head, rest, qualified := strings.Cut(p, ":")
		switch {
		case c.is("leaf"):
			return c.emit(base(p))
		case c.is("qualifier") && !qualified:
			return broken("System.FormatException", "ParsePathFormatError",
				"Cannot parse path because path '%s' does not have a qualifier specified.", p)
		case c.is("qualifier"):
			return c.emit(head + ":")
		case c.is("noqualifier") && qualified:
			return c.emit(rest)
		case c.is("noqualifier"):
			return c.emit(p)
		case c.is("isabsolute"):
			return c.emit(len(p) > 2 && p[1] == ':' || strings.HasPrefix(p, `\\`))
		}
		if qualified && strings.Contains(head, `\`) { // the text before the colon is not a drive, and is dropped
			p = rest
		}
		return c.emit(parent(p))
	})
}

func resolvePath(c *call) error {
	return c.eachResolved(func(file string) error { return c.emit(pathObject(file)) })
}

func convertPath(c *call) error {
	return c.eachResolved(func(file string) error { return c.emit(file) })
}

// eachResolved calls f for each existing path that the paths of a call match.
func (c *call) eachResolved(f func(string) error) error {
	return every(c, c.names(), func(name string) error {
		found := c.glob(name)
		if len(found) == 0 {
			return c.notFound(c.path(name))
		}
		return every(c, found, f)
	})
}

func testPath(c *call) error {
	names := append(append(append([]any(nil), c.input...), list(c.given["path"])...), list(c.given["literalpath"])...)
	if len(names) == 0 {
		names = []any{nil}
	}
	for _, n := range names {
		if err := emptyArgument("Path", n); err != nil {
			return err
		}
		yes, err := true, error(nil)
		if c.is("isvalid") {
			yes = !strings.ContainsAny(text(n), "\"<>|") && c.noDrive(text(n)) == ""
		} else {
			yes, err = c.exists(text(n))
		}
		if err == nil {
			err = c.emit(yes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exists reports whether an item with a path exists, in any provider.
func (c *call) exists(name string) (bool, error) {
	switch provider, rest := drive(name); provider {
	case "registry":
		_, ok := c.m.Registry().Key(rest)
		return ok, nil
	case "env":
		for k := range c.session.Env {
			if yes, err := like(k, rest, false); err == nil && yes {
				return true, nil
			}
		}
		return false, nil
	case "function", "alias":
		return c.driveItem(provider, rest) != nil || provider == "function" && strings.EqualFold(rest, "prompt"), nil
	case "variable":
		names, err := c.variables(rest, nil)
		return len(names) > 0, err
	case "":
	default:
		return false, lacking("the drive %s:", provider)
	}
	found := c.glob(name)
	switch kind := strings.ToLower(c.textOf("pathtype")); kind {
	case "", "any":
	case "leaf":
		found = slices.DeleteFunc(found, c.m.Root.IsDir)
	case "container":
		found = slices.DeleteFunc(found, func(f string) bool { return !c.m.Root.IsDir(f) })
	default:
		return false, unbindable("PathType", "Cannot convert value \"%s\" to type \"Microsoft.PowerShell.Commands.TestPathType\".", kind)
	}
	for _, by := range []string{"newerthan", "olderthan"} {
		if !c.has(by) {
			continue
		}
		than, err := toTime(c.given[by])
		if err != nil {
			return false, err
		}
		found = slices.DeleteFunc(found, func(f string) bool {
			info, err := c.m.Root.Stat(f)
			return err != nil || (by == "newerthan") != info.ModTime().After(than)
		})
	}
	return len(found) > 0, nil
}

// glob returns the paths that match a pattern with wildcards. A path without wildcards is returned if it exists.
func (r *run) glob(pattern string) []string {
	at := r.path(pattern)
	if !strings.ContainsAny(pattern, "*?[") {
		if r.m.Root.Exists(at) {
			return []string{at}
		}
		return nil
	}
	found := []string{""}
	for i, part := range strings.Split(at, `\`) {
		var next []string
		for _, dir := range found {
			if i == 0 || !strings.ContainsAny(part, "*?[") {
				next = append(next, strings.TrimPrefix(dir+`\`+part, `\`))
				continue
			}
			entries, err := r.m.Root.ReadDir(dir + `\`)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if yes, err := like(e.Name(), part, false); err == nil && yes {
					next = append(next, dir+`\`+e.Name())
				}
			}
		}
		found = next
	}
	return slices.DeleteFunc(found, func(f string) bool { return !r.m.Root.Exists(f) })
}
