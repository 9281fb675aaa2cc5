package template

import "testing"

// TestLambdas: lambda expressions.
func TestLambdas(t *testing.T) {
	holds(t, [][2]string{
		{"[groupBy(range(0, 3), lambda('x', string(mod(lambdaVariables('x'), 2))), lambda('x', add(lambdaVariables('x'), 1)))]",
			`{"0":[1,3],"1":[2]}`},
		{"[createArray(lambda('x', 1))]", "of type"},
		{"[lambda('x', 1)]", "no value"},
		{"[map(createArray(), lambda(1))]", "lambda expression of 1 to 2"},
		{"[map(range(0, 2), lambda('x', mul(lambdaVariables('X'), 2)))]", "[0,2]"}, {"[filter(createArray(1), lambda('x', 'y'))]", "Boolean"},
		{"[sort(createArray(3, 1, 2), lambda('a', 'b', less(lambdaVariables('a'), lambdaVariables('b'))))]", "[1,2,3]"},
		{"[reduce(range(1, 3), 0, lambda('a', 'b', add(lambdaVariables('a'), lambdaVariables('b'))))]", "6"},
		{"[mapValues(createObject('a', 1), lambda('v', string(lambdaVariables('v'))))]", `{"a":"1"}`},
		{"[map(range(0, 1), lambda('x', map(range(0, 1), lambda('y', lambdaVariables('x')))))]", "[[0]]"},
		{"[lambdaVariables('x')]", "not valid"}, {"[map(range(0, 1), 1)]", "Function"},
	})
}
