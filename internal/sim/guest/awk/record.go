package awk

import (
	"fmt"
	"strings"
)

// records runs the rules on each record of the inputs. It reports whether exit has ended the program.
func (r *run) records() bool {
	for {
		rec, ok := r.main()
		if !ok {
			return false
		}
		r.setRecord(rec)
		if r.rulesOn() == exits {
			return true
		}
	}
}

// mainRecords returns a function that returns the records of all inputs, one after the other.
func (r *run) mainRecords(inputs func() (Input, bool)) func() (string, bool) {
	var next func() (string, bool)
	return func() (string, bool) {
		for {
			if next == nil {
				in, ok := inputs()
				if !ok {
					return "", false
				}
				if in.Failed {
					panic(unopened{})
				}
				if in.Assign != "" {
					r.vars[in.Assign] = inputOf(in.Text)
					continue
				}
				r.vars["FILENAME"], r.vars["FNR"] = textOf(in.Name), numberOf(0)
				next = r.recordsOf(in)
			}
			rec, ok := next()
			if !ok {
				next = nil
				continue
			}
			r.meter.Step()
			r.checkText(len(rec))
			r.vars["NR"], r.vars["FNR"] = numberOf(r.number(r.vars["NR"])+1), numberOf(r.number(r.vars["FNR"])+1)
			return rec, true
		}
	}
}

// recordsOf returns a function that returns the records of a file, separated by the current value of RS.
func (r *run) recordsOf(in Input) func() (string, bool) {
	rest, read := "", false
	return func() (string, bool) {
		sep := r.text(r.vars["RS"])
		switch {
		case len(sep) == 0:
			return nextParagraph(in)
		case len(sep) == 1 && !read:
			rec, ok := in.Until(sep[0])
			return strings.TrimSuffix(rec, sep), ok
		}
		if !read { // the rest of the input is read whole if a pattern separates its records
			var b strings.Builder
			for line, ok := in.Until('\n'); ok; line, ok = in.Until('\n') {
				b.WriteString(line)
				r.checkText(b.Len())
			}
			rest, read = b.String(), true
		}
		if rest == "" {
			return "", false
		}
		at := r.compile(sep).Find(r.meter, rest)
		if at == nil || at[1] == 0 {
			at = []int{len(rest), len(rest)}
		}
		rec := rest[:at[0]]
		rest = rest[at[1]:]
		return rec, true
	}
}

// nextParagraph returns the next lines up to an empty line.
func nextParagraph(in Input) (string, bool) {
	var b strings.Builder
	for {
		line, ok := in.Until('\n')
		if b.Len() > 0 && (!ok || line == "\n") {
			return strings.TrimSuffix(b.String(), "\n"), true
		}
		if !ok {
			return "", false
		}
		if line != "\n" {
			b.WriteString(line)
		}
	}
}

func (r *run) rulesOn() flow {
	for _, rl := range r.rules {
		if !r.selects(rl) {
			continue
		}
		if rl.body == nil {
			r.print(r.record + r.text(r.vars["ORS"]))
			continue
		}
		switch f := r.statement(rl.body); f {
		case nexts:
			return nexts
		case exits:
			return exits
		}
	}
	return goesOn
}

func (r *run) selects(rl *rule) bool {
	switch {
	case rl.from == nil:
		return true
	case rl.to == nil:
		return r.isTrue(r.eval(rl.from))
	case !rl.active && !r.isTrue(r.eval(rl.from)):
		return false
	}
	rl.active = !r.isTrue(r.eval(rl.to))
	return true
}

func (r *run) setRecord(rec string) {
	r.record = rec
	r.fields = r.splitFields(rec, r.text(r.vars["FS"]))
	r.vars["NF"] = numberOf(float64(len(r.fields)))
}

func (r *run) splitFields(s, sep string) []string {
	r.checkText(len(s))
	switch {
	case s == "":
		return nil
	case sep == " ":
		return strings.Fields(s)
	case len(sep) == 1 && sep != "|" && sep != "\\" || sep == "\t":
		return strings.Split(s, sep)
	case sep == "|":
		return strings.Split(s, sep)
	case sep == "":
		return strings.Split(s, "")
	}
	return r.compile(sep).Split(r.meter, s)
}

// rebuild makes the record from its fields.
func (r *run) rebuild() {
	between := r.text(r.vars["OFS"])
	size := len(between) * len(r.fields)
	for _, f := range r.fields {
		size += len(f)
	}
	r.checkText(size)
	r.record = strings.Join(r.fields, between)
	r.vars["NF"] = numberOf(float64(len(r.fields)))
}

func (r *run) setField(i int, s string) {
	if i < 0 || i > maxField {
		panic(problem{fmt.Errorf("attempt to access field %d", i)})
	}
	if i == 0 {
		r.setRecord(s)
		return
	}
	for len(r.fields) < i {
		r.fields = append(r.fields, "")
	}
	r.fields[i-1] = s
	r.rebuild()
}
