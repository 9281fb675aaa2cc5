package identity

import "testing"

func TestAmbient(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		want Type
	}{
		{"nothing", nil, AzureCLI},
		{"a client alone", map[string]string{"AZURE_CLIENT_ID": "c"}, AzureCLI},
		{"a secret without a client", map[string]string{"AZURE_CLIENT_SECRET": "s"}, AzureCLI},
		{"a secret", map[string]string{"AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}, ServicePrincipal},
		{"a certificate", map[string]string{"AZURE_CLIENT_ID": "c", "AZURE_CLIENT_CERTIFICATE_PATH": "p"}, ServicePrincipalCertificate},
		{"a federated token", map[string]string{"AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "f"}, WorkloadIdentity},
	} {
		t.Run(tc.name, func(t *testing.T) {
			environment, _, s, c := Ambient(func(k string) string { return tc.env[k] })
			if s.Type != tc.want || environment != PublicCloud || c.DisableInstanceDiscovery {
				t.Errorf("%s in %s, %+v", s.Type, environment, c)
			}
			if _, err := New(Config{}).Credential(environment, s); tc.want == AzureCLI && err != nil {
				t.Errorf("no credential: %v", err)
			}
		})
	}
	environment, subscription, _, c := Ambient(func(k string) string {
		return map[string]string{"AZURE_ENVIRONMENT": "AzureChinaCloud", "AZURE_SUBSCRIPTION_ID": "s",
			"AZURE_AUTHORITY_HOST": "https://a", "AZURE_RESOURCE_MANAGER_ENDPOINT": "https://r",
			"AZURE_CA_FILE": "f"}[k]
	})
	if want := (Cloud{AuthorityHost: "https://a", ResourceManagerEndpoint: "https://r", CAFile: "f",
		DisableInstanceDiscovery: true}); environment != "AzureChinaCloud" ||
		subscription != "s" || c.AuthorityHost != want.AuthorityHost ||
		c.ResourceManagerEndpoint != want.ResourceManagerEndpoint || c.CAFile != want.CAFile ||
		!c.DisableInstanceDiscovery {
		t.Errorf("%s, %s, %+v", environment, subscription, c)
	}
}
