package shell_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

func newMachine(t testing.TB, osType, manager string) *machine.Machine {
	t.Helper()
	m, err := machine.New(machine.Spec{ID: "vm", Dir: t.TempDir(), OS: osType, ComputerName: "node-1",
		IPs:   []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: machine.Image{Name: "Image", Release: "1", Build: "6.8.0", ServiceManager: manager}}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func table() shell.Table {
	return shell.Table{
		"yes1": func(_ context.Context, p *shell.Process) int { p.Printf("yes\n"); return 0 },
		"fail": func(context.Context, *shell.Process) int { return 7 },
	}
}

func TestSh(t *testing.T) {
	for _, c := range []struct {
		name, script, out string
		code              int
	}{
		{"no -e", "fail\necho on", "on\n", 0},
		{"code of the last", "echo a; fail", "a\n", 7},
		{"and", "yes1 && echo b", "yes\nb\n", 0},
		{"and fails", "fail && echo b", "", 7},
		{"or", "fail || echo b", "b\n", 0},
		{"unknown", "nope", "sh: 1: nope: not found\n", 127},
		{"unknown by line", "\n\nnope x\necho $?", "sh: 3: nope: not found\n127\n", 0},
		{"redirect", "echo success > /run/x; cat /run/x; echo more >> /run/x; wc -l < /run/x", "success\n2\n", 0},
		{"redirect to nowhere", "echo a > /no/such/file; echo $?", "sh: 1: cannot create /no/such/file: Directory nonexistent\n2\n", 0},
		{"the flannel mac", `mac=$(ip -o link | grep eth0 | grep ether | awk '{ print $17 }'); echo "$mac"`, "00:0d:3a:01:00:04\n", 0},
		{"sed in place",
			"echo 'match: MACADDRESS' > /etc/n.yaml\nsed -i -e \"s/MACADDRESS/aa:bb/g\" /etc/n.yaml\ncat /etc/n.yaml",
			"match: aa:bb\n", 0},
		{"sed groups", `echo ab-12 | sed -E 's/([a-z]+)-([0-9]+)/\2 \1 &/'`, "12 ab ab-12\n", 0},
		{"sed basic", `echo 'a(b)' | sed 's/(b)/+/'`, "a+\n", 0},
		{"dash knows no [[", "[[ a = a ]] && echo yes", "sh: 1: [[: not found\n", 127},
		{"a loop on the sentinel",
			"for i in $(seq 1 3); do test -f /run/s && break; echo wait; touch /run/s; done; echo $?", "wait\n0\n",
			0},
		{"heredoc", "cat > /tmp/h <<EOF\nx $((1+2))\nEOF\ncat /tmp/h", "x 3\n", 0},
		{"syntax error after a command", "echo first\nif then", "first\n", 2},
		{"exit", "exit 3\necho no", "", 3},
		{"which", "command -v nope || echo none; command -v ip", "none\n/usr/bin/ip\n", 0},
		{"a substring to the end of numbers", `bash -c 'x=abcdef; echo ${x:1:9223372036854775807}[${x:9223372036854775807:9223372036854775807}]'`,
			"bcdef[]\n", 0},
		{"a place in an array that is itself", `bash -c 'a=(1); x="a[x]"; echo $((x))' 2>&1 | grep -c 'expression recursion level exceeded'`,
			"1\n", 0},
		{"script without x", "echo 'echo hi' > /tmp/s.sh; /tmp/s.sh", "sh: 1: /tmp/s.sh: Permission denied\n", 126},
		{"script", "printf '#!/bin/bash\\n[[ $1 = b ]] && echo hi $1\\n' > /tmp/s.sh; chmod +x /tmp/s.sh; /tmp/s.sh b", "hi b\n", 0},
		{"script with carriage returns",
			"printf '#!/bin/sh\\r\\necho hi\\r\\n' > /tmp/s.sh; chmod 755 /tmp/s.sh; /tmp/s.sh",
			"sh: 1: /tmp/s.sh: not found\n", 127},
		{"sh -c", `sh -c 'echo "$0 $1"' a b`, "a b\n", 0},
		{"bash -ec", "bash -ec 'false; echo no'; echo $?", "1\n", 0},
		{"no download", "curl -sSL https://example.com", "curl: this guest is simulated and downloads nothing\n", 6},
		{"hostname", "hostname && cat /etc/os-release | grep VERSION_ID", "node-1\nVERSION_ID=\"1\"\n", 0},
		{"services",
			"systemctl is-active kubelet; systemctl start kubelet; systemctl is-active kubelet; systemctl stop nope",
			"inactive\nactive\nFailed to stop nope.service: Unit nope.service not found.\n", 5},
		{"mkdir of what is there", "mkdir /etc; mkdir -p /etc && mkdir /a/b", "mkdir: cannot create directory " +
			"'/etc': File exists\nmkdir: cannot create directory '/a/b': No such file or directory\n", 1},
		{"dot dot", "head -n1 /../../../etc/passwd", "root:x:0:0:root:/root:/bin/bash\n", 0},
		{"process substitution", "bash -c 'cat <(echo a)'; ls /dev/fd", "a\n", 0},
		{"sudo", "sudo -E systemctl is-enabled kubelet", "enabled\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shell.New(newMachine(t, machine.Linux, ""), table(), nil)
			var out bytes.Buffer
			code := s.Sh(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &out})
			if got := out.String(); code != c.code || !strings.HasPrefix(got, c.out) || (c.code != 2 && got != c.out) {
				t.Errorf("got %q and %d, want %q and %d", got, code, c.out, c.code)
			}
		})
	}
}

