package template

import "testing"

// TestScopes: functions of the scope to which a template is deployed, and of its resources.
func TestScopes(t *testing.T) {
	holds(t, [][2]string{
		{"[toPhysicalZones('s', 'l', createArray('1'))]", `"[toPhysicalZones('s', 'l', createArray('1'))]"`},
		{"[and(true(), reference('x').y)]", `"[and(true(), reference('x').y)]"`},
		{"[resourceId('a', 'A.B/c/', 'd')]", `"/subscriptions/00000000-0000-0000-0000-0000000000a1/resourceGroups/a/providers/A.B/c/d"`},
		{"[subscriptionResourceId('Microsoft.Resources/resourceGroups', 'g')]",
			`"/subscriptions/00000000-0000-0000-0000-0000000000a1/resourceGroups/g"`},
		{"[resourceGroup().location]", `"westeurope"`}, {"[deployment().name]", `"dep1"`}, {"[copyIndex()]", "not valid"},
		{"[managementGroup()]", "not expected"},
		{"[uniqueString('a', 'b')]", `"i3z4v3sp6aooa"`}, {"[listKeys('x', '1').a]", `"[listKeys('x', '1').a]"`},
		{"[reference('x').y]", `"[reference('x').y]"`},
	})
}
