package images

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	kills   = flag.Int("kills", 20, "how many times to kill a build")
	seed    = flag.Uint64("seed", 20348, "of the moments")
	latency = flag.String("latency", "0.01", "pace of the local Azure, a factor of what Azure takes")
	full    = flag.Bool("full", false, "do all of it, which takes a quarter of an hour; make e2e-images does")
)

// kubernetes is the Kubernetes version of images and clusters.
var kubernetes = plane.Kubernetes()

// older is a containerd version other than the default, by which nodes show their image version.
const older = "2.0.5"

// API versions of the resources that the test itself creates.
const (
	groupsVersion  = "2021-04-01"
	galleryVersion = "2023-07-03"
	computeVersion = "2024-11-01"
	networkVersion = "2024-05-01"
)

// build describes the file of an image build.
type build struct {
	release, version, containerd, gallery string
	// more contains further lines of the spec.
	more string
	// after is a script of the user that the build runs after its own steps.
	after string
	// join is the time limit for a machine to join.
	join string
}

// windowsOnly contains the parts that only builds of Windows have.
const windowsOnly = `  features: [Telnet-Client]
  services:
  - {name: sshd, start: Automatic}
  firewall:
  - {name: exporter, port: 9182}
  hardening: [no-smb1, no-old-tls, no-llmnr, strong-crypto]
`

// signed requires the signer of cloudbase-init's simulated installer.
const signed = windowsOnly + "  components:\n  - {name: cloudbase-init, signer: CN=Cloudbase Solutions (simulated by casement)}\n"

// name returns the name of a build and its image definition; the name of its trial cluster is img-
// followed by this name.
func (b build) name() string {
	if version, ok := strings.CutPrefix(b.release, "ubuntu-"); ok {
		return "ubuntu-" + strings.ReplaceAll(version, ".", "")
	}
	return "win-" + b.release
}

func (b build) file() string {
	gallery, containerd, scripts := b.gallery, b.containerd, ""
	if gallery == "" {
		gallery = "nodes"
	}
	if containerd == "" {
		containerd = "2.1.4"
	}
	if b.after != "" {
		scripts = "  scripts:\n    after:\n    - name: own\n      script: |\n        " +
			strings.ReplaceAll(b.after, "\n", "\n        ") + "\n"
	}
	return fmt.Sprintf(`apiVersion: image.casement.dev/v1alpha1
kind: ImageBuild
metadata:
  name: %[9]s
spec:
  location: westeurope
  source:
    release: "%[1]s"
  target:
    resourceGroup: images
    gallery: %[2]s
    definition: %[9]s
    version: %[3]s
  kubernetesVersion: %[4]s
  containerdVersion: %[5]s
  images:
  - mcr.microsoft.com/oss/kubernetes/pause:3.10
  timeouts: {join: %[7]s}
%[6]s%[8]s`, b.release, gallery, b.version, kubernetes, containerd, scripts, cmp.Or(b.join, "5m"), cmp.Or(b.more, windowsOnly), b.name())
}

// bench is a plane with an image gallery.
type bench struct {
	*plane.Plane
	t   *testing.T
	dir string
}

func newBench(t *testing.T) *bench {
	b := &bench{Plane: plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=2"), t: t, dir: t.TempDir()}
	b.Run(nil, "up", "--latency", *latency)
	b.Put("/resourceGroups/images", groupsVersion, map[string]any{"location": "westeurope"})
	b.make("/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes", galleryVersion, map[string]any{"location": "westeurope"})
	return b
}

// make creates a resource and waits until it exists.
func (b *bench) make(path, version string, body any) {
	b.t.Helper()
	b.Put(path, version, body)
	b.until(path, func() bool {
		var r struct {
			Properties struct{ ProvisioningState string }
		}
		b.ARM(path, version, &r)
		if r.Properties.ProvisioningState == "Failed" {
			b.t.Fatalf("%s failed", path)
		}
		return r.Properties.ProvisioningState == "Succeeded"
	})
}

// until polls until is returns true.
func (b *bench) until(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waiting for %s takes more than 5 minutes", what)
		}
	}
}

