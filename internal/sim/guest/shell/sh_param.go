package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// expanding is a parameter during its expansion.
type expanding struct {
	name string
	v    *variable
	list bool // $@ or ${a[@]}
	star bool // $* or ${a[*]}
	keys []string
	text []string // one text per item
	set  bool
}

// lookup returns the values of a parameter.
func (r *runner) lookup(name string, index syntax.ArithmExpr) (e expanding) {
	e.name = name
	switch name {
	case "@", "*":
		e.list, e.star, e.set = true, name == "*", len(r.params) > 0
		e.text = slices.Clone(r.params)
		for i := range r.params {
			e.keys = append(e.keys, strconv.Itoa(i+1))
		}
		return e
	}
	if text, some, special := r.special(name); special {
		e.text, e.set = []string{text}, some
		return e
	}
	e.v = r.find(name)
	if e.v == nil {
		if w, ok := index.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
			e.list, e.star = true, w.Lit() == "*"
			return e
		}
		if index != nil {
			r.subscriptOf(nil, index) // it reports a wrong subscript
		}
		e.text = []string{""}
		return e
	}
	if index == nil {
		if raw := r.scoped(name); raw != nil && raw.reference { // a reference to an item
			if _, key, item := strings.Cut(raw.text, "["); item && e.v != nil {
				text, some := e.v.item(r.keyOf(e.v, strings.TrimSuffix(key, "]")))
				e.text, e.set = []string{text}, some
				return e
			}
		}
		text, some := e.v.first()
		e.text, e.set = []string{text}, some
		return e
	}
	if w, ok := index.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		e.list, e.star = true, w.Lit() == "*"
		e.keys, e.text = e.v.indexes(), e.v.items()
		e.set = len(e.keys) > 0
		return e
	}
	key := r.subscriptOf(e.v, index)
	text, some := e.v.item(key)
	if strings.HasPrefix(key, "-") && e.v.kind != associativeArray {
		r.errorf("%s: bad array subscript", name)
	}
	e.text, e.set = []string{text}, some
	return e
}

// special returns the value of a special parameter such as $? or $1. some reports whether it is set, and special
// whether the name is a special parameter.
func (r *runner) special(name string) (text string, some, special bool) {
	switch name {
	case "?":
		return strconv.Itoa(r.status), true, true
	case "#":
		return strconv.Itoa(len(r.params)), true, true
	case "$":
		return strconv.Itoa(r.run.main.pid), true, true
	case "!":
		if r.last == 0 {
			return "", false, true
		}
		return strconv.Itoa(r.last), true, true
	case "-":
		return r.flags(), true, true
	case "0":
		return r.name, true, true
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		if n <= len(r.params) {
			return r.params[n-1], true, true
		}
		return "", false, true
	}
	return "", false, false
}

// flags returns the value of $-.
func (r *runner) flags() string {
	return strings.Map(func(letter rune) rune {
		if !r.options[setLetters[byte(letter)]] || r.posix && (letter == 'h' || letter == 'B') {
			return -1
		}
		return letter
	}, "aefhmuvxBCE")
}

// separator returns the text that joins the items of "$*".
func (r *runner) separator() string {
	ifs := r.ifs()
	if ifs == "" {
		return ""
	}
	_, n := utf8.DecodeRuneInString(ifs)
	return ifs[:n]
}

