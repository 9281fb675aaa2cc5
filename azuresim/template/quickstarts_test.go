package template

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/testing/golden"
)

// quickstart is one public template with the recorded expansion of Azure's engine.
type quickstart struct {
	repo, path string
	parameters *datum.Object
	want       []prediction
}

// prediction is the type, name and hash of one predicted resource.
type prediction struct{ typ, name, hash string }

func quickstarts(t *testing.T) []quickstart {
	t.Helper()
	var out []quickstart
	for line := range strings.SplitSeq(strings.TrimSpace(string(unpacked(t, "quickstarts.tsv.gz"))), "\n") {
		f := strings.Split(line, "\t")
		if f[0] == "repo" {
			continue
		}
		q := quickstart{repo: f[0], path: f[1], parameters: &datum.Object{}}
		given, err := datum.DecodeObject([]byte(f[3]))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range given.All() {
			q.parameters.Set(k, datum.New("value", v))
		}
		list, err := datum.Decode([]byte(f[6]))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.([]any) {
			p := e.([]any)
			q.want = append(q.want, prediction{p[0].(string), p[1].(string), p[2].(string)})
		}
		out = append(out, q)
	}
	return out
}

// hash returns the SHA-256 of a resource in the form of the recorded hashes: without its ID, and
// with each later evaluated text replaced.
func hash(o *datum.Object) string {
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case datum.Later:
			return "<later>"
		case string:
			if callText.MatchString(v) {
				return "<later>"
			}
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = strip(e)
			}
			return out
		case *datum.Object:
			keys := slices.Clone(v.Keys())
			slices.Sort(keys)
			out := &datum.Object{}
			for _, k := range keys {
				e, _ := v.Get(k)
				out.Set(k, strip(e))
			}
			return out
		}
		return v
	}
	r := strip(o).(*datum.Object)
	out := &datum.Object{}
	for k, v := range r.All() {
		if k != "id" {
			out.Set(k, v)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(datum.Encode(out)))
}

// TestQuickstarts expands the public templates whose repositories are in the directory
// $QUICKSTARTS, as OWNER/NAME at the commits that testdata names.
func TestQuickstarts(t *testing.T) {
	dir := os.Getenv("QUICKSTARTS")
	if dir == "" {
		t.Skip("QUICKSTARTS names no directory with the public repositories")
	}
	right, all := 0, quickstarts(t)
	for _, q := range all {
		if why := q.judge(t, dir); why != "" {
			t.Errorf("%s %s: %s", q.repo, q.path, why)
		} else {
			right++
		}
	}
	t.Logf("%d of %d expand as Azure's engine does", right, len(all))
}

func (q quickstart) judge(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, q.repo, q.path))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := datum.DecodeObject(data)
	if err != nil {
		return err.Error()
	}
	scope := "resourceGroup"
	if strings.Contains(strings.ToLower(raw.Text("$schema")), "subscriptiondeploymenttemplate") {
		scope = "subscription"
	}
	tmpl, err := New(raw, q.parameters, recordedIn(scope))
	if err != nil {
		return err.Error()
	}
	p, err := tmpl.Predict()
	if err != nil {
		return err.Error()
	}
	var have []prediction
	bodies := map[prediction]*datum.Object{}
	for _, r := range p.Resources {
		pr := prediction{r.Text("type"), r.Text("name"), hash(r)}
		if callText.MatchString(pr.name) {
			pr.name = "<later>"
		}
		have = append(have, pr)
		bodies[pr] = r
	}
	var why []string
	left := slices.Clone(have)
	for _, w := range q.want {
		if i := slices.Index(left, w); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		why = append(why, "missing "+w.typ+" "+w.name)
	}
	for _, l := range left {
		why = append(why, "got "+l.typ+" "+l.name+" "+string(datum.Encode(bodies[l])))
	}
	return strings.Join(why, "\n    ")
}

// TestDocumentedFunctions compares the page about the functions with their table.
func TestDocumentedFunctions(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Functions of templates\n\nMade by `make generate` from the table that checks their arguments " +
		"(`azuresim/template/functions.tsv`). An argument with a question mark may be left out, one with three dots repeated. Functions " +
		"whose name begins with `list` ask a resource, as `listKeys` does, and are known when it is deployed. What is not here is refused " +
		"by name before anything is made.\n\n| function | yields |\n|---|---|\n")
	for signature, does := range Documented() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(signature, "|", `\|`), does)
	}
	golden.Compare(t, "../../docs/reference/template-functions.md", []byte(b.String()))
}
