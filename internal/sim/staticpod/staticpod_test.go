package staticpod

import (
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mapping() Mapping {
	return Mapping{Files: tree{}, Private: "/private",
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("2001:db8::4")},
		Loopback:  "127.0.0.4", EgressConfig: "/vm/egress.yaml",
		Peer: func(address string) (string, bool) {
			peers := map[string]string{"127.0.0.9": "127.0.0.9", "10.0.0.40": "127.0.0.40"}
			return peers[address], peers[address] != ""
		}}
}

// tree contains the files of a guest, whose root is /vm; paths below /out are outside of the guest.
type tree map[string]string

func (t tree) Host(guest string) (string, error) {
	if strings.HasPrefix(path.Clean(guest), "/out") {
		return "", errors.New("the path leads out of the guest")
	}
	return path.Join("/vm", guest), nil
}

func (t tree) ReadFile(guest string) ([]byte, error) {
	text, some := t[guest]
	if !some {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func TestTranslate(t *testing.T) {
	for name, tc := range map[string]struct {
		command, want, dropped string
		apiServer              []string
		version                string
	}{
		"API server": {
			command: "kube-apiserver --advertise-address=10.0.0.4 --client-ca-file=/etc/kubernetes/pki/ca.crt " +
				"--etcd-servers=https://127.0.0.1:2379 --secure-port=6443",
			want: "kube-apiserver --advertise-address=10.0.0.4 --client-ca-file=/vm/etc/kubernetes/pki/ca.crt " +
				"--etcd-servers=https://127.0.0.4:2379 --secure-port=6443 --bind-address=127.0.0.4 " +
				"--egress-selector-config-file=/vm/egress.yaml --cert-dir=/vm/var/run/kubernetes",
		},
		"the machine's IPv6 address": {
			command: "etcd --listen-client-urls=https://127.0.0.1:2379,https://[2001:db8::4]:2379 " +
				"--advertise-client-urls=https://[2001:db8::4]:2379",
			want: "etcd --listen-client-urls=https://127.0.0.4:2379 --advertise-client-urls=https://127.0.0.4:2379 " +
				"--enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn --backend-batch-interval=1s --data-dir=/vm/default.etcd",
		},
		"own bind address and egress": {
			command: "/usr/local/bin/kube-apiserver --bind-address=0.0.0.0 --egress-selector-config-file=/etc/egress.yaml",
			want: "kube-apiserver --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml " +
				"--cert-dir=/vm/var/run/kubernetes",
		},
		"paths of any folder, and what is no path": {
			command: "kube-apiserver --service-account-key-file=/a/old.pub,/a/sa.pub --etcd-prefix=/registry " +
				"--authorization-always-allow-paths=/healthz,/readyz --audit-log-path=-",
			want: "kube-apiserver --service-account-key-file=/vm/a/old.pub,/vm/a/sa.pub --etcd-prefix=/registry " +
				"--authorization-always-allow-paths=/healthz,/readyz --audit-log-path=- " +
				"--bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml " +
				"--cert-dir=/vm/var/run/kubernetes",
		},
		"dots cannot leave the root": {
			command: "etcd --data-dir=/../../etc",
			want: "etcd --data-dir=/vm/etc --enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s",
		},
		"a relative path is against the root": {
			command: "etcd --data-dir=pub/X --wal-dir=../../w",
			want: "etcd --data-dir=/vm/pub/X --wal-dir=/vm/w --enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s",
		},
		"one dash, and a value of its own": {
			command: "etcd -data-dir /d --cert-file c",
			want: "etcd --data-dir=/vm/d --cert-file=/vm/c --enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s",
		},
		"etcd without a directory": {
			command: "etcd --name=x --data-dir=",
			want: "etcd --name=x --enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s --data-dir=/vm/default.etcd",
		},
		"plugins of volumes": {
			command: "kube-controller-manager --flex-volume-plugin-dir=/plugins -v=2",
			want: "kube-controller-manager --flex-volume-plugin-dir=/private/no-plugins -v=2 " +
				"--bind-address=127.0.0.4 --kube-api-qps=200 --kube-api-burst=400 --concurrent-daemonset-syncs=1",
		},
		"certificates of names": {
			command: "kube-scheduler --tls-sni-cert-key=/a.crt,/a.key:*.example.com,example.com",
			want:    "kube-scheduler --tls-sni-cert-key=/vm/a.crt,/vm/a.key:*.example.com,example.com --bind-address=127.0.0.4",
		},
		"flags of older versions": {
			command: "kube-apiserver --cloud_provider=azure --cloud-config=/etc/kubernetes/azure.json " +
				"--feature-gates=WindowsHostProcessContainers=true,Other=true " +
				"--enable-admission-plugins=NodeRestriction,PodSecurityPolicy --unknown=1",
			want: "kube-apiserver --feature-gates=Other=true --enable-admission-plugins=NodeRestriction " +
				"--unknown=1 --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml " +
				"--cert-dir=/vm/var/run/kubernetes",
			dropped: "--cloud-provider=azure of kube-apiserver; --cloud-config=/etc/kubernetes/azure.json of " +
				"kube-apiserver; feature gates WindowsHostProcessContainers=true of kube-apiserver; admission " +
				"plugins PodSecurityPolicy of kube-apiserver",
		},
		"flags that the release lost too": {
			command: "kube-scheduler --feature-gates=CSIMigrationAzureDisk=true --port=0", version: "v1.36.3",
			want: "kube-scheduler --feature-gates=CSIMigrationAzureDisk=true --port=0 --bind-address=127.0.0.4 --emulated-version=1.36",
		},
		"flags that the release has": {
			command: "kube-scheduler --feature-gates=CSIMigrationAzureDisk=true --port=0", version: "v1.23.17",
			want:    "kube-scheduler --bind-address=127.0.0.4 --emulated-version=1.34",
			dropped: "feature gates CSIMigrationAzureDisk=true of kube-scheduler; --port=0 of kube-scheduler",
		},
		"a provider that the release lost too": {
			command: "kube-controller-manager --cloud-provider=azure", version: "v1.36.3",
			want: "kube-controller-manager --cloud-provider=azure --bind-address=127.0.0.4 --kube-api-qps=200 " +
				"--kube-api-burst=400 --concurrent-daemonset-syncs=1 --flex-volume-plugin-dir=/private/no-plugins --emulated-version=1.36",
		},
		"nothing left of a list": {
			command: "kube-scheduler --feature-gates=TTLAfterFinished=true --port=0",
			want:    "kube-scheduler --bind-address=127.0.0.4",
			dropped: "feature gates TTLAfterFinished=true of kube-scheduler; --port=0 of kube-scheduler",
		},
		"etcd": {
			command: "etcd --name=n --data-dir=/var/lib/etcddisk/etcd " +
				"--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.4:2379 " +
				"--initial-cluster=o=https://127.0.0.9:2380,n=https://10.0.0.4:2380 " +
				"--listen-metrics-urls=http://0.0.0.0:2381 --feature-gates=InitialCorruptCheck=true " +
				"--quota-backend-bytes=8589934592",
			want: "etcd --name=n --data-dir=/vm/var/lib/etcddisk/etcd " +
				"--listen-client-urls=https://127.0.0.4:2379 " +
				"--initial-cluster=o=https://127.0.0.9:2380,n=https://127.0.0.4:2380 " +
				"--listen-metrics-urls=http://127.0.0.4:2381 --feature-gates=InitialCorruptCheck=true " +
				"--quota-backend-bytes=8589934592 --enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s",
		},
		"etcd with TLS": {
			command: "etcd --data-dir=/d --cert-file=/c --key-file=/k",
			want: "etcd --data-dir=/vm/d --cert-file=/vm/c --key-file=/vm/k --enable-grpc-gateway=false " +
				"--unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s --listen-client-http-urls=https://127.0.0.4:2378",
		},
		"etcd with an address of its own for its pages": {
			command: "etcd --data-dir=/d --cert-file=/c --key-file=/k --listen-client-http-urls=https://10.0.0.4:9",
			want: "etcd --data-dir=/vm/d --cert-file=/vm/c --key-file=/vm/k --listen-client-http-urls=https://127.0.0.4:9 " +
				"--enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s",
		},
		"an address that only begins like ours": {
			command: "etcd --initial-cluster=a=https://10.0.0.40:2380",
			want: "etcd --initial-cluster=a=https://127.0.0.40:2380 --enable-grpc-gateway=false " +
				"--unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s --data-dir=/vm/default.etcd",
		},
		"flags of this machine": {
			command: "kube-apiserver --b=guest", apiServer: []string{"a=1", "b=2"},
			want: "kube-apiserver --b=guest --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml --a=1 " +
				"--cert-dir=/vm/var/run/kubernetes",
		},
		"controller manager": {
			command: "kube-controller-manager --bind-address=127.0.0.1 --leader-elect=true " +
				"--cloud-provider=external --root-ca-file=/etc/kubernetes/ca.crt",
			want: "kube-controller-manager --bind-address=127.0.0.4 --leader-elect=true " +
				"--cloud-provider=external --root-ca-file=/vm/etc/kubernetes/ca.crt --kube-api-qps=200 " +
				"--kube-api-burst=400 --concurrent-daemonset-syncs=1 --flex-volume-plugin-dir=/private/no-plugins",
		},
		"controller manager with a provider inside": {
			command: "kube-controller-manager --cloud-provider=azure --cloud-config=/etc/kubernetes/azure.json --allocate-node-cidrs=false",
			want: "kube-controller-manager --cloud-config=/vm/etc/kubernetes/azure.json " +
				"--allocate-node-cidrs=false --bind-address=127.0.0.4 --kube-api-qps=200 --kube-api-burst=400 --concurrent-daemonset-syncs=1 " +
				"--flex-volume-plugin-dir=/private/no-plugins",
			dropped: "--cloud-provider=azure of kube-controller-manager",
		},
		"version that can be emulated": {
			command: "kube-scheduler", version: "v1.34.2",
			want: "kube-scheduler --bind-address=127.0.0.4 --emulated-version=1.34",
		},
		"version that cannot": {
			command: "kube-controller-manager", version: "v1.22.1",
			want: "kube-controller-manager --bind-address=127.0.0.4 --kube-api-qps=200 --kube-api-burst=400 --concurrent-daemonset-syncs=1 " +
				"--flex-volume-plugin-dir=/private/no-plugins --emulated-version=1.34",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapping()
			m.Version, m.APIServer = tc.version, tc.apiServer
			got, err := Translate(strings.Fields(tc.command), m)
			if err != nil {
				t.Fatal(err)
			}
			// TestLease checks the flags of the lease, which every program has.
			argv := slices.DeleteFunc(got.Argv, func(a string) bool {
				return strings.HasPrefix(a, "--leader-elect-") && !strings.Contains(tc.command, a)
			})
			if diff := cmp.Diff(strings.Fields(tc.want), argv); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			dropped := strings.ReplaceAll(strings.Join(got.Dropped, "; "), ", which the embedded Kubernetes no longer has", "")
			if diff := cmp.Diff(tc.dropped, dropped); diff != "" {
				t.Errorf("dropped: -want +got\n%s", diff)
			}
		})
	}
}

func TestEmulated(t *testing.T) {
	for version, want := range map[string]struct {
		release string
		exact   bool
	}{
		"":         {"1.37", true},
		"v1.37.2":  {"1.37", true},
		"v1.35.0":  {"1.35", true},
		"1.34.9":   {"1.34", true},
		"v1.33.1":  {"1.34", false},
		"v1.22.13": {"1.34", false},
		"v1.40.0":  {"1.37", false},
		"v2.0.0":   {"1.37", false},
		"latest":   {"1.37", false},
	} {
		if release, exact := Emulated(version); release != want.release || exact != want.exact {
			t.Errorf("Emulated(%q) = %s, %v, want %+v", version, release, exact, want)
		}
	}
}

// TestTranslateRefuses has the command lines that are refused, each with a part of its error message.
func TestTranslateRefuses(t *testing.T) {
	const user = "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
		"contexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {server: 'https://10.0.0.4:6443'}}]\nusers: [{name: u, user: {%s}}]"
	files := tree{
		"/exec": strings.Replace(user, "%s",
			"exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}", 1),
		"/provider": strings.Replace(user, "%s", "auth-provider: {name: gcp}", 1),
		"/key":      strings.Replace(user, "%s", "client-key: /out/key", 1),
		"/proxy":    strings.Replace(strings.Replace(user, "%s", "", 1), "server:", "proxy-url: 'http://p', server:", 1),
		"/socket":   strings.Replace(strings.Replace(user, "%s", "", 1), "https://10.0.0.4:6443", "unix:///run/x.sock", 1),
		"/noconf":   "users: [",
		"/sched":    "clientConnection: {kubeconfig: exec}",
		"/cased":    "clientConnection: {kubeConfig: /exec}",
		"/authz":    "authorizers: [{type: Webhook, webhook: {connectionInfo: {type: KubeConfigFile, kubeConfigFile: /exec}}}]",
		"/admit":    "plugins: [{name: ImagePolicyWebhook, path: /x}]",
		"/kms":      "resources: [{providers: [{kms: {endpoint: 'unix:///run/x.sock'}}]}]",
	}
	for name, tc := range map[string]struct{ command, want string }{
		"nothing":                  {"", "no command"},
		"kubectl":                  {"kubectl --kubeconfig=/exec get pods", `command "kubectl"`},
		"boot":                     {"/usr/bin/boot init --root=/", `command "/usr/bin/boot"`},
		"a shell":                  {"/bin/sh -c id", `command "/bin/sh"`},
		"a program":                {"kube-scheduler --kubeconfig=/exec", "users[u].user.exec"},
		"a program, underscores":   {"kube-controller-manager --authentication_kubeconfig=/exec", "users[u].user.exec"},
		"a program, value apart":   {"kube-scheduler --kubeconfig /exec", "users[u].user.exec"},
		"a webhook's program":      {"kube-apiserver --audit-webhook-config-file=/exec", "users[u].user.exec"},
		"a provider":               {"kube-scheduler --kubeconfig=/provider", "users[u].user.auth-provider"},
		"a proxy":                  {"kube-scheduler --kubeconfig=/proxy", "proxy-url"},
		"a key outside":            {"kube-scheduler --kubeconfig=/key", "client-key"},
		"no kubeconfig":            {"kube-scheduler --kubeconfig=/noconf", "no kubeconfig"},
		"a kubeconfig of a config": {"kube-scheduler --config=/sched", "clientConnection.kubeconfig"},
		"another spelling":         {"kube-scheduler --config=/cased", `"kubeConfig"`},
		"an authorizer": {
			"kube-apiserver --authorization-config=/authz", "authorizers[0].webhook.connectionInfo.kubeConfigFile",
		},
		"a gateway":           {"etcd gateway start --endpoints=127.0.0.1:9", `argument "gateway"`},
		"a proxy of etcd":     {"etcd grpc-proxy start --endpoints=127.0.0.1:9", `argument "grpc-proxy"`},
		"a discovery":         {"etcd --discovery=http://127.0.0.1:9/x", "--discovery"},
		"a discovery by DNS":  {"etcd -discovery-srv example.com", "--discovery-srv"},
		"a discovery of v3":   {"etcd --discovery-endpoints=http://127.0.0.1:9", "--discovery-endpoints"},
		"traces of etcd":      {"etcd --experimental-enable-distributed-tracing", "--experimental-enable-distributed-tracing"},
		"a webhook's socket":  {"kube-apiserver --authentication-token-webhook-config-file=/socket", "only http and https"},
		"an admission plugin": {"kube-apiserver --admission-control-config-file=/admit", "ImagePolicyWebhook"},
		"a key service":       {"kube-apiserver --encryption-provider-config=/kms", "kms"},
		"a signing service": {
			"kube-apiserver --service-account-signing-endpoint=/run/x.sock", "--service-account-signing-endpoint",
		},
		"traces":                     {"kube-apiserver --tracing-config-file=/t", "--tracing-config-file"},
		"a socket of a data store":   {"kube-apiserver --etcd-servers=unix:///run/x.sock", "only http and https"},
		"a socket to listen on":      {"etcd --listen-client-urls=unix://x", "only http and https"},
		"a link that leads out":      {"etcd --data-dir=/out/X", "--data-dir of etcd"},
		"the root itself":            {"etcd --data-dir=/", "not strictly inside"},
		"another file of flags":      {"etcd --config-file=/x", "--config-file"},
		"a log of etcd":              {"etcd --log-outputs=stderr,/x/y", "--log-outputs"},
		"keys of tokens":             {"etcd --auth-token=jwt,pub-key=/x", "--auth-token"},
		"an audit log outside":       {"kube-apiserver --audit-log-path=/out/a", "--audit-log-path"},
		"a path of an unknown flag":  {"kube-apiserver --not-known=/etc/passwd", "--not-known"},
		"a flag of one dash":         {"kube-scheduler -kubeconfig=/exec", "-kubeconfig"},
		"directories of a volume":    {"kube-controller-manager --enable-hostpath-provisioner=true", "--enable-hostpath-provisioner"},
		"the same without its value": {"kube-controller-manager --enable-hostpath-provisioner", "--enable-hostpath-provisioner"},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapping()
			m.Files = files
			got, err := Translate(strings.Fields(tc.command), m)
			if err == nil {
				t.Fatalf("%q runs as %q", tc.command, got.Argv)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not name %q", err, tc.want)
			}
		})
	}
}

