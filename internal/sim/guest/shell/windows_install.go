package shell

import (
	"context"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/artifact"
	"casement.dev/casement/internal/sim/guest/machine"
)

// nodeProgram returns the folder of a program that a node's image adds to Windows; "" for other programs.
func nodeProgram(name string) string {
	switch strings.TrimSuffix(strings.ToLower(name), ".exe") {
	case "kubeadm", "kubelet", "kubectl", "nssm":
		return `C:\k`
	case "crictl", "ctr", "containerd":
		return `C:\Program Files\containerd`
	}
	return ""
}

// onPath reports whether a program given without a folder is found: a program of Windows always, a program of a node
// if a folder of the search path has its file.
func (s *Shell) onPath(p *Process) bool {
	folder := nodeProgram(p.Args[0])
	if folder == "" || !s.guest.IsWindows() {
		return true
	}
	file := `\` + strings.TrimSuffix(strings.ToLower(p.Args[0]), ".exe") + ".exe"
	path := lookupFold(p.Env, "PATH")
	if p.Env == nil {
		path = s.guest.SearchPath()
	}
	folders := strings.Split(path, ";")
	if !s.guest.Image.Plain {
		folders = append(folders, folder)
	}
	return slices.ContainsFunc(folders, func(f string) bool {
		return f != "" && s.guest.Root.Exists(strings.TrimRight(f, `\`)+file)
	})
}

// versioned returns a command that prints the version of a node's program, which is in its file.
func versioned(name string) Command {
	return func(ctx context.Context, p *Process) int {
		made := p.Guest.IsWindows() || p.Guest.Image.Plain
		switch {
		case !made && (name == "containerd" || name == "runc"):
			return p.Refuse("%s", name)
		case !made || !slices.Contains(p.Args[1:], "--version") && p.Arg(1) != "version":
			return nodeOnly(name)(ctx, p)
		}
		version := programVersion(p, name)
		switch name {
		case "kubectl":
			p.Printf("Client Version: %s\n", version)
		case "containerd":
			p.Printf("containerd github.com/containerd/containerd/v2 v%s simulated-by-casement\n", strings.TrimPrefix(version, "v"))
		case "runc":
			p.Printf("runc version %s\n", strings.TrimPrefix(version, "v"))
		default:
			p.Printf("Kubernetes %s\n", version)
		}
		return 0
	}
}

// programVersion returns the version in a program's file, or else the image's version.
func programVersion(p *Process, name string) string {
	file := p.Args[0]
	if p.Guest.IsWindows() {
		file = programPath(p.Guest, file)
	} else if !strings.Contains(file, "/") {
		file = linuxFile(p.shell, name)
	}
	if program, ok := p.Guest.Program(p.Abs(file)); ok && program.Version != "" {
		return program.Version
	}
	if name == "containerd" {
		return p.Guest.Image.RuntimeVersion
	}
	return p.Guest.Image.KubernetesVersion
}

// ctr pulls images, which has no effect that a guest shows.
func ctr(ctx context.Context, p *Process) int {
	at := slices.Index(p.Args, "pull")
	if at < 1 || !slices.Contains([]string{"images", "image", "i"}, p.Args[at-1]) || !p.Guest.IsWindows() && !p.Guest.Image.Plain {
		return nodeOnly("ctr")(ctx, p)
	}
	return p.NoEffect(ctx, "ctr images pull")
}

// cloudbaseFolder is the folder in which cloudbase-init installs itself.
const cloudbaseFolder = `C:\Program Files\Cloudbase Solutions\Cloudbase-Init`

// msiexec installs the packages of simulated artifacts: /i FILE and switches.
func msiexec(_ context.Context, p *Process) int {
	const noPackage = 1619 // ERROR_INSTALL_PACKAGE_OPEN_FAILED
	file := ""
	for i, a := range p.Args[1:] {
		if (strings.EqualFold(a, "/i") || strings.EqualFold(a, "/package")) && i+2 < len(p.Args) {
			file = p.Args[i+2]
		}
	}
	if file == "" {
		return p.Refuse("msiexec without /i")
	}
	if !p.Guest.Root.Exists(p.Abs(file)) {
		return p.Fail(noPackage, "This installation package could not be opened. Verify that the package exists "+
			"and that you can access it.\r")
	}
	setup, ok := p.Guest.Program(p.Abs(file))
	if !ok || setup.Name != artifact.CloudbaseSetup {
		return p.Refuse("msiexec /i of a package other than cloudbase-init's")
	}
	for _, folder := range []string{"conf", "log", "LocalScripts"} {
		if err := p.Guest.Root.MkdirAll(cloudbaseFolder + `\` + folder); err != nil {
			return p.Fail(1603, "%s\r", windowsReason(err))
		}
	}
	if err := p.Guest.Root.WriteFile(cloudbaseFolder+`\conf\cloudbase-init.conf`, []byte("[DEFAULT]\r\n"), 0o644); err != nil {
		return p.Fail(1603, "%s\r", windowsReason(err))
	}
	if _, there := p.Guest.Services.Get(machine.CloudbaseInit); !there {
		if err := p.Guest.Services.Create(machine.Service{
			Name: machine.CloudbaseInit, Display: "Cloud Initialization Service", Start: machine.Automatic,
		}); err != nil {
			return p.Fail(1603, "%v\r", err)
		}
	}
	return 0
}

// dism adds the OpenSSH server; other calls have no effect.
func dism(ctx context.Context, p *Process) int {
	for _, a := range p.Args[1:] {
		if name, ok := strings.CutPrefix(strings.ToLower(a), "/capabilityname:"); ok && strings.HasPrefix(name, "openssh.server") {
			if err := p.Guest.AddOpenSSH(); err != nil {
				return p.Fail(1, "%v\r", err)
			}
			p.Printf("\r\nThe operation completed successfully.\r\n")
			return 0
		}
	}
	return noEffect(ctx, p)
}

// The files that sysprep writes.
const (
	sysprepFolder = `C:\Windows\System32\Sysprep`
	sysprepDone   = sysprepFolder + `\Sysprep_succeeded.tag`
	sysprepErrors = sysprepFolder + `\Panther\setuperr.log`
)

// sysprep generalizes Windows. It fails if an application is installed for one user and not provisioned for all, and
// reports that only in a file. Source:
// https://learn.microsoft.com/troubleshoot/windows-client/setup-upgrade-and-drivers/sysprep-fails-remove-or-update-store-apps.
func sysprep(_ context.Context, p *Process) int {
	root := p.Guest.Root
	if err := root.MkdirAll(sysprepFolder + `\Panther`); err != nil {
		return p.Fail(1, "%s\r", windowsReason(err))
	}
	if packages := p.Guest.UserPackages(); len(packages) > 0 {
		text := "Error SYSPRP Package " + packages[0] + " was installed for a user, but not provisioned for all " +
			"users. This package will not function properly in the sysprep image.\r\n" +
			"Error SYSPRP Failed to remove apps for the current user: 0x80073cf2.\r\n"
		if err := root.WriteFile(sysprepErrors, []byte(text), 0o644); err != nil {
			return p.Fail(1, "%s\r", windowsReason(err))
		}
		return 1
	}
	if err := root.WriteFile(sysprepDone, nil, 0o644); err != nil {
		return p.Fail(1, "%s\r", windowsReason(err))
	}
	return 0
}
