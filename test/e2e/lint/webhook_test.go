package lint

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/testing/kubetest"
	"casement.dev/casement/internal/webhook/workload"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		apiServer = rest.CopyConfig(p.Config())
		apiServer.QPS = -1
		return nil
	}))
}

// deployment is a Deployment for Windows with a placeholder for the differences in its container.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      os: {name: %[2]s}
      nodeSelector: {kubernetes.io/os: %[2]s}
      containers:
      - {name: web, image: "mcr.microsoft.com/windows/nanoserver:ltsc2022", %[3]s}
`

// Settings with findings: shell is refused only by Windows, memory in fractions causes a warning of
// the API server itself, and mere advice is not sent as a warning.
const (
	shell  = "command: [/bin/sh, -c, x], resources: {limits: {memory: 1Gi}}"
	memory = "resources: {limits: {memory: 800m}}"
	plain  = "resources: {limits: {memory: 1Gi}}"
)

// TestWebhookAlone runs a manager that serves only the lint webhook, in a cluster without any kind
// of Cluster API. Its warnings reach the client, it denies settings that Windows refuses in
// namespaces that request that, it counts verdicts, and nothing is refused when the manager is
// stopped.
func TestWebhookAlone(t *testing.T) {
	stop := startManager(t)
	warnings := &kubetest.Warnings{}
	cfg := rest.CopyConfig(apiServer)
	cfg.WarningHandler = warnings
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, mode := range map[string]string{"unlabelled": "", "quiet": "off", "loud": "warn", "strict": "enforce"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if mode != "" {
			ns.Labels = map[string]string{workload.ModeLabel: mode}
		}
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	create := func(namespace, os, container string) (warned string, err error) {
		object := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON(fmt.Appendf(nil, deployment, "web", os, container))
		if err != nil {
			t.Fatal(err)
		}
		if err := object.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(namespace)
		warnings.Take()
		err = client.NewDryRunClient(c).Create(t.Context(), object)
		return strings.Join(warnings.Take(), "\n"), err
	}
	// The webhook configuration and the mode of a namespace take effect after a moment.
	await(t, func() bool {
		warned, err := create("unlabelled", "windows", shell)
		_, denied := create("strict", "windows", shell)
		silent, _ := create("quiet", "windows", shell)
		return err == nil && strings.Contains(warned, "WIN601") && denied != nil && silent == ""
	})
	for _, test := range []struct {
		name, namespace, os, container string
		denied                         bool
		warned                         []string // nil: no warning
	}{
		{"the default warns", "unlabelled", "windows", shell, false, []string{"WIN601: spec.template.spec.containers[0].command[0]"}},
		{"off is silent", "quiet", "windows", shell, false, nil},
		{"warn warns", "loud", "windows", shell, false, []string{"WIN601"}},
		{"enforce denies what cannot run", "strict", "windows", shell, true, nil},
		{"enforce warns of what the API server decides", "strict", "windows", memory, false, []string{"WIN201", "fractional byte value"}},
		{"enforce lets what can run pass", "strict", "windows", plain, false, nil},
		{"Linux is left alone", "strict", "linux", shell, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			warned, err := create(test.namespace, test.os, test.container)
			if (err != nil) != test.denied || err != nil && (!apierrors.IsForbidden(err) ||
				!strings.Contains(err.Error(), "this pod cannot run on Windows: WIN601")) {
				t.Errorf("the answer is %v", err)
			}
			if len(test.warned) == 0 && !test.denied && strings.Contains(warned, "WIN") {
				t.Errorf("warned of %q", warned)
			}
			for _, w := range test.warned {
				if !strings.Contains(warned, w) {
					t.Errorf("warned of %q, not of %s", warned, w)
				}
			}
		})
	}
	for _, name := range []string{"casement_lint_verdicts_total", "casement_lint_objects_total"} {
		// The manager serves its webhooks before it registers its counters.
		await(t, func() bool {
			n, err := testutil.GatherAndCount(ctrlmetrics.Registry, name)
			return err == nil && n > 0
		})
	}
	stop()
	if warned, err := create("strict", "windows", shell); err != nil || strings.Contains(warned, "WIN") {
		t.Errorf("without the manager: %q, %v", warned, err)
	}
}

// startManager runs a manager with flags and points the webhook configuration at it.
func startManager(t *testing.T) (stop func()) {
	t.Helper()
	dir := t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	o := manager.Defaults()
	o.LintOnly, o.MetricsAddress, o.HealthAddress = true, "0", "0"
	o.WebhookHost, o.WebhookPort, o.WebhookCertDir = "127.0.0.1", port, dir
	mgr, err := manager.New(apiServer, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	hook, err := config.LintWebhook()
	if err != nil {
		t.Fatal(err)
	}
	capi.PointWebhooks("test", fmt.Sprintf("https://127.0.0.1:%d", port), certificate, nil,
		[]*admissionv1.ValidatingWebhookConfiguration{hook})
	c, err := client.New(apiServer, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ends with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// await polls until so returns true; it fails after a minute.
func await(t *testing.T, so func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return so(), nil })
	if err != nil {
		t.Fatal("it does not come about: ", err)
	}
}
