package windows

import "testing"

func TestPlatforms(t *testing.T) {
	const windows, linux, either = "windows", "linux", ""
	for image, want := range map[string]string{
		"mcr.microsoft.com/windows/servercore":       windows,
		"mcr.microsoft.com/windows:ltsc2019":         windows,
		"mcr.microsoft.com/dotnet/framework/runtime": windows,
		"microsoft/iis":                                        windows,
		"docker.io/microsoft/nanoserver:1809":                  windows,
		"example.com/app:windows2022":                          windows,
		"example.com/app:1.0-windows-amd64":                    windows,
		"calico/node-windows:v3.31.3":                          windows,
		"quay.io/calico/cni-windows:v3.31.3":                   windows,
		"ghcr.io/prometheus-community/windows-exporter:0.31.6": windows,
		"redis:3.2-windowsservercore":                          windows,
		"redis":                                                linux,
		"NGINX:1":                                              linux,
		"calico/node:v3.31.3":                                  linux,
		"library/ubuntu:24.04":                                 linux,
		"registry.k8s.io/coredns/coredns:v1.14.0":              linux,
		"gcr.io/distroless/static:nonroot":                     linux,
		"python:3.12-slim-bookworm":                            linux,
		"registry:5000/app:1-slim":                             linux,
		"python:3.12":                                          either,
		"registry:5000/slim":                                   either,
		"registry.k8s.io/pause:3.10.1":                         either,
		"registry.k8s.io/etcd:3.6.5-0":                         either,
		"contoso.example/redis:7":                              either,
		"dockurr/windows:5":                                    either,
		"mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:v1.34.10": either,
		"registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.15.0":         either,
		"mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi:v1.34.4":         either,
	} {
		got := either
		switch {
		case IsWindowsImage(image) && IsLinuxImage(image):
			got = "both"
		case IsWindowsImage(image):
			got = windows
		case IsLinuxImage(image):
			got = linux
		}
		if got != want {
			t.Errorf("%s is for %q, want %q", image, got, want)
		}
	}
}

func TestFormerImages(t *testing.T) {
	for image, want := range map[string]bool{
		"microsoft/iis": true, "docker.io/microsoft/nanoserver:1709": true, "mcr.microsoft.com/windows/nanoserver:1809": false,
		"contoso.example/microsoft/iis:1": false,
	} {
		if got := IsFormerImage(image); got != want {
			t.Errorf("%s is of Docker Hub: %v", image, got)
		}
	}
}
