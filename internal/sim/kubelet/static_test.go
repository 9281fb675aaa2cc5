package kubelet

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"casement.dev/casement/internal/testing/guesttree"
)

// manifests is a folder of static pods, the pods that the kubelet finds there, and whether some may
// be missing.
type manifests struct {
	prepare func(dir string) error
	want    string
	fails   bool
}

// beside creates a file that is no pod beside a pod's manifest: the file is refused, and the pod is
// unaffected.
func beside(pod string, first func(at string) error) manifests {
	return manifests{want: "kube-system/etcd-node/", prepare: func(dir string) error {
		return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "etcd.yaml"), []byte(pod), 0o600),
			first(filepath.Join(dir, "0.yaml")))
	}}
}

// TestManifests checks that static pods whose manifest cannot be read do not count as deleted. (A
// kubelet without free file descriptors once ended its own API server.)
func TestManifests(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: etcd, namespace: kube-system}\n"
	for name, c := range map[string]manifests{
		"no folder": {prepare: func(string) error { return nil }},
		"a pod": {want: "kube-system/etcd-node/", prepare: func(dir string) error {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "etcd.yaml"), []byte(pod), 0o600)
		}},
		"a folder that cannot be read": {fails: true, prepare: func(dir string) error { return os.WriteFile(dir, nil, 0o600) }},
		"a directory":                  beside(pod, func(at string) error { return os.Mkdir(at, 0o755) }),
		"a FIFO":                       beside(pod, func(at string) error { return unix.Mkfifo(at, 0o600) }),
		"a link to a device":           beside(pod, func(at string) error { return os.Symlink("/dev/zero", at) }),
		"a link up to a device":        beside(pod, func(at string) error { return os.Symlink(strings.Repeat("../", 12)+"dev/zero", at) }),
		"a link to itself":             beside(pod, func(at string) error { return os.Symlink("0.yaml", at) }),
		"a file without an end": beside(pod, func(at string) error {
			return errors.Join(os.WriteFile(at, nil, 0o600), os.Truncate(at, 1<<40))
		}),
		"a link of another user": beside(pod, func(at string) error { return os.Symlink("/etc/passwd", at) }),
	} {
		t.Run(name, func(t *testing.T) {
			files, root := guesttree.New(t)
			k := &Kubelet{nodeName: "node", log: slog.New(slog.DiscardHandler), refused: map[string]string{},
				c: Config{Clock: clock.RealClock{}, Files: files}}
			k.settings.StaticPodPath = "/manifests"
			if err := c.prepare(filepath.Join(root, "manifests")); err != nil {
				t.Fatal(err)
			}
			found, err := k.manifests()
			if (err != nil) != c.fails {
				t.Errorf("error %v, want one: %t", err, c.fails)
			}
			keys := strings.Join(slices.Collect(maps.Keys(found)), " ")
			if strings.Contains(name, "link") || strings.Contains(name, "FIFO") {
				if len(k.refused) != 1 {
					t.Errorf("it refused %v", k.refused)
				}
			}
			if !strings.HasPrefix(keys, c.want) || (keys == "") != (c.want == "") {
				t.Errorf("found %q, want %q", keys, c.want)
			}
		})
	}
}
