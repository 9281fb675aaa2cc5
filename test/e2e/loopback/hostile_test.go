package loopback

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "start more API servers, and a plane with few file watches, which takes minutes; make e2e-hostile does")

// decoy is a service of this computer that counts the connections to it.
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

// ownAddress returns an address of this computer other than loopback, or loopback if the computer
// has no other.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// spellings are ways to write a loopback address that resolvers and C libraries accept.
var spellings = []string{"127.1", "0x7f000001", "0177.0.0.1", "2130706433", "localhost.", "LOCALHOST", "[::ffff:127.0.0.1]", "0", "[::]"}

// TestHostileStaticPods runs a guest that names services of this computer in every place where a
// control plane program accepts an address, and checks that none of them gets a connection. The
// services listen on loopback, on an address of this computer, and on all addresses, so that they
// would answer at the guest's own loopback address too.
func TestHostileStaticPods(t *testing.T) {
	own := ownAddress(t)
	hosts := []string{"127.0.0.1", own, "127.0.0.1"} // the address of each decoy
	decoys := []*decoy{{name: "loopback"}, {name: own}, {name: "all addresses"}}
	decoys[0].listen(t, "127.0.0.1:0")
	decoys[1].listen(t, own+":0")
	decoys[2].listen(t, ":0")
	for i, d := range decoys { // without this check, a decoy that counts nothing would let the test pass
		conn, err := net.Dial("tcp", net.JoinHostPort(hosts[i], strconv.Itoa(d.port)))
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
		named := append([]string{"127.0.0.1", "localhost", "[::1]", "10.0.0.4", "198.51.100.1"}, spellings...)
		switch i { // programs that these names start belong to the guest, and nothing answers
		case 0:
			named = []string{"127.0.0.1"}
		case 1:
			named = []string{own}
		}
		for j, host := range named {
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
	pods["etcd-alone"] = strings.Join([]string{"etcd", "--data-dir=/var/lib/alone", "--initial-cluster=default=http://127.0.0.1:23700",
		"--listen-peer-urls=http://127.0.0.1:23700", "--initial-advertise-peer-urls=http://127.0.0.1:23700",
		"--listen-client-urls=http://127.0.0.1:23701", "--advertise-client-urls=http://127.0.0.1:23701"}, `", "`)
	for name, command := range pods {
		fmt.Fprintf(&script, "cat > /etc/kubernetes/manifests/%s.yaml <<EOF\napiVersion: v1\nkind: Pod\n"+
			"metadata: {name: %s, namespace: kube-system}\n"+
			"spec: {hostNetwork: true, containers: [{name: c, image: registry.k8s.io/x:v1, command: [\"%s\"]}]}\nEOF\n",
			name, name, command)
	}
	p.Run(nil, "ssh", node, "--", "sudo sh -c '"+script.String()+"'")

	// Webhooks that the API server calls by a URL. They fail closed, so that a missing call is
	// visible.
	for i, d := range decoys {
		for j, url := range []string{"https://127.0.0.1:%d/x", "https://[::1]:%d/x", "https://" + own + ":%d/x", "https://127.1:%d/x",
			"https://0x7f000001:%d/x", "https://localhost.:%d/x"} {
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
	if *full {
		hostileServers(t, p, node, decoys, own)
	}
	hostileMembers(t, p, node, decoys, own)
	// When the kubelet has reported every pod, each has been started or refused.
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
	refusal := kubectl("get", "pod", "-n", "kube-system", "kcm-2-4-"+node, "-o",
		"jsonpath={.status.containerStatuses[0].state.waiting.message}")
	if !strings.Contains(refusal, "is refused") {
		t.Errorf("what is refused is not named: %q", refusal)
	}
}

// hostileServers starts two more API servers beside the machine's own. Flags of one and
// configuration files of the other make them call services of this computer about requests.
func hostileServers(t *testing.T, p *plane.Plane, node string, decoys []*decoy, own string) {
	const folder = "/etc/kubernetes/pki/hostile/" // the API server's container mounts the parent of this folder
	write := func(file, text string) { p.Run([]byte(text), "ssh", node, "--", "sudo tee "+file+" >/dev/null") }
	p.Run(nil, "ssh", node, "--", "sudo mkdir -p "+folder)
	var asked []string
	conf := func(name, at string) string {
		write(folder+name, kubeconfig("https://"+at))
		asked = append(asked, at)
		return folder + name
	}
	write(folder+"policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]")
	at := func(host string, i int) string { return fmt.Sprintf("%s:%d", host, decoys[i].port) }
	flags := [][]string{{
		"--authorization-mode=Node,RBAC,Webhook", "--authorization-webhook-config-file=" + conf("authz.conf", at("127.0.0.1", 0)),
		"--authentication-token-webhook-config-file=" + conf("authn.conf", at("localhost", 0)),
		"--audit-webhook-config-file=" + conf("audit.conf", at("127.0.0.1", 2)),
		"--oidc-issuer-url=https://" + at("127.0.0.1", 0), "--oidc-client-id=x",
	}, {
		"--authentication-config=" + folder + "authentication.yaml", "--authorization-config=" + folder + "authorization.yaml",
		"--audit-webhook-config-file=" + conf("audit-2.conf", at(own, 1)),
	}}
	authentication := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n"
	authorization := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"
	for i, host := range append([]string{"127.0.0.1", "[::1]", own}, spellings...) {
		url := at(host, i%len(decoys))
		authentication += fmt.Sprintf("- {issuer: {url: 'https://%s', audiences: [x]}, claimMappings: {username: {claim: sub, prefix: "+
			"''}}}\n", url)
		authorization += fmt.Sprintf("- {type: Webhook, name: w%d.example.com, webhook: {timeout: 3s, subjectAccessReviewVersion: v1, "+
			"matchConditionSubjectAccessReviewVersion: v1, failurePolicy: NoOpinion, connectionInfo: {type: KubeConfigFile, "+
			"kubeConfigFile: %s}}}\n", i, conf(fmt.Sprintf("w%d.conf", i), url))
	}
	write(folder+"authentication.yaml", authentication)
	write(folder+"authorization.yaml", authorization+"- {type: RBAC, name: rbac}\n")
	manifest := p.Run(nil, "ssh", node, "--", "sudo cat /etc/kubernetes/manifests/kube-apiserver.yaml")
	for i, more := range flags {
		port := fmt.Sprint(17500 + i)
		var own strings.Builder
		for line := range strings.Lines(manifest) {
			if strings.Contains(line, "--authorization-mode=") || strings.Contains(line, "--audit-") {
				continue
			}
			own.WriteString(line)
			if indent, found := strings.CutSuffix(strings.TrimRight(line, "\n"), "- kube-apiserver"); found {
				for _, f := range append(more, "--endpoint-reconciler-type=none", "--audit-webhook-mode=batch", "--audit-webhook-batch-max-wait=1s",
					"--audit-policy-file="+folder+"policy.yaml") {
					own.WriteString(indent + "- " + f + "\n")
				}
			}
		}
		text := strings.ReplaceAll(own.String(), "=6443", "="+port)
		text = strings.Replace(text, "  name: kube-apiserver\n", "  name: hostile-api-"+fmt.Sprint(i)+"\n", 1)
		write("/etc/kubernetes/manifests/hostile-api-"+fmt.Sprint(i)+".yaml", text)
		out := p.Everything("ssh", node, "--", "for i in $(seq 60); do sudo curl -sk https://127.0.0.1:"+port+"/livez | grep -q ok && "+
			"break; sleep 1; done; "+
			"sudo curl -sk -H 'Authorization: Bearer x' https://127.0.0.1:"+port+"/api/v1/secrets; "+
			"sudo curl -sk --cert /etc/kubernetes/pki/apiserver-kubelet-client.crt --key /etc/kubernetes/pki/apiserver-kubelet-client.key "+
			"https://127.0.0.1:"+port+"/api/v1/secrets")
		if !strings.Contains(out, `"kind": "Status"`) {
			log := p.Everything("ssh", node, "--", "sudo sh -c 'tail -n 20 "+
				"/var/log/pods/kube-system_hostile-api-"+fmt.Sprint(i)+"*/kube-apiserver/*'")
			t.Errorf("API server %d answers %q:\n%s", i, out, log)
		}
	}
	log, err := os.ReadFile(filepath.Join(p.Home, "casement.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range asked { // without this check, an API server that calls no service would let the test pass
		if !strings.Contains(string(log), "to="+strings.ToLower(address)) && !strings.Contains(string(log), "to="+address) {
			t.Errorf("no API server has asked %s from inside the machine", address)
		}
	}
}

// hostileMembers adds services of this computer as members to an etcd, which then connects to them.
// The members are in etcd's data, and no flag names them.
func hostileMembers(t *testing.T, p *plane.Plane, node string, decoys []*decoy, own string) {
	var at string
	for tries := 0; at == "" && tries < 300; tries++ {
		time.Sleep(100 * time.Millisecond)
		at = listens(t, 23701)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + at}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	asked := []string{fmt.Sprintf("127.0.0.1:%d", decoys[0].port), fmt.Sprintf("%s:%d", own, decoys[1].port),
		fmt.Sprintf("%s:%d", strings.TrimSuffix(at, ":23701"), decoys[2].port)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.MemberAdd(ctx, []string{"http://" + asked[0], "http://" + asked[1], "http://" + asked[2]}); err != nil {
		t.Fatal(err)
	}
	log := ""
	for tries := 0; strings.Count(log, "is refused") < len(asked) && tries < 100; tries++ {
		time.Sleep(200 * time.Millisecond)
		log = p.Everything("ssh", node, "--", "sudo sh -c 'grep -h is.refused /var/log/pods/kube-system_etcd-alone*/c/*'")
	}
	for _, address := range asked {
		if !strings.Contains(log, "a connection to "+address+" is refused") {
			t.Errorf("no connection to %s was refused: %s", address, log)
		}
	}
}

// listens returns the address on which a program of this computer listens on a port.
func listens(t *testing.T, port int) string {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		raw, found := strings.CutSuffix(fields[1], fmt.Sprintf(":%04X", port))
		if b, err := hex.DecodeString(raw); found && err == nil && len(b) == 4 {
			return fmt.Sprintf("%d.%d.%d.%d:%d", b[3], b[2], b[1], b[0], port)
		}
	}
	return ""
}

func kubeconfig(server string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {server: \"" + server + "\"}}]\nusers: [{name: u, user: {}}]"
}
