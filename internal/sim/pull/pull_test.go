package pull

import (
	"strings"
	"testing"
)

func TestRefuse(t *testing.T) {
	const here, missing, name = "", "not found", "InvalidImageName"
	for image, want := range map[string]string{
		"nginx":                              here,
		"nginx:1.29-alpine":                  here,
		"docker.io/library/redis:8":          here,
		"busybox:1.36":                       here,
		"debian:bookworm-slim":               here,
		"nginx:no-such-tag":                  missing,
		"ngnix:1.29":                         missing,
		"NGINX":                              name,
		"nginx:a b":                          name,
		"contoso.azurecr.io/web:anything":    here,
		"docker.io/contoso/web:anything":     here,
		"ghcr.io/contoso/web:anything":       here,
		"nowhere.invalid/x:1":                "lookup nowhere.invalid: no such host",
		"registry.k8s.io/pause:3.10.1":       here,
		"registry.k8s.io/pause:9":            missing,
		"registry.k8s.io/paus:3.10":          missing,
		"registry.k8s.io/some/thing:v1":      here,
		"registry.k8s.io/kube-proxy:v1.36.3": here,
		"registry.k8s.io/kube-proxy:v1.99.0": missing,
		"registry.k8s.io/kube-proxy:1.36.3":  missing,
		"calico/node:v3.31.3":                here,
		"ghcr.io/prometheus-community/windows-exporter:0.31.6":                        here,
		"ghcr.io/prometheus-community/windows-exporter:latets":                        missing,
		"mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi:v1.34.4-windows-hp":    here,
		"registry.k8s.io/node-problem-detector/node-problem-detector-windows:v1.36.0": here,
		"calico/node:latets": missing,
		"sigwindowstools/kube-proxy:v1.34.2-calico-hostprocess":                   here,
		"mcr.microsoft.com/windows/nanoserver:ltsc2022":                           here,
		"mcr.microsoft.com/windows/nanoserver:ltsc2023":                           missing,
		"mcr.microsoft.com/windows/nanoserver":                                    missing,
		"mcr.microsoft.com/windows/nanserver:ltsc2022":                            missing,
		"mcr.microsoft.com/windows/servercore:10.0.20348.2700-amd64":              here,
		"mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022":     here,
		"mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:v1.34.10":   here,
		"mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:v1.34.10.x": here,
		"nginx@sha256:" + strings.Repeat("0", 64):                                 here,
	} {
		check(t, Policy{}, image, want)
	}
}

func TestModes(t *testing.T) {
	for name, test := range map[string]struct {
		mode     string
		patterns []string
		image    string
		want     string
	}{
		"any takes what cannot exist":    {Any, nil, "nginx:no-such-tag", ""},
		"any takes no wrong name":        {Any, nil, "NGINX", "InvalidImageName"},
		"listed refuses private ones":    {Listed, nil, "contoso.azurecr.io/web:1", "not found"},
		"listed takes those of its rows": {Listed, nil, "nginx:1.29", ""},
		"a pattern admits in listed":     {Listed, []string{"contoso.azurecr.io/*"}, "contoso.azurecr.io/team/web:1", ""},
		"a pattern is anchored":          {Listed, []string{"azurecr.io/*"}, "contoso.azurecr.io/team/web:1", "not found"},
		"a pattern of the short name":    {Known, []string{"nginx:nightly-*"}, "docker.io/library/nginx:nightly-3", ""},
		"a pattern of the full name":     {Known, []string{"docker.io/library/nginx:*"}, "nginx:nightly-3", ""},
		"a dot is a dot":                 {Listed, []string{"contoso.example/*"}, "contosoxexample/web:1", "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := New(test.mode, test.patterns)
			if err != nil {
				t.Fatal(err)
			}
			check(t, p, test.image, test.want)
		})
	}
	if _, err := New("some", nil); err == nil || !strings.Contains(err.Error(), `not "some"`) {
		t.Errorf("an unknown mode gives %v", err)
	}
}

// check compares a refusal's reason and message with want, a part of them; "" means no refusal.
func check(t *testing.T, p Policy, image, want string) {
	t.Helper()
	text := ""
	if r := p.Refuse(image); r != nil {
		text = r.Reason + ": " + r.Message
	}
	if (text == "") != (want == "") || !strings.Contains(text, want) {
		t.Errorf("%s: got %q, want %q", image, text, want)
	}
}

func FuzzRefuse(f *testing.F) {
	f.Add("nginx:1", "nginx:*")
	f.Fuzz(func(_ *testing.T, image, pattern string) {
		p, err := New(Listed, []string{pattern})
		if err != nil {
			panic(err)
		}
		p.Refuse(image)
	})
}
