// Package repair has the table of the faults that are repaired in place on a Windows node, and generates from it the
// script of the addon windows-node-repair, the remedies of `casement doctor --fix` and a page.
//
// It renders text, accesses no cluster and runs nothing. internal/addons, internal/diagnose, internal/cli and tests may import it.
package repair

import (
	_ "embed" // embeds agent.ps1
	"fmt"
	"strings"
	"text/template"
)

// Condition is the condition of a Node that the addon sets: False while there is no fault that it could not repair,
// True, with the repair's name as reason, once a limit is reached. A MachineHealthCheck then replaces the machine.
const Condition = "WindowsRepairFailed"

// Annotation marks a node that the addon has cordoned, so that the addon uncordons it.
const Annotation = "casement.dev/repair-cordoned"

// Repair is a fault of a Windows node that is repaired without replacing the node.
type Repair struct {
	// Name is the reason of events and of the condition.
	Name string
	// Cause is the cause in package diagnose/walk for which this is the remedy; "" if no probe finds it.
	Cause string
	// Fault describes the fault, and Does the repair.
	Fault, Does string
	// Problem is a condition of node-problem-detector that also triggers the repair.
	Problem string
	// Look is PowerShell that writes evidence of the fault, and nothing if there is none. It can use $node and $pods,
	// the Node and its pods.
	Look string
	// Step is PowerShell that repairs the fault. It may use $addresses, the addresses of the node's pods.
	Step string
	// Times is the maximum number of runs of the step within Minutes; after that the addon gives up.
	Times, Minutes int
	// Breaks is true if the step breaks connections of pods, so that the node is drained first.
	Breaks bool
	// Source is the URL of the source.
	Source string
}

// SpareEndpoints is the number of HNS endpoints of a node, in addition to two for each of its pods, up to which there
// is no fault.
const SpareEndpoints = 64

// kubeProxy is PowerShell that restarts kube-proxy, which is a service of the node or a HostProcess container that
// kubelet restarts.
const kubeProxy = "if (Get-Service kube-proxy -ErrorAction SilentlyContinue) { Restart-Service kube-proxy -Force } " +
	"else { Get-Process kube-proxy -ErrorAction SilentlyContinue | Stop-Process -Force }"

const crictl = "crictl.exe -r npipe:////./pipe/containerd-containerd -t 20s"

// stopped returns PowerShell that reports that a service is not running.
func stopped(service string) string {
	return "$s = Get-Service " + service + " -ErrorAction SilentlyContinue\n" +
		`if ($s -and "$($s.Status)" -ne 'Running') { "the service ` + service + ` is $($s.Status)" }`
}

