package templates

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

var releases = flag.String("releases", "", "directory with a folder of cluster templates for each release of CAPZ, named by its tag")

// firstRelease is the minor version of the first CAPZ release whose templates are checked.
const firstRelease = 10

// kubernetes contains the Kubernetes versions from the time of CAPZ v1.10, v1.11 and so on. Source:
// the table of supported versions in CAPZ's documentation.
var kubernetes = []string{
	"v1.27.16", "v1.28.15", "v1.28.15", "v1.29.15", "v1.29.15", "v1.30.14", "v1.30.14", "v1.30.14", "v1.31.14",
	"v1.31.14", "v1.32.13", "v1.33.9", "v1.33.9", "v1.34.5", "v1.34.5", "v1.35.2", "v1.36.3",
}

// account contains the variables that a running plane would set.
var account = []string{
	"AZURE_SUBSCRIPTION_ID=00000000-0000-0000-0000-0000000000a1", "AZURE_TENANT_ID=00000000-0000-0000-0000-0000000000a0",
	"AZURE_CLIENT_ID=00000000-0000-0000-0000-0000000000a2", "AZURE_LOCATION=westeurope",
}

// offline contains values for variables that only the templates of these releases have.
var offline = []string{
	"CLUSTER_IDENTITY_NAME=identity", "CLUSTER_IDENTITY_NAMESPACE=default", "AZURE_CLUSTER_IDENTITY_SECRET_NAME=secret",
	"AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE=default", "UAMI_CLIENT_ID=00000000-0000-0000-0000-0000000000a2",
	"AZURE_CLIENT_ID_USER_ASSIGNED_IDENTITY=00000000-0000-0000-0000-0000000000a2", "MANAGEMENT_IDENTITY=x",
	"AZURE_CONTROL_PLANE_MACHINE_TYPE=Standard_D2s_v3", "AZURE_NODE_MACHINE_TYPE=Standard_D2s_v3",
	"AZURE_SSH_PUBLIC_KEY=", "AZURE_SSH_PUBLIC_KEY_B64=", "CONTROL_PLANE_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1",
	"AZURE_CUSTOM_VNET_NAME=custom-vnet", "AZURE_CUSTOM_VNET_RESOURCE_GROUP=capz-ci", "AZURE_RESOURCE_GROUP=rg",
	"APISERVER_LB_DNS_SUFFIX=abc", "ASO_CREDENTIAL_SECRET_NAME=aso", "AZUREDISK_CSI_DRIVER_VERSION=v1.29.2", "LOAD_IMAGE=",
}

// TestReleases fills in the templates of CAPZ's releases and runs lint and preflight on them
// without a plane: no finding is an error.
func TestReleases(t *testing.T) {
	if *releases == "" {
		t.Skip("no -releases: make e2e-releases CAPZ=CLONE names templates")
	}
	folders, err := filepath.Glob(filepath.Join(*releases, "v1.*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no releases in %s: %v", *releases, err)
	}
	p := plane.New(t, account...)
	var table []string
	for _, folder := range folders {
		tag := filepath.Base(folder)
		minor, err := strconv.Atoi(strings.Split(tag, ".")[1])
		if err != nil || minor < firstRelease {
			t.Fatalf("%s is not the tag of a release from v1.%d on", tag, firstRelease)
		}
		version := kubernetes[min(minor-firstRelease, len(kubernetes)-1)]
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no templates in %s: %v", folder, err)
		}
		filled, wrong := 0, 0
		t.Run(tag, func(t *testing.T) {
			for _, file := range files {
				t.Run(filepath.Base(file), func(t *testing.T) {
					problems := checked(t, p, file, version)
					filled++
					if len(problems) > 0 {
						wrong++
						t.Error(strings.Join(problems, "\n"))
					}
				})
			}
		})
		table = append(table, fmt.Sprintf("%-10s %-10s %9d %8d", tag, version, filled, wrong))
	}
	t.Logf("\n%-10s %-10s %9s %8s\n%s", "RELEASE", "KUBERNETES", "TEMPLATES", "ALARMS", strings.Join(table, "\n"))
}

// checked fills in a template and returns the errors that lint and preflight find in it.
func checked(t *testing.T, p *plane.Plane, file, version string) (problems []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(text)) == "" {
		t.Skip("the file is empty in the release")
	}
	builds := []string{
		"CI_VERSION=" + version, "KUBE_GIT_VERSION=" + version, "KUBE_IMAGE_TAG=" + version,
		"DALEC_KUBERNETES_VERSION=" + version, "AZL3_VERSION=" + strings.TrimPrefix(version, "v"),
	}
	setVariables(t, file, "00000000-0000-0000-0000-0000000000a1")
	for _, v := range append(builds, offline...) {
		if name, value, _ := strings.Cut(v, "="); strings.Contains(string(text), "${"+name+"}") {
			t.Setenv(name, value)
		}
	}
	manifest := p.Run(nil, "generate", "cluster", "demo", "--from", file, "--kubernetes-version", version)
	for _, args := range [][]string{{"lint", "--fail-on", "error", "-"}, {"preflight", "--offline", "--fail-on", "error", "-"}} {
		if _, err := p.Try([]byte(manifest), args...); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}
