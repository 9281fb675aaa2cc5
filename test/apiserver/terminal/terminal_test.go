package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
	"casement.dev/casement/test/apiserver/kinds"
)

// hostile sets the title of a window, clears the screen in three ways, and reorders text.
const hostile = "owned \x1b]0;owned\a\x1b[2J\u009b2J\r\u202e"

var server *rest.Config

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		server = plane.Config()
		return kinds.Install(server)
	}))
}

// kubeconfig returns the path of a kubeconfig for the server.
func kubeconfig(t *testing.T) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: server.CertData, ClientKeyData: server.KeyData, Token: server.BearerToken,
	}
	k.Contexts["x"], k.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// store creates an object and then writes its status.
func store(t *testing.T, c client.Client, o client.Object, status func()) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("create %T: %v", o, err)
	}
	status()
	if err := c.Status().Update(t.Context(), o); err != nil {
		t.Fatalf("update the status of %T: %v", o, err)
	}
}

// newClient returns a client of the server for all kinds that casement uses.
func newClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(server, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func failed(kind string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: metav1.ConditionFalse, Reason: "Hostile", Message: hostile,
		LastTransitionTime: metav1.Now()}}
}

func TestHostileObjectsReachNoTerminal(t *testing.T) {
	c := newClient(t)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AzureCluster", Name: "demo",
	}
	store(t, c, cluster, func() { cluster.Status.Conditions = failed(clusterv1.ClusterAvailableCondition) })
	labels := map[string]string{clusterv1.ClusterNameLabel: "demo"}
	azure := &infrav1.AzureCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", Labels: labels}}
	store(t, c, azure, func() { azure.SetConditions(failed("NetworkInfrastructureReady")) })
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "md-0", Labels: labels}}
	machine.Spec.ClusterName, machine.Spec.Bootstrap.DataSecretName = "demo", new("x")
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AzureMachine", Name: "md-0",
	}
	store(t, c, machine, func() { machine.Status.Conditions = failed(clusterv1.MachineReadyCondition) })
	if err := c.Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"},
		Type:           corev1.EventTypeWarning,
		InvolvedObject: corev1.ObjectReference{Kind: "Cluster", Namespace: "default", Name: "demo"}, Message: hostile}); err != nil {
		t.Fatal(err)
	}
	config, archive := kubeconfig(t), filepath.Join(t.TempDir(), "demo.tar.gz")
	t.Setenv("CASEMENT_HOME", t.TempDir())
	for name, test := range map[string]struct {
		args []string
		// shows is set if the output must contain the objects' texts.
		shows bool
	}{
		"tree":           {[]string{"tree", "demo"}, true},
		"tree, wide":     {[]string{"tree", "demo", "-o", "wide"}, true},
		"why":            {[]string{"why", "demo"}, true},
		"why a machine":  {[]string{"why", "md-0"}, true},
		"doctor":         {[]string{"doctor", "demo", "-o", "wide"}, false},
		"get":            {[]string{"get", "clusters"}, false},
		"timeline":       {[]string{"timeline", "md-0"}, false},
		"wait":           {[]string{"wait", "demo", "--timeout", "8s"}, true},
		"logs":           {[]string{"logs", "md-0"}, false},
		"support":        {[]string{"support", "demo", "--file", archive}, false},
		"get kubeconfig": {[]string{"get", "kubeconfig", "demo"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			cli.Main(append(append([]string{"casement"}, test.args...), "--kubeconfig", config),
				app.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			shown := out.String() + errs.String()
			if strings.ContainsAny(shown, "\x1b\a\r\u009b\u202e") {
				t.Errorf("a control function is left: %q", shown)
			}
			if shown == "" || test.shows && !strings.Contains(shown, "owned") {
				t.Errorf("the message is not shown: %q", shown)
			}
		})
	}
}
