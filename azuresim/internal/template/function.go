package template

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// function is a template function with the least and largest number of its arguments; a max
// of -1 means any number.
type function struct {
	min, max int
	call     func(s *scope, args []any) (any, error)
}

// functions returns the functions of the template language by lower-case name.
func functions() map[string]function {
	return map[string]function{
		"parameters": {1, 1, func(s *scope, a []any) (any, error) { return s.parameter(text(a[0])) }},
		"variables":  {1, 1, func(s *scope, a []any) (any, error) { return s.variable(text(a[0])) }},
		"copyindex":  {0, 2, copyIndex},
		"reference":  {1, 3, reference},

		"resourceid":             {2, -1, resourceID},
		"subscriptionresourceid": {2, -1, subscriptionResourceID},
		"tenantresourceid":       {2, -1, func(_ *scope, a []any) (any, error) { return typed("", a) }},
		"extensionresourceid":    {3, -1, func(_ *scope, a []any) (any, error) { return typed(text(a[0]), a[1:]) }},
		"resourcegroup":          {0, 0, resourceGroup},
		"subscription": {0, 0, func(s *scope, _ []any) (any, error) {
			return object{"id": "/subscriptions/" + s.Subscription, "subscriptionId": s.Subscription, "tenantId": s.TenantID}, nil
		}},
		"providers": {1, 2, func(s *scope, a []any) (any, error) {
			return object{"apiVersions": []any{s.APIVersion}, "locations": []any{s.GroupLocation}}, nil
		}},
		"tenant": {0, 0, func(s *scope, _ []any) (any, error) { return object{"tenantId": s.TenantID}, nil }},
		"deployment": {0, 0, func(s *scope, _ []any) (any, error) {
			return object{"name": s.Deployment, "properties": object{"mode": "Incremental"}}, nil
		}},
		"environment": {0, 0, func(s *scope, _ []any) (any, error) {
			return object{"name": "casement", "resourceManager": s.Endpoint}, nil
		}},
		"utcnow":       {0, 1, func(s *scope, _ []any) (any, error) { return s.Now, nil }},
		"guid":         {1, -1, func(_ *scope, a []any) (any, error) { return guid(a), nil }},
		"newguid":      {0, 0, func(s *scope, _ []any) (any, error) { return guid([]any{s.Deployment, s.Now}), nil }},
		"uniquestring": {1, -1, func(_ *scope, a []any) (any, error) { return uniqueString(a), nil }},
		"pickzones":    {3, 5, func(_ *scope, _ []any) (any, error) { return []any{"1"}, nil }},
		"concat":       {1, -1, concat},
		"format":       {1, -1, format},
		"string":       {1, 1, func(_ *scope, a []any) (any, error) { return asText(a[0]), nil }},
		"tolower":      {1, 1, func(_ *scope, a []any) (any, error) { return strings.ToLower(asText(a[0])), nil }},
		"toupper":      {1, 1, func(_ *scope, a []any) (any, error) { return strings.ToUpper(asText(a[0])), nil }},
		"trim":         {1, 1, func(_ *scope, a []any) (any, error) { return strings.TrimSpace(asText(a[0])), nil }},
		"replace": {3, 3, func(_ *scope, a []any) (any, error) {
			return strings.ReplaceAll(asText(a[0]), asText(a[1]), asText(a[2])), nil
		}},
		"split":       {2, 2, split},
		"join":        {2, 2, join},
		"substring":   {2, 3, substring},
		"padleft":     {2, 3, padLeft},
		"startswith":  {2, 2, func(_ *scope, a []any) (any, error) { return strings.HasPrefix(fold(a[0]), fold(a[1])), nil }},
		"endswith":    {2, 2, func(_ *scope, a []any) (any, error) { return strings.HasSuffix(fold(a[0]), fold(a[1])), nil }},
		"indexof":     {2, 2, func(_ *scope, a []any) (any, error) { return float64(strings.Index(fold(a[0]), fold(a[1]))), nil }},
		"lastindexof": {2, 2, func(_ *scope, a []any) (any, error) { return float64(strings.LastIndex(fold(a[0]), fold(a[1]))), nil }},
		"base64": {1, 1, func(_ *scope, a []any) (any, error) {
			return base64.StdEncoding.EncodeToString([]byte(asText(a[0]))), nil
		}},
		"base64tostring": {1, 1, func(_ *scope, a []any) (any, error) {
			b, err := base64.StdEncoding.DecodeString(asText(a[0]))
			return string(b), err
		}},
		"uri": {2, 2, func(_ *scope, a []any) (any, error) {
			return strings.TrimSuffix(asText(a[0]), "/") + "/" + strings.TrimPrefix(asText(a[1]), "/"), nil
		}},
		"json": {1, 1, parseJSON},
		"int":  {1, 1, asInt},
		"bool": {1, 1, func(_ *scope, a []any) (any, error) {
			return strings.EqualFold(asText(a[0]), "true") || asText(a[0]) == "1", nil
		}},
		"array": {1, 1, func(_ *scope, a []any) (any, error) {
			if l, ok := a[0].([]any); ok {
				return l, nil
			}
			return []any{a[0]}, nil
		}},
		"createarray":  {0, -1, func(_ *scope, a []any) (any, error) { return append([]any{}, a...), nil }},
		"createobject": {0, -1, createObject},
		"null":         {0, 0, func(*scope, []any) (any, error) { return nil, nil }},
		"true":         {0, 0, func(*scope, []any) (any, error) { return true, nil }},
		"false":        {0, 0, func(*scope, []any) (any, error) { return false, nil }},
		"not": {1, 1, func(_ *scope, a []any) (any, error) {
			b, ok := a[0].(bool)
			if !ok {
				return nil, fmt.Errorf("%v is no boolean", a[0])
			}
			return !b, nil
		}},
		"and":             {2, -1, func(_ *scope, a []any) (any, error) { return !slices.Contains(a, any(false)), nil }},
		"or":              {2, -1, func(_ *scope, a []any) (any, error) { return slices.Contains(a, any(true)), nil }},
		"equals":          {2, 2, func(_ *scope, a []any) (any, error) { return equal(a[0], a[1]), nil }},
		"less":            {2, 2, compare(func(c int) bool { return c < 0 })},
		"lessorequals":    {2, 2, compare(func(c int) bool { return c <= 0 })},
		"greater":         {2, 2, compare(func(c int) bool { return c > 0 })},
		"greaterorequals": {2, 2, compare(func(c int) bool { return c >= 0 })},
		"coalesce": {1, -1, func(_ *scope, a []any) (any, error) {
			for _, v := range a {
				if v != nil {
					return v, nil
				}
			}
			return nil, nil
		}},
		"empty":    {1, 1, func(_ *scope, a []any) (any, error) { return size(a[0]) == 0, nil }},
		"length":   {1, 1, func(_ *scope, a []any) (any, error) { return float64(size(a[0])), nil }},
		"contains": {2, 2, contains},
		"first":    {1, 1, func(_ *scope, a []any) (any, error) { return end(a[0], true), nil }},
		"last":     {1, 1, func(_ *scope, a []any) (any, error) { return end(a[0], false), nil }},
		"take":     {2, 2, func(_ *scope, a []any) (any, error) { return cut(a, true) }},
		"skip":     {2, 2, func(_ *scope, a []any) (any, error) { return cut(a, false) }},
		"union":    {1, -1, union},
		"range":    {2, 2, span},
		"add":      {2, 2, math2(func(a, b float64) float64 { return a + b })},
		"sub":      {2, 2, math2(func(a, b float64) float64 { return a - b })},
		"mul":      {2, 2, math2(func(a, b float64) float64 { return a * b })},
		"div":      {2, 2, math2(func(a, b float64) float64 { return math.Trunc(a / b) })},
		"mod":      {2, 2, math2(math.Mod)},
		"min":      {1, -1, extreme(func(a, b float64) bool { return a < b })},
		"max":      {1, -1, extreme(func(a, b float64) bool { return a > b })},
	}

}

