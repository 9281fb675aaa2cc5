package template

import "testing"

// TestCollections: functions of arrays, and of arrays and texts alike.
func TestCollections(t *testing.T) {
	holds(t, [][2]string{
		{"[first(createArray())]", "null"}, {"[last('')]", `""`}, {"[skip(createArray(1, 2), -1)]", "[1,2]"},
		{"[contains('abc', 'B')]", "false"},
		{"[contains(parameters('o'), 'NAME')]", "true"}, {"[intersection('a', 'b')]", "expects its first"},
		{"[distinct(createArray('a', 'A', 'a'))]", `["a","A"]`},
		{"[max(createArray())]", "of numeric types"}, {"[flatten(createArray(1))]", "array of arrays"},
		{"[tryIndexFromEnd(createArray(1), 2)]", "null"},
		{"[range(5, 2)]", "[5,6]"}, {"[indexOf(createArray('A'), 'a')]", "-1"},
	})
}

// TestObjects: functions of objects.
func TestObjects(t *testing.T) {
	holds(t, [][2]string{
		{"[createObject('a')]", "even number"},
		{"[union(createObject('a', createObject('b', 1)), createObject('A', createObject('c', 2)))]", `{"A":{"b":1,"c":2}}`},
		{"[items(createObject('b', 1, 'a', 2))[0].key]", `"a"`}, {"[coalesce(null(), parameters('o').n)]", "3"},
		{"[tryGet(parameters('o'), 'list', 1)]", `"b"`}, {"[tryGet(parameters('o'), 'x', 'y')]", "null"},
		{"[shallowMerge(createArray(1))]", "array of objects"},
		{"[tryGet(1, createObject('a', 1))]", "property 'createObject('a', 1)' can't be evaluated"},
	})
}
