package arm

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pageSize is how many resources a page of a list has at most.
const pageSize = 1000

// serveList answers a collection: of a group, of the subscription, or children.
func (c *call) serveList() (e *Error) {
	k := c.s.registry.typeOf(c.id.fullType())
	if k == nil {
		return c.listParts()
	}
	return c.page(func(t *tx) ([]*record, *Error) {
		if e := t.groupThere(c.id); e != nil {
			return nil, e
		}
		scope := "/subscriptions/" + c.id.Subscription
		if c.id.Group != "" {
			scope = c.id.group().String()
		}
		if parent, ok := c.id.parent(); ok && len(c.id.Names) > 0 {
			scope = parent.String()
			if c.id.Scope == nil && t.record(parent.key()) == nil {
				return nil, c.s.registry.notFound(parent)
			}
		}
		found := slices.Collect(t.scan(k.Name, scope))
		if k.Filter != nil {
			found = k.Filter(t, found, c.query.Get("$filter"))
		}
		return found, nil
	}, func(t *tx, r *record) any { return t.shown(r, c.query.Get("$expand")) })
}

// page answers with the part of a list that the client asks for: $top at most,
// after what $skiptoken names. Documents keep their order, so that one written
// or deleted between two pages moves no other across them.
func (c *call) page(find func(t *tx) ([]*record, *Error), show func(t *tx, r *record) any) *Error {
	size := pageSize
	if top := c.query.Get("$top"); top != "" {
		n, err := strconv.Atoi(top)
		if err != nil || n < 1 {
			return badRequest("InvalidTopInQueryString", "The $top query parameter '%s' is not a positive number.", top)
		}
		size = min(n, pageSize)
	}
	after, err := base64.RawURLEncoding.DecodeString(c.query.Get("$skiptoken"))
	if err != nil {
		return badRequest("InvalidSkipToken", "The skip token '%s' is invalid.", c.query.Get("$skiptoken"))
	}
	out := object{}
	var e *Error
	c.s.read(func(t *tx) {
		var found []*record
		if found, e = find(t); e != nil {
			return
		}
		from, _ := slices.BinarySearchFunc(found, string(after)+"\x00", func(r *record, key string) int { return strings.Compare(r.key, key) })
		if len(after) == 0 {
			from = 0
		}
		to := min(len(found), from+size)
		value := make([]any, 0, to-from)
		for _, r := range found[from:to] {
			value = append(value, show(t, r))
		}
		out["value"] = value
		if to < len(found) {
			out["nextLink"] = c.next_(found[to-1].key)
		}
	})
	if e != nil {
		return e
	}
	c.reply(http.StatusOK, out)
	return nil
}

// next_ is the URL of the page after a key.
func (c *call) next_(key string) string {
	q := url.Values{}
	for k, v := range c.query {
		q[k] = v
	}
	q.Set("$skiptoken", base64.RawURLEncoding.EncodeToString([]byte(key)))
	return "https://" + c.host + c.r.URL.EscapedPath() + "?" + q.Encode()
}

// listParts answers a collection of children that live inside their parent.
func (c *call) listParts() (e *Error) {
	parent, ok := c.id.parent()
	k := c.s.registry.typeOf(parent.fullType())
	if !ok || k == nil {
		return errUnsupported("the resource type " + c.id.fullType())
	}
	var out []any
	known := false
	c.s.read(func(t *tx) {
		if e = t.groupThere(c.id); e != nil {
			return
		}
		d := t.find(parent.key())
		for part := range k.Parts {
			if lower(part) == lower(c.id.tail()) {
				if known = true; d != nil {
					out = list(items(props(t.view(d, "")), part))
				}
			}
		}
		if d == nil && known {
			e = c.s.registry.notFound(parent)
		}
	})
	switch {
	case e != nil:
		return e
	case !known:
		return errUnsupported("the resource type " + c.id.fullType())
	}
	c.reply(http.StatusOK, object{"value": out})
	return nil
}

// The terms of a $filter over resources that ARM takes.
var (
	filterCompare = regexp.MustCompile(`(?i)^(resourceType|name|location|resourceGroup|tagName|tagValue|identity/principalId) (eq|ne) '((?:[^']|'')*)'$`)
	filterStart   = regexp.MustCompile(`(?i)^startswith\((tagName|name|resourceType), ?'((?:[^']|'')*)'\)$`)
	filterPart    = regexp.MustCompile(`(?i)^substringof\('((?:[^']|'')*)', ?(name|resourceGroup)\)$`)
	filterAnd     = regexp.MustCompile(`(?i) and `)
	filterOr      = regexp.MustCompile(`(?i) or `)
)

// resourceTest says whether a record is wanted.
type resourceTest func(t *tx, r *record) bool

// resourceFilter reads a $filter over resources: terms joined by and, those by or.
func resourceFilter(text string) (resourceTest, *Error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return func(*tx, *record) bool { return true }, nil
	}
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = text[1 : len(text)-1]
	}
	var either []resourceTest
	for _, alternative := range filterOr.Split(text, -1) {
		all, err := conjunction(alternative)
		if err != nil {
			return nil, badRequest("InvalidFilterInQueryString", "Invalid $filter '%s' specified in the query string: %s.", text, err)
		}
		either = append(either, all)
	}
	return func(t *tx, r *record) bool {
		return slices.ContainsFunc(either, func(f resourceTest) bool { return f(t, r) })
	}, nil
}

