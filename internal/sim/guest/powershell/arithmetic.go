package powershell

import (
	"math"
	"strings"
	"time"
)

// arithmetic applies + - * / or %. The type of the left value decides which operation that is.
func (r *run) arithmetic(operator string, left, right any) (any, error) {
	switch l := left.(type) {
	case nil:
		switch operator {
		case "+":
			return right, nil
		case "*":
			return nil, nil
		}
		left = int64(0)
	case string:
		return r.textArithmetic(operator, l, right)
	case char:
		if operator == "+" {
			return r.textArithmetic(operator, string(rune(l)), right)
		}
		if operator == "*" && (isNumber(right) || right == nil) {
			return nil, undefinedOperator(operator, l, right)
		}
		left = int64(l)
	case *array:
		return r.listArithmetic(operator, l, right)
	case []byte:
		return r.listArithmetic(operator, newArray(list(l)...), right)
	case *hashtable:
		return r.addHashtables(operator, l, right)
	case time.Time:
		return r.dateArithmetic(operator, l, right)
	case time.Duration:
		return r.spanArithmetic(operator, l, right)
	case bool:
		left = map[bool]int64{true: 1}[l]
		if s, isText := right.(string); operator == "*" {
			if _, ok := parseNumber(s); isText && !ok {
				return nil, noOperator(right, operator)
			} else if isNumber(right) || right == nil {
				return nil, undefinedOperator(operator, l, right)
			}
		}
	}
	if err := checkOperands(operator, left, right); err != nil {
		if d, ok := right.(time.Duration); ok && operator == "+" {
			return r.spanArithmetic(operator, d, left)
		}
		return nil, err
	}
	return r.numberArithmetic(operator, left, right)
}

// checkOperands returns an error if a value is not a number and its type cannot be converted to one: the type
// does not have the operator.
func checkOperands(operator string, values ...any) error {
	for _, v := range values {
		switch v.(type) {
		case nil, bool, int64, float64, short, sized, decimal, enumMember, char, string:
		default:
			return noOperator(v, operator)
		}
	}
	return nil
}

// undefinedOperator returns the failure of an operator that is not defined for two types.
func undefinedOperator(operator string, left, right any) error {
	if _, ok := right.(string); ok {
		return noOperator(right, operator)
	}
	return broken("RuntimeException", "NotADefinedOperationForType", "The operation '[%s] %s [%s]' is not defined.", kindOf(left), operator,
		kindOf(right))
}

func isNumber(v any) bool {
	_, ok := float(v)
	_, isText := v.(string)
	return ok && !isText
}

// methodNames are the .NET methods that implement the operators.
var methodNames = map[string]string{
	"+": "op_Addition", "-": "op_Subtraction", "*": "op_Multiply", "/": "op_Division", "%": "op_Modulus",
	"-band": "op_BitwiseAnd", "-bor": "op_BitwiseOr", "-bxor": "op_ExclusiveOr", "-shl": "op_LeftShift", "-shr": "op_RightShift",
}

// noOperator returns the failure of an operator that the type of a value does not have.
func noOperator(v any, operator string) error {
	name := methodNames[operator]
	if isCustom(v) {
		v = &object{kind: "System.Management.Automation.PSObject"}
	}
	return methodMissing(kindOf(v), name)
}

// textArithmetic applies an operator to a text: + appends, * repeats, and other operators use the text as a number.
func (r *run) textArithmetic(operator, left string, right any) (any, error) {
	switch operator {
	case "+":
		s, err := r.text(right)
		if err != nil {
			return nil, err
		}
		if err := r.take(len(left) + len(s)); err != nil {
			return nil, err
		}
		return left + s, nil
	case "*":
		if isList(right) {
			return nil, cannotConvert(right, "int")
		}
		n, err := r.integer(right)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, broken("System.ArgumentOutOfRangeException", "System.ArgumentOutOfRangeException",
				"Specified argument was out of the range of valid values.")
		}
		if float64(n)*float64(len(left)+1) > maxValue {
			return nil, r.take(maxValue + 1)
		}
		return strings.Repeat(left, int(n)), r.take(len(left) * int(n))
	}
	n, err := r.numeric(left)
	if err == nil {
		err = checkOperands(operator, right)
	}
	if err != nil {
		return nil, err
	}
	return r.numberArithmetic(operator, n, right)
}

// whole returns a float64 without a fraction as an int64, and any other value unchanged.
func whole(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}

