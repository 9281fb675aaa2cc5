package casement_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/image"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/preflight"
	"casement.dev/casement/internal/sim/staticpod"
	"casement.dev/casement/internal/testing/golden"
	"casement.dev/casement/internal/windows"
)

// TestSupport writes docs/support.md from the tables of the code with -update.
func TestSupport(t *testing.T) {
	var out bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&out, format, args...) }
	say("<!-- made by make generate -->\n# Support\n\nWhat casement is for, from the tables that its code works by. " +
		"**No row was shown on real Azure yet**: [Real Azure](real-azure.md)\nhas the command that would. What was shown, and " +
		"against what, is in the [README](../README.md#why-trust-it).\n\n" +
		"The newest release is supported. A row is dropped in a minor release after its publisher's support has ended.\n")

	capi := preflight.ClusterAPI()
	say("\n## Kubernetes\n\n| minor | upstream support ends | Cluster API %s | cloud provider for Azure | "+
		"control plane of the local plane |\n"+
		"|---|---|---|---|---|\n", capi.Release)
	ends := image.KubernetesEnds()
	minors := slices.SortedFunc(maps.Keys(ends), func(a, b string) int { return cmp.Compare(number(b), number(a)) })
	for _, minor := range minors {
		runs, _ := staticpod.Emulated("v" + minor + ".0")
		as := "emulated by " + kuberelease.Default
		switch {
		case minor == kuberelease.Minor():
			as = "the real programs of " + kuberelease.Default
		case runs != minor:
			as = kuberelease.Default + " as " + runs + ", and `casement status` says so"
		}
		tested := "supported"
		if n := uint(number(minor)); n < capi.Oldest || n > capi.Newest {
			tested = "not supported, works"
		}
		say("| %s | %s | %s | %s | %s |\n", minor, ends[minor], tested, cloudProvider(t, minor), as)
	}
	say("\nThe days are those of [Kubernetes](https://kubernetes.io/releases/patch-releases/), of the newest two as planned. "+
		"The default is %s; upgrades are tried\nfrom %s. Older minors are not supported; what is known of them "+
		"(images, flags, Docker) stays for clusters that have them.\n", kuberelease.Default, kuberelease.Previous)
	say(aboutVersions, kuberelease.Default)

	say("\n## Cluster API\n\n| what | version |\n|---|---|\n| the release that casement is built with and tried against | %s |\n",
		required(t, "sigs.k8s.io/cluster-api"))
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	contracts := map[string]bool{}
	for _, crd := range crds {
		for label := range crd.Labels {
			if contract, is := strings.CutPrefix(label, "cluster.x-k8s.io/v"); is {
				contracts["v"+contract] = true
			}
		}
	}
	for _, contract := range []string{"v1beta2", "v1beta1"} {
		say("| contract %s | %s |\n", contract, map[bool]string{true: "yes", false: "no"}[contracts[contract]])
	}

	say("\n## Windows Server\n\n| release | build | image that is chosen | " +
		"containers that run on it | upstream support ends |\n|---|---|---|---|---|\n")
	for _, r := range windows.Releases() {
		chosen := "own images only"
		if r.SKU != "" {
			reference, err := windows.DefaultImage(kuberelease.Default, windows.OSWindows,
				map[string]string{windows.WindowsServerVersionAnnotation: "windows-" + r.Name})
			if err != nil {
				t.Fatal(err)
			}
			chosen = "`" + reference.Name + "`"
		}
		if r.Name == windows.DefaultRelease {
			chosen += " (default)"
		}
		var containers []string
		for _, c := range windows.Releases() {
			if windows.CanRun(r.Build, c.Build) {
				containers = append(containers, c.Name)
			}
		}
		say("| %s | %s | %s | %s | %s |\n", r.Name, r.Build, chosen, strings.Join(containers, ", "),
			r.EndOfSupport.Format(time.DateOnly))
	}
	linux, err := windows.DefaultImage(kuberelease.Default, windows.OSLinux, nil)
	if err != nil {
		t.Fatal(err)
	}
	say("\nOf Linux the image that is chosen is `%s` of the same community gallery. Images of your own: [images](images.md).\n", linux.Name)

	say("\n## Networks\n\n| network of pods | label of the Cluster | Windows Server | Kubernetes |\n|---|---|---|---|\n")
	for _, n := range windows.Networks() {
		if n.Refused != "" {
			continue
		}
		for key, value := range n.Labels {
			say("| %s | `%s: %s` | %s | %s |\n", n.Name, key, value, n.ReleaseList(), minorsOf(n))
		}
	}
	say("\nDetails, and networks that are refused: [Networks of Windows pods](reference/cni.md).\n")

	say("\n## Addons\n\n| addon | version |\n|---|---|\n")
	for _, a := range addons.All() {
		say("| %s | %s |\n", a.Name, a.Version)
	}
	say("\n## Programs\n\n| program | systems |\n|---|---|\n"+
		"| casement-manager | Linux, amd64 and arm64 |\n"+
		"| casement with the local plane, casement-kube | Linux, amd64 and arm64 |\n"+
		"| casement, the client | Linux, macOS and Windows, amd64 and arm64 |\n"+
		"\nFrom source: Go %s or newer.\n", goVersion(t))
	golden.Compare(t, "docs/support.md", out.Bytes())
}

