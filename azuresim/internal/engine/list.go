package engine

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

// pageSize is the largest number of resources on one page of a list.
const pageSize = 1000

// serveList answers a GET of a collection: in a resource group, in the subscription, or below a
// parent.
func (c *Request) serveList() (e *Error) {
	k := c.Server.Registry.TypeOf(c.ID.FullType())
	if k == nil || k.Internal {
		return c.listParts()
	}
	return c.Page(func(t *Tx) ([]*Record, *Error) {
		if e := t.groupThere(c.ID); e != nil {
			return nil, e
		}
		scope := "/subscriptions/" + c.ID.Subscription
		switch {
		case c.ID.Group != "":
			scope = c.ID.GroupID().String()
		case c.ID.Subscription == "" && c.ID.Scope != nil:
			scope = c.ID.Scope.String()
		case c.ID.Subscription == "":
			scope = ""
		}
		if parent, ok := c.ID.Parent(); ok && len(c.ID.Names) > 0 {
			scope = parent.String()
			if c.ID.Scope == nil && t.Record(parent.Key()) == nil {
				return nil, c.Server.Registry.notFound(parent)
			}
		}
		found := slices.Collect(t.Scan(k.Name, scope))
		if k.Filter != nil {
			found = k.Filter(t, found, c.Query.Get("$filter"))
		}
		return found, nil
	}, func(t *Tx, r *Record) any { return t.Shown(r, c.Query.Get("$expand")) })
}

// Page answers with one page of a list: at most $top entries after the entry that $skiptoken names.
// The order of documents does not change, so a write or delete between two pages moves no other
// document to another page.
func (c *Request) Page(find func(t *Tx) ([]*Record, *Error), show func(t *Tx, r *Record) any) *Error {
	size := pageSize
	if top := c.Query.Get("$top"); top != "" {
		n, err := strconv.Atoi(top)
		if err != nil || n < 1 {
			return BadRequest("InvalidTopInQueryString", "The $top query parameter '%s' is not a positive number.", top)
		}
		size = min(n, pageSize)
	}
	after, err := base64.RawURLEncoding.DecodeString(c.Query.Get("$skiptoken"))
	if err != nil {
		return BadRequest("InvalidSkipToken", "The skip token '%s' is invalid.", c.Query.Get("$skiptoken"))
	}
	out := value.Object{}
	var e *Error
	c.Read(func(t *Tx) {
		var found []*Record
		if found, e = find(t); e != nil {
			return
		}
		from, _ := slices.BinarySearchFunc(found, string(after)+"\x00",
			func(r *Record, key string) int { return strings.Compare(r.Key, key) })
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
			out["nextLink"] = c.next_(found[to-1].Key)
		}
	})
	if e != nil {
		return e
	}
	c.Reply(http.StatusOK, out)
	return nil
}

// next_ returns the URL of the page that begins after a key.
func (c *Request) next_(key string) string {
	q := url.Values{}
	for k, v := range c.Query {
		q[k] = v
	}
	q.Set("$skiptoken", base64.RawURLEncoding.EncodeToString([]byte(key)))
	return "https://" + c.Host + c.HTTP.URL.EscapedPath() + "?" + q.Encode()
}

// listParts answers a GET of a collection of children that are parts of their parent's document.
func (c *Request) listParts() (e *Error) {
	parent, ok := c.ID.Parent()
	k := c.Server.Registry.TypeOf(parent.FullType())
	if !ok || k == nil {
		if e := neverKnown(c); e != nil {
			return e
		}
		return ErrUnsupported("the resource type " + c.ID.FullType())
	}
	var out []any
	known := false
	c.Read(func(t *Tx) {
		if e = t.groupThere(c.ID); e != nil {
			return
		}
		d := t.Find(parent.Key())
		for part := range k.Parts {
			if value.Lower(part) == value.Lower(c.ID.Tail()) {
				if known = true; d != nil {
					out = value.List(value.Items(value.Props(t.View(d, "")), part))
				}
			}
		}
		if d == nil && known {
			e = c.Server.Registry.notFound(parent)
		}
	})
	switch {
	case e != nil:
		return e
	case !known:
		return ErrUnsupported("the resource type " + c.ID.FullType())
	}
	c.Reply(http.StatusOK, value.Object{"value": out})
	return nil
}

// The forms of a term in a $filter over resources that ARM accepts.
var (
	filterCompare = regexp.MustCompile(`(?i)^(resourceType|name|location|resourceGroup|tagName|tagValue|` +
		`identity/principalId) (eq|ne) '((?:[^']|'')*)'$`)
	filterStart = regexp.MustCompile(`(?i)^startswith\((tagName|name|resourceType), ?'((?:[^']|'')*)'\)$`)
	filterPart  = regexp.MustCompile(`(?i)^substringof\('((?:[^']|'')*)', ?(name|resourceGroup)\)$`)
	filterAnd   = regexp.MustCompile(`(?i) and `)
	filterOr    = regexp.MustCompile(`(?i) or `)
)

// resourceTest reports whether a record matches a $filter.
type resourceTest func(t *Tx, r *Record) bool

// resourceFilter parses a $filter over resources: terms joined by "and" form groups, which are
// joined by "or".
func resourceFilter(text string) (resourceTest, *Error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return func(*Tx, *Record) bool { return true }, nil
	}
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = text[1 : len(text)-1]
	}
	var either []resourceTest
	for _, alternative := range filterOr.Split(text, -1) {
		all, err := conjunction(alternative)
		if err != nil {
			return nil, BadRequest("InvalidFilterInQueryString", "Invalid $filter '%s' specified in the query string: %s.", text, err)
		}
		either = append(either, all)
	}
	return func(t *Tx, r *Record) bool {
		return slices.ContainsFunc(either, func(f resourceTest) bool { return f(t, r) })
	}, nil
}

