package podrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSplitImage(t *testing.T) {
	for image, want := range map[string][2]string{
		"registry.k8s.io/cluster-api/cluster-api-controller:v1.14.2": {"cluster-api-controller", "v1.14.2"},
		"localhost:5000/casement-manager":                            {"casement-manager", ""},
		"casement-manager:v1@sha256:00":                              {"casement-manager", "v1"},
	} {
		if name, tag := splitImage(image); name != want[0] || tag != want[1] {
			t.Errorf("%s is %q %q", image, name, tag)
		}
	}
}

// TestFind: a program for a tag takes precedence over a program for all tags, and an error names
// the missing program.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"casement-manager", "casement-manager_v0.1.0", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ image, file, problem string }{
		{"ghcr.io/x/casement-manager:v0.1.0", "casement-manager_v0.1.0", ""},
		{"ghcr.io/x/casement-manager:v0.2.0", "casement-manager", ""},
		{"other:v1", "", "this node knows azureserviceoperator, casement-manager"},
		{"cluster-api-controller:v1.14.2", "", "make programs"},
	} {
		_, file, err := find(test.image, []string{dir})
		if test.problem == "" && (err != nil || filepath.Base(file) != test.file) ||
			test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: file %q, error %v", test.image, file, err)
		}
	}
}

func TestCommand(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	c := corev1.Container{Command: []string{"/manager", "--first"},
		Args: []string{"--leader-elect", "--name=$(POD)", "--config=/etc/x/config.yaml"}}
	mounts := map[string]string{certMount: "/home/certs", "/etc/x": "/home/x"}
	got := known()["casement-manager"].command("/bin/m", pod, c, map[string]string{"POD": "p"}, mounts,
		map[int32]uint16{9443: 1, 9440: 2, 1234: 3})
	want := []string{"/bin/m", "--first", "--leader-elect", "--name=p", "--config=/home/x/config.yaml",
		"--health-addr=127.0.0.1:2", "--webhook-host=127.0.0.1", "--webhook-port=1",
		"--webhook-cert-dir=/home/certs", "--leader-elect-namespace=ns"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
