package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spice are texts that are likely to break interpreters.
var spice = []string{"", " ", "\n", "\t", "\x00", "\xff", "'",
	"\"", "`", "\\", "$", "${", "$(", "$((", "}", ")", "))", "]", "[", "{", "(", "<(", ">(", "<<E\n",
	"|", "||", "&", "&&", ";", ";;", "!", "#", "%", "%%", "~", "^", "*", "?", "-", "--", "=", "==", "+=", ",", ".", "..",
	"...", ":", "::", "/", "@", "@{", "@(",
	"é", "\u2028", "\u0301", "😀", "İ", "ß", "\u202e", "\ufeff", "\xed\xa0\x80",
	"\r\n", "%d", "%s", "%n", "%*d", "%1$s", "{{", "}}", "{%", "%}", "null", "[]", "{}", "true", "$null", "@()", "''", `""`,
	"-n", "-e", "--help", "\\(", "\\)", "\\1", "\\x{110000}", "[z-a]", "(?", "a{2,1}", "(a*)*",
	"[:alpha:]", "[[.x.]]", "$1", "$@", "${a[@]}", "${#a}", "/dev/zero", "/proc/self/mem", `\\.\PhysicalDrive0`, "/dev/stdin"}

// numbers are at or beyond the limits of interpreters' number types.
var numbers = []string{"0", "-0", "-1", "1", "127", "256", "65536", "-32769", "2147483647", "2147483648", "-2147483649", "4294967296",
	"9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "1e309", "1e-400",
	"-1e19", "0x", "0x7fffffffffffffff", "0xffffffffffffffff", "08", "NaN", "-nan", "Infinity", "1.7976931348623157e308", "1.", ".5",
	"1e", "1gb",
	"9999999999999999999999999999", "79228162514264337593543950336", "1_000", "٣", "½"}

// pairs are brackets and other delimiters that can be nested.
var pairs = [][2]string{{"(", ")"}, {"[", "]"}, {"{", "}"}, {"$(", ")"}, {"${x:-", "}"}, {"$((", "))"}, {"@(", ")"}, {"@{a=", "}"},
	{`"$(`, `)"`},
	{"if true; then ", "; fi"}, {"if ($true) { ", " }"}, {"{{ ", " }}"}, {"{% if 1 %}", "{% endif %}"}, {"- ", ""}, {"!", ""}, {"-",
		""}, {"-not ", ""},
	{`{"a":`, "}"}, {"(a", ")*"}, {"[[", "]]"}, {"try ", ""}, {"a: ", ""}, {"((", "))"}, {"for i in 1; do ", "; done"}, {"\\(",
		"\\)"}, {".[", "]"}}

