package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/internal/confine"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/staticpod"
	"casement.dev/casement/internal/tuning"
)

// StartProcess implements kubelet.Processes: the container of a static pod becomes a process of
// casement-kube on this computer, which reads and writes only inside the guest's files and starts
// no program.
func (n *node) StartProcess(_ context.Context, spec kubelet.ProcessSpec) (kubelet.Process, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.processes == nil {
		return nil, errors.New("the machine is being stopped")
	}
	maps.DeleteFunc(n.processes, func(_ processKey, p *staticProcess) bool { return !p.State().Running })
	key := processKey{spec.ID, spec.Hash}
	if p := n.processes[key]; p != nil {
		return p, nil
	}
	args := slices.Concat(spec.Container.Command, spec.Container.Args)
	s, err := n.elected(args, func(alone bool) (*staticProcess, error) { return n.runStatic(spec, args, alone) })
	if err != nil {
		return nil, err
	}
	n.processes[key] = s
	if file, inTree := cloudConfig(args); inTree {
		n.body.Machine().Wall.Go(&n.work, "kube-controller-manager", func() { n.runInTree(s, args, file) })
	}
	return s, nil
}

// runStatic starts the process of a static pod's container. For alone see staticpod.Mapping.
func (n *node) runStatic(spec kubelet.ProcessSpec, args []string, alone bool) (*staticProcess, error) {
	binary, err := kubeproc.Find()
	if err != nil {
		return nil, err
	}
	private := filepath.Join(n.home, "static", processFolder(spec.ID))
	command, err := staticpod.Translate(args, staticpod.Mapping{
		Files: n.body.Machine().Root, Private: private, Addresses: n.body.Machine().IPs, Loopback: n.loopback.String(),
		EgressConfig: filepath.Join(n.home, "egress.yaml"), APIServer: kubeproc.IdleFlags(),
		Peer: n.peer, Version: n.body.Machine().Image.KubernetesVersion, Alone: alone})
	if err == nil {
		err = unanswered(command.Dials)
	}
	if err != nil {
		fmt.Fprintf(n.console, "casement: the static pod %s does not run: %v\n", spec.ID, err)
		return nil, err
	}
	for _, d := range command.Dropped {
		fmt.Fprintf(n.console, "casement: warning: dropped %s\n", d)
	}
	if err := n.keepPrivate(private, command.Made); err != nil {
		return nil, err
	}
	walled, err := n.confined(process.Spec{Name: command.Argv[0], Path: binary, Argv: command.Argv, Output: spec.Output,
		Slack: process.Slack},
		nil, []string{private, n.home + "/egress.yaml"})
	if err != nil {
		return nil, err
	}
	walled.Env = append(walled.Env, confine.Reaches+"="+n.loopback.String())
	p, err := process.Start(walled)
	if err != nil {
		return nil, err
	}
	n.body.Machine().Wall.Go(&n.work, "static pod", func() { n.logEnd(spec, p) })
	return &staticProcess{Process: p, program: command.Argv[0]}, nil
}

// logEnd writes to the console that a process of a static pod ended by itself, with the last line
// of its output. internal/diagnose/walk reads this message to explain an API server that does not
// answer.
func (n *node) logEnd(spec kubelet.ProcessSpec, p *process.Process) {
	<-p.Done()
	n.mu.Lock()
	stopped := n.processes == nil
	n.mu.Unlock()
	if code := p.State().ExitCode; code > 0 && !stopped {
		last := spec.LastLine()
		if root, err := n.body.Path("/"); err == nil {
			last = strings.ReplaceAll(last, strings.TrimSuffix(root, "/"), "") // shows a path of the guest
		}
		fmt.Fprintf(n.console, "casement: the static pod %s ended with code %d: %s\n", spec.ID, code, last)
	}
}

// peer implements a field of staticpod.Mapping.
func (n *node) peer(address string) (string, bool) {
	ip, err := netip.ParseAddr(address)
	if err != nil || n.net == nil {
		return "", false
	}
	at, ok := n.net.Peer(n.origin, ip.Unmap())
	return at.String(), ok
}

