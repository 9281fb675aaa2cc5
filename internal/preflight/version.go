package preflight

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// controlPlane returns the cluster's control plane machines, or nil.
func (c *Cluster) controlPlane() *Machines {
	for _, m := range c.Machines {
		if m.ControlPlane {
			return m
		}
	}
	return nil
}

// versionOf returns the Kubernetes version of machines: their own, otherwise the control plane's.
func versionOf(m *Machines, c *Cluster) lint.Value {
	if plane := c.controlPlane(); !m.Version.Exists() && plane != nil {
		return plane.Version
	}
	return m.Version
}

func parsed(v lint.Value) *version.Version {
	out, err := version.ParseSemantic(v.Str())
	if err != nil {
		return nil
	}
	return out
}

// skew returns the number of minor versions by which a kubelet may be older than the API server: three since 1.28.
// Source: kubernetes.io/releases/version-skew-policy.
func skew(plane *version.Version) uint {
	if plane.LessThan(version.MajorMinor(1, 28)) {
		return 2
	}
	return 3
}

// hostProcessContainerd returns the first version of containerd with HostProcess containers. Source:
// kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.
func hostProcessContainerd() *version.Version { return version.MajorMinor(1, 6) }

// versions returns the checks of the versions of Kubernetes, images, Windows and containerd.
func (c checker) versions() []lint.Rule {
	eachGroup := func(check func(p *lint.Pass, c *Cluster, m *Machines)) func(*lint.Pass) {
		return c.eachCluster(func(p *lint.Pass, c *Cluster) {
			for _, m := range c.Machines {
				check(p, c, m)
			}
		})
	}
	return []lint.Rule{
		{
			ID: "PRE301", Severity: lint.Error, Title: "A Kubernetes version that is none", Oracle: lint.Unit,
			Doc: "`version` is a full version, such as v1.34.1: Cluster API and the choice of images need the patch. Cluster " +
				"API's webhooks put a missing v before it.",
			Check: eachGroup(checkPRE301),
		},
		{
			ID: "PRE302", Severity: lint.Error, Title: "Kubelets too new or too old", Oracle: lint.Unit,
			Doc: "A kubelet is never newer than the API server, and at most three minor versions older (two " +
				"before 1.28). Source: kubernetes.io/releases/version-skew-policy.",
			Check: eachGroup(checkPRE302),
		},
		{
			ID: "PRE303", Severity: lint.Error, Title: "An image of another Kubernetes version", Oracle: lint.Unit,
			Doc: "An image that is named has the Kubernetes version of its machines on it: bootstrapping does " +
				"not install another, unless the bootstrap data's own commands do. Known of images that are named " +
				"as Cluster API's reference images are.",
			Check: eachGroup(checkPRE303),
		},
		{
			ID: "PRE304", Severity: lint.Error, Title: "An image of the other system", Oracle: lint.Unit,
			Doc: "`osDisk.osType` and the image are of one operating system: Azure refuses a Windows profile " +
				"for an image of Linux, and the other way round.",
			Check: eachGroup(checkPRE304),
		},
		{
			ID: "PRE305", Severity: lint.Warning, Title: "A Windows release past its end", Oracle: lint.Unit,
			Doc: "Microsoft repairs a release of Windows Server until the end of its support, and publishes no " +
				"container images for it after that. Source: learn.microsoft.com/lifecycle/products/export.",
			Check: eachGroup(checkPRE305),
		},
		{
			ID: "PRE306", Severity: lint.Error, Title: "HostProcess pods on a runtime without them", Oracle: lint.Unit,
			Doc: "HostProcess containers need containerd 1.6 or newer; Docker has none. Images of Kubernetes " +
				"before 1.23 come with containerd 1.5. The add-ons of Windows nodes (Calico, kube-proxy, " +
				"csi-proxy) are such pods. Source: " +
				"kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod.",
			Check: eachGroup(checkPRE306),
		},
		{
			ID: "PRE307", Severity: lint.Warning, Title: "A Windows build with a known regression", Oracle: lint.Unit,
			Doc: "The version of a Windows Server image of the marketplace has the build in it, such as 20348.2582.240709. An " +
				"update that broke networks, HNS, storage or the start of containers is a warning with the build that " +
				"repairs it. A build newer than what is known is an info: not known is not fine. " +
				"docs/reference/windows-builds.md has them.",
			Check: eachGroup(checkPRE307),
		},
		{
			ID: "PRE308", Severity: lint.Warning, Title: "A Windows release that its network or Kubernetes does not support", Oracle: lint.Unit,
			Doc: "Calico does not support Windows Server 2025, and Kubernetes' documentation names 2019 no more. What a project refuses is " +
				"a warning; what it does not name is an info, where no image is named. docs/reference/windows-releases.md has all, with " +
				"sources and days.",
			Check: eachGroup(checkPRE308),
		},
	}
}

func checkPRE301(p *lint.Pass, _ *Cluster, m *Machines) {
	if m.Version.Exists() && parsed(m.Version) == nil {
		p.Report(m.Owner, m.Version, fmt.Sprintf("%q is no Kubernetes version", m.Version.Str()), say("such as v1.34.1"))
	}
}

