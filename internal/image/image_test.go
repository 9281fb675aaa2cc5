package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/testing/golden"
)

// rack simulates machines that respond to a script by the function call at its end.
type rack struct {
	mu sync.Mutex
	// answers are exit codes and outputs by a part of the call; each is used once, in order.
	answers map[string][]answer
	// asked counts the runs of scripts, by the call.
	asked map[string]int
	boots []host.VM
	fails map[string]bool
}

type answer struct {
	code int
	out  string
	err  error
}

func (*rack) Stop(string)                          {}
func (*rack) Delete(context.Context, string) error { return nil }
func (*rack) Console(string) []byte                { return nil }
func (*rack) Capture(id string) (string, error)    { return "disk of " + arm.NameOf(id), nil }

func (r *rack) Start(vm host.VM) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.boots = append(r.boots, vm)
}

func (r *rack) View(id string) host.View {
	if r.fails[arm.NameOf(id)] {
		return host.View{Provisioned: host.ProvisioningFailed, Message: "it does not boot"}
	}
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}

func (r *rack) Run(_ context.Context, _, script string) (int, string, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	script = strings.TrimPrefix(strings.TrimPrefix(script, windowsLibrary), linuxLibrary)
	for call, answers := range r.answers {
		if strings.Contains(script, call) && len(answers) > 0 {
			r.asked[call]++
			a := answers[0]
			r.answers[call] = answers[1:]
			return a.code, a.out, "", a.err
		}
	}
	if strings.Contains(script, "Test-Node") {
		return 0, "holds kubelet v1.36.3\nholds kubeadm v1.36.3\nholds kubectl v1.36.3\nholds containerd v2.1.4\n", "", nil
	}
	return 0, "", "", nil
}

// stage is a local Azure with a gallery, and a client of it.
type stage struct {
	*azuresim.Azure
	rack   *rack
	client *arm.Client
	// cut is called before each call; a result that is not nil is returned instead of the call.
	cut func() error
}

func (s *stage) Do(r *http.Request) (*http.Response, error) {
	if s.cut != nil {
		if err := s.cut(); err != nil {
			return nil, err
		}
	}
	return s.Azure.Do(r)
}

