package addons

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/testing/golden"
)

// decode reads a YAML stream strictly. Objects whose kind has no Go type here (Calico's own) are
// returned in others.
func decode(t *testing.T, data []byte) (typed []runtime.Object, others []string) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		obj, _, err := strict.Decode(doc, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			var m map[string]any
			if err := yaml.UnmarshalStrict(doc, &m); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
			others = append(others, m["kind"].(string))
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		typed = append(typed, obj)
	}
	return typed, others
}

func TestAddons(t *testing.T) {
	for _, a := range All() {
		t.Run(a.Name, func(t *testing.T) {
			got, err := a.Render(Params{KubernetesVersion: "v1.34.2", ServiceCIDR: "10.96.0.0/12"})
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", a.Name+".yaml"), got)
			typed, _ := decode(t, got)
			for _, obj := range typed {
				switch o := obj.(type) {
				case *appsv1.DaemonSet:
					checkPods(t, o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template)
				case *appsv1.Deployment:
					checkPods(t, o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template)
				}
			}
		})
	}
}

var image = regexp.MustCompile(`^[a-z0-9./-]+:v?[0-9]+\.[0-9]+\.[0-9]+[a-z0-9._-]*$`)

func checkPods(t *testing.T, name string, selector map[string]string, pods corev1.PodTemplateSpec) {
	t.Helper()
	if !labels.SelectorFromSet(selector).Matches(labels.Set(pods.Labels)) {
		t.Errorf("%s: its selector does not match its pods", name)
	}
	spec := pods.Spec
	windows := strings.Contains(name, "windows") || name == "csi-proxy" || name == "containerd-logger"
	want := map[bool]string{true: "windows", false: "linux"}[windows]
	if spec.NodeSelector["kubernetes.io/os"] != want || spec.OS != nil && string(spec.OS.Name) != want {
		t.Errorf("%s: node selector %v, OS %v, want OS %s", name, spec.NodeSelector, spec.OS, want)
	}
	if spec.PriorityClassName == "" || len(spec.Tolerations) == 0 {
		t.Errorf("%s: no priority or no tolerations", name)
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		if !image.MatchString(c.Image) {
			t.Errorf("%s: image %q", name, c.Image)
		}
		if windows && (c.SecurityContext != nil && c.SecurityContext.Privileged != nil) {
			t.Errorf("%s: a privileged container on Windows", name)
		}
	}
	if h := spec.SecurityContext; h != nil && h.WindowsOptions != nil && !spec.HostNetwork {
		t.Errorf("%s: a HostProcess pod without hostNetwork", name)
	}
}

func TestRenderParams(t *testing.T) {
	for _, tt := range []struct {
		addon  string
		params Params
		want   string
	}{
		{"calico-windows", Params{KubernetesVersion: "v1.35.0+build.1"}, "sigwindowstools/kube-proxy:v1.35.0_build.1-calico-hostprocess"},
		{"calico-windows", Params{ServiceCIDR: "172.30.0.0/16"}, `DNS_NAME_SERVERS: "172.30.0.10"`},
		{"calico-windows", Params{APIServerHost: "c.example", APIServerPort: 6443}, `KUBERNETES_SERVICE_PORT: "6443"`},
		{"calico", Params{PodCIDR: "10.9.0.0/16"}, "value: 10.9.0.0/16"},
		{"flannel", Params{}, `"Network": "10.244.0.0/16"`},
		{"flannel-windows", Params{KubernetesVersion: "v1.22.1"}, "sigwindowstools/kube-proxy:v1.22.1-nanoserver"},
		{"azure-cni-windows", Params{}, `["10.0.0.0/8", "10.96.0.0/12"]`},
		{"azure-cni", Params{PodCIDR: "172.16.0.0/12"}, `"172.16.0.0/12"`},
		{"cloud-provider-azure", Params{ClusterName: "demo"}, "--cluster-name=demo"},
		{"cloud-provider-azure", Params{KubernetesVersion: "v1.35.2"}, "azure-cloud-controller-manager:v1.35.5"},
		{"cloud-provider-azure", Params{KubernetesVersion: "v1.36.3"}, "azure-cloud-node-manager:v1.36.1"},
		{"cloud-provider-azure", Params{KubernetesVersion: "v1.38.0"}, "azure-cloud-node-manager:v1.37.5"},
	} {
		for _, a := range All() {
			if a.Name != tt.addon {
				continue
			}
			got, err := a.Render(tt.params)
			if err != nil || !strings.Contains(string(got), tt.want) {
				t.Errorf("%s with %+v: no %q, %v", tt.addon, tt.params, tt.want, err)
			}
		}
	}
	if _, err := All()[0].Render(Params{ServiceCIDR: "nonsense"}); err == nil {
		t.Error("a service CIDR that is none was accepted")
	}
}

