package image

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
)

// download is a component with its kind of installation.
type download struct {
	Component
	// as is the kind of installation: file, tar or msi.
	as string
}

// The places of programs on a Windows machine.
const (
	kubeDir       = `C:\k`
	containerdDir = `C:\Program Files\containerd`
	cniDir        = `C:\opt\cni\bin`
)

// standard returns the downloads of every Windows image, without their checksums. Sources: https://dl.k8s.io, the
// release pages of containerd, runc, containernetworking/plugins and cloudbase-init.
func (s Spec) standard() []download {
	if s.os() == osLinux {
		return s.standardLinux()
	}
	bin := "https://dl.k8s.io/" + s.KubernetesVersion + "/bin/windows/amd64/"
	out := []download{
		{Component{Name: "containerd", Path: containerdDir, URL: fmt.Sprintf("https://github.com/containerd/"+
			"containerd/releases/download/v%[1]s/containerd-%[1]s-windows-amd64.tar."+
			"gz", s.ContainerdVersion)}, "tar"},
		{Component{Name: "cni-plugins", Path: cniDir, URL: fmt.Sprintf("https://github.com/containernetworking/"+
			"plugins/releases/download/v%[1]s/cni-plugins-windows-amd64-v%[1]s."+
			"tgz", s.CNIPluginsVersion)}, "tar"},
	}
	for _, name := range []string{"kubelet", "kubeadm", "kubectl", "kube-log-runner"} {
		out = append(out, download{Component{Name: name, Path: kubeDir + `\` + name + ".exe", URL: bin + name + ".exe"}, "file"})
	}
	cloudbase := s.CloudbaseInitVersion
	return append(out, download{Component{Name: "cloudbase-init", URL: fmt.Sprintf("https://github.com/"+
		"cloudbase/cloudbase-init/releases/download/%s/CloudbaseInitSetup_%s_x64."+
		"msi", cloudbase, strings.ReplaceAll(cloudbase, ".", "_"))}, "msi"})
}

// standardLinux returns the downloads of every Linux image. Its cloud-init is already in the source image.
func (s Spec) standardLinux() []download {
	const github = "https://github.com/"
	out := []download{
		{Component{Name: "containerd", Path: "/usr/local", URL: fmt.Sprintf(github+"containerd/containerd/releases/"+
			"download/v%[1]s/containerd-%[1]s-linux-amd64.tar.gz", s.ContainerdVersion)}, "tar"},
		{Component{Name: "runc", Path: "/usr/local/sbin/runc",
			URL: github + "opencontainers/runc/releases/download/v" + s.RuncVersion + "/runc.amd64"}, "file"},
		{Component{Name: "cni-plugins", Path: "/opt/cni/bin", URL: fmt.Sprintf(github+"containernetworking/plugins/"+
			"releases/download/v%[1]s/cni-plugins-linux-amd64-v%[1]s.tgz", s.CNIPluginsVersion)}, "tar"},
	}
	for _, name := range []string{"kubelet", "kubeadm", "kubectl"} {
		out = append(out, download{Component{Name: name, Path: "/usr/bin/" + name,
			URL: "https://dl.k8s.io/" + s.KubernetesVersion + "/bin/linux/amd64/" + name}, "file"})
	}
	return out
}

// csiProxy is the component that CSI drivers for Windows need if pods cannot be HostProcess containers.
const csiProxy = "csi-proxy"

// lastProxied is the last Kubernetes minor version whose kubelet runs HostProcess containers only with a feature gate.
// Source: https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates-removed/.
const lastProxied = 22

// ownPrograms are the components without a standard download URL, with their paths on the machine.
var ownPrograms = map[string]string{"nssm": kubeDir + `\nssm.exe`, csiProxy: kubeDir + `\csi-proxy.exe`}

// has reports whether the build file has a component with this name.
func (s Spec) has(name string) bool {
	return slices.ContainsFunc(s.Components, func(c Component) bool { return c.Name == name })
}

// minorOf returns the minor version of a Kubernetes version.
func minorOf(version string) int {
	var minor int
	// Validation has refused invalid versions.
	_, _ = fmt.Sscanf(strings.TrimPrefix(version, "v"), "1.%d", &minor)
	return minor
}

// downloads returns all downloads of a build: the standard ones, replaced or extended by the build file's components,
// with URLs at the mirror if there is one.
func (s Spec) downloads() []download {
	out := s.standard()
	for _, c := range s.Components {
		at := slices.IndexFunc(out, func(d download) bool { return d.Name == c.Name })
		if at < 0 {
			if path, own := ownPrograms[c.Name]; own {
				c.Path = path
			}
			out = append(out, download{c, "file"})
			continue
		}
		c.Path = out[at].Path
		if c.URL == "" {
			c.URL = out[at].URL
		}
		out[at].Component = c
	}
	for i := range out {
		out[i].URL = mirrored(s.Mirror, out[i].URL)
	}
	return out
}

// mirrored returns the address of a download at a mirror.
func mirrored(mirror, address string) string {
	u, err := url.Parse(address)
	if mirror == "" || err != nil {
		return address
	}
	return strings.TrimSuffix(mirror, "/") + "/" + u.Host + u.Path
}

// Downloads returns the URLs from which a build downloads, in order.
func (b *ImageBuild) Downloads() []string {
	var out []string
	for _, d := range b.Spec.withDefaults().downloads() {
		out = append(out, d.URL)
	}
	return out
}

// Pin sets checksums from a list with a line "SHA256  URL" for each download. It does not change checksums in the build file.
func (b *ImageBuild) Pin(list io.Reader) error {
	pins := map[string]string{}
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || !sumForm.MatchString(fields[0]) {
			return fmt.Errorf("the list of checksums has a line that is not \"SHA256  URL\": %q", lines.Text())
		}
		pins[fields[1]] = fields[0]
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, d := range b.Spec.withDefaults().downloads() {
		sum, ok := pins[d.URL]
		if !ok || d.SHA256 != "" {
			continue
		}
		at := slices.IndexFunc(b.Spec.Components, func(c Component) bool { return c.Name == d.Name })
		if at < 0 {
			b.Spec.Components = append(b.Spec.Components, Component{Name: d.Name, SHA256: sum})
			continue
		}
		b.Spec.Components[at].SHA256 = sum
	}
	return nil
}
