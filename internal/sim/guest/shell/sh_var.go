package shell

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// variable is a variable of a shell.
type variable struct {
	kind                                   shKind
	set                                    bool
	exported, readonly, integer, reference bool
	letters                                byte // u, l or c; 0 for none
	text                                   string
	list                                   map[int]string
	dict                                   map[string]string
	keys                                   []string // the keys of dict in the order of their creation
}

type shKind int

const (
	scalar shKind = iota
	indexedArray
	associativeArray
)

func (v *variable) clone() *variable {
	c := *v
	c.list, c.dict, c.keys = maps.Clone(v.list), maps.Clone(v.dict), slices.Clone(v.keys)
	return &c
}

func (v *variable) bytes() (n int) {
	n = len(v.text)
	for _, item := range v.list {
		n += len(item) + 8
	}
	for k, item := range v.dict {
		n += len(k) + len(item)
	}
	return n
}

// indexes returns the keys of an array in bash's order; for an associative array, the order of its hash table (bash's
// lib/sh and hashlib.c: FNV-1 and 1024 buckets, the newest first).
func (v *variable) indexes() []string {
	switch v.kind {
	case indexedArray:
		var out []string
		for _, i := range slices.Sorted(maps.Keys(v.list)) {
			out = append(out, strconv.Itoa(i))
		}
		return out
	case associativeArray:
		out := slices.Clone(v.keys)
		slices.Reverse(out)
		slices.SortStableFunc(out, func(a, b string) int { return int(bucket(a)) - int(bucket(b)) })
		return out
	}
	if v.set {
		return []string{"0"}
	}
	return nil
}

func bucket(key string) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = h*16777619 ^ uint32(key[i])
	}
	return h & 1023
}

func (v *variable) items() []string {
	keys := v.indexes()
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i], _ = v.item(k)
	}
	return out
}

// item returns an item by its key, which is a number unless the array is associative.
func (v *variable) item(key string) (string, bool) {
	switch v.kind {
	case indexedArray:
		i, _ := strconv.Atoi(key)
		text, some := v.list[i]
		return text, some
	case associativeArray:
		text, some := v.dict[key]
		return text, some
	}
	return v.text, v.set && key == "0"
}

func (v *variable) put(key, text string) {
	v.set = true
	switch v.kind {
	case associativeArray:
		if _, some := v.dict[key]; !some {
			v.keys = append(v.keys, key)
		}
		if v.dict == nil {
			v.dict = map[string]string{}
		}
		v.dict[key] = text
	case indexedArray:
		i, _ := strconv.Atoi(key)
		if v.list == nil {
			v.list = map[int]string{}
		}
		v.list[i] = text
	default:
		v.text = text
	}
}

// first returns the value of a variable that is used as a scalar: for an array, item 0.
func (v *variable) first() (string, bool) {
	if v.kind == scalar {
		return v.text, v.set
	}
	return v.item("0")
}

// find returns a variable, after following references, or nil.
func (r *runner) find(name string) *variable {
	for range 8 {
		v := r.scoped(name)
		if v == nil || !v.reference || v.text == "" {
			return v
		}
		if i := strings.IndexByte(v.text, '['); i > 0 {
			name = v.text[:i]
			continue
		}
		name = v.text
	}
	return nil
}

func (r *runner) scoped(name string) *variable {
	if v := r.dynamic(name); v != nil {
		return v
	}
	for _, scope := range slices.Backward(r.scopes) {
		if v := scope[name]; v != nil {
			return v
		}
	}
	return nil
}

