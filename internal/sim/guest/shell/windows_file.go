package shell

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/powershell"
)

// switches parses the options of a command of cmd.exe. It refuses an unknown option by name and returns the exit
// code.
func (p *Process) switches(known string) (o options, code int) {
	o, kind, wrong := declare("/ " + known).slashed(p.Args[1:])
	if kind != 0 {
		code = p.refuseAs(1, "%s %s", p.Args[0], wrong)
	}
	return o, code
}

// denied reports whether an error means that access is denied.
func denied(err error) bool { return errors.Is(err, fs.ErrPermission) }

func typeFile(_ context.Context, p *Process) int {
	o, code := p.switches("")
	if code != 0 {
		return code
	}
	names := o.operands
	if len(names) == 0 {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	for _, n := range names {
		if strings.EqualFold(n, "nul") {
			continue
		}
		for _, f := range namesOf(p, n) {
			if p.Guest.Root.IsDir(p.Abs(f)) {
				return p.Fail(1, "Access is denied.\r")
			}
			data, err := p.Guest.Root.ReadFile(p.Abs(f))
			if err != nil {
				code = p.Fail(1, "The system cannot find the file specified.\r")
				continue
			}
			data = readable(data)
			if len(names) > 1 || strings.ContainsAny(n, "*?") {
				p.Fail(0, "\r\n%s\r\n\r\n\r", f) // the name goes to standard error, the text to standard output
			}
			if _, err := p.Stdout.Write(data); err != nil {
				return 1
			}
		}
	}
	return code
}

// readable returns UTF-16 data with a byte order mark as text, and other data unchanged.
func readable(data []byte) []byte {
	if len(data) > 1 && data[0] == 0xff && data[1] == 0xfe {
		return []byte(powershell.Text(data))
	}
	return data
}

// dir lists folders: /b only names, /s also the folders below, /a:d folders, /a-d files.
func dir(_ context.Context, p *Process) int {
	o, code := p.switches("b s ad|a:d a-d|a:-d a on|o:n n l -c o! od! o:d! o-d! o:-d! q! w! p!")
	if code != 0 {
		return code
	}
	names := o.operands
	if len(names) == 0 {
		names = []string{p.Dir}
	}
	list := lister{p: p, bare: o.has("b"), below: o.has("s"), only: map[string]string{"ad": "d", "a-d": "f"}[o.last("ad", "a-d")]}
	for _, n := range names {
		at, mask := p.Abs(n), "*"
		if strings.ContainsAny(n, "*?") {
			i := strings.LastIndexByte(at, '\\')
			at, mask = at[:max(i, 2)], at[i+1:]
			if len(at) == 2 {
				at += `\`
			}
		} else if info, err := p.Guest.Root.Stat(at); err == nil && !info.IsDir() {
			i := strings.LastIndexByte(at, '\\')
			at, mask = at[:max(i, 2)], at[i+1:]
		} else if err != nil {
			return p.Fail(1, "File Not Found\r")
		}
		if list.folder(at, mask) == 0 {
			code = p.Fail(1, "File Not Found\r")
		}
	}
	return code
}

type lister struct {
	p           *Process
	bare, below bool
	only        string
	depth       int
}

// folder lists one folder, and returns the number of entries.
func (l lister) folder(at, mask string) int {
	entries, err := l.p.Guest.Root.ReadDir(at)
	if err != nil || l.depth > 64 {
		return 0
	}
	shown := 0
	if !l.bare {
		l.p.Printf("\r\n Directory of %s\r\n\r\n", at)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !maskMatch(mask, e.Name()) || l.only == "d" && !e.IsDir() || l.only == "f" && e.IsDir() {
			continue
		}
		shown++
		switch {
		case l.bare && l.below:
			l.p.Printf("%s\r\n", l.p.Guest.Root.Abs(at, e.Name()))
		case l.bare:
			l.p.Printf("%s\r\n", e.Name())
		default:
			kind := strconv.FormatInt(info.Size(), 10)
			if e.IsDir() {
				kind = "<DIR>         "
			}
			l.p.Printf("%s    %14s %s\r\n", info.ModTime().UTC().Format("01/02/2006  03:04 PM"), kind, e.Name())
		}
	}
	for _, e := range entries {
		if l.below && e.IsDir() {
			inner := l
			inner.depth++
			shown += inner.folder(l.p.Guest.Root.Abs(at, e.Name()), mask)
		}
	}
	if !l.bare && mask == "*" {
		shown++ // an empty folder counts as an entry
	}
	return max(shown, map[bool]int{true: 1}[mask == "*"])
}

// makeDir creates folders with their parents. As in cmd.exe, every argument is a folder, even -p.
func makeDir(_ context.Context, p *Process) int {
	if len(p.Args) < 2 {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	code := 0
	for _, d := range p.Args[1:] {
		// mkdir has no options, and refuses a forward slash, which would start one.
		if strings.HasPrefix(d, "/") || (strings.Contains(d, "/") && !strings.Contains(d, ":")) {
			return p.Fail(1, "The syntax of the command is incorrect.\r")
		}
		if p.Guest.Root.Exists(p.Abs(d)) {
			code = p.Fail(1, "A subdirectory or file %s already exists.\r", d)
			continue
		}
		if err := p.Guest.Root.MkdirAll(p.Abs(d)); err != nil {
			return p.Fail(1, "%s\r", windowsReason(err))
		}
	}
	return code
}

// del removes files and no folders: for a folder, it removes the files in it. A missing file does not change the
// errorlevel.
func del(_ context.Context, p *Process) int {
	o, code := p.switches("q f s a p!")
	if code != 0 {
		return code
	}
	names := o.operands
	if len(names) == 0 {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	for _, n := range names {
		pattern := n
		if p.Guest.Root.IsDir(p.Abs(n)) {
			pattern = strings.TrimRight(n, `\/`) + `\*`
		}
		at := p.Abs(pattern)
		i := strings.LastIndexByte(at, '\\') + 1
		if mask := at[i:]; (mask == "*" || mask == "*.*") && !o.has("q") {
			if yes, code := p.confirmAll(at[:i] + "*"); code != 0 || !yes {
				return code
			}
		}
		removed := 0
		found := globWindows(p, pattern)
		if o.has("s") {
			found = p.filesWith(at[:i], at[i:])
		}
		for _, f := range found {
			at := p.Abs(f)
			info, err := p.Guest.Root.Stat(at)
			if err != nil || info.IsDir() {
				continue
			}
			if info.Mode()&0o200 == 0 && !o.has("f") {
				p.Fail(0, "%s\r\nAccess is denied.\r", at)
				removed++
				continue
			}
			if err := p.Guest.Root.Remove(at); err != nil {
				return p.Fail(1, "%s\r", windowsReason(err))
			}
			if o.has("s") {
				p.Printf("Deleted file - %s\r\n", at)
			}
			removed++
		}
		if removed == 0 {
			p.Fail(0, "Could Not Find %s\r", p.Abs(n))
			if at := p.Abs(n); !p.Guest.Root.IsDir(at[:max(strings.LastIndexByte(at, '\\'), 2)+1]) {
				code = 1
			}
		}
	}
	return code
}

// confirmAll asks whether to change all of a folder until the answer is yes or no. It refuses if there is no answer.
func (p *Process) confirmAll(what string) (yes bool, code int) {
	for in := bufio.NewReader(p.Stdin); ; {
		p.Printf("%s, Are you sure (Y/N)? ", what)
		line, err := in.ReadString('\n')
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case strings.HasPrefix(answer, "y"):
			return true, 0
		case strings.HasPrefix(answer, "n"):
			return false, 0
		case err != nil:
			return false, p.refuseAs(1, "the question of %s that nothing answers; give /q", p.Args[0])
		}
	}
}

// filesWith returns the files in a folder and below it whose names match a pattern.
func (p *Process) filesWith(folder, mask string) (all []string) {
	p.walk(folder, 0, func(name string, _ int, info fs.FileInfo) bool {
		if at := p.Abs(name); !info.IsDir() && maskMatch(mask, at[strings.LastIndexByte(at, '\\')+1:]) {
			all = append(all, at)
		}
		return true
	})
	return all
}

func removeDir(_ context.Context, p *Process) int {
	o, code := p.switches("s q")
	if code != 0 {
		return code
	}
	names := o.operands
	if len(names) == 0 {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	for _, n := range names {
		at := p.Abs(n)
		switch info, err := p.Guest.Root.Stat(at); {
		case err != nil:
			code = map[bool]int{true: 2, false: 3}[p.Guest.Root.IsDir(at[:max(strings.LastIndexByte(at, '\\'), 2)+1])]
			p.Fail(code, "%s\r", map[int]string{2: "The system cannot find the file specified.",
				3: "The system cannot find the path specified."}[code])
		case strings.HasPrefix(strings.ToLower(p.Dir)+`\`, strings.ToLower(at)+`\`): // the current folder itself stays
			if o.has("s") {
				entries, _ := p.Guest.Root.ReadDir(at) // an unreadable folder stays
				for _, e := range entries {
					if one := p.Guest.Root.Abs(at, e.Name()); !strings.EqualFold(one, p.Dir) {
						_ = p.Guest.Root.RemoveAll(one)
					}
				}
			}
			code = p.Fail(32, "The process cannot access the file because it is being used by another process.\r")
		case !info.IsDir():
			code = p.Fail(267, "The directory name is invalid.\r")
		default:
			remove := p.Guest.Root.Remove
			if o.has("s") && !o.has("q") {
				if yes, refused := p.confirmAll(n); refused != 0 {
					return refused
				} else if !yes {
					continue
				}
			}
			if o.has("s") {
				remove = p.Guest.Root.RemoveAll
			}
			if err := remove(at); denied(err) {
				code = p.Fail(5, "Access is denied.\r")
			} else if err != nil {
				code = p.Fail(145, "The directory is not empty.\r")
			}
		}
	}
	return code
}

// copyWindows implements copy [/y] FROM[+FROM...] [TO]. It copies the files of a folder, but not its folders. Files
// that + joins are text, which ends at a ^Z, unless /b is set; other files are binary.
func copyWindows(_ context.Context, p *Process) int {
	o, code := p.switches("y -y b a v z n d l")
	if code != 0 {
		return code
	}
	names := o.operands
	plus := regexp.MustCompile(`\s*\+\s*`)
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, " ", "\x01") // a blank within a name
	}
	names = strings.Fields(plus.ReplaceAllString(strings.Join(names, " "), "+"))
	if len(names) == 0 || len(names) > 2 || strings.HasPrefix(names[0], "+") {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	root, to := p.Guest.Root, p.Dir
	base := func(at string) string { return at[strings.LastIndexByte(at, '\\')+1:] }
	if len(names) == 2 {
		name := strings.ReplaceAll(names[1], "\x01", " ")
		if to = p.Abs(name); strings.EqualFold(name, "nul") {
			return 0
		}
		if strings.HasSuffix(name, `\`) && !root.IsDir(to) {
			return p.Fail(1, "The system cannot find the path specified.\r")
		}
	}
	sources := strings.Split(names[0], "+")
	joins := len(sources) > 1
	var from, shown []string
	for _, source := range sources {
		source = strings.ReplaceAll(source, "\x01", " ")
		if root.IsDir(p.Abs(source)) {
			source = strings.TrimRight(source, `\/`) + `\*`
		}
		for _, f := range namesOf(p, source) {
			if info, err := root.Stat(p.Abs(f)); err == nil && !info.IsDir() || strings.EqualFold(f, "nul") {
				from = append(from, p.Abs(f))
				if joins || strings.ContainsAny(source, "*?") {
					shown = append(shown, f+"\r\n")
				}
			}
		}
		joins = joins || len(names) == 2 && strings.ContainsAny(source, "*?") && !root.IsDir(to) && !strings.ContainsAny(names[1], "*?")
	}
	if len(from) == 0 {
		return p.Fail(1, "The system cannot find the file specified.\r")
	}
	target := func(at string) string {
		if root.IsDir(to) {
			return root.Abs(to, base(at))
		}
		return to
	}
	asText := o.has("a") || joins && !o.has("b")
	if o.has("-y") && len(names) == 2 && root.Exists(target(from[0])) && !joins {
		p.Printf("Overwrite %s? (Yes/No/All): ", names[1])
		if line, err := bufio.NewReader(p.Stdin).ReadString('\n'); err != nil || !strings.HasPrefix(strings.ToLower(line), "y") {
			p.Printf("        0 file(s) copied.\r\n")
			return 1
		}
	}
	var all []byte
	for _, f := range from {
		at := target(f)
		if len(names) == 1 && joins {
			at = from[0]
		}
		if strings.EqualFold(f, at) && !joins {
			return p.Fail(1, "The file cannot be copied onto itself.\r\n        0 file(s) copied.\r")
		}
		if !joins && !asText && !strings.EqualFold(base(f), "nul") {
			if err := copyTree(p, f, at); err != nil {
				return p.Fail(1, "%s\r\n        0 file(s) copied.\r", windowsReason(err))
			}
			continue
		}
		data, err := []byte(nil), error(nil)
		if !strings.EqualFold(base(f), "nul") {
			data, err = root.ReadFile(f)
		}
		if i := bytes.IndexByte(data, 0x1a); asText && i >= 0 {
			data = data[:i]
		}
		if joins {
			all = append(all, data...)
		} else if err == nil {
			err = root.WriteFile(at, append(data, 0x1a)[:len(data)+map[bool]int{true: 1}[asText]], 0o644)
		}
		if err != nil {
			return p.Fail(1, "%s\r", windowsReason(err))
		}
	}
	if joins {
		at := target(from[0])
		if len(names) == 1 {
			at = from[0]
		}
		if asText {
			all = append(all, 0x1a)
		}
		if err := root.WriteFile(at, all, 0o644); err != nil {
			return p.Fail(1, "%s\r", windowsReason(err))
		}
		from = from[:1]
	}
	p.Printf("%s        %d file(s) copied.\r\n", strings.Join(shown, ""), len(from))
	return 0
}

// makeLink implements mklink [/d | /h | /j] LINK TARGET.
func makeLink(_ context.Context, p *Process) int {
	o, code := p.switches("d h j")
	names, root := o.operands, p.Guest.Root
	switch {
	case code != 0:
		return code
	case len(names) != 2:
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	case root.Exists(p.Abs(names[0])):
		return p.Fail(1, "Cannot create a file when that file already exists.\r")
	case o.has("h") && !root.Exists(p.Abs(names[1])):
		return p.Fail(1, "The system cannot find the file specified.\r")
	}
	kind, err := "symbolic link", error(nil)
	switch {
	case o.has("h"):
		kind, err = "Hardlink", root.Link(p.Abs(names[1]), p.Abs(names[0]))
	case o.has("j"):
		kind, err = "Junction", root.Symlink(p.Abs(names[1]), p.Abs(names[0]))
	default:
		err = root.Symlink(names[1], p.Abs(names[0]))
	}
	if err != nil {
		return p.Fail(1, "%s\r", windowsReason(err))
	}
	p.Printf("%s created for %s <<===>> %s\r\n", kind, names[0], names[1])
	return 0
}

// moveWindows implements move [/y] FROM TO.
func moveWindows(_ context.Context, p *Process) int {
	o, code := p.switches("y -y")
	if code != 0 {
		return code
	}
	names := o.operands
	if len(names) != 2 {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	moved, kind, found := 0, "file", globWindows(p, names[0])
	if len(found) > 1 && !p.Guest.Root.IsDir(p.Abs(names[1])) {
		return p.Fail(1, "Cannot move multiple files to a single file.\r")
	}
	for _, f := range found {
		from, to := p.Abs(f), p.Abs(names[1])
		if !p.Guest.Root.Exists(from) {
			continue
		}
		if p.Guest.Root.IsDir(from) {
			kind = "dir"
		}
		if p.Guest.Root.IsDir(to) {
			to = p.Guest.Root.Abs(to, from[strings.LastIndexByte(from, '\\')+1:])
		}
		if err := p.Guest.Root.Rename(from, to); err != nil {
			return p.Fail(1, "%s\r", windowsReason(err))
		}
		if strings.ContainsAny(names[0], "*?") {
			p.Printf("%s\r\n", from)
		}
		moved++
	}
	if moved == 0 {
		return p.Fail(1, "The system cannot find the file specified.\r")
	}
	p.Printf("        %d %s(s) moved.\r\n", moved, kind)
	return 0
}

func renameWindows(_ context.Context, p *Process) int {
	o, code := p.switches("")
	if code != 0 {
		return code
	}
	names := o.operands
	if len(names) != 2 || strings.ContainsAny(names[1], `\/:`) {
		return p.Fail(1, "The syntax of the command is incorrect.\r")
	}
	extension, ofAll := strings.CutPrefix(names[1], "*.")
	if strings.ContainsAny(extension, "*?") || !ofAll && strings.ContainsAny(names[0], "*?") {
		return p.refuseAs(1, "%s with these patterns", p.Args[0])
	}
	found := globWindows(p, names[0])
	if len(found) == 0 || !p.Guest.Root.Exists(p.Abs(found[0])) {
		return p.Fail(1, "The system cannot find the file specified.\r")
	}
	for _, f := range found {
		from := p.Abs(f)
		i := strings.LastIndexByte(from, '\\') + 1
		name := names[1]
		if ofAll {
			name = strings.TrimSuffix(from[i:], path.Ext(from[i:])) + "." + extension
		}
		to := p.Guest.Root.Abs(from[:i], name)
		if p.Guest.Root.Exists(to) && !strings.EqualFold(from, to) {
			code = p.Fail(1, "A duplicate file name exists, or the file\r\ncannot be found.\r")
		} else if err := p.Guest.Root.Rename(from, to); err != nil {
			code = p.Fail(1, "%s\r", windowsReason(err))
		}
	}
	return code
}

// xcopy copies files, and with /s or /e the folders below. If it would have to ask a question, it refuses before it
// copies.
func xcopy(_ context.Context, p *Process) int {
	var words []string
	for _, a := range p.Args[1:] { // a switch may follow a name without a blank
		name, switches, some := strings.Cut(a, "/")
		words = append(words, name)
		if some {
			words = append(words, "/"+switches)
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	o, kind, wrong := declare("// s e y q i h r k f c exclude=?! d=?! t! l! g! n! z! a! m! p! v! w! u! o! x! b! j! -y! ?!").slashed(words)
	names := o.operands
	switch {
	case kind == '?':
		return p.Fail(4, "Invalid switch - %s\r", wrong)
	case kind != 0:
		return p.refuseAs(4, "xcopy %s", wrong)
	case len(names) == 0 || len(names) > 2:
		return p.Fail(4, "Invalid number of parameters\r")
	case len(names) == 1:
		names = append(names, p.Dir)
	}
	root, to := p.Guest.Root, p.Abs(names[1])
	sources := namesOf(p, names[0])
	if len(sources) == 0 || !root.Exists(p.Abs(sources[0])) {
		p.Printf("0 File(s) copied\r\n")
		return p.Fail(4, "File not found - %s\r", names[0][strings.LastIndexAny(names[0], `\`)+1:])
	}
	many := len(sources) > 1 || strings.ContainsAny(names[0], "*?") || root.IsDir(p.Abs(sources[0]))
	folder := root.IsDir(to) || strings.HasSuffix(names[1], `\`) || o.has("i") && many
	if !folder && !root.Exists(to) {
		return p.refuseAs(4, "the question of xcopy whether %s is a file or a folder; end it with \\", names[1])
	}
	var pairs [][3]string // the shown name, the file and its copy
	var folders []string
	var walk func(shown, from, to string, deep bool)
	walk = func(shown, from, to string, deep bool) {
		p.meter.Look()
		if !root.IsDir(from) {
			pairs = append(pairs, [3]string{shown, from, to})
			return
		}
		entries, _ := root.ReadDir(from) // an unreadable folder has none
		if o.has("e") {
			folders = append(folders, to)
		}
		for _, e := range entries {
			if (!e.IsDir() || deep) && len(pairs) <= maxCopied {
				walk(strings.TrimSuffix(shown, `\`)+`\`+e.Name(), root.Abs(from, e.Name()), root.Abs(to, e.Name()), deep)
			}
		}
	}
	for _, source := range sources {
		from, target := p.Abs(source), to
		base := from[strings.LastIndexByte(from, '\\')+1:]
		switch {
		case root.IsDir(from) && strings.ContainsAny(names[0], "*?"):
			if !o.has("s", "e") {
				continue
			}
			target = root.Abs(to, base)
		case !root.IsDir(from) && folder:
			target = root.Abs(to, base)
		}
		if o.has("s", "e") && strings.HasPrefix(strings.ToLower(target)+`\`, strings.ToLower(from)+`\`) {
			p.Fail(4, "Cannot perform a cyclic copy\r")
			p.Printf("0 File(s) copied\r\n")
			return 4
		}
		walk(source, from, target, o.has("s", "e"))
	}
	if len(pairs) > maxCopied {
		return p.refuseAs(4, "xcopy of more than %d files", maxCopied)
	}
	for _, pair := range pairs {
		if root.Exists(pair[2]) && !o.has("y") {
			return p.refuseAs(4, "the question of xcopy whether to overwrite %s; give /y", pair[2])
		}
	}
	for _, dir := range folders {
		if err := root.MkdirAll(dir); err != nil {
			return p.Fail(4, "%s\r", windowsReason(err))
		}
	}
	for i, pair := range pairs {
		err := root.MkdirAll(pair[2][:strings.LastIndexByte(pair[2], '\\')+1])
		if err == nil && o.has("r") && root.Exists(pair[2]) {
			err = root.Chmod(pair[2], 0o644)
		}
		if err == nil {
			err = copyTree(p, pair[1], pair[2])
		}
		if err != nil {
			p.Printf("%d File(s) copied\r\n", i)
			return p.Fail(4, "%s\r", windowsReason(err))
		}
		if info, err := root.Stat(pair[2]); err == nil && !o.has("k") && info.Mode()&0o200 == 0 {
			_ = root.Chmod(pair[2], info.Mode().Perm()|0o200) // without /k, a copy is not read-only
		}
		switch {
		case o.has("q"):
		case o.has("f"):
			p.Printf("%s -> %s\r\n", pair[1], pair[2])
		default:
			p.Printf("%s\r\n", pair[0])
		}
	}
	p.Printf("%d File(s) copied\r\n", len(pairs))
	return 0
}

// robocopy copies a folder, with /e or /s its whole tree. The code is 1 if something was copied, and 16 for an error.
func robocopy(_ context.Context, p *Process) int {
	o, kind, wrong := declare("/ e|s njh njs np nfl ndl nc ns r: w: mt=? copyall dcopy:t").slashed(p.Args[1:])
	if kind != 0 || len(o.operands) != 2 {
		return p.refuseAs(16, "robocopy %s", cmp.Or(wrong, "of other than one folder to one destination"))
	}
	from, to := p.Abs(o.operands[0]), p.Abs(o.operands[1])
	if !p.Guest.Root.IsDir(from) {
		return p.Fail(16, "ERROR 2 (0x00000002) Accessing Source Directory %s\r\nThe system cannot find the file specified.\r", from)
	}
	entries, err := p.Guest.Root.ReadDir(from)
	if err == nil {
		err = p.Guest.Root.MkdirAll(to)
	}
	code := 0
	for _, e := range entries {
		if err != nil || e.IsDir() && !o.has("e") {
			continue
		}
		err = copyTree(p, p.Guest.Root.Abs(from, e.Name()), p.Guest.Root.Abs(to, e.Name()))
		code = 1
	}
	if err != nil {
		return p.Fail(16, "%s\r", windowsReason(err))
	}
	return code
}

// attrib sets and clears the read-only attribute of files. The other attributes have no effect that a guest shows.
func attrib(ctx context.Context, p *Process) int {
	var mode, names []string
	for _, a := range p.Args[1:] {
		switch low := strings.ToLower(a); {
		case len(a) == 2 && (a[0] == '+' || a[0] == '-') && strings.Contains("rahsi", low[1:]):
			mode = append(mode, low)
		case strings.HasPrefix(a, "/"):
			return p.refuseAs(1, "attrib %s", low)
		default:
			names = append(names, a)
		}
	}
	if len(mode) == 0 || len(names) == 0 {
		return p.refuseAs(1, "what attrib prints")
	}
	for _, name := range names {
		files := namesOf(p, name)
		if len(files) == 0 || !p.Guest.Root.Exists(p.Abs(files[0])) {
			p.Printf("File not found - %s\r\n", p.Abs(name))
			continue
		}
		for _, f := range files {
			info, err := p.Guest.Root.Stat(p.Abs(f))
			if err != nil {
				continue
			}
			bits := info.Mode().Perm()
			if slices.Contains(mode, "+r") {
				bits &^= 0o222
			} else if slices.Contains(mode, "-r") {
				bits |= 0o200
			}
			if err := p.Guest.Root.Chmod(p.Abs(f), bits); err != nil {
				return p.Fail(1, "%s\r", windowsReason(err))
			}
		}
	}
	if slices.ContainsFunc(mode, func(m string) bool { return m[1] != 'r' }) {
		return p.NoEffect(ctx, "attrib of other attributes than r")
	}
	return 0
}
