package kubeadm

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/guesttree"
)

// TestInitPreflight: problems for which kubeadm refuses to build a control plane, and others that it
// accepts.
func TestInitPreflight(t *testing.T) {
	const patched = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\npatches: {directory: /etc/kubernetes/patches}\n"
	files := func(paths ...string) func(*testing.T, *Options) {
		return func(t *testing.T, o *Options) {
			t.Helper()
			for _, p := range paths {
				if err := o.Files.Replace(p, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, test := range map[string]struct {
		config  string
		machine func(*testing.T, *Options)
		want    []string // parts of the error; if empty, the control plane is built
		said    string
	}{
		"nothing": {"", func(*testing.T, *Options) {}, nil, ""},
		"one processor": {"", func(_ *testing.T, o *Options) { o.Cores = 1 },
			[]string{"[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2"}, ""},
		"little memory": {"", func(_ *testing.T, o *Options) { o.Cores, o.MemoryMiB = 2, 1024 },
			[]string{"[ERROR Mem]: the system RAM (1073 MB) is less than the minimum 1700 MB"}, ""},
		"a port": {"", func(_ *testing.T, o *Options) { o.PortTaken = func(p int) bool { return p == 6443 || p == 10250 } },
			[]string{"[ERROR Port-6443]: Port 6443 is in use", "[ERROR Port-10250]: Port 10250 is in use"}, ""},
		"another port": {"kind: InitConfiguration\nlocalAPIEndpoint: {bindPort: 7443}\n",
			func(_ *testing.T, o *Options) { o.PortTaken = func(p int) bool { return p == 6443 } }, nil, ""},
		"manifests of before": {"", files(manifestsFolder + "/etcd.yaml"),
			[]string{"[ERROR FileAvailable--etc-kubernetes-manifests-etcd.yaml]: /etc/kubernetes/manifests/etcd.yaml already exists"}, ""},
		"a run that was cut off": {"", files(manifestsFolder+"/etcd.yaml", initMarker), nil, ""},
		"no runtime": {"", func(_ *testing.T, o *Options) { o.Lacks = []Lack{{"CRI", "container runtime is not running"}} },
			[]string{"[ERROR CRI]: container runtime is not running"}, ""},
		"ignored": {"kind: InitConfiguration\nnodeRegistration: {ignorePreflightErrors: [NumCPU]}\n",
			func(_ *testing.T, o *Options) { o.Cores = 1 }, nil, "[WARNING NumCPU]"},
		"patches that are not there": {patched, func(*testing.T, *Options) {},
			[]string{`could not list patch files for path "/etc/kubernetes/patches": lstat /etc/kubernetes/patches: no such file`}, ""},
		"patches in no folder": {patched, files("/etc/kubernetes/patches"), []string{"not a directory"}, ""},
		"patches":              {patched, files("/etc/kubernetes/patches/etcd.yaml"), nil, "read and not applied"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tree, _ := guesttree.New(t)
			o := Options{Config: []byte(test.config), Files: tree, OS: "linux", Out: &out}
			for _, folder := range []string{manifestsFolder, "/etc/kubernetes/pki", "/var/lib/kubelet"} {
				if err := tree.MkdirAll(folder); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(name, "patches") && name != "patches in no folder" && name != "patches that are not there" {
				if err := tree.MkdirAll("/etc/kubernetes/patches"); err != nil {
					t.Fatal(err)
				}
			}
			test.machine(t, &o)
			built := false
			err := Init(t.Context(), o, func() error { built = true; return nil })
			if (err != nil) != (len(test.want) > 0) || built == (err != nil) {
				t.Fatalf("built %v, error %v", built, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, not %s", err, want)
				}
			}
			if !strings.Contains(out.String(), test.said) {
				t.Errorf("it says %s, not %s", &out, test.said)
			}
			if _, err := tree.Stat(initMarker); built && err == nil {
				t.Error("a run that is over looks as if it was cut off")
			}
		})
	}
}

// TestInitThatFails: the files of a failed run make the next run fail.
func TestInitThatFails(t *testing.T) {
	tree, _ := guesttree.New(t)
	o := Options{Files: tree, OS: "linux"}
	for _, folder := range []string{manifestsFolder, "/var/lib/kubelet"} {
		if err := tree.MkdirAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("no API server")
	err := Init(t.Context(), o, func() error {
		return errors.Join(failed, tree.Replace(manifestsFolder+"/kube-apiserver.yaml", nil, 0o600))
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	err = Init(t.Context(), o, func() error { return nil })
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver.yaml already exists") {
		t.Errorf("the next run ends with %v", err)
	}
}

// TestJoinPreflight: problems for which kubeadm refuses to join a machine, and the time at which it
// reads patches.
func TestJoinPreflight(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		taken  int
		want   string
	}{
		"a kubelet that runs":        {"", 10250, "[ERROR Port-10250]: Port 10250 is in use"},
		"ports of the control plane": {"", 6443, ""},
		"a control plane's":          {"controlPlane: {}\n", 6443, "[ERROR Port-6443]: Port 6443 is in use"},
		"patches that are not there": {"patches: {directory: /etc/kubernetes/patches}\n", 0,
			"error execution phase kubelet-start: could not list patch files"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := newControlPlane(t).machine(t, "linux", &bytes.Buffer{})
			o.Config = append(o.Config, test.config...)
			o.PortTaken = func(port int) bool { return port == test.taken }
			err := Join(t.Context(), o)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the join ends with %v, want %s", err, test.want)
			}
		})
	}
}
