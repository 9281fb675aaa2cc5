package powershell

import (
	"errors"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/dotnet"
)

var pipeCmdlets = []cmdlet{
	{name: "ForEach-Object", parameters: "Process|MemberName:0* Begin End ArgumentList InputObject",
		start: foreachStart, each: foreachEach, run: foreachEnd},
	{name: "Where-Object", parameters: "FilterScript|Property:0 Value:1 EQ|IEQ? NE|INE? GT? GE? LT? LE? " +
		"Like|ILike? NotLike? Match|IMatch? NotMatch? Contains? NotContains? In? NotIn? CEQ? CNE? CMatch? " +
		"CLike? InputObject", each: whereEach},
	{name: "Select-Object", parameters: "Property:0 ExpandProperty|Expand First# Last# Skip# SkipLast# Unique? " +
		"ExcludeProperty Index Wait?~ InputObject", start: selectStart, each: selectEach, run: selectEnd},
	{name: "Sort-Object", parameters: "Property:0 Descending? Unique? CaseSensitive? InputObject", run: sortObject},
	{name: "Group-Object", ending: true,
		parameters: "Property:0 NoElement? AsHashTable? AsString? CaseSensitive? InputObject",
		run:        groupObject},
	{name: "Measure-Object", ending: true,
		parameters: "Property:0 Sum? Average? Maximum? Minimum? Line? Word? Character? InputObject",
		run:        measureObject},
	{name: "Get-Unique", parameters: "AsString?~ InputObject", run: getUnique},
	{name: "Select-String", parameters: "Pattern%!:0 Path%!:1 LiteralPath%! SimpleMatch? CaseSensitive? Quiet? " +
		"NotMatch? AllMatches? List? Context InputObject Encoding~", run: selectString},
	{name: "Compare-Object", flat: true, parameters: "ReferenceObject&:0 DifferenceObject%&:1 Property IncludeEqual? " +
		"ExcludeDifferent? PassThru? CaseSensitive?", run: compareObject},
}

// blocks returns the script blocks in a value.
func blocks(v any) []function {
	var out []function
	for _, item := range list(v) {
		if f, ok := item.(function); ok {
			out = append(out, f)
		}
	}
	return out
}

// foreachState has the script blocks of a ForEach-Object.
type foreachState struct{ begin, process, end []function }

func foreachStart(c *call) error {
	s := &foreachState{process: blocks(c.given["process"]), begin: blocks(c.given["begin"]), end: blocks(c.given["end"])}
	switch n := len(s.process); {
	case n > 1 && !c.has("begin"):
		s.begin, s.process = s.process[:1], s.process[1:]
		if len(s.process) > 1 && !c.has("end") {
			s.end, s.process = s.process[len(s.process)-1:], s.process[:len(s.process)-1]
		}
	case n == 0 && c.given["process"] == nil && s.begin == nil && s.end == nil:
		if c.has("process") {
			return broken("ParameterBindingValidationException", "ParameterArgumentValidationErrorNullNotAllowed",
				"Cannot bind argument to parameter 'Process' because it is null.")
		}
		return c.need("process")
	}
	for _, f := range append(slices.Clone(s.begin), processBegins(s.process)...) {
		if err := c.runItem(f, nil, c.emit); err != nil {
			return err
		}
	}
	c.state = s
	return nil
}

// processBegins returns the begin blocks of script blocks, as script blocks of their own.
func processBegins(all []function) []function {
	var out []function
	for _, f := range all {
		if len(f.body.begin) > 0 {
			f.body = &block{end: f.body.begin}
			out = append(out, f)
		}
	}
	return out
}

func foreachEach(c *call, v any) error {
	s, _ := c.state.(*foreachState)
	if len(s.process) == 0 {
		return c.eachMember(v)
	}
	for _, f := range s.process {
		if err := c.runItem(f, v, c.emit); err != nil {
			return c.withClass(err)
		}
	}
	return nil
}

// withClass appends the cmdlet's class to the id of a failure of its script block, except for a failure of throw.
func (c *call) withClass(err error) error {
	if f := failed(err); f != nil && f.category != "OperationStopped" && !strings.Contains(f.id, ",") {
		f.id += "," + c.cmd.class()
	}
	return err
}

// eachMember is ForEach-Object NAME: it emits a property, or calls a method.
func (c *call) eachMember(v any) error {
	words := list(c.given["process"])
	if len(words) == 0 {
		return nil
	}
	name := text(words[0])
	var args []any
	args = append(args, words[1:]...)
	args = append(args, list(c.given["argumentlist"])...)
	if low := strings.ToLower(name); (low == "length" || low == "count") && len(args) == 0 {
		own := slices.ContainsFunc(propertyNames(v), func(n string) bool { return strings.EqualFold(n, name) })
		if o, ok := v.(*object); ok {
			_, own = o.get(name)
		}
		if !own { // Count and Length, which the language adds to every value, are not members here
			return c.emit(nil)
		}
	}
	if len(args) == 0 {
		got, err := c.property(v, name)
		if _, method := errors.AsType[*unsimulated](err); !method {
			if err != nil {
				return err
			}
			if got == nil {
				return c.emit(nil)
			}
			return each(got, c.emit)
		}
	}
	got, err := c.run.call(v, name, args)
	if err != nil {
		return err
	}
	return each(got, c.emit)
}

