package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestICACLS checks that icacls shows and changes access lists as lint rule WIN306 and the guide require, also for
// files below a folder.
func TestICACLS(t *testing.T) {
	m := newMachine(t, machine.Windows, machine.NSSM)
	if err := m.Root.MkdirAll(`C:\var\lib\kubelet\pods\a`); err != nil {
		t.Fatal(err)
	}
	sh := shell.New(m, nil, nil)
	for _, c := range []struct {
		script string
		has    []string
		lacks  string
		code   int
	}{
		{`icacls C:\var\lib\kubelet\pods`, []string{`C:\var\lib\kubelet\pods NT AUTHORITY\SYSTEM:(I)(OI)(CI)(F)`, `BUILTIN\Users:(I)(OI)(CI)(RX)`,
			"Successfully processed 1 files"}, "", 0},
		{`icacls C:\var\lib\kubelet\pods /inheritance:r /grant *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F`,
			[]string{`processed file: C:\var\lib\kubelet\pods`}, "", 0},
		{`icacls C:\var\lib\kubelet\pods`, []string{`NT AUTHORITY\SYSTEM:(OI)(CI)(F)`, `BUILTIN\Administrators:(OI)(CI)(F)`}, "Users", 0},
		{`icacls C:\var\lib\kubelet\pods\a`, []string{`NT AUTHORITY\SYSTEM:(I)(OI)(CI)(F)`}, "Users", 0},
		{`icacls C:\var\lib\kubelet`, []string{`BUILTIN\Users:(I)(OI)(CI)(RX)`}, "", 0},
		{`icacls C:\var\lib\kubelet\pods\a /deny Users:R`, []string{"processed file"}, "", 0},
		{`icacls C:\var\lib\kubelet\pods\a`, []string{`BUILTIN\Users:(DENY)(R)`}, "", 0},
		{`icacls C:\var\lib\kubelet\pods\a /reset`, []string{"processed file"}, "", 0},
		{`icacls C:\var\lib\kubelet\pods\a`, nil, "DENY", 0},
		{`icacls C:\none`, []string{"The system cannot find the file specified."}, "", 2},
		{`icacls C:\var /grant Users:nonsense-`, []string{"Invalid parameter"}, "", 87},
		{`icacls C:\var /save x`, []string{"casement does not simulate icacls /save"}, "", 127},
	} {
		var out bytes.Buffer
		code := sh.Cmd(t.Context(), c.script, shell.Session{Stdout: &out, Stderr: &out})
		for _, text := range c.has {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: %q lacks %q", c.script, out.String(), text)
			}
		}
		if code != c.code || c.lacks != "" && strings.Contains(out.String(), c.lacks) {
			t.Errorf("%s: exit code %d: %q", c.script, code, out.String())
		}
	}
	var out bytes.Buffer
	sh.PowerShell(t.Context(), `(Get-BitLockerVolume C:).ProtectionStatus; (Get-BitLockerVolume).VolumeStatus`,
		shell.Session{Stdout: &out, Stderr: &out})
	if out.String() != "Off\r\nFullyDecrypted\r\n" {
		t.Errorf("BitLocker: %q", out.String())
	}
}
