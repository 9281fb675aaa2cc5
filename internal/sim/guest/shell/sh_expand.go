package shell

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// segment is a part of an expanded word. Quoted text is no pattern.
type segment struct {
	text   string
	quoted bool
}

// words expands words to fields.
type words struct {
	r     *runner
	split bool // unquoted expansions become several fields
	// tilde is set for assignments, in which ~ is also expanded after a colon.
	tilde  bool
	fields [][]segment
	now    []segment
	some   bool // the current field exists, even if it is empty
	inner  bool // this is the word of an expansion, whose literal text is split too
}

func (w *words) add(text string, quoted bool) {
	text = strings.ReplaceAll(text, carriageReturn, "\r")
	w.r.grow(len(text))
	w.some = w.some || quoted || text != ""
	if text != "" {
		w.now = append(w.now, segment{text, quoted})
	}
}

func (w *words) end() {
	if w.some {
		w.fields = append(w.fields, w.now)
	}
	w.now, w.some = nil, false
}

// ifs returns the field separators.
func (r *runner) ifs() string {
	if v := r.find("IFS"); v != nil && v.set {
		return v.text
	}
	return " \t\n"
}

// expansion adds the result of an unquoted expansion, and splits it into fields.
func (w *words) expansion(text string) {
	if !w.split {
		w.add(text, false)
		return
	}
	ifs := w.r.ifs()
	blank := func(c byte) bool { return strings.IndexByte(" \t\n", c) >= 0 && strings.IndexByte(ifs, c) >= 0 }
	start := 0
	for i := 0; i < len(text); {
		if strings.IndexByte(ifs, text[i]) < 0 {
			i++
			continue
		}
		w.add(text[start:i], false)
		for i < len(text) && blank(text[i]) {
			i++
		}
		if i < len(text) && strings.IndexByte(ifs, text[i]) >= 0 {
			w.some = true // a separator that is no blank ends a field even if the field is empty
			for i++; i < len(text) && blank(text[i]); {
				i++
			}
		}
		w.end()
		start = i
	}
	w.add(text[start:], false)
}

// parts expands the parts of a word.
func (w *words) parts(parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			w.literal(p.Value, quoted, i == 0)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text, _ = escapes(text, false, true, false)
				text, _, _ = strings.Cut(text, "\x00")
			}
			w.add(text, true)
		case *syntax.DblQuoted:
			if !soleList(p) {
				w.some = true
			}
			w.parts(p.Parts, true)
		case *syntax.ParamExp:
			w.param(p, quoted)
		case *syntax.CmdSubst:
			w.result(w.r.commandSubstitution(p), quoted)
		case *syntax.ArithmExp:
			w.result(strconv.FormatInt(w.r.arithm(p.X), 10), quoted)
		case *syntax.ProcSubst:
			w.add(w.r.substitution(p), true)
		case *syntax.ExtGlob:
			inner := p.Pattern.Value
			if strings.ContainsAny(inner, "$`\"'") {
				inner = w.r.expandText(inner)
			}
			w.add(p.Op.String()+inner+")", quoted)
		default:
			w.r.fatal(1, "%T: not an expansion", part)
		}
	}
}

// soleList reports whether quotes contain only "$@" or a similar list, which expands to no word if it is empty.
func soleList(q *syntax.DblQuoted) bool {
	if len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	if !ok || p.Length || p.Param == nil {
		return false
	}
	index, _ := p.Index.(*syntax.Word)
	return p.Param.Value == "@" || index != nil && index.Lit() == "@" || p.Names == syntax.NamesPrefixWords
}

func (w *words) result(text string, quoted bool) {
	if quoted {
		w.add(text, true)
		return
	}
	w.expansion(text)
}

// literal adds a literal text of the script, in which backslashes quote.
func (w *words) literal(text string, quoted, first bool) {
	if quoted {
		if strings.IndexByte(text, '\\') >= 0 {
			text = unescapeDouble(text)
		}
		w.add(text, true)
		return
	}
	if first && strings.HasPrefix(text, "~") || w.tilde && strings.Contains(text, ":~") {
		text = w.expandTilde(text, first)
	}
	add := func(text string) {
		if w.inner {
			w.expansion(text)
		} else {
			w.add(text, false)
		}
	}
	for text != "" {
		i := strings.IndexByte(text, '\\')
		if i < 0 {
			add(text)
			return
		}
		add(text[:i])
		switch {
		case i+1 == len(text):
			w.add("\\", true)
			return
		case text[i+1] == '\n':
			text = text[i+2:]
		default:
			n := 2
			for n < len(text)-i && text[i+n]&0xc0 == 0x80 {
				n++
			}
			w.add(text[i+1:i+n], true)
			text = text[i+n:]
		}
	}
}

