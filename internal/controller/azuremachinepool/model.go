package azuremachinepool

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/record"
)

// modelAnnotation has, on an AzureMachinePool, the model of new instances and, on an AzureMachinePoolMachine, the model
// from which its instance was created. It covers the parts that Azure does not show with an instance: digests of the
// bootstrap data, the extensions and the interfaces.
const modelAnnotation = "infrastructure.cluster.x-k8s.io/model"

// note records the model of new instances before Azure creates them. Instances without a record have the previous model
// or, if there is none, as in an adopted pool, this one. The model stays the same during a write, because not all
// instances that the write creates have been read yet.
func (r *Reconciler) note(ctx context.Context, s *scope, set desired.Resource) error {
	var err error
	if s.model, err = r.digests.model(s.setID(), desired.HiddenModel(set), bootdata.Meaning(s.input.rendered)); err != nil {
		return fmt.Errorf("digest the model of AzureMachinePool %s: %w", s.pool.Name, err)
	}
	was := s.pool.Annotations[modelAnnotation]
	if was == s.model || record.Open(*s.Operations(), s.setID()) {
		return nil
	}
	for i := range s.members {
		if m := &s.members[i]; was != "" && m.instance != nil {
			if err := r.present(ctx, s, m); err != nil {
				return err
			}
		}
	}
	return record.Annotate(ctx, r.Client, s.pool, modelAnnotation, s.model)
}

// changed returns the names of the parts in which two models differ. It ignores a part that one of them lacks, such as
// bootstrap data that cannot be read.
func changed(was, is string) []string {
	if was == is {
		return nil
	}
	old := parts(was)
	var out []string
	for name, digest := range parts(is) {
		if old[name] != "" && old[name] != digest {
			out = append(out, strings.ReplaceAll(name, "-", " "))
		}
	}
	slices.Sort(out)
	return out
}

// parts returns the digests of a model by name of the part.
func parts(model string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Fields(model) {
		name, digest, _ := strings.Cut(part, "=")
		out[name] = digest
	}
	return out
}

// digests computes models. It keeps the last model of each set, because the digest is slow on purpose: this protects a
// weak password in bootstrap data from being guessed.
type digests struct {
	sets sync.Map // *digested by the ID of the scale set
}

type digested struct {
	of    [sha256.Size]byte
	model string
}

// rounds is the number of rounds of a digest; together they take some hundredths of a second.
const rounds = 100_000

// model returns the digests of a set's extensions and interfaces and of its bootstrap data;
// empty data has none.
func (d *digests) model(set string, hidden desired.Hidden, data []byte) (string, error) {
	extensions, err := json.Marshal(hidden.Extensions)
	if err != nil {
		return "", err
	}
	interfaces, err := json.Marshal(hidden.Interfaces)
	if err != nil {
		return "", err
	}
	all := []struct {
		name string
		data []byte
	}{{"bootstrap-data", data}, {"extensions", extensions}, {"interfaces", interfaces}}
	h := sha256.New()
	for _, part := range all {
		fmt.Fprintf(h, "%d ", len(part.data))
		h.Write(part.data)
	}
	of := [sha256.Size]byte(h.Sum(nil))
	if last, ok := d.sets.Load(set); ok {
		if last, ok := last.(digested); ok && last.of == of {
			return last.model, nil
		}
	}
	var words []string
	for _, part := range all {
		if len(part.data) == 0 {
			continue
		}
		key, err := pbkdf2.Key(sha256.New, string(part.data), []byte(strings.ToLower(set)), rounds, 8)
		if err != nil {
			return "", err
		}
		words = append(words, part.name+"="+hex.EncodeToString(key))
	}
	model := strings.Join(words, " ")
	d.sets.Store(set, digested{of, model})
	return model, nil
}

// forget drops the cached model of a set that does not exist any more.
func (d *digests) forget(set string) { d.sets.Delete(set) }
