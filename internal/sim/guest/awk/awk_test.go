package awk

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

// output runs a program over one input and returns its output.
func output(src, text string) (string, int, error) {
	p, err := Parse(src)
	if err != nil {
		return "", 2, err
	}
	given := false
	var out strings.Builder
	code, err := p.Run(nil, nil, nil, func() (Input, bool) {
		if given {
			return Input{}, false
		}
		given = true
		in := bufio.NewReader(strings.NewReader(text))
		return Input{Until: func(end byte) (string, bool) {
			part, _ := in.ReadString(end) // the error is the end of the text
			return part, part != ""
		}}, true
	}, &out, Host{})
	return out.String(), code, err
}

func TestRun(t *testing.T) {
	for _, test := range []struct{ name, program, input, want string }{
		{"field", `{print $2}`, "a b\nc d\n", "b\nd\n"},
		{"pattern", `/inet /{print $1}`, "inet 1\nlink 2\n", "inet\n"},
		{"begin and end", `BEGIN{n=1} {n+=$1} END{print n}`, "2\n3\n", "6\n"},
		{"separator", `BEGIN{FS=":"} {print $NF}`, "a:b:c\n", "c\n"},
		{"array", `{n[$1]++} END{print n["a"], length(n)}`, "a\nb\na\n", "2 2\n"},
		{"functions", `function f(x) {return x*2} {print f($1), substr($2, 2), toupper($2)}`, "4 abc\n", "8 bc ABC\n"},
		{"replacement", `{gsub(/[0-9]+/, "<&>"); print}`, "a1b22\n", "a<1>b<22>\n"},
		{"printf", `{printf "%-4s|%03d\n", $1, $2}`, "a 7\n", "a   |007\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, code, err := output(test.program, test.input)
			if err != nil || code != 0 || got != test.want {
				t.Errorf("got %q, %d, %v; want %q", got, code, err, test.want)
			}
		})
	}
	var unsupported Unsupported
	for _, src := range []string{"{print", "BEGIN{getline line < \"f\"}", "{print $}"} {
		if _, _, err := output(src, "a\n"); err == nil {
			t.Errorf("%s: there is no error", src)
		} else if errors.As(err, &unsupported) && unsupported == "" {
			t.Errorf("%s: the refusal names nothing", src)
		}
	}
}

// FuzzParse checks that no program makes the parser panic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{print $2}`, `BEGIN{FS=":"}{print $NF}`, `/a/,/b/{n++}END{print n}`,
		`function f(x){return x}{print f($1)}`, `{gsub(/[0-9]+/,"<&>")}1`, `{for(k in a)delete a[k]}`,
		`$1~/x/&&!($2>3){exit 1}`, `{print "a" > "f"}`, "{", `"`, `/`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse(src)
		if (p == nil) == (err == nil) {
			t.Errorf("%q: program %v and error %v", src, p != nil, err)
		}
	})
}
