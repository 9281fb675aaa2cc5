package powershell

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"strings"
	"time"
)

var contentCmdlets = []cmdlet{
	{name: "Get-Content", flat: true, byProperty: true,
		parameters: "Path%&!:0 LiteralPath|PSPath%! Raw? Tail|Last# TotalCount|First|Head# Encoding " +
			"Wait? Force?~ ReadCount# Delimiter Stream", run: getContent},
	{name: "Set-Content", parameters: "Path%!:0 Value:1 LiteralPath|PSPath%! Encoding NoNewline? Force? PassThru? Stream",
		run: func(c *call) error { return putContent(c, false) }, should: true},
	{name: "Add-Content", parameters: "Path%!:0 Value:1 LiteralPath|PSPath%! Encoding NoNewline? Force? PassThru? Stream",
		run: func(c *call) error { return putContent(c, true) }, should: true},
	{name: "Clear-Content", flat: true, byProperty: true,
		parameters: "Path%&!:0 LiteralPath|PSPath%! Force?~", run: clearContent, should: true},
}

// readText returns a file's content as text.
func (r *run) readText(name string) (string, error) {
	file := r.path(name)
	data, err := r.m.Root.ReadFile(file)
	if err != nil {
		return "", r.notFound(file)
	}
	return decode(data), r.take(len(data))
}

// writeFile writes bytes to a file of the guest, or appends them if adding is set.
func (r *run) writeFile(name string, data []byte, adding bool) error {
	if err := r.take(len(data)); err != nil {
		return err
	}
	file := r.path(name)
	if adding {
		return diskError(r.m.Root.AppendFile(file, data, 0o644), file)
	}
	return diskError(r.m.Root.WriteFile(file, data, 0o644), file)
}

// outputPath returns the file to write for a path. Wildcards in the path must match exactly one file.
func (r *run) outputPath(name string) (string, error) {
	if !strings.ContainsAny(name, "*?[") {
		return name, nil
	}
	switch found := r.glob(name); len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", broken("System.IO.FileNotFoundException", "FileOpenFailure",
			"Cannot perform operation because the wildcard path %s did not resolve to a file.", name)
	}
	return "", broken("PSInvalidOperationException", "ReadWriteMultipleFilesNotSupported",
		"Cannot perform operation because the path resolved to more than one file. This command cannot operate on multiple files.")
}

func (r *run) isEmpty(name string) bool {
	info, err := r.m.Root.Stat(r.path(name))
	return err != nil || info.Size() == 0
}

func getContent(c *call) error {
	if c.has("delimiter") || c.has("stream") {
		return lacking("-Delimiter and -Stream of Get-Content")
	}
	if n, err := c.integerOf("readcount", 1); err != nil {
		return err
	} else if n != 1 && !c.is("raw") { // the lines are emitted in groups of n lines, or in a single group for 0
		out := c.emit
		var group []any
		flush := func() error {
			if len(group) == 0 {
				return nil
			}
			whole := newArray(group...)
			group = nil
			return out(whole)
		}
		c.emit = func(v any) error {
			if group = append(group, v); len(group) == n {
				return flush()
			}
			return nil
		}
		delete(c.given, "readcount")
		if err := getContent(c); err != nil {
			return err
		}
		return flush()
	}
	var files []string
	var sizes []int64
	err := every(c, c.names(), func(name string) error {
		switch provider, rest := drive(name); provider {
		case "env", "function", "variable":
			v, err := c.get(variable{name: provider + ":" + strings.ToLower(rest)})
			if err != nil {
				return err
			}
			return c.emit(v)
		case "":
		default:
			return lacking("Get-Content on the drive %s:", provider)
		}
		return c.files(name, func(file string) error {
			size, err := c.content(file)
			files, sizes = append(files, file), append(sizes, size)
			return err
		})
	})
	if err != nil {
		return err
	}
	if c.is("wait") && len(files) > 0 {
		return c.follow(files, sizes)
	}
	return nil
}