// forms are texts with placeholders: %c is a command with options of its own, %w a word of the
// interpreter, %a an argument of any kind, %o an operator.
var forms = map[string][]string{
	"sh": {"%c %a %a\n", "x=$(%c %a); %c \"$x\"\n", "%a | %c %a %a | %c\n", "%c %a <<<%a | %c %a\n", "echo ${x%o%a} ${x:%a:%a} ${x/%a/%a}\n",
		"x=%a; echo ${x%o%o%a} ${x^^%a} ${!x} ${x@%a}\n", "echo $((%a %o %a))\n", "[[ %a %o %a ]] && [ %a -%w %a ]\n", "printf %a %a %a\n",
		"for i in %a %a; do %c $i; done\n", "declare -A m; m[%a]=%a; echo ${m[%a]} ${!m[@]} ${#m[%a]}\n",
		"a[%a]=%a; a+=(%a); echo ${a[%a]} ${a[@]:%a:%a}\n",
		"case %a in %a|%a) %c;; esac\n", "%c <<%a\n%a\n%a\n", "set -- %a %a; shift %a; %c \"$@\"\n", "getopts %a x %a; read -%w x <<E\n%a\nE\n",
		"f() { %c \"$@\"; return %a; }; f %a; f %a | %c\n", "trap %a %c; kill -%w $$\n", "echo %a > %a; %c %a < %a\n",
		"while %c %a; do break %a; done\n",
		"%c --%w=%a %a\n", "%c -%w %a -%w %a\n", "eval %a; source %a; exec %c %a\n", "%c %a & wait %a; (%c) | { %c; }\n",
		"printf '%a\\n%a\\n' | %c -%w\n"},
	"cmd": {"%c %a %a\r\n", "%c /%w %a /%w:%a\r\n", "for /f \"%a\" %%i in ('%c %a') do @%c %%~%ai %%i\r\n",
		"for /f \"tokens=%a delims=%a skip=%a\" %%i in (%a) do %c\r\n",
		"for /l %%i in (%a,%a,%a) do %c %%i\r\n", "set /a x=%a%o%a\r\n", "set x=%a\r\necho %x:%a=%a% %x:~%a,%a%\r\n",
		"if %a %o %a (%c %a) else %c\r\n",
		"call :%a %a\r\n:%a\r\necho %~%a1 %~dp0 %*\r\n", "setlocal enabledelayedexpansion\r\nset x=%a\r\necho !x:~%a,%a! !%a!\r\n",
		"%c %a | %c %a > %a 2>&1\r\n",
		"if exist %a if defined %a if not errorlevel %a %c\r\n", "%c %a && %c %a || %c ^%a\r\n", "powershell -%w %a\r\n",
		"(%c\r\n%a\r\n) < %a\r\n"},
	"powershell": {"%c\n", "%a | %c\n", "%a | %w %a | %c\n", "%c\n", "[%w]::%w\n", "[%w]%a\n", "(%a).%w(%a, %a)\n", "(%a).%w(%a)\n",
		"(%a).%w.%w\n", "%a -%w %a\n", "(%a)[%a]\n", "(%a)[%a..%a]\n", "'%a' -f %a, %a\n", "\"{0,%a:%a} {%a}\" -f %a\n",
		"%a | %w { $_.%w }\n", "$x = @{%w = %a}; $x.%w[%a]; $x.%w = %a\n",
		"switch -%w (%a) { %a { %c } default { %a } }\n", "foreach ($i in %a) { %c $i; continue }\n",
		"function f { param([%w]$a, [%w]$b = %a) process { %w $a } }; %a | f %a -a %a\n",
		"try { %c } catch [%w] { $_.%w } finally { %a }\n", "$x = New-Object %w %a; $x.%w(%a)\n", "$x = %a; $x %o= %a; $x++; $x\n",
		"%a %o %a\n", "\"$(%a) $x.%w ${%w}\"\n",
		"$a, $b = %a; $a[%a] = $b\n", "& { %w @args } %a\n", "$x = [%w[]](%a); $x[%a] = %a; [array]::%w($x, %a)\n",
		"[regex]::%w(%a, %a, { %a })\n", "%a -replace %a, %a -split %a -join %a\n",
		"%w %a -%w:%a -%w @{%w = %a}\n", "$ErrorActionPreference = %a; %w %a 2>&1 | %w\n",
		"[datetime]%a - [timespan]%a; (Get-Date).%w(%a)\n", "ConvertFrom-Json %a | ConvertTo-Json -Depth %a\n"},
	"awk": {"BEGIN { print %w(%a, %a) }", "BEGIN { x = %a; y = %w(x, %a, %a); print y }", "{ $%a = %a; print $0, NF }",
		"{ NF = %a; $(%a) = 1; print }", "BEGIN { printf %a, %a, %a }",
		"BEGIN { printf \"%a\", %a }", "BEGIN { print (%a) %o (%a) }", "$%a ~ %a { %w %a }",
		"BEGIN { n = split(%a, a, %a); for (k in a) print k, a[k]; delete a[%a] }",
		"BEGIN { while ((%a | getline x) > 0) print x; close(%a) }",
		"function f(a, b) { return %w(a) %o b } BEGIN { print f(%a, %a), f() }", "BEGIN { a[%a, %a] = 1; if ((%a) in a) print length(a) }",
		"BEGIN { x = substr(%a, %a, %a); sub(%a, %a, x); gsub(%a, %a); print x }", "/%a/, /%a/ { print %w }",
		"BEGIN { %w = %a } { print $%a } END { print %w, %w }", "BEGIN { print match(%a, %a), RSTART; getline < %a }",
		"BEGIN { RS = %a; FS = %a; OFS = %a } { $1 = $1; print }"},
	"sed": {"s/%a/%a/%w", "s/%a/%a/%a", "%as/%a/\\%a&/gw %a", "%a,%a%w", "%a~%a%w", "y/%a/%a/", "%w%a", "/%a/I,/%a/{%w;%w}",
		"/%a/,+%a%w", "$!{%w;%w}", "%w\\\n%a", ":%a;%w;t%a;b%a", "r %a\nw %a", "s%a%a%a%a%a",
		"%a{%w;s/\\(%a\\)*/\\%a/%a;%w}", "H;x;s/\\n/%a/g;%w;G;D;P;N", "l %a;q%a;Q%a", "c\\%a\ni\\%a", "0,/%a/%w"},
	"jq": {".%w | %w(%a; %a)", "%a | %w", "[%a | %w(%a)]", "%w(%a; %a; %a)", "%a as [$x, {a: $y}] | $x, $y", "@%w %a", "%a | @%w",
		"try %w(%a) catch .", "[limit(%a; %a | %w)]", ".[%a:%a] = %a", "(%a)[%a:%a]",
		"reduce (%a) as $i (%a; . %o $i)", "foreach (%a) as $i (%a; . %o $i; [$i])", "getpath(%a)", "setpath(%a; %a)",
		"[paths(%w)], del(.[%a])", "(%a) %o (%a)", "%a | test(%a; %a), sub(%a; %a), [match(%a)]", "def f(g; $x): g | $x; f(%w; %a)",
		"[%a] | %w, (. | tojson | fromjson)", "\"\\(%a)\" | %w", "{(%a): %a} | to_entries, with_entries(%a)",
		"%a | strftime(%a), (%a | strptime(%a) | mktime)", "label $x | %a, break $x", "input, input_line_number, $ENV.%w, $__loc__",
		"%a | splits(%a), ascii, implode, explode",
		"[%a, %a] | sort_by(%w), group_by(%a), min_by(%a), unique_by(%w), flatten(%a), transpose, combinations, bsearch(%a), " +
			"indices(%a)", "tojson | %w * %a", "%a | ltrimstr(%a), .[%a] // %a", "%a | walk(%w), env.%w, splits(%a), getpath([%a]), error(%a)"},
	"cloud-init": {"#cloud-config\n%w: %a\n", "#cloud-config\n%w:\n- %a\n- {%w: %a, %w: %a}\n- [%a, %a]\n",
		"#cloud-config\n%w: {%w: %a, %w: [{%w: %a}]}\n",
		"#cloud-config\nwrite_files:\n- {path: %a, content: %a, encoding: %a, permissions: %a, owner: %a}\n",
		"#cloud-config\nruncmd:\n- %a\n- [%w, %a, %a]\n- %w %a\n", "## template: jinja\n#cloud-config\nruncmd:\n- {{ %a | %w(%a) }}\n",
		"## template: jinja\n#cloud-config\n{% for i in %a %}{{ i.%w[%a] %o %a }}{% endfor %}\n",
		"## template: jinja\n#cloud-config\na: {{ (%a).%w(%a) | %w }}\n",
		"## template: jinja\n#cloud-config\n{% set x = %a %}{% macro m(a, b=%a) %}{{ a[%a:%a] }}{% endmacro %}\na: {{ m(x) | %w }} {{ " +
			"ds.meta_data.%w }}\n", "#cloud-config\nusers:\n- {name: %a, groups: %a, sudo: %a, shell: %a, ssh_authorized_keys: %a}\n",
		"#cloud-config\ndisk_setup: {%a: {%w: %a, layout: [%a, [%a, %a]]}}\nfs_setup: [{%w: %a}]\nmounts: [[%a, %a], %a]\n",
		"Content-Type: multipart/mixed; boundary=%a\n\n--%a\nContent-Type: %a\n%w: %a\n\n%a\n--%a--\n", "#%w\n%a\n",
		"#cloud-config\n<<: %a\n*%a : &a [*a]\n? %a\n: %a\n",
		"#cloud-config\nbootcmd: [%a]\n%w: !!%w %a\n"},
	"cloudbase-init": {"#cloud-config\n%w: %a\n", "#cloud-config\n%w:\n- %a\n- {%w: %a, %w: %a}\n",
		"#cloud-config\nwrite_files:\n- {path: %a, content: %a, encoding: %a, permissions: %a}\n",
		"#cloud-config\nusers:\n- {name: %a, gecos: %a, groups: %a, passwd: %a, inactive: %a, %w: %a}\n",
		"#cloud-config\nruncmd:\n- %a\n- [%w, %a]\n", "## template: jinja\n#cloud-config\nruncmd:\n- {{ %a | %w(%a) }}\n",
		"#ps1_sysnative\n%w %a\n", "rem cmd\n%w %a\n", "#%w\n%a\n",
		"Content-Type: multipart/mixed; boundary=%a\n\n--%a\nContent-Type: %a\n%w: %a\n\n%a\n--%a--\n",
		"#cloud-config\nset_timezone: %a\nset_hostname: %a\nhostname: %a\nntp: {%w: %a, servers: %a}\n",
		"<script>%a</script>\n<powershell>%w %a</powershell>\n"},
	"ignition": {`{"ignition": {"version": "3.4.0"}, "%w": {"%w": [{"%w": %a, "%w": %a}]}}`, `{"ignition": {"version": %a, "%w": {"%w": %a}}}`,
		`{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": %a, "mode": %a, "overwrite": %a, "contents": {"source": %a, ` +
			`"compression": %a, "verification": {"hash": %a}}}]}}`,
		`{"ignition": {"version": "3.4.0"}, "storage": {"directories": [{"path": %a, "mode": %a, "user": {"name": %a}}], ` +
			`"links": [{"path": %a, "target": %a, "hard": %a}], "%w": %a}}`,
		`{"ignition": {"version": "3.4.0"}, "systemd": {"units": [{"name": %a, "enabled": true, "contents": %a, ` +
			`"dropins": [{"name": %a, "contents": %a}]}]}}`,
		`{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": %a, "groups": %a, "uid": %a, "sshAuthorizedKeys": %a, ` +
			`"%w": %a}], "groups": [%a]}}`,
		`{"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "data:,%a"}], "replace": {"source": "data:;base64,%a"}}}}`},
	"kubeadm": {"apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n%w: %a\n%w:\n  %w: %a\n",
		"apiVersion: kubeadm.k8s.io/v1beta3\nkind: %w\nnodeRegistration: {%w: %a, taints: %a, kubeletExtraArgs: %a}\n",
		"apiVersion: %a\nkind: %a\n---\n%a\n---\n{%w: %a}\n",
		"kind: JoinConfiguration\napiVersion: kubeadm.k8s.io/v1beta4\ndiscovery: {bootstrapToken: {token: %a, apiServerEndpoint: %a, " +
			"caCertHashes: %a}, file: %a, %w: %a}\n"},
	"static pod": {"kube-apiserver --%w=%a --%w=%a", "etcd --%w=%a --%w %a", "kube-controller-manager --%w=%a --kubeconfig=%a",
		"kube-scheduler --%w --config=%a %a", "%w --%w=%a",
		"apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: %a, %w: %a}}]\n%w: %a\n",
		"apiVersion: %a\nkind: %w\n%w: [{%w: %a, clientConfig: {url: %a}}]\n"},
}

