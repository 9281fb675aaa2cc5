package host

import (
	"testing"

	"casement.dev/casement/azuresim/host"
)

// TestPlainUbuntu: images of Ubuntu from all their publishers, each with its distribution.
func TestPlainUbuntu(t *testing.T) {
	for _, c := range []struct{ publisher, offer, sku, want string }{
		{"Canonical", "0001-com-ubuntu-server-focal", "20_04-lts-gen2", "20.04"},
		{"Canonical", "ubuntu-24_04-lts", "server", "24.04"},
		{"Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts", "22.04"},
		{"microsoft-dsvm", "ubuntu-hpc", "2404-v100", "24.04"},
		{"microsoft-dsvm", "ubuntu-hpc", "2204", "22.04"},
		{"microsoft-dsvm", "dsvm-win-2022", "winserver-2022", ""},
	} {
		var vm host.VM
		vm.Image.Publisher, vm.Image.Offer, vm.Image.SKU = c.publisher, c.offer, c.sku
		if got, ok := plainContents(vm); got.Distribution != c.want || ok != (c.want != "") {
			t.Errorf("%s %s %s: %q, %t", c.publisher, c.offer, c.sku, got.Distribution, ok)
		}
	}
}