// expandTilde expands ~ and ~user; the result is quoted.
func (w *words) expandTilde(text string, first bool) string {
	var b strings.Builder
	for i, part := range strings.Split(text, ":") {
		if i > 0 {
			b.WriteByte(':')
		}
		if !strings.HasPrefix(part, "~") || i == 0 && !first || i > 0 && !w.tilde {
			b.WriteString(part)
			continue
		}
		user, rest, slash := strings.Cut(part[1:], "/")
		home := ""
		switch {
		case user == "":
			if home = w.r.value("HOME"); home == "" && !w.r.isSet("HOME") {
				home = w.r.shell.guest.Home("root")
			}
		case user == "+":
			home = w.r.dir
		case user == "-":
			home = w.r.value("OLDPWD")
		case w.r.shell.guest.HasUser(user):
			home = w.r.shell.guest.Home(user)
		default:
			b.WriteString(part)
			continue
		}
		b.WriteString(home)
		if slash {
			b.WriteString("/" + rest)
		}
	}
	return b.String()
}

// unescapeDouble removes the backslashes that quote within double quotes.
func unescapeDouble(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func joined(field []segment) string {
	if len(field) == 1 {
		return field[0].text
	}
	var b strings.Builder
	for _, s := range field {
		b.WriteString(s.text)
	}
	return b.String()
}

// fields expands words to arguments.
func (r *runner) fields(list []*syntax.Word) (out []string) {
	total := 0
	for _, word := range list {
		if !hasBrace(word) || !r.options["braceexpand"] || r.posix {
			out = r.expanded(out, word)
			continue
		}
		plain := *word
		plain.Parts = slices.Clone(word.Parts)
		if manyBraces(word) {
			panic(ended{r.exceed(fmt.Sprintf("has a word with more than %d braces", maxBraces))})
		}
		if !syntax.SplitBraces(&plain) {
			out = r.expanded(out, word)
			continue
		}
		if countBraces(plain.Parts) > maxWords {
			r.tooLong()
		}
		for one, err := range expand.BracesSeq(&expand.Config{}, &plain) {
			if total++; total > maxWords {
				r.tooLong()
			}
			r.tickLong(total)
			if err != nil {
				r.tooLong()
			}
			out = r.expanded(out, one)
		}
	}
	return out
}

// maxWords bounds the number of words that the braces of a word expand to.
const maxWords = 16 << 10

func (r *runner) tooLong() {
	panic(ended{r.exceed(fmt.Sprintf("has a sequence of more than %d items", maxWords))})
}

// countBraces returns the number of words that braces expand to, at most maxWords+1.
func countBraces(parts []syntax.WordPart) int {
	all := 1
	for _, part := range parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		n := 0
		if b.Sequence {
			from, errFrom := strconv.ParseInt(b.Elems[0].Lit(), 10, 64)
			to, errTo := strconv.ParseInt(b.Elems[1].Lit(), 10, 64)
			if n = 256; errFrom == nil && errTo == nil {
				n = int(min(max(to/2-from/2, from/2-to/2), maxWords))*2 + 1
			}
		}
		for _, e := range b.Elems {
			if !b.Sequence {
				n = min(n+countBraces(e.Parts), maxWords+1)
			}
		}
		all = min(all*n, maxWords+1)
	}
	return all
}

// maxBraces bounds the braces of one word, because splitting takes time and memory quadratic in their number.
const maxBraces = 2000

func manyBraces(w *syntax.Word) bool {
	n := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n > maxBraces
}

// tickLong counts a word of a long expansion, and checks at times that the script may continue.
func (r *runner) tickLong(n int) {
	r.grow(32)
	if n%256 == 0 {
		r.meter.Look()
	}
}

func hasBrace(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && strings.IndexByte(lit.Value, '{') >= 0
	})
}

// expanded appends the fields of a word, with the expansion of file names.
func (r *runner) expanded(out []string, word *syntax.Word) []string {
	w := words{r: r, split: true}
	w.parts(word.Parts, false)
	w.end()
	for _, field := range w.fields {
		if r.options["noglob"] || !hasMeta(field) {
			out = append(out, joined(field))
			continue
		}
		found, err := r.glob(field)
		switch {
		case err != nil:
			panic(ended{err})
		case len(found) > 0:
			out = append(out, found...)
		case r.options["failglob"]:
			r.abandon("no match: %s", joined(field))
		case !r.options["nullglob"]:
			out = append(out, joined(field))
		}
	}
	return out
}

