package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/sim/guest"
)

// bootedVM is the name prefix of machines that boot a simulated guest.
const bootedVM = "boots-"

// booted contains the consoles of guests, by the names of their machines.
type booted struct {
	dir string

	mu       sync.Mutex
	consoles map[string]*console
}

type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

// boot boots the guest of a virtual machine and waits until the boot has ended. Its kubeadm does
// nothing and succeeds.
func (b *booted) boot(vm host.VM) {
	c := &console{}
	b.mu.Lock()
	b.consoles[vm.Name] = c
	b.mu.Unlock()
	image := guest.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0", KubernetesVersion: version}
	if vm.OS == guest.Windows {
		image = guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700", KubernetesVersion: version}
	}
	dir := filepath.Join(b.dir, vm.Name)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var g *guest.Guest
		g, err = guest.New(guest.Config{Log: c, Commands: map[string]guest.Command{
			"kubeadm": func(context.Context, *guest.Process) int { return 0 },
		}, Machine: guest.Machine{
			ID: vm.ID, InstanceID: vm.Name, Dir: dir, OS: vm.OS, ComputerName: vm.ComputerName,
			AdminUsername: "capi", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")}, Image: image,
			CustomData: vm.CustomData}})
		if err == nil {
			defer g.Close()
			err = g.Boot(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(c, "the test's guest did not boot:", err)
	}
}

func (b *booted) console(id string) []byte {
	b.mu.Lock()
	c := b.consoles[id[strings.LastIndex(id, "/")+1:]]
	b.mu.Unlock()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.text.Bytes())
}

// bootstrap is bootstrap data with a part that fails or has no effect, and the expected messages.
type bootstrap struct {
	name, os, data string
	// joined is set if the machine becomes a node nevertheless.
	joined bool
	reason string
	says   []string
}

const (
	cloudConfig = "#cloud-config\n"
	joins       = "- kubeadm join --config /run/kubeadm.yaml && echo success > /run/cluster-api/bootstrap-success.complete\n"
	placeholder = "write_files:\n- {path: /run/cluster-api/placeholder, content: x}\n"
)

func mime(kind, file, body string) string {
	return "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b\nContent-Type: " + kind + "; " +
		"charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\nContent-Disposition: " +
		"attachment; filename=\"" + file + "\"\n\n" +
		base64.StdEncoding.EncodeToString([]byte(body)) + "\n--b--\n"
}

func bootstraps() []bootstrap {
	failed := func(name, os, data string, says ...string) bootstrap {
		return bootstrap{name: name, os: os, data: data, reason: "CommandFailed", says: says}
	}
	agent := func(name, os, data string, says ...string) bootstrap {
		return bootstrap{name: name, os: os, data: data, reason: "BootAgentFailed", says: says}
	}
	noted := func(name, os, data string, says ...string) bootstrap {
		return bootstrap{name: name, os: os, data: data, joined: true, reason: infrav1.JoinedReason, says: says}
	}
	const l, w = guest.Linux, guest.Windows
	return []bootstrap{
		failed("sh-exit", l, cloudConfig+"runcmd:\n- 'echo \"the data disk is not there\" >&2; exit 3'\n"+joins,
			"failed with code 3", "the data disk is not there"),
		failed("sh-last", l, cloudConfig+"runcmd:\n- cat /etc/nothing.conf\n", "failed with code 1", "/etc/nothing.conf: No such file"),
		failed("bash-file", l, cloudConfig+"write_files:\n- path: /setup.sh\n  content: |\n"+
			"    set -euo pipefail\n    grep -q fine /etc/nothing.conf\n    echo not reached\nruncmd:\n"+
			"- bash /setup.sh || exit 7\n"+joins, "failed with code 7", "/etc/nothing.conf: No such file"),
		failed("bash-part", l,
			mime("text/x-shellscript", "setup.sh", "#!/bin/bash\nset -e\n[[ -f /etc/hosts ]]\nmount-the-share --now\n"),
			"failed with code 127", "mount-the-share: command not found"),
		failed("cmd-exit", w, cloudConfig+"runcmd:\n- type C:\\nothing.txt\n- exit /b 4\n"+joins,
			"type C:\\nothing.txt: The system cannot find the file specified.", "failed with code 4: exit /b 4"),
		failed("cmd-part", w,
			mime("text/x-shellscript", "setup.cmd", "@echo off\r\ncd C:\\nothing\r\nif errorlevel 1 exit /b 9\r\n"),
			"failed with code 9", "The system cannot find the path specified."),
		failed("powershell-throw", w,
			cloudConfig+"runcmd:\n- powershell -Command \"throw 'domain join failed'\" || exit /b 5\n"+joins,
			"domain join failed"),
		failed("powershell-file", w, cloudConfig+"write_files:\n- path: C:/setup.ps1\n  content: |\n"+
			"    $ErrorActionPreference = 'Stop'\n    function Join-It { throw \"contoso does not answer\" }\n"+
			"    Join-It\nruncmd:\n- powershell C:/setup.ps1\n", "contoso does not answer"),
		failed("powershell-part", w,
			mime("text/x-shellscript", "setup.ps1", "Get-Item C:\\nothing -ErrorAction Stop\n"),
			"Cannot find path 'C:\\nothing'"),
		agent("cloud-init-files", l,
			cloudConfig+"write_files:\n- {path: /a, owner: storage, content: x}\nruncmd:\n- 'true'\n",
			"write_files /a: unknown user or group: \"storage\""),
		agent("cloudbase-files", w, cloudConfig+"write_files:\n"+
			"- {path: 'C:/k/a', content: x, permissions: '0444'}\n- {path: 'C:/k/a', content: y}\nruncmd:\n"+
			"- ver\n", "write_files failed", "it is read-only"),
		noted("sh-pre", l, cloudConfig+placeholder+"runcmd:\n- tune-the-disk --now\n"+joins, "failed with code 127",
			"tune-the-disk: not found"),
		noted("sh-post", l, cloudConfig+placeholder+"runcmd:\n"+joins+"- label-the-node --now\n", "label-the-node: not found"),
		noted("cmd-post", w, cloudConfig+placeholder+"runcmd:\n"+joins+"- type C:\\nothing.txt\n",
			"The system cannot find the file specified."),
		noted("powershell-post", w, cloudConfig+placeholder+"runcmd:\n"+joins+"- powershell -Command "+
			"\"Get-Service nothing -ErrorAction Stop\"\n- "+
			"ver\n", "Cannot find any service with service name 'nothing'"),
		noted("no-effect", l, cloudConfig+placeholder+"packages: [jq]\nruncmd:\n- modprobe br_netfilter "+
			"2>/dev/null\n- sysctl -w net.ipv4.ip_forward=1 >/dev/null "+
			"2>&1\n"+joins, "3 things had no effect (simulated): packages, modprobe, sysctl"),
		noted("no-effect-windows", w, cloudConfig+placeholder+"runcmd:\n- takeown /f C:\\k >nul "+
			"2>&1\n- powershell -Command \"Set-MpPreference -DisableRealtimeMonitoring $true *> "+
			"$null\"\n"+joins, "2 things had no effect (simulated): takeown, Set-MpPreference"),
		noted("not-simulated", l, cloudConfig+placeholder+"runcmd:\n- openssl version\n"+joins,
			"1 thing is not simulated and failed: openssl"),
	}
}

