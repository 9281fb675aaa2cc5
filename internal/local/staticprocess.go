package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"casement.dev/casement/internal/kube"
	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/staticpod"
)

// StartProcess implements kubelet.Processes: a static pod's container becomes a
// process of casement-kube on this machine.
func (n *node) StartProcess(_ context.Context, spec kubelet.ProcessSpec) (kubelet.Process, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.processes[spec.ID]; p != nil && p.hash == spec.Hash && p.State().Running {
		return p, nil
	}
	binary, err := kube.Find()
	if err != nil {
		return nil, err
	}
	root, err := n.body.Path("/")
	if err != nil {
		return nil, err
	}
	argv, dropped, err := staticpod.Translate(spec.Container.Command, staticpod.Mapping{
		Root: root, Address: n.origin.IP.String(), Loopback: n.loopback.String(), EgressConfig: filepath.Join(n.home, "egress.yaml"),
		Version: n.body.Machine().Image.KubernetesVersion})
	if err != nil {
		return nil, err
	}
	for _, d := range dropped {
		fmt.Fprintf(n.console, "casement: warning: dropped %s, which the embedded Kubernetes no longer has\n", d)
	}
	p, err := process.Start(process.Spec{Name: argv[0], Path: binary, Argv: argv, Log: spec.LogFile})
	if err != nil {
		return nil, err
	}
	s := &staticProcess{Process: p, hash: spec.Hash}
	n.processes[spec.ID] = s
	if file, inTree := cloudConfig(spec.Container.Command); inTree {
		n.work.Go(func() { n.runInTree(s, spec.Container.Command, file) })
	}
	return s, nil
}

// runs says which Kubernetes the control plane of this machine really is, and
// nothing on a machine that has none.
func (n *node) runs() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, p := range n.processes {
		if !strings.HasSuffix(id, "/kube-apiserver") || !p.State().Running {
			continue
		}
		asked := n.body.Machine().Image.KubernetesVersion
		release, exact := staticpod.Emulated(asked)
		switch {
		case release == staticpod.Embedded && exact:
			return kubernetesVersion()
		case exact:
			return kubernetesVersion() + " as " + release
		}
		return kubernetesVersion() + " as " + release + ", the oldest it can be"
	}
	return ""
}

// staticProcess is a process as a kubelet sees it.
type staticProcess struct {
	*process.Process
	hash string
}

// ExitCode implements kubelet.Process.
func (p *staticProcess) ExitCode() int { return p.State().ExitCode }

// Stop implements kubelet.Process.
func (p *staticProcess) Stop(ctx context.Context) error {
	p.Process.Stop(ctx)
	return nil
}
