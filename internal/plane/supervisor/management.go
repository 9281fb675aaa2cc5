package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/process"
)

// planeHost is the address of all servers of the plane except the servers of guests.
const planeHost = "127.0.0.1"

// management is the management API server with its managers.
type management struct {
	plane *kubeproc.Plane
	dir   plane.Dir
	// kinds are the kinds with which the API server starts; nil once the managers serve them.
	kinds *kinds
}

func (s *supervisor) startManagement(ctx context.Context, _ chan<- error) (func(context.Context), error) {
	cfg := kubeproc.Config{
		Dir: s.opts.Dir.Path("management"), Host: planeHost, Names: []string{managementName},
		AuditOf: s.opts.AuditOf, Records: s.opts.Dir.Records(), OnWait: s.wait,
	}
	var began *kinds
	if s.opts.Bare {
		cfg.EgressConfig = s.opts.Dir.Path("management", "egress.yaml")
		if err := s.writeEgress(cfg.EgressConfig); err != nil {
			return nil, err
		}
	} else {
		cfg.CRDs = func(ca []byte) (_ []*apiextensionsv1.CustomResourceDefinition, err error) {
			if began, err = newKinds(ca, s.opts.Upstream); err != nil {
				return nil, err
			}
			return began.crds, nil
		}
	}
	plane, err := kubeproc.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.management = &management{plane: plane, dir: s.opts.Dir, kinds: began}
	s.mu.Unlock()
	if err := os.WriteFile(s.opts.Dir.Kubeconfig(), plane.Kubeconfig(), 0o600); err != nil {
		return plane.Stop, err
	}
	return plane.Stop, s.announceRoute(ctx)
}

func (m *management) describe(s *plane.Status) {
	for _, p := range m.plane.Processes() {
		if state := p.State(); state.Restarts > 0 || !state.Running {
			s.Restarts = append(s.Restarts, plane.Restart{Name: "management " + p.Name(), Times: state.Restarts,
				Last: state.Ended, Reason: endReason(state), Down: !state.Running})
		}
	}
	s.Kubernetes = plane.Kubernetes{Version: kubeproc.Version(), Server: m.plane.Server(), Kubeconfig: m.dir.Kubeconfig()}
}

// endReason describes how a process last ended.
func endReason(s process.State) string {
	if s.ExitCode < 0 {
		return "ended by a signal"
	}
	return fmt.Sprintf("exit code %d", s.ExitCode)
}

// keptPort returns the port in file or, without one, a free port of planeHost, which it writes to file, so that
// addresses stay the same over restarts. For a file without a valid port it returns an error that names the file.
func keptPort(file string) (int, error) {
	data, err := os.ReadFile(file)
	if err == nil {
		port, err := strconv.ParseUint(string(data), 10, 16)
		if err != nil || port == 0 {
			return 0, fmt.Errorf("%s is damaged: it holds %.20q and no port; delete it to get another one, or "+
				"write the port that clusters know", file, data)
		}
		return int(port), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read a port that is kept: %w", err)
	}
	ports, err := freeport.Choose(planeHost, 1)
	if err != nil {
		return 0, err
	}
	return ports[0], os.WriteFile(file, []byte(strconv.Itoa(ports[0])), 0o600)
}
