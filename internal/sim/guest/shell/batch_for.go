package shell

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/powershell"
)

// loop runs a for command.
func (b *batch) loop(ctx context.Context, n forCommand) int {
	set, err := b.late(n.set)
	if err != nil {
		return b.lacks("%v", err)
	}
	if n.options != "" && n.mode != "f" && n.mode != "r" {
		return b.lacks("for /%s %s", n.mode, n.options)
	}
	outer := b.loops
	b.loops = maps.Clone(outer)
	if b.loops == nil {
		b.loops = map[byte]string{}
	}
	defer func() { b.loops = outer }()
	code := 0
	each := func(v string) bool {
		b.loops[n.variable] = v
		b.echoBody(n.body)
		code = b.exec(ctx, n.body)
		return !b.leaving()
	}
	switch n.mode {
	case "l":
		err = b.count(set, each)
	case "f":
		return b.forFile(ctx, n, set)
	case "d", "":
		for _, word := range batchWords(strings.ReplaceAll(set, "\n", " ")) {
			for _, item := range b.items(word, n.mode == "d") {
				if !each(item) {
					return code
				}
			}
		}
	case "r":
		root, e := b.late(strings.Trim(n.options, `"`))
		if e != nil {
			return b.lacks("%v", e)
		}
		b.walk(b.shell.guest.Root.Abs(b.cmd.dir, root), batchWords(set), n.folders, each)
	}
	if err != nil {
		b.errorf("%v", err)
		b.cmd.level = 1
		return 1
	}
	return code
}

// count implements for /l with (start,step,end).
func (b *batch) count(set string, each func(string) bool) error {
	var n [3]int64
	words := batchWords(set)
	for i := range n {
		if i < len(words) {
			v, err := strconv.ParseInt(words[i], 0, 32)
			if err != nil {
				return saying("The syntax of the command is incorrect.")
			}
			n[i] = v
		}
	}
	for v := n[0]; n[1] >= 0 && v <= n[2] || n[1] < 0 && v >= n[2]; v += n[1] {
		if !each(strconv.FormatInt(v, 10)) {
			return nil
		}
	}
	return nil
}

// items returns the files or folders that match a word of the set; a word that is no pattern stays as it is.
func (b *batch) items(word string, folders bool) []string {
	plain, p := strings.Trim(word, `"`), b.process(nil)
	if !strings.ContainsAny(plain, "*?") {
		return []string{word}
	}
	return slices.DeleteFunc(namesOf(p, plain), func(f string) bool { return p.Guest.Root.IsDir(p.Abs(f)) != folders })
}

// walk implements for /r: it calls each for the words of the set in each folder below a root.
func (b *batch) walk(root string, words []string, folders bool, each func(string) bool) {
	goOn := true
	b.process(nil).walk(root, 0, func(name string, _ int, info fs.FileInfo) bool {
		for _, w := range words {
			if !info.IsDir() || !goOn {
				return false
			}
			for _, item := range b.items(strings.TrimSuffix(b.shell.guest.Root.Abs(name, ""), `\`)+`\`+strings.Trim(w, `"`), folders) {
				goOn = goOn && each(item)
			}
		}
		return true
	})
}

// fileOptions are the options of for /f.
type fileOptions struct {
	eol    byte
	skip   int
	delims string
	tokens []int
	// rest is set by tokens=...*: one more variable gets the remaining text of the line.
	rest, backquote bool
}

func parseFileOptions(text string) (fileOptions, error) {
	o := fileOptions{eol: ';', delims: " \t", tokens: []int{1}}
	text = strings.Trim(text, `"`)
	for text = strings.TrimLeft(text, " \t"); text != ""; text = strings.TrimLeft(text, " \t") {
		low := strings.ToLower(text)
		word := text
		if i := strings.IndexAny(text, " \t"); i >= 0 {
			word = text[:i]
		}
		rest := text[len(word):]
		switch {
		case strings.HasPrefix(low, "usebackq"):
			o.backquote, rest = true, text[len("usebackq"):]
		case strings.HasPrefix(low, "eol="):
			o.eol, rest = 0, text[len("eol="):]
			if rest != "" && rest[0] != ' ' {
				o.eol, rest = rest[0], rest[1:]
			}
		case strings.HasPrefix(low, "skip="):
			n, err := strconv.ParseInt(word[len("skip="):], 0, 32)
			if err != nil {
				return o, saying(word + " was unexpected at this time.")
			}
			o.skip = int(n)
		case strings.HasPrefix(low, "delims="):
			// A blank is a delimiter only as the last character of delims=.
			set := text[len("delims="):]
			end := len(set)
			for _, next := range []string{" tokens=", " skip=", " eol=", " usebackq"} {
				if i := strings.Index(strings.ToLower(set), next); i >= 0 {
					end = min(end, i)
				}
			}
			o.delims, rest = set[:end], set[end:]
		case strings.HasPrefix(low, "tokens="):
			if err := o.readTokens(word[len("tokens="):]); err != nil {
				return o, err
			}
		default:
			return o, saying(word + " was unexpected at this time.")
		}
		text = rest
	}
	return o, nil
}

func (o *fileOptions) readTokens(text string) error {
	o.tokens, o.rest = nil, strings.HasSuffix(text, "*")
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "*"), ",") {
		if part == "" {
			continue
		}
		from, to, span := strings.Cut(part, "-")
		n, err := strconv.Atoi(from)
		m := n
		if err == nil && span {
			m, err = strconv.Atoi(to)
		}
		if err != nil || n < 1 || m > 31 || m < n {
			return saying(part + " was unexpected at this time.")
		}
		for i := n; i <= m; i++ {
			o.tokens = append(o.tokens, i)
		}
	}
	slices.Sort(o.tokens)
	o.tokens = slices.Compact(o.tokens)
	return nil
}

