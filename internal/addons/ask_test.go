package addons

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAsk(t *testing.T) {
	type labels = map[string]string
	for name, test := range map[string]struct {
		addon      string
		have, want labels
		wrong      string
	}{
		"nothing there":          {"calico", nil, labels{"cni": "calico"}, ""},
		"asked for already":      {"calico", labels{"cni": "calico", "x": "y"}, nil, ""},
		"half of it there":       {"calico-windows", labels{"windows": "enabled"}, labels{"cni": "calico"}, ""},
		"by the second selector": {"calico-windows", labels{"cni": "other", "windows": "enabled"}, labels{"cni-windows": "calico"}, ""},
		"another was chosen":     {"calico", labels{"cni": "flannel-windows"}, nil, "cni=flannel-windows"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Find(test.addon)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Ask(test.have)
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Fatalf("error %v, want one that names %q", err, test.wrong)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Find("cilium"); err == nil || !strings.Contains(err.Error(), "calico-windows") {
		t.Errorf("an unknown name is reported as %v, want the names there are", err)
	}
}