// dynamic returns a variable that bash computes, such as RANDOM, or nil.
func (r *runner) dynamic(name string) *variable {
	text := func(format string, a ...any) *variable { return &variable{set: true, text: fmt.Sprintf(format, a...)} }
	list := func(items []string) *variable {
		v := &variable{kind: indexedArray}
		for i, item := range items {
			v.put(strconv.Itoa(i), item)
		}
		return v
	}
	if name == "LINENO" {
		return text("%d", r.line)
	}
	if r.posix || name == "" || strings.IndexByte("RSEBFPGD", name[0]) < 0 {
		return nil
	}
	switch name {
	case "RANDOM":
		r.random = r.random*1103515245 + 12345
		return text("%d", r.random>>16&0x7fff)
	case "SRANDOM":
		r.random = r.random*1103515245 + 12345
		return text("%d", r.random)
	case "SECONDS":
		return text("%d", int(time.Since(r.started).Seconds()))
	case "EPOCHSECONDS":
		return text("%d", r.shell.guest.Clock.Now().Unix())
	case "EPOCHREALTIME":
		now := r.shell.guest.Clock.Now()
		return text("%d.%06d", now.Unix(), now.Nanosecond()/1000)
	case "BASHPID":
		return text("%d", r.pid)
	case "PPID":
		return text("%d", 1)
	case "BASH_SUBSHELL":
		return text("%d", r.level)
	case "BASH_COMMAND":
		return text("%s", r.text)
	case "GROUPS":
		return list([]string{r.value("UID")})
	case "DIRSTACK":
		return list(append([]string{r.dir}, r.dirs...))
	case "SHELLOPTS":
		return text("%s", strings.Join(slices.DeleteFunc(slices.Clone(setNames), func(n string) bool { return !r.options[n] }), ":"))
	case "BASH_VERSINFO":
		return list([]string{"5", "2", "21", "1", "release", "x86_64-pc-linux-gnu"})
	case "PIPESTATUS":
		items := []string{}
		for _, s := range r.statuses {
			items = append(items, strconv.Itoa(s))
		}
		return list(items)
	case "FUNCNAME", "BASH_SOURCE", "BASH_LINENO":
		var items []string
		inside := false
		for _, f := range slices.Backward(r.frames) {
			inside = inside || f.name != "source"
			items = append(items, map[string]string{"FUNCNAME": f.name, "BASH_SOURCE": cmp.Or(f.file, r.name),
				"BASH_LINENO": strconv.Itoa(f.line)}[name])
		}
		switch {
		case name == "FUNCNAME" && !inside:
			return nil
		case r.run.main.name == "bash" && len(items) == 0:
		default:
			items = append(items, map[string]string{"FUNCNAME": "main", "BASH_SOURCE": r.name, "BASH_LINENO": "0"}[name])
		}
		return list(items)
	}
	return nil
}

func (r *runner) value(name string) string {
	if v := r.find(name); v != nil {
		text, _ := v.first()
		return text
	}
	return ""
}

// isSet implements [[ -v ]].
func (r *runner) isSet(name string) bool {
	base, key, item := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	v := r.find(base)
	if v == nil {
		if n, err := strconv.Atoi(name); err == nil {
			return n <= len(r.params)
		}
		return false
	}
	if !item {
		_, some := v.first()
		return some
	}
	if key == "@" || key == "*" {
		return len(v.indexes()) > 0
	}
	_, some := v.item(r.keyOf(v, key))
	return some
}

// keyOf returns the key of a subscript, which may be an arithmetic expression.
func (r *runner) keyOf(v *variable, text string) string {
	if v != nil && v.kind == associativeArray {
		if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
			return text[1 : len(text)-1]
		}
		return text
	}
	i := int(r.arithmText(text))
	if i < 0 && v != nil && v.kind == indexedArray && len(v.list) > 0 {
		i += slices.Max(slices.Collect(maps.Keys(v.list))) + 1
	}
	return strconv.Itoa(i)
}

// scope returns the scope that has a variable, or where it will be created.
func (r *runner) scope(name string) map[string]*variable {
	for _, scope := range slices.Backward(r.scopes) {
		if scope[name] != nil {
			return scope
		}
	}
	return r.scopes[0]
}

// set assigns a value to a variable, or to NAME[KEY].
func (r *runner) set(name, text string) error {
	if base, key, some := strings.Cut(name, "["); some && strings.HasSuffix(key, "]") {
		return r.put(base, strings.TrimSuffix(key, "]"), text, false)
	}
	return r.put(name, "", text, false)
}

// put assigns a value to a variable or an item, or with more appends to it; key is "" for the variable itself.
func (r *runner) put(name, key, text string, more bool) error {
	for range 8 {
		if v := r.scope(name)[name]; v != nil && v.reference && v.text != "" {
			name = v.text
			if base, item, some := strings.Cut(name, "["); some {
				name, key = base, strings.TrimSuffix(item, "]")
			}
		}
	}
	if !syntax.ValidName(name) {
		return fmt.Errorf("`%s': not a valid identifier", name)
	}
	scope := r.scope(name)
	v := scope[name]
	if v == nil {
		v = &variable{exported: r.options["allexport"]}
		scope[name] = v
	}
	if v.readonly {
		return errReadonly(name)
	}
	return r.store(v, name, key, text, more)
}