// forFile implements for /f over the lines of files, of a text or of a command's output.
func (b *batch) forFile(ctx context.Context, n forCommand, set string) int {
	options, err := b.late(n.options)
	if err != nil {
		return b.lacks("%v", err)
	}
	o, err := parseFileOptions(options)
	if err != nil {
		return b.fails(1, err.Error())
	}
	set = strings.TrimSpace(set)
	var content string
	textQuote, commandQuote := byte('"'), byte('\'')
	if o.backquote {
		textQuote, commandQuote = '\'', '`'
	}
	quotedBy := func(q byte) bool { return len(set) > 1 && set[0] == q && set[len(set)-1] == q }
	switch {
	case quotedBy(commandQuote):
		content = b.capture(ctx, set[1:len(set)-1])
	case quotedBy(textQuote):
		content = set[1 : len(set)-1]
	default:
		for _, word := range batchWords(set) {
			name := strings.Trim(word, `"`)
			data, err := b.shell.guest.Root.ReadFile(b.shell.guest.Root.Abs(b.cmd.dir, name))
			if err != nil {
				b.errorf("The system cannot find the file %s.", name)
				b.cmd.level = 1
				return 1
			}
			content += powershell.Text(data)
		}
	}
	return b.forLines(ctx, n, o, content)
}

// capture runs a command in another cmd.exe and returns its output.
func (b *batch) capture(ctx context.Context, text string) string {
	text = strings.NewReplacer("^|", "|", "^>", ">", "^<", "<", "^&", "&", "^^", "^", "^(", "(", "^)", ")", "^=",
		"=", "^,", ",").Replace(text)
	var out bytes.Buffer
	inner := b.fork()
	inner.o.Stdout = b.shell.writer(ctx, &out)
	p := &cmdParser{text: text}
	node, err := p.line()
	if err != nil {
		b.errorf("%v", err)
		return ""
	}
	inner.exec(ctx, node)
	b.cmd.steps = inner.cmd.steps
	return out.String()
}

// forLines runs the body of for /f for each line of a text.
func (b *batch) forLines(ctx context.Context, n forCommand, o fileOptions, content string) int {
	code, at := 0, 0
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\r\n")
		if at++; at <= o.skip || line == "" {
			continue
		}
		if o.eol != 0 && line[0] == o.eol {
			continue
		}
		values, ok := o.split(line)
		if !ok {
			continue
		}
		for i, v := range values {
			b.loops[n.variable+byte(i)] = v
		}
		b.echoBody(n.body)
		code = b.exec(ctx, n.body)
		if b.leaving() {
			return code
		}
	}
	return code
}

// split returns the tokens of a line; ok is false if the first token is missing.
func (o fileOptions) split(line string) ([]string, bool) {
	in := func(c byte) bool { return strings.IndexByte(o.delims, c) >= 0 }
	skip := func(s string) string {
		for s != "" && in(s[0]) {
			s = s[1:]
		}
		return s
	}
	var out []string
	rest, number := skip(line), 0
	last := 0
	for _, t := range o.tokens {
		last = max(last, t)
	}
	for number < last && rest != "" {
		end := 0
		for end < len(rest) && !in(rest[end]) {
			end++
		}
		number++
		if slices.Contains(o.tokens, number) {
			out = append(out, rest[:end])
		}
		rest = skip(rest[end:])
	}
	if len(out) == 0 && len(o.tokens) > 0 || len(o.tokens) == 0 && rest == "" {
		return nil, false
	}
	for len(out) < len(o.tokens) {
		out = append(out, "")
	}
	if o.rest {
		out = append(out, rest)
	}
	return out, true
}

// maskMatch reports whether a name matches a pattern of * and ?.
func maskMatch(mask, name string) bool {
	mask, name = strings.ReplaceAll(strings.ToLower(mask), "*.*", "*"), strings.ToLower(name)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(name) {
		switch {
		case i < len(mask) && mask[i] == '?' && name[j] == '.': // before a dot, ? also matches nothing
			i++
		case i < len(mask) && (mask[i] == '?' || mask[i] == name[j]):
			i, j = i+1, j+1
		case i < len(mask) && mask[i] == '*':
			star, mark, i = i, j, i+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(mask[i:], "*?") == ""
}

// echoBody shows the command of a loop at each pass while echo is on, as cmd.exe does.
func (b *batch) echoBody(body cmdNode) {
	c, simple := body.(simpleCommand)
	if !b.cmd.echo || b.typed || !simple || quietLine(c.text) {
		return
	}
	text, err := b.late(c.text)
	if err == nil {
		b.print("\r\n" + b.cmd.dir + ">" + strings.TrimSpace(text) + " \r\n")
	}
}
