package powershell

import (
	"cmp"
	"crypto/md5"  // scripts compute MD5 hashes
	"crypto/sha1" // scripts compute SHA-1 hashes
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"strings"
)

func copyItem(c *call) error {
	if !c.has("destination") && c.piped && len(c.textsOf("path")) == 1 { // files | Copy-Item DIR: the argument is the destination
		c.given["destination"] = c.given["path"]
		delete(c.given, "path")
	}
	if c.has("filter") && c.is("recurse") {
		return lacking("-Filter of Copy-Item with -Recurse; pipe Get-ChildItem to it")
	}
	to := cmp.Or(c.textOf("destination"), c.dir)
	return c.eachName("destination", func(name, own string) error {
		to = cmp.Or(own, to)
		return c.files(name, func(from string) error {
			target := c.within(to, from)
			operation := map[bool]string{true: "Copy Directory", false: "Copy File"}[c.m.Root.IsDir(from)]
			if yes, err := c.should(operation, "Item: "+from+" Destination: "+target); err != nil || !yes {
				return err
			}
			if err := c.fault(c.copyTree(from, target, 0)); err != nil {
				return err
			}
			return c.passed(target)
		})
	})
}

// copyTree copies a file, or a folder with its content.
func (c *call) copyTree(from, to string, depth int) error {
	if err := c.step(); err != nil {
		return err
	}
	if strings.EqualFold(from, to) {
		return broken("System.IO.IOException", "CopyError", "Cannot overwrite the item %s with itself.", from)
	}
	if !c.m.Root.IsDir(from) {
		data, err := c.m.Root.ReadFile(from)
		if err != nil {
			return diskError(err, from)
		}
		return diskError(c.m.Root.WriteFile(to, data, 0o644), to)
	}
	if strings.HasPrefix(strings.ToLower(to)+`\`, strings.ToLower(from)+`\`) || depth > maxDepth {
		return broken("System.IO.IOException", "CopyError", "Container cannot be copied onto existing leaf item, or into itself: %s", to)
	}
	if c.m.Root.IsDir(to) && !c.is("force") { // the folder's content is copied nevertheless
		f := broken("System.IO.IOException", "DirectoryExist", "An item with the specified name %s already exists.", to)
		f.category, f.target = "ResourceExists", to
		if err := c.fault(f); err != nil {
			return err
		}
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
		if likeAny(e.Name(), c.textsOf("exclude")) {
			continue
		}
		if err := c.copyTree(combine(from, e.Name()), combine(to, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func moveItem(c *call) error {
	return c.eachName("destination", func(name, to string) error {
		if to == "" {
			return c.need("destination")
		}
		return c.files(name, func(from string) error { return c.moveFile(from, c.within(to, from)) })
	})
}

func (c *call) moveFile(from, to string) error {
	verb, taken := "Move", "MoveFileInfoItemIOError"
	if c.cmd.name == "Rename-Item" {
		verb, taken = "Rename", "RenameItemIOError"
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

// passed emits a file if -PassThru is given.
func (c *call) passed(at string) error {
	if !c.is("passthru") {
		return nil
	}
	return c.emitFile(at)
}

func (c *call) emitFile(at string) error {
	o, err := c.fileObject(at)
	if err != nil {
		return err
	}
	return c.emit(o)
}

func renameItem(c *call) error {
	return c.eachName("newname", func(name, to string) error {
		at := c.path(name)
		if strings.HasPrefix(to, `.\`) || strings.HasPrefix(to, "./") || strings.EqualFold(parent(c.path(to)), parent(at)) {
			to = base(to)
		}
		switch {
		case !c.m.Root.Exists(at):
			return c.notFound(at)
		case to == "":
			return c.need("newname")
		case strings.ContainsAny(to, `\/:`):
			f := broken("PSArgumentException", "Argument", "Cannot rename the specified target, because it represents a path or device name.")
			f.stops = true
			return f
		}
		return c.moveFile(at, combine(parent(at), to))
	})
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

// hashes are the hash algorithms of Get-FileHash and of the classes in System.Security.Cryptography.
var hashes = map[string]func() hash.Hash{
	"SHA256": sha256.New, "SHA1": sha1.New, "SHA384": sha512.New384, "SHA512": sha512.New, "MD5": md5.New,
}

func getFileHash(c *call) error {
	name := strings.ToUpper(cmp.Or(c.textOf("algorithm"), "SHA256"))
	algorithm, ok := hashes[name]
	if !ok {
		return lacking("the hash %s", name)
	}
	return every(c, c.names(), func(n string) error {
		return c.files(n, func(at string) error {
			data, err := c.m.Root.ReadFile(at)
			if err != nil {
				return diskError(err, at)
			}
			h := algorithm()
			h.Write(data)
			return c.emit(tabled("Microsoft.Powershell.Utility.FileHash", 3, "Algorithm", name, "Hash", fmt.Sprintf("%X", h.Sum(nil)),
				"Path", at))
		})
	})
}

// getAuthenticodeSignature emits the signature of a file. Only the files of simulated programs with a signer are signed.
func getAuthenticodeSignature(c *call) error {
	at := c.path(c.textOf("filepath"))
	if !c.m.Root.Exists(at) {
		return c.fault(c.notFound(at))
	}
	status, message := "NotSigned", "The file "+at+" is not digitally signed."
	var certificate any
	if p, ok := c.m.Program(at); ok && p.Signer != "" {
		status, message = "Valid", "Signature verified."
		certificate = tabled("System.Security.Cryptography.X509Certificates.X509Certificate2", 1, "Subject", p.Signer)
	}
	return c.emit(system("System.Management.Automation.Signature", []string{"Status", "Path"},
		"SignerCertificate", certificate, "Status", status, "StatusMessage", message, "Path", at))
}

// within returns the path of a file in the folder at to. If to is not a folder, it returns to as an absolute path.
func (r *run) within(to, file string) string {
	if to = r.path(to); r.m.Root.IsDir(to) {
		return combine(to, base(file))
	}
	return to
}

// eachName calls f for each path, with the text of a parameter for the path: the parameter's value, the output
// of its script block for the pipeline's object, or the object's property of that name.
func (c *call) eachName(parameter string, f func(name, own string) error) error {
	i := -1
	return every(c, c.names(), func(name string) error {
		i++
		block, isBlock := c.given[parameter].(function)
		switch {
		case !c.has(parameter) && i < len(c.input):
			v, _ := c.ownProperty(c.input[i], parameter)
			return f(name, text(v))
		case isBlock && i < len(c.input):
			v, err := c.apply(block, c.input[i])
			if err != nil {
				return err
			}
			return f(name, text(v))
		}
		return f(name, c.textOf(parameter))
	})
}
