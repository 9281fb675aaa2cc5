package guests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// generatedScripts is the number of scripts of the generated comparison.
	generatedScripts = 3000
	// generatedCeiling is the percentage of scripts that may differ without being in the table of
	// departures. It is only ever lowered. Most differences are in the choice among several errors
	// for operands that no operator accepts.
	generatedCeiling = 1
	// powershellDepartures is the file with patterns that match a script and both answers, each
	// with the reason why the answers may differ.
	powershellDepartures = "testdata/powershell.departures.tsv"
)

// The parts of generated scripts: the operators, methods, casts and cmdlets that scripts for Windows nodes
// use most, and values of each type, without values whose text differs in PowerShell 7.
var (
	psValues = strings.Split(`'a,b;c'|'kubelet.exe'|'v1.29.3'|''|'42'|' x '|'True'|'10.0.0.4'|"a`+"`n"+`b"|0|1|-7|`+
		`42|2.5|100|0x1F|5L|$true|$false|$null|`+
		`@()|@(1)|@(3,1,2)|('b','a','B')|(1..5)|@{}|@{a=1}|[ordered]@{z=1;a='x'}|[pscustomobject]@{Name='n';Size=3}|`+
		`[version]'1.2.3'|`+
		`[datetime]'2024-03-05 06:07:08'|[timespan]'01:02:03'|[char]'x'|[uri]'https://h:6443/p?q=1'|[regex]'a(.)'|`+
		`[int64]7|[uint32]9|[byte]200|`+
		`[ipaddress]'10.1.2.3'|[guid]'6f9619ff-8b86-d011-b42d-00c04fc964ff'|{ 'block' }|[string]|`+
		`@([pscustomobject]@{Name='b';Size=1},[pscustomobject]@{Name='a';Size=2})|(,@(1,2))|`+
		`[System.Collections.ArrayList]@(1,'b')|`+
		`[System.Collections.Generic.List[string]]@('p','q')|'2024-03-05'|'C:\k\kubelet.log'|'a=1'|'{"a":[1,2]}'`, "|")
	psOperators = strings.Fields(`-eq -replace -ne -and + -lt -join -or -gt -like -match -f -ge -split -le -as .. - -contains -bor / *
		-notcontains % -is -in -notin -notmatch -band -shl -notlike -bxor -shr -xor -ceq -cmatch -clike -isnot -csplit -creplace`)
	psMethods = strings.Split(`Replace('a','x')|Trim()|Split(',')|ToLower()|Substring(1)|Substring(0,2)|Add('k')|`+
		`Add('k',1)|Contains('a')|`+
		`ToString()|StartsWith('k')|TrimEnd('3')|GetType().Name|GetType().FullName|EndsWith('exe')|Remove('a')|`+
		`ContainsKey('a')|IndexOf('.')|`+
		`LastIndexOf('.')|AddSeconds(5)|CompareTo('a')|TrimStart('v')|ToCharArray()|PadLeft(8)|Equals('a')|`+
		`Insert(0,'z')|ToUpper()|`+
		`ToString('N2')|ToString('D4')|ToString('yyyy-MM')|Length|Count|Keys|Values|Name|[0]|[-1]|[1..2]|Major|Days|`+
		`Host|Clone()|Invoke()|Where{$_}|`+
		`ForEach{"<$_>"}|GetEnumerator()|Missing|Nope()|PSObject.Properties.Name|a`, "|")
	psCasts = strings.Fields(`string int bool char version array int[] string[] datetime timespan uint32 int64 double decimal byte guid uri
		hashtable pscustomobject ipaddress regex scriptblock switch void object System.Collections.ArrayList long single type`)
	psStages = strings.Split(`Where-Object { $_ }|Where-Object Name -like '*a*'|ForEach-Object { "$_" }|`+
		`ForEach-Object Length|Out-String|`+
		`Select-Object -First 1|Select-Object -Last 2|Select-Object Name,Size|Select-Object -ExpandProperty Name|`+
		`Select-Object -Unique|Sort-Object|`+
		`Sort-Object -Descending|Sort-Object Size|Select-String a|Select-String '\d'|`+
		`Measure-Object -Line ¦ ForEach-Object Lines|Measure-Object -Sum ¦ ForEach-Object Sum|`+
		`Measure-Object Size -Sum ¦ ForEach-Object Count|`+
		`Group-Object -NoElement|ConvertTo-Json -Compress|ConvertTo-Csv -NoTypeInformation|ConvertFrom-Json|`+
		`ConvertFrom-Csv|ConvertFrom-StringData|`+
		`Format-Table|Format-List|Format-Table -AutoSize|Format-Table Name,Size|Get-Member -MemberType NoteProperty|`+
		`Out-Null|Write-Output|Write-Host|`+
		`Tee-Object -Variable t|Set-Variable v|Split-Path -Leaf|Split-Path -Parent|Test-Path|Join-Path -ChildPath x|`+
		`Set-Content f.txt|Get-Content|`+
		`Out-File o.txt|Add-Content f.txt|Select-Object -Index 0|Select-Object @{n='N';e={$_.Name}}|Get-Unique|`+
		`Compare-Object @('a')|`+
		`ForEach-Object -Begin { 'b' } -Process { $_ } -End { 'e' }|Write-Warning|Write-Error|Select-Object -Skip 1|Get-Item|`+
		`& { process { "p$_" } }|& { "$input" }|Write-Verbose -Verbose|Test-Path -PathType Leaf|Get-ChildItem|`+
		`Remove-Item|New-TimeSpan|Get-Date -Format yyyy`, "|")
	psFormats = strings.Split(`{0}|{0,8}|{0,-8}.|{0:N0}|{0:N2}|{0:D3}|{0:X}|{0:yyyy-MM-dd}|{0:00}|{0:0.0}|`+
		`{0:#,##0}|{0} {1}|{{{0}}}|{1}|{0:hh\:mm}`, "|")
	psShapes = strings.Split(`$x = §; $x|$x = §; "$x"|"$(§)|$((§).Count)"|if (§) { 'yes' } else { 'no' }|`+
		`foreach ($i in §) { "<$i>" }|`+
		`switch (§) { 'a' { 'A' } 1 { 'one' } default { "d$_" } }|function f($p) { "$p" }; f §|`+
		`function g([string]$p) { "[$p]" }; g §|`+
		`function h { param([int]$n = 1, [switch]$s) "$n $s" }; h §|function k { process { "<$_>" } }; § ¦ k|`+
		`& { param([Parameter(Mandatory)]$p) "$p" } §|`+
		`$h = @{ k = § }; $h.k; "$($h['k'])"|$a = @(§) + §; $a.Count; "$a"|$a, $b = §; "$a;$b"|$x = §; $x += §; "$x"|`+
		`[string[]]$s = §; $s.Count|`+
		`try { throw § } catch { "$_" }|$x = §; $x[0]|-not §|@(§).Count|,§ ¦ ForEach-Object { "$($_.Count)" }|`+
		`$x = §; $x.Name = 'z'; "$x"|`+
		`function Get-It { return § }; Get-It|$x = §; $x++; $x|[int]$n = §; $n|§ -and §|§; 'text'; §|Write-Host § §|`+
		`Write-Output § -NoEnumerate|`+
		`$p = @{ Name = 't'; Value = § }; New-Variable @p; "$t"|Set-Content q.txt §; Get-Content q.txt|"{0}|`+
		`{1}" -f §, §|do { 'once' } while ($null)|`+
		`$x = §; $x.PSObject.TypeNames[0]|New-Object psobject -Property §|Compare-Object § §|Test-Path §|`+
		`Join-Path § 'x'|Get-Date § -Format yyyy`, "|")
)

