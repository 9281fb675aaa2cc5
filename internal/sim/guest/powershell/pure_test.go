package powershell

import (
	"encoding/base64"
	"errors"
	"testing"
)

func TestDecodeCommand(t *testing.T) {
	if got, err := DecodeCommand(base64.StdEncoding.EncodeToString([]byte("e\x00x\x00\xe9\x00"))); got != "exé" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"no base64!", base64.StdEncoding.EncodeToString([]byte("odd"))} {
		if _, err := DecodeCommand(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestScriptText(t *testing.T) {
	for data, want := range map[string]string{
		"plain": "plain", "\xef\xbb\xbfwith a mark": "with a mark", "\xff\xfea\x00b\x00": "ab", "\xfe\xff\x00a\x00b": "ab",
	} {
		if got := Text([]byte(data)); got != want {
			t.Errorf("%q is %q, want %q", data, got, want)
		}
	}
}

func TestWholeNumbersOfArithmetic(t *testing.T) {
	for name, test := range map[string]struct {
		operator string
		a, b     int64
		want     any
	}{
		"sum": {"+", 2, 3, int64(5)}, "difference": {"-", 2, 3, int64(-1)}, "product": {"*", 4, 5, int64(20)},
		"quotient": {"/", 6, 3, int64(2)}, "fraction": {"/", 1, 2, 0.5}, "rest": {"%", 7, 4, int64(3)},
	} {
		if got, err := integers(test.operator, test.a, test.b); got != test.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", name, got, err, test.want)
		}
	}
	var f *failure
	if _, err := integers("/", 1, 0); !errors.As(err, &f) {
		t.Errorf("a division by zero gives %v", err)
	}
}

func TestQuotes(t *testing.T) {
	if got := quoteCSV(`a "b"`); got != `"a ""b"""` {
		t.Errorf("CSV: %s", got)
	}
	if got := quoteJSON("a\"\\\n"); got != `"a\"\\\n"` {
		t.Errorf("JSON: %s", got)
	}
}