// operators are the operators of all languages.
var operators = strings.Fields("+ - * / % ** // == != < > <= >= =~ ~ !~ && || ! & | ^ << >> # ## %% : :- := :? :+ , ,, ^^ .. ... ?? " +
	"?: -eq -ne -lt -gt -ef -nt -z " +
	"-like -match -contains -in -is -as -band -shl -join -split -replace -f and or not in is ~= equ neq lss += -= *= /= //= |= ?//")

// values are well-formed texts, so that mutants pass the parser of the interpreter.
var values = map[string][]string{
	"sh": {"a", `"$x"`, "$x", "$(seq 3)", "/etc/passwd", "'a b'", "*", "{1..3}", "$((1/0))", `"${a[@]}"`, "-", "--", "/nonexistent",
		"/", "~", `$'\n'`, "<(echo a)",
		`""`, "''", "$RANDOM", `"$(yes | head -n 5)"`, "%s", "'%d %q'", "[a-z]*", `'\(a*\)*'`, "/dev/null", "/tmp/x", ".", "..", "-1",
		"0", "1", "a=b", `"a\nb"`, "+1", "1,3", "a:b", "u+x,g-",
		"777", "$#", `"$@"`, "$?", "$$", "$!", "${x:-y}", "http://10.0.0.1/x", "@1e9", "tomorrow", "+%s", "{}", `\;`, "1d", "1M", "a-z"},
	"cmd": {"a", `"a b"`, "%x%", "!x!", `""`, "1", "-1", `C:\`, "*", "%%i", "nul", "con", "2>nul", `"C:\Program Files"`, "a=b",
		`%~dp0`, "%1", "%*", "^", "^^", "(a)", "a,b;c", "==", "0x10", "08", `HKLM\SOFTWARE`,
		"/?", "%date%", "%random%", `"tokens=1-3,5* delims=,"`, "%x:~-1%", "%x:a=b%", `\\.\pipe\x`, "a.txt", ":eof"},
	"powershell": {"$null", "@()", "@(1,$null,'x')", "@{}", "@{a=1;b=@{c=2}}", "''", "'a'", "\"a`n$x\"", "1", "-1", "0",
		"[int]::MaxValue", "2147483648", "1.5", "1e308", "[long]::MinValue",
		"{ $_ }", "{ throw 'x' }", "{ $_.a }", "(1..3)", "[char]65", "[datetime]'2020-01-01'", "(Get-Date)", "[guid]::Empty", ",@()",
		"(,(1,2))", "$true", `C:\Windows`, `'C:\nope'`, `'C:\x.txt'`,
		"[byte[]](1,2)", "[regex]'a'", "[xml]'<a b=\"c\"><d/></a>'", `(Get-ChildItem C:\)`, "[pscustomobject]@{a=1;b=$null}",
		"$PSVersionTable", "'*'", "'['", "'{0}'", "'{0:x99}'", "$x", "$_", "$input", "$args",
		"[timespan]::MaxValue", "[version]'1.0'", `HKLM:\SOFTWARE`, "[double]::NaN", "[decimal]::MaxValue", "0xFFFFFFFF", "1kb",
		"('a'*3)", "('a','b','c')", "(1,2,3)", "[string[]]('a','b')", "[int[]]@()", "'a,b;c'",
		"\"x`ty\"", "[datetime]::MinValue", "[datetime]::MaxValue", "'a' -as [type]", "[type]'int'", "[string]", "$Error", "$env:PATH",
		"[ordered]@{z=1}", "([System.Collections.ArrayList]@(1))", "[math]::PI", "'(a)(b)?'", "'name'", "*"},
	"awk": {`"a"`, "1", "-1", "$0", "$1", "x", "a[1]", "/a*/", `""`, "1e308*10", "-log(0)", "length", "NF", `substr("abc",-1)`,
		`"%c"`, `"%s %d %5.3f"`, "2^1024", `"[a"`, `"(b|c)*"`, "$NF", "$(NF-1)", "-2147483649", "1e18", "NR", "a",
		`"\\0"`, `"&\\&"`, "0", "1/3", "int(1e19)", `"0x1F"`, `"+nan"`, "!x", "x++", "(1, 2)", "99999", "1000000"},
	"sed": {"a", ".*", `\(a\)`, "&", `\1`, `\n`, "1", "$", "0", "x", "[a-z]", `[^,]*`, "a b", "", "2", "g", "p", "3", `\(a\|b\)*`,
		"^", `\U&`, `\L\1\E`, "/etc/passwd", "/dev/stdout", "end", `\+`, `a\{2,3\}`, "5", "99999", "10", "I", "M", "e"},
	"jq": {".", ".a", "null", "[]", "{}", `"x"`, "-1", "1e1000", "nan", "infinite", "[1,[2]]", `{"a":[null]}`, "empty", "(1,2)",
		".[]?", "range(3)", `"\u0000"`, `"[z-a]"`, "-0", "true", "false", "1.5", `"a,b"`, "[3,1,2]", `[{"a":1},{"a":null}]`, `["a","b"]`,
		"1e18", "-9223372036854775808", `"%Y-%m-%dT%H:%M:%SZ"`, `"2020-01-01T00:00:00Z"`, "now", `["a",0]`, "[[1,2],[3]]", `"(?<n>a)?"`,
		`"g"`, "1000000", ".c.d", ".a[0]", "..", "$__loc__", "error", `"é😀"`, "[limit(3;range(9))]", "{a:1}", "[0]", "first(empty)",
		"-infinite"},
	"cloud-init": {"x", "[]", "{}", "null", "~", "[a, [b]]", "{a: b}", "true", `"x"`, "0o777", "0644", "2001-01-01", "!!binary AA==",
		"-1", ".inf", "''", "/a/b", "root:root", "b64", "gz+b64", "aGVsbG8=", "[{a: b}, null]", "{a: {b: [c]}}", "[ls, -l]",
		"range(3)", "'a' * 3", "[1, 2]", "none", "ds", "v1", "v1.local_hostname", "x", "'abc'", "{'a': 1}", "1", "0",
		"text/x-shellscript", "b", "auto", "ext4", "50%", "/dev/sdc", "default", "ALL=(ALL) NOPASSWD:ALL", "1.5", "99999"},
	"ignition": {"null", "[]", "{}", `"x"`, `"/a"`, "-1", "0", "true", `"data:,x"`, `"data:;base64,!"`, `"data:;base64,aGVsbG8="`,
		"1e99", "[null]", `{"a":null}`, `"gzip"`, `"/"`, `""`, `"../.."`, `"sha512-x"`, "420", `"/etc/x"`, `"a.service"`,
		`"[Service]\nExecStart=/bin/sh -c 'echo a'\n[Install]\nWantedBy=multi-user.target\n"`, `"[Unit\n=\n"`, `["a"]`, `[{"name":"a"}]`,
		`{"name":"core"}`, `"core"`, `"ssh-rsa AAAA"`, "4096", `"data:text/plain;charset=utf-8;base64,eA"`, "false", "1.5"},
	"kubeadm": {"x", "[]", "{}", "null", "[a]", "{a: b}", "true", `"x"`, "10.0.0.4:6443", "abcdef.0123456789abcdef", "['sha256:aa']",
		"0", "-1", "[{key: a, effect: NoSchedule}]", "[{name: a, value: b}]", "unix:///run/x.sock", "JoinConfiguration",
		"InitConfiguration", "kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3", "v1", "''", "1h", "{token: x}", "/etc/x"},
	"static pod": {"a", "true", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/admin.conf", "127.0.0.1", "10.1.0.4", "0.0.0.0", "::",
		"https://127.0.0.1:2379", "https://10.1.0.4:2379,http://[::1]:1", "a=https://10.1.0.4:2380", "6443", "0", "-1", "65536",
		"a=b,c=d", "http://", "unix:///x", "[]", "{}", "null", "[{a: b}]", "localhost:2379", "..", "/", "/../../x", "a,b", "RBAC,Node",
		"10.96.0.0/12", "1s", "", "=", "file:///x", "//x", "https://u:p@[fe80::1%25eth0]:99999/a?b#c"},
}

