package powershell

import (
	"archive/zip"
	"bytes"
	"cmp"
	"io"
	"strings"
)

// archiveCmdlets are cmdlets of the module Microsoft.PowerShell.Archive.
var archiveCmdlets = []cmdlet{
	{name: "Expand-Archive",
		parameters: "Path%!:0 DestinationPath:1 LiteralPath|PSPath%! Force?", run: expandArchive, should: true},
	{name: "Compress-Archive", ending: true,
		parameters: "Path%!:0 DestinationPath!:1 LiteralPath|PSPath%! Force? CompressionLevel~",
		run:        compressArchive, should: true},
	{name: "New-TemporaryFile", parameters: "", run: newTemporaryFile, should: true},
}

func newTemporaryFile(c *call) error {
	if yes, err := c.should("New-TemporaryFile", "Temporary File"); err != nil || !yes {
		return err
	}
	name, err := c.temporary()
	if err != nil {
		return err
	}
	return c.emitFile(name)
}

func expandArchive(c *call) error {
	return every(c, c.names(), func(name string) error {
		found := c.glob(name)
		if len(found) == 0 {
			return c.noArchivePath(name)
		}
		at := found[0]
		to := c.path(c.textOf("destinationpath"))
		if !c.has("destinationpath") {
			to = combine(c.dir, strings.TrimSuffix(base(at), extension(at)))
		}
		if yes, err := c.should("Expand-Archive", at); err != nil || !yes {
			return err
		}
		return c.unpack(at, to)
	})
}

func (c *call) noArchivePath(name string) error {
	f := broken("System.InvalidOperationException", "ArchiveCmdletPathNotFound,"+c.cmd.name,
		"The path '%s' either does not exist or is not a valid file system path.", name)
	f.category, f.target = "InvalidArgument", name
	return f
}

// unpack extracts the files of an archive into a folder.
func (r *run) unpack(at, to string) error {
	data, err := r.m.Root.ReadFile(at)
	if err != nil {
		return diskError(err, at)
	}
	if err := r.take(len(data)); err != nil {
		return err
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return thrown("IO.InvalidDataException", "End of Central Directory record could not be found.")
	}
	if err := r.m.Root.MkdirAll(to); err != nil {
		return diskError(err, to)
	}
	for _, f := range z.File {
		if err := r.step(); err != nil {
			return err
		}
		target := combine(to, strings.ReplaceAll(f.Name, "/", `\`))
		if !strings.HasPrefix(strings.ToLower(r.path(target)), strings.ToLower(strings.TrimRight(to, `\`)+`\`)) {
			return thrown("IO.IOException", "Extracting Zip entry would have resulted in a file outside the "+
				"specified destination directory.")
		}
		if strings.HasSuffix(f.Name, "/") {
			if err := r.m.Root.MkdirAll(target); err != nil {
				return diskError(err, target)
			}
			continue
		}
		from, err := f.Open()
		if err != nil {
			return thrown("IO.InvalidDataException", "The archive entry was compressed using an unsupported compression method.")
		}
		content, err := io.ReadAll(io.LimitReader(from, maxValue+1))
		from.Close()
		if err != nil {
			return thrown("IO.InvalidDataException", "The archive entry is damaged.")
		}
		if err := r.take(len(content)); err != nil {
			return err
		}
		if err := r.m.Root.MkdirAll(parent(target)); err != nil {
			return diskError(err, target)
		}
		if err := r.m.Root.WriteFile(target, content, 0o644); err != nil {
			return diskError(err, target)
		}
	}
	return nil
}

func compressArchive(c *call) error {
	to := c.path(c.textOf("destinationpath"))
	if extension(to) == "" {
		to += ".zip"
	}
	if c.m.Root.Exists(to) && !c.is("force") {
		f := broken("System.InvalidOperationException", "ArchiveFileExists,Compress-Archive",
			"The archive file %s already exists. Use the -Update parameter to "+
				"update the existing archive file or use the -Force parameter to overwrite the existing archive file.", to)
		f.category, f.target = "InvalidArgument", to
		return c.fault(f)
	}
	if yes, err := c.should("Compress-Archive", to); err != nil || !yes {
		return err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range c.names() {
		found := c.glob(name)
		if len(found) == 0 {
			return c.fault(c.noArchivePath(name))
		}
		for _, at := range found {
			if err := c.pack(z, at, base(at), 0); err != nil {
				return err
			}
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return c.fault(c.writeFile(to, b.Bytes(), false))
}

// zipFolder writes an archive of a folder's entries, or of the folder itself if itself is set.
func (r *run) zipFolder(from, to string, itself bool) error {
	if !r.m.Root.IsDir(from) {
		return thrown("IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", from)
	}
	if r.m.Root.Exists(to) {
		return thrown("IO.IOException", "The file '%s' already exists.", to)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	entries, err := r.m.Root.ReadDir(from)
	for _, e := range entries {
		name := e.Name()
		if itself {
			name = base(from) + "/" + name
		}
		if err == nil {
			err = r.pack(z, combine(from, e.Name()), name, 0)
		}
	}
	if err := cmp.Or(err, z.Close()); err != nil {
		return err
	}
	return r.fileError(r.m.Root.WriteFile(to, b.Bytes(), 0o644), to)
}

// pack adds a file, or the content of a folder, to an archive.
func (r *run) pack(z *zip.Writer, at, name string, depth int) error {
	if err := r.step(); err != nil {
		return err
	}
	if !r.m.Root.IsDir(at) {
		data, err := r.m.Root.ReadFile(at)
		if err != nil {
			return diskError(err, at)
		}
		if err := r.take(2 * len(data)); err != nil {
			return err
		}
		to, err := z.Create(name)
		if err == nil {
			_, err = to.Write(data)
		}
		return err
	}
	entries, err := r.m.Root.ReadDir(at)
	if err != nil || depth > maxDepth {
		return diskError(err, at)
	}
	if len(entries) == 0 {
		_, err := z.Create(name + "/")
		return err
	}
	for _, e := range entries {
		if err := r.pack(z, combine(at, e.Name()), name+"/"+e.Name(), depth+1); err != nil {
			return err
		}
	}
	return nil
}
