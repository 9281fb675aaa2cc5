package powershell

import (
	endian "encoding/binary"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"casement.dev/casement/internal/dotnet"
)

// reference is a [ref]: a reference to a variable, or a value of its own.
type reference struct {
	cell  *cell
	value any
}

func (p *reference) get() any {
	if p.cell != nil {
		return p.cell.value
	}
	return p.value
}

func (p *reference) put(v any) {
	if p.cell != nil {
		p.cell.value = v
	}
	p.value = v
}

// makeReference returns a [ref] to the variable or value of a node.
func (r *run) makeReference(n node) (any, error) {
	v, ok := n.(variable)
	if !ok {
		value, err := r.eval(n)
		return &reference{value: value}, err
	}
	c := r.find(v.name)
	if s, rest, drive := r.scopeOf(v.name); s != nil && drive == "" {
		c = s.vars[rest]
	}
	if c == nil {
		return nil, broken("RuntimeException", "NonExistingVariableReference", "[ref] cannot be applied to a variable that does not exist.")
	}
	return &reference{cell: c}, nil
}

// consoleWrite returns a method that writes to a stream of the host. If to is nil, it writes to the script's output.
func consoleWrite(to io.Writer, end string) staticMethod {
	return func(r *run, a []any) (any, error) {
		s := at(a, 0)
		if len(a) > 1 {
			v, err := r.composite(s, a[1:])
			if err != nil {
				return nil, err
			}
			s = text(v)
		}
		if to == nil {
			to = r.session.Stdout
		}
		r.print(to, s+end)
		return void{}, r.ctx.Err()
	}
}

// enumValues returns the results of a function for the members of an enumeration, in the order of their values.
func enumValues(a []any, of func(enumMember) any) (any, error) {
	t, _ := firstOf(a).(typeValue)
	members, ok := enumeration(t.name)
	if !ok {
		return nil, lacking("the members of [%s]", t.name)
	}
	slices.SortStableFunc(members, func(x, y enumMember) int { return int(x.n - y.n) })
	out := newArray()
	for _, m := range members {
		out.items = append(out.items, of(m))
	}
	return out, nil
}

// numberBytes is BitConverter.GetBytes for whole numbers.
func numberBytes(v any) (any, error) {
	n, kind, ok := wholeOf(v)
	if !ok {
		return nil, lacking("[BitConverter]::GetBytes() of %s", kindOf(v))
	}
	size := map[string]int{"Int64": 8, "UInt64": 8, "Int16": 2, "UInt16": 2}[kind]
	if size == 0 {
		size = 4
	}
	out := make([]byte, 8)
	endian.LittleEndian.PutUint64(out, uint64(n))
	return out[:size], nil
}

// bytesNumber returns a method that reads a number of size bytes, the lowest byte first.
func bytesNumber(kind string, size int) staticMethod {
	return func(r *run, a []any) (any, error) {
		b, err := bytesOf(firstOf(a))
		if err != nil {
			return nil, err
		}
		i, err := r.number(a, 1)
		if err != nil {
			return nil, err
		}
		if i < 0 || i+size > len(b) {
			return nil, thrown("ArgumentException", "Destination array is not long enough to copy all the items in the collection.")
		}
		whole := make([]byte, 8)
		copy(whole, b[i:i+size])
		n := int64(endian.LittleEndian.Uint64(whole))
		if !strings.HasPrefix(kind, "u") { // the highest bit is the sign
			n = n << (64 - 8*size) >> (64 - 8*size)
		}
		return r.convert(kind, n)
	}
}

// sortItems sorts a list in place, as Array.Sort does.
func (r *run) sortItems(l *array) error {
	var failure error
	slices.SortStableFunc(l.items, func(x, y any) int {
		if failure != nil {
			return 0
		}
		if s, ok := x.(string); ok {
			return dotnet.Compare(s, text(y), false)
		}
		n, err := r.order(x, y, true)
		if err != nil {
			failure = thrown("InvalidOperationException", "Failed to compare two elements in the array.")
		}
		return n
	})
	return failure
}

const kindHash = "System.Security.Cryptography.HashAlgorithm"

func hashObject(name string) staticMethod {
	return func(*run, []any) (any, error) { return system(kindHash, nil, "name", name), nil }
}

// hashCall runs a method of a hash algorithm.
func hashCall(r *run, o *object, name, low string, args []any) (any, error) {
	algorithm, _ := o.get("name")
	switch low {
	case "computehash":
		b, err := bytesOf(firstOf(args))
		if stream, ok := firstOf(args).(*object); ok && stream.kind == kindStream {
			b, err = bytesOf(stream.read("bytes"))
		}
		if err != nil {
			return nil, err
		}
		of, ok := hashes[text(algorithm)]
		if !ok {
			return nil, lacking("the hash %s", text(algorithm))
		}
		h := of()
		h.Write(b)
		return h.Sum(nil), nil
	case "dispose", "clear", "initialize":
		return void{}, nil
	}
	return nil, r.noMethod(o, name)
}