// maker creates mutants of one kind.
type maker struct {
	*rand.Rand
	// seeds are texts of the kind, strange are texts of other kinds.
	seeds, strange, words, calls, forms, values []string
}

// text returns a mutant: one of the seeds or a filled form, changed in some places.
func (m maker) text() (text string) {
	changes := max(m.IntN(6)-3, 0)
	if m.IntN(2) == 0 {
		for range 1 + m.IntN(2) {
			text += m.fill(m.pick(m.forms))
		}
	} else {
		text = m.part(m.seed(), 4<<10)
		changes++
	}
	for range changes {
		text = m.change(text)
	}
	return m.part(text, mostText)
}

// seed returns one of the seeds, and rarely a strange one.
func (m maker) seed() string {
	if len(m.strange) > 0 && m.IntN(8) == 0 {
		return m.pick(m.strange)
	}
	return m.pick(m.seeds)
}

// mostText limits the length of a mutant, in bytes.
const mostText = 64 << 10

func (m maker) pick(from []string) string { return from[m.IntN(len(from))] }

// part returns a part of a text of at most limit bytes.
func (m maker) part(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := m.IntN(len(text) - limit)
	return text[at : at+limit]
}

// fill replaces the placeholders of a form.
func (m maker) fill(form string) string {
	var out strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] == '%' && i+1 < len(form) {
			switch form[i+1] {
			case 'w':
				out.WriteString(m.pick(m.words))
				i++
				continue
			case 'c':
				out.WriteString(m.call())
				i++
				continue
			case 'o':
				out.WriteString(m.pick(operators))
				i++
				continue
			case 'a':
				out.WriteString(m.argument())
				i++
				continue
			}
		}
		out.WriteByte(form[i])
	}
	return out.String()
}

