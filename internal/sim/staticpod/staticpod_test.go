package staticpod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTranslate(t *testing.T) {
	m := Mapping{Root: "/vm", Address: "10.0.0.4", Loopback: "127.0.0.4", EgressConfig: "/vm/egress.yaml"}
	for name, tc := range map[string]struct {
		command, want, dropped []string
	}{
		"API server": {
			[]string{"kube-apiserver", "--advertise-address=10.0.0.4", "--client-ca-file=/etc/kubernetes/pki/ca.crt", "--etcd-servers=https://127.0.0.1:2379", "--secure-port=6443"},
			[]string{"kube-apiserver", "--advertise-address=10.0.0.4", "--client-ca-file=/vm/etc/kubernetes/pki/ca.crt", "--etcd-servers=https://127.0.0.4:2379", "--secure-port=6443", "--bind-address=127.0.0.4", "--egress-selector-config-file=/vm/egress.yaml"},
			nil,
		},
		"flags of older versions": {
			[]string{"kube-apiserver", "--cloud-provider=azure", "--cloud-config=/etc/kubernetes/azure.json", "--feature-gates=WindowsHostProcessContainers=true,Other=true", "--unknown=1"},
			[]string{"kube-apiserver", "--feature-gates=Other=true", "--unknown=1", "--bind-address=127.0.0.4", "--egress-selector-config-file=/vm/egress.yaml"},
			[]string{"--cloud-provider=azure of kube-apiserver", "--cloud-config=/etc/kubernetes/azure.json of kube-apiserver", "feature gates WindowsHostProcessContainers=true of kube-apiserver"},
		},
		"etcd": {
			[]string{"etcd", "--data-dir=/var/lib/etcd", "--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.4:2379", "--initial-cluster=n=https://10.0.0.4:2380", "--listen-metrics-urls=http://127.0.0.1:2381"},
			[]string{"etcd", "--data-dir=/vm/var/lib/etcd", "--listen-client-urls=https://127.0.0.4:2379", "--initial-cluster=n=https://127.0.0.4:2380", "--listen-metrics-urls=http://127.0.0.4:2381", "--unsafe-no-fsync", "--log-level=warn"},
			nil,
		},
		"controller manager": {
			[]string{"kube-controller-manager", "--bind-address=127.0.0.1", "--leader-elect=true", "--cloud-provider=external", "--kubeconfig=/etc/kubernetes/controller-manager.conf"},
			[]string{"kube-controller-manager", "--bind-address=127.0.0.4", "--leader-elect=false", "--cloud-provider=external", "--kubeconfig=/vm/etc/kubernetes/controller-manager.conf"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, dropped, err := Translate(tc.command, m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tc.dropped, dropped); diff != "" {
				t.Errorf("dropped: -want +got\n%s", diff)
			}
		})
	}
	if _, _, err := Translate(nil, m); err == nil {
		t.Error("no command is no error")
	}
}
