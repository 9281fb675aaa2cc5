package kubelet

import (
	"strings"
	"testing"
)

// TestTaintFlag: --register-with-taints takes what the real kubelet takes, and refuses it in the
// same words.
func TestTaintFlag(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  int
		err   string
	}{
		"none":                     {"", 0, ""},
		"two":                      {"os=windows:NoSchedule,dedicated:NoExecute", 2, ""},
		"one key, two effects":     {"os=windows:NoSchedule,os=windows:NoExecute", 2, ""},
		"one key and effect twice": {"os=windows:NoSchedule,os=linux:NoSchedule", 0, "duplicated taints with the same key and effect"},
		"no effect":                {"os=windows", 0, "invalid taint spec"},
		"unknown effect":           {"os=windows:Never", 0, "invalid taint effect"},
		"no key":                   {"=windows:NoSchedule", 0, "no key"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := parseFlags([]string{"--register-with-taints=" + c.value}, "v1.36.3")
			if c.err == "" && (err != nil || len(f.RegisterWithTaints) != c.want) {
				t.Errorf("%v, %v", f.RegisterWithTaints, err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) ||
				!strings.Contains(err.Error(), `for "--register-with-taints" flag: `)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
