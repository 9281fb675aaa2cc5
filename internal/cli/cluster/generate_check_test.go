package cluster

import (
	"encoding/base64"
	"strings"
	"testing"
)

// goodKey is a public key in the form that ssh-keygen writes.
const goodKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIbxjTF8zcHbNRIrA6kyRrqUUGbNSqJRcQYRRzsCqNwx you@host"

func TestProblemOf(t *testing.T) {
	for name, test := range map[string]struct{ variable, value, says string }{
		"name":                 {"CLUSTER_NAME", "demo-2", ""},
		"capital letter":       {"CLUSTER_NAME", "Demo_X", "lower case"},
		"digit first":          {"CLUSTER_NAME", "2demo", "begins with a letter"},
		"long name":            {"CLUSTER_NAME", strings.Repeat("a", maxClusterName+1), "at most"},
		"version":              {"KUBERNETES_VERSION", "v1.36.3", ""},
		"pre-release":          {"KUBERNETES_VERSION", "v1.37.0-alpha.1", ""},
		"fruit":                {"KUBERNETES_VERSION", "banana", "is like v1"},
		"version without v":    {"KUBERNETES_VERSION", "1.36.3", "is like v1"},
		"count":                {"WINDOWS_WORKER_MACHINE_COUNT", "0", ""},
		"letters for a count":  {"WORKER_MACHINE_COUNT", "abc", "0 or more"},
		"negative count":       {"WORKER_MACHINE_COUNT", "-1", "0 or more"},
		"key":                  {"AZURE_SSH_PUBLIC_KEY", goodKey, ""},
		"malformed key":        {"AZURE_SSH_PUBLIC_KEY", "ssh-ed25519 AAAA", "authorized_keys"},
		"malformed, encoded":   {"AZURE_SSH_PUBLIC_KEY_B64", base64.StdEncoding.EncodeToString([]byte("x")), "authorized_keys"},
		"not encoded":          {"AZURE_SSH_PUBLIC_KEY_B64", goodKey, "not base64"},
		"another variable":     {"AZURE_LOCATION", "Anything", ""},
		"a key that is of one": {"AZURE_SSH_PUBLIC_KEY_B64", base64.StdEncoding.EncodeToString([]byte(goodKey)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := problemOf(test.variable, test.value)
			if (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("got %q, want %q", got, test.says)
			}
		})
	}
}

func TestSSHKeys(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(goodKey))
	for name, test := range map[string]struct{ env, want map[string]string }{
		"plain":   {map[string]string{"AZURE_SSH_PUBLIC_KEY": goodKey}, map[string]string{"AZURE_SSH_PUBLIC_KEY_B64": encoded}},
		"encoded": {map[string]string{"AZURE_SSH_PUBLIC_KEY_B64": encoded}, map[string]string{"AZURE_SSH_PUBLIC_KEY": goodKey}},
		"both":    {map[string]string{"AZURE_SSH_PUBLIC_KEY": goodKey, "AZURE_SSH_PUBLIC_KEY_B64": "x"}, nil},
		"neither": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := sshKeys(func(name string) (string, bool) {
				v, ok := test.env[name]
				return v, ok
			})
			for k, v := range test.want {
				if got[k] != v {
					t.Errorf("%s: got %q, want %q", k, got[k], v)
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
