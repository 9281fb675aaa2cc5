package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// cluster describes a cluster of the run: one has machines and one has pools, with two releases of
// Windows.
type cluster struct {
	suffix, flavor, release string
	// kind is the kind of the objects with workers; linux and windows are the suffixes of their
	// names.
	kind, linux, windows string
}

var clusters = []cluster{
	{"-m", "windows", "2022", "machinedeployment", "-md-0", "-md-win"},
	{"-p", "machinepool-windows", "2025", "machinepool", "-mp-0", "-mp-win"},
}

// live starts the management cluster and runs the steps of all clusters concurrently, with a
// recorder between casement and Azure. A failure of one cluster does not stop the other.
func live(ctx context.Context, s settings, o options, home string, r *report) (err error) {
	rec, err := record(s, o.file, home+"/ca.pem")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.close()) }()
	recorded := s // the run's own calls to Azure are recorded, too
	recorded.endpoint, recorded.ca = "https://"+rec.at, home+"/ca.pem"
	g, err := openGroups(recorded)
	if err != nil {
		return err
	}
	c := &client{s: s, program: o.casement, groups: g, home: home, applies: &sync.Mutex{},
		env: append(append(os.Environ(), s.env()...), "KUBECONFIG=", "CASEMENT_HOME="+stateOf(home),
			"AZURE_RESOURCE_MANAGER_ENDPOINT=https://"+rec.at, "AZURE_RESOURCE_MANAGER_AUDIENCE="+s.audience, "AZURE_CA_FILE="+home+"/ca.pem")}
	err = r.step("", "start the management cluster", rec, func() (string, error) {
		_, err := c.run(ctx, nil, "up", "--azure", "env", "--timeout", "5m")
		return "", err
	})
	if err != nil {
		return err
	}
	errs := make([]error, len(clusters))
	var both sync.WaitGroup
	for i, kind := range clusters {
		both.Go(func() {
			own := *c
			own.env = append(slices.Clip(c.env), "WINDOWS_SERVER_VERSION=windows-"+kind.release)
			l := &life{client: &own, cluster: kind, name: s.name + kind.suffix, report: r, recording: rec, until: r.Started.Add(s.hours)}
			errs[i] = l.live(ctx, o.short)
		})
	}
	both.Wait()
	return errors.Join(errs...)
}

// stateOf returns the state directory of the management cluster.
func stateOf(home string) string { return filepath.Join(home, "plane") }

// client runs casement.
type client struct {
	s       settings
	program string
	groups  *groups
	home    string
	env     []string
	// applies is locked during each apply, because the clusters share an identity, which both would
	// create.
	applies *sync.Mutex
}

func (c *client) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env, cmd.Stdin = c.env, bytes.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // ends even if this program is killed
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("casement %s: %w: %s%s", strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

func (c *client) kubectl(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, nil, append([]string{"kubectl"}, args...)...)
}

// life is the life of one cluster.
type life struct {
	*client
	cluster
	name      string
	report    *report
	recording *recording
	until     time.Time
	// published receives the result of the publication of our own images.
	published chan error
}

// workers returns the kubectl name of the object with a kind of workers.
func (l *life) workers(suffix string) string { return l.kind + "/" + l.name + suffix }

// waits is the time that Azure has for one step; the budget of hours applies, too.
const waits = "90m"

// step is a part of a cluster's life; a step without a name adds its own rows.
type step struct {
	name string
	do   func(context.Context) error
	// changes is set for steps that a short run skips.
	changes bool
	// reason is the reason why the step is not run; "" if it is run.
	reason string
}

// live runs the steps until one fails. The table of readiness adds its own rows and never stops the
// run.
func (l *life) live(ctx context.Context, short bool) error {
	for _, s := range l.steps() {
		if short && s.changes {
			continue
		}
		if s.reason != "" {
			l.report.add(row{Cluster: l.name, Name: s.name, Verdict: notRun, Detail: s.reason})
			continue
		}
		if s.name == "" {
			_ = s.do(ctx) // its rows contain the error
			continue
		}
		err := l.report.step(l.name, s.name, l.recording, func() (string, error) {
			err := s.do(ctx)
			if err == nil {
				return "", nil
			}
			late, end := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer end()
			why, _ := l.run(late, nil, "why", l.name) // only additional information
			return why, err
		})
		if err != nil {
			return fmt.Errorf("%s: %s: %w", l.name, s.name, err)
		}
	}
	return nil
}