func foreachEnd(c *call) error {
	s, ok := c.state.(*foreachState)
	if !ok {
		return nil
	}
	if !c.piped {
		if err := foreachEach(c, c.given["inputobject"]); err != nil {
			return err
		}
	}
	for _, f := range s.end {
		if err := c.runItem(f, nil, c.emit); err != nil {
			return err
		}
	}
	return nil
}

var whereOperators = []string{"eq", "ne", "gt", "ge", "lt", "le", "like", "notlike", "match", "notmatch",
	"contains", "notcontains", "in", "notin", "ceq", "cne", "cmatch", "clike"}

func whereEach(c *call, v any) error {
	if f, ok := c.given["filterscript"].(function); ok {
		yes, err := c.apply(f, v)
		if err != nil || !truth(yes) {
			return c.withClass(err)
		}
		return c.emit(v)
	}
	if !c.has("filterscript") {
		return c.need("filterscript")
	}
	got, err := c.property(v, c.textOf("filterscript"))
	if err != nil {
		return err
	}
	defer c.keeping("matches")()
	yes := got
	for _, o := range whereOperators {
		if c.has(o) {
			want := c.given["value"]
			if want == nil && c.given[o] != true {
				want = c.given[o]
			}
			yes, err = c.operate("-"+o, got, want)
			if f := failed(err); f != nil {
				name := "I" + o
				if o[0] == 'c' && o != "contains" {
					name = "C" + o[1:]
				}
				return c.fault(broken("PSInvalidOperationException", "OperatorFailed", "The '%s' operator failed: %s.", name,
					strings.TrimSuffix(f.exception.message, ".")))
			} else if err != nil {
				return err
			}
		}
	}
	if truth(yes) {
		return c.emit(v)
	}
	return nil
}

// selectState is the state of Select-Object between the objects of its pipeline.
type selectState struct {
	kept       []any
	seen, sent int
	first      int
	skip       int
	// chosen are the objects that -Unique compares at the end; out takes the distinct objects.
	chosen []any
	out    sink
}

func selectStart(c *call) error {
	s := &selectState{}
	var err error
	if s.first, err = c.integerOf("first", -1); err != nil {
		return err
	}
	if s.skip, err = c.integerOf("skip", 0); err != nil {
		return err
	}
	if c.is("unique") {
		s.out, c.emit = c.emit, func(v any) error { s.chosen = append(s.chosen, v); return c.take(16) }
	}
	c.state = s
	return nil
}

func selectEach(c *call, v any) error {
	s, _ := c.state.(*selectState)
	if v == nil {
		return nil
	}
	if o, ok := v.(*object); ok && isFormatted(o) {
		return lacking("Select-Object of what a Format cmdlet made")
	}
	if s.sent < s.first && c.has("last") { // -First and -Last together select objects at both ends
		s.sent++
		return c.selected(v)
	}
	if c.has("last") || c.has("skiplast") || c.has("index") {
		s.kept = append(s.kept, v)
		return c.take(16)
	}
	if s.seen++; s.seen <= s.skip {
		return nil
	}
	if s.first == 0 {
		return c.stop()
	}
	if err := c.selected(v); err != nil {
		return err
	}
	if s.sent++; s.first > 0 && s.sent >= s.first {
		return c.stop()
	}
	return nil
}

func selectEnd(c *call) error {
	s, _ := c.state.(*selectState)
	if !c.piped {
		if err := selectEach(c, c.given["inputobject"]); err != nil {
			return err
		}
	}
	kept := s.kept
	if n, err := c.integerOf("skiplast", 0); err != nil {
		return err
	} else if n > 0 {
		kept = kept[:max(len(kept)-n, 0)]
	}
	if c.has("last") {
		n, err := c.integerOf("last", 0)
		if err != nil {
			return err
		}
		kept = kept[:max(len(kept)-s.skip, 0)]
		kept = kept[max(len(kept)-n, 0):]
	} else {
		kept = kept[min(s.skip, len(kept)):]
	}
	if s.first >= 0 && !c.has("last") {
		kept = kept[:min(s.first, len(kept))]
	}
	if c.has("index") {
		var chosen []any
		for _, v := range list(c.given["index"]) {
			if i, err := c.integer(v); err != nil {
				return err
			} else if i >= 0 && int(i) < len(kept) {
				chosen = append(chosen, kept[i])
			}
		}
		kept = chosen
	}
	for _, v := range kept {
		if err := c.selected(v); err != nil {
			return err
		}
	}
	for _, v := range c.distinct(s.chosen) {
		if err := s.out(v); err != nil {
			return err
		}
	}
	return nil
}

