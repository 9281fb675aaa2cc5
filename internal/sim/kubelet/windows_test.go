package kubelet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/windows"
)

// examples are values of the fields that are refused with spec.os.name: windows, by their paths.
var examples = map[string]string{
	"hostPID": "true", "hostIPC": "true", "hostUsers": "false", "shareProcessNamespace": "true", "resources": "{limits: {memory: 1Gi}}",
	"runAsUser": "1000", "runAsGroup": "1000", "fsGroup": "1000", "fsGroupChangePolicy": "Always", "supplementalGroups": "[1000]",
	"supplementalGroupsPolicy": "Merge", "sysctls": "[{name: net.ipv4.tcp_syncookies, value: \"1\"}]", "seLinuxOptions": "{level: s0}",
	"seLinuxChangePolicy": "Recursive", "seccompProfile": "{type: RuntimeDefault}", "appArmorProfile": "{type: RuntimeDefault}",
	"privileged": "true", "allowPrivilegeEscalation": "false", "capabilities": "{drop: [ALL]}", "readOnlyRootFilesystem": "true",
	"procMount": "Default",
}

// TestPodFields: a simulated kubelet on Windows refuses the pods in the table, with the table's
// reason, and runs all others.
func TestPodFields(t *testing.T) {
	for _, fact := range windows.PodFields() {
		keys := strings.Split(fact.Path, ".")
		values := map[string]string{examples[keys[len(keys)-1]]: fact.Reason}
		if fact.Value != "" {
			values = map[string]string{examples[keys[len(keys)-1]]: "", fact.Value: fact.Reason}
		}
		for value, want := range values {
			t.Run(fact.Path+"="+value, func(t *testing.T) {
				pod := podWith(t, keys, value)
				b := newBench(t)
				k := b.kubelet(t)
				v, _ := k.pods.admit(t.Context(), pod)
				if v.reason != want {
					t.Errorf("admission says %q, want %q", v.reason, want)
				}
				if want != "" {
					return
				}
				if err := k.refuseSandbox(pod); err != nil {
					t.Errorf("no sandbox: %v", err)
				}
				if err := breaksNonRoot(pod, &pod.Spec.Containers[0], "windows"); err != nil {
					t.Errorf("no container: %v", err)
				}
			})
		}
	}
}

// podWith returns a pod in which the field at a path has a value.
func podWith(t *testing.T, keys []string, value string) *corev1.Pod {
	t.Helper()
	if value == "" {
		t.Fatalf("no example of %v", keys)
	}
	container := map[string]any{"name": "app", "image": "example.com/app"}
	spec := map[string]any{"containers": []any{container}}
	at := spec
	if keys[0] == "C" {
		at, keys = container, keys[1:]
	}
	for _, key := range keys[:len(keys)-1] {
		below := map[string]any{}
		at[key], at = below, below
	}
	var v any
	if err := yaml.Unmarshal([]byte(value), &v); err != nil {
		t.Fatal(err)
	}
	at[keys[len(keys)-1]] = v
	data, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app", UID: types.UID("u")}}
	if err := yaml.UnmarshalStrict(data, &pod.Spec); err != nil {
		t.Fatal(err)
	}
	return pod
}

// source is the source code of Kubernetes, in the version in go.mod.
type source struct {
	dir     string
	version string
}

func sourceOf(t *testing.T) source {
	t.Helper()
	out, err := osexec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatalf("find the source of Kubernetes: %v", err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return source{filepath.Join(dir, "pkg"), version}
}

// function returns the declaration of a function in a file.
func (s source) function(t *testing.T, file, name string) *ast.FuncDecl {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.dir, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return f
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return nil
}

// texts returns the string literals in a syntax tree.
func texts(n ast.Node) (list []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			list = append(list, text)
		}
		return true
	})
	return list
}

// child returns the path in a chain of Child("a").Child("b") calls, and the expression at the
// beginning of the chain.
func child(e ast.Expr) (path []string, root string) {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		if name, ok := e.(*ast.Ident); ok {
			return nil, name.Name
		}
		return nil, ""
	}
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || of.Sel.Name != "Child" {
		return nil, ""
	}
	path, root = child(of.X)
	return append(path, texts(call.Args[0])...), root
}

