package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/certmanager"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/host"
	"casement.dev/casement/internal/sim/podrun"
	"casement.dev/casement/internal/sim/proxy"
)

// bareSimulated lists the simulated parts that only a bare plane has.
var bareSimulated = []string{
	"the management cluster's node (pods of known images run as processes of this machine)",
	"cert-manager (self-signed certificates and CA injection only)",
}

// settleKind marks a state directory as a bare plane's, or checks the mark. A plane of the other kind cannot be
// continued as a bare one.
func (o *Options) settleKind() error {
	mark := o.Dir.Path(plane.BareMark)
	azureOf, err := os.ReadFile(mark)
	if err == nil {
		if len(azureOf) > 0 && !filepath.IsAbs(string(azureOf)) {
			return fmt.Errorf("%s is damaged: it holds %.40q, which is no path of another plane's state; empty "+
				"it for a plane with an Azure of its own", mark, azureOf)
		}
		o.Bare, o.AzureOf = true, cmp.Or(o.AzureOf, plane.Dir(azureOf))
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !o.Bare {
		return nil
	}
	if _, err := os.Stat(o.Dir.Path("management")); err == nil {
		return fmt.Errorf("%s holds a plane that is not bare; end it with 'casement down --purge', or name "+
			"another directory with --state", o.Dir)
	}
	return os.WriteFile(mark, []byte(o.AzureOf), 0o600)
}

func (s *supervisor) egressSocket() string { return s.opts.Dir.Path("egress", "management.sock") }

// writeEgress writes the configuration with which the API server connects to pods.
func (s *supervisor) writeEgress(file string) error {
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(s.egressSocket())} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return os.WriteFile(file, fabric.EgressConfig(s.egressSocket(), false), 0o600)
}

// borrowAzure returns the local Azure of another plane, which has to be running.
func (s *supervisor) borrowAzure(ctx context.Context, _ chan<- error) (func(context.Context), error) {
	if err := s.opts.AzureOf.Check(); err != nil {
		return nil, err
	}
	status, err := plane.NewClient(s.opts.AzureOf).Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("the plane in %s: %w", s.opts.AzureOf, err)
	}
	if status.Azure.Endpoint == "" {
		return nil, fmt.Errorf("the plane in %s has no local Azure yet; it is %s", s.opts.AzureOf, status.Phase)
	}
	s.mu.Lock()
	s.borrowed = &status.Azure
	s.mu.Unlock()
	return nil, nil
}

// startBare prepares the management cluster for clusterctl.
func (s *supervisor) startBare(ctx context.Context, failed chan<- error) (func(context.Context), error) {
	if err := s.management.plane.StartControllerManager(ctx); err != nil {
		return nil, err
	}
	rest := s.management.plane.Config()
	crds, err := certmanager.CRDs()
	if err != nil {
		return nil, err
	}
	if err := kubeproc.InstallCRDs(ctx, rest, crds); err != nil {
		return nil, err
	}
	cl, err := s.planeClient()
	if err != nil {
		return nil, err
	}
	secret, err := s.status().Azure.ClientSecret() // the Azure of this plane or of another one
	if err != nil {
		return nil, err
	}
	if err := applyObject(ctx, cl, planeIdentity(secret)); err != nil {
		return nil, fmt.Errorf("install the identity's secret: %w", err)
	}
	log := slog.New(logr.ToSlogHandler(s.log.WithName("pods")))
	certificates, err := certmanager.New(rest, slog.New(logr.ToSlogHandler(s.log.WithName("cert-manager"))))
	if err != nil {
		return nil, err
	}
	programs, err := programDirs()
	if err != nil {
		return nil, err
	}
	pods, err := podrun.New(podrun.Config{REST: rest, Dir: s.opts.Dir.Path("pods"), Programs: programs,
		Env: azureEnv(s.status().Azure, secret), Records: s.opts.Dir.Records(), Log: log})
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(ctx)
	parts := []func(context.Context) error{
		certificates.Start, pods.Run,
		func(ctx context.Context) error { return pods.ServeEgress(ctx, s.egressSocket()) },
	}
	ended := make(chan struct{}, len(parts))
	for _, part := range parts {
		go func() {
			defer func() { ended <- struct{}{} }()
			if err := part(run); err != nil && run.Err() == nil {
				failed <- err
			}
		}()
	}
	return func(ctx context.Context) {
		stop()
		for range parts {
			select {
			case <-ended:
			case <-ctx.Done():
				return
			}
		}
	}, nil
}

// azureEnv returns the environment variables with Azure's addresses, as on a machine in a separate cloud, and with the
// endpoint of the managed identities.
//
// If the local Azure has a proxy for Azure's public names, the variables contain the proxy and the certificate to trust.
func azureEnv(a plane.Azure, secret string) []string {
	env := []string{
		"AZURE_AUTHORITY_HOST=" + a.Endpoint + "/", "AZURE_RESOURCE_MANAGER_ENDPOINT=" + a.Endpoint,
		"AZURE_RESOURCE_MANAGER_AUDIENCE=" + a.Endpoint, "AZURE_CA_FILE=" + a.CAFile,
		"IDENTITY_ENDPOINT=" + a.Endpoint + host.IdentityPath, "IDENTITY_HEADER=" + secret,
	}
	if a.Proxy != "" {
		at := proxy.URL(strings.TrimPrefix(a.Proxy, "http://"), secret)
		env = append(env, "HTTPS_PROXY="+at, "HTTP_PROXY="+at, "NO_PROXY=localhost,127.0.0.1", "SSL_CERT_FILE="+a.CAFile)
	}
	return env
}

// programDirs returns the directories with programs that run instead of images: $CASEMENT_PROGRAMS, then the directory
// programs next to this program, then this program's directory.
func programDirs() ([]string, error) {
	var dirs []string
	if d := os.Getenv("CASEMENT_PROGRAMS"); d != "" {
		dirs = filepath.SplitList(d)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return nil, err
	}
	return append(dirs, filepath.Join(filepath.Dir(self), "programs"), filepath.Dir(self)), nil
}
