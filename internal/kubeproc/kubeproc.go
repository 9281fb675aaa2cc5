// Package kubeproc runs the programs of casement-kube as child processes: it finds the binary and starts management
// planes (etcd, kube-apiserver and a reduced controller manager) on loopback addresses. It does not link Kubernetes'
// programs itself. The local plane and tests use it.
package kubeproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/tuning"
)

// Binary is the name of the program that contains the programs of Kubernetes.
const Binary = "casement-kube"

// Find returns the path of casement-kube: $CASEMENT_KUBE, or a file next to this program, in bin/ of the source tree
// (for tests), or on the PATH.
func Find() (string, error) {
	if path := os.Getenv("CASEMENT_KUBE"); path != "" {
		return path, nil
	}
	var candidates []string
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		candidates = append(candidates, filepath.Join(filepath.Dir(self), Binary))
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		candidates = append(candidates, filepath.Join(filepath.Dir(file), "..", "..", "bin", Binary))
	}
	for _, c := range candidates {
		if _, err := os.Stat(c); err == nil {
			return filepath.Clean(c), nil
		}
	}
	if path, err := exec.LookPath(Binary); err == nil {
		return path, nil
	}
	return "", errors.New("casement-kube is not beside casement nor on the PATH; build it with 'make build', or name it in CASEMENT_KUBE")
}

// Config configures the processes.
type Config struct {
	// Dir contains the data, keys and logs; a plane with an existing Dir continues with its data.
	Dir string
	// Binary is the path of casement-kube; "" calls Find.
	Binary string
	// Host is the loopback address to serve on; "" means 127.0.0.1.
	Host string
	// Names are additional names for the API server's certificate, which is created once.
	Names []string
	// EgressConfig, if set, is the file of an EgressSelectorConfiguration that describes how the API server reaches
	// pods. The controller manager then also runs the controllers of Deployments and Services.
	EgressConfig string
	// Controllers are controllers that the controller manager runs in addition to those of every plane.
	Controllers []string
	// APIServer are flags of the API server in addition to those of every plane.
	APIServer []string
	// CRDs, if set, returns the kinds that the API server serves once Start returns; ca is the plane's CA (PEM).
	CRDs func(ca []byte) ([]*apiextensionsv1.CustomResourceDefinition, error)
	// AuditOf, if set, is a user whose requests the API server records in AuditLog, without bodies and responses, or Everyone.
	AuditOf string
	// Records is the place where the processes are recorded while they run.
	Records process.Records
	// OnWait, if set, is called with the progress of a slow start, by several goroutines.
	OnWait func(string)
}

// Plane is a running management plane.
type Plane struct {
	cfg  Config
	keys *keys
	port int

	mu        sync.Mutex // guards processes
	processes []*process.Process
}

