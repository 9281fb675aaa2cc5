package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"strings"
)

//go:embed readiness.yaml
var readinessManifest string

// category is a row of the table of readiness, named after one of the nine categories of
// kubernetes-sigs/windows-operational-readiness. The checks are ours: they show only that a
// category works at all, and are not that project's tests.
type category struct {
	name, what string
	check      func(context.Context, *life) (string, error)
	// reason returns the reason why the category is not checked in a cluster, "" if it is checked.
	reason func(*life) string
}

var categories = []category{
	{name: "Core.Network", what: "a Windows pod reaches a Service by name", check: func(ctx context.Context, l *life) (string, error) {
		return l.inPod(ctx, "", "curl.exe", "-sf", "--max-time", "60", "http://readiness")
	}},
	{name: "Core.Storage", what: "a ConfigMap and an emptyDir are there", check: func(ctx context.Context, l *life) (string, error) {
		return l.inPod(ctx, "hello from a ConfigMap", "cmd.exe", "/c",
			`type C:\config\greeting > C:\scratch\copy & type C:\scratch\copy`)
	}},
	{name: "Core.Scheduling", what: "pods for Windows are on Windows nodes alone", check: onWindows},
	{name: "Core.Concurrent", what: "three pods at once become ready", check: func(ctx context.Context, l *life) (string, error) {
		return l.workload(ctx, nil, "rollout", "status", "deployment/readiness", "--timeout", "20m")
	}},
	{name: "Extend.HostProcess", what: "a HostProcess container runs", check: func(ctx context.Context, l *life) (string, error) {
		return l.workload(ctx, nil, "wait", "pod/readiness-host", "--for=condition=Ready", "--timeout", "15m")
	}},
	{name: "Extend.ActiveDirectory", what: "a pod has a domain identity", check: identity, reason: whyNoDomain},
	{name: "Extend.NetworkPolicy", what: "a policy refuses traffic",
		reason: func(*life) string { return "the run installs no policy" }},
	{name: "Extend.Network", what: "a Service of type LoadBalancer is reached", check: func(ctx context.Context, l *life) (string, error) {
		return l.run(ctx, nil, "fetch", "service/iis", "--cluster", l.name, "--timeout", "10m")
	}},
	{name: "Extend.Worker", what: "the node reports its Windows build and runtime", check: worker},
}

// why returns the reason why the category is not checked in a cluster.
func (c category) why(l *life) string {
	if c.reason == nil {
		return ""
	}
	return c.reason(l)
}

// readiness applies the workload and adds a row for each category.
func (l *life) readiness(ctx context.Context) {
	_, applied := l.workload(ctx, []byte(l.forRelease(readinessManifest)), "apply", "-f", "-")
	if applied == nil {
		// The checks run commands in the pods, so the pods must be ready first.
		_, applied = l.workload(ctx, nil, "rollout", "status", "deployment/readiness", "--timeout", "30m")
	}
	for _, c := range categories {
		if reason := c.why(l); reason != "" {
			l.report.add(row{Cluster: l.name, Name: c.name + ": " + c.what, Verdict: notRun, Detail: reason})
			continue
		}
		_ = l.report.step(l.name, c.name+": "+c.what, l.recording, func() (string, error) { // the row contains the error
			if applied != nil {
				return "", applied
			}
			_, err := c.check(ctx, l)
			return "", err
		})
	}
}

// builds maps releases of Windows to the builds in the nodes' label.
var builds = map[string]string{"2022": "10.0.20348", "2025": "10.0.26100"}

func (l *life) forRelease(manifest string) string {
	return strings.NewReplacer("RELEASE", l.release, "BUILD", builds[l.release], "ltsc2022", "ltsc"+l.release,
		builds["2022"], builds[l.release]).Replace(manifest)
}

// serve runs IIS on Windows and requests its page from this computer.
func (l *life) serve(ctx context.Context) error {
	manifest, err := os.ReadFile("examples/iis.yaml")
	if err != nil {
		return err
	}
	if _, err := l.workload(ctx, []byte(l.forRelease(string(manifest))), "apply", "-f", "-"); err != nil {
		return err
	}
	if _, err := l.workload(ctx, nil, "rollout", "status", "deployment/iis", "--timeout", "30m"); err != nil {
		return err
	}
	_, err = l.run(ctx, nil, "fetch", "service/iis", "--cluster", l.name, "--timeout", "10m")
	return err
}

// inPod runs a program in a pod and returns an error unless its output contains a text, which must
// not be empty.
func (l *life) inPod(ctx context.Context, want string, command ...string) (string, error) {
	out, err := l.workload(ctx, nil, append([]string{"exec", "deployment/readiness", "--"}, command...)...)
	if err == nil && (strings.TrimSpace(out) == "" || !strings.Contains(out, want)) {
		err = fmt.Errorf("%s printed no %q: %s", strings.Join(command, " "), want, out)
	}
	return out, err
}

func onWindows(ctx context.Context, l *life) (string, error) {
	all, err := l.list(ctx)
	if err != nil {
		return "", err
	}
	out, err := l.workload(ctx, nil, "get", "pods", "-l", "app=readiness", "-o", "jsonpath={.items[*].spec.nodeName}")
	if err != nil {
		return out, err
	}
	for name := range strings.FieldsSeq(out) {
		for _, n := range all {
			if n.name == name && n.os != "windows" {
				return out, fmt.Errorf("a pod for Windows is on node %s, which is %s", name, n.os)
			}
		}
	}
	if strings.TrimSpace(out) == "" {
		return out, fmt.Errorf("no pod is on a node")
	}
	return out, nil
}

func worker(ctx context.Context, l *life) (string, error) {
	out, err := l.workload(ctx, nil, "get", "nodes", "-l", "kubernetes.io/os=windows", "-o",
		`jsonpath={range .items[*]}{.metadata.labels.node\.kubernetes\.io/windows-build} {.status.nodeInfo.containerRuntimeVersion}{"\n"}{end}`)
	if err == nil && (!strings.Contains(out, builds[l.release]) || !strings.Contains(out, "containerd://")) {
		err = fmt.Errorf("want build %s and containerd: %q", builds[l.release], out)
	}
	return out, err
}
