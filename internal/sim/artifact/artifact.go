// Package artifact makes the files that replace programs in simulated machines, and the downloads
// that contain those programs. Such a file is a text with the note that it is simulated and with
// the name and version of the program that it replaces.
//
// It contains no program and answers only downloads that are in its table. It does not imitate the
// real files: the checksum of such a file differs from its publisher's. Only the simulator and
// internal/plane may import it.
package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Program is a program that a simulated file replaces.
type Program struct {
	// Name is the program's name without .exe; Version has the publisher's form, such as v1.36.3.
	Name, Version string
	// Signer is the subject of the certificate with which the file is signed; empty if its
	// publisher does not sign it.
	Signer string
}

const (
	first       = "simulated by casement: this file takes the place of a program\n"
	nameLine    = "program: "
	versionLine = "version: "
	signerLine  = "signer: "
)

// File returns the contents of the file for a program.
func (p Program) File() []byte {
	text := first + nameLine + p.Name + "\n" + versionLine + p.Version + "\n"
	if p.Signer != "" {
		text += signerLine + p.Signer + "\n"
	}
	return []byte(text)
}

// Read returns the program that a file simulates; ok is false for any other file.
func Read(data []byte) (p Program, ok bool) {
	text, ok := strings.CutPrefix(string(data[:min(len(data), 4096)]), first)
	if !ok {
		return p, false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, is := strings.CutPrefix(line, nameLine); is {
			p.Name = name
		}
		if version, is := strings.CutPrefix(line, versionLine); is {
			p.Version = version
		}
		if signer, is := strings.CutPrefix(line, signerLine); is {
			p.Signer = signer
		}
	}
	return p, p.Name != ""
}

// download is a row of the table: a pattern of addresses without their scheme, whose groups are the
// arguments of contents.
type download struct {
	address  *regexp.Regexp
	contents func(group []string) []byte
}

// downloads are the downloads of Windows and Linux nodes. Sources: https://dl.k8s.io, the
// release pages of containerd, runc, containernetworking/plugins and cloudbase-init.
var downloads = []download{
	{regexp.MustCompile(`^dl\.k8s\.io/(v\d+\.\d+\.\d+)/bin/windows/amd64/(kubelet|kubeadm|kubectl|kube-proxy|kube-log-runner)\.exe$`),
		func(g []string) []byte { return Program{Name: g[2], Version: g[1]}.File() }},
	{regexp.MustCompile(`^github\.com/containerd/containerd/releases/download/(v[\d.]+)/containerd-[\d.]+-windows-amd64\.tar\.gz$`),
		func(g []string) []byte {
			return archive("bin/", ".exe", g[1], "containerd", "containerd-shim-runhcs-v1", "ctr")
		}},
	{regexp.MustCompile(`^github\.com/containernetworking/plugins/releases/download/(v[\d.]+)/cni-plugins-windows-amd64-v[\d.]+\.tgz$`),
		func(g []string) []byte {
			return archive("./", ".exe", g[1], "flannel", "host-local", "win-bridge", "win-overlay")
		}},
	{regexp.MustCompile(`^dl\.k8s\.io/(v\d+\.\d+\.\d+)/bin/linux/amd64/(kubelet|kubeadm|kubectl|kube-proxy|kube-log-runner)$`),
		func(g []string) []byte { return Program{Name: g[2], Version: g[1]}.File() }},
	{regexp.MustCompile(`^github\.com/containerd/containerd/releases/download/(v[\d.]+)/containerd-[\d.]+-linux-amd64\.tar\.gz$`),
		func(g []string) []byte {
			return archive("bin/", "", g[1], "containerd", "containerd-shim-runc-v2", "ctr")
		}},
	{regexp.MustCompile(`^github\.com/opencontainers/runc/releases/download/(v[\d.]+)/runc\.amd64$`),
		func(g []string) []byte { return Program{Name: "runc", Version: g[1]}.File() }},
	{regexp.MustCompile(`^github\.com/containernetworking/plugins/releases/download/(v[\d.]+)/cni-plugins-linux-amd64-v[\d.]+\.tgz$`),
		func(g []string) []byte {
			return archive("./", "", g[1], "bridge", "host-local", "loopback", "portmap", "tuning")
		}},
	{regexp.MustCompile(`^github\.com/cloudbase/cloudbase-init/releases/download/([\d.]+)/CloudbaseInitSetup_[\d_]+_x64\.msi$`),
		func(g []string) []byte { return Program{CloudbaseSetup, g[1], CloudbaseSigner}.File() }},
}

// CloudbaseSigner is the subject of the simulated signature of cloudbase-init's installer, the only
// signed download of a Windows node.
const CloudbaseSigner = "CN=Cloudbase Solutions (simulated by casement)"

// CloudbaseSetup is the program in the installer of cloudbase-init.
const CloudbaseSetup = "cloudbase-init-setup"

// Download returns the simulated file at an address; ok is false for an address that matches no
// row.
func Download(address string) (contents []byte, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.RawQuery != "" {
		return nil, false
	}
	for _, d := range downloads {
		if group := d.address.FindStringSubmatch(u.Host + u.Path); group != nil {
			return d.contents(group), true
		}
	}
	return nil, false
}

// archive returns a compressed tar file of programs; equal arguments yield equal bytes.
func archive(folder, suffix, version string, programs ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range programs {
		text := Program{Name: name, Version: version}.File()
		// Writing to a buffer cannot fail.
		_ = w.WriteHeader(&tar.Header{Name: folder + name + suffix, Mode: 0o755, Size: int64(len(text)), ModTime: time.Unix(0, 0)})
		_, _ = w.Write(text)
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}