// TestDialsItselfAlone checks which addresses each program may dial by itself: its own machine, on
// its loopback address, in any notation, and as a member of etcd other machines. All other
// addresses are refused. A connection through the egress selector keeps its address, because it is
// dialled inside the guest.
func TestDialsItselfAlone(t *testing.T) {
	const mine = "https://127.0.0.4:8443"
	own := []string{"https://127.0.0.1:8443", "https://localhost:8443", "https://LOCALHOST.:8443", "https://[::1]:8443",
		"https://[::ffff:127.0.0.1]:8443", "https://0.0.0.0:8443", "https://[::]:8443", "https://10.0.0.4:8443", "https://127.8.8.8:8443"}
	foreign := []string{"https://10.0.0.5:8443", "https://192.168.1.1:8443", "https://169.254.169.254:8443", "https://example.com:8443",
		"https://127.1:8443", "https://2130706433:8443", "https://0x7f000001:8443", "https://0177.0.0.1:8443", "https://[fe80::1%25eth0]:8443",
		"https://metadata:8443", "https://127.0.0.1.nip.io:8443", "unix:///run/x.sock", "https+unix://x",
		"ftp://127.0.0.1:8443", "//127.0.0.1:8443",
		"127.0.0.1:8443", "https://10.0.0.4@192.168.1.1:8443", "https:///x", "https://%zz"}
	for _, place := range []struct {
		name, command string
		files         func(address string) tree
		in            string // the file with the result; "" means the command line
	}{
		{name: "a controller manager", command: "kube-controller-manager --kubeconfig=/k", files: kubeconfigOf, in: "kubeconfig.conf"},
		{name: "its authentication", command: "kube-controller-manager --authentication-kubeconfig=/k", files: kubeconfigOf,
			in: "authentication-kubeconfig.conf"},
		{name: "its authorization", command: "kube-controller-manager --authorization_kubeconfig /k", files: kubeconfigOf,
			in: "authorization-kubeconfig.conf"},
		{name: "a scheduler", command: "kube-scheduler --kubeconfig=/k", files: kubeconfigOf, in: "kubeconfig.conf"},
		{name: "a scheduler's configuration", command: "kube-scheduler --config=/s", in: "kubeconfig.conf",
			files: func(address string) tree {
				files := kubeconfigOf(address)
				files["/s"] = "clientConnection: {kubeconfig: /k}"
				return files
			}},
		{name: "an extender", command: "kube-scheduler --config=/s", in: "config.yaml", files: func(address string) tree {
			return tree{"/s": "extenders: [{urlPrefix: '" + address + "'}]"}
		}},
		{name: "a master", command: "kube-controller-manager --master=ADDRESS"},
		{name: "a master, apart", command: "kube-scheduler --master ADDRESS"},
		{name: "a data store", command: "kube-apiserver --etcd-servers=https://127.0.0.1:2379,ADDRESS"},
		{name: "a data store, underscores", command: "kube-apiserver --etcd_servers=ADDRESS"},
		{name: "an override", command: "kube-apiserver --etcd-servers-overrides=/events#https://127.0.0.1:2379;ADDRESS"},
		{name: "where etcd listens", command: "etcd -listen-client-urls=ADDRESS"},
		{name: "what etcd announces", command: "etcd --initial-advertise-peer-urls ADDRESS"},
		{name: "members", command: "etcd --initial-cluster=a=ADDRESS"},
	} {
		t.Run(place.name, func(t *testing.T) {
			run := func(address string) (Command, error) {
				m := mapping()
				m.Peer = nil
				if place.files != nil {
					m.Files = place.files(address)
				}
				return Translate(strings.Fields(strings.ReplaceAll(place.command, "ADDRESS", address)), m)
			}
			for _, address := range own {
				got, err := run(address)
				if err != nil {
					t.Errorf("%s: %v", address, err)
					continue
				}
				text := strings.Join(got.Argv, " ")
				for name, data := range got.Made {
					if place.in != "" && strings.HasSuffix(name, place.in) {
						text = string(data)
					}
				}
				if !strings.Contains(text, mine) || address != mine && strings.Contains(text, address) {
					t.Errorf("%s became %s", address, text)
				}
				if listens := got.Argv[0] == etcd && place.name != "members"; !listens && !slices.Contains(got.Dials, "127.0.0.4:8443") {
					t.Errorf("%s: it dials %v", address, got.Dials)
				}
			}
			for _, address := range foreign {
				if got, err := run(address); err == nil {
					t.Errorf("%s is taken: %q %s", address, got.Argv, got.Made)
				}
			}
		})
	}
}