// param expands a parameter.
func (w *words) param(p *syntax.ParamExp, quoted bool) {
	r := w.r
	name := p.Param.Value
	if p.Names != 0 {
		w.list(expanding{list: true, star: p.Names == syntax.NamesPrefix, text: r.names(name, true)}, quoted)
		return
	}
	e := r.lookup(name, p.Index)
	if p.Excl {
		if e.list && name != "@" && name != "*" {
			e.text = e.keys
			w.list(e, quoted)
			return
		}
		target := strings.Join(e.text, " ")
		if e.v != nil && e.v.reference {
			w.result(e.v.text, quoted)
			return
		}
		if raw := r.scoped(name); raw != nil && raw.reference {
			w.result(raw.text, quoted)
			return
		}
		if target == "" {
			r.abandon("%s: invalid indirect expansion", name)
		}
		base, key, item := strings.Cut(strings.TrimSuffix(target, "]"), "[")
		if _, _, special := r.special(base); !syntax.ValidName(base) && (item || !special && base != "@" && base != "*") {
			r.abandon("%s: invalid variable name", target)
		}
		if item {
			var index *syntax.Word
			if v := r.find(base); key != "@" && key != "*" {
				key = r.keyOf(v, key)
				index = &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: key}}}
			} else {
				index = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: key}}}
			}
			e = r.lookup(base, index)
		} else {
			e = r.lookup(base, nil)
		}
	}
	if p.Length {
		n := len(e.text)
		if !e.list {
			r.unset(e)
			n = utf8.RuneCountInString(e.text[0])
		}
		w.result(strconv.Itoa(n), quoted)
		return
	}
	if p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull && w.otherwise(p, e, quoted) {
		return
	}
	if p.Exp == nil || p.Exp.Op > syntax.AssignUnsetOrNull {
		r.unset(e)
	}
	switch {
	case p.Slice != nil:
		e = r.slice(e, p.Slice)
	case p.Repl != nil:
		r.substitute(&e, p.Repl)
	case p.Exp != nil && p.Exp.Op > syntax.AssignUnsetOrNull:
		r.transform(&e, p.Exp)
	}
	if e.list {
		w.list(e, quoted)
		return
	}
	w.result(e.text[0], quoted)
}

// unset ends the shell with an error if set -u is on and a parameter is not set.
func (r *runner) unset(e expanding) {
	if e.set || !r.options["nounset"] || e.list {
		return
	}
	name := e.name
	if _, err := strconv.Atoi(name); err == nil && !r.posix {
		name = "$" + name
	}
	if r.posix {
		r.fatal(2, "%s: parameter not set", name)
	}
	r.fatal(r.unsetCode(), "%s: unbound variable", name)
}

// unsetCode returns bash's exit code for an unset parameter: 127 for bash -c, else 1.
func (r *runner) unsetCode() int {
	return map[bool]int{true: 127, false: 1}[r.run.main.name == "bash" && !r.options["errexit"]]
}

// list adds several values, each as a field, or joined.
func (w *words) list(e expanding, quoted bool) {
	switch {
	case quoted && e.star:
		w.add(strings.Join(e.text, w.r.separator()), true)
	case !w.split && e.star:
		w.add(strings.Join(e.text, w.r.separator()), quoted)
	case !w.split:
		w.add(strings.Join(e.text, " "), quoted)
	default:
		for i, text := range e.text {
			if i > 0 {
				w.end()
			}
			w.result(text, quoted)
		}
	}
}

// otherwise implements ${x:-y} and the similar operators. done is true if the result is the word and has been added.
func (w *words) otherwise(p *syntax.ParamExp, e expanding, quoted bool) (done bool) {
	r := w.r
	empty := !e.set
	switch p.Exp.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		empty = empty || strings.Join(e.text, w.r.separator()) == ""
	}
	word := func() {
		if p.Exp.Word == nil {
			return
		}
		if !quoted {
			inner := w.inner
			w.inner = true
			w.parts(p.Exp.Word.Parts, false)
			w.inner = inner
			return
		}
		w.some = true
		w.quotedWord(p.Exp.Word)
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if !empty {
			word()
		}
		return true
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if empty {
			word()
		}
		return empty
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if !empty {
			return false
		}
		message := "parameter not set"
		if p.Exp.Op == syntax.ErrorUnsetOrNull && !r.posix {
			message = "parameter null or not set"
		}
		if p.Exp.Word != nil {
			message = r.word(p.Exp.Word)
		}
		r.fatal(map[bool]int{true: 2, false: r.unsetCode()}[r.posix], "%s: %s", e.name, message)
	}
	if !empty {
		return false
	}
	text := r.word(p.Exp.Word)
	key := ""
	if p.Index != nil {
		key = r.subscript(e.name, p.Index)
	}
	if !syntax.ValidName(e.name) {
		r.fatal(1, "$%s: cannot assign in this way", e.name)
	}
	r.must(r.put(e.name, key, text, false))
	e = r.lookup(e.name, p.Index)
	w.result(e.text[0], quoted)
	return true
}