func text(v any) string { s, _ := v.(string); return s }

// fold returns v as lower-case text, for comparison.
func fold(v any) string { return strings.ToLower(asText(v)) }

// asText returns a value in the form that the template function string() gives it.
func asText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "" // a value decoded from JSON always encodes
	}
	return string(data)
}

func asInt(_ *scope, a []any) (any, error) {
	if f, ok := a[0].(float64); ok {
		return math.Trunc(f), nil
	}
	n, err := strconv.Atoi(asText(a[0]))
	return float64(n), err
}

func copyIndex(s *scope, a []any) (any, error) {
	name, offset := s.current, 0.0
	for _, v := range a {
		switch v := v.(type) {
		case string:
			name = v
		case float64:
			offset = v
		}
	}
	i, ok := s.copies[name]
	if !ok {
		return nil, fmt.Errorf("there is no copy loop %q here", name)
	}
	return float64(i) + offset, nil
}

// reference returns the ID of a resource that is given by ID or by its name in the
// template.
func reference(s *scope, a []any) (any, error) {
	id := text(a[0])
	if !strings.HasPrefix(id, "/") {
		found, ok := s.resources(id)
		if !ok {
			return nil, fmt.Errorf("the resource '%s' is not defined in the template", id)
		}
		id = found
	}
	if s.seen != nil {
		s.seen(id)
	}
	if s.reference == nil {
		return nil, errLater
	}
	version, full := "", false
	if len(a) > 1 {
		version = text(a[1])
	}
	if len(a) > 2 {
		full = strings.EqualFold(text(a[2]), "full")
	}
	return s.reference(id, version, full)
}