// call returns a command with some of its own options and with arguments.
func (m maker) call() string {
	if len(m.calls) == 0 {
		return m.pick(m.words)
	}
	name, options, _ := strings.Cut(m.pick(m.calls), "\t")
	out := m.fill(name)
	if options != "" {
		all := strings.Split(options, "\t")
		for range m.IntN(4) {
			out += " " + m.fill(m.pick(all))
		}
	}
	if !strings.HasSuffix(out, ")") {
		for range m.IntN(4) {
			out += " " + m.argument()
		}
	}
	return out
}

// argument returns a text for use as a value.
func (m maker) argument() string {
	if m.IntN(4) > 0 {
		return m.pick(m.values)
	}
	switch m.IntN(12) {
	case 0:
		return m.pick(spice)
	case 1, 2:
		return m.pick(numbers)
	case 3:
		return `"` + m.pick(spice) + m.pick(m.words) + `"`
	case 4:
		return "'" + m.pick(m.words) + m.pick(spice) + "'"
	case 5:
		return m.pick(m.words)
	case 6:
		return strings.ReplaceAll(m.part(m.seed(), 40), "\n", " ")
	case 7:
		pair := pairs[m.IntN(len(pairs))]
		return pair[0] + m.argument() + pair[1]
	case 8:
		return m.argument() + m.pick(operators) + m.argument()
	case 9:
		return "[" + m.pick(numbers) + ", null, " + `"` + m.pick(m.words) + `"]`
	case 10:
		return "(" + m.pick(numbers) + "," + m.pick(numbers) + ",'" + m.pick(spice) + "')"
	}
	return ""
}