// unanswered returns an error if an address belongs to a machine on which no program listens, so
// that another program of this computer, which listens on all addresses, would answer.
func unanswered(dials []string) error {
	for _, address := range dials {
		if at, err := netip.ParseAddrPort(address); err == nil && fabric.Foreign("tcp", at) {
			return fmt.Errorf("nothing of the machine listens on port %d, and another program of this computer would answer there", at.Port())
		}
	}
	return nil
}

// confined returns spec with the confinement of a program that works for the guest. It may write in
// the guest's root and in the folders write; it may read there, in the folders read, and in the
// folders that every program needs. It starts no program, and gets none of this process's
// environment.
func (n *node) confined(spec process.Spec, write, read []string) (process.Spec, error) {
	root, err := n.body.Path("/")
	if err != nil {
		return spec, err
	}
	spec.Records = n.records
	program, err := filepath.EvalSymlinks(spec.Path) // the confinement applies to the file, not to the link
	if err != nil {
		return spec, err
	}
	spec.Dir, spec.OnlyEnv = root, true
	spec.Env = slices.Concat(plainEnvironment(), tuning.Env(spec.Name), []string{confine.Marker + "=1"})
	folders := confine.Folders{
		Write: append([]string{root}, write...),
		Read:  slices.Concat(read, []string{filepath.Dir(program)}, confine.System),
	}
	spec.Before = func() error {
		err := folders.Thread()
		if errors.Is(err, confine.ErrUnsupported) {
			fmt.Fprintf(n.console, "casement: warning: %s runs without a second wall: %v\n", spec.Name, err)
			return nil
		}
		return err
	}
	return spec, nil
}

// plainEnvironment returns the variables of this process's environment that a Go program
// needs.
func plainEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return !strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "TZ=") && !strings.HasPrefix(v, "SSL_CERT_")
	})
}

// processFolder returns the name of the folder for a process's own files. Parts of an ID are names
// of Kubernetes objects, so that no two IDs have the same folder.
func processFolder(id string) string { return strings.ReplaceAll(id, "/", "_") }

// keepPrivate writes files for a process outside of the guest's files.
func (n *node) keepPrivate(dir string, made map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range made {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// stopProcesses stops all static pods of this machine and prevents new ones: first those that no
// other pod needs, then the API server, and etcd last.
func (n *node) stopProcesses(ctx context.Context) {
	n.mu.Lock()
	left := n.processes
	n.processes = nil
	n.mu.Unlock()
	for _, last := range []string{"", "kube-apiserver", "etcd"} {
		var group sync.WaitGroup
		for key, p := range left {
			if last == "" && (p.program == "kube-apiserver" || p.program == "etcd") || last != "" && p.program != last {
				continue
			}
			delete(left, key)
			n.body.Machine().Wall.Go(&group, "static pod", func() { _ = p.Stop(ctx) }) // Stop finally kills the process
		}
		group.Wait()
	}
}

// runs returns the Kubernetes version of this machine's control plane processes; "" for a machine
// without a control plane.
func (n *node) runs() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.processes {
		if p.program != "kube-apiserver" || !p.State().Running {
			continue
		}
		asked := n.body.Machine().Image.KubernetesVersion
		release, exact := staticpod.Emulated(asked)
		switch {
		case release == staticpod.Embedded && exact:
			return kubeproc.Version()
		case exact:
			return kubeproc.Version() + " as " + release
		}
		return kubeproc.Version() + " as " + release + ", the oldest it can be"
	}
	return ""
}

// staticProcess implements kubelet.Process.
type staticProcess struct {
	*process.Process
	program string
}

// processKey identifies a container of a static pod and a version of its manifest: after a change
// of the manifest, the old process may still be ending.
type processKey struct{ id, hash string }

// ExitCode implements kubelet.Process.
func (p *staticProcess) ExitCode() int { return p.State().ExitCode }

// Stop implements kubelet.Process.
func (p *staticProcess) Stop(ctx context.Context) error {
	p.Process.Stop(ctx)
	return nil
}
