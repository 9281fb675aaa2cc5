package shell

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// percent expands %NAME%, %NAME:a=b%, %NAME:~1,2%, %1, %~dp0 and %%. An unset variable expands to nothing in a script
// and stays as it is on a command line.
func (b *batch) percent(line string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] != '%' {
			out.WriteByte(line[i])
			continue
		}
		rest := line[i+1:]
		if !b.typed {
			if strings.HasPrefix(rest, "%") {
				out.WriteByte('%')
				i++
				continue
			}
			if v, n, ok := b.argument(rest); ok {
				out.WriteString(v)
				i += n
				continue
			}
		}
		end := strings.IndexByte(rest, '%')
		if end < 0 || end == 0 {
			if b.typed {
				out.WriteByte('%')
			}
			continue
		}
		v, set, err := b.variableOf(rest[:end])
		if err != nil {
			return "", err
		}
		if !set && b.typed {
			out.WriteByte('%') // the text after it may be a variable of for
			continue
		}
		out.WriteString(v)
		i += end + 1
		if out.Len() > maxScript/8 {
			return "", saying("The input line is too long.")
		}
	}
	return out.String(), nil
}

// argument expands the text after a percent sign if it is an argument: 1, *, ~1, ~dp0. size is the length of that
// text.
func (b *batch) argument(rest string) (value string, size int, ok bool) {
	switch {
	case rest == "":
		return "", 0, false
	case rest[0] == '*':
		return cmp.Or(b.tail, strings.Join(b.o.Args, " ")), 1, true
	case rest[0] >= '0' && rest[0] <= '9':
		return b.arg(int(rest[0] - '0')), 1, true
	case rest[0] != '~':
		return "", 0, false
	}
	for i := 1; i < len(rest); i++ {
		if c := rest[i]; c >= '0' && c <= '9' {
			if c == '0' && i > 1 { // the batch file, also in a subroutine
				return b.modified(b.o.Name, rest[1:i]), i + 1, true
			}
			return b.modified(b.arg(int(c-'0')), rest[1:i]), i + 1, true
		} else if strings.IndexByte("fdpnxsatzFDPNXSATZ", c) < 0 {
			return "", 0, false
		}
	}
	return "", 0, false
}

func (b *batch) arg(n int) string {
	if n == 0 {
		return cmp.Or(b.called, b.o.Name)
	}
	if n <= len(b.o.Args) {
		return b.o.Args[n-1]
	}
	return ""
}