// listArithmetic applies an operator to a list: + appends, * repeats.
func (r *run) listArithmetic(operator string, left *array, right any) (any, error) {
	switch operator {
	case "+":
		items := list(right)
		if right == nil {
			items = []any{nil}
		}
		if len(left.items)+len(items) > maxItems {
			return nil, &LimitError{"makes a list of more than a million items"}
		}
		out := newArray(append(append([]any(nil), left.items...), items...)...)
		return out, r.take(16 * len(out.items))
	case "*":
		n, err := r.integer(right)
		if err != nil {
			return nil, err
		}
		if n < 0 || float64(n)*float64(len(left.items)) > maxItems {
			return nil, &LimitError{"makes a list of more than a million items"}
		}
		out := newArray()
		for range n {
			out.items = append(out.items, left.items...)
		}
		return out, r.take(16 * len(out.items))
	}
	return nil, noOperator(left, operator)
}

// addHashtables returns a hashtable with the entries of two. A key in both is an error.
func (r *run) addHashtables(operator string, left *hashtable, right any) (any, error) {
	other, ok := right.(*hashtable)
	switch {
	case operator != "+":
		return nil, noOperator(left, operator)
	case !ok:
		return nil, broken("RuntimeException", "AddHashTableToNonHashTable", "A hash table can only be added to another hash table.")
	}
	out := newHash()
	for _, h := range []*hashtable{left, other} {
		for k, v := range h.all() {
			if _, twice := out.get(k); twice {
				f := duplicateKey(k)
				f.id = f.exception.kind
				return nil, f
			}
			out.set(k, v)
		}
	}
	return out, r.take(32 * len(out.keys))
}

// dateArithmetic applies + or - to a date. It converts and refuses the right value as DateTime's methods
// op_Addition and op_Subtraction do.
func (r *run) dateArithmetic(operator string, left time.Time, right any) (any, error) {
	by := time.Duration(1)
	switch operator {
	case "+":
	case "-":
		if v, ok := right.(time.Time); ok {
			if d := left.Sub(v); left.Add(-d).Equal(v) {
				return d, nil
			}
			return nil, lacking("a time span of more than 292 years")
		}
		if _, ok := right.(time.Duration); !ok { // neither a date nor a time span
			why := "Multiple ambiguous overloads found for"
			if !readable(right) {
				why = "Cannot find an overload for"
			}
			return nil, broken("MethodException", "MethodCountCouldNotFindBest",
				"%s \"op_Subtraction\" and the argument count: \"2\".", why)
		}
		by = -1
	default:
		return nil, noOperator(left, operator)
	}
	v, err := toSpan(right)
	return left.Add(by * v), unfitArgument(err, "1", right, methodNames[operator])
}

// spanArithmetic applies + or - to a time span.
func (r *run) spanArithmetic(operator string, left time.Duration, right any) (any, error) {
	if operator != "+" && operator != "-" {
		return nil, noOperator(left, operator)
	}
	v, err := toSpan(right)
	if operator == "-" {
		v = -v
	}
	return left + v, unfitArgument(err, "1", right, methodNames[operator])
}

// numberArithmetic applies an operator to two numbers: as whole numbers if both are, else as decimals or as float64.
func (r *run) numberArithmetic(operator string, left, right any) (any, error) {
	x, err := r.numeric(left)
	if err != nil {
		return nil, err
	}
	y, err := r.numeric(right)
	if _, isFloat := left.(float64); isFloat && failed(err) != nil {
		if _, isText := right.(string); isText {
			return toFloat("double", right)
		}
	}
	if err != nil {
		return nil, err
	}
	a, kindA, intA := wholeOf(x)
	b, kindB, intB := wholeOf(y)
	if intA && intB {
		return integerArithmetic(operator, a, kindA, b, kindB)
	}
	_, decA := x.(decimal)
	if _, decB := y.(decimal); decA || decB {
		d, okA := decimalOf(x)
		e, okB := decimalOf(y)
		if okA && okB {
			return decimalArithmetic(operator, d, e)
		}
	}
	f, _ := float(x)
	g, _ := float(y)
	switch operator {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "/":
		return f / g, nil
	}
	return math.Mod(f, g), nil
}

// integers applies an operator to two whole numbers. The result is a float64 if it does not fit into an int64.
func integers(operator string, a, b int64) (any, error) {
	if b == 0 && (operator == "/" || operator == "%") {
		return nil, divisionByZero()
	}
	f := map[string]float64{"+": float64(a) + float64(b), "-": float64(a) - float64(b), "*": float64(a) * float64(b)}[operator]
	if math.Abs(f) >= 1<<63 {
		return f, nil
	}
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "/":
		if b != -1 && a%b == 0 {
			return a / b, nil
		}
		return whole(float64(a) / float64(b)), nil
	}
	if b == -1 {
		return int64(0), nil
	}
	return a % b, nil
}

