package addons

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/windows"
)

// rangesOfTest are the address ranges for the manifests of these tests.
var rangesOfTest = windows.Ranges{Pods: "10.244.0.0/16", Services: "10.96.0.0/12", Nodes: "10.1.0.0/16", DNS: "10.96.0.10"}

// policy is one policy of a CNI configuration for Windows.
type policy struct {
	Name  string
	Value struct {
		Type          string
		ExceptionList []string
	}
}

// cniConfig has the fields of a CNI configuration that these tests check.
type cniConfig struct {
	Name, Type, Mode string
	VXLANVNI         int `json:"vxlan_vni"`
	MTU              int
	IPAM             struct{ Type string }
	Delegate         struct {
		Type     string
		Policies []policy
	}
	Policies []policy
	Plugins  []struct {
		Type, Mode     string
		IPAM           struct{ Type string }
		AdditionalArgs []policy
	}
}

func (c cniConfig) exceptions() []string {
	all := slices.Concat(c.Policies, c.Delegate.Policies)
	for _, p := range c.Plugins {
		all = append(all, p.AdditionalArgs...)
	}
	for _, p := range all {
		if p.Value.Type == "OutBoundNAT" {
			return p.Value.ExceptionList
		}
	}
	return nil
}

// data returns the values of an addon's ConfigMaps, by key.
func data(t *testing.T, name string) map[string]string {
	t.Helper()
	a, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Render(Params{PodCIDR: rangesOfTest.Pods, ServiceCIDR: rangesOfTest.Services})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	typed, _ := decode(t, text)
	for _, o := range typed {
		if m, ok := o.(*corev1.ConfigMap); ok {
			for key, value := range m.Data {
				out[key] = value
			}
		}
	}
	return out
}

// TestNetworks: the addons install each network of the table as its row describes it, or the row gives the
// reason why no addon does; the lint rules that the row names exist.
func TestNetworks(t *testing.T) {
	for _, n := range windows.Networks() {
		t.Run(n.Name, func(t *testing.T) {
			if (n.Refused == "") != (len(n.Addons) == 2 && len(n.Labels) == 1) {
				t.Errorf("refused %q with addons %v", n.Refused, n.Addons)
			}
			for _, name := range n.Addons {
				a, err := Find(name)
				if err != nil {
					t.Fatal(err)
				}
				labels := map[string]string{"windows": "enabled"}
				for key, value := range n.Labels {
					labels[key] = value
				}
				if !a.Asked(labels) {
					t.Errorf("%v do not ask for %s", labels, name)
				}
			}
			if got, ok := windows.NetworkByLabels(n.Labels); len(n.Labels) > 0 && (!ok || got.Name != n.Name) {
				t.Errorf("its labels ask for %s", got.Name)
			}
			text := n.CNIConfig(rangesOfTest)
			var conf cniConfig
			if text != nil {
				if err := json.Unmarshal(text, &conf); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
			}
			if want := n.ExceptionList(rangesOfTest); len(want) > 0 && !slices.Equal(conf.exceptions(), want) {
				t.Errorf("the configuration excepts %v, the table %v", conf.exceptions(), want)
			}
			switch n.Name {
			case "Calico VXLAN":
				linux, win := data(t, "calico"), data(t, "calico-windows")
				if linux["veth_mtu"] != fmt.Sprint(n.MTU) || win["VXLAN_VNI"] != fmt.Sprint(n.VNI) ||
					win["CALICO_NETWORKING_BACKEND"] != "vxlan" || win["K8S_SERVICE_CIDR"] != rangesOfTest.Services {
					t.Errorf("MTU %s, Windows %v", linux["veth_mtu"], win)
				}
				if conf.Mode != "vxlan" || conf.VXLANVNI != n.VNI || conf.MTU != n.MTU {
					t.Errorf("configuration %+v", conf)
				}
			case "Azure CNI v1":
				var installed cniConfig
				if err := json.Unmarshal([]byte(data(t, "azure-cni-windows")["10-azure.conflist"]), &installed); err != nil {
					t.Fatal(err)
				}
				plugin := installed.Plugins[0]
				if plugin.Type != n.Plugin || plugin.Mode != "bridge" || plugin.IPAM.Type != n.IPAM ||
					!slices.Equal(installed.exceptions(), n.ExceptionList(rangesOfTest)) {
					t.Errorf("installed: %+v", installed)
				}
			case "Flannel VXLAN (win-overlay)":
				var network struct {
					Backend struct {
						Type           string
						VNI, Port, MTU int
					}
				}
				if err := json.Unmarshal([]byte(data(t, "flannel")["net-conf.json"]), &network); err != nil {
					t.Fatal(err)
				}
				if b := network.Backend; b.Type != "vxlan" || b.VNI != n.VNI || b.Port != n.VXLANPort || b.MTU != windows.AzureMTU {
					t.Errorf("backend %+v", b)
				}
				var installed cniConfig
				if err := json.Unmarshal([]byte(data(t, "flannel-windows")["cni-conf.json"]), &installed); err != nil {
					t.Fatal(err)
				}
				if installed.Delegate.Type != n.Plugin || !slices.Equal(installed.exceptions(), n.ExceptionList(rangesOfTest)) {
					t.Errorf("installed: %+v", installed)
				}
			default:
				if n.Refused == "" {
					t.Error("no test compares it with its addons")
				}
			}
		})
	}
}

// TestNetworkRules: each lint rule that a row of the table of networks names exists.
func TestNetworkRules(t *testing.T) {
	for _, n := range windows.Networks() {
		for _, rule := range n.Rules {
			if _, err := os.Stat("../../docs/rules/" + rule + ".md"); strings.HasPrefix(rule, "WIN") && err != nil {
				t.Errorf("%s: %v", n.Name, err)
			}
		}
	}
}
