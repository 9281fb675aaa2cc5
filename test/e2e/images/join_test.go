package images

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// trialCluster is the name of the trial cluster of builds of Windows Server 2022.
const trialCluster = "img-win-2022"

// joins builds versions whose machines join a trial cluster before the version is published. One
// build is killed during that and resumed, and the machines of another build cannot join.
func (b *bench) joins(t *testing.T) {
	t.Run("killed and resumed", func(t *testing.T) {
		b.t = t
		file, pins := b.write(build{release: "2022", version: "3.0.0"})
		cmd := exec.Command(plane.Binary(t, "casement"), "images", "build", file, "--pins", pins, "--azure", "local", "--join")
		cmd.Env = append(os.Environ(), "CASEMENT_HOME="+b.Home, "KUBECONFIG=")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b.until("the throw-away cluster", func() bool {
			out, err := b.Try(nil, "kubectl", "get", "machines", "-n", trialCluster, "-o", "name")
			return err == nil && strings.Contains(out, "machine")
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the build was not killed")
		}
		began := time.Now()
		out := b.Run(nil, "images", "build", file, "--pins", pins, "--azure", "local", "--join")
		t.Logf("resumed and ended in %.1f s:\n%s", time.Since(began).Seconds(), out)
		for _, want := range []string{
			"trial: done before", "2 machines are Ready nodes", "deleting the throw-away cluster", "/versions/3.0.0",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in the output", want)
			}
		}
		b.noTrial(trialCluster)
	})
	t.Run("cloudbase-init is disabled", func(t *testing.T) {
		b.t = t
		file, pins := b.write(build{release: "2022", version: "9.0.0", join: "90s",
			after: "Set-Service -Name cloudbase-init -StartupType Disabled"})
		_, err := b.Try(nil, "images", "build", file, "--pins", pins, "--azure", "local", "--join")
		if err == nil {
			t.Fatal("the version was published")
		}
		t.Log(lastLine(err.Error()))
		for _, want := range []string{"step join", "no machine of the version is a Ready node after 1m30s", "NotANodeImage",
			"nothing of the build is left in Azure"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in:\n%v", want, err)
			}
		}
		b.noTrial(trialCluster)
	})
}

// noTrial checks that nothing of a build and of its trial cluster remains.
func (b *bench) noTrial(trialCluster string) {
	b.t.Helper()
	b.nothingLeft()
	if out, err := b.Try(nil, "kubectl", "get", "namespace", trialCluster); err == nil {
		b.t.Errorf("the namespace is left: %s", out)
	}
	var groups struct{ Value []struct{ Name string } }
	b.ARM("/resourcegroups", groupsVersion, &groups)
	for _, g := range groups.Value {
		if g.Name == trialCluster {
			b.t.Error("the resource group of the throw-away cluster is left")
		}
	}
}