const kindTextInfo = "System.Globalization.TextInfo"

// textInfoCall runs a method of a culture's TextInfo. ToTitleCase keeps words in capitals.
func (r *run) textInfoCall(o *object, name, low string, args []any) (any, error) {
	switch s := at(args, 0); low {
	case "toupper":
		return strings.ToUpper(s), nil
	case "tolower":
		return strings.ToLower(s), nil
	case "totitlecase":
		runes, from := []rune(s), 0
		for i := 0; i <= len(runes); i++ {
			if i < len(runes) && (unicode.IsLetter(runes[i]) || runes[i] == '\'') {
				continue
			}
			word := string(runes[from:i])
			if word != strings.ToUpper(word) || len(word) == 1 {
				for k := from; k < i; k++ {
					runes[k] = unicode.ToLower(runes[k])
				}
				runes[from] = unicode.ToUpper(runes[from])
			}
			from = i + 1
		}
		return string(runes), r.take(len(s))
	}
	return nil, r.noMethod(o, name)
}

const kindCulture = "System.Globalization.CultureInfo"

func cultureObject(name, display string) staticMethod {
	return func(*run, []any) (any, error) {
		return tabled(kindCulture, 3, "LCID", map[bool]int64{true: 127, false: 1033}[name == ""], "Name", name, "DisplayName", display,
			"TextInfo", system(kindTextInfo, nil, "CultureName", name, "text", "TextInfo - "+name), "TwoLetterISOLanguageName",
			map[bool]string{true: "iv", false: "en"}[name == ""], "text", name), nil
	}
}

// cultureNamed returns the image's culture or the invariant culture; others are refused by name.
func cultureNamed(name string) (any, error) {
	if name != "" && !strings.EqualFold(name, "en-US") {
		return nil, lacking("the culture %s", name)
	}
	return cultureObject(map[bool]string{true: "", false: "en-US"}[name == ""], "English (United States)")(nil, nil)
}

func offsetObject(t time.Time) *object {
	return tabled("System.DateTimeOffset", 6, "DateTime", t, "UtcDateTime", t.In(utcZone), "LocalDateTime", t, "Date",
		t.Truncate(24*time.Hour), "Day", int64(t.Day()), "Hour", int64(t.Hour()), "Year", int64(t.Year()), "Month", int64(t.Month()),
		"Minute", int64(t.Minute()), "Second", int64(t.Second()), "Offset", time.Duration(0), "Ticks", ticks(t), "text", dated(t, ""))
}

// offsetCall runs a method of a DateTimeOffset.
func (r *run) offsetCall(o *object, name, low string, args []any) (any, error) {
	t, _ := o.read("DateTime").(time.Time)
	switch low {
	case "tounixtimeseconds":
		return sizedOf("Int64", t.Unix()), nil
	case "tounixtimemilliseconds":
		return sizedOf("Int64", t.UnixMilli()), nil
	case "touniversaltime", "tolocaltime":
		return o, nil
	}
	return nil, r.noMethod(o, name)
}

// parseExact is DateTime.ParseExact, with one or several formats.
func parseExact(r *run, args []any) (any, error) {
	err := error(dotnet.ErrDate)
	for _, form := range list(firstOf(args[min(1, len(args)):])) {
		t, failed := parsed(cultureOf(args, 2).ParseExact(at(args, 0), text(form), r.now()))
		if failed == nil {
			return t, nil
		}
		err = failed
	}
	return nil, formatException(err)
}