// TestBootstrapMessages lets commands of bootstrap data fail in every interpreter, before and after
// kubeadm. BootstrapSucceeded and the diagnosis contain the output of each failed command and the
// number of parts without effect.
func TestBootstrapMessages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	var machines []*infrav1.AzureMachine
	for _, test := range bootstraps() {
		m := b.machine(bootedVM+test.name, test.os, false)
		secret := &corev1.Secret{ObjectMeta: b.meta(m.Name)}
		b.change(secret, func() { secret.Data["value"] = []byte(test.data) })
		if test.os == guest.Windows {
			m.Annotations[infrav1.BootstrapSecretsAnnotation] = infrav1.BootstrapSecretsInCustomData
		}
		b.create(m)
		machines = append(machines, m)
	}
	for i, test := range bootstraps() {
		t.Run(test.name, func(t *testing.T) { b.hears(t, machines[i], test) })
	}
}

// hears waits for a machine's condition and compares it and the diagnosis with the expected
// messages.
func (b *bed) hears(t *testing.T, m *infrav1.AzureMachine, test bootstrap) {
	b.running(m)
	if test.joined {
		b.nodeIs(m.Name, metav1.ConditionTrue, clusterv1.MachineNodeReadyReason)
	}
	b.aged(m)
	want := metav1.ConditionFalse
	if test.joined {
		want = metav1.ConditionTrue
	}
	b.eventually(m, func() string {
		if c := conditions.Get(m, infrav1.BootstrapSucceededCondition); c == nil || c.Status != want || c.Reason != test.reason {
			return "BootstrapSucceeded is not " + string(want) + " for " + test.reason
		}
		return ""
	})
	message := conditions.Get(m, infrav1.BootstrapSucceededCondition).Message
	answer := b.diagnosed(t, m)
	shown := answer.Name() + " " + strings.Join(append(answer.Lines(), answer.Notes...), "\n")
	if !test.joined && answer.Name() != test.reason {
		t.Errorf("the diagnosis calls it %s, want %s", answer.Name(), test.reason)
	}
	for _, says := range test.says {
		if !strings.Contains(message, says) {
			t.Errorf("BootstrapSucceeded does not say %q: %s", says, message)
		}
		if !strings.Contains(shown, says) {
			t.Errorf("the diagnosis does not say %q: %s", says, shown)
		}
	}
}

// aged backdates a machine so that its console is read.
func (b *bed) aged(m *infrav1.AzureMachine) {
	b.t.Helper()
	b.get(m)
	before := m.DeepCopy()
	for i := range m.Status.Conditions {
		if c := &m.Status.Conditions[i]; c.Type == infrav1.VMRunningCondition {
			c.LastTransitionTime = metav1.NewTime(time.Now().Add(-11 * time.Minute))
		}
	}
	if err := b.client.Status().Patch(b.t.Context(), m, client.MergeFrom(before)); err != nil {
		b.t.Fatal(err)
	}
	b.change(m, func() { m.Annotations["integration.casement.dev/look"] = "now" })
}

// diagnosed returns the answer of `casement why` about a machine of a healthy cluster.
func (b *bed) diagnosed(t *testing.T, m *infrav1.AzureMachine) walk.Answer {
	t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: b.meta(m.Name)}
	b.get(machine)
	f := &facts.Snapshot{Taken: time.Now(), Cluster: b.cluster, AzureCluster: b.azureC,
		Machines: []clusterv1.Machine{*machine}, AzureMachines: map[string]*infrav1.AzureMachine{m.Name: m}}
	id := strings.TrimPrefix(*m.Spec.ProviderID, "azure://")
	f.Consoles([]string{id}, func(id string) string { return string(b.azure.booted.console(id)) })
	answer, err := walk.Object(f, facts.Object{
		Cluster: types.NamespacedName{Namespace: b.namespace, Name: b.name}, Kind: "Machine", Name: m.Name,
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