// kubeconfigOf returns the files of a guest that has a kubeconfig with a server.
func kubeconfigOf(server string) tree {
	return tree{"/k": "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {server: '" + server + "'}}]\nusers: [{name: u, user: {}}]"}
}

// TestIssuers: the API server connects to an issuer through its egress selector, or not at all.
func TestIssuers(t *testing.T) {
	m := mapping()
	m.Files = tree{"/a": "jwt: [{issuer: {url: 'https://127.0.0.1:9'}}, {issuer: {url: 'https://x', egressSelectorType: cluster}}]"}
	got, err := Translate([]string{"kube-apiserver", "--authentication-config=/a"}, m)
	if err != nil {
		t.Fatal(err)
	}
	if made := string(got.Made["/private/0-authentication-config.yaml"]); strings.Count(made, "egressSelectorType: controlplane") != 2 {
		t.Errorf("the configuration is %s", made)
	}
	got, err = Translate([]string{"kube-apiserver", "--oidc-issuer-url=https://127.0.0.1:9", "--oidc_client_id", "a"}, m)
	if err != nil || strings.Contains(strings.Join(got.Argv, " "), "oidc") || len(got.Dropped) != 2 {
		t.Errorf("it runs as %q without %q (%v)", got.Argv, got.Dropped, err)
	}
	m.EgressConfig = ""
	_, err = Translate([]string{"kube-apiserver", "--authentication-config=/a"}, m)
	if err == nil || !strings.Contains(err.Error(), "jwt[0]") {
		t.Errorf("an API server that asks issuers on this computer's network: %v", err)
	}
}