// generate returns a script of one statement, which catches an error and prints its name.
func generate(random *rand.Rand, lines []string) string {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	value := pick(psValues)
	line := ""
	switch random.IntN(8) {
	case 0:
		line = value + " " + pick(psOperators) + " " + pick(psValues)
	case 1:
		method := pick(psMethods)
		if !strings.HasPrefix(method, "[") {
			method = "." + method
		}
		line = "(" + value + ")" + method
	case 2:
		line = "$x = [" + pick(psCasts) + "]" + value + "; $x; if ($null -ne $x) { $x.GetType().Name }"
	case 3:
		line = value + " | " + pick(psStages)
	case 4:
		line = value + " | " + pick(psStages) + " | " + pick(psStages)
	case 5:
		line = "'" + pick(psFormats) + "' -f " + value
	case 6:
		for i, part := range strings.Split(pick(psShapes), "§") {
			if i > 0 {
				line += value
				value = pick(psValues)
			}
			line += part
		}
	case 7:
		line = pick(lines)
	}
	line = strings.ReplaceAll(line, "¦", "|")
	return fmt.Sprintf("try { %s } catch { \"! $($_.FullyQualifiedErrorId)\" }\n", line)
}

// departure is the reason why a guest's answers are allowed to differ from PowerShell 7's.
type departure struct {
	of     *regexp.Regexp
	reason string
	seen   int
}