// modified returns a value with the modifiers of %~: without one, it strips quotes; f is the full path, d p n x are
// its parts, and z is a file's size.
func (b *batch) modified(v, modifiers string) string {
	v = strings.TrimSuffix(strings.TrimPrefix(v, `"`), `"`)
	modifiers = strings.ToLower(modifiers)
	if modifiers == "" {
		return v
	}
	if v == "" {
		return ""
	}
	full := b.shell.guest.Root.Abs(b.cmd.dir, v)
	if strings.HasSuffix(v, `\`) {
		full = strings.TrimSuffix(full, `\`) + `\`
	}
	i := strings.LastIndexByte(full, '\\') + 1
	name, extension := full[i:], ""
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		name, extension = name[:dot], name[dot:]
	}
	var shown []string // the attributes, as dir shows them
	has := func(letter string) bool { return strings.Contains(modifiers, letter) }
	if info, err := b.shell.guest.Root.Stat(full); err == nil {
		if has("a") {
			letter := func(is bool, letter string) string { return map[bool]string{true: letter, false: "-"}[is] }
			shown = append(shown, letter(info.IsDir(), "d")+letter(info.Mode()&0o200 == 0, "r")+letter(!info.IsDir(), "a")+"------")
		}
		if has("t") {
			shown = append(shown, info.ModTime().UTC().Format("01/02/2006 03:04 PM"))
		}
		if has("z") {
			shown = append(shown, strconv.FormatInt(info.Size(), 10))
		}
	}
	path := ""
	for _, part := range []struct{ letter, text string }{{"d", full[:2]}, {"p", full[2:i]}, {"n", name}, {"x", extension}} {
		if has(part.letter) {
			path += part.text
		}
	}
	if has("f") || has("s") && path == "" { // there are no short names
		path = full
	}
	if path != "" {
		shown = append(shown, path)
	}
	return strings.Join(shown, " ")
}

// variableOf expands NAME with an optional suffix: :a=b replaces text, :~1,2 takes a part. The second result is false
// for an unset variable.
func (b *batch) variableOf(spec string) (string, bool, error) {
	name, change, changed := strings.Cut(spec, ":")
	v, set := b.variable(name)
	if !changed || name == "" {
		if strings.Contains(spec, ":") {
			v, set = b.variable(spec)
		}
		return v, set, nil
	}
	if !set {
		if b.typed {
			return "", false, nil
		}
		return change, true, nil // cmd.exe removes only the name
	}
	if cut, ok := strings.CutPrefix(change, "~"); ok {
		out, err := substring(v, cut)
		return out, true, err
	}
	old, with, ok := strings.Cut(change, "=")
	if !ok || old == "" {
		return "", true, fmt.Errorf("casement does not simulate %%%s%%", spec)
	}
	if star, ok := strings.CutPrefix(old, "*"); ok && star != "" {
		if i := strings.Index(strings.ToLower(v), strings.ToLower(star)); i >= 0 {
			return with + v[i+len(star):], true, nil
		}
		return v, true, nil
	}
	return replaceFold(v, old, with), true, nil
}

func replaceFold(s, old, with string) string {
	var out strings.Builder
	low, lowOld := strings.ToLower(s), strings.ToLower(old)
	if len(low) != len(s) {
		return strings.ReplaceAll(s, old, with)
	}
	for {
		i := strings.Index(low, lowOld)
		if i < 0 || out.Len() > maxScript/8 {
			return out.String() + s
		}
		out.WriteString(s[:i] + with)
		s, low = s[i+len(old):], low[i+len(old):]
	}
}

// substring returns the part START[,LENGTH] of %NAME:~START,LENGTH%; negative numbers count from the end.
func substring(v, spec string) (string, error) {
	from, size, hasSize := strings.Cut(spec, ",")
	start, err := strconv.Atoi(strings.TrimSpace(from))
	if err != nil && strings.TrimSpace(from) != "" {
		return "", fmt.Errorf("casement does not simulate %%...:~%s%%", spec)
	}
	if start < 0 {
		start += len(v)
	}
	start = min(max(start, 0), len(v))
	end := len(v)
	if hasSize {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil {
			return "", fmt.Errorf("casement does not simulate %%...:~%s%%", spec)
		}
		if n < 0 {
			end += n
		} else {
			end = start + min(n, len(v))
		}
	}
	end = min(max(end, start), len(v))
	return v[start:end], nil
}

// variable returns a variable, also one that cmd.exe computes; the second result is false if it is not set.
func (b *batch) variable(name string) (string, bool) {
	for k, v := range b.cmd.env {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	now := b.shell.guest.Clock.Now().UTC()
	switch strings.ToUpper(name) {
	case "ERRORLEVEL":
		return strconv.Itoa(b.cmd.level), true
	case "CD":
		return b.cmd.dir, true
	case "DATE":
		return now.Format("Mon 01/02/2006"), true
	case "TIME":
		return fmt.Sprintf("%2d", now.Hour()) + now.Format(":04:05.00"), true
	case "RANDOM":
		return strconv.Itoa(now.Nanosecond() / 100 % 32768), true
	case "CMDEXTVERSION":
		return "2", true
	}
	return "", false
}

// late expands, when a command runs, the variables of for and, if delayed expansion is enabled, !NAME!.
func (b *batch) late(s string) (string, error) {
	if len(b.loops) > 0 && strings.Contains(s, "%") {
		s = b.loopVariables(s)
	}
	if !b.cmd.delayed || !strings.Contains(s, "!") {
		return s, nil
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '^' && i+1 < len(s) { // a caret quotes once more in a text with a !
			i++
			out.WriteByte(s[i])
			continue
		}
		if s[i] != '!' {
			out.WriteByte(s[i])
			continue
		}
		end := strings.IndexByte(s[i+1:], '!')
		if end < 0 {
			continue
		}
		v, _, err := b.variableOf(s[i+1 : i+1+end])
		if err != nil {
			return "", err
		}
		if _, set := b.variable(strings.SplitN(s[i+1:i+1+end], ":", 2)[0]); !set {
			v = ""
		}
		out.WriteString(v)
		i += end + 1
		if out.Len() > maxScript/8 {
			return "", saying("The input line is too long.")
		}
	}
	return out.String(), nil
}

// loopVariables expands the variables of the running for commands.
func (b *batch) loopVariables(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		if v, ok := b.loops[s[i+1]]; ok {
			out.WriteString(v)
			i++
			continue
		}
		if s[i+1] != '~' {
			out.WriteByte('%')
			continue
		}
		// Take the longest run of modifiers before a variable's letter.
		j := i + 2
		for j < len(s) && strings.IndexByte("fdpnxsatzFDPNXSATZ", s[j]) >= 0 {
			j++
		}
		found := false
		for ; j >= i+2 && !found; j-- {
			if j < len(s) {
				if v, ok := b.loops[s[j]]; ok {
					out.WriteString(b.modified(v, s[i+2:j]))
					i, found = j, true
				}
			}
		}
		if !found {
			out.WriteByte('%')
		}
	}
	return out.String()
}
