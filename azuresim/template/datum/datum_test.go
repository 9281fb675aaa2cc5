package datum

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// TestDecode: JSON as the deployment service reads it, and writes it again.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"b": 1, "a": [1.0, null, true]}`: `{"b":1,"a":[1.0,null,true]}`, "{a: 'x', /* c */ $b: 2, // d\n}": `{"a":"x","$b":2}`,
		`[.5, 0777, 0x1F, , NaN]`: `[0.5,511,31,null,"NaN"]`, `"\u0041\ud83d\ude00"`: `"A😀"`, "'a\nb'": `"a\nb"`,
		`123456789012345678901234567890`: `123456789012345678901234567890`, `{"a": 1, "a": 2, "A": 3}`: `{"a":2,"A":3}`, "\ufeff1": "1",
		`{`: "line 1", "[1,\n2 3]": "line 2", `[1] 2`: "after the end", `"a`: "no end", `"\x"`: "escape", `/* a`: "no end", `{1`: "a colon",
		strings.Repeat("[", 200): "deep", `-`: "no value", "": "at the end",
	} {
		v, err := Decode([]byte(text))
		if got := string(Encode(v)); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := DecodeObject([]byte("[]")); err == nil {
		t.Error("an array is taken for an object")
	}
}

// TestObject: objects keep the order of their properties and ignore the case of keys, but prefer an
// exact match; with few and with many properties.
func TestObject(t *testing.T) {
	for _, others := range []int{0, 2 * many} {
		o := New("Name", "x", "name", "y")
		for i := range others {
			o.Set(strings.Repeat("k", i+1), i)
		}
		if o.Text("name") != "y" || o.Text("NAME") != "x" || o.Has("other") {
			t.Errorf("%d others: %s", others, Encode(o))
		}
		o.Put("NAME", "z")
		o.Respell("NAME", "w")
		if keys := o.Keys(); keys[0] != "NAME" || keys[1] != "name" || o.Text("NAME") != "w" || len(o.Values()) != 2+others {
			t.Errorf("%d others: %s", others, Encode(o))
		}
		if left := o.Without("NAME"); left.Len() != others {
			t.Errorf("%d others: without both spellings %s", others, Encode(left))
		}
	}
	var none *Object
	if none.Len() != 0 || none.Has("a") || none.Values() != nil || none.Object("a") != nil {
		t.Error("a nil object has properties")
	}
	if got := string(Encode(Overlay(New("a", int64(1), "b", nil), none, New("A", int64(2))))); got != `{"a":2,"b":null}` {
		t.Errorf("overlaid: %s", got)
	}
}

// TestValues: which values are known only at deployment, which are equal, and their form in
// encoding/json.
func TestValues(t *testing.T) {
	o := New("a", []any{New("b", Later{Text: "f()"})})
	if !IsLater(o) || string(Encode(o)) != `{"a":[{"b":"[f()]"}]}` || IsLater(New("a", 1)) {
		t.Error("what is known later is not found")
	}
	for _, pair := range [][2]any{{int64(1), 1.0}, {"a", "A"}, {nil, false}, {[]any{"1"}, []any{int64(1)}}, {New("a", 1.5), New("A", 1.5)}} {
		if Equal(pair[0], pair[1]) {
			t.Errorf("%s equals %s", Encode(pair[0]), Encode(pair[1]))
		}
	}
	if !Equal(New("a", int64(1), "b", int64(2)), New("b", int64(2), "a", int64(1))) || !Equal(big.NewInt(5), big.NewInt(5)) {
		t.Error("equal values differ")
	}
	if got := string(Encode(Of(Plain(New("b", 1.5, "a", "x"))))); got != `{"a":"x","b":1.5}` {
		t.Errorf("by way of encoding/json: %s", got)
	}
}

// FuzzDecode: a decoded value is encoded as equivalent JSON.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a": [1, .5, 'x']}`, "{a: // b\n0x1F}", `"\ud83d"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Decode([]byte(text))
		if err != nil {
			return
		}
		if again, err := Decode(Encode(v)); err != nil || string(Encode(again)) != string(Encode(v)) {
			t.Errorf("%s: %v", Encode(v), err)
		}
	})
}

func TestEqualsTypes(t *testing.T) {
	for _, c := range [][2]any{{math.NaN(), "NaN"}, {"NaN", math.NaN()}, {Later{Text: "x"}, "[x]"}, {"1", int64(1)}} {
		if Equal(c[0], c[1]) {
			t.Errorf("%v of type %T equals %v of type %T", c[0], c[0], c[1], c[1])
		}
	}
}
