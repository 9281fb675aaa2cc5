package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// azScript replaces az: it records how it is called and answers as az does.
const azScript = `#!/bin/sh
echo "$*" >> "$AZ_SAID"
case "$*" in
"account show"*) [ -z "$AZ_LOGGED_OUT" ] || { echo "Please run 'az login' to setup account." >&2; exit 1; }
  echo '{"id": "sub", "tenantId": "tenant"}' ;;
"ad sp create-for-rbac"*) [ -z "$AZ_REFUSES" ] || { echo "Insufficient privileges" >&2; exit 1; }
  echo '{"appId": "app", "displayName": "n", "password": "c4n4ry-secret", "tenant": "tenant"}' ;;
"ad app list"*) echo '[{"appId": "app"}]' ;;
"ad app delete"*) ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
`

func withAz(t *testing.T) (said func() string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "az"), []byte(azScript), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("AZ_SAID", filepath.Join(dir, "said"))
	return func() string {
		data, _ := os.ReadFile(filepath.Join(dir, "said")) // the file is missing if az was not called
		return string(data)
	}
}

// TestAccount checks that a service principal in the environment is used, that without one the
// account of az is used, and that the error for a user who is not logged in contains the login
// command.
func TestAccount(t *testing.T) {
	said := withAz(t)
	of := func(env map[string]string) func(string) string { return func(name string) string { return env[name] } }
	getenv, own, err := account(t.Context(), of(map[string]string{"AZURE_CLIENT_ID": "mine", "AZURE_SUBSCRIPTION_ID": "s"}))
	if err != nil || own || getenv("AZURE_SUBSCRIPTION_ID") != "s" || said() != "" {
		t.Errorf("with a service principal: own %t, %v, az was called: %q", own, err, said())
	}
	getenv, own, err = account(t.Context(), of(map[string]string{"AZURE_LOCATION": "westeurope", "AZURE_SUBSCRIPTION_ID": "s"}))
	if err != nil || !own || getenv("AZURE_SUBSCRIPTION_ID") != "sub" || getenv("AZURE_TENANT_ID") != "tenant" ||
		getenv("AZURE_LOCATION") != "westeurope" || !strings.Contains(said(), "account show --subscription s") {
		t.Errorf("with az: own %t, %v, az was called: %q", own, err, said())
	}
	t.Setenv("AZ_LOGGED_OUT", "1")
	if _, _, err = account(t.Context(), of(nil)); err == nil || !strings.Contains(err.Error(), "run az login") {
		t.Errorf("without a login: %v", err)
	}
}

// TestLogin checks that the run's service principal has the run's name, that the guard finds it by
// a file that only its owner can read and deletes it, and that its password is in no error and no
// command line.
func TestLogin(t *testing.T) {
	said := withAz(t)
	home := t.TempDir()
	s := settings{name: "casement-e2e-0000cafe", subscription: "sub", tenant: "tenant",
		authority: "https://127.0.0.1:1/", endpoint: "https://127.0.0.1:1"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, admitted, err := s.again(home); admitted || err != nil {
		t.Errorf("before the login: %t, %v", admitted, err)
	}
	if err := func() error { _, err := s.login(ctx, home); return err }(); err == nil {
		t.Error("a login that was interrupted")
	}
	if _, err := s.login(t.Context(), filepath.Join(home, "none")); err == nil || strings.Contains(err.Error(), "c4n4ry") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.WriteFile(loginFile(home), []byte(`{"AppID":"app","Password":"c4n4ry-secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	made, admitted, err := s.again(home)
	if err != nil || !admitted || made.client != "app" || made.secret != "c4n4ry-secret" {
		t.Errorf("again: %+v, %t, %v", made, admitted, err)
	}
	if err := made.logout(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"ad sp create-for-rbac --name casement-e2e-0000cafe --role Contributor --scopes /subscriptions/sub",
		"ad app list --display-name casement-e2e-0000cafe", "ad app delete --id app"} {
		if !strings.Contains(said(), want) {
			t.Errorf("az was not called with %q:\n%s", want, said())
		}
	}
	if strings.Contains(said(), "c4n4ry") {
		t.Error("the password was on a command line")
	}
	t.Setenv("AZ_REFUSES", "1")
	if _, err := s.login(t.Context(), home); err == nil || !strings.Contains(err.Error(), "role Owner") {
		t.Errorf("a login that is refused: %v", err)
	}
}