type errReadonly string

// Error returns bash's message.
func (e errReadonly) Error() string { return string(e) + ": readonly variable" }

// store assigns a text to a variable or to its item key; with more it appends.
func (r *runner) store(v *variable, name, key, text string, more bool) error {
	before := v.bytes()
	if v.kind == scalar && key != "" {
		v.kind = indexedArray
		if v.set {
			v.put("0", v.text)
		}
		v.text = ""
	}
	switch {
	case v.kind == associativeArray && key == "":
		key = "0"
	case v.kind != scalar:
		if key == "" {
			key = "0"
		}
		key = r.keyOf(v, key)
		if strings.HasPrefix(key, "-") {
			return fmt.Errorf("%s[%s]: bad array subscript", name, key)
		}
	}
	old, _ := v.item(key)
	if v.kind == scalar {
		old = v.text
	}
	switch {
	case v.integer && more:
		text = strconv.FormatInt(r.arithmText(old)+r.arithmText(text), 10)
	case v.integer:
		text = strconv.FormatInt(r.arithmText(text), 10)
	case more:
		text = old + text
	}
	text = inLetters(text, v.letters)
	v.put(key, text)
	switch name {
	case "OPTIND":
		r.optionAt = 0
	case "RANDOM":
		n, _ := strconv.Atoi(text)
		r.random = uint32(n)
	case "SECONDS":
		n, _ := strconv.Atoi(text)
		r.started = time.Now().Add(-time.Duration(n) * time.Second)
	}
	r.weigh(v.bytes() - before)
	return nil
}

// inLetters changes the case of a text as declare -u, -l and -c do.
func inLetters(text string, how byte) string {
	switch how {
	case 'u':
		return strings.ToUpper(text)
	case 'l':
		return strings.ToLower(text)
	case 'c':
		return strings.ToUpper(text[:min(1, len(text))]) + strings.ToLower(text[min(1, len(text)):])
	}
	return text
}

// weigh counts the size of variables, and ends a script that exceeds the bound.
func (r *runner) weigh(n int) {
	if r.size += n; r.size > maxVariables {
		panic(ended{r.exceed(fmt.Sprintf("has variables of more than %d KiB", maxVariables>>10))})
	}
}

// assign runs NAME=VALUE as a command.
func (r *runner) assign(a *syntax.Assign) {
	name := a.Name.Value
	if a.Array == nil {
		text := ""
		if a.Value != nil {
			text = r.assigned(a.Value)
		}
		key := ""
		if a.Index != nil {
			if key = r.subscript(name, a.Index); key == "" {
				r.abandon("%s: bad array subscript", r.snippet(a))
			}
		}
		if r.options["xtrace"] {
			r.traceWords([]string{strings.TrimSuffix(name+"["+key+"]", "[]") + map[bool]string{true: "+"}[a.Append] + "=" + text}, true)
		}
		r.must(r.put(name, key, text, a.Append))
		return
	}
	r.trace(r.snippet(a))
	if v := r.scoped(name); v != nil && v.reference {
		name = v.text
	}
	scope := r.scope(name)
	v := scope[name]
	if v == nil {
		v = &variable{exported: r.options["allexport"]}
	}
	if v.readonly {
		r.must(errReadonly(name))
	}
	scope[name] = r.array(v, name, a)
}

// array returns a variable with the items of an assignment.
func (r *runner) array(v *variable, name string, a *syntax.Assign) *variable {
	made := v.clone()
	if !a.Append {
		made.list, made.dict, made.keys, made.text = nil, nil, nil, ""
	}
	if made.kind == scalar {
		made.kind = indexedArray
		if a.Append && made.set {
			made.put("0", made.text)
		}
		made.text = ""
	}
	made.set = true
	r.items(made, name, a.Array)
	r.weigh(made.bytes() - v.bytes())
	return made
}