// change changes a text in one place.
func (m maker) change(text string) string {
	at := m.IntN(len(text) + 1)
	end := min(at+m.IntN(12), len(text))
	switch m.IntN(16) {
	case 0, 1:
		return text[:at] + m.pick(spice) + text[at:]
	case 2:
		return text[:at] + text[end:]
	case 3:
		return text[:at] + m.pick(spice) + text[end:]
	case 4:
		return text[:at] + text[at:end] + text[at:end] + text[end:]
	case 5: // a part of another text
		other := m.part(m.seed(), 1+m.IntN(400))
		return text[:at] + other + text[end:]
	case 6:
		return text[:at]
	case 7:
		words := strings.SplitAfter(text, " ")
		i, j := m.IntN(len(words)), m.IntN(len(words))
		words[i], words[j] = words[j], words[i]
		return strings.Join(words, "")
	case 8, 9: // another number
		if from := strings.IndexAny(text[at:], "0123456789"); from >= 0 {
			from += at
			to := from
			for to < len(text) && text[to] >= '0' && text[to] <= '9' {
				to++
			}
			return text[:from] + m.pick(numbers) + text[to:]
		}
		return text[:at] + m.pick(numbers) + text[at:]
	case 10: // nested
		pair := pairs[m.IntN(len(pairs))]
		n := 1 << m.IntN(13)
		return text[:at] + strings.Repeat(pair[0], n) + text[at:end] + strings.Repeat(pair[1], n) + text[end:]
	case 11: // many times
		return text[:at] + strings.Repeat(text[at:end], 1<<m.IntN(12)) + text[end:]
	case 12: // another word of the vocabulary
		if words := strings.Fields(text); len(words) > 0 {
			return strings.Replace(text, m.pick(words), m.pick(m.words), 1+m.IntN(3))
		}
	case 13: // empty quotes
		for _, quote := range []string{`"`, "'"} {
			if from := strings.Index(text[at:], quote); from >= 0 {
				from += at + 1
				if to := strings.Index(text[from:], quote); to >= 0 {
					return text[:from] + text[from+to:]
				}
			}
		}
	case 14:
		return text[:at] + m.argument() + text[end:]
	case 15: // without one of the quotes
		if from := strings.IndexAny(text[at:], "\"'`)]}"); from >= 0 {
			return text[:at+from] + text[at+from+1:]
		}
	}
	return text
}