// Repairs returns the table, in the order in which faults are checked: faults that cause others come first.
func Repairs() []Repair {
	return []Repair{
		{Name: "ContainerdStopped", Fault: "the service containerd does not run, or does not answer",
			Does: "starts with the machine again, and is restarted", Problem: "ContainerRuntimeUnhealthy",
			Look: stopped("containerd"),
			Step: "Set-Service containerd -StartupType Automatic\nRestart-Service containerd -Force\nStart-Service kubelet",

			Times: 3, Minutes: 30, Source: "https://github.com/Azure/AKS/issues/3177"},
		{Name: "KubeletStopped", Fault: "the service kubelet does not run, or does not answer",
			Does: "starts with the machine again, and is restarted", Problem: "KubeletUnhealthy",
			Look: stopped("kubelet"),
			Step: "Set-Service kubelet -StartupType Automatic\nRestart-Service kubelet -Force",

			Times: 3, Minutes: 30, Source: "https://github.com/Azure/AKS/issues/1461"},
		{Name: "HNSStopped", Cause: "HNSStopped", Fault: "the Host Networking Service does not run, or has no network",
			Does: "HNS and kube-proxy are restarted", Problem: "HostNetworkUnhealthy",
			Look: stopped("hns"),
			Step: "Restart-Service hns -Force\n" + kubeProxy,

			Times: 2, Minutes: 60, Breaks: true, Source: "https://github.com/microsoft/Windows-Containers/issues/278"},
		{Name: "SourceVIPInvalid", Cause: "SourceVIPMissing", Fault: "the source VIP that kube-proxy has cached is no JSON",
			Does: "sourceVip.json is deleted and kube-proxy restarted",
			Look: `$vip = Get-Content C:\sourcevip\sourceVip.json -Raw -ErrorAction SilentlyContinue
if ($vip) { try { $null = ConvertFrom-Json $vip } catch { 'C:\sourcevip\sourceVip.json is no JSON' } }`,
			Step: "Remove-Item C:\\sourcevip\\sourceVip.json -Force\n" + kubeProxy,

			Times: 2, Minutes: 60, Breaks: true, Source: "https://kubernetes.io/docs/tasks/debug/debug-cluster/windows"},
		{Name: "SourceVIPStale", Cause: "SourceVIPStale", Fault: "the source VIP that kube-proxy has cached is not in the range of pods",
			Does: "sourceVip.json is deleted and kube-proxy restarted",
			Look: `$vip = try { (Get-Content C:\sourcevip\sourceVip.json -Raw -ErrorAction Stop | ConvertFrom-Json).ip4.ip -replace '/.*' } catch { }
if ($vip -and $ranges -and -not ($ranges | Where-Object { Test-Within $vip $_ })) { "source VIP $vip is not in $($ranges -join ',')" }`,
			Step: "Remove-Item C:\\sourcevip\\sourceVip.json -Force\n" + kubeProxy,

			Times: 2, Minutes: 60, Breaks: true, Source: "https://kubernetes.io/docs/tasks/debug/debug-cluster/windows"},
		{Name: "EndpointsStale", Cause: "HNSLeak", Fault: fmt.Sprintf("there are more HNS endpoints than %d and two for each pod",
			SpareEndpoints),
			Does: "those of no pod are removed, HNS and kube-proxy restarted",
			Look: fmt.Sprintf(`$n = @(Get-HnsEndpoint | Where-Object IsRemoteEndpoint -NE $true).Count
if ($n -gt 2 * @($pods).Count + %d) { "$n HNS endpoints for $(@($pods).Count) pods" }`, SpareEndpoints),
			Step: "Get-HnsEndpoint | Where-Object { $_.IsRemoteEndpoint -ne $true -and $addresses -notcontains $_.IPAddress } | " +
				"Remove-HnsEndpoint\nRestart-Service hns -Force\n" + kubeProxy,

			Times: 2, Minutes: 60, Breaks: true, Source: "https://github.com/microsoft/Windows-Containers/issues/278"},
		{Name: "ShimHangs", Fault: "a pod is there two minutes after its deadline: its shim hangs",
			Does: "the shim of that pod is ended",
			Look: `$pods | Where-Object { Test-Overdue $_ } | ForEach-Object { "$($_.metadata.namespace)/$($_.metadata.name) should have ended" }`,
			Step: `foreach ($pod in @($pods | Where-Object { Test-Overdue $_ })) {
  foreach ($sandbox in @(` + crictl + ` pods -q --namespace $pod.metadata.namespace --name $pod.metadata.name)) {
    Get-CimInstance Win32_Process -Filter "Name = 'containerd-shim-runhcs-v1.exe'" |
      Where-Object { $_.CommandLine -like "* -id $sandbox*" } | ForEach-Object { Stop-Process -Id $_.ProcessId -Force }
  }
}`,
			Times: 3, Minutes: 60, Source: "https://github.com/containerd/containerd/issues/6464"},
		{Name: "DiskFull", Fault: "less than a tenth of C: is free",
			Does: "images that nothing uses, old logs, dumps and temporary files are deleted",
			Look: `$c = Get-CimInstance Win32_LogicalDisk | Where-Object DeviceID -EQ 'C:'
if ($c.FreeSpace -lt $c.Size / 10) { "$([math]::Round($c.FreeSpace / 1073741824, 1)) GiB of C: are free" }`,
			Step: crictl + ` rmi --prune
Get-ChildItem 'C:\var\log\kubelet\*.log.*', 'C:\var\log\containerd\*.log.*',
    'C:\LocalDumps\*', 'C:\Windows\Temp\*' -ErrorAction SilentlyContinue |
  Where-Object { $_.LastWriteTime -lt (Get-Date).AddDays(-1) } | Remove-Item -Recurse -Force -ErrorAction SilentlyContinue`,

			Times: 2, Minutes: 60, Source: "https://kubernetes.io/docs/concepts/architecture/garbage-collection"},
	}
}

// Find returns the repair of a cause of package diagnose/walk.
func Find(cause string) (Repair, bool) {
	for _, r := range Repairs() {
		if r.Cause == cause && cause != "" {
			return r, true
		}
	}
	return Repair{}, false
}

//go:embed agent.ps1
var agent string

// Script returns the PowerShell script of the addon.
func Script() string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	body := func(s string) string { return "{\n      " + strings.ReplaceAll(s, "\n", "\n      ") + "\n    }" }
	t := template.Must(template.New("agent.ps1").Delims("<#=", "#>").Funcs(template.FuncMap{"quote": quote, "body": body}).Parse(agent))
	var b strings.Builder
	if err := t.Execute(&b, map[string]any{"Repairs": Repairs(), "Condition": Condition, "Annotation": Annotation}); err != nil {
		panic(err) // the script is embedded, and a test renders it
	}
	return b.String()
}

// Page returns the table as Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString("| reason | condition | step | at most | drains first | also asked for by | source |\n|---|---|---|---|---|---|---|\n")
	for _, r := range Repairs() {
		drains, problem := "no", "-"
		if r.Breaks {
			drains = "yes"
		}
		if r.Problem != "" {
			problem = "`" + r.Problem + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d in %d minutes | %s | %s | [source](%s) |\n",
			r.Name, r.Fault, r.Does, r.Times, r.Minutes, drains, problem, r.Source)
	}
	return b.String()
}
