package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestWindowsPrograms compares Windows' programs with their documentation
// (learn.microsoft.com/windows-server/administration/windows-commands) and with the facts in Wine's tests of them:
// for each line, the exit code and a part of the output.
func TestWindowsPrograms(t *testing.T) {
	const files = "md d\\sub e\n(echo One& echo two)>f.txt\necho One>g.txt\necho x>d\\a.txt\necho y>d\\sub\\b.txt\ncd .\n"
	for _, c := range []struct {
		line string
		code int
		out  string // a part of the output
	}{
		{"tasklist", 0, "Image Name                     PID Session Name        Session#    Mem Usage\r\n"},
		{"tasklist", 0, "tasklist.exe "},
		{"tasklist /nh /fo csv /fi \"PID eq 4\"", 0, "\"System\",\"4\",\"Services\",\"0\","},
		{"tasklist /fi \"imagename eq tasklist.exe\" /fo list", 0, "Image Name:   tasklist.exe\r\n"},
		{"tasklist /fi \"IMAGENAME eq nope.exe\"", 0, "INFO: No tasks are running"},
		{"tasklist /fi \"PID lt\"", 1, "ERROR: The search filter cannot be recognized."},
		{"tasklist /fi \"USERNAME eq x\"", 1, "does not simulate"},
		{"tasklist /fo", 1, "ERROR: Invalid syntax."},
		{"tasklist /fo invalid", 1, "ERROR: Invalid syntax."},
		{"taskkill /f /im nope.exe", 128, "ERROR: The process \"nope.exe\" not found."},
		{"taskkill /im kubelet.exe", 1, "does not simulate the end of the process kubelet.exe"},
		{"taskkill /f", 1, "Neither /FI nor /PID nor /IM"},
		{"xcopy d\\a.txt e", 0, "d\\a.txt\r\n1 File(s) copied\r\n"},
		{"xcopy f.txt d\\a.txt", 4, "does not simulate the question of xcopy whether to overwrite"},
		{"xcopy d e/s/y", 0, "d\\a.txt\r\nd\\sub\\b.txt\r\n2 File(s) copied\r\n"},
		{"xcopy d new\\/e/q", 0, "2 File(s) copied\r\n"},
		{"xcopy d new", 4, "does not simulate the question"},
		{"xcopy d e /d", 4, "does not simulate xcopy /d"},
		{"xcopy nope e", 4, "File not found - nope"},
		{"xcopy d e /ww1", 4, "Invalid switch - /ww1"},
		{"attrib +r f.txt & xcopy f.txt e & attrib -r e\\f.txt & del e\\f.txt & dir /b e", 0, ""},
		{"fc f.txt f.txt", 0, "FC: no differences encountered\r\n\r\n"},
		{"fc f.txt g.txt", 1, "***** f.txt\r\ntwo\r\n***** G.TXT\r\n*****\r\n\r\n"},
		{"fc nope g.txt", 2, "FC: cannot open NOPE"},
		{"find \"One\" f.txt", 0, "\r\n---------- F.TXT\r\nOne\r\n"},
		{"find One f.txt", 2, "FIND: Parameter format not correct"},
		{"find \"x", 2, "FIND: Parameter format not correct"},
		{"find \"One\" f.txt nope.txt", 0, "File not found - NOPE.TXT"},
		{"findstr /m One *.txt", 0, "f.txt\r\ng.txt\r\n"},
		{"findstr /n \"^t.o$\" f.txt", 0, "2:two\r\n"},
		{"set /p x=two<nul>h.txt & findstr two$ h.txt", 1, ""},
		{"findstr /s One *.txt", 2, "does not simulate findstr /s"},
		{"net user bob P@ssw0rd1 /add >nul & net user bob x /add", 2, "NET HELPMSG 2224"},
		{"fsutil file createnew z.bin 100", 127, "does not simulate fsutil file"},
		{"reg add HKCU\\A /v x /d 1 /f >nul & reg copy HKCU\\A HKCU\\B /s /f & reg query HKCU\\B", 1, "does not simulate reg copy"},
		{"reg add HKCU\\A /v x /d 1 /f /reg:32 & reg query HKCU\\A", 1, "does not simulate reg /reg:32"},
		{"reg export HKCU\\Environment a.reg /y & reg import a.reg & dir /b a.reg", 1, "does not simulate reg export"},
		{"net stop nosuch", 2, "NET HELPMSG 2185"},
		{"net start kubelet", 2, "NET HELPMSG 2182"},
		{"net stop kubelet", 0, "The kubelet service was stopped successfully.\r\n"},
		{"schtasks /create /tn T /tr c:\\a.exe /sc onstart", 0, "SUCCESS: The scheduled task \"T\" has successfully been created.\r\n"},
		{"schtasks /create /tn T /sc daily", -2147467259, "'tr' is missing"},
		{"schtasks /change /tn T /enable", 1, "ERROR: The system cannot find the file specified."},
		{"schtasks /delete /tn T /f", 1, "ERROR: The system cannot find the file specified."},
		{"schtasks /create /tn T /tr x /sc daily >nul & schtasks /delete /tn T /f", 0, "was successfully deleted"},
		{"schtasks /query", 1, "does not simulate"},
		{"sc create X binpath= c:\\x.exe depend= X", 1059, "Circular service dependency"},
		{"sc query type= service state= all", 1, "does not simulate"},
		{"reg add HKCU\\ /v A /d x /f", 1, "ERROR: Invalid key name."},
		{"reg add HKCU\\K /v Q /t REG_QWORD /f >nul & reg query HKCU\\K /v Q", 0, "REG_QWORD    0x0\r\n"},
		{"reg add HKCU\\K /v Q /t REG_QWORD /d -1 /f >nul & reg query HKCU\\K /v Q", 0, "0xffffffffffffffff\r\n"},
		{"reg add HKCU\\K /v Q /t REG_QWORD /d -0x1 /f", 1, "Specify valid numeric value"},
		{"reg add /?", 1, "does not simulate the help of reg"},
		{"netsh nosuch", 1, "The following command was not found: nosuch."},
		{"netsh interface show interface", 1, "does not simulate netsh interface show interface"},
		{"ipconfig /displaydns", 1, "does not simulate ipconfig /displaydns"},
		{"systeminfo /fo csv", 1, "does not simulate systeminfo /fo"},
		{"help dir", 127, "does not simulate help"},
		{"cmd /v:on/c echo a", 0, "a\r\n"},
		{"copy d e & dir /b e", 0, "d\\a.txt\r\n        1 file(s) copied.\r\na.txt\r\n"},
		{"copy f.txt+g.txt h.txt", 0, "f.txt\r\ng.txt\r\n        1 file(s) copied.\r\n"},
		{"copy nul n.txt & dir /b n.txt", 0, "        1 file(s) copied.\r\nn.txt\r\n"},
		{"move *.txt new & dir /b *.txt", 0, "f.txt\r\ng.txt\r\n"},
		{"move d e", 0, "        1 dir(s) moved.\r\n"},
		{"ren *.txt *.bak & dir /b *.bak", 0, "f.bak\r\ng.bak\r\n"},
		{"echo n| del d & dir /b d\\a.txt", 0, "a.txt\r\n"},
		{"del d & dir /b d\\a.txt", 0, "a.txt\r\n"},
		{"del /s d\\*.txt", 0, "\\d\\a.txt\r\nDeleted file - "},
		{"echo n| rd /s d & dir /b d\\a.txt", 0, "a.txt\r\n"},
		{"echo y| rd /s d & dir /b d", 1, "Are you sure (Y/N)? "},
		{"echo z>[f].txt & del [fg].txt & dir /b f.txt", 0, "f.txt\r\n"},
		{"type *.txt 2>nul", 0, "One\r\ntwo\r\nOne\r\n"},
		{"sc config kubelet start= delayed-auto & sc qc kubelet", 0, "START_TYPE         : 2   AUTO_START  (DELAYED)\r\n"},
		{"sc create d binPath= c:\\d.sys type= kernel start= boot", 1, "does not simulate sc start= boot and system"},
		{"reg add HKCU\\K /v B /t REG_BINARY /d 0aFF /f & reg query HKCU\\K /v B", 0, "B    REG_BINARY    0AFF\r\n"},
		{"sc queryex kubelet", 0, "PID                : 1"},
		{"schtasks /delete /tn * /f", 1, "does not simulate schtasks with the pattern *"},
		{"schtasks /create /tn T /tr x /sc daily /st 25:00", 1, "does not simulate schtasks /st"},
		{"cmd /cecho b", 0, "b\r\n"},
		{"call :label one & goto :eof\r\n:label\r\necho %0 %1 %~n0", 0, ":label one run\r\n"},
		{"(for /f \"tokens=1,2*,4\" %%i in (\"a b\") do echo %%i) || echo failed", 1, "failed\r\n"},
		{"for /f \"skip=1\ttokens=1\" %%i in (f.txt) do echo %%i", 0, "two\r\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, machine.Windows, machine.NSSM)
			m.Services.StartAutomatic()
			var out bytes.Buffer
			o := shell.Session{Stdout: &out, Stderr: &out, EchoOff: true, Name: `C:\Windows\Temp\run.cmd`, Dir: `C:\Windows\Temp`}
			text := strings.ReplaceAll(files+c.line, "\r\n", "\n")
			code := shell.New(m, nil, nil).Batch(t.Context(), strings.ReplaceAll(text, "\n", "\r\n"), o)
			if code != c.code || !strings.Contains(out.String(), c.out) {
				t.Errorf("got %d and %q, want %d and %q", code, out.String(), c.code, c.out)
			}
		})
	}
}