// Start starts a plane and returns when its API server serves Administrators; AwaitReady waits for the other users.
func Start(ctx context.Context, cfg Config) (_ *Plane, err error) {
	if cfg.Binary == "" {
		if cfg.Binary, err = Find(); err != nil {
			return nil, err
		}
	}
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	p := &Plane{cfg: cfg}
	if p.keys, err = loadPKI(cfg.Dir, cfg.Host, cfg.Names); err != nil {
		return nil, fmt.Errorf("make the management PKI: %w", err)
	}
	if p.port, err = keepPort(filepath.Join(cfg.Dir, "port"), cfg.Host); err != nil {
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		p.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return p, nil
}

func (p *Plane) path(elem ...string) string {
	return filepath.Join(append([]string{p.cfg.Dir}, elem...)...)
}

func (p *Plane) start(ctx context.Context) error {
	// etcd requires a socket path relative to its working directory, which keeps the path below the kernel's maximum
	// length. It commits to its database once a second instead of ten times; its write-ahead log has the writes in
	// between. A single member waits for up to the election timeout before it leads, so that timeout is short.
	socket := "unix://" + etcdSocket
	_, err := os.Stat(p.path("etcd"))
	fresh := errors.Is(err, os.ErrNotExist)
	if err := p.run("etcd",
		"--name=management", "--data-dir="+p.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+socket, "--advertise-client-urls="+socket,
		"--listen-peer-urls=unix://peer:1", "--initial-advertise-peer-urls=unix://peer:1", "--initial-cluster=management=unix://peer:1",
		"--logger=zap", "--log-level=warn", "--backend-batch-interval=1s", "--election-timeout=500"); err != nil {
		return err
	}
	if err := p.writeAuditPolicy(); err != nil {
		return err
	}
	if err := p.run("kube-apiserver", p.apiServerFlags(socket)...); err != nil {
		return err
	}
	if err := os.WriteFile(p.path("kubeconfig"), p.Kubeconfig(), 0o600); err != nil {
		return err
	}
	if p.cfg.CRDs == nil {
		return p.await(ctx, roleHook, priorityHook)
	}
	return p.startWithCRDs(ctx, fresh)
}

// StartControllerManager waits like AwaitReady, and starts the controllers of garbage collection, namespaces and
// service accounts. It has to be called once; objects of the kinds that exist by then are collected from the start.
func (p *Plane) StartControllerManager(ctx context.Context) error {
	if err := p.await(ctx); err != nil {
		return err
	}
	// There is only one controller manager, so it needs no lease, which it could lose on a busy machine.
	return p.run("kube-controller-manager",
		"--kubeconfig="+p.path("kubeconfig"), "--bind-address="+p.cfg.Host, "--secure-port=0", "--leader-elect=false",
		"--controllers="+strings.Join(p.controllers(), ","),
		"--service-account-private-key-file="+p.path("pki", "sa.key"), "--root-ca-file="+p.path("pki", "ca.crt"),
		"--kube-api-qps=200", "--kube-api-burst=400", "--concurrent-gc-syncs=5")
}

func (p *Plane) controllers() []string {
	out := []string{"garbage-collector-controller", "namespace-controller", "serviceaccount-controller", "serviceaccount-token-controller"}
	if p.cfg.EgressConfig != "" {
		out = append(out, "deployment-controller", "replicaset-controller", "endpointslice-controller",
			"clusterrole-aggregation-controller", "root-ca-certificate-publisher-controller")
	}
	return append(out, p.cfg.Controllers...)
}

// Issuer is the issuer of the tokens of a management plane's service accounts.
const Issuer = "https://kubernetes.default.svc"

func (p *Plane) apiServerFlags(etcd string) []string {
	pki := func(name string) string { return p.path("pki", name) }
	flags := []string{
		"--etcd-servers=" + etcd,
		"--bind-address=" + p.cfg.Host, "--secure-port=" + strconv.Itoa(p.port), "--advertise-address=10.0.0.1",
		"--tls-cert-file=" + pki("server.crt"), "--tls-private-key-file=" + pki("server.key"), "--client-ca-file=" + pki("ca.crt"),
		"--service-account-issuer=" + Issuer, "--service-account-key-file=" + pki("sa.pub"),
		"--service-account-signing-key-file=" + pki("sa.key"),
		"--service-cluster-ip-range=10.255.0.0/24", "--authorization-mode=RBAC", "--allow-privileged=true",
		"--endpoint-reconciler-type=none", "--profiling=false",
	}
	for _, f := range IdleFlags() {
		flags = append(flags, "--"+f)
	}
	if p.cfg.AuditOf != "" {
		flags = append(flags, "--audit-policy-file="+p.path("audit.yaml"), "--audit-log-path="+p.AuditLog(),
			"--audit-log-maxsize=1000", "--audit-log-maxbackup=1")
	}
	if p.cfg.EgressConfig != "" {
		// Services are resolved to their endpoints, because this plane has no cluster IPs.
		flags = append(flags, "--egress-selector-config-file="+p.cfg.EgressConfig, "--enable-aggregator-routing=true")
	}
	return append(flags, p.cfg.APIServer...)
}

func (p *Plane) run(name string, flags ...string) error {
	if err := os.MkdirAll(p.path("log"), 0o700); err != nil {
		return err
	}
	child, err := process.Start(process.Spec{
		Name: name, Path: p.cfg.Binary, Argv: append([]string{name}, flags...),
		Dir: p.cfg.Dir, Log: p.path("log", name+".log"), Restart: true, Records: p.cfg.Records, Env: tuning.Env(name),
		Slack: process.Slack,
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.processes = append(p.processes, child)
	return nil
}

// Server returns the URL of the API server.
func (p *Plane) Server() string {
	return "https://" + net.JoinHostPort(p.cfg.Host, strconv.Itoa(p.port))
}

// Config returns the configuration of a client that is an administrator.
func (p *Plane) Config() *rest.Config {
	return &rest.Config{
		Host: p.Server(), QPS: 500, Burst: 1000,
		WrapTransport:   func(next http.RoundTripper) http.RoundTripper { return eagerWatches{next} },
		TLSClientConfig: rest.TLSClientConfig{CAData: p.keys.caCert, CertData: p.keys.adminCert, KeyData: p.keys.adminKey},
	}
}

// Kubeconfig returns the configuration of Config as a kubeconfig file.
func (p *Plane) Kubeconfig() []byte {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["casement"] = &clientcmdapi.Cluster{Server: p.Server(), CertificateAuthorityData: p.keys.caCert}
	cfg.AuthInfos["casement-admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: p.keys.adminCert, ClientKeyData: p.keys.adminKey}
	cfg.Contexts["casement"] = &clientcmdapi.Context{Cluster: "casement", AuthInfo: "casement-admin"}
	cfg.CurrentContext = "casement"
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		panic(err) // a config built here always encodes
	}
	return data
}

// CA returns the plane's CA certificate and key (PEM), with which certificates for webhook servers are signed that the
// plane trusts.
func (p *Plane) CA() (cert, key []byte) { return p.keys.caCert, p.keys.caKey }

// Stop ends the processes in the order controller manager, API server, etcd, because an API server without its etcd would hang.
func (p *Plane) Stop(ctx context.Context) {
	p.mu.Lock()
	processes := p.processes
	p.processes = nil
	p.mu.Unlock()
	for _, child := range slices.Backward(processes) {
		each, cancel := context.WithTimeout(ctx, 5*time.Second)
		child.Stop(each)
		cancel()
	}
}

// Processes returns the processes, etcd first.
func (p *Plane) Processes() []*process.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.processes)
}

// keepPort returns the port in file or, without one, a free port that it writes to file, so that kubeconfigs stay valid
// over restarts. It moves a file without a valid port away: other files with the port are written at each start.
func keepPort(file, host string) (int, error) {
	data, err := os.ReadFile(file)
	if err == nil {
		if port, err := strconv.ParseUint(string(data), 10, 16); err == nil && port > 0 {
			return int(port), nil
		}
		err = os.Rename(file, file+".damaged")
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read the port of the API server: %w", err)
	}
	ports, err := freeport.Choose(host, 1)
	if err != nil {
		return 0, err
	}
	return ports[0], os.WriteFile(file, []byte(strconv.Itoa(ports[0])), 0o600)
}
