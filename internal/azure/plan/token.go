package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// Verb is the kind of an operation on a resource.
type Verb string

const (
	Put    Verb = "PUT"
	Patch  Verb = "PATCH"
	Delete Verb = "DELETE"
	Post   Verb = "POST"
)

// Token is the state of one resource that a pass leaves for the next pass: an open operation, or the last failure and
// the time of the next attempt. It contains no secrets.
type Token struct {
	// ID is the ID of the resource, and Verb the method of the request that began the operation.
	ID   string `json:"id"`
	Verb Verb   `json:"verb"`
	// Resume is the SDK's resume token of an open operation, or "".
	Resume string `json:"resume,omitempty"`
	// Begun is the time at which the operation began or failed.
	Begun time.Time `json:"begun"`
	// NotBefore is the earliest time of the next call to Azure.
	NotBefore time.Time `json:"notBefore"`
	// Hash is the hash of the body that was sent: a different body is sent without a pause.
	Hash string `json:"hash,omitempty"`
	// Attempts is the number of consecutive failures since Since.
	Attempts int       `json:"attempts,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	// Again is true if the resource is created again once its deletion has ended.
	Again bool `json:"again,omitempty"`
	// Class, Code and Message describe the last failure.
	Class   arm.Class `json:"class,omitempty"`
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
}

// forgetAfter is the age at which the token of a resource that is no longer planned is dropped. Azure forgets
// operations after some hours.
const forgetAfter = 24 * time.Hour

// Polled reports whether t differs from was only as a poll changes a token: the same open operation, with another state
// and time of the next poll. The planner remembers such changes, so they need not be stored; a planner without them
// only polls earlier.
func (t Token) Polled(was Token) bool {
	if t.ID != was.ID || t.Resume == "" || !arm.SamePoll(t.Resume, was.Resume) {
		return false
	}
	t.Resume, t.NotBefore = was.Resume, was.NotBefore
	// Times in a token from an object's status have another location.
	t.Begun, t.Since = t.Begun.UTC(), t.Since.UTC()
	was.Begun, was.Since = was.Begun.UTC(), was.Since.UTC()
	return t == was
}

func (t Token) empty() bool { return t.Verb == "" }

// Creating reports whether the resource may be missing for a while: its create is in progress, or failed for a
// temporary reason and is repeated.
func (t Token) Creating() bool {
	return t.Again || t.Verb == Put && (t.Resume != "" || t.Class != "" && !terminal(t.Class))
}

// carried returns the token with which the next write of the resource begins: the number and start of temporary
// failures and, for a delete before another create, their cause.
func (t Token) carried(verb Verb) Token {
	switch {
	case t.Class == "" || terminal(t.Class):
		return Token{}
	case t.Again && verb == Delete:
		return Token{Attempts: t.Attempts, Since: t.Since, Again: true, Class: t.Class, Code: t.Code, Message: t.Message}
	}
	return Token{Attempts: t.Attempts, Since: t.Since}
}

func compareTokens(a, b Token) int { return cmp.Compare(arm.Key(a.ID), arm.Key(b.ID)) }

// sortTokens separates the tokens of planned resources from the other tokens.
func (p *Planner) sortTokens(in Input) (planned map[string]Token, foreign []Token) {
	planned = map[string]Token{}
	for _, r := range in.Resources {
		planned[arm.Key(r.ID)] = Token{}
	}
	for _, t := range in.Tokens {
		if _, ok := planned[arm.Key(t.ID)]; ok {
			planned[arm.Key(t.ID)] = t
		} else if p.now().Sub(t.Begun) < forgetAfter {
			foreign = append(foreign, t)
		}
	}
	return planned, foreign
}

// recall returns the token of a resource: the object's token or, if the planner knows a later one, the planner's. The
// object comes from a cache that may not yet show that an operation was begun, polled or ended.
func (p *Planner) recall(r desired.Resource, own Token) Token {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.latest[arm.Key(r.ID)]
	switch {
	case !ok:
		return own
	case own.Resume == "" && last.token.Resume != "" && last.token.Begun.After(own.Begun):
		return last.token
	case own.Resume != "" && !last.begun.Before(own.Begun):
		return last.token
	}
	return own
}

// latest is the most recent operation of a resource.
type latest struct {
	// begun is the time at which the operation began; token is the token of the last pass that saw the operation.
	begun time.Time
	token Token
}

// remember stores the operations of a pass for recall.
func (p *Planner) remember(items []*item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, it := range items {
		key := arm.Key(it.ID)
		switch {
		case it.token.Resume != "":
			p.latest[key] = latest{it.token.Begun, it.token}
		case it.was.Resume != "":
			p.latest[key] = latest{it.was.Begun, it.token}
		}
	}
	if len(p.latest) > manyOperations {
		maps.DeleteFunc(p.latest, func(_ string, l latest) bool { return l.token.Resume == "" && p.now().Sub(l.begun) > operationAge })
	}
}

// manyOperations is the number of resources above which ended operations that began more than operationAge ago are
// dropped: no cache is that old.
const (
	manyOperations = 1024
	operationAge   = time.Hour
)

// hashOf returns the hash of a body without fields that differ in every pass.
func hashOf(body any) string {
	doc, err := document(body)
	if err != nil {
		return ""
	}
	if os, ok := lookup(doc, "properties", "osProfile").(map[string]any); ok {
		delete(os, "adminPassword")
	}
	// Keys of maps are marshalled in order; a document contains no other unordered types.
	data, err := json.Marshal(doc)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// document returns a value as plain JSON: maps, slices, strings, numbers and booleans. The marshallers of SDK models
// omit unset fields.
func document(v any) (map[string]any, error) {
	data, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	var doc map[string]any
	err := json.Unmarshal(data, &doc)
	return doc, err
}

// lookup returns the value at a path of keys in a document, or nil.
func lookup(doc any, keys ...string) any {
	for _, k := range keys {
		m, ok := doc.(map[string]any)
		if !ok {
			return nil
		}
		doc = m[k]
	}
	return doc
}
