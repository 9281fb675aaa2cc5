package kubelet

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/pki"
)

var metricsServer = flag.String("metrics-server", "", "the program of metrics-server, which reads simulated kubelets; empty does not")

// manifest is the path of metrics-server's published manifest.
const manifest = "../addons/testdata/metrics-server.yaml"

// TestMetricsServer runs metrics-server with the flags and permissions of its manifest, and runs
// kubectl top for the nodes and pods of two simulated Windows nodes.
func TestMetricsServer(t *testing.T) {
	if *metricsServer == "" {
		t.Skip("needs the program of metrics-server: make e2e-metrics METRICS_SERVER=PATH")
	}
	dir := t.TempDir()
	plane, err := kubeproc.Start(t.Context(), kubeproc.Config{Dir: filepath.Join(dir, "plane"), APIServer: aggregation(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Stop(context.Background()) })
	if err := plane.StartControllerManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Choose("127.0.0.1", 1)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := write(t, filepath.Join(dir, "kubeconfig"), plane.Kubeconfig())
	kubectl := asKubectl(t, dir, kubeconfig)
	args := install(t, kubectl, dir, ports[0])

	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	t.Cleanup(func() { stop(); work.Wait() })
	client := kubernetes.NewForConfigOrDie(plane.Config())
	network := &counter{pods: map[string]bool{}}
	for i := range 2 {
		startWindows(t, ctx, &work, plane, network, i, fmt.Sprintf("127.4.0.%d:10250", i+1))
		until(t, "the service account", func() bool {
			_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
			return err == nil
		})
		if out, err := kubectl(pod(i)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	until(t, "pods that run", func() bool { return network.count() == 2 })

	token, err := client.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), "metrics-server",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := clientcmd.Load(plane.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range own.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token.Status.Token
	}
	data, err := clientcmd.Write(*own)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "metrics-server.conf"), data)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	// Kubelets that kubeadm starts have self-signed certificates, which metrics-server trusts only
	// with this flag.
	cmd := exec.CommandContext(t.Context(), *metricsServer, append(args, "--kubelet-insecure-tls", "--kubeconfig="+file,
		"--authentication-kubeconfig="+file, "--authorization-kubeconfig="+file)...)
	cmd.Stdout, cmd.Stderr = log, log
	runs(t, "metrics-server", cmd, log)
	for _, what := range []string{"nodes", "pods"} {
		var out string
		until(t, "kubectl top "+what, func() bool {
			out, err = kubectl("", "top", what, "--no-headers")
			return err == nil && strings.Count(out, "\n") == 2
		})
		t.Logf("kubectl top %s:\n%s", what, out)
		if strings.Contains(out, "unknown") {
			t.Errorf("something is not known of %s", what)
		}
	}
}

// pod returns the manifest of a pod on a node.
func pod(i int) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: app-%d, namespace: default}, spec: {nodeName: win-%d, tolerations: "+
		"[{operator: Exists}], containers: [{name: app, image: example.com/app, ports: [{containerPort: 80}], resources: {requests: "+
		"{cpu: 250m, memory: 64Mi}}}]}}", i, i)
}

// until polls until is returns true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); !is(); {
		if time.Now().After(end) || !wait(t.Context(), 500*time.Millisecond) {
			t.Fatalf("waiting for %s takes too long", what)
		}
	}
}

func write(t *testing.T, file string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// aggregation creates the certificates with which an API server calls extension API servers on
// behalf of users, and returns the API server's flags.
func aggregation(t *testing.T, dir string) []string {
	t.Helper()
	ca, err := pki.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "front-proxy-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := pki.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "front-proxy-client"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, time.Hour, &ca)
	if err != nil {
		t.Fatal(err)
	}
	root, _, err := pki.PEM(ca)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := pki.PEM(client)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"--requestheader-client-ca-file=" + write(t, filepath.Join(dir, "front-ca.crt"), root),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + write(t, filepath.Join(dir, "front.crt"), cert),
		"--proxy-client-key-file=" + write(t, filepath.Join(dir, "front.key"), key),
	}
}

// asKubectl returns a function that runs kubectl; without arguments it applies its input.
func asKubectl(t *testing.T, dir, kubeconfig string) func(input string, args ...string) (string, error) {
	t.Helper()
	binary, err := kubeproc.Find()
	if err != nil {
		t.Fatal(err)
	}
	if binary, err = filepath.Abs(binary); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "kubectl")
	if err := os.Symlink(binary, link); err != nil {
		t.Fatal(err)
	}
	return func(input string, args ...string) (string, error) {
		if input != "" {
			args = []string{"apply", "-f", "-"}
		}
		cmd := exec.CommandContext(t.Context(), link, append([]string{"--kubeconfig", kubeconfig}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// install applies the manifest except its Deployment, because the program runs here, on the given
// port. It returns the arguments of the Deployment.
func install(t *testing.T, kubectl func(string, ...string) (string, error), dir string, port int) (args []string) {
	t.Helper()
	data, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(data), "\n---\n") {
		var object struct {
			Kind string `json:"kind"`
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "Deployment":
			for _, arg := range object.Spec.Template.Spec.Containers[0].Args {
				switch name, _, _ := strings.Cut(arg, "="); name {
				case "--cert-dir":
					arg = name + "=" + dir
				case "--secure-port":
					arg = fmt.Sprintf("%s=%d", name, port)
				}
				args = append(args, arg)
			}
			continue
		case "Service":
			doc = "{apiVersion: v1, kind: Service, metadata: {name: metrics-server, namespace: kube-system}, spec: {type: ExternalName, " +
				"externalName: localhost}}"
		case "APIService":
			doc = strings.Replace(doc, "namespace: kube-system", fmt.Sprintf("namespace: kube-system\n    port: %d", port), 1)
		}
		if out, err := kubectl(doc); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return args
}
