package loopback

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// decoy is a service of this computer that counts who connects.
type decoy struct {
	name  string
	port  int
	count atomic.Int64
}

func (d *decoy) listen(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a secret of this computer")
	}))
	server.Listener = counting{l, &d.count}
	server.Start()
	t.Cleanup(server.Close)
	d.port = l.Addr().(*net.TCPAddr).Port
}

type counting struct {
	net.Listener
	count *atomic.Int64
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.count.Add(1)
	}
	return conn, err
}

// TestHostileStaticPods has a guest that names services of this computer wherever a program of a control plane takes an
// address: none hears of it. Services listen on loopback, and on all addresses, which answer at the guest's own
// loopback address too.
func TestHostileStaticPods(t *testing.T) {
	decoys := []*decoy{{name: "loopback"}, {name: "all addresses"}}
	decoys[0].listen(t, "127.0.0.1:0")
	decoys[1].listen(t, ":0")
	for _, d := range decoys { // a decoy that counts nothing could not fail
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", d.port))
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		for tries := 0; d.count.Load() == 0 && tries < 100; tries++ {
			time.Sleep(10 * time.Millisecond)
		}
		if d.count.Swap(0) == 0 {
			t.Fatalf("the decoy on %s counts nothing", d.name)
		}
	}
	p := plane.New(t)
	p.Run(nil, "up")
	p.Create("demo", "default")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	kubectl := p.Workload("demo")
	node := kubectl("get", "nodes", "-l", "node-role.kubernetes.io/control-plane", "-o", "jsonpath={.items[0].metadata.name}")

	var script strings.Builder
	script.WriteString("set -e\nmkdir -p /etc/kubernetes/x\n")
	pods := map[string]string{}
	for i, d := range decoys {
		hosts := []string{"127.0.0.1", "localhost", "[::1]", "10.0.0.4", "192.0.2.1"}
		if i == 0 {
			hosts = hosts[:1] // what names the guest itself starts, and nothing answers
		}
		for j, host := range hosts {
			at := fmt.Sprintf("%s:%d", host, d.port)
			conf := fmt.Sprintf("/etc/kubernetes/x/%d-%d.conf", i, j)
			fmt.Fprintf(&script, "cat > %s <<EOF\n%s\nEOF\n", conf, kubeconfig("http://"+at))
			peer, client := fmt.Sprintf("http://127.0.0.1:%d", 23800+10*i+j), fmt.Sprintf("http://127.0.0.1:%d", 23900+10*i+j)
			for name, command := range map[string][]string{
				"kcm": {"kube-controller-manager", "--kubeconfig=" + conf, "--secure-port=0"},
				"kcm-auth": {"kube-controller-manager", "--kubeconfig=/etc/kubernetes/controller-manager.conf",
					"--authentication-kubeconfig=" + conf},
				"sched":  {"kube-scheduler", "--kubeconfig=" + conf, "--v=10", "--secure-port=0"},
				"master": {"kube-scheduler", "--master=http://" + at, "--secure-port=0"},
				"etcd": {"etcd", fmt.Sprintf("--data-dir=/var/lib/x%d%d", i, j), "--initial-cluster=default=" + peer + ",b=http://" + at,
					"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--listen-client-urls=" + client,
					"--advertise-client-urls=" + client},
				"gateway": {"etcd", "gateway", "start", "--endpoints=" + at},
				"api":     {"kube-apiserver", "--etcd-servers=http://" + at, "--secure-port=17443"},
			} {
				pods[fmt.Sprintf("%s-%d-%d", name, i, j)] = strings.Join(command, `", "`)
			}
		}
	}
	for name, command := range pods {
		fmt.Fprintf(&script, "cat > /etc/kubernetes/manifests/%s.yaml <<EOF\napiVersion: v1\nkind: Pod\n"+
			"metadata: {name: %s, namespace: kube-system}\n"+
			"spec: {hostNetwork: true, containers: [{name: c, image: registry.k8s.io/x:v1, command: [\"%s\"]}]}\nEOF\n",
			name, name, command)
	}
	p.Run(nil, "ssh", node, "--", "sudo sh -c '"+script.String()+"'")

	// What the API server asks by a URL: it fails closed, so that a webhook that was not asked is seen.
	for i, d := range decoys {
		for j, url := range []string{"https://127.0.0.1:%d/x", "https://[::1]:%d/x", "https://192.0.2.1:%d/x"} {
			name := fmt.Sprintf("hostile-%d-%d", i, j)
			manifest := fmt.Sprintf("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: %s}\n"+
				"webhooks: [{name: x.example.com, clientConfig: {url: '"+url+"'}, failurePolicy: Fail, timeoutSeconds: 2, sideEffects: None, "+
				"admissionReviewVersions: [v1], "+
				"rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}]", name, d.port)
			p.Run([]byte(manifest), "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "apply", "-f", "-")
			if out, err := p.Try(nil, "kubectl", "--kubeconfig", p.Kubeconfig("demo"), "create", "configmap", name); err == nil {
				t.Errorf("the webhook %s was not asked: %s", url, out)
			}
			kubectl("delete", "validatingwebhookconfiguration", name)
		}
	}
	// Each pod is started or refused by now, since the kubelet has shown them all.
	shown := 0
	for tries := 0; shown < len(pods) && tries < 300; tries++ {
		time.Sleep(200 * time.Millisecond)
		shown = 0
		for name := range strings.FieldsSeq(kubectl("get", "pods", "-n", "kube-system", "-o", "name")) {
			if base := strings.TrimSuffix(strings.TrimPrefix(name, "pod/"), "-"+node); pods[base] != "" {
				shown++
			}
		}
	}
	if shown != len(pods) {
		t.Errorf("the kubelet shows %d of %d pods", shown, len(pods))
	}
	for _, d := range decoys {
		if n := d.count.Load(); n > 0 {
			t.Errorf("%d connections to the service of this computer on %s", n, d.name)
		}
	}
	if strings.Contains(p.Run(nil, "logs", node), "a secret of this computer") {
		t.Error("the guest's log has an answer")
	}
	refusal := kubectl("get", "pod", "-n", "kube-system", "kcm-1-4-"+node, "-o",
		"jsonpath={.status.containerStatuses[0].state.waiting.message}")
	if !strings.Contains(refusal, "is refused") {
		t.Errorf("what is refused is not named: %q", refusal)
	}
}

func kubeconfig(server string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {server: \"" + server + "\"}}]\nusers: [{name: u, user: {}}]"
}
