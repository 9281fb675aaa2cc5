package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"casement.dev/casement/internal/cli/app"
)

func TestWrongCommandLines(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no such command": {[]string{"nosuch"}, `unknown command "nosuch"`},
		"none of a group": {[]string{"images", "shw"}, `did you mean show?`},
		"behind a flag": {[]string{"--state", "/x", "images", "--state", "/y", "nosuch"},
			`unknown command "nosuch" for "casement images"`},
		"no argument":  {[]string{"tree"}, "casement tree NAME"},
		"its own help": {[]string{"tree"}, "see 'casement tree --help'"},
		"flag":         {[]string{"tree", "--nosuch", "x"}, "see 'casement tree --help'"},
		"no service":   {[]string{"fetch"}, "casement fetch service/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			var out, err bytes.Buffer
			if code := Main(append([]string{"casement"}, c.args...), app.Streams{
				In: strings.NewReader(""), Out: &out, Err: &err,
			}); code != app.ExitUsage || !strings.Contains(err.String(), c.says) {
				t.Errorf("exit code %d: %s%s", code, out.String(), err.String())
			}
		})
	}
	for _, args := range [][]string{{"help", "why"}, {"images"}, {"images", "--help"}, {"completion", "bash"}, {"__complete", "im"}} {
		if code := Main(append([]string{"casement"}, args...),
			app.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)}); code != app.ExitDone {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// TestLogsOfLibraries: log lines of Kubernetes' client are not mixed with a command's output.
func TestLogsOfLibraries(t *testing.T) {
	var logged, out bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	defer klog.LogToStderr(true)
	if code := Main([]string{"casement", "version"}, app.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != app.ExitDone {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	klog.ErrorS(nil, "Unexpected error when reading response body")
	klog.Flush()
	if logged.Len() > 0 {
		t.Errorf("logged: %s", &logged)
	}
}

func TestMisdirected(t *testing.T) {
	group := schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	gone := apiutil.ErrResourceDiscoveryFailed{group: apierrors.NewNotFound(schema.GroupResource{}, "")}
	down := apiutil.ErrResourceDiscoveryFailed{group: apierrors.NewServiceUnavailable("starting")}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no such API":  {fmt.Errorf("list machines: %w", &gone), true},
		"no such kind": {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: group.Group, Kind: "Machine"}}, true},
		"starting":     {&down, false},
		"another":      {errors.New("x"), false},
	} {
		got := misdirected(c.err)
		if said := strings.Contains(got.Error(), "workload cluster"); said != c.want || !errors.Is(got, c.err) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
