package privilege

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// rights lists every right of the manager, and how it is known to be needed: "audit"
// when TestUsed sees it in the API server's log, or else the reason.
//
//go:embed kubernetes.tsv
var rights string

// seen is the evidence of a right that the audit log contains.
const seen = "audit"

// listed returns the rights of the list with their evidence.
func listed(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(rights) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			t.Fatalf("kubernetes.tsv: %q has %d fields, not 4", line, len(fields))
		}
		out[right(fields[0], fields[1], fields[2])] = fields[3]
	}
	return out
}

// right returns a text for a right: group, resource with subresource, verb.
func right(group, resource, verb string) string { return group + " " + resource + " " + verb }

// granted returns the rights of the generated roles.
func granted(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var role rbacv1.ClusterRole // it has the fields of a Role
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						out = append(out, right(group, resource, verb))
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestRole checks that the roles grant exactly the listed rights.
func TestRole(t *testing.T) {
	var want []string
	for r := range listed(t) {
		want = append(want, r)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, granted(t)); diff != "" {
		t.Errorf("kubernetes.tsv and config/rbac/role.yaml differ (-listed +granted); is the right needed, and where is it used?\n%s", diff)
	}
	for _, r := range granted(t) {
		if strings.Contains(r, "*") {
			t.Errorf("%s grants more than it says", r)
		}
	}
}

// audited returns the rights that the manager used according to the API server's log, and the
// requests that were refused.
func audited(t *testing.T, home string) (used, refused []string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(home, "management", "log", "audit*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no audit log: %v, %v", logs, err)
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var event struct {
				Verb, RequestURI string
				ObjectRef        *struct{ APIGroup, Resource, Subresource string }
				Annotations      map[string]string
			}
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Fatal(err)
			}
			if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
				refused = append(refused, event.Verb+" "+event.RequestURI)
			}
			if o := event.ObjectRef; o != nil {
				resource := strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/")
				used = append(used, right(o.APIGroup, resource, event.Verb))
			}
		}
	}
	slices.Sort(used)
	slices.Sort(refused)
	return slices.Compact(used), slices.Compact(refused)
}

// checkAudit compares the audit log with the list.
func checkAudit(t *testing.T, home string) {
	t.Helper()
	used, refused := audited(t, home)
	for _, r := range refused {
		t.Errorf("the API server refused %s: the role lacks it", r)
	}
	list := listed(t)
	for _, r := range used {
		switch how, ok := list[r]; {
		case !ok:
			t.Errorf("%s is used and not in kubernetes.tsv", r)
		case how != seen:
			t.Errorf("%s is used: say %q in kubernetes.tsv instead of %q", r, seen, how)
		}
	}
	for r, how := range list {
		if how == seen && !slices.Contains(used, r) {
			t.Errorf("%s is not used: take it from the role, or say in kubernetes.tsv why it is needed", r)
		}
	}
}
