package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"casement.dev/casement/azuresim/internal/value"
)

// snapshotForm is the version of the snapshot format.
const snapshotForm = 1

// snapshot is the whole state of the emulator, including secrets, without the disks of
// guests.
type snapshot struct {
	Form       int          `json:"casementLocalAzure"`
	Resources  []*Record    `json:"resources"`
	Operations []*Operation `json:"operations"`
}

// Snapshot writes the state as JSON. The state contains custom data, passwords and secrets: protect
// the snapshot as you protect them.
func (s *Server) Snapshot(w io.Writer) error {
	out := snapshot{Form: snapshotForm, Resources: []*Record{}, Operations: []*Operation{}}
	var err error
	s.Read(func(t *Tx) {
		for r := range Ascend(t.Order, "") {
			full := *r
			err = cmp.Or(err, t.encoded(r, func(body, hidden []byte) error {
				full.Body, full.Hidden = slices.Clone(body), slices.Clone(hidden)
				return nil
			}))
			out.Resources = append(out.Resources, &full)
		}
		for _, k := range value.SortedKeys(t.ops) {
			out.Operations = append(out.Operations, t.ops[k])
		}
	})
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(out)
}

// Restore replaces the state by a snapshot. Guests of VMs that were running boot again from
// their custom data; operations in progress continue.
func (s *Server) Restore(r io.Reader) error {
	var in snapshot
	if err := json.NewDecoder(r).Decode(&in); err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	if in.Form != snapshotForm {
		return fmt.Errorf("read the snapshot: it is no snapshot of a local Azure of form %d", snapshotForm)
	}
	for _, r := range in.Resources {
		if r == nil {
			return fmt.Errorf("read the snapshot: a resource is null")
		}
		if err := r.compact(); err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
		if err := r.complete(s.Registry); err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
	}
	return s.replace(in.Resources, in.Operations)
}

// Reset deletes all resources and operations, and stops all guests.
func (s *Server) Reset() error { return s.replace(nil, nil) }

// replace replaces the whole state.
func (s *Server) replace(records []*Record, ops []*Operation) error {
	var after []func() error
	err := s.Update(func(t *Tx) error {
		for _, p := range s.Registry.providers {
			if p.Clear != nil {
				after = append(after, p.Clear(t))
			}
		}
		for _, id := range value.SortedKeys(t.ops) {
			t.Server.running.cancel(id)
			t.dropOp(id)
		}
		for _, r := range t.Below("") {
			t.DropOne(r.Key)
		}
		for _, r := range records {
			t.file(r)
		}
		for _, op := range ops {
			t.putOp(op)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range after {
		if err := f(); err != nil {
			return err
		}
	}
	s.resume()
	return nil
}