// write writes the file of a build and the file of its checksums, and returns their paths.
func (b *bench) write(image build) (file, pins string) {
	b.t.Helper()
	file, pins = filepath.Join(b.dir, "build.yaml"), filepath.Join(b.dir, "pins")
	if err := os.WriteFile(file, []byte(image.file()), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(pins, []byte(b.Run(nil, "images", "pins", file, "--azure", "local")), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file, pins
}

// build builds an image and returns the output of the command.
func (b *bench) build(image build) string {
	b.t.Helper()
	file, pins := b.write(image)
	began := time.Now()
	out := b.Run(nil, "images", "build", file, "--pins", pins, "--azure", "local")
	b.t.Logf("%s, version %s: built in %.1f s", image.release, image.version, time.Since(began).Seconds())
	b.nothingLeft()
	return out
}

// left returns the remaining resources and groups of builds.
func (b *bench) left() (out []string) {
	var groups struct{ Value []struct{ Name string } }
	b.ARM("/resourcegroups", groupsVersion, &groups)
	for _, g := range groups.Value {
		if strings.HasPrefix(g.Name, "casement-image-") {
			out = append(out, g.Name)
		}
	}
	var all struct{ Value []struct{ ID string } }
	b.ARM("/resources", groupsVersion, &all)
	for _, r := range all.Value {
		if strings.Contains(r.ID, "casement-image-") {
			out = append(out, r.ID)
		}
	}
	return out
}

func (b *bench) nothingLeft() {
	b.t.Helper()
	if left := b.left(); len(left) > 0 {
		b.t.Errorf("left: %v", left)
	}
}

// versions returns the image versions of a Windows release.
func (b *bench) versions(release string) (out []string) {
	var all struct{ Value []struct{ ID string } }
	b.ARM("/resources", groupsVersion, &all)
	for _, r := range all.Value {
		if _, version, ok := strings.Cut(r.ID, "/images/win-"+release+"/versions/"); ok {
			out = append(out, version)
		}
	}
	slices.Sort(out)
	return out
}

// TestImages is a single test, because later parts use the versions of earlier ones.
func TestImages(t *testing.T) {
	b := newBench(t)
	releases := []string{"2022"}
	if *full {
		releases = []string{"2019", "2022", "2025"}
	}
	for _, release := range releases {
		out := b.build(build{release: release, version: "1.0.0", more: signed})
		for _, want := range []string{"kubelet " + kubernetes, "kubeadm " + kubernetes, "kubectl " + kubernetes,
			"containerd v2.1.4", "windows 10.0.", "/versions/1.0.0"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in:\n%s", release, want, out)
			}
		}
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{{"ubuntu", b.ubuntu}, {"join", b.joins}, {"failures", b.failures}, {"kills", b.kills}, {"cluster", b.cluster}} {
		t.Run(part.name, func(t *testing.T) {
			if !*full {
				t.Skip("only with -full: all parts take a quarter of an hour; make e2e-images has them")
			}
			part.run(t)
		})
	}
}

// kills ends builds at random moments and runs them again until each has succeeded.
func (b *bench) kills(t *testing.T) {
	b.t = t
	random := rand.New(rand.NewPCG(*seed, 0))
	began := time.Now()
	b.build(build{release: "2022", version: "1.1.0", containerd: older})
	whole := time.Since(began)
	for n, patch := 0, 1; n < *kills; patch++ {
		file, pins := b.write(build{release: "2022", version: fmt.Sprintf("1.1.%d", patch), containerd: older})
		for b.killed(file, pins, time.Duration(random.Int64N(int64(whole)/2))) {
			if n++; n == *kills {
				b.Run(nil, "images", "build", file, "--pins", pins, "--azure", "local")
				break
			}
		}
		b.nothingLeft()
	}
	t.Logf("%d kills; versions: %s", *kills, strings.Join(b.versions("2022"), ", "))
}

// killed runs a build and kills it after a time. It returns false if the build succeeded before.
func (b *bench) killed(file, pins string, after time.Duration) bool {
	b.t.Helper()
	cmd := exec.Command(plane.Binary(b.t, "casement"), "images", "build", file, "--pins", pins, "--azure", "local")
	cmd.Env = append(os.Environ(), "CASEMENT_HOME="+b.Home, "KUBECONFIG=")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	// The process may have ended before, which is not an error.
	moment := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer moment.Stop()
	err := cmd.Wait()
	switch {
	case err == nil:
		return false
	case cmd.ProcessState.ExitCode() != -1:
		b.t.Fatalf("the build failed: %v\n%s", err, out.String())
	}
	b.t.Logf("killed after %s: %s", after.Round(time.Millisecond), lastLine(out.String()))
	return true
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// failures runs builds that fail: each names its step and a remedy, and leaves nothing behind.
func (b *bench) failures(t *testing.T) {
	for _, tc := range []struct {
		name  string
		image build
		// sum replaces all checksums; fault is a fault rule of the local Azure.
		sum   string
		fault []string
		want  []string
	}{
		{name: "wrong SHA-256", sum: strings.Repeat("ab", 32), want: []string{
			"step customise, script containerd", "FAILED: the SHA-256 of https://github.com/containerd", "not abab",
			"spec.components[name=containerd]",
		}},
		{name: "an own script", image: build{after: "Write-Output 'no licence'\nexit 7"},
			want: []string{"step customise, script own", "exit code 7: no licence", "spec.scripts.after[name=own]"}},
		{name: "a reboot in the middle", image: build{after: "Restart-Computer -Force"}, want: []string{
			"step customise, script own", "the machine restarted while the script ran", "exit code 3010",
		}},
		{name: "kubelet is removed", image: build{after: `Remove-Item -Force C:\k\kubelet.exe`},
			want: []string{"step verify, script verify", `FAILED: C:\k\kubelet.exe is missing`, "--print"}},
		{name: "another signer", image: build{more: windowsOnly + "  components:\n  - {name: cloudbase-init, signer: CN=Contoso}\n"},
			want: []string{"step customise, script cloudbase-init", "not CN=Contoso", "is signed by CN=Cloudbase Solutions (simulated",
				"spec.components[name=cloudbase-init]"}},
		{name: "a program without a signature", image: build{
			more: windowsOnly + "  components:\n  - {name: kubelet, signer: CN=Contoso}\n",
		},
			want: []string{"step customise, script kubelet", "has no valid signature: NotSigned", "spec.components[name=kubelet]"}},
		{name: "kubelet's log does not rotate", image: build{after: `sc.exe config kubelet binPath= 'C:\k\kubelet.exe --windows-service'`},
			want: []string{"step verify, script verify", "FAILED: the service kubelet does not rotate its log"}},
		{name: "sysprep", image: build{after: `Add-AppxPackage -Path C:\tools\Contoso.Agent_1.0.0.0_x64.appx`}, want: []string{
			"step generalise, script sysprep", "Contoso.Agent_1.0.0.0_x64.appx was installed for a user",
			"setuperr.log",
		}},
		{name: "quota", fault: []string{"quota", "--type", "Microsoft.Compute/virtualMachines"},
			want: []string{"step provision", "quota", "spec.builder.size"}},
		{name: "a missing gallery", image: build{gallery: "none"}, want: []string{
			"step resolve", "the gallery none in resource group images does not exist", "az sig create",
		}},
		{name: "a trial that does not boot", fault: []string{"boot-failure", "--name", "trial"},
			want: []string{"step trial, script trial", "--keep"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b.t = t
			tc.image.release, tc.image.version = "2022", "9.0.0"
			file, pins := b.write(tc.image)
			if tc.sum != "" {
				b.repin(pins, tc.sum)
			}
			if tc.fault != nil {
				b.Run(nil, append([]string{"azure", "faults", "add"}, tc.fault...)...)
				defer b.Run(nil, "azure", "faults", "clear")
			}
			out, err := b.Try(nil, "images", "build", file, "--pins", pins, "--azure", "local")
			if err == nil {
				t.Fatalf("no error\n%s", out)
			}
			t.Log(lastLine(err.Error()))
			for _, want := range append(tc.want, "nothing of the build is left in Azure") {
				if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
			b.nothingLeft()
			if slices.Contains(b.versions("2022"), "9.0.0") {
				t.Error("the version is left")
			}
		})
	}
}

// repin writes the same checksum for all downloads.
func (b *bench) repin(pins, sum string) {
	b.t.Helper()
	text, err := os.ReadFile(pins)
	if err != nil {
		b.t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		_, url, _ := strings.Cut(line, "  ")
		out.WriteString(sum + "  " + url)
	}
	if err := os.WriteFile(pins, []byte(out.String()), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// post calls an action of a resource.
func (b *bench) post(path, action string) {
	b.t.Helper()
	b.Azure(http.MethodPost, path+"/"+action, computeVersion, nil)
}