// vocabulary returns the words in the constants of Go files: the names of the commands, options,
// functions and fields that they implement.
func vocabulary(t *testing.T, dirs []string) []string {
	t.Helper()
	seen := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("../../../internal/sim", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.Field:
					if n.Tag != nil {
						addWords(seen, n.Tag.Value)
					}
				case ast.Expr:
					if text, ok := constant(n); ok {
						addWords(seen, text)
						return false
					}
				}
				return true
			})
		}
	}
	all := make([]string, 0, len(seen))
	for word := range seen {
		all = append(all, word)
	}
	slices.Sort(all)
	return all
}

func addWords(to map[string]bool, text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n|,:;=\"'`()", r) }) {
		if len(word) <= 40 && !strings.Contains(word, "%") {
			to[word] = true
		}
	}
}

// commandsOf returns the commands in the tables of Go files with the options that they declare,
// each as NAME TAB OPTION TAB OPTION ….
func commandsOf(t *testing.T, dir, files string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../../../internal/sim", dir, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			entry, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			name, ok := constant(entry.Key)
			if !ok || strings.ContainsAny(name, " %") || name == "" {
				return true
			}
			switch value := entry.Value.(type) {
			case *ast.Ident:
				all = append(all, name)
			case *ast.CallExpr:
				call := []string{name}
				if len(value.Args) > 0 {
					declared, _ := constant(value.Args[0])
					for _, option := range strings.Fields(declared) {
						call = append(call, options(option)...)
					}
				}
				all = append(all, strings.Join(call, "\t"))
			}
			return true
		})
	}
	return all
}

// options returns the ways to write an option of a declaration: n|lines: is -n with an argument and
// --lines= with an argument.
func options(declared string) (all []string) {
	name := strings.TrimRight(declared, ":=?+#")
	value := ""
	if name != declared {
		value = "%a"
	}
	for one := range strings.SplitSeq(name, "|") {
		switch {
		case len(one) == 1 && value != "":
			all = append(all, "-"+one+" "+value, "-"+one+value)
		case len(one) == 1:
			all = append(all, "-"+one)
		case value != "":
			all = append(all, "--"+one+"="+value)
		default:
			all = append(all, "--"+one)
		}
	}
	return all
}

