package template

import "testing"

// TestConversions: conversions, JSON and addresses.
func TestConversions(t *testing.T) {
	holds(t, [][2]string{
		{"[json('[.5, 0777, 0x1F, , NaN]')]", `[0.5,511,31,null,"NaN"]`},
		{"[float('1e400')]", `"Infinity"`},
		{"[float('inf')]", "cannot be converted"},
		{"[base64(' Fizz ')]", `"IEZpenog"`}, {"[uri('https://github.com/another/repo', '/Azure/bicep')]", `"https://github.com/Azure/bicep"`},
		{"[uri('https://a/b', 'c?d=e f')]", `"https://a/c?d=e%20f"`},
		{"[buildUri(parseUri('https://a.b:8080/c/d?e=f'))]", `"https://a.b:8080/c/d?e=f"`},
		{"[parseUri('http://a/b?c').query]", `"?c"`}, {"[buildUri(createObject())]", "a scheme and a host"},
		{"[int('-5')]", "-5"}, {"[int('1e3')]", "cannot convert"}, {"[bool('TRUE')]", "true"}, {"[float('1e3')]", "1000.0"},
		{"[json('{\"a\": [1,],}')]", `{"a":[1]}`}, {"[json('{')]", "a valid JSON"}, {"[base64ToString('@')]", "valid base64"},
		{"[dataUriToString('data:;base64,YQ==')]", `"a"`}, {"[uriComponentToString('%41+')]", `"A "`}, {"[string(json('null'))]", "'Null'"},
	})
}
