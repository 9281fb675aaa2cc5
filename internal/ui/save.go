package ui

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/ui/model"
)

// Bounds of a saved report: how many objects in trouble are explained in it, and how much
// of each one's boot log it holds.
const (
	maxExplained = 60
	maxConsole   = 32 << 10
)

// saved is the data that a saved page contains in place of a server.
type saved struct {
	At       time.Time              `json:"at"`
	Model    model.Model            `json:"model"`
	Answers  map[string]walk.Answer `json:"answers"`
	Consoles map[string]string      `json:"consoles"`
	// Account is nil where it could not be read.
	Account *model.Account `json:"account,omitempty"`
}

// Save writes the page as one file that needs nothing else: the model, the answers about
// clusters and objects in trouble, and the ends of their boot logs.
func Save(ctx context.Context, source Source, now time.Time, w io.Writer) error {
	s := saved{At: now, Model: source.Read(ctx), Answers: map[string]walk.Answer{}, Consoles: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(s.Model)) {
		if len(s.Answers) == maxExplained || ctx.Err() != nil {
			break
		}
		if strings.HasPrefix(key, "object/") || strings.HasPrefix(key, "pod/") {
			s.explain(ctx, source, key)
		}
	}
	if account, err := source.Account(ctx); err == nil { // the page says that it is not there
		account = account.Sorted()
		s.Account = &account
	}
	data, err := s.clean()
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return page.Execute(w, view{Saved: true, Nonce: rand.Text(), Style: template.CSS(style),
		Script: template.JS(script), Data: template.JS(data)})
}

// clean returns the JSON without secrets. The parts have been cleaned where they were read; a report leaves the machine, so
// that the whole passes what an archive for support does.
func (s saved) clean() ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return nil, err
	}
	return json.Marshal(redact.Object(plain))
}

// explain adds the answer about an object in trouble, and the boot log of a machine. An
// answer that cannot be had is left out, and the page says so.
func (s *saved) explain(ctx context.Context, source Source, key string) {
	var row struct{ Kind, Cluster, State string }
	if json.Unmarshal(s.Model[key], &row) != nil || row.State != "bad" && row.State != "wait" {
		return
	}
	at := Selection{Key: key, Cluster: row.Cluster}
	if answer, err := source.Why(ctx, at); err == nil {
		s.Answers[key] = model.Redacted(answer)
	}
	if row.Kind != "Machine" {
		return
	}
	var log bytes.Buffer
	if err := source.Console(ctx, at, false, &log); err == nil {
		text := log.Bytes()
		s.Consoles[key] = strings.ToValidUTF8(string(text[max(0, len(text)-maxConsole):]), "")
	}
}
