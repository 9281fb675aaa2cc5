package kubelet

import (
	"strings"
	"testing"
)

// TestTaintFlag: --register-with-taints accepts the same values as the real kubelet, and refuses others
// with the same message.
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
			f, err := parseFlags([]string{"--register-with-taints=" + c.value}, "v1.36.3", "windows")
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

// TestFlagsOfOneSystem: the kubelet on Windows has no flags of cAdvisor, and the kubelet on Linux
// has no flag for the priority class. Source: kubernetes
// cmd/kubelet/app/options/globalflags_other.go, osflags_windows.go.
func TestFlagsOfOneSystem(t *testing.T) {
	for _, c := range []struct {
		flag, system string
		refused      bool
	}{
		{"--housekeeping-interval=30s", "windows", true}, {"--housekeeping-interval=30s", "linux", false},
		{"--windows-priorityclass=HIGH_PRIORITY_CLASS", "linux", true}, {"--windows-priorityclass=HIGH_PRIORITY_CLASS", "windows", false},
	} {
		if _, err := parseFlags([]string{c.flag}, "v1.36.3", c.system); (err != nil) != c.refused {
			t.Errorf("%s on %s: %v", c.flag, c.system, err)
		}
	}
}

// TestGoneGate: a kubelet does not start with a feature gate that its release removed.
func TestGoneGate(t *testing.T) {
	const flag = "--feature-gates=CSIMigrationAzureDisk=true"
	if _, err := parseFlags([]string{flag}, "v1.26.15", "linux"); err != nil {
		t.Error(err)
	}
	if _, err := parseFlags([]string{flag}, "v1.27.16", "linux"); err == nil ||
		!strings.Contains(err.Error(), "unrecognized feature gate: CSIMigrationAzureDisk") {
		t.Errorf("got %v", err)
	}
}

// TestSettingsOfLinux: a kubelet on Windows does not start with a setting for Linux, in the
// releases that have the setting. Source: kubernetes
// pkg/kubelet/apis/config/validation/validation_windows.go.
func TestSettingsOfLinux(t *testing.T) {
	for _, c := range []struct {
		line, version, system string
		refused               bool
	}{
		{"singleProcessOOMKill: false", "v1.36.3", "windows", true}, {"singleProcessOOMKill: false", "v1.31.9", "windows", false},
		{"singleProcessOOMKill: false", "v1.36.3", "linux", false}, {"singleProcessOOMKill: null", "v1.36.3", "windows", false},
		{"userNamespaces: {}", "v1.33.0", "windows", true}, {"userNamespaces: {}", "v1.32.0", "windows", false},
		{"defaultPodSysctls: {a: b}", "v1.37.2", "windows", true}, {"defaultPodSysctls: {}", "v1.37.2", "windows", false},
		{"defaultPodSysctls: {a: b}", "v1.36.3", "windows", false},
	} {
		k := Kubelet{c: Config{OS: c.system, Version: c.version}}
		if err := k.refuses([]byte(c.line)); (err != nil) != c.refused {
			t.Errorf("%s of %s on %s: %v", c.line, c.version, c.system, err)
		}
	}
}
