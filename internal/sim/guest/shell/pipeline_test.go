package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestPipelines runs the commands that an operator types when a node does not work.
func TestPipelines(t *testing.T) {
	m := newMachine(t, machine.Windows, machine.NSSM)
	for name, text := range map[string]string{
		`C:\etc\cni\net.d\10-calico.conflist`:                      `{"plugins":[{"type":"calico"}]}`,
		`C:\var\log\kubelet\kubelet.log`:                           "one error\r\ntwo\r\nthree ERROR\r\n",
		`C:\var\log\pods\kube-system_proxy-1_uid\kube-proxy\0.log`: "proxied\r\n",
	} {
		if err := m.Root.MkdirAll(name[:strings.LastIndex(name, `\`)]); err != nil {
			t.Fatal(err)
		}
		if err := m.Root.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.Services.StartAutomatic()
	sh := shell.New(m, nil, nil)
	for _, c := range []struct{ name, script, out string }{
		{"where by block", `Get-Service | Where-Object { $_.Status -ne 'Running' -and $_.StartType -eq ` +
			`"Automatic" } | Select-Object -ExpandProperty Name`, ""},
		{"where by name", `Get-Service | where Name -eq sshd | select Name,Status`,
			"\r\nName Status\r\n---- ------\r\nsshd Running\r\n\r\n"},
		{"or", `Get-Service | ? { $_.Name -eq 'sshd' -or $_.Name -like 'kube*' } | % Name`, "kubelet\r\nsshd\r\n"},
		{"not", `Get-Service kubelet,sshd | ? { -not ($_.Name -match '^ku') } | % { $_.Name }`, "sshd\r\n"},
		{"member", `(Get-Service kubelet).Status`, "Running\r\n"},
		{"count", `(Get-HnsNetwork | where Name -ne External).Count`, "1\r\n"},
		{"no HNS endpoint of a machine without pods", `(Get-HnsEndpoint).Count`, "0\r\n"},
		{"index", `(Get-Content C:\var\log\kubelet\kubelet.log)[-1]`, "three ERROR\r\n"},
		{"measure", `Get-Content C:\var\log\kubelet\kubelet.log | Measure-Object | select -ExpandProperty Count`, "3\r\n"},
		{"last", `Get-Content C:\var\log\kubelet\kubelet.log | Select-Object -Last 1`, "three ERROR\r\n"},
		{"select-string", `Get-Content C:\var\log\kubelet\kubelet.log | Select-String error`, "one error\r\nthree ERROR\r\n"},
		{"a native behind it", `Get-Content C:\var\log\kubelet\kubelet.log | findstr ERROR`, "three ERROR\r\n"},
		{"a native before it", `hostname | select-string node`, "node-1\r\n"},
		{"json", `Get-Service sshd | select Name,Status | ConvertTo-Json -Compress`, `{"Name":"sshd","Status":"Running"}` + "\r\n"},
		{"json of many", `Get-HnsNetwork | select Name | ConvertTo-Json -Compress`, `[{"Name":"Calico"},{"Name":"External"}]` + "\r\n"},
		{"list", `Get-Service sshd | fl Name,Status`, "\r\nName   : sshd\r\nStatus : Running\r\n\r\n"},
		{"table without heads", `Get-HnsNetwork | sort Name -Descending | ft -HideTableHeaders Name`, "\r\nExternal\r\nCalico\r\n\r\n"},
		{"group", `Get-Service | group StartType | where Name -eq Manual | % Name`, "Manual\r\n"},
		{"to a file", `Get-HnsNetwork | % Name | Out-File C:\k\nets.txt; Get-Content C:\k\nets.txt`, "Calico\r\nExternal\r\n"},
		{"redirected", `Get-HnsNetwork | % Name > C:\k\more.txt; type C:\k\more.txt`, "Calico\r\nExternal\r\n"},
		{"nowhere", `Get-Service | Out-Null`, ""},
		{"files", `Get-ChildItem C:\var\log\kube* | % FullName`, `C:\var\log\kubelet\kubelet.log` + "\r\n"},
		{"variables", `$env:COMPUTERNAME; "in $env:SystemDrive"`, "NODE-1\r\nin C:\r\n"},
		{"a pipe in quotes", `write-output "a | b"`, "a | b\r\n"},
		{"containers", `crictl ps | select-string kube-proxy; crictl logs kube-proxy`,
			"kube-proxy                   kube-system/proxy-1\r\nproxied\r\n"},
		{"no such container", `crictl logs nope`, "crictl: no container is called \"nope\": see crictl ps\n"},
		{"volume", `(Get-Volume C).SizeRemaining`, "107374182400\r\n"},
		{"missing service", `Get-Service nope | % Name`, "Get-Service : Cannot find any service with service " +
			"name 'nope'.\r\nAt line:1 char:1\r\n    + CategoryInfo          : ObjectNotFound: (nope:String) [Get-Service], " +
			"ServiceCommandException\r\n    + FullyQualifiedErrorId : " +
			"NoServiceFoundForGivenName,Microsoft.PowerShell.Commands.GetServiceCommand\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			sh.PowerShell(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &out})
			if got := out.String(); got != c.out {
				t.Errorf("got %q, want %q", got, c.out)
			}
		})
	}
}

// FuzzPipeline checks that the shell returns for any input.
func FuzzPipeline(f *testing.F) {
	for _, s := range []string{`Get-Service | where Name -eq x | select -First 1`, `(Get-HnsNetwork).Count`, `((`,
		`a | { | }`, `Get-Content x | % { $_.Y }`, `(dir)[-9].Name`} {
		f.Add(s)
	}
	m := newMachine(f, machine.Windows, machine.NSSM)
	sh := shell.New(m, nil, nil)
	f.Fuzz(func(t *testing.T, script string) {
		if strings.Contains(strings.ToLower(script), "-wait") {
			return // the script waits until its context ends
		}
		if code := sh.PowerShell(t.Context(), script, shell.Session{}); code < 0 && strings.TrimSpace(script) == "" {
			t.Errorf("nothing ended with %d", code)
		}
	})
}