// quotedWord expands the word of "${x:-a"b"}", in which single quotes are literal.
func (w *words) quotedWord(word *syntax.Word) {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			w.add(strings.ReplaceAll(unescapeDouble(p.Value), `\}`, "}"), true)
		case *syntax.SglQuoted:
			w.add("'"+p.Value+"'", true)
		default:
			w.parts([]syntax.WordPart{part}, true)
		}
	}
}

// slice implements ${x:1:2}.
func (r *runner) slice(e expanding, s *syntax.Slice) expanding {
	var from, count int64
	if s.Offset != nil {
		from = r.arithm(s.Offset)
	}
	if s.Length != nil {
		count = r.arithm(s.Length)
	}
	if !e.list {
		letters := []rune(e.text[0])
		n := int64(len(letters))
		if from < 0 {
			from += n
		}
		if from < 0 || from > n {
			e.text = []string{""}
			return e
		}
		to := n
		if s.Length != nil {
			if to = from + min(count, n-from); count < 0 {
				if to = n + count; to < from {
					r.abandon("%s: substring expression < 0", r.snippet(s.Length))
				}
			}
		}
		e.text = []string{string(letters[from:min(to, n)])}
		return e
	}
	if e.name == "@" || e.name == "*" {
		e.text, e.keys = append([]string{r.name}, e.text...), append([]string{"0"}, e.keys...)
	}
	if from < 0 && len(e.keys) > 0 {
		last, _ := strconv.ParseInt(e.keys[len(e.keys)-1], 10, 64)
		if e.v != nil && e.v.kind == associativeArray {
			last = int64(len(e.keys)) - 1
		}
		from += last + 1
	}
	var out []string
	for i, key := range e.keys {
		n, err := strconv.ParseInt(key, 10, 64)
		if err != nil || e.v != nil && e.v.kind == associativeArray {
			n = int64(i)
		}
		if from >= 0 && n >= from && (s.Length == nil || int64(len(out)) < count) {
			out = append(out, e.text[i])
		}
	}
	e.text = out
	return e
}

// substitute implements ${x/a/b}.
func (r *runner) substitute(e *expanding, s *syntax.Replace) {
	pattern := ""
	if s.Orig != nil {
		pattern = patternText(r.single(s.Orig, false))
	}
	anchor := byte(0)
	if !s.All && len(pattern) > 0 && (pattern[0] == '#' || pattern[0] == '%') {
		anchor, pattern = pattern[0], pattern[1:]
	}
	var with []segment
	if s.With != nil {
		with = r.single(s.With, false)
	}
	if s.All && s.Orig == nil && len(with) > 0 && strings.HasPrefix(with[0].text, "/") { // in ${x////y} the pattern is a slash
		pattern, with[0].text = "/", with[0].text[1:]
	}
	m := r.matcher(pattern, r.options["extglob"], r.options["nocasematch"])
	for i, text := range e.text {
		e.text[i] = r.replaced(m, text, anchor, s.All, pattern == "", with)
	}
}