func (l *life) steps() []step {
	scale := func(to int) func(context.Context) error {
		return func(ctx context.Context) error {
			if _, err := l.kubectl(ctx, "scale", l.workers(l.windows), fmt.Sprintf("--replicas=%d", to)); err != nil {
				return err
			}
			return l.nodes(ctx, func(all []node) bool { return count(all, "windows", "") == to })
		}
	}
	fromNone := []step{{name: "the cluster-autoscaler scales them from none to 1, for pods that wait", do: l.autoscale, changes: true}}
	if l.s.autoscaler == "" {
		fromNone[0].reason = "CASEMENT_E2E_AUTOSCALER names no program"
		fromNone = append(fromNone, step{name: "scale them from none to 1", do: scale(1), changes: true})
	}
	return slices.Concat([]step{
		{name: "create a control plane, a Linux and a Windows worker", do: l.create},
		{name: "begin two versions of an image of our own", do: l.begin, changes: true},
		{name: "IIS on Windows, behind the load balancer", do: l.serve},
		{do: func(ctx context.Context) error { l.readiness(ctx); return nil }},
		{name: "where the minutes of the boots went", do: l.boots},
		{name: "scale the Windows workers to 2", do: scale(2), changes: true},
		{name: "scale them to none", do: scale(0), changes: true},
		{name: "give them the first version of our image", do: l.ownImage, changes: true},
	}, fromNone, []step{
		{name: "patch day: they move to the second version", do: l.patchDay, changes: true},
		{name: "repair: a Windows machine is gone", do: l.repair, changes: true},
		{name: "upgrade the control plane to " + l.s.newer, do: func(ctx context.Context) error {
			return l.upgrade(ctx, "kubeadmcontrolplane/"+l.name+"-control-plane", `{"spec":{"version":"%s"}}`, "control-plane")
		}, changes: true},
		{name: "upgrade the workers to " + l.s.newer, do: func(ctx context.Context) error {
			const path = `{"spec":{"template":{"spec":{"version":"%s"}}}}`
			return errors.Join(l.upgrade(ctx, l.workers(l.linux), path, "linux"), l.upgradeWindows(ctx))
		}, changes: true},
		{name: "delete", do: func(ctx context.Context) error {
			if _, err := l.kubectl(ctx, "delete", "cluster", l.name, "--wait=false"); err != nil {
				return err
			}
			_, err := l.run(ctx, nil, "wait", l.name, "--for", "deleted", "--timeout", waits)
			return err
		}},
	})
}

// create creates the cluster. A tag of its resource group contains the time after which the group
// may be deleted.
func (l *life) create(ctx context.Context) error {
	flavor := l.flavor
	if l.joined() {
		flavor = "windows-gmsa"
	}
	manifest, err := l.run(ctx, nil, "generate", "cluster", l.name, "--flavor", flavor, "--kubernetes-version", l.s.older)
	if err != nil {
		return err
	}
	const before = "  resourceGroup: "
	until := l.until.UTC().Format(time.RFC3339)
	tagged := strings.Replace(manifest, "\n"+before, "\n  additionalTags:\n    casement-e2e-delete-after: \""+until+"\"\n"+before, 1)
	if tagged == manifest {
		return errors.New("the manifest has no AzureCluster with a resource group, so that it cannot be tagged")
	}
	if l.joined() {
		if tagged, err = l.s.domain.peer(tagged); err != nil {
			return err
		}
	}
	l.applies.Lock()
	_, err = l.run(ctx, []byte(tagged), "kubectl", "apply", "-f", "-")
	l.applies.Unlock()
	if err != nil {
		return err
	}
	if _, err = l.run(ctx, nil, "wait", l.name, "--timeout", waits); err != nil {
		return err
	}
	kubeconfig, err := l.run(ctx, nil, "get", "kubeconfig", l.name)
	if err != nil {
		return err
	}
	return os.WriteFile(l.kubeconfig(), []byte(kubeconfig), 0o600)
}

func (l *life) kubeconfig() string { return filepath.Join(l.home, l.name+".kubeconfig") }

// workload runs kubectl against the cluster itself.
func (l *life) workload(ctx context.Context, stdin []byte, args ...string) (string, error) {
	return l.run(ctx, stdin, append([]string{"kubectl", "--kubeconfig", l.kubeconfig()}, args...)...)
}

