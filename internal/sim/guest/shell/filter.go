package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// filter runs one segment of a pipeline over what comes to it. A format gives text
// in the place of objects.
func (ps *powershell) filter(ctx context.Context, segment string, list []object) (out []object, text string, formatted bool) {
	word := firstFilterWord(segment)
	raw := strings.TrimSpace(segment[len(word):])
	args := splitPowerShell(ps.expand(raw))
	switch filterName(segment) {
	case "where-object":
		clauses, _ := parseWhere(args, raw) // isFilter has read it
		for _, o := range list {
			if where(o, clauses) {
				out = append(out, o)
			}
		}
		return out, "", false
	case "foreach-object":
		name := raw
		if m := eachProperty.FindStringSubmatch(raw); m != nil {
			name = m[1]
		}
		return values(list, name), "", false
	case "select-object":
		return selectObjects(args, list), "", false
	case "sort-object":
		by, descending := "", false
		for _, a := range args {
			switch {
			case strings.HasPrefix(strings.ToLower(a), "-desc"):
				descending = true
			case !strings.HasPrefix(a, "-"):
				by = a
			}
		}
		list = slices.Clone(list)
		sortObjects(list, by, descending)
		return list, "", false
	case "measure-object":
		return []object{{kind: "measure", fields: []property{{"Count", len(list)}}}}, "", false
	case "group-object":
		return groups(list, operand(args)), "", false
	case "format-table":
		return nil, asTable(list, orColumns(properties(args), list), !slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "-HideTableHeaders") })), true
	case "format-list":
		return nil, asList(list, orColumns(expandStar(properties(args), list), list)), true
	case "convertto-json":
		return nil, asJSON(list, slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "-Compress") })) + "\r\n", true
	case "select-string":
		return selectString(args, list), "", false
	case "out-null":
		return nil, "", true
	case "out-string", "out-host", "out-default":
		return nil, render(list), true
	case "out-file", "set-content", "add-content", "tee-object":
		return ps.save(filterName(segment), args, list)
	}
	var outText bytes.Buffer
	inner := &powershell{shell: ps.shell, o: ps.o}
	inner.o.Stdin, inner.o.Stdout = strings.NewReader(render(list)), &outText
	inner.native(ctx, segment)
	ps.code = inner.code
	return texts(outText.String()), "", false
}

// properties are the names of -Property or of a list, with commas or without.
func properties(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := strings.ToLower(args[i])
		switch {
		case a == "-property" || a == "-autosize" || a == "-wrap" || a == "-hidetableheaders":
		case a == "-groupby":
			i++
		case strings.HasPrefix(a, "-"):
		default:
			for name := range strings.SplitSeq(args[i], ",") {
				if name = strings.TrimSpace(name); name != "" {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

func expandStar(names []string, list []object) []string {
	if len(names) == 1 && names[0] == "*" && len(list) > 0 {
		names = nil
		for _, f := range list[0].fields {
			names = append(names, f.name)
		}
	}
	return names
}

func orColumns(names []string, list []object) []string {
	if len(names) == 0 && len(list) > 0 {
		return defaultColumns(list[0])
	}
	return names
}

func selectObjects(args []string, list []object) []object {
	var names []string
	first, last, skip, expand := -1, -1, 0, ""
	for i := 0; i < len(args); i++ {
		n := 0
		if i+1 < len(args) {
			n, _ = strconv.Atoi(args[i+1])
		}
		switch a := strings.ToLower(args[i]); a {
		case "-first":
			first, i = n, i+1
		case "-last":
			last, i = n, i+1
		case "-skip":
			skip, i = n, i+1
		case "-expandproperty", "-expand":
			if i+1 < len(args) {
				expand, i = args[i+1], i+1
			}
		case "-unique":
			seen := map[string]bool{}
			list = slices.DeleteFunc(slices.Clone(list), func(o object) bool {
				was := seen[o.String()]
				seen[o.String()] = true
				return was
			})
		default:
			names = append(names, properties(args[i:i+1])...)
		}
	}
	list = list[min(max(skip, 0), len(list)):]
	if first >= 0 {
		list = list[:min(first, len(list))]
	}
	if last >= 0 {
		list = list[max(len(list)-last, 0):]
	}
	switch {
	case expand != "":
		return values(list, expand)
	case len(names) == 0:
		return list
	}
	var out []object
	for _, o := range list {
		out = append(out, o.pick(names))
	}
	return out
}

func groups(list []object, by []string) []object {
	name := ""
	if len(by) > 0 {
		name = by[0]
	}
	count := map[string]int{}
	var order []string
	for _, o := range list {
		v, _ := o.get(name)
		if count[show(v)]++; count[show(v)] == 1 {
			order = append(order, show(v))
		}
	}
	var out []object
	for _, key := range order {
		out = append(out, object{kind: "group", fields: []property{{"Count", count[key]}, {"Name", key}}})
	}
	return out
}

func selectString(args []string, list []object) []object {
	pattern, simple, not := "", false, false
	for i := 0; i < len(args); i++ {
		switch a := strings.ToLower(args[i]); {
		case a == "-simplematch":
			simple = true
		case a == "-notmatch":
			not = true
		case a == "-pattern" || strings.HasPrefix(a, "-"):
		case pattern == "":
			pattern = args[i]
		}
	}
	if simple {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(texts(strings.ReplaceAll(render(list), "\r", "")), func(o object) bool { return re.MatchString(o.text) == not })
}

// save writes to a file of the guest; Tee-Object passes on too.
func (ps *powershell) save(name string, args []string, list []object) (out []object, text string, formatted bool) {
	files := operand(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.EqualFold(a, "-FilePath") || strings.EqualFold(a, "-Path") }))
	if len(files) == 0 {
		fmt.Fprintf(ps.o.Stderr, "%s : a path is needed\r\n", name)
		ps.code = 1
		return nil, "", true
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if name == "add-content" || slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "-Append") }) {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := ps.shell.guest.Root.OpenFile(ps.path(files[0]), flag, 0o644)
	if err == nil {
		_, err = f.WriteString(render(list))
		f.Close()
	}
	if err != nil {
		fmt.Fprintf(ps.o.Stderr, "%s : %s\r\n", name, windowsReason(err))
		ps.code = 1
	}
	if name == "tee-object" {
		return list, "", false
	}
	return nil, "", true
}
