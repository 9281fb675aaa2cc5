package wait

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
	"casement.dev/casement/test/apiserver/kinds"
)

// server is a plane of this package only, because its API server is killed.
var server *kubeproc.Plane

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		server = plane
		return kinds.Install(plane.Config())
	}))
}

// output is the output of a command until now. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the command has printed a text.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.more:
		case <-late:
			t.Fatalf("it did not print %q: %s", text, o)
		}
	}
}

// TestRestart kills the API server while a command waits for a cluster. The command continues to
// wait and sees later changes.
func TestRestart(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(server.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CASEMENT_HOME", t.TempDir())
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AzureCluster", Name: "demo",
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	out, code := &output{more: make(chan struct{}, 1)}, make(chan int, 1)
	go func() {
		code <- cli.Main([]string{"casement", "wait", "demo", "--for", "deleted", "--timeout", "10m", "--kubeconfig", file},
			app.Streams{In: strings.NewReader(""), Out: out, Err: out})
	}()
	out.await(t, "left")
	for _, p := range server.Processes() {
		if p.Name() != "kube-apiserver" {
			continue
		}
		if err := syscall.Kill(p.State().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for p.State().Restarts == 0 { // a restart takes some seconds, and the plane checks four times a second
			<-tick.C
		}
	}
	if err := server.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-code:
		t.Fatalf("the wait ended with %d while the cluster exists: %s", got, out)
	default:
	}
	if err := c.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != app.ExitDone || !strings.Contains(out.String(), "demo is gone") {
		t.Errorf("code %d, printed %s", got, out)
	}
}