// TestDigests: with digests for all images of an addon each of them is pinned, with its tag.
func TestDigests(t *testing.T) {
	const digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for _, a := range All() {
		images, err := a.Images(Params{})
		if err != nil || len(images) == 0 {
			t.Fatalf("%s: %v, %v", a.Name, images, err)
		}
		p := Params{Digests: map[string]string{}}
		for _, i := range images {
			p.Digests[i] = digest
		}
		text, err := a.Render(p)
		if err != nil {
			t.Fatal(err)
		}
		typed, _ := decode(t, text)
		for _, o := range typed {
			var pods corev1.PodSpec
			switch o := o.(type) {
			case *appsv1.DaemonSet:
				pods = o.Spec.Template.Spec
			case *appsv1.Deployment:
				pods = o.Spec.Template.Spec
			}
			for _, c := range append(pods.InitContainers, pods.Containers...) {
				if tagged, ok := strings.CutSuffix(c.Image, "@"+digest); !ok || !image.MatchString(tagged) {
					t.Errorf("%s: %s is not pinned", a.Name, c.Image)
				}
			}
		}
	}
}

// TestNamedAddons: addons are chosen by name, and an unknown name is an error.
func TestNamedAddons(t *testing.T) {
	objs, err := ClusterResourceSets("team", Params{}, "csi-proxy", "calico")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objs {
		if cm, ok := o.(*corev1.ConfigMap); ok {
			got = append(got, cm.Name)
		}
	}
	if want := []string{"addon-calico", "addon-csi-proxy"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := ClusterResourceSets("team", Params{}, "weave"); err == nil ||
		!strings.Contains(err.Error(), `no addon is called "weave"`) {
		t.Errorf("an addon that is not there: %v", err)
	}
}

func TestClusterResourceSets(t *testing.T) {
	objs, err := ClusterResourceSets("team", Params{})
	if err != nil {
		t.Fatal(err)
	}
	maps := map[string]bool{}
	for _, o := range objs {
		if cm, ok := o.(*corev1.ConfigMap); ok {
			maps[cm.Name] = true
			for _, data := range cm.Data {
				decode(t, []byte(data))
			}
		}
	}
	for name, tt := range map[string]struct {
		cluster map[string]string
		want    string
	}{
		"old calico with Windows": {map[string]string{"cni": "calico", "windows": "enabled"}, "addon-calico addon-calico-windows"},
		"old flannel":             {map[string]string{"cni": "flannel-windows"}, "addon-flannel addon-flannel-windows"},
		"new Windows": {map[string]string{"cni-windows": "calico", "windows": "enabled", "csi-proxy": "enabled"},
			"addon-calico-windows addon-csi-proxy"},
		"ours": {map[string]string{"cni": "calico", "windows": "enabled", "cloud-provider": "azure"},
			"addon-cloud-provider-azure addon-calico addon-calico-windows"},
		"Azure CNI": {map[string]string{"cni": "azure", "windows": "enabled"}, "addon-azure-cni addon-azure-cni-windows"},
		"none":      {map[string]string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range objs {
				crs, ok := o.(*addonsv1.ClusterResourceSet)
				if !ok || !labels.SelectorFromSet(crs.Spec.ClusterSelector.MatchLabels).Matches(labels.Set(tt.cluster)) {
					continue
				}
				for _, r := range crs.Spec.Resources {
					if !maps[r.Name] {
						t.Errorf("%s names ConfigMap %s, which is not there", crs.Name, r.Name)
					}
					got = append(got, r.Name)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
	for _, o := range objs {
		if o.GetNamespace() != "team" || o.GetObjectKind().GroupVersionKind().Kind == "" {
			t.Errorf("%s: namespace %q, kind %v", o.GetName(), o.GetNamespace(), o.GetObjectKind().GroupVersionKind())
		}
	}
}
