package manager

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/pflag"

	"casement.dev/casement/internal/azure/identity"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"defaults", func(*Options) {}, nil},
		{"plain http", func(o *Options) { o.Azure.ResourceManagerEndpoint = "http://localhost:1" },
			[]string{"--azure-resource-manager-endpoint"}},
		{"no host", func(o *Options) { o.Azure.AuthorityHost = "https://" }, []string{"--azure-authority-host"}},
		{"no such CA", func(o *Options) { o.Azure.CAFile = "/nowhere/ca.crt" }, []string{"--azure-ca-file"}},
		{"cloud over plain http", func(o *Options) {
			o.Azure.Clouds = map[string]Endpoints{"Stack": {ResourceManagerEndpoint: "http://arm", AuthorityHost: "https://login"}}
		}, []string{"--azure-cloud: Stack"}},
		{"gates of CAPZ", func(o *Options) {
			o.FeatureGates = map[string]bool{"MachinePool": false, "AKS": true, "ASOAPI": true, "EdgeZone": false}
		}, nil},
		{"unknown gate", func(o *Options) { o.FeatureGates = map[string]bool{"MachinePools": true} },
			[]string{"--feature-gates", "MachinePools", "MachinePool=true|false"}},
		{"lease too short", func(o *Options) { o.LeaseDuration = o.RenewDeadline }, []string{"--leader-elect-lease-duration"}},
		{"renewal too short", func(o *Options) { o.RenewDeadline = o.RetryPeriod }, []string{"--leader-elect-renew-deadline"}},
		{"secret without namespace", func(o *Options) { o.WebhookSelfSigned = "cert" }, []string{"--webhook-self-signed"}},
		{"several at once", func(o *Options) { o.Resync, o.Concurrency.AzureMachine, o.WebhookPort = 0, 0, -1 },
			[]string{"--resync", "--azuremachine-concurrency", "--webhook-port"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := Defaults()
			test.change(&o)
			err := o.Validate()
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, flag := range test.want {
				if !strings.Contains(err.Error(), flag) {
					t.Errorf("error %q does not name %s", err, flag)
				}
			}
		})
	}
}

func TestFlagsWinOverEnvironment(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{envAuthorityHost: "https://env/", envCAFile: ca}
	o := Defaults()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags, func(name string) string { return environment[name] })
	if err := flags.Parse([]string{"--azure-authority-host=https://flag/", "--azure-resource-manager-endpoint=https://arm"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	want := identity.Cloud{AuthorityHost: "https://flag/", ResourceManagerEndpoint: "https://arm", CAFile: ca,
		DisableInstanceDiscovery: true}
	got := o.Azure.clouds()[identity.PublicCloud]
	if got.AuthorityHost != want.AuthorityHost || got.ResourceManagerEndpoint != want.ResourceManagerEndpoint ||
		got.CAFile != want.CAFile || !got.DisableInstanceDiscovery {
		t.Errorf("cloud %+v, want %+v", got, want)
	}
	for name, c := range (&Azure{}).clouds() {
		if c.AuthorityHost != "" || c.ResourceManagerEndpoint != "" || c.DisableInstanceDiscovery {
			t.Errorf("no overrides override something of %s: %+v", name, c)
		}
	}
}

// TestRunRefuses: an unusable value is reported immediately, without a management cluster.
func TestRunRefuses(t *testing.T) {
	for flag, value := range map[string]string{
		"--feature-gates": "Unknown=true", "--azure-cloud": "Stack=http://arm,https://login", "--resync": "0s",
	} {
		var printed strings.Builder
		err := Run(t.Context(), []string{flag + "=" + value}, func(string) string { return "" }, &printed)
		if err == nil || !strings.Contains(printed.String(), flag) {
			t.Errorf("%s=%s: %v, printed %q", flag, value, err, printed.String())
		}
	}
}

// TestClouds: a cloud with its own endpoints uses those, and any other cloud the common
// ones.
func TestClouds(t *testing.T) {
	o, err := parse("--azure-cloud=AzureChinaCloud=https://arm.cn,https://login.cn",
		"--azure-cloud=Stack=https://arm.stack,https://login.stack,https://audience.stack",
		"--azure-resource-manager-endpoint=https://arm")
	if err != nil {
		t.Fatal(err)
	}
	clouds := o.Azure.clouds()
	for name, want := range map[string]identity.Cloud{
		identity.PublicCloud: {ResourceManagerEndpoint: "https://arm"},
		"AzureChinaCloud": {ResourceManagerEndpoint: "https://arm.cn", AuthorityHost: "https://login.cn",
			DisableInstanceDiscovery: true},
		"Stack": {ResourceManagerEndpoint: "https://arm.stack", AuthorityHost: "https://login.stack",
			ResourceManagerAudience: "https://audience.stack", DisableInstanceDiscovery: true},
	} {
		if got := clouds[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, bad := range []string{"Stack", "Stack=https://arm", "=https://arm,https://login", "Stack=a,b,c,d"} {
		if _, err := parse("--azure-cloud=" + bad); err == nil {
			t.Errorf("--azure-cloud=%s is accepted", bad)
		}
	}
	if _, err := parse("--azure-cloud=A=https://a,https://a", "--azure-cloud=A=https://a,https://a"); err == nil {
		t.Error("a cloud may be given twice")
	}
}

// TestFeatureGates: the gates that CAPZ's manifests set are accepted, with a notice that they have no
// effect.
func TestFeatureGates(t *testing.T) {
	o, err := parse("--feature-gates=MachinePool=false,AKSResourceHealth=false,EdgeZone=false,ASOAPI=true,APIServerILB=false")
	if err != nil {
		t.Fatal(err)
	}
	gates, err := o.gates()
	if err != nil {
		t.Fatal(err)
	}
	if gates.Enabled(MachinePool) {
		t.Error("MachinePool is on")
	}
	var said []string
	tellIdleGates(gates, funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}))
	if len(said) != 4 || !strings.Contains(said[0], "AKSResourceHealth") {
		t.Errorf("said %q", said)
	}
	if o, err = parse(); err != nil {
		t.Fatal(err)
	}
	if gates, err = o.gates(); err != nil || !gates.Enabled(MachinePool) {
		t.Errorf("MachinePool is off without flags: %v", err)
	}
}

// parse returns the options after parsing a command line.
func parse(args ...string) (Options, error) {
	o := Defaults()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags, func(string) string { return "" })
	return o, flags.Parse(args)
}