// TestWindowsSources compares the rules for Windows in this package with the real kubelet's source.
func TestWindowsSources(t *testing.T) {
	s := sourceOf(t)
	t.Run("fields that the API server refuses", func(t *testing.T) {
		var want, got []string
		var visit func(n ast.Node, prefix string)
		visit = func(n ast.Node, prefix string) {
			ast.Inspect(n, func(n ast.Node) bool {
				if inner, ok := n.(*ast.FuncLit); ok && prefix == "" {
					visit(inner.Body, "C.securityContext.")
					return false
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if of, ok := call.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Forbidden" {
					path, _ := child(call.Args[0])
					want = append(want, prefix+strings.Join(path, "."))
				}
				return true
			})
		}
		visit(s.function(t, "apis/core/validation/validation.go", "validateWindows").Body, "")
		for _, f := range windows.PodFields() {
			if f.Path != "resources" { // validatePodResources refuses this one
				got = append(got, f.Path)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("the API server refuses\n%q, and the table has\n%q", want, got)
		}
	})
	t.Run("words", func(t *testing.T) {
		for _, w := range []struct{ file, function, text string }{
			{"kubelet/lifecycle/features_windows.go", "isPodLevelResourcesSupported", noPodResources},
			{"kubelet/allocation/features_windows.go", "IsInPlacePodVerticalScalingAllowed", noResize},
			{"kubelet/kuberuntime/security_context_windows.go", "verifyRunAsNonRoot", "container's runAsUserName (%s) which will be regarded as " +
				"root identity and will break non-root policy (pod: %q, container: %s)"},
		} {
			if got := texts(s.function(t, w.file, w.function)); !slices.Contains(got, w.text) {
				t.Errorf("%s says %q, not %q", w.function, got, w.text)
			}
		}
	})
	t.Run("user namespaces are not looked at", func(t *testing.T) {
		f := s.function(t, "kubelet/userns/userns_manager_windows.go", "GetOrCreateUserNamespaceMappings")
		if r, ok := f.Body.List[0].(*ast.ReturnStmt); !ok || len(f.Body.List) != 1 || len(r.Results) != 2 {
			t.Error("GetOrCreateUserNamespaceMappings does more than return nothing")
		}
	})
	t.Run("sysctls", func(t *testing.T) {
		first, ok := s.function(t, "kubelet/sysctl/safe_sysctls.go", "SafeSysctlAllowlist").Body.List[0].(*ast.IfStmt)
		if !ok || !slices.Equal(texts(first.Cond), []string{"linux"}) {
			t.Error("SafeSysctlAllowlist does not begin with the OS")
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.dir, "kubelet/sysctl/safe_sysctls.go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(texts(parsed), func(text string) bool {
			return !strings.HasPrefix(text, "net.") && !strings.HasPrefix(text, "kernel.")
		})
		slices.Sort(want)
		safe := safeSysctls()
		maps.DeleteFunc(safe, func(_ string, since uint) bool { return since > minorOf(s.version) })
		if got := slices.Sorted(maps.Keys(safe)); !slices.Equal(slices.Compact(want), got) {
			t.Errorf("safe are %q, and here %q", want, got)
		}
	})
	t.Run("settings", func(t *testing.T) {
		var want []string
		for _, text := range texts(s.function(t, "kubelet/apis/config/validation/validation_windows.go", "validateKubeletOSConfiguration")) {
			if name, ok := strings.CutPrefix(text, "invalid configuration: "); ok {
				want = append(want, strings.TrimSuffix(name, " is not supported on Windows"))
			}
		}
		var got []string
		for _, l := range linuxSettings {
			got = append(got, l.name)
		}
		if !slices.Equal(want, got) {
			t.Errorf("a kubelet on Windows refuses %q, and here %q", want, got)
		}
	})
	// A new file may contain a new rule for Windows.
	t.Run("files", func(t *testing.T) {
		var got []string
		root := filepath.Join(s.dir, "kubelet")
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_windows.go") {
				got = append(got, strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Sorted(maps.Keys(windowsFiles))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the kubelet has\n%q, and known are\n%q", got, want)
		}
	})
}

// windowsFiles maps the files of the kubelet for Windows to the files of this package with the same rules.
var windowsFiles = map[string]string{
	"allocation/features_windows.go":                        "resize.go",
	"apis/config/validation/validation_windows.go":          "settings.go",
	"cadvisor/cadvisor_windows.go":                          "metrics.go: no containers",
	"cm/container_manager_windows.go":                       "node.go: what is allocatable",
	"cm/cpu_following_store_windows.go":                     "not simulated: CPUs are not pinned",
	"cm/cpumanager/cpu_manager_windows.go":                  "not simulated: CPUs are not pinned",
	"cm/internal_container_lifecycle_windows.go":            "not simulated: CPUs are not pinned",
	"eviction/defaults_windows.go":                          "node.go: evictionHard",
	"eviction/helpers_windows.go":                           "eviction.go",
	"eviction/memory_threshold_notifier_windows.go":         "not simulated: memory is not used up in a moment",
	"kubelet_node_status_windows.go":                        "node.go",
	"kubelet_server_journal_windows.go":                     "not simulated: /logs?query",
	"kuberuntime/kuberuntime_container_windows.go":          "admission.go: RunAsUserName; container.go: credential specs",
	"kuberuntime/kuberuntime_sandbox_windows.go":            "nothing to decide",
	"kuberuntime/security_context_windows.go":               "admission.go: breaksNonRoot",
	"lifecycle/features_windows.go":                         "admission.go: noPodResources",
	"network/dns/dns_windows.go":                            "dns.go: the cluster's servers",
	"nodeshutdown/nodeshutdown_manager_windows.go":          "not simulated: a guest that shuts down",
	"pluginmanager/pluginwatcher/plugin_watcher_windows.go": "nothing to decide",
	"server/stats/summary_sys_containers_windows.go":        "usage.go",
	"stats/cri_stats_provider_windows.go":                   "usage.go",
	"userns/userns_manager_windows.go":                      "admit.go: refuseSandbox",
	"util/util_windows.go":                                  "nothing to decide",
	"winstats/perfcounter_nodestats_windows.go":             "usage.go",
}
