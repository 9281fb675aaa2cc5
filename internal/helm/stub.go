package helm

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/addons"
)

// stub replaces a chart by the manifests of casement's addons, for whose containers the local plane has stubs. It
// respects the values on which the readiness of nodes depends.
type stub struct {
	// charts are the names of the charts.
	charts []string
	// render returns the objects, and a note on the values that have no effect, or "".
	render func(stubInput) (objects, note string, err error)
}

// stubInput has the inputs of a stub.
type stubInput struct {
	chart string
	// version is the chart's version, "" for the newest; kubernetes is the cluster's version.
	version, kubernetes string
	values              map[string]any
}

// stubs returns the stubs of the charts that are not rendered.
func stubs() []stub {
	return []stub{
		{[]string{"tigera-operator", "calico"}, calico},
		{[]string{"cloud-provider-azure"}, cloudProvider},
		{[]string{"azuredisk-csi-driver", "azurefile-csi-driver"}, csiDriver},
		{[]string{"csi-proxy"}, csiProxy},
		{[]string{"flannel"}, flannel},
	}
}

// findStub returns the stub of a chart.
func findStub(name string) (stub, bool) {
	all := stubs()
	i := slices.IndexFunc(all, func(s stub) bool { return slices.Contains(s.charts, name) })
	if i < 0 {
		return stub{}, false
	}
	return all[i], true
}

// simulated is the beginning of every text about a stub, in its chart and in conditions.
const simulated = "simulated: casement answers this chart with manifests of its own"

// build returns the stub as a chart, which Helm installs like any other.
func (s stub) build(in stubInput) (*chart.Chart, error) {
	text, note, err := s.render(in)
	if err != nil {
		return nil, fmt.Errorf("stub for chart %s: %w", in.chart, err)
	}
	description := simulated
	if note != "" {
		description += "; " + note
	}
	var kinds, objects []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(doc, "kind: CustomResourceDefinition\n") {
			kinds = append(kinds, doc)
			continue
		}
		objects = append(objects, doc)
	}
	files := []*chart.File{{Name: "objects.yaml", Data: []byte(strings.Join(objects, "\n---\n"))}}
	if len(kinds) > 0 {
		files = append(files, &chart.File{Name: "crds/kinds.yaml", Data: []byte(strings.Join(kinds, "\n---\n"))})
	}
	return &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: in.chart,
			Version: cmp.Or(in.version, "0.0.0"), Description: description},
		Templates: []*chart.File{{Name: "templates/objects.yaml", Data: []byte(`{{ .Files.Get "objects.yaml" }}`)}},
		Files:     files,
	}, nil
}

