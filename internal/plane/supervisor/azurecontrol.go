package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"casement.dev/casement/azuresim/fault"

	"casement.dev/casement/internal/sim/artifact"
	"casement.dev/casement/internal/sim/host"
)

// maxSnapshot is the maximum size of a snapshot to restore, 1 GiB.
const maxSnapshot = 1 << 30

// controlAzure adds the handlers that control the local Azure to the control socket.
func (s *supervisor) controlAzure(mux *http.ServeMux) {
	handle := func(pattern string, fn func(a *azure, w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			azure := s.azure
			s.mu.Unlock()
			if azure == nil {
				http.Error(w, "the local Azure has not started yet", http.StatusServiceUnavailable)
				return
			}
			if err := fn(azure, w, r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	handle("GET /azure/log", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			return fmt.Errorf("after: %w", err)
		}
		writeJSON(w, a.server.CallsAfter(after))
		return nil
	})
	handle("GET /azure/resources", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		writeJSON(w, a.server.Inventory())
		return nil
	})
	handle("GET /azure/documents", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		out := map[string][]json.RawMessage{}
		for _, t := range r.URL.Query()["type"] {
			out[t] = a.server.List(t)
		}
		writeJSON(w, out)
		return nil
	})
	handle("GET /azure/pins", func(_ *azure, w http.ResponseWriter, r *http.Request) error {
		out := map[string]string{}
		for _, address := range r.URL.Query()["address"] {
			if data, ok := artifact.Download(address); ok {
				sum := sha256.Sum256(data)
				out[address] = hex.EncodeToString(sum[:])
			}
		}
		writeJSON(w, out)
		return nil
	})
	handle("GET /azure/faults", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		writeJSON(w, a.server.Faults().List())
		return nil
	})
	handle("POST /azure/faults", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		var rule fault.Rule
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&rule); err != nil {
			return fmt.Errorf("read the fault: %w", err)
		}
		if err := host.CheckGuestFault(rule); err != nil {
			return err
		}
		rule, err := a.server.Faults().Add(rule)
		if err != nil {
			return err
		}
		a.machines.Inject(rule)
		writeJSON(w, rule)
		return nil
	})
	handle("DELETE /azure/faults", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		ids, before := r.URL.Query()["id"], a.server.Faults().List()
		if err := a.server.Faults().Clear(ids...); err != nil {
			return err
		}
		for _, rule := range before {
			if len(ids) == 0 || slices.Contains(ids, rule.ID) {
				a.machines.Recover(rule)
			}
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	controlDomains(handle)
	handle("POST /azure/reset", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		if err := a.server.Reset(); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	handle("GET /azure/snapshot", func(a *azure, w http.ResponseWriter, _ *http.Request) error { return a.server.Snapshot(w) })
	handle("POST /azure/restore", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		if err := a.server.Restore(io.LimitReader(r.Body, maxSnapshot)); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}
