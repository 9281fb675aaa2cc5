package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		{"plain http", func(o *Options) { o.Azure.ResourceManagerEndpoint = "http://localhost:1" }, []string{"--azure-resource-manager-endpoint"}},
		{"no host", func(o *Options) { o.Azure.AuthorityHost = "https://" }, []string{"--azure-authority-host"}},
		{"no such CA", func(o *Options) { o.Azure.CAFile = "/nowhere/ca.crt" }, []string{"--azure-ca-file"}},
		{"lease too short", func(o *Options) { o.LeaseDuration = o.RenewDeadline }, []string{"--leader-elect-lease-duration"}},
		{"renewal too short", func(o *Options) { o.RenewDeadline = o.RetryPeriod }, []string{"--leader-elect-renew-deadline"}},
		{"secret without namespace", func(o *Options) { o.WebhookSelfSigned = "cert" }, []string{"--webhook-self-signed"}},
		{"several at once", func(o *Options) { o.Resync, o.Concurrency.AzureMachine, o.WebhookPort = 0, 0, -1 }, []string{"--resync", "--azuremachine-concurrency", "--webhook-port"}},
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
	want := identity.Cloud{AuthorityHost: "https://flag/", ResourceManagerEndpoint: "https://arm", CAFile: ca, DisableInstanceDiscovery: true}
	got := o.Azure.clouds()[identity.PublicCloud]
	if got.AuthorityHost != want.AuthorityHost || got.ResourceManagerEndpoint != want.ResourceManagerEndpoint || got.CAFile != want.CAFile || !got.DisableInstanceDiscovery {
		t.Errorf("cloud %+v, want %+v", got, want)
	}
	if (Azure{}).clouds() != nil {
		t.Error("no overrides override something")
	}
}