// TestShStaysInsideTheGuest checks that the interpreter makes no temporary files outside of the guest's tree.
func TestShStaysInsideTheGuest(t *testing.T) {
	m := newMachine(t, machine.Linux, "")
	s := shell.New(m, nil, nil)
	name := "/tmp/sh-interp-casement-test"
	s.Sh(t.Context(), "echo ${TMPDIR:-unset} > "+name+"; ln -s /../../../../etc /tmp/l; echo x > /tmp/l/casement-test", shell.Session{})
	if data, err := m.Root.ReadFile(name); err != nil || string(data) != "unset\n" {
		t.Errorf("the guest has %q, %v", data, err)
	}
	for _, host := range []string{name, "/etc/casement-test"} {
		if _, err := os.Stat(host); err == nil {
			t.Errorf("the script wrote %s of the real machine", host)
		}
	}
}

func TestBatch(t *testing.T) {
	for _, c := range []struct {
		name, script, out string
		code              int
	}{
		{"no stop on error", "fail\r\necho next", "next\r\n", 7},
		{"errorlevel of the last program", "fail\r\nyes1", "yes\n", 0},
		{"echo keeps the errorlevel", "fail\r\necho %ERRORLEVEL%", "7\r\n", 7},
		{"and", "mkdir C:\\run\r\nyes1 && echo b > /run/x.txt\r\ntype \\run\\x.txt", "yes\nb \r\n", 0},
		{"and fails", "fail && echo b", "", 7},
		{"or", "fail || echo b", "b\r\n", 7},
		{"ampersand", "echo a& echo b", "a\r\nb\r\n", 0},
		{"unknown", "nope --x\r\n",
			"'nope' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n",
			9009},
		{"unknown does not stop", "nope\r\nyes1", "'nope' is not recognized as an internal or external command,\r\n" +
			"operable program or batch file.\r\nyes\n", 0},
		{"exit", "exit 3\r\necho no", "", 3},
		{"exit /b", "exit /b 1003\r\necho no", "", 1003},
		{"negative exit", "exit -2", "", -2},
		{"variables", "set A=1\r\necho %A%%B% 100%% %cd%", "1 100% C:\\Windows\\System32\r\n", 0},
		{"a lone percent is lost", "echo 50% off", "50 off\r\n", 0},
		{"append", "echo a>C:\\k\\f.txt\r\necho b>>c:/K/F.TXT\r\ntype c:\\k\\f.txt", "a\r\nb\r\n", 0},
		{"redirect to nowhere", "echo a > C:\\no\\such\\f.txt\r\necho next", "The system cannot find the path specified.\r\nnext\r\n", 0},
		{"nul", "yes1 > nul 2>&1", "", 0},
		{"stderr", "nope 2> C:\\k\\e.txt\r\nfindstr recognized C:\\k\\e.txt",
			"'nope' is not recognized as an internal or external command,\r\n", 0},
		{"call returns", "echo echo in>C:\\k\\s.cmd\r\ncall C:\\k\\s.cmd\r\necho out", "in\r\nout\r\n", 0},
		{"without call it ends", "echo echo in>C:\\k\\s.cmd\r\nC:\\k\\s.cmd\r\necho out", "in\r\n", 0},
		{"if exist", "if exist C:\\k\\kubeadm.exe echo yes\r\nif not exist C:/none echo no", "yes\r\nno\r\n", 0},
		{"if else", "if \"a\"==\"b\" (echo 1) else (echo 2)", "2\r\n", 0},
		{"if block", "if exist C:\\k (\r\necho 1\r\necho 2\r\n) else (\r\necho 3\r\n)", "1\r\n2\r\n", 0},
		{"errorlevel", "fail\r\nif errorlevel 8 echo 8\r\nif errorlevel 7 echo 7", "7\r\n", 7},
		{"goto", "goto end\r\necho no\r\n:end\r\necho yes", "yes\r\n", 0},
		{"goto without end", ":a\r\ngoto a",
			"the script was ended, because it runs more than 20000 lines (a bound of the simulation)\r\n", 1},
		{"caret", "echo a ^& b", "a & b\r\n", 0},
		{"pipe", "echo some text | findstr text", "some text \r\n", 0},
		{"mkdir -p makes -p", "mkdir -p C:\\a\\b\r\nif exist C:\\Windows\\System32\\-p echo trap", "trap\r\n", 0},
		{"mkdir with forward slashes", "mkdir /run/cluster-api", "The syntax of the command is incorrect.\r\n", 1},
		{"no unix commands", "ls",
			"'ls' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n",
			9009},
		{"nssm", "nssm set kubelet start SERVICE_DEMAND_START\r\nnssm get kubelet start",
			"Set parameter \"start\" for service \"kubelet\".\r\nSERVICE_DEMAND_START\r\n", 0},
		{"sc", "sc.exe config kubelet start= disabled\r\nsc start kubelet", "[SC] ChangeServiceConfig " +
			"SUCCESS\r\n[SC] StartService FAILED 1058:\r\n\r\nThe service cannot be started, either because it is disabled " +
			"or because it has no enabled devices associated with it.\r\n\r\n", 1058},
		{"powershell", "powershell -Command \"Write-Host hi\"", "hi\r\n", 0},
		{"echo is on", "@echo on\r\nyes1", "\r\nC:\\Windows\\System32>yes1 \r\nyes\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shell.New(newMachine(t, machine.Windows, ""), table(), nil)
			var out bytes.Buffer
			code := s.Batch(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &out, EchoOff: true})
			if code != c.code || out.String() != c.out {
				t.Errorf("got %q and %d, want %q and %d", out.String(), code, c.out, c.code)
			}
		})
	}
}

