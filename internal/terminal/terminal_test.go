package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestEscape(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain text":                {"kubelet started\n\tin 3 s\n", "kubelet started\n\tin 3 s\n"},
		"other scripts":             {"straße 日本 שלום 🪟 👨‍👩‍👧", "straße 日本 שלום 🪟 👨‍👩‍👧"},
		"title of the window":       {"\x1b]0;owned\a", "^[]0;owned^G"},
		"clear the screen":          {"\x1b[2J\x1b[H", "^[[2J^[[H"},
		"C1 control sequence":       {"\u009b31mred", `\u009b31mred`},
		"C1 byte alone":             {"\x9b31mred", `\x9b31mred`},
		"line overwritten":          {"safe\rfake", "safe^Mfake"},
		"line end of Windows":       {"one\r\ntwo\r\n", "one\r\ntwo\r\n"},
		"backspace and delete":      {"a\b\x7f", `a^H\u007f`},
		"NUL":                       {"a\x00b", "a^@b"},
		"bidirectional override":    {"txt.\u202eexe", `txt.\u202eexe`},
		"bidirectional isolate":     {"\u2066x\u2069", `\u2066x\u2069`},
		"line separator":            {"a\u2028b", `a\u2028b`},
		"replacement character":     {"a\ufffdb", `a\ufffdb`},
		"torn character at the end": {"stra\xc3", `stra\xc3`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Escape(c.in); got != c.want {
				t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestEscapedJSONIsTheSame(t *testing.T) {
	in := map[string]string{"a": "\x00\x1b\r\n\t\x7f\u0080\u009f\u202e\u2028\ufeff\ufffd日"}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(Escape(string(data)))
	var fromJSON, fromYAML map[string]string
	if err := json.Unmarshal(data, &fromJSON); err != nil || fromJSON["a"] != in["a"] {
		t.Errorf("%s is read as %q: %v", data, fromJSON, err)
	}
	if err := yaml.Unmarshal(data, &fromYAML); err != nil || fromYAML["a"] != in["a"] {
		t.Errorf("%s is read as YAML as %q: %v", data, fromYAML, err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the pipe is closed") }

func TestWriterReturnsTheError(t *testing.T) {
	w := NewWriter(broken{})
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("no error")
	}
}

// FuzzWriter splits a text anywhere: the Writer writes the same as Escape returns for the whole, and no control characters.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{"\x1b[2J", "straße 日本 🪟", "\u009b1m\u202e", "\xc3\r\n\r", "\xf0\x9f\xaa", "a\xe2\x28\xa1\xe2"} {
		for at := range len(s) {
			f.Add(s, at)
		}
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		at = min(max(at, 0), len(s))
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, part := range []string{s[:at], s[at:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("wrote %d of %d: %v", n, len(part), err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if want := Escape(s); got != want {
			t.Errorf("%q cut at %d becomes %q, want %q", s, at, got, want)
		}
		if rest := strings.ReplaceAll(got, "\r\n", "\n"); strings.ContainsFunc(rest, acts) {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
