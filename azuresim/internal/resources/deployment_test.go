package resources

import "testing"

func TestCamel(t *testing.T) {
	for in, want := range map[string]string{"VMSS": "vmss", "NewVNet": "newVNet", "URLValue": "urlValue", "id": "id", "A": "a", "": ""} {
		if got := camel(in); got != want {
			t.Errorf("camel(%q) = %q, want %q", in, got, want)
		}
	}
}
