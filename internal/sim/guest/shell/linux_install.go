package shell

import (
	"context"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/artifact"
	"casement.dev/casement/internal/sim/guest/machine"
)

// linuxFolders are the folders in which a Linux machine looks for programs.
var linuxFolders = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// notOnPlain are programs that Ubuntu's own image does not have: those of a node, and those of packages that kubeadm
// and kube-proxy require.
var notOnPlain = slices.Concat([]string{"kubeadm", "kubelet", "kubectl", "containerd", "ctr", "crictl", "runc"}, nodePackages)

// nodePackages are packages with one program of the same name, which apt-get can install in a guest.
var nodePackages = []string{"conntrack", "socat", "ebtables", "ipset"}

// debian are the programs of Debian's package manager, and others that only Ubuntu's image has.
var debian = strings.Fields(`apt apt-get apt-cache apt-mark apt-key apt-config dpkg dpkg-query dpkg-deb dpkg-reconfigure
	add-apt-repository snap ufw netplan pro unattended-upgrade unattended-upgrades update-grub`)

// missing are programs that the images of a family do not have. Sources: https://www.flatcar.org/docs (no package
// manager, no interpreter of Python), https://learn.microsoft.com/azure/azure-linux (packages by tdnf).
var missing = map[string][]string{
	machine.Flatcar:    slices.Concat(debian, strings.Fields("python3 perl pip pip3 cloud-init gcc make nano update-alternatives")),
	machine.AzureLinux: debian,
}

// lacks reports whether a machine's image does not have a program and no folder has its file.
func (s *Shell) lacks(name string) bool {
	if s.guest.IsWindows() {
		return false
	}
	image, base := s.guest.Image, path.Base(name)
	if !slices.Contains(missing[image.Family()], base) && (!image.Plain || !slices.Contains(notOnPlain, base)) {
		return false
	}
	if strings.Contains(name, "/") {
		return !s.guest.Root.Exists(name)
	}
	return linuxFile(s, name) == ""
}

// linuxFile returns the path of a program's file, or "".
func linuxFile(s *Shell, name string) string {
	for _, folder := range linuxFolders {
		if file := path.Join(folder, name); s.guest.Root.Exists(file) {
			return file
		}
	}
	return ""
}

// aptVerbs are the verbs of apt-get without effect in a guest, whose archive has nothing newer.
var aptVerbs = []string{"update", "upgrade", "dist-upgrade", "full-upgrade", "autoremove", "clean", "autoclean"}

// aptGet installs the packages that a node needs on a machine of a plain image. There is no archive for other
// machines and other packages.
func aptGet(ctx context.Context, p *Process) int {
	if !p.Guest.Image.Plain {
		return refuseDownload(100)(ctx, p)
	}
	var words []string
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-o" || a == "-c" || a == "-t":
			i++
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		}
	}
	switch {
	case len(words) == 0:
		return p.Refuse("%s without a command", p.name())
	case slices.Contains(aptVerbs, words[0]):
		return p.NoEffect(ctx, "%s %s", p.name(), words[0])
	case words[0] != "install":
		return p.Refuse("%s %s", p.name(), words[0])
	}
	for _, name := range words[1:] {
		file := path.Join("/usr/sbin", name)
		switch {
		case !slices.Contains(nodePackages, name):
			p.Guest.Refused("packages by " + p.name())
			return p.Fail(100, "E: Unable to locate package %s: this guest is simulated, and its archive has %s alone", name,
				strings.Join(nodePackages, ", "))
		case !p.Guest.Root.Exists(file):
			if err := p.Guest.Root.WriteFile(file, artifact.Program{Name: name, Version: "simulated"}.File(), 0o755); err != nil {
				return p.failed(file, err)
			}
		}
	}
	return 0
}

// waagent removes the files that identify a machine, so that an image can be created from it. Source:
// https://learn.microsoft.com/azure/virtual-machines/extensions/agent-linux.
func waagent(_ context.Context, p *Process) int {
	user := slices.Contains(p.Args, "-deprovision+user") || slices.Contains(p.Args, "--deprovision+user")
	if !user && !slices.Contains(p.Args, "-deprovision") && !slices.Contains(p.Args, "--deprovision") {
		return p.Refuse("waagent %s", p.Arg(1))
	}
	if !slices.Contains(p.Args, "-force") && !slices.Contains(p.Args, "--force") {
		return p.Refuse("waagent -deprovision without -force, which asks")
	}
	if err := p.Guest.Deprovision(user); err != nil {
		return p.Fail(1, "ERROR waagent: %v", err)
	}
	return 0
}

// refuseDownload returns a command that refuses a download with the program's own exit code.
func refuseDownload(code int) Command {
	return func(_ context.Context, p *Process) int {
		p.Guest.Refused("downloads by " + p.name())
		return p.Fail(code, "%s: this guest is simulated and downloads nothing", p.Args[0])
	}
}
