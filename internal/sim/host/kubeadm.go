package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubeadm"
)

// kubeadm returns the guest's kubeadm command.
func (n *node) kubeadm(ctx context.Context, p *guest.Process) int {
	if len(p.Args) < 2 {
		return p.Fail(1, "kubeadm: name a command: init, join or version")
	}
	config := flagValue(p.Args, "config")
	if config != "" {
		config = p.Abs(config)
	}
	var err error
	switch p.Args[1] {
	case "init":
		err = n.kubeadmInit(ctx, config, p.Stdout)
	case "version":
		fmt.Fprintln(p.Stdout, n.kubeadmVersion(p.Args))
	case "join":
		err = n.kubeadmJoin(ctx, config, p.Stdout)
	default:
		return p.Fail(1, "kubeadm: unknown command %q", p.Args[1])
	}
	if err != nil {
		return p.Fail(1, "error: %v", err)
	}
	return 0
}

// kubeadmVersion returns the output of "kubeadm version"; with -o short it is only the
// version.
func (n *node) kubeadmVersion(args []string) string {
	version := n.body.Machine().Image.KubernetesVersion
	file := linuxKubeadm
	if n.vm.OS == guest.Windows {
		file = windowsKubeadm
	}
	if program, ok := n.body.Machine().Program(file); ok && program.Version != "" {
		version = program.Version
	}
	if len(args) > 3 && args[2] == "-o" && args[3] == "short" || flagValue(args, "output") == "short" {
		return version
	}
	return "kubeadm version: &version.Info{GitVersion:\"" + version + "\"} (simulated by casement)"
}

// Paths of the Kubernetes programs on a Windows node.
const (
	windowsKubeadm = `C:\k\kubeadm.exe`
	windowsKubelet = `C:\k\kubelet.exe`
)

// Paths of the Kubernetes programs on a Linux node.
const (
	linuxKubeadm = "/usr/bin/kubeadm"
	linuxKubelet = "/usr/bin/kubelet"
)

func flagValue(args []string, name string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return v
		}
		if a == "--"+name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// boot runs a subcommand of casement-kube's boot for this machine, while the machine's kubelet runs
// the static pods that boot writes.
func (n *node) boot(ctx context.Context, command, config string, out io.Writer) error {
	spec, root, err := n.bootSpec(command, config)
	if err != nil {
		return err
	}
	before, err := n.files()
	if err != nil {
		return err
	}
	for until := time.Now().Add(bootPatience); ; {
		code, err := n.bootOnce(ctx, spec)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(spec.Log)
		if err != nil {
			return err
		}
		// kubeadm's packages print some paths of this computer.
		if _, err := out.Write(bytes.ReplaceAll(text, []byte(root+"/"), []byte("/"))); err != nil {
			return err
		}
		if code == 0 {
			return nil
		}
		lacks := lacking(text)
		if code != killed && lacks == "" || time.Now().After(until) {
			return fmt.Errorf("kubeadm %s ended with exit code %d", command, code)
		}
		if lacks != "" {
			fmt.Fprintf(out,
				"casement: kubeadm %s met %q of the real machine; it starts again without what it had written\n",
				command, lacks)
			err = n.removeOthers(before)
		} else {
			fmt.Fprintf(out, "casement: a signal from outside the machine ended kubeadm %s; it starts again\n", command)
		}
		if err := errors.Join(err, os.Truncate(spec.Log, 0)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bootPause):
		}
	}
}

// bootSpec returns the specification of the boot process, and the guest's root.
func (n *node) bootSpec(command, config string) (spec process.Spec, root string, err error) {
	binary, err := kubeproc.Find()
	if err != nil {
		return spec, "", err
	}
	if root, err = n.body.Path("/"); err != nil {
		return spec, "", err
	}
	logs := filepath.Join(n.home, "kubeadm")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return spec, "", err
	}
	var ips []string
	for _, ip := range n.body.Machine().IPs {
		ips = append(ips, ip.String())
	}
	spec, err = n.confined(process.Spec{
		Name: "kubeadm", Path: binary, Log: filepath.Join(logs, "kubeadm.log"),
		Argv: []string{"boot", command, "--root=" + root, "--config=" + config, "--node-name=" + strings.ToLower(n.vm.ComputerName),
			"--address=" + strings.Join(ips, ","), "--loopback=" + n.loopback.String(), "--egress=" + n.socket},
	}, []string{logs}, nil)
	return spec, root, err
}

// kubernetesDir is the folder in a guest's root to which kubeadm writes.
const kubernetesDir = "/etc/kubernetes"

// The time for which kubeadm is retried after the host's kernel killed it for lack of memory, or
// after the host's disk was full, and the pause between attempts. Its phases keep finished work.
const (
	bootPatience = 2 * time.Minute
	bootPause    = time.Second
)

// killed is the exit code of a process that a signal ended.
const killed = -1

// lacking returns the resource of this computer that a program's output reports as exhausted; ""
// for none. A guest's own full disk has another message.
func lacking(output []byte) string {
	for _, e := range exhaustion {
		if bytes.Contains(output, []byte(e.Error())) {
			return e.Error()
		}
	}
	return ""
}

// files returns the files below kubernetesDir, which may not exist.
func (n *node) files() (map[string]bool, error) {
	found := map[string]bool{}
	tree, err := n.body.Machine().Root.Tree(kubernetesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found[name] = true
		}
		return err
	})
	return found, err
}