// replaced returns a text with matches replaced; anchor is # or % for a match at the start or the end only, and all
// replaces each match.
func (r *runner) replaced(m *shPattern, text string, anchor byte, all, empty bool, with []segment) string {
	var b strings.Builder
	put := func(found string) {
		for _, s := range with {
			part := s.text
			if !s.quoted && strings.IndexByte(part, '&') >= 0 && r.options["patsub_replacement"] {
				part = strings.ReplaceAll(part, "&", found)
			}
			r.grow(len(part))
			b.WriteString(part)
		}
	}
	switch {
	case anchor == '#':
		if n := m.prefix(r.meter, text, true); n >= 0 {
			put(text[:n])
			return b.String() + text[n:]
		}
		return text
	case anchor == '%':
		if n := m.suffix(r.meter, text, true); n >= 0 {
			b.WriteString(text[:n])
			put(text[n:])
			return b.String()
		}
		return text
	case empty:
		return text
	}
	for text != "" {
		r.meter.Step()
		from, to := m.find(r.meter, text)
		if from < 0 {
			break
		}
		if from == to {
			_, n := utf8.DecodeRuneInString(text[from:])
			b.WriteString(text[:from+n])
			text = text[from+n:]
			continue
		}
		b.WriteString(text[:from])
		put(text[from:to])
		if text = text[to:]; !all {
			break
		}
	}
	b.WriteString(text)
	r.grow(b.Len())
	return b.String()
}

// transform implements ${x#y}, ${x^^}, ${x@Q} and similar operators.
func (r *runner) transform(e *expanding, x *syntax.Expansion) {
	switch x.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		if x.Word == nil {
			return
		}
		m := r.matcher(r.pattern(x.Word), r.options["extglob"], false)
		for i, text := range e.text {
			switch x.Op {
			case syntax.RemSmallPrefix, syntax.RemLargePrefix:
				if n := m.prefix(r.meter, text, x.Op == syntax.RemLargePrefix); n >= 0 {
					e.text[i] = text[n:]
				}
			default:
				if n := m.suffix(r.meter, text, x.Op == syntax.RemLargeSuffix); n >= 0 {
					e.text[i] = text[:n]
				}
			}
		}
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		pattern := "?"
		if x.Word != nil {
			pattern = r.pattern(x.Word)
		}
		m := r.matcher(pattern, r.options["extglob"], false)
		change := unicode.ToUpper
		switch {
		case x.Op == syntax.LowerFirst || x.Op == syntax.LowerAll:
			change = unicode.ToLower
		case pattern == "~~": // respelled writes ${x~~} so
			m = r.matcher("?", true, false)
			change = func(l rune) rune {
				if unicode.IsUpper(l) {
					return unicode.ToLower(l)
				}
				return unicode.ToUpper(l)
			}
		}
		for i, text := range e.text {
			letters := []rune(text)
			for j, l := range letters {
				if (j == 0 || x.Op == syntax.UpperAll || x.Op == syntax.LowerAll) && m.whole(r.meter, string(l)) {
					letters[j] = change(l)
				}
			}
			e.text[i] = string(letters)
		}
	case syntax.OtherParamOps:
		r.operator(e, x.Word.Lit())
	default:
		r.refuse("${%s%s}", e.name, x.Op)
		panic(unwound{true, refusedCode})
	}
}

// operator implements ${x@Q} and similar operators.
func (r *runner) operator(e *expanding, op string) {
	for i, text := range e.text {
		switch op {
		case "Q":
			if e.set {
				e.text[i] = transformQuoted(text)
			}
		case "E":
			e.text[i], _ = escapes(text, false, true, false)
		case "U":
			e.text[i] = strings.ToUpper(text)
		case "L":
			e.text[i] = strings.ToLower(text)
		case "u":
			if text != "" {
				first, n := utf8.DecodeRuneInString(text)
				e.text[i] = string(unicode.ToUpper(first)) + text[n:]
			}
		default:
			r.refuse("${%s@%s}", e.name, op)
			panic(unwound{true, refusedCode})
		}
	}
}

func transformQuoted(text string) string {
	if strings.ContainsAny(text, "\n\t\r\x1b\a\b\f\v") {
		return quoteBash(text)
	}
	return singleQuoted(text)
}