// items assigns the items of (a b [5]=c) to an array.
func (r *runner) items(v *variable, name string, array *syntax.ArrayExpr) {
	next := 0
	for i := range v.list {
		next = max(next, i+1)
	}
	var bare []string
	for _, e := range array.Elems {
		if e.Index != nil {
			key := r.subscriptOf(v, e.Index)
			text := ""
			if e.Value != nil {
				text = r.assigned(e.Value)
			}
			r.must(r.storeItem(v, name, key, text))
			if v.kind == indexedArray {
				n, _ := strconv.Atoi(key)
				next = n + 1
			}
			continue
		}
		for _, text := range r.fields([]*syntax.Word{e.Value}) {
			if v.kind == associativeArray {
				bare = append(bare, text)
				continue
			}
			r.must(r.storeItem(v, name, strconv.Itoa(next), text))
			next++
		}
	}
	for pair := range slices.Chunk(bare, 2) {
		r.must(r.storeItem(v, name, pair[0], append(pair, "")[1]))
	}
}

func (r *runner) storeItem(v *variable, name, key, text string) error {
	if v.kind == associativeArray && key == "" {
		return fmt.Errorf("%s[]: bad array subscript", name)
	}
	if v.integer {
		text = strconv.FormatInt(r.arithmText(text), 10)
	}
	r.grow(len(key) + len(text))
	v.put(key, inLetters(text, v.letters))
	return nil
}

// must ends the current line if an assignment failed; in dash it ends the shell.
func (r *runner) must(err error) {
	if err == nil {
		return
	}
	if readonly, some := errors.AsType[errReadonly](err); some && r.posix {
		r.fatal(2, "%s: is read only", string(readonly))
	}
	r.abandon("%v", err)
}

// subscript returns the key of an index of a variable.
func (r *runner) subscript(name string, index syntax.ArithmExpr) string {
	return r.subscriptOf(r.find(name), index)
}

func (r *runner) subscriptOf(v *variable, index syntax.ArithmExpr) string {
	if v != nil && v.kind == associativeArray {
		if w, ok := index.(*syntax.Word); ok {
			return r.word(w)
		}
		return r.expandText(r.snippet(index))
	}
	if w, ok := index.(*syntax.Word); ok {
		return r.keyOf(v, r.word(w))
	}
	return r.keyOf(v, r.expandText(r.snippet(index)))
}

// declClause implements declare, local, export and readonly.
func (r *runner) declClause(c *syntax.DeclClause) {
	variant := c.Variant.Value
	flags, traced := "", []string{variant}
	var assigns []*syntax.Assign
	for _, a := range c.Args {
		if a.Name != nil {
			shown := r.snippet(a)
			if a.Value != nil { // the values are expanded before any variable is declared
				one := *a
				value := r.assigned(a.Value)
				shown = traceQuoted(shown[:int(a.Value.Pos().Offset()-a.Pos().Offset())]+value, false)
				one.Value = &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: value}}}
				a = &one
			}
			traced = append(traced, shown)
			assigns = append(assigns, a)
			continue
		}
		for _, word := range r.fields([]*syntax.Word{a.Value}) {
			flags, assigns = declaredWord(word, flags, assigns)
			traced = append(traced, traceQuoted(word, false))
		}
	}
	r.trace(strings.Join(traced, " "))
	r.substituted, r.status = false, 0
	r.declare(variant, flags, assigns)
	r.statuses = []int{r.status}
}

// declaredWord adds a word of declare to its flags, each with its sign, or to its assignments.
func declaredWord(word, flags string, assigns []*syntax.Assign) (string, []*syntax.Assign) {
	if len(word) > 1 && (word[0] == '-' || word[0] == '+') && len(assigns) == 0 {
		if word != "--" {
			flags += word[:1] + strings.Join(strings.Split(word[1:], ""), word[:1])
		}
		return flags, nil
	}
	name, value, some := strings.Cut(word, "=")
	one := &syntax.Assign{Name: &syntax.Lit{Value: name}, Naked: !some}
	if some {
		one.Name.Value, one.Append = strings.CutSuffix(name, "+")
		one.Value = &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: value}}}
	}
	return flags, append(assigns, one)
}

