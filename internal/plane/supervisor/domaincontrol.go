package supervisor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/domain"
)

// controlDomains adds the handlers that manage the simulated domains.
func controlDomains(handle func(pattern string, fn func(a *azure, w http.ResponseWriter, r *http.Request) error)) {
	handle("GET /azure/domains", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		writeJSON(w, a.domains.List())
		return nil
	})
	handle("POST /azure/domains", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		var d domain.Domain
		if err := decode(r, &d); err != nil {
			return err
		}
		if err := a.domains.Add(d); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	handle("DELETE /azure/domains/{name}", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		if err := a.domains.Remove(r.PathValue("name")); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	handle("PUT /azure/domains/{name}/accounts", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		var g plane.ManagedAccount
		if err := decode(r, &g); err != nil {
			return err
		}
		if err := a.domains.SetAccount(r.PathValue("name"), domain.Account(g)); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// decode decodes the body of a request; its error does not contain the body.
func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(into); err != nil {
		return fmt.Errorf("read the request: it is no JSON of the expected form")
	}
	return nil
}