func conjunction(text string) (resourceTest, error) {
	var terms []resourceTest
	tag, hasTag := "", false
	for _, term := range filterAnd.Split(text, -1) {
		term = strings.TrimSpace(term)
		if m := filterCompare.FindStringSubmatch(term); m != nil {
			field, negate, want := value.Lower(m[1]), strings.EqualFold(m[2], "ne"), strings.ReplaceAll(m[3], "''", "'")
			switch field {
			case "tagname":
				tag, hasTag = want, true
			case "tagvalue":
				if !hasTag {
					return nil, fmt.Errorf("tagValue needs tagName before it")
				}
				of := tag
				terms = append(terms, func(t *Tx, r *Record) bool { d := t.Doc(r); return tagOf(d, of) == want && hasTagNamed(d, of) })
				hasTag = false
			default:
				terms = append(terms, func(t *Tx, r *Record) bool { return strings.EqualFold(filterField(t, r, field), want) != negate })
			}
			continue
		}
		if m := filterStart.FindStringSubmatch(term); m != nil {
			prefix := value.Lower(m[2])
			if strings.EqualFold(m[1], "tagName") {
				terms = append(terms, func(t *Tx, r *Record) bool {
					return slices.ContainsFunc(value.SortedKeys(value.Sub(t.Doc(r).Body, "tags")),
						func(k string) bool { return strings.HasPrefix(value.Lower(k), prefix) })
				})
				continue
			}
			terms = append(terms, func(t *Tx, r *Record) bool {
				return strings.HasPrefix(value.Lower(filterField(t, r, value.Lower(m[1]))), prefix)
			})
			continue
		}
		m := filterPart.FindStringSubmatch(term)
		if m == nil {
			return nil, fmt.Errorf("the term %q is not understood", term)
		}
		terms = append(terms, func(t *Tx, r *Record) bool {
			return strings.Contains(value.Lower(filterField(t, r, value.Lower(m[2]))), value.Lower(m[1]))
		})
	}
	if hasTag {
		of := tag
		terms = append(terms, func(t *Tx, r *Record) bool { return hasTagNamed(t.Doc(r), of) })
	}
	return func(t *Tx, r *Record) bool {
		return !slices.ContainsFunc(terms, func(f resourceTest) bool { return !f(t, r) })
	}, nil
}

func filterField(t *Tx, r *Record, field string) string {
	switch field {
	case "resourcetype":
		return r.Type
	case "name":
		return strings.Join(r.Parsed().Names, "/")
	case "location":
		return r.Location
	case "resourcegroup":
		return r.Parsed().Group
	case "identity/principalid":
		return value.Str(t.Doc(r).Body, "identity", "principalId")
	}
	return ""
}

// tagOf returns a tag's value; names of tags are not case-sensitive.
func tagOf(d *Doc, name string) string {
	for k := range value.Sub(d.Body, "tags") {
		if strings.EqualFold(k, name) {
			return value.Str(d.Body, "tags", k)
		}
	}
	return ""
}

func hasTagNamed(d *Doc, name string) bool {
	for k := range value.Sub(d.Body, "tags") {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

// ListGroups answers with the resource groups of the subscription.
func (c *Request) ListGroups() *Error {
	keep, e := resourceFilter(c.Query.Get("$filter"))
	if e != nil {
		return e
	}
	return c.Page(func(t *Tx) ([]*Record, *Error) {
		groups := slices.Collect(t.Scan(TypeGroup, "/subscriptions/"+c.ID.Subscription))
		return slices.DeleteFunc(groups, func(r *Record) bool { return !keep(t, r) }), nil
	}, func(t *Tx, r *Record) any { return t.Shown(r, "") })
}

// ListResources answers with the resources of a group or of the subscription, without their
// properties.
func (c *Request) ListResources() *Error {
	keep, e := resourceFilter(c.Query.Get("$filter"))
	if e != nil {
		return e
	}
	expand := c.Query.Get("$expand")
	return c.Page(func(t *Tx) ([]*Record, *Error) {
		if e := t.groupThere(c.ID); e != nil {
			return nil, e
		}
		scope := "/subscriptions/" + value.Lower(c.ID.Subscription)
		if c.ID.Group != "" {
			scope = c.ID.GroupID().Key()
		}
		var out []*Record
		for r := range Ascend(t.Order, scope) {
			if tracked(t, r) && keep(t, r) {
				out = append(out, r)
			}
		}
		return out, nil
	}, func(t *Tx, r *Record) any {
		d := t.Doc(r)
		item := value.Object{"id": d.ID, "name": strings.Join(d.Parsed.Names, "/"), "type": d.Type}
		for _, field := range []string{"location", "tags", "sku", "kind", "zones", "identity", "managedBy", "plan"} {
			if v := d.Body[field]; v != nil {
				item[field] = v
			}
		}
		for field, v := range map[string]any{"createdTime": d.Created.Format(TimeForm),
			"changedTime": d.Changed.Format(TimeForm), "provisioningState": d.State()} {
			if Expands(expand, field) {
				item[field] = v
			}
		}
		return item
	})
}

// TimeForm is the time format of ARM's answers.
const TimeForm = "2006-01-02T15:04:05.0000000Z"

// tracked reports whether lists of resources contain a document: it has a location and is a
// resource in its own right.
func tracked(t *Tx, r *Record) bool {
	k := t.Server.Registry.TypeOf(r.Type)
	return r.Location != "" && !r.scoped && r.Type != TypeGroup && (k == nil || !k.Untracked)
}
