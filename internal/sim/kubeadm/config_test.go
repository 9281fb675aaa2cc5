package kubeadm

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	token = "abcdef.0123456789abcdef"
	pin   = "sha256:7c2e69131a36ae2a042a339b33381c6d0d43887e2de83720eff5359e26aec866"
)

// found is the part of a configuration with which a cluster is discovered.
const found = `
discovery:
  bootstrapToken: {token: ` + token + `, apiServerEndpoint: "10.0.0.4:6443", caCertHashes: ["` + pin + `"]}
`

func TestParseJoin(t *testing.T) {
	c, notes, err := ParseJoin([]byte(`---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  criSocket: npipe:////./pipe/containerd-containerd
  kubeletExtraArgs: [{name: v, value: "2"}, {name: node-labels, value: a=b}]
skipPhases: [preflight]
patches: {directory: C:/patches}
timeouts: {discovery: 2m, tlsBootstrap: 90s}
controlPlane: {localAPIEndpoint: {bindPort: 6443}}
`+found), " WIN-Node1\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.NodeName != "win-node1" || c.CACertPath != caCert {
		t.Errorf("name %q, CA in %q", c.NodeName, c.CACertPath)
	}
	if want := []Arg{{"v", "2"}, {"node-labels", "a=b"}}; !slices.Equal(c.KubeletArgs, want) {
		t.Errorf("kubelet arguments %v", c.KubeletArgs)
	}
	if c.ControlPlane == nil || len(c.Taints) != 1 || c.Taints[0].Key != controlPlaneTaint {
		t.Errorf("control plane %v with taints %v", c.ControlPlane, c.Taints)
	}
	if want := (Timeouts{2 * time.Minute, 90 * time.Second}); c.Timeouts != want {
		t.Errorf("timeouts %v", c.Timeouts)
	}
	if c.Discovery.TLSBootstrapToken != token {
		t.Error("the kubelet does not start with the token of the discovery")
	}
	said := strings.Join(notes, "\n")
	for _, want := range []string{`"InitConfiguration"`, "skipPhases", `"C:/patches"`} {
		if !strings.Contains(said, want) {
			t.Errorf("the notes do not name %s: %s", want, said)
		}
	}
}

// TestParseJoinArguments: both forms of kubeletExtraArgs are read: a map up to v1beta3, a list since
// v1beta4.
func TestParseJoinArguments(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Arg
	}{
		"none":  {"null", nil},
		"map":   {"{b: '2', a: '1'}", []Arg{{"a", "1"}, {"b", "2"}}},
		"list":  {"[{name: b, value: '2'}, {name: b, value: '3'}]", []Arg{{"b", "2"}, {"b", "3"}}},
		"empty": {"[]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c2, _, err := ParseJoin([]byte("apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs: "+
				c.text+found), "n")
			if err != nil || !slices.Equal(c2.KubeletArgs, c.want) {
				t.Errorf("%v, %v", c2.KubeletArgs, err)
			}
		})
	}
}

// TestParseJoinRefuses: an error names the field and never quotes a token.
func TestParseJoinRefuses(t *testing.T) {
	const head = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", "no JoinConfiguration"},
		"other kind":      {"apiVersion: v1\nkind: Secret\n", "no JoinConfiguration"},
		"unknown version": {"apiVersion: kubeadm.k8s.io/v1alpha1\nkind: JoinConfiguration\n" + found, `"kubeadm.k8s.io/v1alpha1"`},
		"no YAML":         {head + "discovery: [" + token + "}", "error unmarshaling"},
		"type":            {head + "discovery: {bootstrapToken: {token: [" + token + "]}}", "error unmarshaling"},
		"no discovery":    {head, "discovery: Invalid value"},
		"two discoveries": {head + strings.TrimRight(found, "\n") + "\n  file: {kubeConfigPath: /x}\n", "cannot both be set"},
		"no endpoint":     {head + "discovery: {bootstrapToken: {token: " + token + ", unsafeSkipCAVerification: true}}", "apiServerEndpoint"},
		"form of the token": {head + "discovery: {bootstrapToken: {token: SECRET.TOKEN, apiServerEndpoint: 'a:1', caCertHashes: [x]}}",
			"bootstrapToken.token"},
		"no pins":            {head + "discovery: {bootstrapToken: {token: " + token + ", apiServerEndpoint: 'a:1'}}", "caCertHashes"},
		"name":               {head + "nodeRegistration: {name: node_1}" + found, `nodeRegistration.name: Invalid value: "node_1"`},
		"argument's name":    {head + "nodeRegistration: {kubeletExtraArgs: [{value: a}]}" + found, "kubeletExtraArgs[0]"},
		"arguments' form":    {head + "nodeRegistration: {kubeletExtraArgs: 5}" + found, "neither a map of strings"},
		"duration":           {head + "timeouts: {discovery: soon}" + found, `timeouts.discovery: Invalid value: "soon"`},
		"bootstrap duration": {head + "timeouts: {tlsBootstrap: soon}" + found, "timeouts.tlsBootstrap"},
		"kubelet's token":    {head + strings.TrimRight(found, "\n") + "\n  tlsBootstrapToken: SECRET\n", "discovery.tlsBootstrapToken"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ParseJoin([]byte(c.text), "n")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("the error quotes the token: %v", err)
			}
		})
	}
}

// TestReadableBy checks the versions of the configuration that kubeadm of a release supports.
func TestReadableBy(t *testing.T) {
	for _, c := range []struct {
		format, release string
		refused         bool
	}{
		{"v1beta3", "v1.30.14", false}, {"v1beta3", "v1.36.3", false}, {"v1beta3", "", false},
		{"v1beta3", "v1.37.2", true}, {"v1beta3", "v1.37.0-rc.1", true}, {"v1beta2", "v1.38.0", true},
		{"v1beta4", "v1.37.2", false},
	} {
		err := JoinConfig{APIVersion: "kubeadm.k8s.io/" + c.format}.readableBy(c.release)
		if (err != nil) != c.refused {
			t.Errorf("%s by kubeadm %s: %v", c.format, c.release, err)
		}
	}
}

// FuzzParseJoin checks that no input panics, and that an accepted configuration names a node and a
// way to discover the cluster.
func FuzzParseJoin(f *testing.F) {
	f.Add("apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration" + found)
	f.Add("---\n---\nkind: JoinConfiguration")
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := ParseJoin([]byte(text), "n")
		if err == nil && (c.NodeName == "" || c.Discovery.File == "" && c.Discovery.Endpoint == "") {
			t.Errorf("accepted %+v", c)
		}
	})
}

func FuzzParseKubeconfig(f *testing.F) {
	k := &kubeconfig{server: "https://10.0.0.4:6443", ca: []byte("ca"), user: kubeconfigUser{Token: token}}
	data, err := k.render("admin")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := parseKubeconfig(data)
		if err != nil {
			return
		}
		rendered, err := k.render("admin")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseKubeconfig(rendered); err != nil || again.server != k.server || again.user.Token != k.user.Token {
			t.Errorf("%+v is read back as %+v, %v", k, again, err)
		}
	})
}