// removeOthers removes the files below kubernetesDir that are not in keep. A removed file may be
// half written, and kubeadm refuses a certificate without its key.
func (n *node) removeOthers(keep map[string]bool) error {
	found, err := n.files()
	for name := range found {
		if !keep[name] {
			err = errors.Join(err, n.body.Machine().Root.Remove(kubernetesDir+"/"+name))
		}
	}
	return err
}

// bootOnce runs the boot program to its end and returns its exit code.
func (n *node) bootOnce(ctx context.Context, spec process.Spec) (code int, err error) {
	p, err := process.Start(spec)
	if err != nil {
		return 0, err
	}
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			p.Kill()
			return 0, ctx.Err()
		case <-poll.C:
			n.startKubelet() // succeeds after boot has written the kubelet's configuration
		case <-p.Done():
			return p.State().ExitCode, nil
		}
	}
}

func (n *node) kubeadmJoin(ctx context.Context, config string, out io.Writer) error {
	m := n.body.Machine()
	data, err := m.Root.ReadFile(config)
	if err != nil {
		return err
	}
	join, _, err := kubeadm.ParseJoin(data, n.vm.ComputerName)
	if err != nil {
		return err
	}
	err = kubeadm.Join(ctx, n.kubeadmOptions(data, out))
	if err != nil || join.ControlPlane == nil {
		return err
	}
	return n.boot(ctx, "join", config, out)
}

func (n *node) kubeadmInit(ctx context.Context, config string, out io.Writer) error {
	data, err := n.body.Machine().Root.ReadFile(config)
	if err != nil {
		return err
	}
	return kubeadm.Init(ctx, n.kubeadmOptions(data, out), func() error { return n.boot(ctx, "init", config, out) })
}

// kubeadmOptions returns the facts about the machine that kubeadm depends on.
func (n *node) kubeadmOptions(config []byte, out io.Writer) kubeadm.Options {
	m := n.body.Machine()
	return kubeadm.Options{
		Config: config, Files: m.Root, OS: strings.ToLower(n.vm.OS), Hostname: n.vm.ComputerName, CRISockets: []string{n.criSocket()},
		Version: m.Image.KubernetesVersion, Dial: n.dial, Out: out, Lacks: n.lacks(),
		Cores: n.vm.Cores, MemoryMiB: n.vm.MemoryMiB, PortTaken: n.portTaken,
		StartKubelet: func(context.Context) error {
			n.stopKubelet()
			n.startKubelet()
			return nil
		},
	}
}

// criSocket returns the address of the machine's container runtime.
func (n *node) criSocket() string {
	if n.vm.OS == guest.Windows {
		return "npipe:////./pipe/containerd-containerd"
	}
	return "unix:///var/run/containerd/containerd.sock"
}

// portTaken reports whether something on the machine listens on a port.
func (n *node) portTaken(port int) bool {
	at := netip.AddrPortFrom(n.loopback, uint16(port)).String()
	return slices.ContainsFunc(n.net.Listeners(), func(l fabric.Listener) bool { return l.Address == at })
}

// lacks returns the parts that a node requires and the machine does not have: its runtime may be
// stopped, and a custom image may contain anything.
func (n *node) lacks() []kubeadm.Lack {
	m := n.body.Machine()
	var out []kubeadm.Lack
	row, ok := m.Services.Get(containerService(m.Image))
	if !row.Running && (ok || n.vm.OS == guest.Windows || m.Image.Plain) { // kubeadm checks it first
		out = append(out, kubeadm.Lack{Check: "CRI", Reason: n.runtimeDown()})
	}
	return append(out, n.lacksKubelet()...)
}

// runtimeDown returns kubeadm's message for a container runtime that does not answer. Source:
// kubernetes cmd/kubeadm/app/util/runtime/runtime.go; k8s.io/cri-client.
func (n *node) runtimeDown() string {
	dial := "dial unix /var/run/containerd/containerd.sock: connect: no such file or directory"
	if n.vm.OS == guest.Windows {
		dial = "open //./pipe/containerd-containerd: The system cannot find the file specified."
	}
	return fmt.Sprintf("container runtime is not running: validate service connection: validate CRI v1 runtime API for endpoint %q: "+
		"rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: %s\" (the service %s does not "+
		"run)", n.criSocket(), dial, containerService(n.body.Machine().Image))
}

// lacksKubelet returns the parts that the kubelet requires and the machine does not have.
func (n *node) lacksKubelet() (out []kubeadm.Lack) {
	m := n.body.Machine()
	file, search := windowsKubelet, "%PATH%"
	if n.vm.OS != guest.Windows {
		file, search = linuxKubelet, "$PATH"
	}
	if n.vm.OS != guest.Windows && !m.Image.Plain {
		return nil
	}
	if !m.Root.Exists(file) {
		out = append(out, kubeadm.Lack{Check: "KubeletVersion", Reason: "couldn't get kubelet version: cannot " +
			"execute 'kubelet --version': exec: \"kubelet\": executable file not found in " + search})
	}
	if _, ok := m.Services.Get("kubelet"); !ok {
		out = append(out, kubeadm.Lack{Check: "Service-Kubelet", Reason: "kubelet service does not exist"})
	}
	return out
}

// containerService returns the name of the service of a machine's container runtime.
func containerService(image guest.Image) string {
	if strings.HasPrefix(image.Runtime, "docker") {
		return "docker"
	}
	return "containerd"
}