// resourceID implements resourceId(): an optional subscription and group, a type, and its
// names.
func resourceID(s *scope, a []any) (any, error) {
	i := slices.IndexFunc(a, func(v any) bool { return strings.Contains(text(v), "/") })
	subscription, group := s.Subscription, s.Group
	switch i {
	case 0:
	case 1:
		group = text(a[0])
	case 2:
		subscription, group = text(a[0]), text(a[1])
	default:
		return nil, fmt.Errorf("no resource type is given")
	}
	return typed("/subscriptions/"+subscription+"/resourceGroups/"+group, a[i:])
}

func subscriptionResourceID(s *scope, a []any) (any, error) {
	if !strings.Contains(text(a[0]), "/") {
		return typed("/subscriptions/"+text(a[0]), a[1:])
	}
	return typed("/subscriptions/"+s.Subscription, a)
}

// typed builds an ID from a type and one name for each of its segments.
func typed(scope string, a []any) (any, error) {
	segments := strings.Split(text(a[0]), "/")
	var names []string
	for _, n := range a[1:] {
		names = append(names, strings.Split(asText(n), "/")...)
	}
	if len(segments) < 2 || len(names) != len(segments)-1 {
		return nil, fmt.Errorf("the type %s needs %d names, not %d", text(a[0]), len(segments)-1, len(names))
	}
	id := scope + "/providers/" + segments[0]
	for i, t := range segments[1:] {
		id += "/" + t + "/" + names[i]
	}
	return id, nil
}

func resourceGroup(s *scope, _ []any) (any, error) {
	return object{"id": "/subscriptions/" + s.Subscription + "/resourceGroups/" + s.Group, "name": s.Group,
		"location": s.GroupLocation, "type": "Microsoft.Resources/resourceGroups",
		"properties": object{"provisioningState": "Succeeded"}}, nil
}

func digest(a []any) []byte {
	var parts []string
	for _, v := range a {
		parts = append(parts, asText(v))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}

// guid implements guid(): equal arguments give equal values, which differ from Azure's
// values.
func guid(a []any) string {
	h := hex.EncodeToString(digest(a)[:16])
	return h[:8] + "-" + h[8:12] + "-5" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// uniqueString implements uniqueString(): 13 letters and digits, as in Azure.
func uniqueString(a []any) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString(digest(a))[:13])
}

