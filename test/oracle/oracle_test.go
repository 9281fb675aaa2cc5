package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/kube"
	"casement.dev/casement/internal/kube/kubetest"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

// variations of each rule, and random pods of the whole family.
const (
	variations = 20
	pods       = 150
	minor      = 36
)

var api rest.Interface

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kube.Plane) error {
		cfg := rest.CopyConfig(plane.Config())
		cfg.QPS = -1
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		api = client.CoreV1().RESTClient()
		// Pods are refused for another reason as long as their account is missing.
		return wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
	}))
}

// refused are the fields that the API server names, in causes with some words, when
// it refuses a pod.
func refused(t *testing.T, manifest, words string) []string {
	t.Helper()
	err := api.Post().Namespace("default").Resource("pods").Param("dryRun", "All").
		SetHeader("Content-Type", "application/yaml").Body([]byte(manifest)).Do(t.Context()).Error()
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) {
		t.Fatalf("%v\n%s", err, manifest)
	}
	var out []string
	for _, c := range status.ErrStatus.Details.Causes {
		if strings.Contains(c.Message, words) {
			out = append(out, c.Field)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// found are the fields that rules refuse by the API server's word.
func found(t *testing.T, manifest string, decided []lint.Rule) []string {
	t.Helper()
	set, errs := lint.Parse("pod", []byte(manifest), lint.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var out []string
	for _, f := range lint.Run(set, decided, lint.Target{Minor: minor}) {
		if f.Severity == lint.Error {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func decided() []lint.Rule {
	return slices.DeleteFunc(rules.All(), func(r lint.Rule) bool { return r.Oracle != lint.APIServer })
}

// index is the number of an element in a path.
var index = regexp.MustCompile(`\[[0-9]+\]`)

// covers says whether the API server's field is a rule's, or holds it: for some the
// API server names the whole pod, or leaves out a number.
func covers(api, field string) bool {
	api, field = index.ReplaceAllString(api, ""), index.ReplaceAllString(field, "")
	return field == api || strings.HasPrefix(field, api+".")
}

// vary changes what does not matter to the verdict.
func vary(random *rand.Rand, manifest string) string {
	manifest = strings.Replace(manifest, "name: example", fmt.Sprintf("name: example-%d", random.IntN(1000)), 1)
	if random.IntN(2) == 0 {
		manifest = strings.Replace(manifest, "  containers:\n", fmt.Sprintf("  terminationGracePeriodSeconds: %d\n  containers:\n", random.IntN(100)), 1)
	}
	if random.IntN(2) == 0 {
		manifest = strings.Replace(manifest, "  containers:\n", "  restartPolicy: Never\n  containers:\n", 1)
	}
	return manifest
}

// TestExamples: what the API server decides, it decides so for both examples.
func TestExamples(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	for _, r := range decided() {
		t.Run(r.ID, func(t *testing.T) {
			for range variations {
				bad, good := vary(random, r.Bad), vary(random, r.Good)
				want := found(t, bad, []lint.Rule{r})
				for _, field := range want {
					if got := refused(t, bad, ""); !slices.ContainsFunc(got, func(api string) bool { return covers(api, field) }) {
						t.Fatalf("the rule refuses %s, the API server %v, of\n%s", field, got, bad)
					}
				}
				if len(want) == 0 {
					t.Fatalf("the rule does not find its example\n%s", bad)
				}
				if got := refused(t, good, ""); len(got) > 0 {
					t.Fatalf("the API server refuses %v of the good example\n%s", got, good)
				}
			}
		})
	}
}

// TestFamily: of any pod, rules and API server refuse the same fields.
func TestFamily(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	fields := rules.Fields()
	for range pods {
		chosen := slices.DeleteFunc(slices.Clone(fields), func(rules.Field) bool { return random.IntN(4) > 0 })
		manifest := compose(chosen, random.IntN(2) == 0)
		// Some of the values exclude each other on any OS, which is not of Windows.
		want, got := refused(t, manifest, "for a windows pod"), found(t, manifest, decided())
		if !slices.Equal(want, got) {
			t.Fatalf("the API server refuses\n%v\nthe rules\n%v\nof\n%s", want, got, manifest)
		}
	}
}

// compose writes a pod with some fields of the family.
func compose(fields []rules.Field, withInit bool) string {
	tree := map[string][]string{}
	for _, f := range fields {
		path, inContainer := strings.CutPrefix(f.Path, "C.")
		level := "pod"
		if inContainer {
			level = "container"
		}
		if rest, ok := strings.CutPrefix(path, "securityContext."); ok {
			tree[level+".securityContext"] = append(tree[level+".securityContext"], rest+": "+f.Value)
		} else {
			tree[level] = append(tree[level], path+": "+f.Value)
		}
	}
	var out strings.Builder
	out.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: family}\nspec:\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: windows}\n")
	write := func(indent string, level string) {
		for _, line := range tree[level] {
			out.WriteString(indent + line + "\n")
		}
		if lines := tree[level+".securityContext"]; len(lines) > 0 {
			out.WriteString(indent + "securityContext:\n")
			for _, line := range lines {
				out.WriteString(indent + "  " + line + "\n")
			}
		}
	}
	write("  ", "pod")
	lists := []string{"containers"}
	if withInit {
		lists = append(lists, "initContainers")
	}
	for _, list := range lists {
		out.WriteString("  " + list + ":\n  - name: " + strings.ToLower(list) + "\n    image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n")
		write("    ", "container")
	}
	return out.String()
}
