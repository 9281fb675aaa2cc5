package powershell

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"strings"

	"casement.dev/casement/internal/dotnet"
)

// fileStatics are the simulated static methods of System.IO. As in .NET, relative paths start at the directory
// of the process, which Set-Location does not change.
var fileStatics = map[string]staticMethod{
	"io.file::exists": func(r *run, a []any) (any, error) {
		n := r.processPath(a, 0)
		return r.m.Root.Exists(n) && !r.m.Root.IsDir(n), nil
	},
	"io.directory::exists":    func(r *run, a []any) (any, error) { return r.m.Root.IsDir(r.processPath(a, 0)), nil },
	"io.file::readalltext":    readStatic(func(data []byte) any { return decode(data) }),
	"io.file::readallbytes":   readStatic(func(data []byte) any { return data }),
	"io.file::readalllines":   readStatic(func(data []byte) any { return newArray(lines(decode(data))...) }),
	"io.file::readlines":      readStatic(func(data []byte) any { return newArray(lines(decode(data))...) }),
	"io.file::opentext":       func(r *run, a []any) (any, error) { return r.construct("io.streamreader", a) },
	"io.file::writealltext":   func(r *run, a []any) (any, error) { return r.writeStatic(a, at(a, 1), false) },
	"io.file::appendalltext":  func(r *run, a []any) (any, error) { return r.writeStatic(a, at(a, 1), true) },
	"io.file::writealllines":  func(r *run, a []any) (any, error) { return r.writeStatic(a, joinLines(a), false) },
	"io.file::appendalllines": func(r *run, a []any) (any, error) { return r.writeStatic(a, joinLines(a), true) },
	"io.file::writeallbytes": func(r *run, a []any) (any, error) {
		b, err := bytesOf(firstOf(a[min(1, len(a)):]))
		if err != nil {
			return nil, err
		}
		return void{}, r.fileError(r.m.Root.WriteFile(r.processPath(a, 0), b, 0o644), r.processPath(a, 0))
	},
	"io.file::delete": func(r *run, a []any) (any, error) { return void{}, r.removeFile(r.processPath(a, 0)) },
	"io.file::copy": func(r *run, a []any) (any, error) {
		data, err := r.fileOf(a)
		if err != nil {
			return nil, err
		}
		if r.m.Root.Exists(r.processPath(a, 1)) && !(len(a) > 2 && truth(a[2])) {
			return nil, thrown("IO.IOException", "The file '%s' already exists.", at(a, 1))
		}
		return void{}, r.fileError(r.m.Root.WriteFile(r.processPath(a, 1), data, 0o644), r.processPath(a, 1))
	},
	"io.file::move": func(r *run, a []any) (any, error) {
		if r.m.Root.Exists(r.processPath(a, 1)) {
			return nil, thrown("IO.IOException", "Cannot create a file when that file already exists.\r\n")
		}
		return void{}, r.fileError(r.m.Root.Rename(r.processPath(a, 0), r.processPath(a, 1)), r.processPath(a, 0))
	},
	"io.directory::createdirectory": func(r *run, a []any) (any, error) {
		if err := r.m.Root.MkdirAll(r.processPath(a, 0)); err != nil {
			return nil, r.fileError(err, r.processPath(a, 0))
		}
		return r.fileObject(r.processPath(a, 0))
	},
	"io.directory::delete": func(r *run, a []any) (any, error) {
		return void{}, r.removeFolder(r.processPath(a, 0), len(a) > 1 && truth(a[1]))
	},
	"io.path::combine": func(_ *run, a []any) (any, error) {
		out := ""
		for _, item := range a {
			for _, one := range list(item) {
				out = combine(out, text(one))
			}
		}
		return out, nil
	},
	"io.path::getfilename":      func(_ *run, a []any) (any, error) { return base(at(a, 0)), nil },
	"io.path::getdirectoryname": func(_ *run, a []any) (any, error) { return parent(at(a, 0)), nil },
	"io.path::getextension":     func(_ *run, a []any) (any, error) { return extension(at(a, 0)), nil },
	"io.path::getfilenamewithoutextension": func(_ *run, a []any) (any, error) {
		return strings.TrimSuffix(base(at(a, 0)), extension(at(a, 0))), nil
	},
	"io.path::getfullpath":     func(r *run, a []any) (any, error) { return r.processPath(a, 0), nil },
	"io.path::gettemppath":     func(r *run, _ []any) (any, error) { v, _ := r.env("TEMP"); return v + `\`, nil },
	"io.path::gettempfilename": func(r *run, _ []any) (any, error) { return r.temporary() },
	"io.path::getrandomfilename": func(*run, []any) (any, error) {
		g := newGUID()
		return string(g[:8] + "." + g[9:12]), nil
	},
	"io.path::ispathrooted": func(_ *run, a []any) (any, error) {
		s := at(a, 0)
		return strings.HasPrefix(s, `\`) || strings.HasPrefix(s, "/") || len(s) > 1 && s[1] == ':', nil
	},
	"io.path::getpathroot": func(_ *run, a []any) (any, error) {
		if s := at(a, 0); len(s) > 1 && s[1] == ':' {
			return s[:min(3, len(s))], nil
		}
		return "", nil
	},
	"io.path::hasextension": func(_ *run, a []any) (any, error) { return extension(at(a, 0)) != "", nil },
	"io.path::changeextension": func(_ *run, a []any) (any, error) {
		s := at(a, 0)
		s = s[:len(s)-len(extension(s))]
		if len(a) > 1 && a[1] == nil {
			return s, nil
		}
		return s + "." + strings.TrimPrefix(at(a, 1), "."), nil
	},
	"io.directory::getfiles":             func(r *run, a []any) (any, error) { return r.entries(a, true, false) },
	"io.directory::getdirectories":       func(r *run, a []any) (any, error) { return r.entries(a, false, true) },
	"io.directory::getfilesystementries": func(r *run, a []any) (any, error) { return r.entries(a, true, true) },
	"io.directory::enumeratefiles":       func(r *run, a []any) (any, error) { return r.entries(a, true, false) },
	"io.directory::enumeratedirectories": func(r *run, a []any) (any, error) { return r.entries(a, false, true) },
	"io.path::getinvalidfilenamechars": func(r *run, _ []any) (any, error) {
		control := make([]rune, 31)
		for i := range control {
			control[i] = rune(i + 1)
		}
		return r.convertAll("char", "\"<>|\x00"+string(control)+":*?\\/")
	},
	"io.directory::getparent":           func(r *run, a []any) (any, error) { return r.fileObject(parent(r.processPath(a, 0))) },
	"io.directory::getcurrentdirectory": func(r *run, _ []any) (any, error) { return r.session.Dir, nil },
}

// nonEmptyPaths returns a method that refuses empty paths in its first count arguments.
func nonEmptyPaths(f staticMethod, count int) staticMethod {
	return func(r *run, a []any) (any, error) {
		for i := range count {
			if at(a, i) == "" {
				return nil, thrown("ArgumentException", "Empty path name is not legal.")
			}
		}
		return f(r, a)
	}
}

// removeFile is File.Delete: a file that does not exist is not a failure, and a folder is one.
func (r *run) removeFile(at string) error {
	if r.m.Root.IsDir(at) {
		return thrown("UnauthorizedAccessException", "Access to the path '%s' is denied.", at)
	}
	err := r.m.Root.Remove(at)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return r.fileError(err, at)
}

// removeFolder is Directory.Delete. With whole it also deletes the content.
func (r *run) removeFolder(at string, whole bool) error {
	entries, err := r.m.Root.ReadDir(at)
	switch {
	case !r.m.Root.Exists(at):
		return thrown("IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", at)
	case !r.m.Root.IsDir(at):
		return thrown("IO.IOException", "The directory name is invalid.\r\n")
	case err == nil && len(entries) > 0 && !whole:
		return thrown("IO.IOException", "The directory is not empty.\r\n")
	}
	return r.fileError(r.m.Root.RemoveAll(at), at)
}

// processPath returns the argument i as an absolute path, relative to the directory of the process.
func (r *run) processPath(a []any, i int) string { return r.m.Root.Abs(r.session.Dir, at(a, i)) }

func joinLines(a []any) string {
	var b strings.Builder
	for _, line := range list(firstOf(a[min(1, len(a)):])) {
		b.WriteString(text(line) + "\r\n")
	}
	return b.String()
}

// writeStatic writes text to the file that the first argument names, in the encoding of the third, or appends it.
func (r *run) writeStatic(a []any, content string, adding bool) (any, error) {
	encoding := "none"
	if len(a) > 2 {
		o, ok := a[2].(*object)
		if !ok || o.kind != kindEncoding {
			return nil, lacking("[IO.File] with this encoding")
		}
		encoding = text(o.read("name"))
	}
	file := r.processPath(a, 0)
	data := encode(content, encoding, !adding || !r.m.Root.Exists(file))
	if encoding == "none" {
		data = []byte(content)
	}
	if err := r.take(len(data)); err != nil {
		return nil, err
	}
	if adding {
		return void{}, r.fileError(r.m.Root.AppendFile(file, data, 0o644), file)
	}
	return void{}, r.fileError(r.m.Root.WriteFile(file, data, 0o644), file)
}

func (r *run) temporary() (string, error) {
	dir, _ := r.env("TEMP")
	name := combine(dir, "tmp"+strings.ToUpper(string(newGUID()[:4]))+".tmp")
	return name, r.fileError(r.m.Root.WriteFile(name, nil, 0o644), name)
}

// combine joins two parts of a path, as Path.Combine does.
func combine(a, b string) string {
	switch {
	case a == "" || strings.HasPrefix(b, `\`) || strings.HasPrefix(b, "/") || len(b) > 1 && b[1] == ':':
		return b
	case b == "":
		return a
	case strings.HasSuffix(a, `\`) || strings.HasSuffix(a, "/"):
		return a + b
	}
	return a + `\` + b
}

func base(p string) string { return p[strings.LastIndexAny(p, `\/`)+1:] }

// parent returns the folder of a path, or "".
func parent(p string) string {
	i := strings.LastIndexAny(p, `\/`)
	switch {
	case i < 0:
		return ""
	case i == 2 && p[1] == ':' && len(p) > 3:
		return p[:3]
	case i == 2 && p[1] == ':':
		return ""
	}
	return p[:i]
}

func extension(p string) string {
	name := base(p)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// escapeRegex escapes the characters that have a meaning in patterns, as Regex.Escape does.
func escapeRegex(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "+", `\+`, "?", `\?`, "|", `\|`, "{", `\{`, "[", `\[`, "(", `\(`, ")", `\)`, "^", `\^`,
		"$", `\$`, ".", `\.`, "#", `\#`, " ", `\ `, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
}

// construct returns a new object of a type, for Type::new and New-Object.
func (r *run) construct(kind string, args []any) (any, error) {
	switch kind {
	case "io.memorystream":
		b, err := bytesOf(firstOf(args))
		return system(kindStream, nil, "bytes", b), err
	case "io.compression.gzipstream":
		return r.unzip(args)
	case "io.streamreader":
		if o, ok := firstOf(args).(*object); ok {
			data, _ := o.read("bytes").([]byte)
			return system(kindReader, nil, "bytes", data), nil
		}
		data, err := r.m.Root.ReadFile(r.processPath(args, 0))
		return system(kindReader, nil, "bytes", data), r.fileError(err, r.processPath(args, 0))
	case "text.utf8encoding":
		name := "none"
		if len(args) > 0 && truth(args[0]) {
			name = "utf8"
		}
		return encodingObject(name)(r, nil)
	case "text.asciiencoding":
		return encodingObject("ascii")(r, nil)
	case "text.unicodeencoding":
		return encodingObject("unicode")(r, nil)
	case "text.stringbuilder":
		return system(kindBuilder, nil, "text", at(args, 0)), nil
	case "collections.hashtable", "hashtable": // only a hashtable literal of PowerShell ignores the case of keys
		h := newHash()
		h.exact = true
		return h, nil
	case "collections.specialized.ordereddictionary":
		h := newHash()
		h.ordered = true
		return h, nil
	case "object", "psobject", "pscustomobject":
		if len(args) == 1 {
			return customOf(args[0]), nil
		}
		return custom(), nil
	case "net.webclient":
		return system(kindClient, nil, "Headers", newHash(), "Encoding", nil, "Proxy", nil, "UseDefaultCredentials", false), nil
	case "uri":
		return uriOf(at(args, 0), true)
	case "guid", "version", "datetime", "timespan":
		return r.makeValue(kind, args)
	case "pscredential", "management.automation.pscredential":
		s, ok := firstOf(args[min(1, len(args)):]).(secret)
		if !ok {
			return nil, thrown("ArgumentNullException", "Value cannot be null.\r\nParameter name: password")
		}
		return tabled(kindCredential, 2, "UserName", at(args, 0), "Password", s), nil
	case "security.principal.windowsprincipal":
		return system("System.Security.Principal.WindowsPrincipal", nil, "Identity", firstOf(args)), nil
	case "diagnostics.stopwatch":
		return statics["diagnostics.stopwatch::startnew"](r, nil)
	case "string":
		if len(args) == 2 {
			return r.textArithmetic("*", at(args, 0), args[1])
		}
		return r.join(newArray(list(firstOf(args))...), "")
	case "regex", "text.regularexpressions.regex":
		return regexObject(args)
	case "random":
		return system("System.Random", nil, "seed", firstOf(args)), nil
	}
	if exceptionType(kind) {
		return makeException(kind, args), nil
	}
	if v, ok, err := r.makeMore(kind, args); ok || err != nil {
		return v, err
	}
	return nil, lacking("an object of [%s]", kind)
}

// makeException returns a new exception with a message and an inner exception.
func makeException(kind string, args []any) exception {
	e := exception{kind: exceptionName(kind), message: "Exception of type '" + exceptionName(kind) + "' was thrown."}
	if len(args) > 0 {
		e.message = at(args, 0)
	}
	if len(args) > 1 {
		if inner, ok := args[1].(exception); ok {
			e.inner = &inner
		}
	}
	switch kind {
	case "argumentexception", "argumentnullexception", "argumentoutofrangeexception":
		name := ""
		if kind == "argumentexception" && len(args) > 1 {
			if s, ok := args[1].(string); ok {
				name = s
			}
		} else if kind != "argumentexception" && len(args) > 0 {
			name = at(args, 0)
			e.message = map[string]string{"argumentnullexception": "Value cannot be null.",
				"argumentoutofrangeexception": "Specified argument was out of the range of valid values."}[kind]
			if len(args) > 1 {
				e.message = at(args, 1)
			}
		}
		if name != "" {
			e.message += "\r\nParameter name: " + name
		}
	case "io.filenotfoundexception":
		if name, ok := firstOf(args[min(1, len(args)):]).(string); ok {
			e.more = custom(field{"FileName", name})
		}
	}
	return e
}

func exceptionName(kind string) string {
	if full, ok := properNames[kind]; ok {
		return full
	}
	return "System." + kind
}

// makeValue returns a Guid, Version, DateTime or TimeSpan from the arguments of a constructor.
func (r *run) makeValue(kind string, args []any) (any, error) {
	if len(args) < 2 {
		return r.convert(kind, firstOf(args))
	}
	n := make([]int, 7)
	for i := range min(len(args), 7) {
		v, err := r.number(args, i)
		if err != nil {
			return nil, err
		}
		n[i] = v
	}
	switch kind {
	case "datetime":
		return dateOf(n), nil
	case "timespan":
		if len(args) == 3 {
			n = append([]int{0}, n...)
		}
		return durationOf(n), nil
	case "version":
		parts := make([]string, len(args))
		for i := range args {
			parts[i] = at(args, i)
		}
		return toVersion(strings.Join(parts, "."))
	}
	return nil, lacking("[%s]::new with these arguments", kind)
}

// unzip returns a GzipStream that decompresses a stream.
func (r *run) unzip(args []any) (any, error) {
	if len(args) != 2 || !strings.EqualFold(at(args, 1), "Decompress") {
		return nil, lacking("compression by GzipStream")
	}
	o, ok := args[0].(*object)
	if !ok {
		return nil, lacking("a GzipStream of %s", kindOf(args[0]))
	}
	data, _ := o.read("bytes").([]byte)
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, thrown("IO.InvalidDataException",
			"The magic number in GZip header is not correct. Make sure you are passing in a GZip stream.")
	}
	out, err := io.ReadAll(io.LimitReader(z, maxValue+1))
	if err != nil {
		return nil, thrown("IO.InvalidDataException", "The archive entry was compressed using an unsupported compression method.")
	}
	return system(kindZip, nil, "bytes", out), r.take(len(out))
}

// readStatic returns a method that reads a file and converts its content.
func readStatic(as func([]byte) any) staticMethod {
	return func(r *run, a []any) (any, error) {
		data, err := r.fileOf(a)
		if err != nil {
			return nil, err
		}
		return as(data), r.take(2 * len(data))
	}
}

// fileOf returns the content of the file that the first argument names.
func (r *run) fileOf(a []any) ([]byte, error) {
	data, err := r.m.Root.ReadFile(r.processPath(a, 0))
	return data, r.fileError(err, r.processPath(a, 0))
}

// uriParts are the properties that the console shows for a URI.
var uriParts = strings.Fields("AbsolutePath AbsoluteUri LocalPath Authority HostNameType IsDefaultPort IsFile IsLoopback PathAndQuery " +
	"Segments IsUnc Host Port Query Fragment Scheme OriginalString DnsSafeHost IdnHost IsAbsoluteUri UserEscaped UserInfo")

// uriOf parses a URI. Only an absolute URI has parts.
func uriOf(s string, absolute bool) (any, error) {
	if len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') { // a Windows path becomes a file URI
		s = "file:///" + strings.ReplaceAll(s, `\`, "/")
	}
	u, err := url.Parse(s)
	if (err != nil || u.Scheme == "") && !absolute {
		return system(kindUri, uriParts, "OriginalString", s, "IsAbsoluteUri", false, "UserEscaped", false, "text", s), nil
	}
	if err != nil || u.Scheme == "" {
		return nil, thrown("UriFormatException", "Invalid URI: The format of the URI could not be determined.")
	}
	port := int64(-1)
	if u.Port() != "" {
		n, _ := parseNumber(u.Port())
		port = int64(n)
	} else if p, ok := map[string]int64{"http": 80, "https": 443, "ftp": 21}[u.Scheme]; ok {
		port = p
	}
	segments := newArray()
	for part := range strings.SplitAfterSeq(u.EscapedPath(), "/") {
		if part != "" {
			segments.items = append(segments.items, part)
		}
	}
	query := u.RawQuery
	if query != "" {
		query = "?" + query
	}
	host, kind, fragment := u.Hostname(), int64(2), "" // 2 is UriHostNameType.Dns
	if a, err := netip.ParseAddr(host); err == nil {
		kind = map[bool]int64{true: 3, false: 4}[a.Is4()]
	}
	standard := port == 80 && u.Scheme == "http" || port == 443 && u.Scheme == "https"
	authority := host
	if u.Fragment != "" {
		fragment = "#" + u.EscapedFragment()
	}
	if !standard && port >= 0 {
		authority = u.Host
	}
	whole := dotnet.URI(u)
	return system(kindUri, uriParts, "AbsolutePath", cmp.Or(u.EscapedPath(), "/"), "AbsoluteUri", whole, "LocalPath", cmp.Or(u.Path, "/"),
		"Authority", authority, "HostNameType", enumerationOf("urihostnametype", kind), "IsDefaultPort", standard,
		"IsFile", u.Scheme == "file", "IsLoopback",
		host == "localhost" || host == "127.0.0.1", "PathAndQuery", cmp.Or(u.EscapedPath(), "/")+query, "Segments", segments, "IsUnc", false,
		"Host", host, "Port", port, "Query", query, "Fragment", fragment, "Scheme", u.Scheme, "OriginalString", s, "DnsSafeHost", host,
		"IdnHost", host, "IsAbsoluteUri", true, "UserEscaped", false, "UserInfo", u.User.String(), "text", whole), nil
}