func conjunction(text string) (resourceTest, error) {
	var terms []resourceTest
	tag, hasTag := "", false
	for _, term := range filterAnd.Split(text, -1) {
		term = strings.TrimSpace(term)
		if m := filterCompare.FindStringSubmatch(term); m != nil {
			field, negate, want := lower(m[1]), strings.EqualFold(m[2], "ne"), strings.ReplaceAll(m[3], "''", "'")
			switch field {
			case "tagname":
				tag, hasTag = want, true
			case "tagvalue":
				if !hasTag {
					return nil, fmt.Errorf("tagValue needs tagName before it")
				}
				of := tag
				terms = append(terms, func(t *tx, r *record) bool { d := t.doc(r); return tagOf(d, of) == want && hasTagNamed(d, of) })
				hasTag = false
			default:
				terms = append(terms, func(t *tx, r *record) bool { return strings.EqualFold(t.filterField(r, field), want) != negate })
			}
			continue
		}
		if m := filterStart.FindStringSubmatch(term); m != nil {
			prefix := lower(m[2])
			if strings.EqualFold(m[1], "tagName") {
				terms = append(terms, func(t *tx, r *record) bool {
					return slices.ContainsFunc(sortedKeys(sub(t.doc(r).Body, "tags")), func(k string) bool { return strings.HasPrefix(lower(k), prefix) })
				})
				continue
			}
			terms = append(terms, func(t *tx, r *record) bool { return strings.HasPrefix(lower(t.filterField(r, lower(m[1]))), prefix) })
			continue
		}
		m := filterPart.FindStringSubmatch(term)
		if m == nil {
			return nil, fmt.Errorf("the term %q is not understood", term)
		}
		terms = append(terms, func(t *tx, r *record) bool {
			return strings.Contains(lower(t.filterField(r, lower(m[2]))), lower(m[1]))
		})
	}
	if hasTag {
		of := tag
		terms = append(terms, func(t *tx, r *record) bool { return hasTagNamed(t.doc(r), of) })
	}
	return func(t *tx, r *record) bool {
		return !slices.ContainsFunc(terms, func(f resourceTest) bool { return !f(t, r) })
	}, nil
}

func (t *tx) filterField(r *record, field string) string {
	switch field {
	case "resourcetype":
		return r.Type
	case "name":
		return strings.Join(r.id().Names, "/")
	case "location":
		return r.location
	case "resourcegroup":
		return r.id().Group
	case "identity/principalid":
		return str(t.doc(r).Body, "identity", "principalId")
	}
	return ""
}

// tagOf is a tag's value; names of tags have no case.
func tagOf(d *doc, name string) string {
	for k := range sub(d.Body, "tags") {
		if strings.EqualFold(k, name) {
			return str(d.Body, "tags", k)
		}
	}
	return ""
}

func hasTagNamed(d *doc, name string) bool {
	for k := range sub(d.Body, "tags") {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

// listGroups lists the resource groups of the subscription.
func (c *call) listGroups() *Error {
	keep, e := resourceFilter(c.query.Get("$filter"))
	if e != nil {
		return e
	}
	return c.page(func(t *tx) ([]*record, *Error) {
		groups := slices.Collect(t.scan(typeGroup, "/subscriptions/"+c.id.Subscription))
		return slices.DeleteFunc(groups, func(r *record) bool { return !keep(t, r) }), nil
	}, func(t *tx, r *record) any { return t.shown(r, "") })
}

// listResources lists what is in a group or the subscription, without properties.
func (c *call) listResources() *Error {
	keep, e := resourceFilter(c.query.Get("$filter"))
	if e != nil {
		return e
	}
	expand := lower(c.query.Get("$expand"))
	return c.page(func(t *tx) ([]*record, *Error) {
		if e := t.groupThere(c.id); e != nil {
			return nil, e
		}
		scope := "/subscriptions/" + lower(c.id.Subscription)
		if c.id.Group != "" {
			scope = c.id.group().key()
		}
		var out []*record
		for r := range ascend(t.order, scope) {
			if t.tracked(r) && keep(t, r) {
				out = append(out, r)
			}
		}
		return out, nil
	}, func(t *tx, r *record) any {
		d := t.doc(r)
		item := object{"id": d.ID, "name": strings.Join(d.id.Names, "/"), "type": d.Type}
		for _, field := range []string{"location", "tags", "sku", "kind", "zones", "identity", "managedBy", "plan"} {
			if v := d.Body[field]; v != nil {
				item[field] = v
			}
		}
		for field, v := range map[string]any{"createdtime": d.Created.Format(timeForm), "changedtime": d.Changed.Format(timeForm), "provisioningstate": d.state()} {
			if strings.Contains(expand, field) {
				item[map[string]string{"createdtime": "createdTime", "changedtime": "changedTime", "provisioningstate": "provisioningState"}[field]] = v
			}
		}
		return item
	})
}

// timeForm is how ARM writes times.
const timeForm = "2006-01-02T15:04:05.0000000Z"

// tracked says whether lists of resources show a document: it has a location and
// is a resource in its own right.
func (t *tx) tracked(r *record) bool {
	k := t.s.registry.typeOf(r.Type)
	return r.location != "" && !r.scoped && r.Type != typeGroup && (k == nil || !k.Untracked)
}
