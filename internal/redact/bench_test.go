package redact

import (
	"strings"
	"testing"
)

// BenchmarkText measures the rate for lines of a console.
func BenchmarkText(b *testing.B) {
	lines := []string{
		"2026-11-22T10:32:01.123456Z I1122 10:32:01.123456    1234 kubelet.go:2345] \"SyncLoop ADD\" " +
			"source=\"api\" pods=[\"kube-system/kube-proxy-windows-x7k2p\"]",
		"[   12.345678] cloud-init[1234]: Cloud-init v. 24.1 running 'modules:final' at Sun, 22 Nov 2026 10:32:01 +0000. Up 12.34 seconds.",
		"sha256:3a2b5d0f9c8e7d6c5b4a39281706f5e4d3c2b1a0998877665544332211ffeedd",
	}
	b.SetBytes(int64(len(strings.Join(lines, ""))))
	for b.Loop() {
		for _, line := range lines {
			Text(line)
		}
	}
}