// word expands a word to one text, without field splitting and file name patterns.
func (r *runner) word(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	return joined(r.single(word, false))
}

// assigned expands a word as the value of an assignment.
func (r *runner) assigned(word *syntax.Word) string { return joined(r.single(word, true)) }

// single expands a word to one field.
func (r *runner) single(word *syntax.Word, tilde bool) []segment {
	w := words{r: r, tilde: tilde}
	w.parts(word.Parts, false)
	w.end()
	var all []segment
	for i, field := range w.fields {
		if i > 0 {
			all = append(all, segment{" ", true})
		}
		all = append(all, field...)
	}
	return all
}

// assignments expands the words of a builtin that assigns, as dash does.
func (r *runner) assignments(list []*syntax.Word) (out []string) {
	for _, word := range list {
		if lit, ok := word.Parts[0].(*syntax.Lit); ok {
			if name, rest, some := strings.Cut(lit.Value, "="); some && syntax.ValidName(name) {
				value := &syntax.Word{Parts: append([]syntax.WordPart{&syntax.Lit{Value: rest}}, word.Parts[1:]...)}
				out = append(out, name+"="+r.assigned(value))
				continue
			}
		}
		out = append(out, r.fields([]*syntax.Word{word})...)
	}
	return out
}

// document expands a here-document.
func (r *runner) document(d *syntax.Redirect) string {
	if d.Hdoc == nil {
		return ""
	}
	quoted := slices.ContainsFunc(d.Word.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return !ok || strings.IndexByte(lit.Value, '\\') >= 0
	})
	var b strings.Builder
	bol := true
	for _, part := range d.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text := lit.Value
			if d.Op == syntax.DashHdoc {
				lines := strings.SplitAfter(text, "\n")
				for i, line := range lines {
					if i > 0 || bol {
						lines[i] = strings.TrimLeft(line, "\t")
					}
				}
				text = strings.Join(lines, "")
			}
			if !quoted {
				text = unescapeDocument(text)
			}
			b.WriteString(strings.ReplaceAll(text, carriageReturn, "\r"))
			bol = strings.HasSuffix(text, "\n")
			continue
		}
		bol = false
		b.WriteString(joined(r.single(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{part}}}}, false)))
		r.grow(b.Len())
	}
	return b.String()
}

func unescapeDocument(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return unescapeDouble(strings.ReplaceAll(text, `\"`, `\\"`))
}

// maxKept bounds the length of the texts whose trees are cached, in bytes.
const maxKept = 1 << 10

// expandText expands a text as within double quotes: an arithmetic expression, or PS4.
func (r *runner) expandText(text string) string {
	if !strings.ContainsAny(text, "$`\\\"'") {
		return text
	}
	r.run.mu.Lock()
	word := r.run.texts[text]
	r.run.mu.Unlock()
	if word == nil {
		var err error
		in := &scriptReader{ctx: r.ctx, meter: r.meter, text: text}
		word, err = syntax.NewParser().Document(in)
		defer func() { r.meter.Hold(-in.tree) }()
		r.readable(in)
		if err != nil {
			r.abandon("%s: bad substitution", text)
		}
		if word != nil && deepest([]*syntax.Stmt{{Cmd: &syntax.CallExpr{Args: []*syntax.Word{word}}}}) > maxDepth {
			panic(ended{r.exceed(errDeep.Error())})
		}
		if word != nil { // double quotes are removed, except within substitutions
			for _, part := range word.Parts {
				if lit, ok := part.(*syntax.Lit); ok {
					lit.Value = strings.ReplaceAll(lit.Value, `"`, "")
				}
			}
		}
		if len(text) <= maxKept {
			r.run.mu.Lock()
			if len(r.run.texts) > 500 {
				clear(r.run.texts)
			}
			r.run.texts[text] = word
			r.run.mu.Unlock()
		}
	}
	if word == nil { // the text is empty
		return ""
	}
	source := r.source
	r.source = text
	out := joined(r.single(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: word.Parts}}}, false))
	r.source = source
	return out
}