// content emits the content of a file, and returns its size in bytes.
func (c *call) content(file string) (int64, error) {
	if c.m.Root.IsDir(file) {
		return 0, broken("System.UnauthorizedAccessException", "GetContentReaderUnauthorizedAccessError",
			"Access to the path '%s' is denied.", file)
	}
	data, err := c.m.Root.ReadFile(file)
	if err != nil {
		return 0, diskError(err, file)
	}
	size := int64(len(data))
	if err := c.take(2 * len(data)); err != nil {
		return 0, err
	}
	encoding, err := encodingOf(c.given["encoding"], "")
	if err != nil {
		return 0, err
	}
	if encoding == "byte" {
		return size, each(data, c.emit)
	}
	s := decode(data)
	if c.is("raw") {
		if s == "" {
			return size, nil
		}
		return size, c.emit(s)
	}
	all := lines(s)
	for _, name := range []string{"tail", "totalcount"} {
		n, err := c.integerOf(name, -1)
		switch {
		case err != nil:
			return 0, err
		case n < 0:
		case name == "tail":
			all = all[max(len(all)-n, 0):]
		default:
			all = all[:min(n, len(all))]
		}
	}
	for _, line := range all {
		if err := c.emit(line); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// followPeriod is the time between two reads of a followed file.
const followPeriod = 200 * time.Millisecond

// follow emits the lines that are appended to files, until the script ends. sizes are the sizes in bytes from which to read.
func (c *call) follow(files []string, sizes []int64) error {
	for {
		for i, file := range files {
			grown, err := c.readFrom(file, sizes[i])
			end := bytes.LastIndexByte(grown, '\n') + 1
			if err != nil || end == 0 {
				continue // the file does not exist at the moment, or has no complete new line
			}
			sizes[i] += int64(end)
			if err := each(newArray(lines(string(grown[:end]))...), c.emit); err != nil {
				return err
			}
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-c.m.Clock.After(followPeriod):
		}
	}
}

// readFrom returns the bytes of a file from an offset.
func (r *run) readFrom(name string, offset int64) ([]byte, error) {
	f, err := r.m.Root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxValue))
}

func putContent(c *call, adding bool) error {
	if c.has("stream") {
		return lacking("-Stream of %s", c.cmd.name)
	}
	if c.piped && !c.has("value") {
		c.given["value"] = newArray(c.input...)
	} else if err := c.need("value"); err != nil {
		return err
	}
	encoding, err := encodingOf(c.given["encoding"], "default")
	if err != nil {
		return err
	}
	names := append(c.textsOf("path"), c.textsOf("literalpath")...)
	if len(names) == 0 {
		return c.need("path")
	}
	operation := map[bool]string{true: "Add Content", false: "Set Content"}[adding]
	err = every(c, names, func(name string) error {
		if provider, rest := drive(name); provider == "env" {
			return c.setEnv(rest, c.given["value"])
		} else if provider != "" {
			return lacking("%s on the drive %s:", c.cmd.name, provider)
		}
		files := []string{c.path(name)}
		if c.isPattern(name) && !c.has("literalpath") {
			if files = c.glob(name); len(files) == 0 {
				return broken("ItemNotFoundException", "ContentPathNotFound", "An object at the specified path %s does not exist, or "+
					"has been filtered by the -Include or -Exclude parameter.", name)
			}
		}
		return every(c, files, func(file string) error {
			if yes, err := c.should(operation, "Path: "+file); err != nil || !yes {
				return err
			}
			return c.putFile(file, encoding, adding)
		})
	})
	if err != nil {
		return err
	}
	if c.is("passthru") {
		return each(c.given["value"], c.emit)
	}
	return nil
}

// putFile writes the values of a call to a file, or appends them.
func (c *call) putFile(file, encoding string, adding bool) error {
	if info, err := c.m.Root.Stat(file); err == nil && info.Mode()&0o200 == 0 {
		if !c.is("force") {
			return broken("System.UnauthorizedAccessException", "GetContentWriterUnauthorizedAccessError",
				"Access to the path '%s' is denied.", file)
		}
	}
	if encoding == "byte" {
		b, err := bytesOf(c.given["value"])
		if err != nil {
			return err
		}
		return c.writeFile(file, b, adding)
	}
	var b strings.Builder
	var values []any
	for _, v := range list(c.given["value"]) {
		if a, isArray := v.(*array); !isArray || canGrow(a) {
			values = append(values, v)
			continue
		}
		for _, item := range list(v) { // a list within the list is written as the name of its type
			if _, isArray := item.(*array); isArray {
				item = kindOf(item)
			}
			values = append(values, item)
		}
	}
	if len(values) == 1 && values[0] == nil {
		values = nil
	}
	for _, v := range values {
		s, err := c.text(byCulture(v))
		if err != nil {
			return err
		}
		b.WriteString(s)
		if !c.is("nonewline") {
			b.WriteString("\r\n")
		}
		if b.Len() > maxValue {
			return c.take(b.Len())
		}
	}
	if adding && !c.has("encoding") && !c.isEmpty(file) {
		encoding = c.encodingOfFile(file)
	}
	return c.writeFile(file, encode(b.String(), encoding, !adding || c.isEmpty(file)), adding)
}

// encodingOfFile returns the encoding of a file's byte order mark, or "default".
func (r *run) encodingOfFile(file string) string {
	head, err := r.readFrom(file, 0)
	switch {
	case err != nil:
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return "unicode"
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "bigendianunicode"
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		return "utf8"
	}
	return "default"
}

func clearContent(c *call) error {
	return every(c, c.names(), func(name string) error {
		return c.files(name, func(file string) error {
			if yes, err := c.should("Clear Content", "Item: "+file); err != nil || !yes {
				return err
			}
			return c.writeFile(file, nil, false)
		})
	})
}