// makeMore returns a new collection, an array of a size, or an object of a few other types; ok is false for other types.
func (r *run) makeMore(kind string, args []any) (v any, ok bool, err error) {
	if item, isArray := strings.CutSuffix(kind, "[]"); isArray {
		n, err := r.number(args, 0)
		if err != nil || n < 0 || n > maxItems {
			return nil, true, lacking("an array of that size")
		}
		if err := r.take(16 * n); err != nil {
			return nil, true, err
		}
		if item == "byte" {
			return make([]byte, n), true, nil
		}
		a := newArray(make([]any, n)...)
		a.kind = typeName(item) + "[]"
		zeroed := zero(parameter{kinds: []string{item}})
		if item == "string" {
			zeroed = nil
		}
		for i := range a.items {
			a.items[i] = zeroed
		}
		return a, true, nil
	}
	switch {
	case strings.HasPrefix(kind, "collections.generic.dictionary["), strings.HasPrefix(kind, "collections.generic.sorteddictionary["):
		h := newHash()
		h.kind = "System.Collections.Generic.Dictionary`2"
		_, values, _ := strings.Cut(strings.TrimSuffix(kind, "]"), ",")
		h.item = strings.TrimSpace(values)
		h.exact = !strings.Contains(strings.ToLower(at(args, 0)), "ignorecase")
		if strings.Contains(kind, "sorted") {
			h.kind, h.sorted = "System.Collections.Generic.SortedDictionary`2", true
		}
		if from, isHash := firstOf(args).(*hashtable); isHash {
			for k, value := range from.all() {
				if err := r.putKey(h, k, value); err != nil {
					return nil, true, err
				}
			}
		}
		return h, true, nil
	case strings.HasPrefix(kind, "collections.generic.hashset["), strings.HasPrefix(kind, "collections.generic.queue["),
		strings.HasPrefix(kind, "collections.generic.stack["), strings.HasPrefix(kind, "collections.generic.list["),
		kind == "collections.queue", kind == "collections.stack", kind == "collections.arraylist":
		fold := false
		args = slices.DeleteFunc(slices.Clone(args), func(v any) bool {
			compares := kindOf(v) == "System.StringComparer"
			fold = fold || compares && strings.Contains(strings.ToLower(text(v)), "ignorecase")
			return compares
		})
		if _, _, isSize := wholeOf(firstOf(args)); isSize {
			args = nil
		}
		v, err := r.convert(kind, newArray())
		if made, ok := v.(*array); ok && err == nil {
			made.fold = fold
			for _, item := range list(firstOf(args)) {
				if _, err := r.addTo(made, item); err != nil {
					return nil, true, err
				}
			}
		}
		return v, true, err
	case kind == "collections.sortedlist":
		h := newHash()
		h.kind, h.sorted, h.exact = "System.Collections.SortedList", true, true
		return h, true, nil
	case kind == "io.streamwriter":
		if len(args) > 2 || len(args) == 2 && args[1] != true && args[1] != false {
			return nil, true, lacking("a StreamWriter with these arguments")
		}
		to, data := r.processPath(args, 0), ""
		if len(args) == 2 && truth(args[1]) {
			old, _ := r.m.Root.ReadFile(to)
			data = string(old)
		}
		err := r.m.Root.WriteFile(to, []byte(data), 0o644)
		return system(kindWriter, nil, "to", to, "text", data, "AutoFlush", false), true, r.fileError(err, to)
	case kind == "io.stringreader":
		return system(kindReader, nil, "bytes", []byte(at(args, 0))), true, nil
	case kind == "globalization.cultureinfo":
		v, err := cultureNamed(at(args, 0))
		return v, true, err
	case kind == "management.automation.errorrecord":
		e, isException := firstOf(args).(exception)
		if !isException || len(args) < 3 {
			return nil, true, lacking("an ErrorRecord of these values")
		}
		m, err := toEnumeration("management.automation.errorcategory", args[2])
		f := &failure{exception: e, id: at(args, 1), category: text(m)}
		if len(args) > 3 {
			f.target = args[3]
		}
		return f, true, err
	case kind == "datetimeoffset":
		if len(args) > 1 {
			return nil, true, lacking("a DateTimeOffset of these values")
		}
		t, err := toTime(firstOf(args))
		return offsetObject(t), true, err
	}
	return nil, false, nil
}

// entries returns the entries of a folder, for methods such as Directory.GetFiles. The arguments are the
// folder, a pattern and a SearchOption.
func (r *run) entries(a []any, files, folders bool) (any, error) {
	pattern, deep := "*", false
	if len(a) > 1 {
		pattern = at(a, 1)
	}
	deep = strings.EqualFold(at(a, 2), "AllDirectories")
	out := textArray(nil)
	root := r.processPath(a, 0)
	if !r.m.Root.IsDir(root) {
		return nil, thrown("IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", root)
	}
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		list, err := r.m.Root.ReadDir(dir)
		if err != nil {
			return r.fileError(err, dir)
		}
		for _, e := range list {
			if err := r.step(); err != nil {
				return err
			}
			yes, err := like(e.Name(), pattern, false)
			if err != nil {
				return err
			}
			inner := combine(dir, e.Name())
			if yes && (e.IsDir() && folders || !e.IsDir() && files) {
				out.items = append(out.items, inner)
			}
			if e.IsDir() && deep && depth < maxDepth {
				if err := walk(inner, depth+1); err != nil {
					return err
				}
			}
		}
		return r.take(64 * len(list))
	}
	return out, walk(root, 0)
}