func concat(_ *scope, a []any) (any, error) {
	if _, ok := a[0].([]any); ok {
		out := []any{}
		for _, v := range a {
			l, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf("arrays and texts cannot be joined")
			}
			out = append(out, l...)
		}
		return out, nil
	}
	var b strings.Builder
	for _, v := range a {
		b.WriteString(asText(v))
	}
	return b.String(), nil
}

func format(_ *scope, a []any) (any, error) {
	out := asText(a[0])
	for i, v := range a[1:] {
		out = strings.ReplaceAll(out, "{"+strconv.Itoa(i)+"}", asText(v))
	}
	return out, nil
}

func split(_ *scope, a []any) (any, error) {
	out := []any{}
	for _, p := range strings.Split(asText(a[0]), asText(a[1])) {
		out = append(out, p)
	}
	return out, nil
}

func join(_ *scope, a []any) (any, error) {
	l, ok := a[0].([]any)
	if !ok {
		return nil, fmt.Errorf("%v is no array", a[0])
	}
	var parts []string
	for _, v := range l {
		parts = append(parts, asText(v))
	}
	return strings.Join(parts, asText(a[1])), nil
}

func substring(_ *scope, a []any) (any, error) {
	s := asText(a[0])
	from, ok := a[1].(float64)
	length := float64(len(s)) - from
	if len(a) > 2 {
		length, ok = a[2].(float64)
	}
	if !ok || from < 0 || length < 0 || int(from+length) > len(s) {
		return nil, fmt.Errorf("the range does not lie in the text %q", s)
	}
	return s[int(from):int(from+length)], nil
}

func padLeft(_ *scope, a []any) (any, error) {
	s, pad := asText(a[0]), " "
	if len(a) > 2 && len(text(a[2])) == 1 {
		pad = text(a[2])
	}
	width, ok := a[1].(float64)
	if !ok || width > 1000 {
		return nil, fmt.Errorf("%v is no width", a[1])
	}
	return strings.Repeat(pad, max(0, int(width)-len(s))) + s, nil
}

func parseJSON(_ *scope, a []any) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(asText(a[0])), &v); err != nil {
		return nil, err
	}
	return v, nil
}

func createObject(_ *scope, a []any) (any, error) {
	if len(a)%2 != 0 {
		return nil, fmt.Errorf("a value is missing")
	}
	o := object{}
	for i := 0; i < len(a); i += 2 {
		o[asText(a[i])] = a[i+1]
	}
	return o, nil
}

// equal compares two values; texts are compared without case.
func equal(a, b any) bool {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return ok && strings.EqualFold(x, y)
	}
	return reflect.DeepEqual(a, b)
}

func compare(is func(int) bool) func(*scope, []any) (any, error) {
	return func(_ *scope, a []any) (any, error) {
		if x, ok := a[0].(float64); ok {
			if y, ok := a[1].(float64); ok {
				return is(int(math.Copysign(1, x-y)) * map[bool]int{true: 0, false: 1}[x == y]), nil
			}
		}
		return is(strings.Compare(asText(a[0]), asText(a[1]))), nil
	}
}

func math2(fn func(a, b float64) float64) func(*scope, []any) (any, error) {
	return func(_ *scope, a []any) (any, error) {
		x, ok := a[0].(float64)
		y, ok2 := a[1].(float64)
		if !ok || !ok2 {
			return nil, fmt.Errorf("%v and %v are not both numbers", a[0], a[1])
		}
		r := fn(x, y)
		if math.IsNaN(r) || math.IsInf(r, 0) {
			return nil, fmt.Errorf("division by zero")
		}
		return r, nil
	}
}

func extreme(better func(a, b float64) bool) func(*scope, []any) (any, error) {
	return func(_ *scope, a []any) (any, error) {
		if l, ok := a[0].([]any); ok {
			a = l
		}
		var best any
		for _, v := range a {
			f, ok := v.(float64)
			if !ok {
				return nil, fmt.Errorf("%v is no number", v)
			}
			if best == nil || better(f, best.(float64)) {
				best = f
			}
		}
		return best, nil
	}
}
