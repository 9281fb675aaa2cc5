package artifact

import (
	"bytes"
	"testing"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name string
		data []byte
		want Program
		ok   bool
	}{
		{"its own", Program{Name: "kubelet", Version: "v1.36.3"}.File(), Program{Name: "kubelet", Version: "v1.36.3"}, true},
		{"signed", Program{"setup", "1.1", "CN=x"}.File(), Program{"setup", "1.1", "CN=x"}, true},
		{"another file", []byte("MZ"), Program{}, false},
		{"nothing", nil, Program{}, false},
		{"no name", []byte(first), Program{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, ok := Read(tc.data); got != tc.want || ok != tc.ok {
				t.Errorf("got %v %v", got, ok)
			}
		})
	}
}

func TestDownload(t *testing.T) {
	for _, tc := range []struct {
		address string
		ok      bool
	}{
		{"https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe", true},
		{"https://mirror.example/dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe", false},
		{"https://github.com/containerd/containerd/releases/download/v2.1.4/containerd-2.1.4-windows-amd64.tar.gz", true},
		{"https://github.com/containernetworking/plugins/releases/download/v1.7.1/cni-plugins-windows-amd64-v1.7.1.tgz", true},
		{"https://github.com/cloudbase/cloudbase-init/releases/download/1.1.6/CloudbaseInitSetup_1_1_6_x64.msi", true},
		{"https://dl.k8s.io/v1.36.3/bin/linux/amd64/kubelet", true},
		{"https://dl.k8s.io/v1.36.3/bin/linux/arm64/kubelet", false},
		{"https://github.com/containerd/containerd/releases/download/v2.1.4/containerd-2.1.4-linux-amd64.tar.gz", true},
		{"https://github.com/opencontainers/runc/releases/download/v1.3.0/runc.amd64", true},
		{"https://github.com/containernetworking/plugins/releases/download/v1.7.1/cni-plugins-linux-amd64-v1.7.1.tgz", true},
		{"https://example.com/kubelet.exe", false},
		{"https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe?x=1", false},
	} {
		t.Run(tc.address, func(t *testing.T) {
			one, ok := Download(tc.address)
			two, _ := Download(tc.address)
			if ok != tc.ok || !bytes.Equal(one, two) {
				t.Errorf("ok %v, the same bytes %v", ok, bytes.Equal(one, two))
			}
		})
	}
}