// TestTranslateRemakes: a program gets copies of configurations, which refer to no other files.
func TestTranslateRemakes(t *testing.T) {
	m := mapping()
	m.Alone = true
	m.Files = tree{
		"/k/conf": "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
			"contexts: [{name: c, context: {cluster: k, user: u}}, {name: d, context: {cluster: k, user: evil}}]\n" +
			"clusters: [{name: k, cluster: {server: 'https://10.0.0.4:6443', certificate-authority: ca}}]\nusers: [{name: " +
			"u, user: {tokenFile: /k/token, client-key-data: a2V5}}, {name: evil, user: {exec: {command: " +
			"sh, apiVersion: v1}}}]",
		"/k/ca": "CA", "/k/token": "secret",
		"/s":   "kind: KubeSchedulerConfiguration\nclientConnection: {kubeconfig: k/conf, qps: 5}",
		"/adm": "plugins: [{name: PodSecurity, path: ps}]", "/ps": "defaults: {enforce: baseline}",
	}
	got, err := Translate([]string{"kube-scheduler", "--config=/s", "--kubeconfig=/k/conf"}, m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"kube-scheduler", "--config=/private/1-config.yaml", "--kubeconfig=/private/2-kubeconfig.conf",
		"--bind-address=127.0.0.4", "--leader-elect=false",
	}, got.Argv); diff != "" {
		t.Error(diff)
	}
	config := string(got.Made["/private/1-config.yaml"])
	if !strings.Contains(config, "kubeconfig: /private/0-kubeconfig.conf") || !strings.Contains(config, "qps: 5") {
		t.Errorf("the scheduler's configuration is %s", config)
	}
	for _, name := range []string{"/private/0-kubeconfig.conf", "/private/2-kubeconfig.conf"} {
		text := string(got.Made[name])
		for _, want := range []string{"server: https://127.0.0.4:6443", "token: secret", "certificate-authority-data: Q0E=",
			"client-key-data: a2V5"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
		for _, not := range []string{"exec", "evil", "tokenFile", "certificate-authority:"} {
			if strings.Contains(text, not) {
				t.Errorf("%s holds %q", name, not)
			}
		}
	}
	got, err = Translate([]string{"kube-apiserver", "--admission-control-config-file=/adm"}, m)
	if err != nil {
		t.Fatal(err)
	}
	if made := string(got.Made["/private/0-admission-control-config-file.yaml"]); strings.Contains(made, "path:") ||
		!strings.Contains(made, "enforce: baseline") {
		t.Errorf("the admission configuration is %s", made)
	}
}

