package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// script is a script with its expected output, both streams together with LF at line ends,
// and its exit code. Scripts print their effects on the guest themselves.
type script struct {
	name, text, out string
	code            int
}

// languageScripts test constructs of the language.
var languageScripts = []script{
	{"assignment", "$a = 1; $a += 2; $a", "3\n", 0},
	{"several targets", "$a, $b, $c = 1, 2, 3, 4; \"$a $b $c\"", "1 2 3 4\n", 0},
	{"typed variable", "[int]$n = '5'; $n = '7'; $n + 1", "8\n", 0},
	{"typed variable refuses", "[int]$n = 'x'; 'on'", "Cannot convert value \"x\" to type \"System.Int32\". Error: \"Input string " +
		"was not in a correct " +
		"format.\"\nAt line:1 char:1\n    + CategoryInfo          : MetadataError: (:) [], ArgumentTransformationMetadataException\n  " +
		"  + FullyQualifiedErrorId : RuntimeException\non\n", 0},
	{"precedence", "2 + 3 * 4; (2 + 3) * 4; 7 / 2; 6 / 2; 7 % 4; -2 + 1", "14\n20\n3.5\n3\n3\n-1\n", 0},
	{"rounding to even", "[int]2.5; [int]3.5; [math]::Round(2.345, 2)", "2\n4\n2.35\n", 0},
	{"multiples", "1kb; 2MB; 0x1F; 1e3", "1024\n2097152\n31\n1000\n", 0},
	{"overflow becomes a double", "[int]::MaxValue + 1; 9223372036854775807 + 1", "2147483648\n9.22337203685478E+18\n", 0},
	{"strings and numbers", "'5' + 3; 5 + '3'; 'ab' * 3", "53\n8\nababab\n", 0},
	{"interpolation", "$x = @{ n = 'v' }; $l = 1,2; \"$($x.n) $l ${env:SystemDrive} `$x $(1+1)\"", "v 1 2 C: $x 2\n", 0},
	{"single quotes", "'it''s $x'", "it's $x\n", 0},
	{"a member in text is not read", "$s = 'ab'; \"$s.Length\"", "ab.Length\n", 0},
	{"colon behind a variable", "$a = 1; \"$a: x\"", "At line:1 char:12\nVariable reference is not valid. ':' " +
		"was not followed by a valid variable name character. Consider using ${} to delimit the name.\n", 1},
	{"here-string", "$n = 'x'\n@\"\na \"$n\"\n  b\n\"@", "a \"x\"\n  b\n", 0},
	{"literal here-string", "@'\n$n 'q'\n'@", "$n 'q'\n", 0},
	{"escapes", "\"a`tb`nc\" -replace \"`t\", '-'", "a-b\nc\n", 0},
	{"continued line", "Write-Output `\n  a", "a\n", 0},
	{"block comment", "<# no\n#> 'yes' # no", "yes\n", 0},
	{"if elseif else",
		"foreach ($n in 1..3) { if ($n -eq 1) { 'one' } elseif ($n -eq 2) { 'two' } else { 'more' } }",
		"one\ntwo\nmore\n", 0},
	{"if as a value", "$x = if ($true) { 'a' } else { 'b' }; $x", "a\n", 0},
	{"while and break", "$i = 0; while ($true) { $i++; if ($i -eq 2) { continue }; if ($i -gt 3) { break }; $i }", "1\n3\n", 0},
	{"do until", "$i = 0; do { $i++ } until ($i -ge 3); $i", "3\n", 0},
	{"do while", "$i = 5; do { $i } while ($i++ -lt 6)", "5\n6\n", 0},
	{"for", "for ($i = 0; $i -lt 3; $i++) { $i }", "0\n1\n2\n", 0},
	{"for without parts", "$i = 0; for (;;) { if (++$i -gt 2) { break } }; $i", "3\n", 0},
	{"labels", ":outer foreach ($a in 1,2) { foreach ($b in 1,2) { if ($b -eq 2) { continue outer }; \"$a$b\" } }", "11\n21\n", 0},
	{"foreach of null", "foreach ($x in $null) { 'never' }; 'end'", "end\n", 0},
	{"switch", "switch ('b') { 'a' { 1 } 'b' { 2 } default { 3 } }", "2\n", 0},
	{"switch of a list", "switch (1,2,9) { 1 { 'one' } { $_ -gt 5 } { 'big' } default { 'other' } }", "one\nother\nbig\n", 0},
	{"switch by expression", "switch -Regex ('ab12') { '^a(b)' { $Matches[1]; break } '\\d' { 'digits' } }", "b\n", 0},
	{"switch by wildcard", "switch -Wildcard ('kubelet.log') { '*.log' { 'log' } 'kube*' { 'kube' } }", "log\nkube\n", 0},
	{"function", "function Add($a, $b = 2) { $a + $b }; Add 1; Add 1 5; Add -b 1 -a 9", "3\n6\n10\n", 0},
	{"function with param", "function f { param([Parameter(Mandatory=$true)][string]$Name, [int]$Count = 1, " +
		"[switch]$Force) \"$Name $Count $Force\" }; f x; f -Name y -Count 3 " +
		"-Force", "x 1 False\ny 3 True\n", 0},
	{"mandatory is missing", "function f { param([Parameter(Mandatory)]$Name) $Name }; f; 'on'",
		"f : Cannot process command because of one or more missing mandatory parameters: Name.\nAt line:1 " +
			"char:58\n    + CategoryInfo          : InvalidArgument: (:) [f], ParameterBindingException\n    + " +
			"FullyQualifiedErrorId : MissingMandatoryParameter,f\non\n", 0},
	{"unknown parameter", "function f { [CmdletBinding()] param($A) $A }; f -B 1",
		"f : A parameter cannot be found that matches parameter name 'B'.\nAt line:1 char:48\n    + " +
			"CategoryInfo          : InvalidArgument: (:) [f], ParameterBindingException\n    + " +
			"FullyQualifiedErrorId : NamedParameterNotFound,f\n", 0},
	{"validate set", "function f { param([ValidateSet('a','b')]$X) $X }; f a; f c",
		"a\nf : Cannot validate argument on parameter 'X'. The argument \"c\" does not belong to the set \"a,b\" " +
			"specified by the ValidateSet attribute. Supply an argument that is in the set and then try the " +
			"command again.\nAt line:1 char:57\n    + CategoryInfo          : InvalidData: (:) [f], " +
			"ParameterBindingValidationException\n    + FullyQualifiedErrorId : ParameterArgumentValidationError,f\n", 0},
	{"jobs", "$x = 2; $j = 1..2 | ForEach-Object { Start-Job { param($n) \"$n $($using:x) [$x]\" } -ArgumentList $_ }\n" +
		"$j | Wait-Job | Receive-Job; $j[0].State; $j | Remove-Job; @(Get-Job).Count",
		"1 2 []\n2 2 []\nCompleted\n0\n", 0},
	{"a job that fails", "$j = Start-Job { throw 'dead' } | Wait-Job; $j.State; try { Receive-Job $j -ErrorAction Stop } catch { \"$_\" }",
		"Failed\ndead\n", 0},
	{"args", "function f { \"$($args.Count): $args\" }; f 1 two 'three four'", "3: 1 two three four\n", 0},
	{"return ends a function", "function f { 1; return 2; 3 }; f", "1\n2\n", 0},
	{"process block", "function f { begin { 'b' } process { $_ * 2 } end { 'e' } }; 1,2 | f", "b\n2\n4\ne\n", 0},
	{"filter", "filter Double { $_ * 2 }; 1..3 | Double", "2\n4\n6\n", 0},
	{"pipeline parameter",
		"function f { param([Parameter(ValueFromPipeline=$true)]$X) process { \"<$X>\" } }; 'a','b' | f",
		"<a>\n<b>\n", 0},
	{"scopes", "$x = 1; function f { $x = 2; $script:y = 3 }; f; \"$x $y\"", "1 3\n", 0},
	{"splatting", "function f { param($A, [switch]$B) \"$A $B\" }; $p = @{ A = 1; B = $true }; f @p; $l = 5; f @l", "1 True\n5 False\n", 0},
	{"script block", "$b = { param($n) $n * 2 }; & $b 4; $b.Invoke(5)", "8\n10\n", 0},
	{"dot sourcing", ". { $inner = 7 }; $inner", "7\n", 0},
	{"try catch finally", "try { throw 'bad' } catch { \"got $($_.Exception.Message)\" } finally { 'end' }", "got bad\nend\n", 0},
	{"catch by type", "try { [int]::Parse('x') } catch [System.FormatException] { 'format' } catch { 'other' }", "format\n", 0},
	{"rethrow", "try { try { throw 'a' } catch { throw } } catch { \"$_\" }", "a\n", 0},
	{"uncaught throw", "throw \"domain join failed\"\n'never'",
		"domain join failed\nAt line:1 char:1\n    + CategoryInfo          : OperationStopped: (domain join " +
			"failed:String) [], RuntimeException\n    + FullyQualifiedErrorId : domain join failed\n", 1},
	{"trap continues", "trap { \"trapped $_\"; continue }\nthrow 'x'\n'on'", "trapped x\non\n", 0},
	{"division by zero goes on", "1 / 0\n'on'",
		"Attempted to divide by zero.\nAt line:1 char:1\n    + CategoryInfo          : NotSpecified: (:) [], " +
			"RuntimeException\n    + FullyQualifiedErrorId : RuntimeException\non\n", 0},
	{"stop preference ends", "$ErrorActionPreference = 'Stop'\nGet-Item C:\\none\n'never'",
		"Get-Item : Cannot find path 'C:\\none' because it does not exist.\nAt line:2 char:1\n    + " +
			"CategoryInfo          : ObjectNotFound: (C:\\none:String) [Get-Item], ItemNotFoundException\n    + " +
			"FullyQualifiedErrorId : PathNotFound,Microsoft.PowerShell.Commands.GetItemCommand\n", 1},
	{"a cmdlet's error is not caught",
		"try { Get-Item C:\\none -ErrorAction SilentlyContinue; 'on' } catch { 'caught' }; $?", "on\nTrue\n", 0},
	{"error action stop is caught", "try { Get-Item C:\\none -ErrorAction Stop } catch { $_.FullyQualifiedErrorId }",
		"PathNotFound,Microsoft.PowerShell.Commands.GetItemCommand\n", 0},
	{"error variable",
		"Get-Item C:\\none -ErrorAction SilentlyContinue -ErrorVariable e; $e.Count; $error[0].Exception.Message",
		"1\nCannot find path 'C:\\none' because it does not exist.\n", 0},
	{"write-error goes on", "Write-Error 'oops'; 'on'", "Write-Error : oops\nAt line:1 char:1\n    + CategoryInfo          : " +
		"NotSpecified: (:) [Write-Error], " +
		"WriteErrorException\n    + FullyQualifiedErrorId : Microsoft.PowerShell.Commands.WriteErrorException\non\n", 0},
	{"dollar question mark", "Get-Item C:\\none 2>$null; $?; 'a' | Out-Null; $?", "False\nTrue\n", 0},
	{"native exit codes", "cmd /c exit 3; $LASTEXITCODE; $?", "3\nTrue\n", 0},
	{"exit", "exit 3\n'never'", "", 3},
	{"exit of a program's code", "cmd /c exit 5\nexit $LASTEXITCODE", "", 5},
	{"negative exit", "exit -2", "", -2},
	{"return at the top", "'a'; return; 'b'", "a\n", 0},
	{"match", "if ('node-12' -match '(?<n>\\d+)$') { $Matches[0]; $Matches.n }; 'x' -notmatch 'y'", "12\n12\nTrue\n", 0},
	{"match with a look-ahead", "'foobar' -match 'foo(?=bar)'; 'FOO' -cmatch 'foo'", "True\nFalse\n", 0},
	{"replace", "'a-b-c' -replace '-', '+'; 'v1.2' -replace 'v(\\d)\\.(\\d)', '$2.$1'; 'aXb' -creplace 'x', '_'", "a+b+c\n2.1\naXb\n", 0},
	{"split and join", "('a,b;c' -split '[,;]') -join '|'; -split ' a  b '; 'a.b.c'.Split('.')[1]", "a|b|c\na\nb\nb\n", 0},
	{"format", "'{0} is {1:N2} and {2:D3} {3:X} {4,5}|{5,-3}|' -f 'a', 1234.567, 7, 255, 'r', 'l'",
		"a is 1,234.57 and 007 FF     r|l  |\n", 0},
	{"comparison of lists", "(1,2,3,2 -eq 2).Count; 1,2 -contains 2; 3 -in 1,2; 'a','b' -notcontains 'c'", "2\nTrue\nFalse\nTrue\n", 0},
	{"like", "'kubelet.exe' -like '*.exe'; 'abc' -like 'a?c'; 'abc' -notlike 'x*'", "True\nTrue\nTrue\n", 0},
	{"case", "'A' -eq 'a'; 'A' -ceq 'a'; 'b' -gt 'A'", "True\nFalse\nTrue\n", 0},
	{"logic", "$true -and -not $false; $false -or 1; 1 -xor 1; !0", "True\nTrue\nFalse\nTrue\n", 0},
	{"bits", "6 -band 3; 6 -bor 1; 6 -bxor 3; 1 -shl 4", "2\n7\n5\n16\n", 0},
	{"types", "1 -is [int]; 'a' -is [string]; '5' -as [int]; ('x' -as [int]) -eq $null; @() -is [array]", "True\nTrue\n5\nTrue\nTrue\n", 0},
	{"gettype", "(1).GetType().Name; 'a'.GetType().FullName; @{}.GetType().Name; @(1).GetType().Name",
		"Int32\nSystem.String\nHashtable\nObject[]\n", 0},
	{"ranges", "(1..4) -join ','; (3..1) -join ','; (0..9)[2..4] -join ''", "1,2,3,4\n3,2,1\n234\n", 0},
	{"arrays", "$a = @(1); $a += 2; $a.Count; $a[-1]; ($a + 3).Length; @().Count", "2\n2\n3\n0\n", 0},
	{"hashtables", "$h = @{ a = 1; 'b c' = 2 }; $h.d = 3; $h['e'] = 4; $h.Count; $h.ContainsKey('A'); $h.'b c'; " +
		"$h.Remove('a'); $h.Count", "4\nTrue\n2\n3\n", 0},
	{"ordered", "$o = [ordered]@{ z = 1; a = 2 }; $o.Keys -join ','; foreach ($e in $o.GetEnumerator()) { " +
		"\"$($e.Key)=$($e.Value)\" }", "z,a\nz=1\na=2\n", 0},
	{"custom objects",
		"$p = [pscustomobject]@{ Name = 'a'; N = 2 }; $p.Name; $p.N = 5; $p.n; $p.Missing -eq $null; \"$p\"",
		"a\n5\nTrue\n@{Name=a; N=5}\n", 0},
	{"members of many", "$l = [pscustomobject]@{ n = 1 }, [pscustomobject]@{ n = 2 }; $l.n -join ','", "1,2\n", 0},
	{"null", "$null -eq $nothing; $nothing.Length; @($null).Count; \"[$null]\"", "True\n0\n1\n[]\n", 0},
	{"method on null", "$n = $null; $n.Trim(); 'on'", "You cannot call a method on a null-valued expression.\nAt line:1 char:13\n  " +
		"  + CategoryInfo          " +
		": InvalidOperation: (:) [], RuntimeException\n    + FullyQualifiedErrorId : InvokeMethodOnNull\non\n", 0},
	{"string methods", "'  a b '.Trim(); 'abc'.Substring(1,1); 'abc'.IndexOf('c'); 'a'.PadLeft(3,'0'); " +
		"'abc'.ToUpper(); 'abc'.Contains('b'); 'a-b'.Replace('-','+'); " +
		"'abc'.EndsWith('c')", "a b\nb\n2\n00a\nABC\nTrue\na+b\nTrue\n", 0},
	{"substring out of range", "try { 'abc'.Substring(5) } catch { $_.Exception.Message }", "Exception calling " +
		"\"Substring\" with \"1\" argument(s): \"startIndex cannot be larger than length of string.\nParameter " +
		"name: startIndex\"\n", 0},
	{"static calls", "[string]::IsNullOrEmpty(''); [string]::Join('-', 1, 2); [math]::Max(3, 7); " +
		"[Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('hi')); [System.IO.Path]::Combine('C:\\a', " +
		"'b.txt')", "True\n1-2\n7\naGk=\nC:\\a\\b.txt\n", 0},
	{"base64 back", "[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('aGk='))", "hi\n", 0},
	{"array list", "$l = New-Object System.Collections.ArrayList; [void]$l.Add('a'); $l.Add('b') | Out-Null; " +
		"$l.Count; $l -join ','", "2\na,b\n", 0},
	{"generic list", "$l = [System.Collections.Generic.List[string]]::new(); $l.Add('x'); $l.Count", "1\n", 0},
	{"dates", "(Get-Date '2024-02-03 04:05:06').ToString('yyyy/MM/dd HH:mm'); " +
		"([datetime]'2024-03-01').AddDays(-1).Day; ([datetime]'2024-01-02' - " +
		"[datetime]'2024-01-01').TotalHours", "2024/02/03 04:05\n29\n24\n", 0},
	{"versions", "[version]'1.10.0' -gt [version]'1.9.9'; ([version]'1.2.3').Minor", "True\n2\n", 0},
	{"guids", "([guid]::NewGuid().ToString()).Length; [guid]::Empty", "36\n\nGuid\n----\n00000000-0000-0000-0000-000000000000\n\n", 0},
	{"regex class",
		"[regex]::Match('a12b', '\\d+').Value; [regex]::Matches('a1b2', '\\d').Count; [regex]::Escape('a.b')",
		"12\n2\na\\.b\n", 0},
	{"invoke-expression", "$s = '1 + 2'; Invoke-Expression $s; iex \"`$q = 5\"; $q", "3\n5\n", 0},
	{"strict mode", "Set-StrictMode -Version Latest; try { $undefined } catch { 'strict' }", "strict\n", 0},
	{"double ampersand is no operator", "whoami && whoami",
		"At line:1 char:8\nThe token '&&' is not a valid statement separator in this version.\n", 1},
	{"a brace is missing", "if ($true) { 'a'", "At line:1 char:17\nMissing closing '}' in statement block or type definition.\n", 1},
	{"redirection to null", "'a' > $null; Write-Output 'b' 2>&1; Write-Error 'x' 2>$null; 'c'", "b\nc\n", 0},
	{"merged streams", "$all = & { 'out'; Write-Error 'err' } 2>&1; $all.Count; $all[1].Exception.Message", "2\nerr\n", 0},
	{"all streams", "& { Write-Host 'h'; Write-Warning 'w'; 'o' } *> $null; 'end'", "end\n", 0},
	{"information stream", "$x = Write-Host 'h' 6>&1; \"got $x\"", "got h\n", 0},
	{"warning and verbose", "Write-Warning 'w'; Write-Verbose 'no'; Write-Verbose 'v' -Verbose; " +
		"$VerbosePreference = 'Continue'; Write-Verbose 'yes'", "WARNING: w\nVERBOSE: v\nVERBOSE: yes\n", 0},
	{"numbers print as .NET does", "0.1 + 0.2; 1/3; 1e20; 100.0; 1.50; [double]1e15",
		"0.3\n0.333333333333333\n1E+20\n100\n1.5\n1E+15\n", 0},
	{"booleans and null in text", "\"$true $null $false\"", "True  False\n", 0},
	{"char arithmetic", "[char]65; [int][char]'a'; [char[]]'ab' -join '-'", "A\n97\na-b\n", 0},
	{"increment of a property", "$h = @{ n = 1 }; $h.n++; $h.n += 5; $h.n", "7\n", 0},
	{"nested data", "$c = @{ l = @(@{ n = 'a' }, @{ n = 'b' }) }; $c.l[1].n; $c['l'].Count", "b\n2\n", 0},
	{"subexpression list", "@(1; 2; if ($true) { 3 }).Count", "3\n", 0},
	{"comma makes a list", "(,1).Count; ,@(1,2) | ForEach-Object { $_.Count }", "1\n2\n", 0},
	{"call by name", "$cmd = 'Write-Output'; & $cmd 'x'; & 'C:\\Windows\\System32\\whoami.exe' | Out-Null; $?", "x\nTrue\n", 0},
}