// powershellCalls returns the cmdlets with their parameters, and the members of types.
func powershellCalls(t *testing.T) (all []string) {
	t.Helper()
	for _, line := range linesOf(t, "real_parameters.txt") {
		words := strings.Fields(line)
		for i := range words[1:] {
			words[i+1] = "-" + words[i+1] + " %a"
		}
		all = append(all, strings.Join(words, "\t"))
	}
	for _, line := range linesOf(t, "real_members.txt") {
		name, members, _ := strings.Cut(line, ": ")
		for member := range strings.FieldsSeq(members) {
			all = append(all, "["+name+"]::"+member+"(%a, %a)", "["+name+"]::"+member+"(%a)", "(["+name+"]%a)."+member+"(%a)",
				"(["+name+"]%a)."+member+"(%a, %a)")
		}
	}
	return all
}

func linesOf(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile("../../../internal/sim/guest/powershell/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return line == "" || line[0] == '#' })
}

// makerOf returns the maker of a kind.
func makerOf(t *testing.T, k kind, seeds, strange []string, r *rand.Rand) maker {
	t.Helper()
	kind := k.name
	if kind == "dash" {
		kind = "sh"
	}
	m := maker{Rand: r, seeds: seeds, strange: strange, words: builtIn[kind], forms: forms[kind], values: values[kind]}
	if kind == "cloudbase-init" {
		m.values = append(slices.Clone(values["cloud-init"]), values["powershell"]...)
	}
	if len(m.words) == 0 {
		m.words = vocabulary(t, k.source)
	}
	switch kind {
	case "sh":
		m.calls = append(commandsOf(t, "guest/shell", "linux*.go"), commandsOf(t, "guest/shell", "builtin.go")...)
	case "cmd":
		m.calls = append(commandsOf(t, "guest/shell", "windows*.go"), commandsOf(t, "guest/shell", "batch*.go")...)
		for _, word := range m.words {
			if len(word) > 1 && word[0] == '/' && len(word) < 8 {
				m.calls = append(m.calls, "dir\t"+word, "xcopy\t"+word+" %a")
			}
		}
	case "powershell", "cloudbase-init":
		m.calls = powershellCalls(t)
	}
	return m
}

// builtIn contains the words of languages whose vocabulary is not in Go files, or is small there.
var builtIn = map[string][]string{
	"awk": strings.Fields("length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper " +
		"system close fflush strftime systime getline print printf next exit delete NR NF FS OFS ORS RS FILENAME FNR SUBSEP RSTART " +
		"RLENGTH ENVIRON ARGV ARGC CONVFMT OFMT gensub nextfile x a return break continue while for do in"),
	"sed": strings.Fields("g p d D n N h H x G P q Q = l i a c r w e s y b t T z F g I M 1 2 99 ! { } :a ba ta gp gI 2g pw"),
	"jq": strings.Fields("length utf8bytelength not keys keys_unsorted values to_entries from_entries with_entries add any all " +
		"flatten range floor sqrt pow log tostring tonumber type infinite nan isinfinite isnan isnormal sort sort_by group_by min max " +
		"min_by max_by unique unique_by reverse contains inside startswith endswith combinations ltrimstr rtrimstr explode implode split " +
		"join ascii_downcase ascii_upcase recurse recurse_down env transpose bsearch splits test match capture scan sub gsub ascii todate " +
		"fromdate now localtime gmtime mktime strftime strptime strflocaltime tojson fromjson select map map_values path del getpath " +
		"setpath delpaths leaf_paths paths pick has in inputs input debug stderr input_filename limit first last nth until repeat while " +
		"error halt halt_error getpath builtins splits tojson ascii indices index rindex walk significand drem ldexp scalb scalbn " +
		"nearbyint trunc round ceil abs toarray have_literal_numbers getpath limit skip ltrimstr trim ltrim rtrim @text @json @csv @tsv " +
		"@html @uri @sh @base64 @base64d base64d csv tsv html uri sh base64 text json empty reduce foreach if then else end try catch " +
		"label break import include def as and or a b c d"),
}

func TestMutationsAreSeeded(t *testing.T) {
	mutants := func() (out string) {
		m := makerOf(t, kind{name: "jq"}, jqFilters, nil, rand.New(rand.NewPCG(7, 7)))
		for range 50 {
			out += fmt.Sprintf("%q ", m.text())
		}
		return out
	}
	if first, second := mutants(), mutants(); first != second {
		t.Error("one seed gives different mutants")
	}
}

// TestEveryKindHasForms checks that every kind has forms and values, without which it would be
// mutated less.
func TestEveryKindHasForms(t *testing.T) {
	for _, k := range kinds() {
		if m := makerOf(t, k, nil, nil, nil); len(m.forms) == 0 || len(m.words) < 20 || len(m.values) < 20 {
			t.Errorf("%s: %d forms, %d words, %d values", k.name, len(m.forms), len(m.words), len(m.values))
		}
	}
}