// declare implements declare, local, export and readonly with their flags, each with its sign.
func (r *runner) declare(variant, flags string, assigns []*syntax.Assign) {
	has := func(flag string) bool { return strings.Contains(flags, flag) }
	for _, flag := range flags {
		if !strings.ContainsRune("-+aAfFgilnprtuxI", flag) {
			r.fail(2, "%s: -%c: invalid option", variant, flag)
			return
		}
	}
	local := (variant == "local" || variant == "declare" || variant == "typeset") && len(r.frames) > 0 && !has("-g") && r.inFunction()
	if variant == "local" && !r.inFunction() {
		r.fail(1, "local: can only be used in a function")
		return
	}
	if has("-f") || has("-F") {
		r.declareFunctions(variant, flags, assigns)
		return
	}
	if len(assigns) == 0 {
		r.printVariables(variant, flags)
		return
	}
	for _, a := range assigns {
		name := a.Name.Value
		if has("-p") && variant != "export" && variant != "readonly" {
			if v := r.find(name); v != nil {
				fmt.Fprintln(r.stdout(), declared(name, v))
			} else {
				r.fail(1, "%s: %s: not found", variant, name)
			}
			continue
		}
		if !syntax.ValidName(name) {
			r.fail(1, "%s: `%s': not a valid identifier", variant, strings.TrimSuffix(r.snippet(a), "="))
			continue
		}
		if has("-n") && variant == "export" {
			if v := r.find(name); v != nil {
				v.exported = false
			}
			continue
		}
		scope := r.scope(name)
		if local {
			scope = r.scopes[len(r.scopes)-1]
		} else if has("-g") {
			scope = r.scopes[0]
		}
		v := scope[name]
		if v == nil {
			v = &variable{}
			if old := r.find(name); local && old != nil && (old.readonly || old.exported && !r.posix) {
				if old.readonly && a.Value != nil {
					r.fail(1, "%s: %s: readonly variable", variant, name)
					continue
				}
			}
		}
		if v.readonly && (a.Value != nil || a.Array != nil || has("+r")) {
			r.fail(1, "%s%s: readonly variable", map[bool]string{true: variant + ": "}[variant != "export"], name)
			continue
		}
		shape := &variable{}
		if has("-A") {
			shape.kind = associativeArray
		} else if has("-a") {
			shape.kind = indexedArray
		}
		if shape.kind != scalar && v.kind != scalar && shape.kind != v.kind {
			from, to := "indexed", "associative"
			if v.kind == associativeArray {
				from, to = to, from
			}
			r.fail(1, "%s: %s: cannot convert %s to %s array", variant, name, from, to)
			continue
		}
		if shape.kind != scalar && v.kind == scalar {
			if v.kind = shape.kind; v.set && v.text != "" {
				v.put("0", v.text)
			}
			v.text = ""
		}
		for i := 0; i+1 < len(flags); i += 2 {
			on := flags[i] == '-'
			switch flags[i+1] {
			case 'x':
				v.exported = on
			case 'i':
				v.integer = on
			case 'n':
				v.reference = on
			case 'u', 'l', 'c':
				if v.letters = 0; on {
					v.letters = flags[i+1]
				}
			}
		}
		text := ""
		if a.Value != nil {
			text = r.assigned(a.Value) // before the inner variable exists
		}
		if a.Array != nil {
			v = r.array(v, name, a)
		}
		scope[name] = v
		switch {
		case a.Array != nil:
		case v.reference && a.Value != nil:
			v.text, v.set = text, true
		case a.Value != nil || !a.Naked:
			key := ""
			if a.Index != nil {
				key = r.subscriptOf(v, a.Index)
			}
			if (variant == "export" || variant == "readonly") && r.options["xtrace"] {
				r.traceWords([]string{name + "=" + text}, true)
			}
			if err := r.store(v, name, key, text, a.Append); err != nil {
				r.fail(1, "%s: %v", variant, err)
			}
		case v.kind != scalar && a.Naked && len(v.list)+len(v.dict) == 0 && local:
			v.set = false
		}
		v.exported = v.exported || variant == "export"
		v.readonly = v.readonly || variant == "readonly" || has("-r")
	}
}

func (r *runner) inFunction() bool {
	return slices.ContainsFunc(r.frames, func(f shFrame) bool { return f.name != "source" })
}

