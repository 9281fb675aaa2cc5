package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// TestDesiredResourcesLive: each resource of the golden files of desired is created with one write, is then
// left alone, and is deleted.
func TestDesiredResourcesLive(t *testing.T) {
	files, err := filepath.Glob("../desired/testdata/*.golden.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var resources []desired.Resource
			if err := json.Unmarshal(data, &resources); err != nil {
				t.Fatal(err)
			}
			inBubble(t, func(t *testing.T) { live(t, resources) })
		})
	}
}

func live(t *testing.T, resources []desired.Resource) {
	a := newAzure()
	a.lasts = 1
	p := newPlanner(t, a)
	in := Input{Resources: resources, Owner: ownerOf(resources)}
	others := a.seed(resources)
	settle := func(pass func() Outcome) Outcome {
		var out Outcome
		for range 40 {
			out = pass()
			if in.Tokens = out.Tokens; out.State == Done {
				return out
			}
			later(out.RequeueAfter)
		}
		return out
	}
	if out := settle(func() Outcome { return p.Apply(t.Context(), in) }); out.State != Done {
		t.Fatalf("not made: %s", states(out))
	}
	writes := map[string]int{}
	for call := range strings.SplitSeq(a.took(), ", ") {
		if strings.HasPrefix(call, "P") && call != "POLL" {
			writes[call]++
		}
	}
	for call, n := range writes {
		if n > sharing(resources, call[strings.Index(call, " ")+1:]) {
			t.Errorf("%s was sent %d times", call, n)
		}
	}
	later(10 * time.Minute)
	if out := p.Apply(t.Context(), in); out.Writes != 0 || out.State != Done {
		t.Errorf("not left alone: %s", states(out))
	}
	if out := settle(func() Outcome { return p.Delete(t.Context(), in) }); out.State != Done {
		t.Fatalf("not deleted: %s", states(out))
	}
	if len(a.docs) != others {
		t.Errorf("%d resources are there, %d are not casement's", len(a.docs), others)
	}
}

// seed creates the resources that the plan expects to exist: those with policy Observe, and the parents of
// child resources that belong to other objects. It returns their number.
func (a *azure) seed(resources []desired.Resource) int {
	planned := map[string]bool{}
	for _, r := range resources {
		planned[arm.Key(r.ID)] = r.Policy != desired.Observe
	}
	for _, r := range resources {
		ids := []string{r.ID}
		if parent := arm.ParentOf(r.ID); parent != "" {
			ids = []string{parent, r.ID}
		}
		for _, id := range ids {
			if key := arm.Key(id); !planned[key] && a.docs[key] == nil {
				a.keep(key, map[string]any{"id": id, "name": arm.NameOf(id), "properties": map[string]any{}})
			}
		}
	}
	return len(a.docs)
}

// sharing returns the number of resources with a name.
func sharing(resources []desired.Resource, name string) int {
	n := 0
	for _, r := range resources {
		if arm.NameOf(r.ID) == name {
			n++
		}
	}
	return n
}

// ownerOf returns the ownership tag of the resources.
func ownerOf(resources []desired.Resource) Owner {
	for _, r := range resources {
		body, _ := r.Body.(map[string]any)
		for key, value := range tagsOf(body) {
			if strings.HasPrefix(key, "sigs.k8s.io_cluster-api-provider-azure_cluster_") {
				return Owner{Key: key, Value: value.(string)}
			}
		}
	}
	return Owner{}
}
