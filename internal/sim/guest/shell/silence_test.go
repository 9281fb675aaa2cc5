package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// unmodelled are expressions of PowerShell that are not simulated.
var unmodelled = []string{
	"(Get-Clipboard)", "(Get-Content C:\\k -Credential)", "[System.Xml.XmlWriter]::Create('x')", "'a'.EnumerateRunes()",
	"(Get-Service kubelet).ServicesDependedOn",
	"(New-Object -ComObject X)", "(Get-Item Cert:\\x)", "([System.Diagnostics.Process]::GetCurrentProcess())",
	"(Get-Date).ToOADate()", "(ConvertTo-Json { 1 })", "([xml]'<a/>')",
}

// holes are statements with a % in place of an expression. Each ends with success unless the expression ends it.
var holes = []string{
	"%", "$x = %; \"got $x\"", "% | Set-Content C:\\k\\never.txt", "% > C:\\k\\never.txt",
	"try { % } catch { 'hidden' } finally { 'end' }", "if (%) { 'yes' } else { 'no' }", "% 2>$null",
	"& { % } *> $null", "1..2 | ForEach-Object { % }",
	"1..2 | Where-Object { % }", "foreach ($i in %) { $i }", "switch (%) { default { 'd' } }",
	"function f { % }; f", "\"text $(%)\"", "@{ a = % }", "@(%, 1)", "while (%) { break }",
	"Write-Output (%) -ErrorAction SilentlyContinue",
	"trap { continue }\n%", "$ErrorActionPreference = 'SilentlyContinue'; %", "Invoke-Expression '%'", "return %",
	"$a = 1, (%)", "Set-Content -Path C:\\k\\never.txt -Value (%)", "(% -eq 1) -or $true", "[string](%)",
	"$h = @{}; $h[%] = 1", "& (%)",
	"1 | Select-Object @{ n = 'a'; e = { % } }", "3,1 | Sort-Object { % }", "'a' | Group-Object { % }", "exit (%)",
	"throw (%)", "Start-Sleep (%)", "'x' -replace 'x', (%)", "1 | Select-Object -Unique -Property { % }",
}

// FuzzNoSilence checks that a feature that is not simulated never passes silently, wherever it is used: the script
// ends with its name and a code other than zero, and nothing after it runs.
func FuzzNoSilence(f *testing.F) {
	for i := range holes {
		f.Add(uint8(i), uint8(i), uint8(3*i+1))
	}
	f.Fuzz(func(t *testing.T, outer, inner, what uint8) {
		expression := unmodelled[int(what)%len(unmodelled)]
		first, second := holes[int(outer)%len(holes)], holes[int(inner)%len(holes)]
		within := strings.ReplaceAll(second, "%", expression)
		text := strings.ReplaceAll(first, "%", expression)
		if !strings.Contains(first, "'%'") && !strings.Contains(second, "'%'") && strings.Contains(first, "{ % }") {
			text = strings.ReplaceAll(first, "%", within)
		}
		if strings.Contains(first, "'%'") || strings.Contains(second, "'%'") {
			text = strings.ReplaceAll(first, "%", "Get-Clipboard")
		}
		text += "\n'beyond' | Set-Content C:\\k\\never.txt"
		m := newMachine(t, machine.Windows, "")
		var out bytes.Buffer
		code := shell.New(m, nil, nil).PowerShell(t.Context(), text, shell.Session{Stdout: &out, Stderr: &out})
		if code == 0 || !strings.Contains(out.String(), "casement does not simulate") {
			t.Errorf("%q ended with %d and %q", text, code, out.String())
		}
		if data, err := m.Root.ReadFile(`C:\k\never.txt`); err == nil && len(data) > 2 {
			t.Errorf("%q wrote %q", text, data)
		}
	})
}

// FuzzSilentText checks for any text that the script has an exit code other than zero if it reports a missing
// feature.
func FuzzSilentText(f *testing.F) {
	for _, group := range [][]script{languageScripts, guestScripts, missingScripts} {
		for _, c := range group {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if low := strings.ToLower(text); strings.Contains(low, "-w") || strings.Contains(low, "powershell") ||
			strings.Contains(low, "cmd") || strings.Contains(low, "start-process") {
			return // the script waits, or the code is another process's
		}
		m := newMachine(t, machine.Windows, "")
		var out bytes.Buffer
		code := shell.New(m, nil, nil).PowerShell(t.Context(), text, shell.Session{Stdout: &out, Stderr: &out})
		if code == 0 && strings.Contains(out.String(), "the script ends here") {
			t.Errorf("%q ended well and printed %q", text, out.String())
		}
	})
}
