package helm

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/kube"

	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/repository"
)

var full = flag.Bool("full", false, "do it, which takes a minute; make e2e-helm does")

// Name and namespace of the chart's installation.
const (
	namespace = "casement-system"
	name      = "casement"
)

// patience limits each wait for Helm.
const patience = 3 * time.Minute

// TestChart installs the chart of one release, upgrades it to the next with other values, and
// removes it.
func TestChart(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	releases := repository.New(t)
	for _, version := range []string{"v0.1.0", "v0.1.1"} {
		releases.Release(t, version)
	}
	p := plane.New(t)
	p.Run(nil, "up", "--bare")
	clusterAPI(t, p, releases)
	helm := new(action.Configuration)
	if err := helm.Init(kube.GetConfig(filepath.Join(p.Home, "kubeconfig"), "", namespace), namespace, "secret", t.Logf); err != nil {
		t.Fatal(err)
	}

	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace, install.Wait, install.Timeout = name, namespace, true, true, patience
	if _, err := install.RunWithContext(t.Context(), load(t, releases, "v0.1.0"), map[string]any{"certManager": true}); err != nil {
		t.Fatalf("install: %v", err)
	}
	runs(t, p, "v0.1.0")
	defaulted(t, p)

	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.Wait, upgrade.Timeout = namespace, true, patience
	if _, err := upgrade.RunWithContext(t.Context(), name, load(t, releases, "v0.1.1"), map[string]any{"certManager": false}); err != nil {
		t.Fatalf("upgrade: %v", err)
	}
	runs(t, p, "v0.1.1")
	defaulted(t, p)

	uninstall := action.NewUninstall(helm)
	uninstall.Wait, uninstall.Timeout = true, patience
	if _, err := uninstall.Run(name); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
	for _, kinds := range []string{"deployments,services,serviceaccounts,roles,rolebindings",
		"clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations"} {
		if left := p.Run(nil, "kubectl", "get", kinds, "-A", "-l", "app.kubernetes.io/managed-by=Helm", "-o", "name"); left != "" {
			t.Errorf("uninstall leaves\n%s", left)
		}
	}
}

// clusterAPI installs Cluster API's core, because the manager reads its kinds.
func clusterAPI(t *testing.T, p *plane.Plane, releases repository.Repository) {
	t.Helper()
	config := releases.Config(t, "v0.1.0", p.Run(nil, "status", "-o", "clusterctl"))
	cmd := exec.CommandContext(t.Context(), plane.Binary(t, "clusterctl"), "--config", config, "init", "--core",
		"cluster-api", "--bootstrap", "-", "--control-plane", "-", "--wait-providers")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.Home, "kubeconfig"),
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+filepath.Dir(config))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("clusterctl init: %v\n%s", err, out)
	}
}

func load(t *testing.T, releases repository.Repository, version string) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join(releases.Azure(version), name))
	if err != nil {
		t.Fatal(err)
	}
	if "v"+c.Metadata.Version != version {
		t.Errorf("the chart of %s has version %s", version, c.Metadata.Version)
	}
	return c
}

// runs checks that the manager of a version is available.
func runs(t *testing.T, p *plane.Plane, version string) {
	t.Helper()
	var list struct {
		Items []struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Image string } }
				}
			}
			Status struct{ AvailableReplicas, UpdatedReplicas int }
		}
	}
	if err := json.Unmarshal([]byte(p.Run(nil, "kubectl", "get", "deployments", "-n", namespace, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Status.AvailableReplicas != 1 ||
		list.Items[0].Status.UpdatedReplicas != 1 ||
		list.Items[0].Spec.Template.Spec.Containers[0].Image != repository.Image+version {
		t.Errorf("the deployments of %s are %+v", version, list.Items)
	}
}

// defaulted checks that the webhooks answer: one of them refuses an invalid machine template.
func defaulted(t *testing.T, p *plane.Plane) {
	t.Helper()
	const wrong = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"AzureMachineTemplate",
"metadata":{"name":"wrong","namespace":"default"},
"spec":{"template":{"spec":{"vmSize":"Standard_D2s_v3","osDisk":{"osType":"Windows","diskSizeGB":128},"sshPublicKey":"not base64!"}}}}`
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := p.Try([]byte(wrong), "kubectl", "create", "--dry-run=server", "-f", "-")
		switch {
		case err != nil && strings.Contains(err.Error(), "must be the base64 of an authorized_keys line"):
			return
		case time.Now().After(deadline):
			t.Fatalf("no webhook refuses the template: %v", err)
		}
		time.Sleep(time.Second) // the API server may not have the certificate yet
	}
}
