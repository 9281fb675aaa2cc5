package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

const (
	canary = "c4n4ryc4n4ryc4n4"
	token  = "abcdef." + canary
)

// planted returns a cluster with a canary value in every field that may contain a secret.
func planted() *facts.Snapshot {
	kc := &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{Name: "kc"}}
	kc.Spec.Files = []bootstrapv1.File{{Path: "/etc/kubernetes/azure.json", Content: "aadClientSecret " + canary}}
	kc.Spec.Users = []bootstrapv1.User{{Name: "capi", Passwd: canary}}
	kc.Spec.JoinConfiguration.Discovery.BootstrapToken.Token = token
	am := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{
		Name: "am", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": canary},
	}}
	am.SetConditions([]metav1.Condition{{Type: "VMRunning", Status: metav1.ConditionFalse,
		Reason: "BootstrapFailed", Message: "kubeadm join --token " + token + " failed"}})
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.Spec.Bootstrap.DataSecretName, m.Spec.InfrastructureRef.Name, m.Spec.Bootstrap.ConfigRef.Name = new("data"), "am", "kc"
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Args: []string{"--password=" + canary},
		Env: []corev1.EnvVar{{Name: "AZURE_CLIENT_SECRET", Value: canary}}}}
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
	d.Spec.Template.Spec = p.Spec
	return &facts.Snapshot{Workloads: facts.Workloads{Deployments: []appsv1.Deployment{d}},
		Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, Machines: []clusterv1.Machine{m},
		Pods:          []corev1.Pod{p},
		AzureMachines: map[string]*infrav1.AzureMachine{"am": am}, Configs: map[string]*bootstrapv1.KubeadmConfig{"kc": kc},
		Warnings:    []corev1.Event{{Message: "Authorization: Bearer " + canary}},
		Unreachable: "GET https://x/?sig=" + canary,
		Console: func(*clusterv1.Machine) string {
			return "token " + token + "\n-----BEGIN PRIVATE KEY-----\n" + canary +
				"\n-----END PRIVATE KEY-----\nclient-key-data: " + canary + "\nkept\n"
		}}
}

func TestArchiveHoldsNoCanary(t *testing.T) {
	var b bytes.Buffer
	a := New(&b, "c", time.Unix(0, 0))
	if err := a.Cluster(planted(), []corev1.Event{{Message: "adminPassword: " + canary + "\u009b\x1b\x7f"}}); err != nil {
		t.Fatal(err)
	}
	sum, err := a.Close()
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Files) != 27 || sum.Redacted < 10 {
		t.Errorf("got %d files, %d values redacted: %v", len(sum.Files), sum.Redacted, sum.Files)
	}
	gz, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds a secret:\n%s", h.Name, data)
		}
		all += string(data)
	}
	for _, kept := range []string{"kept", "/etc/kubernetes/azure.json", "AZURE_CLIENT_SECRET", "D16"} {
		if !strings.Contains(all, kept) {
			t.Errorf("%s is lost", kept)
		}
	}
}

// TestLongListsAreJSON: a list larger than longYAML is written as JSON with the same items, encoded on all cores,
// without its secrets.
func TestLongListsAreJSON(t *testing.T) {
	var pods []corev1.Pod
	for i := range 3000 {
		p := planted().Pods[0]
		p.Name, p.Spec.ActiveDeadlineSeconds = fmt.Sprintf("p%04d-%s", i, strings.Repeat("x", 200)), new(int64(1)<<60+int64(i))
		pods = append(pods, p)
	}
	data, err := encode(pods)
	if err != nil {
		t.Fatal(err)
	}
	var got []corev1.Pod
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(canary)) {
		t.Error("a secret is left")
	}
	for i := range pods {
		if got[i].Name != pods[i].Name || *got[i].Spec.ActiveDeadlineSeconds != *pods[i].Spec.ActiveDeadlineSeconds {
			t.Fatalf("item %d is %s %d", i, got[i].Name, *got[i].Spec.ActiveDeadlineSeconds)
		}
	}
}
