package ui

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// serve runs casement ui and returns the page's address.
func serve(t *testing.T, p *plane.Plane) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, plane.Binary(t, "casement"), "ui")
	cmd.Env = append(os.Environ(), "CASEMENT_HOME="+p.Home, "KUBECONFIG=")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // a signal ended it
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "Open "); ok {
			return address
		}
	}
	t.Fatal("casement ui prints no address")
	return ""
}

// TestLife creates, breaks, repairs and deletes a cluster while the page is open, and checks what
// the page shows.
func TestLife(t *testing.T) {
	b := newBrowser(t)
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1")
	address := serve(t, p)
	refused(t, address)
	b.open(address)
	b.text("#banner", "casement up", time.Minute) // the plane does not run yet
	b.shot("1-no-plane")
	p.Run(nil, "up")
	b.text("#detail", "There is no cluster yet", 2*time.Minute)
	b.shot("2-empty")

	p.Create("demo", "windows")
	b.text("#tree", "demo-md-win", 2*time.Minute)
	b.text("#view svg", "node-subnet", 2*time.Minute)
	b.until("a machine that boots", `document.querySelector("svg .vm.wait") !== null`, 2*time.Minute)
	b.shot("3-booting")
	b.text("#counts", "3 of 3 machines ready", 5*time.Minute)
	b.tab("account")
	b.text("#view", "Quotas in use", time.Minute)
	b.text("#view", "virtualMachines/write", time.Minute)
	variants(b, "4")

	kubectl := p.Workload("demo")
	node := strings.TrimSpace(kubectl("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "jsonpath={.items[0].metadata.name}"))
	machine := strings.TrimSpace(p.Run(nil, "kubectl", "get", "machines", "-l",
		"cluster.x-k8s.io/deployment-name=demo-md-win", "-o", "jsonpath={.items[0].metadata.name}"))
	b.js(`[...document.querySelectorAll("svg .vm")].find((e) => e.getAttribute("aria-label").includes("` + node +
		`")).dispatchEvent(new MouseEvent("click", {bubbles: true})); 0`)
	b.text("#detail h2", machine, time.Minute)
	b.text("#detail .console", "kubeadm", time.Minute)
	b.text("#detail .answer", "nothing is wrong", time.Minute)

	b.tab("nodes")
	b.text("#view", "DaemonSet kube-proxy-windows in kube-system of demo", time.Minute)
	b.js(`[...document.querySelectorAll("#node-list .cells")].find(
		(e) => e.textContent.includes("kube-system/kube-proxy-windows")).dispatchEvent(new MouseEvent("click", {bubbles: true})); 0`)
	b.text("#detail h2", "kube-proxy-windows", time.Minute) // before that, the buttons are those of the machine
	for button, want := range map[string]string{"YAML": "kind: Pod", "Events": "Started", "Logs": "simulated container"} {
		b.js(`[...document.querySelectorAll("#detail .shows button")].find((e) => e.textContent === "` + button + `").click(); 0`)
		b.text("#detail .shows .console", want, time.Minute)
	}
	b.tab("azure")
	b.js(`[...document.querySelectorAll("svg .vm")].find((e) => e.getAttribute("aria-label").includes("` + node +
		`")).dispatchEvent(new MouseEvent("click", {bubbles: true})); 0`)

	p.Run(nil, "azure", "faults", "add", "guest", "--guest-fault", "kubelet-stopped", "--name", node)
	b.text("#detail .answer", "Seen", 4*time.Minute)
	b.text("#counts", "problem", 4*time.Minute)
	variants(b, "5-broken")
	report(t, b, p)
	b.open(address + "#select=object/Machine/default/" + machine)
	p.Run(nil, "azure", "faults", "clear")
	b.text("#counts", "3 of 3 machines ready", 5*time.Minute)

	// The deletion may be complete before this test reads the page again.
	b.js(`new MutationObserver(() => { window.deleting ||= document.querySelector("#counts").textContent.includes("being deleted") })
		.observe(document.body, {childList: true, characterData: true, subtree: true}); 0`)
	p.Run(nil, "kubectl", "delete", "cluster", "demo", "--wait=false")
	b.until("a cluster that is being deleted", `window.deleting === true`, 2*time.Minute)
	b.shot("6-deleting")
	b.text("#counts", "0 clusters", 5*time.Minute)
	b.text("#detail", "It is no longer there", time.Minute)
	b.shot("7-deleted")
	b.clean()
}

// variants stores screenshots of all views, wide and narrow, in light and in dark colours.
func variants(b *browser, name string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1400, 1000, 700} {
			b.emulate(width, scheme)
			for _, tab := range []string{"azure", "nodes", "boot", "calls", "account"} {
				b.tab(tab)
				b.shot(fmt.Sprintf("%s-%s-%d-%s", name, tab, width, scheme))
			}
			if overflows, err := eval[bool](b, `document.documentElement.scrollWidth > innerWidth`, time.Minute); err != nil || overflows {
				b.t.Errorf("the page is wider than %d pixels (%v)", width, err)
			}
		}
	}
	b.emulate(1280, "light")
	b.tab("azure")
}

// report saves the page and opens the file, which must show the same without a server.
func report(t *testing.T, b *browser, p *plane.Plane) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	p.Run(nil, "ui", "--save", file)
	b.open("file://" + file)
	b.text("#link", "Saved", time.Minute)
	b.text("#tree", "demo-md-win", time.Minute)
	b.text("#detail", "Seen", time.Minute)
	b.tab("account")
	b.text("#view", "Quotas in use", time.Minute)
	b.tab("azure")
	b.shot("5-report")
}

// refused checks that a request with another origin, host or token gets 403.
func refused(t *testing.T, address string) {
	t.Helper()
	for name, edit := range map[string]func(*http.Request){
		"origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"host":   func(r *http.Request) { r.Host = "evil.example" },
		"token":  func(r *http.Request) { r.URL.Path = "/foreign/" },
	} {
		r, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		edit(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("a foreign %s gets %d", name, resp.StatusCode)
		}
	}
}