// FuzzTranslate: the command contains no path of this computer outside of the guest's root, and no
// socket on an address that is not the guest's.
func FuzzTranslate(f *testing.F) {
	f.Add(uint8(0), "--data-dir=/var/lib/etcd")
	f.Add(uint8(0), "--data-dir=/../../root,/x")
	f.Add(uint8(0), "--listen-client-urls=http://0.0.0.0:1,https://[::]:2379")
	f.Add(uint8(1), "--x_y")
	f.Add(uint8(2), "--kubeconfig=/../x")
	f.Add(uint8(3), "--tls-sni-cert-key=/a,../b:c")
	f.Fuzz(func(t *testing.T, which uint8, arg string) {
		program := []string{etcd, apiServer, controllerManager, scheduler}[which%4]
		command, err := Translate([]string{program, arg}, mapping())
		if err != nil {
			return // a refusal is a valid result
		}
		for _, a := range command.Argv[1:] {
			name, value, ok := strings.Cut(a, "=")
			if !ok || !strings.HasPrefix(name, "--") || slices.Contains(strings.Fields(slashes), name[2:]) {
				continue
			}
			items := []string{value}
			if rules[program][name[2:]].how == file {
				items = strings.Split(value, ",")
			}
			for _, item := range items {
				if strings.HasPrefix(item, "/") && !strings.HasPrefix(item, "/vm/") && !strings.HasPrefix(item, "/private/") {
					t.Errorf("%q became %q", arg, a)
				}
			}
			if u, err := url.Parse(value); name == "--listen-client-urls" && err == nil && u.Scheme != "" && u.Hostname() == "0.0.0.0" {
				t.Errorf("%q became %q", arg, a)
			}
		}
	})
}