func (r *runner) declareFunctions(variant, flags string, assigns []*syntax.Assign) {
	names := slices.Sorted(maps.Keys(r.funcs))
	if len(assigns) > 0 {
		names = nil
		for _, a := range assigns {
			names = append(names, a.Name.Value)
		}
	}
	for _, name := range names {
		switch {
		case r.funcs[name] == nil:
			r.status = 1
		case variant == "export" && len(assigns) > 0:
			r.funcs[name].exported = !strings.Contains(flags, "-n")
		case strings.Contains(flags, "-F") && len(assigns) > 0:
			fmt.Fprintln(r.stdout(), name)
		case strings.Contains(flags, "-F"):
			fmt.Fprintf(r.stdout(), "declare -f %s\n", name)
		case strings.Contains(flags, "-x"):
		default:
			r.printFunction(name)
		}
	}
}

// names returns the sorted names of variables with a prefix; with set, only of those that are set.
func (r *runner) names(prefix string, set bool) []string {
	names := map[string]bool{}
	for _, scope := range r.scopes {
		for name, v := range scope {
			if strings.HasPrefix(name, prefix) && (v.set || !set) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (r *runner) printVariables(variant, flags string) {
	for _, name := range r.names("", false) {
		v := r.find(name)
		switch {
		case v == nil, variant == "export" && !v.exported, variant == "readonly" && !v.readonly, variant == "local" &&
			r.scopes[len(r.scopes)-1][name] == nil,
			strings.Contains(flags, "-x") && !v.exported, strings.Contains(flags, "-r") && !v.readonly, strings.Contains(flags, "-i") && !v.integer,
			strings.Contains(flags, "-A") && v.kind != associativeArray, strings.Contains(flags, "-a") && v.kind != indexedArray:
		case r.posix:
			fmt.Fprintf(r.stdout(), "%s %s=%s\n", variant, name, dashQuoted(v.text))
		case variant == "local", variant != "export" && variant != "readonly" && flags == "":
			fmt.Fprintln(r.stdout(), plainAssignment(name, v))
		default:
			fmt.Fprintln(r.stdout(), declared(name, v))
		}
	}
}

func dashQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'" }

// plainAssignment returns a line of the output of set.
func plainAssignment(name string, v *variable) string {
	if v.kind != scalar {
		return name + "=" + arrayText(v)
	}
	return name + "=" + quotedIfNeeded(v.text)
}

func quotedIfNeeded(text string) string {
	if text == "" || !strings.ContainsAny(text, " \t\n'\"\\$`&|;<>()*?[]{}!^~#") {
		return text
	}
	if strings.ContainsAny(text, "\n\t\x1b\r") {
		return quoteBash(text)
	}
	return singleQuoted(text)
}

func singleQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func arrayText(v *variable) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, key := range v.indexes() {
		if i > 0 && v.kind == indexedArray {
			b.WriteByte(' ')
		}
		item, _ := v.item(key)
		if v.kind == associativeArray && strings.ContainsAny(key, " \t\n'\"\\$`&|;<>()*?[]{}!") {
			key = doubleQuoted(key)
		}
		fmt.Fprintf(&b, "[%s]=%s", key, doubleQuoted(item))
		if v.kind == associativeArray {
			b.WriteByte(' ')
		}
	}
	b.WriteByte(')')
	return b.String()
}

func doubleQuoted(text string) string {
	if strings.ContainsAny(text, "\n\t\x1b\r") {
		return quoteBash(text)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text) + `"`
}

// attributes returns the letters of declare for a variable's attributes.
func (v *variable) attributes() string {
	flags := ""
	for _, f := range []struct {
		letter string
		on     bool
	}{{"a", v.kind == indexedArray}, {"A", v.kind == associativeArray}, {"i", v.integer}, {"n", v.reference}, {"r", v.readonly},
		{"x", v.exported}, {"l", v.letters == 'l'}, {"u", v.letters == 'u'}, {"c", v.letters == 'c'}} {
		if f.on {
			flags += f.letter
		}
	}
	return flags
}

// declared returns the output of declare -p for a variable.
func declared(name string, v *variable) string {
	flags := v.attributes()
	if flags == "" {
		flags = "-"
	}
	switch {
	case !v.set:
		return "declare -" + flags + " " + name
	case v.kind == scalar:
		return "declare -" + flags + " " + name + "=" + doubleQuoted(v.text)
	}
	return "declare -" + flags + " " + name + "=" + arrayText(v)
}
