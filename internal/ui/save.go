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

// Limits of a saved report: the number of objects with problems that it explains, and the number of bytes of each boot log.
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
	// Account is nil if it could not be read.
	Account *model.Account `json:"account,omitempty"`
}

// Save writes the page as one self-contained file: the model, the answers about clusters and objects with problems, and
// the ends of their boot logs.
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
	if account, err := source.Account(ctx); err == nil { // otherwise the page shows that it is missing
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

// clean returns the JSON without secrets. The parts have been cleaned when they were read; because a report leaves this
// computer, the whole is also cleaned like an archive for support.
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

// explain adds the answer about an object with a problem, and the boot log of a machine. It omits an answer that cannot
// be determined; the page shows that it is missing.
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
