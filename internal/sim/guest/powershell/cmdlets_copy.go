package powershell

import (
	"cmp"
	"crypto/md5"  // scripts hash with it
	"crypto/sha1" // scripts hash with it
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"strings"
)

func copyItem(c *call) error {
	for _, name := range []string{"tosession", "fromsession"} {
		if c.has(name) {
			return lacking("-%s of Copy-Item", name)
		}
	}
	names := c.names()
	if !c.has("destination") && c.piped && len(c.textsOf("path")) == 1 { // files | Copy-Item DIR
		c.given["destination"] = c.given["path"]
		delete(c.given, "path")
		names = c.names()
	}
	to := c.textOf("destination")
	if to == "" {
		to = c.dir
	}
	for i, name := range names {
		own, err := c.delayed("destination", i)
		if err != nil {
			return err
		}
		if own != "" {
			to = own
		}
		found := c.glob(name)
		if len(found) == 0 && !c.isPattern(name) {
			if err := c.fault(c.notFound(c.path(name))); err != nil {
				return err
			}
		}
		for _, from := range found {
			target := c.path(to)
			if c.m.Root.IsDir(target) {
				target = combine(target, base(from))
			}
			operation := map[bool]string{true: "Copy Directory", false: "Copy File"}[c.m.Root.IsDir(from)]
			if yes, err := c.should(operation, "Item: "+from+" Destination: "+target); err != nil {
				return err
			} else if !yes {
				continue
			}
			if err := c.fault(c.copyTree(from, target, 0)); err != nil {
				return err
			}
			if err := c.passed(target); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) copyTree(from, to string, depth int) error {
	if err := c.step(); err != nil {
		return err
	}
	if !c.m.Root.IsDir(from) {
		data, err := c.m.Root.ReadFile(from)
		if err != nil {
			return diskError(err, from)
		}
		return diskError(c.m.Root.WriteFile(to, data, 0o644), to)
	}
	if strings.HasPrefix(strings.ToLower(to)+`\`, strings.ToLower(from)+`\`) || depth > maxDepth {
		return broken("System.IO.IOException", "CopyError,Microsoft.PowerShell.Commands.CopyItemCommand",
			"Container cannot be copied onto existing leaf item, or into itself: %s", to)
	}
	if err := c.m.Root.MkdirAll(to); err != nil {
		return diskError(err, to)
	}
	if !c.is("recurse") {
		return nil
	}
	entries, err := c.m.Root.ReadDir(from)
	if err != nil {
		return diskError(err, from)
	}
	for _, e := range entries {
		if err := c.copyTree(combine(from, e.Name()), combine(to, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func moveItem(c *call) error {
	for i, name := range c.names() {
		destination, err := c.delayed("destination", i)
		if err == nil && destination == "" {
			err = c.need("destination")
		}
		if err != nil {
			return err
		}
		found := c.glob(name)
		if len(found) == 0 && !c.isPattern(name) {
			if err := c.fault(c.notFound(c.path(name))); err != nil {
				return err
			}
		}
		for _, from := range found {
			to := c.path(destination)
			if c.m.Root.IsDir(to) {
				to = combine(to, base(from))
			}
			if err := c.fault(c.moveFile(from, to)); err != nil {
				return err
			}
		}
	}
	return nil
}

// delayed returns a parameter as text; a script block gives one for each object of the pipeline, and so does a property of its name.
func (c *call) delayed(name string, i int) (string, error) {
	if !c.has(name) && i < len(c.input) {
		v, _ := c.ownProperty(c.input[i], name)
		return text(v), nil
	}
	f, ok := c.given[name].(function)
	if !ok || i >= len(c.input) {
		return c.textOf(name), nil
	}
	v, err := c.apply(f, c.input[i])
	return text(v), err
}

func (c *call) moveFile(from, to string) error {
	verb, taken := "Move", "MoveFileInfoItemIOError,Microsoft.PowerShell.Commands.MoveItemCommand"
	if c.cmd.name == "Rename-Item" {
		verb, taken = "Rename", "RenameItemIOError,Microsoft.PowerShell.Commands.RenameItemCommand"
	}
	operation := verb + map[bool]string{true: " Directory", false: " File"}[c.m.Root.IsDir(from)]
	if yes, err := c.should(operation, "Item: "+from+" Destination: "+to); err != nil || !yes {
		return err
	}
	if c.m.Root.Exists(to) && !strings.EqualFold(from, to) {
		if !c.is("force") {
			return broken("System.IO.IOException", taken,
				"Cannot create a file when that file already exists.")
		}
		if err := c.m.Root.Remove(to); err != nil {
			return diskError(err, to)
		}
	}
	if err := c.m.Root.Rename(from, to); err != nil {
		return diskError(err, to)
	}
	return c.passed(to)
}

// passed emits a file where -PassThru asks for it.
func (c *call) passed(at string) error {
	if !c.is("passthru") {
		return nil
	}
	o, err := c.fileObject(at)
	if err != nil {
		return err
	}
	return c.emit(o)
}

func renameItem(c *call) error {
	for i, name := range c.names() {
		at := c.path(name)
		if !c.m.Root.Exists(at) {
			if err := c.fault(c.notFound(at)); err != nil {
				return err
			}
			continue
		}
		to, err := c.delayed("newname", i)
		if err == nil && to == "" {
			err = c.need("newname")
		}
		if err != nil {
			return err
		}
		if !strings.ContainsAny(to, `\/`) {
			to = combine(parent(at), to)
		}
		if err := c.fault(c.moveFile(at, c.path(to))); err != nil {
			return err
		}
	}
	return nil
}

func setItem(c *call) error {
	provider, rest := drive(c.textOf("path"))
	switch provider {
	case "env":
		return c.setEnv(rest, c.given["value"])
	case "variable":
		return c.set(strings.ToLower(rest), c.given["value"])
	}
	return lacking("Set-Item on %s", c.textOf("path"))
}

// hashes are the algorithms of Get-FileHash and of the classes in System.Security.Cryptography.
var hashes = map[string]func() hash.Hash{
	"SHA256": sha256.New, "SHA1": sha1.New, "SHA384": sha512.New384, "SHA512": sha512.New, "MD5": md5.New,
}

func getFileHash(c *call) error {
	name := strings.ToUpper(cmp.Or(c.textOf("algorithm"), "SHA256"))
	algorithm, ok := hashes[name]
	if !ok {
		return lacking("the hash %s", name)
	}
	for _, n := range c.names() {
		data, err := c.m.Root.ReadFile(c.path(n))
		if err != nil {
			if err := c.fault(c.notFound(c.path(n))); err != nil {
				return err
			}
			continue
		}
		h := algorithm()
		h.Write(data)
		if err := c.emit(system("Microsoft.Powershell.Utility.FileHash", []string{"Algorithm", "Hash", "Path"},
			"Algorithm", name, "Hash", fmt.Sprintf("%X", h.Sum(nil)), "Path", c.path(n))); err != nil {
			return err
		}
	}
	return nil
}

// getAuthenticodeSignature returns who signed the file of a program. A file that takes the
// place of one names its signer; no other is signed.
func getAuthenticodeSignature(c *call) error {
	at := c.path(c.textOf("filepath"))
	if !c.m.Root.Exists(at) {
		return c.fault(c.notFound(at))
	}
	status, message := "NotSigned", "The file "+at+" is not digitally signed."
	var certificate any
	if p, ok := c.m.Program(at); ok && p.Signer != "" {
		status, message = "Valid", "Signature verified."
		certificate = system("System.Security.Cryptography.X509Certificates.X509Certificate2", []string{"Subject"}, "Subject", p.Signer)
	}
	return c.emit(system("System.Management.Automation.Signature", []string{"Status", "Path"},
		"SignerCertificate", certificate, "Status", status, "StatusMessage", message, "Path", at))
}
