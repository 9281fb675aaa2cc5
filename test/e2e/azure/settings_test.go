package main

import (
	"strings"
	"testing"
)

// TestEnvironment checks that a run does not begin without all settings that name an account and a
// budget.
func TestEnvironment(t *testing.T) {
	whole := map[string]string{"AZURE_SUBSCRIPTION_ID": "s", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c",
		"AZURE_CLIENT_SECRET": "secret", "AZURE_LOCATION": "westeurope",
		"CASEMENT_E2E_DOLLARS": "15", "CASEMENT_E2E_HOURS": "3"}
	for _, test := range []struct{ name, change, to, want string }{
		{name: "whole"},
		{"no subscription", "AZURE_SUBSCRIPTION_ID", "", "AZURE_SUBSCRIPTION_ID is not set"},
		{"no secret", "AZURE_CLIENT_SECRET", "", "AZURE_CLIENT_SECRET is not set"},
		{"no cap", "CASEMENT_E2E_DOLLARS", "", "CASEMENT_E2E_DOLLARS is not set"},
		{"a cap of nothing", "CASEMENT_E2E_DOLLARS", "0", "dollars above 0"},
		{"a cap in words", "CASEMENT_E2E_DOLLARS", "ten", "dollars above 0"},
		{"hours in words", "CASEMENT_E2E_HOURS", "three", "number of hours"},
		{"no time", "CASEMENT_E2E_HOURS", "0", "number of hours"},
		{"too long", "CASEMENT_E2E_HOURS", "48", "at most 24"},
		{"too few machines", "CASEMENT_E2E_MACHINES", "3", "at least 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := fromEnvironment(func(name string) string {
				if name == test.change {
					return test.to
				}
				return whole[name]
			}, false)
			switch {
			case test.want == "" && (err != nil || s.endpoint != "https://management.azure.com" || s.audience != s.endpoint):
				t.Errorf("settings %+v, error %v", s, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want %q", err, test.want)
			case err != nil && strings.Contains(err.Error(), whole["AZURE_CLIENT_SECRET"]+" "):
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}