// node contains the fields of a Node that the run uses.
type node struct {
	name, os, kubelet, provider string
	ready, controls             bool
}

func (n node) String() string {
	state := "not ready"
	if n.ready {
		state = "ready"
	}
	return fmt.Sprintf("%s (%s, %s, %s)", n.name, n.os, n.kubelet, state)
}

// list returns the cluster's nodes.
func (l *life) list(ctx context.Context) ([]node, error) {
	text, err := l.workload(ctx, nil, "get", "nodes", "-o", "json")
	if err != nil {
		return nil, err
	}
	var nodes struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec   struct{ ProviderID string }
			Status struct {
				NodeInfo   struct{ KubeletVersion, OperatingSystem string }
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &nodes); err != nil {
		return nil, fmt.Errorf("read the nodes: %w", err)
	}
	var out []node
	for _, n := range nodes.Items {
		_, controls := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]
		one := node{name: n.Metadata.Name, os: n.Status.NodeInfo.OperatingSystem, kubelet: n.Status.NodeInfo.KubeletVersion,
			provider: n.Spec.ProviderID, controls: controls}
		for _, c := range n.Status.Conditions {
			one.ready = one.ready || c.Type == "Ready" && c.Status == "True"
		}
		out = append(out, one)
	}
	return out, nil
}

// count returns the number of nodes with a role ("control-plane", "linux" or "windows" workers), or
// -1 if one of them is not Ready or does not have the version.
func count(all []node, role, version string) int {
	n := 0
	for _, one := range all {
		if role == "control-plane" && !one.controls || role != "control-plane" && (one.controls || one.os != role) {
			continue
		}
		if !one.ready || version != "" && one.kubelet != version {
			return -1
		}
		n++
	}
	return n
}

// nodes waits until want accepts the cluster's nodes and casement reports the cluster as available.
func (l *life) nodes(ctx context.Context, want func([]node) bool) error {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	var seen []node
	var unseen error // error of the last attempt
	for {
		all, err := l.list(ctx)
		if err == nil && want(all) {
			break
		}
		if err == nil {
			seen, unseen = all, nil
		} else if ctx.Err() == nil { // otherwise the attempt was interrupted
			unseen = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the nodes are %v: %w", seen, context.Cause(ctx)), unseen)
		case <-tick.C: // an API server that is being replaced does not answer for a while
		}
	}
	_, err := l.run(ctx, nil, "wait", l.name, "--timeout", waits)
	return err
}

func (l *life) upgrade(ctx context.Context, object, patch, role string) error {
	if _, err := l.kubectl(ctx, "patch", object, "--type", "merge", "-p", fmt.Sprintf(patch, l.s.newer)); err != nil {
		return err
	}
	return l.nodes(ctx, func(all []node) bool { return count(all, role, l.s.newer) > 0 })
}

// repair makes Cluster API replace a Windows machine: it deletes the machine's VM in Azure without
// casement, if the VM does not belong to a scale set, and marks its Machine for remediation, as a
// health check does after some minutes.
func (l *life) repair(ctx context.Context) error {
	all, err := l.list(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(n node) bool { return n.os == "windows" })
	if i < 0 {
		return errors.New("there is no Windows node to repair")
	}
	old := all[i].name
	if l.kind == "machinedeployment" {
		if err := l.groups.deleteVM(ctx, l.name, filepath.Base(all[i].provider)); err != nil {
			return err
		}
	}
	machine, err := l.kubectl(ctx, "get", "machines", "-o", `jsonpath={.items[?(@.status.nodeRef.name=="`+old+`")].metadata.name}`)
	if err != nil || machine == "" {
		return errors.Join(fmt.Errorf("no Machine has node %s", old), err)
	}
	if _, err := l.kubectl(ctx, "annotate", "machine", machine, "cluster.x-k8s.io/remediate-machine="); err != nil {
		return err
	}
	return l.nodes(ctx, func(all []node) bool {
		return count(all, "windows", "") == 1 && !slices.ContainsFunc(all, func(n node) bool { return n.name == old })
	})
}

// boots adds casement's drawing of the phases of the machines' boots to the report.
func (l *life) boots(ctx context.Context) error {
	file := filepath.Join(l.home, l.name+".svg")
	if _, err := l.run(ctx, nil, "timeline", "--fleet", l.name, "--svg", file); err != nil {
		return err
	}
	drawing, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	l.report.draw(l.name, drawing)
	return nil
}