func checkPRE302(p *lint.Pass, c *Cluster, m *Machines) {
	if c.controlPlane() == nil || m.ControlPlane {
		return
	}
	plane, own := parsed(c.controlPlane().Version), parsed(m.Version)
	switch {
	case plane == nil || own == nil:
	case own.Minor() > plane.Minor():
		p.Report(m.Owner, m.Version,
			fmt.Sprintf("kubelets of %s are newer than the control plane's %s", m.Version.Str(), plane),
			say("upgrade the control plane first, or v"+plane.String()))
	case own.Minor()+skew(plane) < plane.Minor():
		p.Report(m.Owner, m.Version, fmt.Sprintf("kubelets of %s are more than %d minor versions "+
			"older than the control plane's "+
			"%s", m.Version.Str(), skew(plane), plane), say("v"+plane.String()))
	}
}

func checkPRE303(p *lint.Pass, c *Cluster, m *Machines) {
	on, ok := contents(m, c)
	// Distributions of Kubernetes such as RKE2 have their name in the build metadata.
	if want := parsed(versionOf(m, c)); ok && want != nil && m.Spec.Image != nil &&
		on.KubernetesVersion != "v"+want.WithBuildMetadata("").String() && !m.installsKubernetes() {
		p.Report(m.Infra, m.At.At("image"), fmt.Sprintf("the image has Kubernetes %s and %s wants v%s",
			on.KubernetesVersion, m.Owner,
			want), say("the image of v"+want.String()+", or no image, which chooses it"))
	}
}

func checkPRE304(p *lint.Pass, c *Cluster, m *Machines) {
	if on, ok := contents(m, c); ok && m.Spec.OSDisk.OSType != "" && on.OS != m.Spec.OSDisk.OSType {
		p.Report(m.Infra, m.At.At("image"),
			fmt.Sprintf("the image is of %s and osDisk.osType says %s", on.OS, m.Spec.OSDisk.OSType),
			say("one and the same"))
	}
}

func checkPRE305(p *lint.Pass, c *Cluster, m *Machines) {
	if on, ok := contents(m, c); ok && on.OS == windows.OSWindows && !on.Release.SupportedAt(time.Now()) {
		p.Report(m.Infra, m.At.At("image"),
			fmt.Sprintf("support of Windows Server %s ended %s", on.Release.Name,
				on.Release.EndOfSupport.Format(time.DateOnly)),
			say("an image of Windows Server "+windows.DefaultRelease+" or newer"))
	}
}

func checkPRE306(p *lint.Pass, c *Cluster, m *Machines) {
	on, ok := contents(m, c)
	if !ok || on.OS != windows.OSWindows {
		return
	}
	if on.Runtime == windows.Containerd && !version.MustParseGeneric(on.RuntimeVersion).LessThan(hostProcessContainerd()) {
		return
	}
	for _, pod := range p.Pods() {
		if pod.HostProcess() {
			p.Report(m.Owner, versionOf(m, c), fmt.Sprintf("%s is a HostProcess pod, and the machines have %s %s",
				pod.Object, on.Runtime,
				on.RuntimeVersion), say("Kubernetes v1.23 or newer, whose images have containerd 1.6"))
			return
		}
	}
}

func checkPRE307(p *lint.Pass, c *Cluster, m *Machines) {
	image, ok := imageOf(m, c)
	if !ok || !m.Windows() {
		return
	}
	build, ok := windows.MarketplaceBuild(image.Version)
	if !ok {
		return
	}
	v, at := windows.Judge(build, windows.HitsHost), m.At.At("image")
	for _, r := range v.Found {
		p.Report(m.Infra, at, fmt.Sprintf("Windows %s has a known regression: %s (%s)", build, r.Name(), r.Source), say(r.Remedy()))
	}
	if !v.Known {
		p.ReportAs(lint.Info, m.Infra, at, fmt.Sprintf("whether Windows %s has regressions is %s", build,
			windows.Verdict{Newest: v.Newest}), say("look at the known issues of its update"))
	}
}

func checkPRE308(p *lint.Pass, c *Cluster, m *Machines) {
	on, ok := contents(m, c)
	if !ok || on.OS != windows.OSWindows {
		return
	}
	minor := 0
	if v := parsed(versionOf(m, c)); v != nil {
		minor = int(v.Minor())
	}
	projects := []string{"Kubernetes"}
	if n, ok := c.network(); ok {
		projects = append(projects, n.Project())
	}
	for _, by := range projects {
		switch s, ok := windows.SupportOf(by, on.Release.Name, minor); {
		case ok && s.Level == windows.Unsupported:
			p.Report(m.Infra, m.At, s.String(), say("windowsServerVersion: windows-"+windows.DefaultRelease))
		case ok && s.Level == windows.Unnamed && m.Spec.Image == nil: // an image in the spec was chosen on purpose
			p.ReportAs(lint.Info, m.Infra, m.At, s.String(), say("windowsServerVersion: windows-"+windows.DefaultRelease))
		}
	}
}

// contents returns the software on the image of machines, as far as the image's name shows it. It ignores a version in
// a user's own gallery, because its owner chooses the number.
func contents(m *Machines, c *Cluster) (windows.Contents, bool) {
	image, ok := imageOf(m, c)
	if !ok {
		return windows.Contents{}, false
	}
	reference := image.ID
	if strings.Contains(strings.ToLower(reference), "/galleries/") {
		return windows.Contents{}, false
	}
	if reference == "" {
		reference = windows.Image{Gallery: image.Gallery, Name: image.Name, Publisher: image.Publisher,
			Offer: image.Offer, SKU: image.SKU, Version: image.Version}.Reference()
	}
	return windows.ParseImage(reference)
}