// TestLease: a component that is alone takes part in no election; others have a lease that they do
// not lose on a busy computer, unless their flags set its durations.
func TestLease(t *testing.T) {
	const lease = " --leader-elect-lease-duration=40s --leader-elect-renew-deadline=30s --leader-elect-retry-period=4s"
	for name, tc := range map[string]struct {
		command string
		alone   bool
		want    string
	}{
		"alone": {"kube-scheduler --bind-address=1.2.3.4 --leader-elect=true", true,
			"kube-scheduler --bind-address=127.0.0.4 --leader-elect=false"},
		"one of two": {"kube-scheduler --bind-address=1.2.3.4 --leader-elect=true", false,
			"kube-scheduler --bind-address=127.0.0.4 --leader-elect=true" + lease},
		"times": {
			"kube-scheduler --bind-address=1.2.3.4 --leader-elect-lease-duration=9s " +
				"--leader-elect-renew-deadline=3s --leader-elect-retry-period=1s",
			false,
			"kube-scheduler --bind-address=127.0.0.4 --leader-elect-lease-duration=9s " +
				"--leader-elect-renew-deadline=3s --leader-elect-retry-period=1s",
		},
		"elects no one": {"etcd --name=a", true,
			"etcd --name=a --enable-grpc-gateway=false --unsafe-no-fsync --log-level=warn " +
				"--backend-batch-interval=1s --data-dir=/vm/default.etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapping()
			m.Alone = tc.alone
			got, err := Translate(strings.Fields(tc.command), m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(tc.want), got.Argv); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