// aboutVersions explains the columns of the table of Kubernetes versions.
const aboutVersions = `
- **Cluster API** says which minors it tests as workload clusters in its
  [table](https://cluster-api.sigs.k8s.io/reference/versions.html). Support of a version that Kubernetes has ended means
  that clusters start and can be upgraded, no more. ` + "`casement preflight`" + ` reports another version (PRE309).
- **Emulated**: the programs of %[1]s behave as the older release (` + "`--emulated-version`" + `, KEP-4330): API versions, feature
  gates and defaults are the older ones, which goes three minors back. Nodes report the version that was asked for.
- **As another minor**: an older version cannot be emulated. Flags, feature gates and admission plugins that %[1]s has dropped
  are left out, and the guest's log names each. The node's name, images, boot and bootstrap data are those of the version
  that was asked for.
- **kubeadm** reads v1beta3 of its configuration from 1.22 to 1.36 and v1beta4 from 1.31 on; Cluster API writes the one of the
  version. ` + "`casement preflight`" + ` names files and commands of bootstrap data with a format that the version does
  not read (PRE310).
- **kubelets** may be three minors older than the API server, never newer (PRE302).
- **Management clusters**: ` + "`casement-manager`" + ` runs where Cluster API does. The local plane's is %[1]s.
`

func minorsOf(n windows.Network) string {
	var out []string
	if n.From > 0 {
		out = append(out, fmt.Sprintf("1.%d and newer", n.From))
	}
	if n.Until > 0 {
		out = append(out, fmt.Sprintf("below 1.%d", n.Until))
	}
	return cmp.Or(strings.Join(out, ", "), "any")
}

// number returns the second part of a minor version such as 1.36.
func number(minor string) int {
	_, text, _ := strings.Cut(minor, ".")
	n, _ := strconv.Atoi(text) // 0 sorts it last
	return n
}

var controllerImage = regexp.MustCompile(`image: \S*azure-cloud-controller-manager:(\S+)`)

// cloudProvider returns the version of the cloud provider in the addon for a minor version.
func cloudProvider(t *testing.T, minor string) string {
	t.Helper()
	a, err := addons.Find("cloud-provider-azure")
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Render(addons.Params{KubernetesVersion: "v" + minor + ".0"})
	if err != nil {
		t.Fatal(err)
	}
	m := controllerImage.FindSubmatch(text)
	if m == nil {
		t.Fatal("the addon has no image of the cloud controller manager")
	}
	return string(m[1])
}

// required returns the version of a module in go.mod.
func required(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func goVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