func (r *runner) commandSubstitution(c *syntax.CmdSubst) string {
	if len(c.Stmts) == 1 && c.Stmts[0].Cmd == nil && len(c.Stmts[0].Redirs) == 1 && c.Stmts[0].Redirs[0].Op == syntax.RdrIn {
		text, status := r.capture(func(sub *runner) {
			if f := sub.openFile(sub.word(c.Stmts[0].Redirs[0].Word), os.O_RDONLY); f != nil {
				defer f.release()
				_, _ = io.Copy(sub.stdout(), f.reader()) // a failure ends the script by its bound
				sub.status = 0
				return
			}
			sub.status = 1
		})
		r.status, r.substituted = status, true
		return text
	}
	text, status := r.capture(func(sub *runner) { sub.stmts(c.Stmts) })
	r.status, r.substituted = status, true
	return text
}

// globbing is the expansion of one pattern of file names.
type globbing struct {
	r     *runner
	found []string
}

func hasMeta(field []segment) bool { return hasMetaPattern(patternText(field)) }

// patternText returns segments as a pattern in which backslashes quote.
func patternText(field []segment) string {
	var b strings.Builder
	for _, s := range field {
		if s.quoted {
			b.WriteString(escapePattern(s.text))
		} else {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

func escapePattern(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\()|!+@-^`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// glob returns the sorted names of the files that match.
func (r *runner) glob(field []segment) ([]string, error) {
	pattern := patternText(field)
	g := &globbing{r: r}
	start := ""
	for strings.HasPrefix(pattern, "/") {
		start, pattern = "/", pattern[1:]
	}
	if err := g.walk(start, strings.Split(pattern, "/")); err != nil {
		return nil, err
	}
	sort.Strings(g.found)
	return slices.Compact(g.found), nil
}

// maxPath is PATH_MAX of Linux: a longer name refers to no file.
const maxPath = 4096

func (g *globbing) walk(at string, parts []string) error {
	r := g.r
	root := r.shell.guest.Root
	if len(at) > maxPath || len(parts) > maxPath {
		return nil
	}
	if len(parts) == 0 {
		if _, err := root.Lstat(r.abs(at)); err == nil {
			g.found = append(g.found, at)
		}
		return nil
	}
	part := parts[0]
	if part == "" { // the end of a pattern such as a/*/
		if len(parts) == 1 {
			if root.IsDir(r.abs(at)) {
				g.found = append(g.found, strings.TrimSuffix(at, "/")+"/")
			}
			return nil
		}
		return g.walk(at, parts[1:])
	}
	join := func(name string) string {
		if at == "" || strings.HasSuffix(at, "/") {
			return at + name
		}
		return at + "/" + name
	}
	if !hasMeta([]segment{{text: removeEscapes(part)}}) || !hasMetaPattern(part) {
		name := join(removeEscapes(part))
		if len(parts) > 1 && !root.IsDir(r.abs(name)) {
			return nil
		}
		return g.walk(name, parts[1:])
	}
	entries, err := root.ReadDir(r.abs(cmp.Or(at, ".")))
	if err := r.shell.matched(r.ctx, at, entries); err != nil {
		return err
	}
	if err != nil {
		return nil // an unreadable folder matches nothing
	}
	deep := part == "**" && r.options["globstar"]
	if deep {
		if len(parts) > 1 {
			if err := g.walk(at, parts[1:]); err != nil {
				return err
			}
		} else if at != "" {
			g.found = append(g.found, strings.TrimSuffix(at, "/")+"/")
		}
	}
	m := r.matcher(part, r.options["extglob"], r.options["nocaseglob"])
	for _, e := range entries {
		name := e.Name()
		if name[0] == '.' && !strings.HasPrefix(part, ".") && !strings.HasPrefix(part, `\.`) && !r.options["dotglob"] {
			continue
		}
		if !deep && !m.whole(r.meter, name) {
			continue
		}
		if deep {
			if len(parts) == 1 {
				g.found = append(g.found, join(name))
			}
			if e.Type()&fs.ModeSymlink == 0 && root.IsDir(r.abs(join(name))) {
				if err := g.walk(join(name), parts); err != nil {
					return err
				}
			}
			continue
		}
		if len(parts) > 1 && !root.IsDir(r.abs(join(name))) {
			continue
		}
		if err := g.walk(join(name), parts[1:]); err != nil {
			return err
		}
	}
	return nil
}

// hasMetaPattern reports whether a text contains a pattern; an unclosed bracket, such as the command [, is none.
func hasMetaPattern(pattern string) bool {
	open, before := false, byte(0)
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			i++
			c = 0
		case c == '*' || c == '?' || c == ']' && open || c == '(' && strings.IndexByte("@!+", before) >= 0 && before != 0:
			return true
		case c == '[':
			open = true
		}
		before = c
	}
	return false
}

func removeEscapes(pattern string) string {
	if strings.IndexByte(pattern, '\\') < 0 {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