// TestPowerShellGenerated runs generated scripts in a guest and in a PowerShell, and lists the differences.
func TestPowerShellGenerated(t *testing.T) {
	if *pwsh == "" || *pwshList != "" {
		t.Skip("compares with a PowerShell of this machine: make e2e-guests PWSH=pwsh")
	}
	var corpus []psScript
	read(t, powershellFile, &corpus)
	var lines []string
	for _, c := range corpus {
		for line := range strings.Lines(c.Script) {
			if line = strings.TrimSpace(line); len(line) > 12 && strings.Count(line, "{") == strings.Count(line, "}") &&
				strings.Count(line, "(") == strings.Count(line, ")") && strings.Count(line, "'")%2 == 0 &&
				strings.Count(line, `"`)%2 == 0 && !strings.ContainsAny(line, "#`") && !strings.HasSuffix(line, "|") &&
				!strings.HasPrefix(line, "}") && !strings.HasPrefix(line, "[") && !strings.Contains(line, "exit") &&
				!strings.Contains(line, "PID") && !strings.HasPrefix(line, "<") && !strings.HasSuffix(line, ",") {
				lines = append(lines, line)
			}
		}
	}
	random := rand.New(rand.NewPCG(53, 1+*seed))
	all := make([]psScript, generatedScripts)
	for i := range all {
		all[i] = psScript{ID: fmt.Sprintf("generated-%04d", i), Group: "generated", Script: generate(random, lines)}
	}
	askPowerShell(t, all)
	g := newPSGuest(t)
	var departures []departure
	data, err := os.ReadFile(powershellDepartures)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if pattern, reason, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(line, "#") {
			departures = append(departures, departure{regexp.MustCompile(pattern), reason, 0})
		}
	}
	differ, refused, departed := 0, 0, 0
	for _, c := range all {
		out, errs, code := g.run(t, c)
		difference := c.differs(out, errs, code)
		switch {
		case difference == "":
		case strings.Contains(errs, "casement does not simulate"):
			refused++
			if *verbose {
				t.Logf("%s refused: %s", c.ID, firstError(errs))
			}
		default:
			shown := fmt.Sprintf("%s\n---- guest, code %d\n%s%s\n---- real, code %d\n%s%s", c.Script,
				code, plainOutput(out), plainOutput(errs), c.Code, plainOutput(c.Stdout), c.Error)
			if i := slices.IndexFunc(departures, func(d departure) bool { return d.of.MatchString(shown) }); i >= 0 {
				departures[i].seen++
				departed++
				continue
			}
			differ++
			t.Logf("%s differs: %s\n%s", c.ID, difference, shown)
		}
	}
	for _, d := range departures {
		t.Logf("departs in %3d scripts: %s", d.seen, d.reason)
	}
	t.Logf("%d generated scripts: %d refused by name, %d depart as is listed, %d different", len(all), refused, departed, differ)
	if float64(differ)*100 > generatedCeiling*float64(len(all)) {
		t.Errorf("%d of %d generated scripts differ: %v in 100 did", differ, len(all), generatedCeiling)
	}
}
