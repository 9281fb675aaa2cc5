package staticpod

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mapping() Mapping {
	return Mapping{Root: "/vm", Address: "10.0.0.4", Loopback: "127.0.0.4", EgressConfig: "/vm/egress.yaml"}
}

func TestTranslate(t *testing.T) {
	for name, tc := range map[string]struct {
		command, want, dropped string
		version                string
	}{
		"API server": {
			command: "kube-apiserver --advertise-address=10.0.0.4 --client-ca-file=/etc/kubernetes/pki/ca.crt --etcd-servers=https://127.0.0.1:2379 --secure-port=6443",
			want:    "kube-apiserver --advertise-address=10.0.0.4 --client-ca-file=/vm/etc/kubernetes/pki/ca.crt --etcd-servers=https://127.0.0.4:2379 --secure-port=6443 --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml",
		},
		"own bind address and egress": {
			command: "/usr/local/bin/kube-apiserver --bind-address=0.0.0.0 --egress-selector-config-file=/etc/egress.yaml",
			want:    "kube-apiserver --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml",
		},
		"paths of any folder, and what is no path": {
			command: "kube-apiserver --service-account-key-file=/a/old.pub,/a/sa.pub --etcd-prefix=/registry --authorization-always-allow-paths=/healthz,/readyz --audit-log-path=-",
			want:    "kube-apiserver --service-account-key-file=/vm/a/old.pub,/vm/a/sa.pub --etcd-prefix=/registry --authorization-always-allow-paths=/healthz,/readyz --audit-log-path=- --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml",
		},
		"a path cannot leave the root": {
			command: "etcd --data-dir=/../../etc",
			want:    "etcd --data-dir=/vm/etc --unsafe-no-fsync --log-level=warn",
		},
		"flags of older versions": {
			command: "kube-apiserver --cloud_provider=azure --cloud-config=/etc/kubernetes/azure.json --feature-gates=WindowsHostProcessContainers=true,Other=true --enable-admission-plugins=NodeRestriction,PodSecurityPolicy --unknown=1",
			want:    "kube-apiserver --feature-gates=Other=true --enable-admission-plugins=NodeRestriction --unknown=1 --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml",
			dropped: "--cloud-provider=azure of kube-apiserver; --cloud-config=/etc/kubernetes/azure.json of kube-apiserver; feature gates WindowsHostProcessContainers=true of kube-apiserver; admission plugins PodSecurityPolicy of kube-apiserver",
		},
		"nothing left of a list": {
			command: "kube-scheduler --feature-gates=TTLAfterFinished=true --port=0",
			want:    "kube-scheduler --bind-address=127.0.0.4",
			dropped: "feature gates TTLAfterFinished=true of kube-scheduler; --port=0 of kube-scheduler",
		},
		"etcd": {
			command: "etcd --name=n --data-dir=/var/lib/etcddisk/etcd --listen-client-urls=https://127.0.0.1:2379,https://10.0.0.4:2379 --initial-cluster=o=https://127.0.0.9:2380,n=https://10.0.0.4:2380 --listen-metrics-urls=http://0.0.0.0:2381 --feature-gates=InitialCorruptCheck=true --quota-backend-bytes=8589934592",
			want:    "etcd --name=n --data-dir=/vm/var/lib/etcddisk/etcd --listen-client-urls=https://127.0.0.4:2379 --initial-cluster=o=https://127.0.0.9:2380,n=https://127.0.0.4:2380 --listen-metrics-urls=http://127.0.0.4:2381 --feature-gates=InitialCorruptCheck=true --quota-backend-bytes=8589934592 --unsafe-no-fsync --log-level=warn",
		},
		"an address that only begins like ours": {
			command: "kube-apiserver --etcd-servers=https://10.0.0.40:2379",
			want:    "kube-apiserver --etcd-servers=https://10.0.0.40:2379 --bind-address=127.0.0.4 --egress-selector-config-file=/vm/egress.yaml",
		},
		"controller manager": {
			command: "kube-controller-manager --bind-address=127.0.0.1 --leader-elect=true --cloud-provider=external --kubeconfig=/etc/kubernetes/controller-manager.conf",
			want:    "kube-controller-manager --bind-address=127.0.0.4 --leader-elect=true --cloud-provider=external --kubeconfig=/vm/etc/kubernetes/controller-manager.conf --kube-api-qps=200 --kube-api-burst=400",
		},
		"controller manager with a provider inside": {
			command: "kube-controller-manager --cloud-provider=azure --cloud-config=/etc/kubernetes/azure.json --allocate-node-cidrs=false",
			want:    "kube-controller-manager --cloud-config=/vm/etc/kubernetes/azure.json --allocate-node-cidrs=false --bind-address=127.0.0.4 --kube-api-qps=200 --kube-api-burst=400",
			dropped: "--cloud-provider=azure of kube-controller-manager",
		},
		"version that can be emulated": {
			command: "kube-scheduler", version: "v1.34.2",
			want: "kube-scheduler --bind-address=127.0.0.4 --emulated-version=1.34",
		},
		"version that cannot": {
			command: "kube-controller-manager", version: "v1.22.1",
			want: "kube-controller-manager --bind-address=127.0.0.4 --kube-api-qps=200 --kube-api-burst=400 --emulated-version=1.33",
		},
		"no flags at all": {
			command: "pause run /bin/x --help",
			want:    "pause run /vm/bin/x --help",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapping()
			m.Version = tc.version
			got, dropped, err := Translate(strings.Fields(tc.command), m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(tc.want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tc.dropped, strings.Join(dropped, "; ")); diff != "" {
				t.Errorf("dropped: -want +got\n%s", diff)
			}
		})
	}
	if _, _, err := Translate(nil, Mapping{}); err == nil {
		t.Error("no command is no error")
	}
}

func TestEmulated(t *testing.T) {
	for version, want := range map[string]struct {
		release string
		exact   bool
	}{
		"":         {"1.36", true},
		"v1.36.3":  {"1.36", true},
		"v1.34.0":  {"1.34", true},
		"1.33.9":   {"1.33", true},
		"v1.22.13": {"1.33", false},
		"v1.40.0":  {"1.36", false},
		"v2.0.0":   {"1.36", false},
		"latest":   {"1.36", false},
	} {
		if release, exact := Emulated(version); release != want.release || exact != want.exact {
			t.Errorf("Emulated(%q) = %s, %v, want %+v", version, release, exact, want)
		}
	}
}

// FuzzTranslate holds that no guest gets a path of this machine outside its root,
// nor a socket on any address but its own.
func FuzzTranslate(f *testing.F) {
	f.Add("--data-dir=/var/lib/etcd")
	f.Add("--data-dir=/../../root,/x")
	f.Add("--listen-client-urls=http://0.0.0.0:1,https://[::]:2379")
	f.Add("--x_y")
	f.Fuzz(func(t *testing.T, arg string) {
		argv, _, err := Translate([]string{"etcd", arg}, mapping())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range argv {
			name, value, ok := strings.Cut(a, "=")
			if !ok || !strings.HasPrefix(name, "--") || slices.Contains(strings.Fields(urlPathFlags), name[2:]) {
				continue
			}
			for item := range strings.SplitSeq(value, ",") {
				if strings.HasPrefix(value, "/") && strings.HasPrefix(item, "/") && item != "/vm" && !strings.HasPrefix(item, "/vm/") {
					t.Errorf("%q became %q", arg, a)
				}
			}
			if u, err := url.Parse(value); name == "--listen-client-urls" && err == nil && u.Scheme != "" && u.Hostname() == "0.0.0.0" {
				t.Errorf("%q became %q", arg, a)
			}
		}
	})
}
