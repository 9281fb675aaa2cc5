package powershell

import (
	"math"
	"strings"
	"time"
)

// arithmetic is + - * / and %: the left value's type decides.
func (r *run) arithmetic(operator string, left, right any) (any, error) {
	switch l := left.(type) {
	case nil:
		if operator == "+" {
			return right, nil
		}
		left = int64(0)
	case string:
		return r.texts(operator, l, right)
	case char:
		if operator == "+" {
			if _, isNumber := right.(int64); !isNumber {
				return r.texts(operator, string(rune(l)), right)
			}
			return int64(l) + right.(int64), nil
		}
		left = int64(l)
	case *array:
		return r.lists(operator, l, right)
	case []byte:
		return r.lists(operator, newArray(list(l)...), right)
	case *hashtable:
		return r.tables(operator, l, right)
	case time.Time:
		return r.times(operator, l, right)
	case time.Duration:
		return r.spans(operator, l, right)
	case bool:
		left = map[bool]int64{true: 1}[l]
	}
	return r.numbers(operator, left, right)
}

func noMethod(v any, operator string) error {
	name := map[string]string{
		"+": "op_Addition", "-": "op_Subtraction", "*": "op_Multiply", "/": "op_Division", "%": "op_Modulus",
	}[operator]
	return broken("RuntimeException", "MethodNotFound",
		"Method invocation failed because [%s] does not contain a method named '%s'.", kindOf(v), name)
}

func (r *run) texts(operator, left string, right any) (any, error) {
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
	n, err := r.convert("double", left)
	if err != nil {
		return nil, err
	}
	return r.numbers(operator, whole(n), right)
}

// whole makes an integer of a float that is one.
func whole(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}

func (r *run) lists(operator string, left *array, right any) (any, error) {
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
	return nil, noMethod(left, operator)
}

func (r *run) tables(operator string, left *hashtable, right any) (any, error) {
	other, ok := right.(*hashtable)
	if !ok || operator != "+" {
		return nil, noMethod(left, operator)
	}
	out := newHash()
	for _, h := range []*hashtable{left, other} {
		for _, k := range h.keys {
			if _, twice := out.get(k); twice {
				return nil, broken("System.ArgumentException", "System.ArgumentException",
					"Item has already been added. Key in dictionary: '%s'  Key being added: '%s'", text(k), text(k))
			}
			v, _ := h.get(k)
			out.set(k, v)
		}
	}
	return out, r.take(32 * len(out.keys))
}

func (r *run) times(operator string, left time.Time, right any) (any, error) {
	switch v := right.(type) {
	case time.Time:
		if operator == "-" {
			return left.Sub(v), nil
		}
	case time.Duration:
		switch operator {
		case "+":
			return left.Add(v), nil
		case "-":
			return left.Add(-v), nil
		}
	}
	return nil, noMethod(left, operator)
}

func (r *run) spans(operator string, left time.Duration, right any) (any, error) {
	v, ok := right.(time.Duration)
	switch {
	case ok && operator == "+":
		return left + v, nil
	case ok && operator == "-":
		return left - v, nil
	}
	return nil, noMethod(left, operator)
}

func (r *run) numbers(operator string, left, right any) (any, error) {
	x, err := r.numeric(left)
	if err != nil {
		return nil, err
	}
	y, err := r.numeric(right)
	if err != nil {
		return nil, err
	}
	a, intA := x.(int64)
	b, intB := y.(int64)
	if intA && intB {
		return integers(operator, a, b)
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

func integers(operator string, a, b int64) (any, error) {
	if b == 0 && (operator == "/" || operator == "%") {
		return nil, broken("RuntimeException", "RuntimeException", "Attempted to divide by zero.")
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

// numeric returns a value as an int64 or a float64.
func (r *run) numeric(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return int64(0), nil
	case int64, float64:
		return v, nil
	case bool:
		return map[bool]int64{true: 1}[v], nil
	case char:
		return int64(v), nil
	case string:
		n, err := r.convert("double", v)
		if err != nil {
			return nil, broken("RuntimeException", "InvalidCastFromStringToInteger", "Cannot convert value "+
				"\"%s\" to type \"System.Int32\". Error: \"Input string was not in a correct format.\"", v)
		}
		return whole(n), nil
	}
	return nil, broken("RuntimeException", "ConvertToFinalInvalidCastException",
		"Cannot convert the \"%s\" value of type \"%s\" to type \"System.Int32\".", text(v), kindOf(v))
}

// float converts a value to a number; ok is false if it cannot be converted.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
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

// flags are members of enumerations that scripts join by -bor.
var flags = map[string]int64{"tls": 192, "tls11": 768, "tls12": 3072, "tls13": 12288, "ssl3": 48}

func (r *run) bits(operator string, left, right any) (any, error) {
	for _, v := range []*any{&left, &right} {
		if s, ok := (*v).(string); ok {
			if n, known := flags[strings.ToLower(s)]; known {
				*v = n
			}
		}
	}
	a, err := r.integer(left)
	if err != nil {
		return nil, err
	}
	b, err := r.integer(right)
	if err != nil {
		return nil, err
	}
	switch operator {
	case "-band":
		return a & b, nil
	case "-bor":
		return a | b, nil
	case "-bxor":
		return a ^ b, nil
	case "-shl":
		return int64(int32(a << uint(b&31))), nil
	}
	return a >> uint(b&31), nil
}