// distinct returns the values without duplicates, compared by the selected properties.
func (c *call) distinct(values []any) []any {
	seen := map[string]bool{}
	var out []any
	for _, v := range values {
		if v == nil {
			continue
		}
		key := kindOf(v) + " " + text(v)
		if isCustom(v) && !c.has("property") {
			key = "" // objects that a script made compare by their own ToString, which is empty
		} else if o, ok := v.(*object); ok {
			key = objectText(&object{kind: customKind, fields: o.fields}, 0)
		}
		if !seen[key] {
			out = append(out, v)
		}
		seen[key] = true
	}
	return out
}

// selected emits the selected properties of a value, the value of one of them, or the value itself.
func (c *call) selected(v any) error {
	switch {
	case c.has("expandproperty"):
		name := c.textOf("expandproperty")
		got, err := c.property(v, name)
		if err != nil {
			return err
		}
		_, isFailure := v.(*failure)
		_, isException := v.(exception)
		if o, isObject := v.(*object); got == nil && !(isObject && o.closed && !lacksMember(o.kind, name)) && !isFailure && !isException ||
			isScalar(v) && !isFailure && !isException && !slices.ContainsFunc(propertyNames(v),
				func(n string) bool { return strings.EqualFold(n, name) }) {
			has := false
			if isObject {
				_, has = o.get(name)
			}
			if h, ok := v.(*hashtable); ok {
				_, has = h.get(name)
			}
			if !has {
				return c.fault(broken("System.ArgumentException", "ExpandPropertyNotFound", "Property \"%s\" cannot be found.", name))
			}
		}
		if !c.has("property") {
			return each(got, c.emit)
		}
		more, err := c.pick(v, list(c.given["property"]))
		if err != nil {
			return err
		}
		return each(got, func(item any) error {
			if o, ok := item.(*object); ok && !o.closed { // the object gets the properties itself
				for _, f := range more.fields {
					o.set(f.name, f.value)
				}
				return c.emit(o)
			}
			return c.emit(withMembers(item, more))
		})
	case c.has("property") || c.has("excludeproperty"):
		names := list(c.given["property"])
		if !c.has("property") {
			names = []any{"*"}
		}
		o, err := c.pick(v, names)
		if err != nil {
			return err
		}
		o.fields = slices.DeleteFunc(o.fields, func(f field) bool { return likeAny(f.name, c.textsOf("excludeproperty")) })
		o.named = "Selected." + firstTypeName(v)
		return c.emit(o)
	}
	return c.emit(v)
}

// sortKey is a value to sort by.
type sortKey struct {
	value      any
	descending bool
}

// sortKeys returns the keys that -Property names.
func (c *call) sortKeys() []sortKey {
	var out []sortKey
	for _, p := range list(c.given["property"]) {
		k := sortKey{value: p, descending: c.is("descending")}
		if h, ok := p.(*hashtable); ok {
			for name, v := range h.all() {
				switch low := strings.ToLower(text(name)); {
				case strings.HasPrefix("expression", low):
					k.value = v
				case strings.HasPrefix("descending", low):
					k.descending = truth(v)
				case strings.HasPrefix("ascending", low):
					k.descending = !truth(v)
				}
			}
		}
		out = append(out, k)
	}
	return out
}

func sortObject(c *call) error {
	values := slices.DeleteFunc(slices.Clone(c.items()), func(v any) bool { return v == nil })
	if slices.ContainsFunc(values, func(v any) bool { o, ok := v.(*object); return ok && isFormatted(o) }) {
		return lacking("Sort-Object of what a Format cmdlet made")
	}
	keys := c.sortKeys()
	computed := make([][]any, len(values))
	at := make([]int, len(values))
	for i, v := range values {
		at[i] = i
		if len(keys) == 0 {
			computed[i] = []any{v}
			continue
		}
		for _, k := range keys {
			_, key, err := c.calculated(k.value, v)
			if err != nil {
				return err
			}
			computed[i] = append(computed[i], key)
		}
	}
	var failure error
	compare := func(a, b int) int {
		for i := range computed[a] {
			x, y := computed[a][i], computed[b][i]
			n := c.rank(x, y, &failure)
			if descending := c.is("descending") && len(keys) == 0 || len(keys) > 0 && keys[i].descending; descending {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	}
	slices.SortStableFunc(at, compare)
	if failure != nil {
		return failure
	}
	for n, i := range at {
		if c.is("unique") && n > 0 && compare(at[n-1], i) == 0 {
			continue
		}
		if err := c.emit(values[i]); err != nil {
			return err
		}
	}
	return nil
}

// rank compares any two values.
func (c *call) rank(x, y any, failure *error) int {
	_, numX := float(x)
	_, numY := float(y)
	_, textX := x.(string)
	_, textY := y.(string)
	if textX || textY || numX != numY {
		if _, isTime := x.(time.Time); !isTime {
			return dotnet.Compare(text(x), text(y), !c.is("casesensitive"))
		}
	}
	n, err := c.order(x, y, false)
	if failed(err) != nil { // values without an order are compared by their text, which is empty for an object that a script made
		own := func(v any) string {
			if isCustom(v) {
				return ""
			}
			return text(v)
		}
		return dotnet.Compare(own(x), own(y), !c.is("casesensitive"))
	} else if err != nil {
		*failure = err
	}
	return n
}
