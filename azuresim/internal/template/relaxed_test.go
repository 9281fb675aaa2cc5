package template

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestRelaxed(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain": {`{"a": [1, true, null, "x"], "b": -1.5e3}`, `{"a":[1,true,null,"x"],"b":-1500}`},
		"a key of az": {`{"properties": {"mode": "Incremental", template:{"$schema": "s"}}}`,
			`{"properties":{"mode":"Incremental","template":{"$schema":"s"}}}`},
		"comments":        {"{// one\n\"a\": /* two */ 1}", `{"a":1}`},
		"no comment":      {`{"a": "http://x /* y */"}`, `{"a":"http://x /* y */"}`},
		"trailing commas": {`{"a": [1, 2, ], }`, `{"a":[1,2]}`},
		"single quotes":   {`{'a': 'it\'s "b"'}`, `{"a":"it's \"b\""}`},
		"several lines":   {"{\"a\": \"one\ntwo\"}", `{"a":"one\ntwo"}`},
		"escapes":         {`{"a": "\"\\"}`, `{"a":"\"\\"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want any
			if err := json.Unmarshal(Relaxed([]byte(tc.in)), &got); err != nil {
				t.Fatalf("%s: %v", Relaxed([]byte(tc.in)), err)
			}
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func FuzzRelaxed(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2], "b": "c\"d"}`))
	f.Add([]byte(`{a:1,/**/}`))
	f.Add([]byte(`'\`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := Relaxed(in)
		var before, after any
		if json.Unmarshal(in, &before) == nil && (json.Unmarshal(out, &after) != nil || !reflect.DeepEqual(before, after)) {
			t.Errorf("JSON %q became %q", in, out)
		}
	})
}