// selectString searches the lines of the pipeline or of files.
func selectString(c *call) error {
	var sources []any
	line := func(file, name string, n int, text any) {
		sources = append(sources, system(kindMatch, nil, "IgnoreCase", !c.is("casesensitive"), "LineNumber", int64(n+1), "Line", text,
			"Filename", name, "Path", file, "Pattern", nil, "Context", nil, "Matches", nil))
	}
	add := func(file string) error {
		s, err := c.readText(file)
		for i, text := range lines(s) {
			line(file, base(file), i, text)
		}
		return err
	}
	for _, name := range append(c.textsOf("path"), c.textsOf("literalpath")...) {
		found := c.glob(name)
		switch {
		case len(found) > 0 || c.isPattern(name):
		case c.has("literalpath"):
			f := broken("System.ArgumentException", "ProcessingFile", "The file %[1]s cannot be read: Could not find file '%[1]s'.", c.path(name))
			if err := c.fault(f); err != nil {
				return err
			}
		default: // this failure ends the statement with all values of -ErrorAction
			f := c.notFound(c.path(name))
			f.stops = true
			return f
		}
		for _, file := range found {
			if err := add(file); err != nil {
				return err
			}
		}
	}
	for i, v := range c.objects("inputobject") {
		if o, ok := v.(*object); ok && (o.kind == kindFile) {
			if err := add(text(o.read("FullName"))); err != nil {
				return err
			}
			continue
		}
		s, err := c.text(v)
		if err != nil {
			return err
		}
		line("InputStream", "InputStream", i, s)
	}
	return c.search(sources)
}

// contextLines returns the numbers of lines before and after a match that -Context names.
func (c *call) contextLines() (before, behind int, err error) {
	for i, v := range list(c.given["context"]) {
		n, err := c.integer(v)
		if err != nil || n < 0 || i > 1 {
			return 0, 0, cmp.Or(err, lacking("-Context of Select-String with these numbers"))
		}
		if i == 0 {
			before = int(n)
		}
		behind = int(n)
	}
	return before, behind, nil
}

// matchLine returns a line of a match as the console shows it: with file and line number, if it is from a file.
func matchLine(o *object) string {
	at, _ := o.get("Path")
	line, _ := o.get("Line")
	if text(at) == "InputStream" {
		return text(line)
	}
	return text(at) + ":" + text(o.read("LineNumber")) + ":" + text(line)
}

// inContext adds the lines around a match to it.
func inContext(sources []any, i, before, behind int) {
	o, _ := sources[i].(*object)
	at, _ := o.get("Path")
	shown, sides := "", [2]*array{newArray(), newArray()}
	for k := max(0, i-before); k <= min(i+behind, len(sources)-1); k++ {
		near, _ := sources[k].(*object)
		if of, _ := near.get("Path"); text(of) != text(at) {
			continue
		}
		mark := "  "
		if k == i {
			mark = "> "
		} else {
			side := sides[min(1, max(0, k-i))]
			side.items = append(side.items, near.read("Line"))
		}
		shown += mark + matchLine(near) + "\r\n"
	}
	o.set("Context", system("Microsoft.PowerShell.Commands.MatchInfoContext", nil, "PreContext", sides[0], "PostContext", sides[1]))
	o.set("text", strings.TrimSuffix(shown, "\r\n"))
}

// search emits the lines that match a pattern of Select-String.
func (c *call) search(sources []any) error {
	found := false
	before, behind, err := c.contextLines()
	if err != nil {
		return err
	}
	done := any(nil)
	for i, v := range sources {
		if err := c.step(); err != nil {
			return err
		}
		o, _ := v.(*object)
		line, _ := o.get("Line")
		if done == o.read("Path") && done != "InputStream" {
			continue
		}
		matched := ""
		var matches []any
		for _, p := range c.textsOf("pattern") {
			if c.is("simplematch") {
				p = escapeRegex(p)
			}
			re, err := pattern(p, c.is("casesensitive"))
			if err != nil {
				return err
			}
			m, err := re.FindStringMatch(text(line))
			for err == nil && m != nil {
				matched = p
				matches = append(matches, matchObject(re, m))
				if !c.is("allmatches") {
					break
				}
				m, err = re.FindNextMatch(m)
			}
			if err != nil {
				return searchLimit(err)
			}
			if matched != "" {
				break
			}
		}
		if (len(matches) > 0) == c.is("notmatch") {
			continue
		}
		found = true
		if c.is("quiet") {
			return c.emit(true)
		}
		if c.is("list") {
			done = o.read("Path")
		}
		o.set("Pattern", matched)
		all := newArray(matches...)
		all.kind = "System.Text.RegularExpressions.Match[]"
		o.set("Matches", all)
		o.set("text", matchLine(o))
		if c.has("context") {
			inContext(sources, i, before, behind)
		}
		if err := c.emit(o); err != nil {
			return err
		}
	}
	if c.is("quiet") && !found && (c.has("path") || c.has("literalpath")) {
		return c.emit(false)
	}
	return nil
}