func TestNoNSSMOnNewerImages(t *testing.T) {
	m := newMachine(t, machine.Windows, machine.WindowsService)
	var heard bytes.Buffer
	s := shell.New(m, nil, nil)
	if code := s.Batch(t.Context(), "nssm set kubelet start SERVICE_AUTO_START", shell.Session{Stderr: &heard}); code != 9009 {
		t.Errorf("nssm returned %d: %s", code, heard.String())
	}
	script := `if (Test-Path C:\k\RestartKubelet.ps1) { C:\k\RestartKubelet.ps1 } else { nssm restart kubelet }`
	if code := s.PowerShell(t.Context(), script, shell.Session{}); code != 0 {
		t.Errorf("the upstream post command returned %d", code)
	}
	if row, _ := m.Services.Get("kubelet"); !row.Running {
		t.Error("kubelet does not run")
	}
}

func TestPowerShell(t *testing.T) {
	loop := `for ($i = 0; $i -lt 60; $i++) { if (Test-Path 'C:\run\cluster-api\bootstrap-success.complete') { ` +
		`exit 0 } else { Start-Sleep -Seconds 5 } } exit -2`
	encode := func(s string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = binary.LittleEndian.AppendUint16(b, u)
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	for _, c := range []struct {
		name, script, out string
		code              int
	}{
		{"cmdlet", "Write-Host \"a b\"", "a b\r\n", 0},
		{"comments", "# nothing\n<# more\n#>\nWrite-Output x # y", "x\r\n", 0},
		{"defender", "Add-MpPreference -ExclusionProcess C:/opt/cni/bin/calico.exe",
			"Add-MpPreference: simulated: no effect (no antivirus is simulated)\r\n", 0},
		{"the external network", "ipmo C:\\k\\debug\\hns.psm1;\nNew-HnsNetwork -Type Overlay -AddressPrefix " +
			"\"192.168.255.0/30\" -Name \"External\" -SubnetPolicies @(@{Type = \"VSID\"; VSID = 9999; })\nGet-" +
			"HnsNetwork", "\r\nName     Type\r\n----     ----\r\nExternal Overlay\r\nExternal Overlay\r\n\r\n", 0},
		{"secrets are not named", "$password = 'hunter2'; Get-Nothing -Password $password", "casement does not " +
			"simulate the cmdlet Get-Nothing, if the image has one of that name; nothing of the script was run\r\nAt " +
			"line:1 char:24\r\n", 1},
		{"the sentinel is not there", loop, "", -2},
		{"the sentinel is there", "New-Item -Path C:\\run\\cluster-api -ItemType Directory | Out-Null; $null = " +
			"New-Item -Path C:\\run\\cluster-api\\bootstrap-success.complete", "", 0},
		{"condition", "if (-not (Test-Path C:\\none)) { Write-Host no\nWrite-Host really }", "no\r\nreally\r\n", 0},
		{"else", "if (Test-Path C:\\none) { Write-Host 1 }\nelse { Write-Host 2 }", "2\r\n", 0},
		{"unknown", "frobit x", "frobit : The term 'frobit' is not recognized as the name of a cmdlet, " +
			"function, script file, or operable program. Check the spelling of the name, or if a path was " +
			"included, verify that the path is correct and try again.\r\nAt line:1 char:1\r\n    + " +
			"CategoryInfo          : ObjectNotFound: (frobit:String) [], CommandNotFoundException\r\n    + " +
			"FullyQualifiedErrorId : CommandNotFoundException\r\n", 1},
		{"exit", "exit 4; Write-Host no", "", 4},
		{"native code", "fail", "", 1},
		{"services", "Stop-Service kubelet; Get-Service -Name kubelet", "\r\n" +
			"Status   Name               DisplayName\r\n------   ----               -----------\r\n" +
			"Stopped  kubelet            kubelet\r\n\r\n", 0},
		{"encoded", "powershell -NoProfile -ExecutionPolicy Bypass -EncodedCommand " + encode("Write-Host hi"), "hi\r\n", 0},
		{"no download", "Invoke-WebRequest -Uri https://x -OutFile C:\\x", "Invoke-WebRequest : Unable to " +
			"connect to the remote server: this guest is simulated and downloads nothing\r\nAt line:1 " +
			"char:1\r\n    + CategoryInfo          : NotSpecified: (:) [Invoke-WebRequest], WebException\r\n" +
			"    + FullyQualifiedErrorId : WebCmdletWebResponseException,Microsoft.PowerShell.Commands.InvokeWebRequestCommand\r\n", 1},
		{"environment", "Write-Host $env:COMPUTERNAME", "NODE-1\r\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shell.New(newMachine(t, machine.Windows, ""), table(), nil)
			var out bytes.Buffer
			code := s.PowerShellCommand(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &out})
			if code != c.code || out.String() != c.out {
				t.Errorf("got %q and %d, want %q and %d", out.String(), code, c.out, c.code)
			}
			if c.name == "the sentinel is there" {
				if code := s.PowerShell(t.Context(), loop, shell.Session{}); code != 0 {
					t.Errorf("the loop on the sentinel returned %d", code)
				}
			}
		})
	}
}

func FuzzBatch(f *testing.F) {
	for _, s := range []string{"echo a && b || c & d", "if exist x (a) else (b)", "echo a>b>>c<d 2>&1",
		"set a=%b%\r\ngoto x", "((((", "if a==", ">", "for %i in (*) do x", "call", "a^"} {
		f.Add(s)
	}
	s := shell.New(newMachine(f, machine.Windows, ""), table(), nil)
	f.Fuzz(func(t *testing.T, script string) {
		s.Batch(t.Context(), script, shell.Session{})
	})
}

func FuzzPowerShell(f *testing.F) {
	for _, s := range []string{
		"if (Test-Path a) { b } else { c }", "$x = @{a=1}", "a 'b", "<# x", "`", "powershell -e", "cd ..", "& { x }",
	} {
		f.Add(s)
	}
	s := shell.New(newMachine(f, machine.Windows, ""), table(), nil)
	f.Fuzz(func(t *testing.T, script string) {
		s.PowerShell(t.Context(), script, shell.Session{})
	})
}