const sub = "/subscriptions/" + azuresim.DefaultSubscription

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{rack: &rack{answers: map[string][]answer{}, asked: map[string]int{}, fails: map[string]bool{}}}
	var err error
	if s.Azure, err = azuresim.New(azuresim.Config{Host: s.rack}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	where := cloud.Configuration{ActiveDirectoryAuthorityHost: "https://azure.test/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: "https://azure.test", Audience: "https://azure.test"},
		}}
	credential, err := azidentity.NewClientSecretCredential(azuresim.DefaultTenant, s.Client().ID,
		s.Client().Secret,
		&azidentity.ClientSecretCredentialOptions{
			ClientOptions: azcore.ClientOptions{Cloud: where, Transport: s.Azure}, DisableInstanceDiscovery: true,
		})
	if err != nil {
		t.Fatal(err)
	}
	if s.client, err = arm.New(arm.Config{
		Cloud: where, SubscriptionID: azuresim.DefaultSubscription, Credential: credential, Transport: s,
	}); err != nil {
		t.Fatal(err)
	}
	a := azure{s.client, quick}
	for _, err := range []error{
		a.put(t.Context(), sub+"/resourceGroups/images", groupsVersion, object{"location": "westeurope"}),
		a.put(t.Context(), sub+"/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes", galleryVersion,
			object{"location": "westeurope"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// quick replaces a poll's pause: at the instant pace, operations of the local Azure end almost immediately.
func quick(ctx context.Context, _ time.Duration) error { return sleep(ctx, time.Millisecond) }

func sample(t *testing.T) *ImageBuild {
	t.Helper()
	b, err := Read("testdata/windows-2022.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pins := ""
	for _, url := range b.Downloads() {
		pins += strings.Repeat("ab", 32) + "  " + url + "\n"
	}
	if err := b.Pin(strings.NewReader(pins)); err != nil {
		t.Fatal(err)
	}
	return b
}

// sampleLinux returns a build of Ubuntu with the depot's checksums.
func sampleLinux(t *testing.T) *ImageBuild {
	t.Helper()
	b, err := Read("testdata/ubuntu-24.04.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.CACertificates = []string{"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"}
	pins := ""
	for _, url := range b.Downloads() {
		pins += sumOf(url) + "  " + url + "\n"
	}
	if err := b.Pin(strings.NewReader(pins)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *stage) run(ctx context.Context, t *testing.T, change func(*ImageBuild)) (Result, string, error) {
	b := sample(t)
	if change != nil {
		change(b)
	}
	var out strings.Builder
	r, err := Run(ctx, Config{Client: s.client, Build: b, Out: &out, Sleep: quick,
		Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }})
	return r, out.String(), err
}

// left returns the resources that exist in addition to the gallery's.
func (s *stage) left() []string {
	return slices.DeleteFunc(s.Resources(), func(id string) bool { return strings.Contains(strings.ToLower(id), "resourcegroups/images") })
}

func (s *stage) version(t *testing.T) (v resource, ok bool) {
	t.Helper()
	body, ok := s.Get(sub + "/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes/images/win-2022/versions/1.0.0")
	if ok {
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v, ok
}

func TestBuild(t *testing.T) {
	s := newStage(t)
	result, out, err := s.run(t.Context(), t, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	v, ok := s.version(t)
	if !ok || v.Properties.PublishingProfile.ExcludeFromLatest || v.Tags[tagState] != "verified" ||
		v.Tags[tagHolds+"kubelet"] != "v1.36.3" {
		t.Errorf("the version is %+v", v)
	}
	if result.Holds["containerd"] != "v2.1.4" || !strings.HasSuffix(result.VersionID, "/versions/1.0.0") {
		t.Errorf("the result is %+v", result)
	}
	trial := s.rack.boots[len(s.rack.boots)-1]
	if trial.Name != "trial" || trial.Image.Holds != "disk of builder" {
		t.Errorf("the last machine is %s of an image that holds %q", trial.Name, trial.Image.Holds)
	}
	again, out, err := s.run(t.Context(), t, nil)
	if err != nil || again.Holds["kubelet"] != "v1.36.3" || !strings.Contains(out, "built and published") {
		t.Errorf("a second run: %v %v %s", again, err, out)
	}
	contents, err := Holds(t.Context(), s.client, result.VersionID)
	if err != nil || !maps.Equal(contents, result.Holds) {
		t.Errorf("Holds: %v %v", contents, err)
	}
	if _, _, err := s.run(t.Context(), t, func(b *ImageBuild) { b.Spec.ContainerdVersion = "2.0.0" }); err == nil ||
		!strings.Contains(err.Error(), "spec.target.version") {
		t.Errorf("another file with the same version: %v", err)
	}
}

// TestResume ends the process at random calls; another process resumes the build.
func TestResume(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 6 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			s := newStage(t)
			kills := 0
			for {
				ctx, kill := context.WithCancel(t.Context())
				calls := 1 + random.IntN(60)
				s.cut = func() error {
					if calls--; calls == 0 {
						kill()
						return context.Canceled
					}
					return nil
				}
				_, out, err := s.run(ctx, t, nil)
				killed := ctx.Err() != nil
				kill()
				if err == nil {
					break
				}
				if !killed {
					t.Fatalf("after %d kills: %v\n%s", kills, err, out)
				}
				if kills++; kills > 200 {
					t.Fatal("the build does not come to an end")
				}
			}
			s.cut = nil
			if left := s.left(); len(left) > 0 {
				t.Errorf("left after %d kills: %v", kills, left)
			}
			if v, ok := s.version(t); !ok || v.Tags[tagState] != "verified" {
				t.Errorf("the version after %d kills is %+v", kills, v)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*ImageBuild)
		fail   func(*stage)
		step   string
		want   []string
	}{
		{"a missing gallery", func(b *ImageBuild) { b.Spec.Target.Gallery = "none" }, nil, "resolve",
			[]string{"gallery none in resource group images does not exist", "az sig create"}},
		{"no checksum", func(b *ImageBuild) { b.Spec.Components = nil }, nil, "resolve",
			[]string{"no SHA-256 of containerd", "images pins"}},
		{"no such image", func(b *ImageBuild) { b.Spec.Source.SKU = "none" }, nil, "resolve",
			[]string{"WindowsServer:none:latest is not in westeurope", "images list"}},
		{"quota", func(b *ImageBuild) { b.Spec.Builder.Size = "Standard_E64s_v3" }, func(s *stage) {
			if _, err := s.Faults().Add(fault.Rule{Kind: fault.Quota, Type: "Microsoft.Compute/virtualMachines"}); err != nil {
				panic(err)
			}
		}, "provision", []string{"quota", "spec.builder.size"}},
		{"wrong checksum", nil,
			says("Install-Component -Url 'https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe'", 1,
				"FAILED: the SHA-256 of u is aa, not bb"),
			"customise",
			[]string{"script kubelet", "exit code 1: FAILED: the SHA-256", "spec.components[name=kubelet]"}},
		{"an own script", nil, says("own script", 7, "no licence\n"), "customise",
			[]string{"script own", "exit code 7: no licence", "spec.scripts.after[name=own]"}},
		{"a reboot in the middle", nil, func(s *stage) {
			s.rack.answers["own script"] = []answer{{err: fmt.Errorf("the machine restarted")}}
		}, "customise", []string{"script own", "the machine restarted", "exit code 3010"}},
		{"restarts without end", nil, func(s *stage) {
			s.rack.answers["own script"] = slices.Repeat([]answer{{code: 3010}}, 9)
		}, "customise", []string{"more than 5 times"}},
		{"another version", nil, says("Test-Node", 0, "holds kubelet v1.30.0\n"), "verify",
			[]string{"kubelet is v1.30.0, not v1.36.3", "containerd is missing"}},
		{"sysprep", nil, says("Invoke-Sysprep", 1, "FAILED: sysprep did not succeed"), "generalise",
			[]string{"script sysprep", "setuperr.log"}},
		{"a machine that does not boot", nil, func(s *stage) { s.rack.fails["trial"] = true }, "trial",
			[]string{"script trial", "it does not boot", "--keep"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t)
			if tc.fail != nil {
				tc.fail(s)
			}
			_, out, err := s.run(t.Context(), t, tc.change)
			if err == nil {
				t.Fatalf("no error\n%s", out)
			}
			for _, want := range append(tc.want, "failed at step "+tc.step, "nothing of the build is left") {
				if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
			if left := s.left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if _, ok := s.version(t); ok {
				t.Error("the version is left")
			}
		})
	}
}

// TestBuildLinux: the machine, the definition and the version are for Linux.
func TestBuildLinux(t *testing.T) {
	s := newStage(t)
	s.rack.answers["test_node"] = slices.Repeat([]answer{{out: "holds kubelet v1.36.3\nholds kubeadm v1.36.3\n" +
		"holds kubectl v1.36.3\nholds containerd v2.1.4\nholds ubuntu 24.04\n"}}, 2)
	s.rack.answers["echo 'our machine'"] = []answer{{code: systems[osLinux].restart}, {}}
	var out strings.Builder
	r, err := Run(t.Context(), Config{Client: s.client, Build: sampleLinux(t), Out: &out, Sleep: quick,
		Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if r.Holds["ubuntu"] != "24.04" || !strings.Contains(out.String(), "motd asks for a restart") || len(s.left()) > 0 {
		t.Errorf("%+v, left %v\n%s", r, s.left(), out.String())
	}
	var definition struct {
		Properties struct{ OSType, HyperVGeneration string }
	}
	body, _ := s.Get(sub + "/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes/images/ubuntu-2404")
	if err := json.Unmarshal(body, &definition); err != nil || definition.Properties.OSType != "Linux" ||
		definition.Properties.HyperVGeneration != "V2" {
		t.Errorf("the definition is %s, %v", body, err)
	}
	for _, vm := range s.rack.boots {
		if vm.OS != "Linux" {
			t.Errorf("%s is a machine of %s", vm.Name, vm.OS)
		}
	}
}

// TestSystem: a build file for Ubuntu must not set fields for Windows, and vice versa.
func TestSystem(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"a feature":   {func(s *Spec) { s.Features = []string{"Telnet-Client"} }, "spec.features: ubuntu-24.04 has none"},
		"a port":      {func(s *Spec) { s.Firewall = []FirewallRule{{Name: "x", Port: 1}} }, "spec.firewall: ubuntu-24.04 has none"},
		"a switch":    {func(s *Spec) { s.Hardening = []string{"no-smb1"} }, "spec.hardening: ubuntu-24.04 has none"},
		"nssm":        {func(s *Spec) { s.KubeletService = "nssm" }, "spec.kubeletService: ubuntu-24.04 has none"},
		"a signer":    {func(s *Spec) { s.Components[0].Signer = "CN=x" }, "spec.components[0].signer: signatures by Authenticode"},
		"a start":     {func(s *Spec) { s.Services[0].Start = "Manual" }, "spec.services[0].start: a unit of systemd"},
		"cloudbase":   {func(s *Spec) { s.CloudbaseInitVersion = "1.1.6" }, "spec.cloudbaseInitVersion: ubuntu-24.04 has none"},
		"runc, of it": {func(s *Spec) { s.Source.Release, s.RuncVersion = "2022", "1.3.0" }, "spec.runcVersion: 2022 has none"},
	} {
		t.Run(name, func(t *testing.T) {
			b := sampleLinux(t)
			tc.change(&b.Spec)
			if err := b.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func says(call string, code int, out string) func(*stage) {
	return func(s *stage) { s.rack.answers[call] = []answer{{code: code, out: out}} }
}

func TestRestart(t *testing.T) {
	s := newStage(t)
	s.rack.answers["own script"] = []answer{{code: 3010}, {code: 3010}, {}}
	_, out, err := s.run(t.Context(), t, nil)
	if err != nil || s.rack.asked["own script"] != 3 || strings.Count(out, "asks for a restart") != 2 {
		t.Errorf("%d runs, %v\n%s", s.rack.asked["own script"], err, out)
	}
}

func TestPrune(t *testing.T) {
	s := newStage(t)
	ctx, kill := context.WithCancel(t.Context())
	s.rack.answers["Test-Node"] = []answer{{}}
	s.cut = func() error {
		if _, made := s.version(t); made {
			kill()
		}
		return ctx.Err()
	}
	s.rack.answers = map[string][]answer{}
	if _, _, err := s.run(ctx, t, nil); err == nil {
		t.Fatal("it was not killed")
	}
	s.cut = nil
	list, err := Leftovers(t.Context(), s.client)
	if err != nil || len(list) != 1 || list[0].Name != "windows-2022" {
		t.Fatalf("%+v, %v", list, err)
	}
	var out strings.Builder
	if err := Prune(t.Context(), s.client, nil, &out, "other"); err != nil || len(s.left()) == 0 {
		t.Errorf("prune of another one: %v, left %v", err, s.left())
	}
	if err := Prune(t.Context(), s.client, nil, &out); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.version(t); ok || len(s.left()) > 0 {
		t.Errorf("left: %v, version %v", s.left(), ok)
	}
}

func TestParse(t *testing.T) {
	good, err := os.ReadFile("testdata/windows-2022.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, from, to, want string }{
		{"unknown field", "location:", "place:", `unknown field "place"`},
		{"release", `"2022"`, `"2016"`, `spec.source.release: "2016" is not one of 2019, 2022, 2025, ubuntu-22.04, ubuntu-24.04`},
		{"version", "version: 1.0.0", "version: v1", "spec.target.version"},
		{"name", "name: windows-2022", "name: Windows", "metadata.name"},
		{"kind", "kind: ImageBuild", "kind: Image", "apiVersion, kind"},
		{"service", "updates: none", "kubeletService: systemd", "spec.kubeletService"},
		{"nssm", "updates: none", "kubeletService: nssm", "spec.components: kubeletService nssm"},
		{"csi-proxy", "v1.36.3", "v1.22.1", "drivers need a component csi-proxy"},
		{"csi-proxy without an address", "updates: none", "components: [{name: csi-proxy}]",
			"spec.components[0].url: csi-proxy has no address"},
		{"secret in an address", "updates: none", "mirror: https://u:p@m.example", "spec.mirror: it has credentials"},
		{"certificate", "updates: none", "caCertificates: [x]", "spec.caCertificates[0]"},
		{"component", "updates: none", "components: [{name: x}]", `spec.components[0]: "x" is no component of every image`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(string(good), tc.from) {
				t.Fatalf("the file has no %q", tc.from)
			}
			b, err := Parse([]byte(strings.Replace(string(good), tc.from, tc.to, 1)))
			if err == nil {
				err = b.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	if got := quote("it's \u2019 $x"); got != "'it''s \u2019\u2019 $x'" {
		t.Errorf("got %s", got)
	}
}

func TestMirror(t *testing.T) {
	b := sample(t)
	b.Spec.Mirror = "https://m.example/files/"
	if got := b.Downloads()[0]; got != "https://m.example/files/github.com/containerd/containerd/releases/"+
		"download/v2.1.4/containerd-2.1.4-windows-amd64.tar.gz" {
		t.Errorf("got %s", got)
	}
}

func TestEndOfLife(t *testing.T) {
	for version, want := range map[string]string{
		"v1.34.1": "2026-10-27", "v1.22.1": "2024-10-28", "v1.9.0": "2024-10-28", "v1.99.0": "0001-01-01",
	} {
		if end, _ := kubernetesEnd(version); end.Format(time.DateOnly) != want {
			t.Errorf("%s ends %s, want %s", version, end.Format(time.DateOnly), want)
		}
	}
}

// TestSchema compares the published schema with the types.
func TestSchema(t *testing.T) {
	text, err := json.MarshalIndent(Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../docs/reference/imagebuild.schema.json", append(text, '\n'))
}

// TestCSIProxy: a component csi-proxy becomes a service, and the checks of the image require it.
func TestCSIProxy(t *testing.T) {
	b := sample(t)
	b.Spec.KubernetesVersion = "v1.22.17"
	b.Spec.Components = append(b.Spec.Components, Component{Name: "csi-proxy", URL: "https://m.example/csi-proxy.exe",
		SHA256: strings.Repeat("ab", 32)})
	scripts, err := b.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, s := range scripts {
		all += s.Script
	}
	for _, want := range []string{`-Path 'C:\k\csi-proxy.exe' -As 'file'`, "Register-CsiProxy\n",
		"Test-Node -Mode 'sc' -LogFlags '' -Also 'csi-proxy'"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the scripts", want)
		}
	}
}

// TestPrinted: the scripts that --print shows are the ones that run, and a value cannot break out of its literal.
func TestPrinted(t *testing.T) {
	b := sample(t)
	b.Spec.Images = []string{"r.example/x:1'; Remove-Item C:\\ #"}
	scripts, err := b.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, s := range scripts {
		all += s.Script
	}
	for _, want := range []string{"Get-ContainerImage -Reference 'r.example/x:1''; Remove-Item C:\\ #'\n",
		"# own script", "Register-Kubelet -Mode 'sc'", "Invoke-Sysprep", "Test-Node"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in what is printed", want)
		}
	}
}

// TestJudge: a build warns about the regressions of the Windows build that it starts from, and if nothing is known
// about the build.
func TestJudge(t *testing.T) {
	for version, want := range map[string]string{
		"20348.2700.240905": "KB5040437", "20348.99999.280905": "not known", "20348.4294.251014": "", "1.36.3": "",
	} {
		b := &builder{Config: Config{Out: io.Discard}}
		b.judge(version)
		if got := strings.Join(b.warnings, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestOlder compares versions of the marketplace by their numbers.
func TestOlder(t *testing.T) {
	if !older("20348.887.220806", "20348.2700.240905") || older("20348.2700.240905", "20348.887.220806") || older("1.2.3", "1.2.3") {
		t.Error("versions are compared as texts")
	}
}