// text returns a value of the chart that is a text or a number, or "".
func (in stubInput) text(path ...string) string {
	v, ok, _ := unstructured.NestedFieldNoCopy(in.values, path...)
	if !ok || v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// on reports whether a boolean value of the chart is true; the default is true.
func (in stubInput) on(path ...string) bool { return in.text(path...) != "false" }

// list returns a value of the chart that is a list.
func (in stubInput) list(path ...string) []any {
	v, _, _ := unstructured.NestedFieldNoCopy(in.values, path...)
	list, _ := v.([]any)
	return list
}

// render renders addons and joins their manifests.
func render(p addons.Params, names ...string) (string, error) {
	var out []string
	for _, name := range names {
		a, err := addons.Find(name)
		if err != nil {
			return "", err
		}
		data, err := a.Render(p)
		if err != nil {
			return "", err
		}
		out = append(out, strings.TrimSpace(string(data)))
	}
	return strings.Join(out, "\n---\n"), nil
}

// without removes the objects with one of the names.
func without(text string, names ...string) (string, error) {
	var out []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o struct {
			Metadata struct{ Name string } `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return "", err
		}
		if !slices.Contains(names, o.Metadata.Name) {
			out = append(out, doc)
		}
	}
	return strings.Join(out, "\n---\n"), nil
}

// calicoSystem is the namespace that Calico's operator creates, with its service accounts: templates create their own
// configuration and their own DaemonSets for Windows in it.
const calicoSystem = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: calico-system\n---\n" +
	"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: calico-node\n  namespace: calico-system\n---\n" +
	"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: calico-kube-controllers\n  namespace: calico-system\n---\n" +
	"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: calico-typha\n  namespace: calico-system\n---\n"

// calico returns the manifests that Calico's operator creates for its Installation: Calico for the address families of
// its pools, and for Windows if the dataplane HNS is set with all values that the operator needs for it. They contain
// no kube-proxy.
func calico(in stubInput) (string, string, error) {
	if kind := cmp.Or(in.text("installation", "cni", "type"), "Calico"); kind != "Calico" || !in.on("installation", "enabled") {
		return calicoSystem, "no CNI is configured, as installation.cni.type is " + kind, nil
	}
	p := addons.Params{KubernetesVersion: in.kubernetes, APIServerHost: in.text("kubernetesServiceEndpoint", "host")}
	_, _ = fmt.Sscan(in.text("kubernetesServiceEndpoint", "port"), &p.APIServerPort)
	four, six := false, false
	for _, pool := range in.list("installation", "calicoNetwork", "ipPools") {
		cidr, _, _ := unstructured.NestedString(map[string]any{"pool": pool}, "pool", "cidr")
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return "", "", fmt.Errorf("installation.calicoNetwork.ipPools: cidr %q: %w", cidr, err)
		}
		if prefix.Addr().Is4() {
			four, p.PodCIDR = true, cmp.Or(p.PodCIDR, cidr)
		}
		six = six || prefix.Addr().Is6()
	}
	names, note := []string{"calico"}, ""
	if six {
		names[0] = map[bool]string{true: "calico-dual-stack", false: "calico-ipv6"}[four]
	}
	if in.text("installation", "calicoNetwork", "windowsDataplane") == "HNS" {
		services := in.list("installation", "serviceCIDRs")
		if len(services) == 0 || p.APIServerHost == "" {
			note = "Calico for Windows is not installed, as the operator needs installation.serviceCIDRs and " +
				"kubernetesServiceEndpoint for it"
		} else {
			names, p.ServiceCIDR = append(names, "calico-windows"), fmt.Sprint(services[0])
		}
	}
	text, err := render(p, names...)
	if err != nil {
		return "", "", err
	}
	if text, err = without(text, "kube-proxy-windows"); err != nil {
		return "", "", err
	}
	if registry := strings.TrimSuffix(in.text("installation", "registry"), "/"); registry != "" {
		text = strings.ReplaceAll(text, "image: docker.io/", "image: "+registry+"/")
	}
	return calicoSystem + text, note, nil
}

// cloudProvider returns the manifests of the cloud controller manager and the node managers.
func cloudProvider(in stubInput) (string, string, error) {
	text, err := render(addons.Params{KubernetesVersion: in.kubernetes, ClusterName: in.text("infra", "clusterName")},
		"cloud-provider-azure")
	if err != nil {
		return "", "", err
	}
	if path := in.text("cloudControllerManager", "cloudConfig"); path != "" {
		text = strings.ReplaceAll(text, "--cloud-config=/etc/kubernetes/azure.json", "--cloud-config="+path)
	}
	var off []string
	if !in.on("cloudControllerManager", "enabled") {
		off = append(off, "cloud-controller-manager")
	}
	if !in.on("cloudNodeManager", "enabled") {
		off = append(off, "cloud-node-manager", "cloud-node-manager-windows")
	}
	text, err = without(text, off...)
	return text, "", err
}

//go:embed stubs/csi-driver.yaml
var stubFiles embed.FS

// csiDriver returns the manifests of a CSI driver of Azure whose containers run without any effect.
func csiDriver(in stubInput) (string, string, error) {
	t, err := template.New("csi-driver.yaml").Delims("[[", "]]").ParseFS(stubFiles, "stubs/csi-driver.yaml")
	if err != nil {
		return "", "", err
	}
	short := strings.TrimSuffix(strings.TrimPrefix(in.chart, "azure"), "-csi-driver")
	data := map[string]any{
		"Name": "csi-azure" + short, "Image": "azure" + short + "-csi",
		"Driver": cmp.Or(in.text("driver", "name"), short+".csi.azure.com"), "Attach": short == "disk",
		"Version": "v" + strings.TrimPrefix(cmp.Or(in.version, "1.34.0"), "v"), "Replicas": cmp.Or(in.text("controller", "replicas"), "2"),
		"ControlPlane": in.text("controller", "runOnControlPlane") == "true",
		"Linux":        in.on("linux", "enabled"), "Windows": in.on("windows", "enabled"),
		"HostProcess": in.on("windows", "useHostProcessContainers"),
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return "", "", err
	}
	return strings.TrimSpace(out.String()), "volumes are not provisioned", nil
}

// csiProxy returns the manifests of the proxy of CSI drivers on Windows nodes.
func csiProxy(in stubInput) (string, string, error) {
	text, err := render(addons.Params{KubernetesVersion: in.kubernetes}, "csi-proxy")
	return text, "", err
}

// flannel returns the manifests of flannel for Linux nodes.
func flannel(in stubInput) (string, string, error) {
	text, err := render(addons.Params{KubernetesVersion: in.kubernetes, PodCIDR: in.text("podCidr")}, "flannel")
	return text, "", err
}
