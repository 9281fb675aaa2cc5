package kubelet

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// TestManifests checks that static pods which cannot be read do not count as gone: a kubelet that may open no
// further file ended its own API server.
func TestManifests(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: etcd, namespace: kube-system}\n"
	for name, c := range map[string]struct {
		prepare func(dir string) error
		want    string
		fails   bool
	}{
		"no folder": {prepare: func(string) error { return nil }},
		"a pod": {want: "kube-system/etcd-node/", prepare: func(dir string) error {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "etcd.yaml"), []byte(pod), 0o600)
		}},
		"a folder that cannot be read": {fails: true, prepare: func(dir string) error { return os.WriteFile(dir, nil, 0o600) }},
		"a pod that cannot be read": {fails: true, prepare: func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "etcd.yaml"), 0o755)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			k := &Kubelet{nodeName: "node", c: Config{Clock: clock.RealClock{}, Path: func(guest string) (string, error) {
				return filepath.Join(root, guest), nil
			}}}
			k.settings.StaticPodPath = "/manifests"
			if err := c.prepare(filepath.Join(root, "manifests")); err != nil {
				t.Fatal(err)
			}
			found, err := k.manifests()
			if (err != nil) != c.fails {
				t.Errorf("error %v, want one: %t", err, c.fails)
			}
			keys := strings.Join(slices.Collect(maps.Keys(found)), " ")
			if !strings.HasPrefix(keys, c.want) || (keys == "") != (c.want == "") {
				t.Errorf("found %q, want %q", keys, c.want)
			}
		})
	}
}