// missingScripts stop with the name of a feature that is not simulated.
var missingScripts = []script{
	{"class", "class A { }", "casement does not simulate classes", 1},
	{"workflow", "workflow w { }", "casement does not simulate workflows", 1},
	{"a cmdlet", "'a'; Get-Clipboard; 'never'", "casement does not simulate the cmdlet Get-Clipboard", 1},
	{"a parameter", "Get-Content C:\\k -Credential x", "casement does not simulate the parameter -Credential of Get-Content", 1},
	{"a type", "[System.Xml.XmlWriter]::Create('x')", "casement does not simulate [xml.xmlwriter]::Create()", 1},
	{"a method", "'a'.EnumerateRunes()", "casement does not simulate the method EnumerateRunes of System.String", 1},
	{"a property", "(Get-Service kubelet).ServicesDependedOn", "casement does not simulate the property ServicesDependedOn", 1},
	{"catch does not hide it", "try { Get-Clipboard } catch { 'hidden' }; 'never'",
		"casement does not simulate the cmdlet Get-Clipboard", 1},
	{"silence does not hide it", "Get-Clipboard -ErrorAction SilentlyContinue; 'never'",
		"casement does not simulate the cmdlet Get-Clipboard", 1},
	{"a COM object", "New-Object -ComObject HNetCfg.FwPolicy2", "casement does not simulate COM objects", 1},
	{"remoting", "Invoke-Command -ComputerName x -ScriptBlock { 1 }", "casement does not simulate remoting", 1},
	{"a WMI class", "Get-CimInstance Win32_BIOS", "casement does not simulate the WMI class Win32_BIOS", 1},
	{"a drive", "Get-ChildItem Cert:\\LocalMachine\\My", "casement does not simulate the drive cert:", 1},
	{"what if", "Set-Service kubelet -WhatIf", "casement does not simulate -WhatIf of Set-Service", 1},
	{"nothing is written", "Get-Clipboard | Set-Content C:\\k\\never.txt", "casement does not simulate the cmdlet Get-Clipboard", 1},
	{"nothing is assigned", "$x = Get-Clipboard; \"x is $x\"", "casement does not simulate the cmdlet Get-Clipboard", 1},
	{"a feature", "Install-WindowsFeature No-Such-Feature", "casement does not simulate the feature No-Such-Feature", 1},
}

func TestPowerShellCorpus(t *testing.T) {
	for _, group := range []struct {
		name    string
		scripts []script
		partly  bool
	}{{"language", languageScripts, false}, {"guest", guestScripts, false}, {"missing", missingScripts, true}} {
		for _, c := range group.scripts {
			t.Run(group.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t, machine.Windows, machine.NSSM)
				m.Services.StartAutomatic()
				var out bytes.Buffer
				code := shell.New(m, nil, nil).PowerShell(t.Context(), c.text, shell.Session{Stdout: &out, Stderr: &out})
				got := strings.ReplaceAll(out.String(), "\r\n", "\n")
				if ok := got == c.out || group.partly && strings.Contains(got, c.out); !ok || code != c.code {
					t.Errorf("got %q and %d, want %q and %d", got, code, c.out, c.code)
				}
				if m.Root.Exists(`C:\k\never.txt`) {
					t.Error("what is missing wrote a file")
				}
			})
		}
	}
	if n := len(languageScripts) + len(guestScripts) + len(missingScripts); n < 150 {
		t.Errorf("the corpus has %d scripts", n)
	}
}
