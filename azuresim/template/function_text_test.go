package template

import "testing"

// TestTexts: functions of texts, and the hashes of texts.
func TestTexts(t *testing.T) {
	holds(t, [][2]string{
		{"[replace('foot', 't', 'd')]", `"food"`},
		{"[padLeft('00', 5, ' ')]", `"   00"`},
		{"[join(createArray('abc', 123, true()), '/')]", `"abc/123/True"`},
		{"[uniqueString('snap', 'crackle', 'pop')]", `"byghxckddilkc"`},
		{"[guid('foo', 'bar', 'baz')]", `"2ed86837-7c7c-5eaa-9864-dd077fd19b0d"`},
		{"[newGuid()]", "'newGuid' is not expected"},
		{"[concat('a', 1, true())]", `"a1True"`}, {"[concat('a', createObject())]", "either all or none"},
		{"[replace('a.b', '.', '')]", `"ab"`}, {"[substring('abc', 1)]", `"bc"`}, {"[substring('abc', 1, 9)]", "location within"},
		{"[split('a b', createArray())]", `["a","b"]`}, {"[padLeft(7, 3, '0')]", `"007"`}, {"[lastIndexOf('aXbx', 'x')]", "3"},
		{"[toUpper('straße')]", `"STRAßE"`}, {"[startsWith('Abc', 'aB')]", "true"}, {"[join(createArray(1), '')]", `"1"`},
		{"[length('😀')]", "2"}, {"[take('a😀', 1)]", `"a"`},
	})
}