func divisionByZero() error {
	f := broken("RuntimeException", "RuntimeException", "Attempted to divide by zero.")
	f.exception.inner = &exception{kind: "System.DivideByZeroException", message: f.exception.message}
	return f
}

// numeric returns a value as a number: an int64, sized, float64, short or decimal.
func (r *run) numeric(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return int64(0), nil
	case int64, float64, sized, decimal:
		return v, nil
	case short:
		return float64(v), nil
	case bool:
		return map[bool]int64{true: 1}[v], nil
	case enumMember:
		return v.n, nil
	case char:
		return int64(v), nil
	case string:
		n, err := r.convert("double", v)
		if err != nil {
			return nil, parseFailure("InvalidCastFromStringToInteger", v, "int", "Input string was not in a correct format.")
		}
		return whole(n), nil
	}
	return nil, cannotConvert(v, "int")
}

// float returns a value as a float64; ok is false if the value cannot be converted.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case short:
		return float64(v), true
	case sized:
		if v.kind == "UInt64" {
			return float64(uint64(v.n)), true
		}
		return float64(v.n), true
	case decimal:
		return v.float(), true
	case enumMember:
		return float64(v.n), true
	case bool:
		return map[bool]float64{true: 1}[v], true
	case char:
		return float64(v), true
	case string:
		return parseNumber(v)
	case nil:
		return 0, false
	}
	return 0, false
}

// flags are the values of enumeration members that scripts combine by -bor.
var flags = map[string]int64{"tls": 192, "tls11": 768, "tls12": 3072, "tls13": 12288, "ssl3": 48}

// bits applies a bitwise operator or a shift.
func (r *run) bits(operator string, left, right any) (any, error) {
	for _, v := range []*any{&left, &right} {
		if s, ok := (*v).(string); ok {
			if n, known := flags[strings.ToLower(s)]; known {
				*v = n
			}
		}
	}
	if left == nil && (operator == "-shl" || operator == "-shr") {
		return int64(0), nil
	}
	for _, v := range []any{left, right} {
		if s, ok := v.(string); ok {
			_, isFloat := left.(float64)
			if _, right := right.(float64); isFloat || right {
				if _, err := toFloat("double", s); err != nil {
					return nil, err
				}
			}
			if _, err := r.integer(s); err != nil {
				return nil, err
			}
		}
	}
	if operator == "-shl" || operator == "-shr" { // the right operand, a number of bits, is an Int32
		if err := checkOperands(operator, left); err != nil {
			return nil, err
		}
		switch left.(type) {
		case char, bool:
			if checkOperands(operator, right) != nil {
				return nil, noOperator(left, operator)
			}
		}
		by, err := r.convert("int", right)
		if err != nil {
			return nil, err
		}
		switch left.(type) {
		case char, bool:
			return nil, undefinedOperator(operator, left, right)
		}
		right = by
	}
	if err := checkOperands(operator, left, right); err != nil {
		return nil, err
	}
	a, err := r.integer(left)
	if err != nil {
		return nil, err
	}
	b, err := r.integer(right)
	if err != nil {
		return nil, err
	}
	kind := func(v any, n int64) string {
		if _, name, ok := wholeOf(v); ok {
			return name
		}
		_, name, _ := wholeOf(n)
		return name
	}
	kindA := kind(left, a)
	if m, ok := left.(enumMember); ok && operator != "-shl" && operator != "-shr" { // -band, -bor and -bxor return a member of the enumeration
		return enumerationOf(typeKey(m.kind), map[string]int64{"-band": a & b, "-bor": a | b, "-bxor": a ^ b}[operator]), nil
	}
	switch both := promoted(a, kindA, b, kind(right, b)); operator {
	case "-band":
		return sizedOf(both, a&b), nil
	case "-bor":
		return sizedOf(both, a|b), nil
	case "-bxor":
		return sizedOf(both, a^b), nil
	}
	bits := uint(b & 31)
	if ranks[kindA] > 1 {
		bits = uint(b & 63)
	}
	switch {
	case operator == "-shr" && kindA == "UInt64":
		return sized{kindA, int64(uint64(a) >> bits)}, nil
	case operator == "-shr":
		return sizedOf(promoted(a, kindA, 0, "Int32"), a>>bits), nil
	case ranks[kindA] == 0:
		return int64(int32(a << bits)), nil
	case kindA == "UInt32":
		return sized{kindA, int64(uint32(a << bits))}, nil
	}
	return sizedOf(kindA, a<<bits), nil
}
