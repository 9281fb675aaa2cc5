package powershell

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/powershell"
)

var (
	pwsh    = flag.String("pwsh", "", "a PowerShell whose parser judges that of guests")
	scripts = flag.String("scripts", "", "a folder of scripts to parse as well as our own")
)

// realParser writes the result of the real parser for each script of a folder.
const realParser = `param($dir, $to)
$all = @{}
foreach ($file in Get-ChildItem -LiteralPath $dir -Filter *.ps1) {
    $tokens = $errors = $null
    $tree = [System.Management.Automation.Language.Parser]::ParseFile($file.FullName, [ref]$tokens, [ref]$errors)
    $count = { param($kind) @($tree.FindAll({ param($n) $n.GetType().Name -eq $kind }.GetNewClosure(), $true)).Count }
    $all[$file.Name] = @{ errors = $errors.Count; commands = & $count CommandAst; functions = & $count FunctionDefinitionAst
        assignments = & $count AssignmentStatementAst }
}
$all | ConvertTo-Json -Depth 3 | Set-Content -LiteralPath $to
`

// TestParser checks that guests parse the same scripts as the real PowerShell, into the same number
// of commands, functions and assignments. A script that a guest refuses by name counts as refused
// by it.
func TestParser(t *testing.T) {
	if *pwsh == "" {
		t.Skip("asks a PowerShell of this machine: make e2e-powershell PWSH=pwsh (and SCRIPTS=folder)")
	}
	all := map[string]string{}
	builds(t, all)
	manifests(t, all)
	templates(t, all)
	if *scripts != "" {
		err := filepath.WalkDir(*scripts, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".ps1") && !strings.HasSuffix(path, ".psm1") {
				return err
			}
			data, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, *scripts)] = powershell.Text(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // the real parser may run as another user
		t.Fatal(err)
	}
	names := map[string]string{}
	for name, text := range all {
		file := strings.NewReplacer("/", "-", " ", "-").Replace(name) + ".ps1"
		names[file] = name
		if err := os.WriteFile(filepath.Join(dir, file), []byte("\ufeff"+text), 0o644); err != nil { // for the same reason
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	program, answers := filepath.Join(work, "parse.ps1"), filepath.Join(work, "answers.json")
	if err := os.WriteFile(program, []byte(realParser), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), *pwsh, "-NoProfile", "-File", program, dir, answers).CombinedOutput(); err != nil {
		t.Fatalf("the real PowerShell cannot be asked: %v\n%s", err, out)
	}
	data, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	var real map[string]struct{ Errors, Commands, Functions, Assignments int }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &real); err != nil {
		t.Fatal(err)
	}
	same, refused := 0, 0
	for file, want := range real {
		have, err := powershell.Read(all[names[file]])
		switch {
		case want.Errors > 0 && err != nil:
			same++
		case err != nil && strings.Contains(err.Error(), "casement does not simulate"):
			refused++
			t.Logf("%s refused: %v", names[file], err)
		case err != nil:
			t.Errorf("%s: the real parser takes it: %v", names[file], err)
		case want.Errors > 0:
			t.Errorf("%s: the real parser refuses it", names[file])
		case have != powershell.Outline{Commands: want.Commands, Functions: want.Functions, Assignments: want.Assignments}:
			t.Errorf("%s: %+v, the real parser has %+v", names[file], have, want)
		default:
			same++
		}
	}
	t.Logf("%d scripts: %d the same, %d refused by name", len(real), same, refused)
	if len(real) != len(all) {
		t.Errorf("%d of %d scripts were judged", len(real), len(all))
	}
}
