package preflight

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/version"

	"casement.dev/casement/internal/lint"
)

// Supported is a minor version of Cluster API with the minor versions of Kubernetes, 1.Oldest to 1.Newest, that it
// supports in workload clusters.
type Supported struct {
	Release        string
	Oldest, Newest uint
}

// ClusterAPI returns the versions that the Cluster API in go.mod supports. Source: docs/book/src/reference/versions.md
// of the module, with which a test compares it.
func ClusterAPI() Supported { return Supported{"v1.14", 31, 37} }

// kubeadmFormats are the versions of kubeadm's configuration, with the first and the last minor version whose kubeadm
// reads each; zero means the newest. Source: kubernetes v1.37 cmd/kubeadm/app/util/config/common.go.
var kubeadmFormats = map[string]struct{ first, last uint }{
	"v1beta1": {13, 21}, "v1beta2": {15, 26}, "v1beta3": {22, 36}, "v1beta4": {31, 0},
}

// support returns the checks of the versions that Cluster API and kubeadm support.
func (c checker) support() []lint.Rule {
	capi := ClusterAPI()
	return []lint.Rule{
		{
			ID: "PRE309", Severity: lint.Warning, Title: "A Kubernetes version that Cluster API does not support", Oracle: lint.Unit,
			Doc: fmt.Sprintf("Cluster API %s is tested with workload clusters of Kubernetes 1.%d to 1.%d. Another version may work, "+
				"and has no test there. Source: docs/book/src/reference/versions.md of kubernetes-sigs/cluster-api.",
				capi.Release, capi.Oldest, capi.Newest),
			Check: c.eachCluster(checkPRE309),
		},
		{
			ID: "PRE310", Severity: lint.Warning, Title: "A format of kubeadm's configuration that its version does not read",
			Oracle: lint.Unit,
			Doc: "kubeadm reads v1beta3 of its configuration from 1.22 to 1.36 and v1beta4 from 1.31 on. The bootstrap provider " +
				"writes the one that the version reads; a file or command of one's own has to name it. `kubeadm config migrate` of a release " +
				"that reads both rewrites it. Source: kubernetes v1.37 cmd/kubeadm/app/util/config/common.go.",
			Check: c.eachCluster(checkPRE310),
		},
	}
}

func checkPRE309(p *lint.Pass, c *Cluster) {
	plane := c.controlPlane()
	if plane == nil {
		return
	}
	v, capi := parsed(plane.Version), ClusterAPI()
	if v == nil || !v.LessThan(version.MajorMinor(1, capi.Oldest)) && v.LessThan(version.MajorMinor(1, capi.Newest+1)) {
		return
	}
	p.Report(plane.Owner, plane.Version, fmt.Sprintf("Cluster API %s does not support clusters of Kubernetes %s",
		capi.Release, plane.Version.Str()),
		say(fmt.Sprintf("a version from 1.%d to 1.%d, or the knowledge that this one has no test", capi.Oldest, capi.Newest)))
}

// kubeadmFormat matches the version of a kubeadm configuration.
var kubeadmFormat = regexp.MustCompile(`kubeadm\.k8s\.io/(v1beta[1-4])\b`)

func checkPRE310(p *lint.Pass, c *Cluster) {
	seen := map[*lint.Object]bool{nil: true}
	for _, m := range c.Machines {
		v := parsed(versionOf(m, c))
		if seen[m.Bootstrap] || v == nil {
			continue
		}
		seen[m.Bootstrap] = true
		spec := kubeadm(m.Bootstrap)
		report := func(at lint.Value, text string) {
			for _, found := range kubeadmFormat.FindAllStringSubmatch(text, -1) {
				if format := kubeadmFormats[found[1]]; v.Minor() < format.first || format.last > 0 && v.Minor() > format.last {
					p.Report(m.Bootstrap, at, fmt.Sprintf("kubeadm of v%s reads no %s", v, found[0]),
						say(fmt.Sprintf("the format of kubeadm 1.%d, as kubeadm config migrate writes it", v.Minor())))
					return
				}
			}
		}
		for _, list := range []string{"bootCommands", "preKubeadmCommands", "postKubeadmCommands"} {
			for _, command := range spec.At(list).Items() {
				report(command, command.Str())
			}
		}
		for _, file := range spec.At("files").Items() {
			report(file.At("content"), fileText(file))
		}
	}
}
