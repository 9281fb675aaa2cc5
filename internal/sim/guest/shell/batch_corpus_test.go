package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// batchScripts are batch files of bootstrap data, images and addons.
var batchScripts = []script{
	{"if greater",
		"set N=5\nif %N% GTR 3 echo more\nif %N% LSS 3 echo less\nif 10 GEQ 9 echo number\nif abc LEQ abd echo text",
		"more\nnumber\ntext\n", 0},
	{"if equal words", "if a EQU a echo eq\nif a NEQ b echo ne\nif /i A EQU a echo fold\nif not a==a echo never", "eq\nne\nfold\n", 0},
	{"if defined", "set A=1\nif defined A (echo yes) else echo no\nif not defined B echo none", "yes\nnone\n", 0},
	{"if errorlevel in order",
		"cmd /c exit 4\nif errorlevel 5 echo 5\nif errorlevel 4 echo 4\nif %errorlevel% EQU 4 echo same",
		"4\nsame\n", 4},
	{"if exist with blocks", "if exist C:\\none (\n  echo there\n) else (\n  echo missing\n)", "missing\n", 0},
	{"else if", "set V=2\nif %V%==1 (echo one) else if %V%==2 (echo two) else (echo more)", "two\n", 0},
	{"nested blocks", "if 1==1 (\n  if 2==2 (\n    echo deep\n  )\n  echo out\n)", "deep\nout\n", 0},
	{"a condition takes what is joined", "if 1==2 echo a & echo b\necho c", "c\n", 0},
	{"if exist a folder", "if exist C:\\k\\ echo folder\nif exist C:\\k\\kube*.exe echo pattern", "folder\npattern\n", 0},
	{"for over words", "for %%i in (a b c) do echo %%i", "a\nb\nc\n", 0},
	{"for over files", "for %%f in (C:\\k\\kube*.exe) do echo %%~nxf", "kubeadm.exe\nkubectl.exe\nkubelet.exe\n", 0},
	{"for numbers", "for /l %%i in (1,1,3) do echo %%i\nfor /l %%i in (3,-2,0) do echo %%i", "1\n2\n3\n3\n1\n", 0},
	{"for lines of a file",
		"(echo a b& echo c d)>C:\\k\\f.txt\nfor /f \"tokens=1,2\" %%a in (C:\\k\\f.txt) do echo %%b-%%a",
		"b-a\nd-c\n", 0},
	{"for output of a command", "for /f %%h in ('hostname') do set H=%%h\necho %H%", "node-1\n", 0},
	{"for with delimiters", "for /f \"tokens=2 delims==\" %%a in (\"key=value\") do echo %%a", "value\n", 0},
	{"for with the rest", "for /f \"tokens=1,* delims=:\" %%a in (\"a:b:c\") do echo %%a %%b", "a b:c\n", 0},
	{"for with skip and eol",
		"(echo head& echo #no& echo yes)>C:\\k\\s.txt\nfor /f \"skip=1 eol=#\" %%a in (C:\\k\\s.txt) do echo %%a",
		"yes\n", 0},
	{"for with usebackq", "echo x>\"C:\\k\\a b.txt\"\n" +
		"for /f \"usebackq\" %%a in (\"C:\\k\\a b.txt\") do echo %%a\n" +
		"for /f \"usebackq\" %%a in (`hostname`) do echo %%a", "x\nnode-1\n", 0},
	{"for over a pipe", "for /f \"tokens=1\" %%a in ('echo one two ^| findstr one') do echo %%a", "one\n", 0},
	{"for over folders", "mkdir C:\\d\\x C:\\d\\y\nfor /d %%d in (C:\\d\\*) do echo %%~nd", "x\ny\n", 0},
	{"for below", "mkdir C:\\d\\x\necho a>C:\\d\\x\\f.log\nfor /r C:\\d %%f in (*.log) do echo %%f", "C:\\d\\x\\f.log\n", 0},
	{"for with a block", "for %%i in (1 2) do (\n  echo a%%i\n  echo b%%i\n)", "a1\nb1\na2\nb2\n", 0},
	{"nested loops", "for %%a in (1 2) do for %%b in (x y) do echo %%a%%b", "1x\n1y\n2x\n2y\n", 0},
	{"delayed expansion",
		"setlocal enabledelayedexpansion\nset N=0\nfor %%i in (a b c) do set /a N+=1 & echo !N!\nendlocal",
		"1\n2\n3\n", 0},
	{"without delayed expansion", "set N=0\nfor %%i in (a b) do (set /a N+=1\necho %N%)\necho %N%", "0\n0\n2\n", 0},
	{"setlocal restores", "set A=1\nsetlocal\nset A=2\ncd C:\\k\nendlocal\necho %A% %CD%", "1 C:\\Windows\\System32\n", 0},
	{"arguments", "echo @echo %%1 %%~1 %%~nx2 %%0>C:\\k\\a.cmd\ncall C:\\k\\a.cmd \"x y\" C:\\k\\kubelet.exe",
		"\"x y\" x y kubelet.exe C:\\k\\a.cmd\n", 0},
	{"own folder", "echo @echo %%~dp0 %%~f0 %%~n0>C:\\k\\o.cmd\ncall C:\\k\\o.cmd", "C:\\k\\ C:\\k\\o.cmd o\n", 0},
	{"all arguments and shift", "(echo @echo %%*& echo @shift& echo @echo %%1)>C:\\k\\s.cmd\ncall C:\\k\\s.cmd a b", "a b\nb\n", 0},
	{"replace in a variable", "set A=a-b-c\necho %A:-=+%\necho %A:*b=x%", "a+b+c\nx-c\n", 0},
	{"part of a variable", "set A=abcdef\necho %A:~1,3% %A:~-2% %A:~0,-1%", "bcd ef abcde\n", 0},
	{"subroutine", "call :sub one two\necho back %R%\ngoto :eof\n:sub\nset R=%2\necho in %1\nexit /b 0", "in one\nback two\n", 0},
	{"subroutine with a code", "call :fail\necho %errorlevel%\nexit /b 1\n:fail\nexit /b 7", "7\n", 1},
	{"subroutine ends at the file's end", "call :s\necho after\ngoto :eof\n:s\necho s", "s\nafter\n", 0},
	{"goto out of a block", "if 1==1 (\n  echo a\n  goto end\n  echo no\n)\necho no\n:end\necho z", "a\nz\n", 0},
	{"loop by goto", "set /a N=0\n:again\nset /a N+=1\nif %N% LSS 3 goto again\necho %N%", "3\n", 0},
	{"goto nowhere", "goto nowhere\necho no", "The system cannot find the batch label specified - nowhere\n", 1},
	{"set /a",
		"set /a X=2+3*4\nset /a Y=(2+3)*4, Z=7/2, W=7%%4\necho %X% %Y% %Z% %W%\nset /a \"V=1<<4|3\"\necho %V%",
		"14 20 3 3\n19\n", 0},
	{"set /p from a file", "echo line>C:\\k\\p.txt\nset /p V=<C:\\k\\p.txt\necho %V%", "line\n", 0},
	{"set with quotes", "set \"A=x & y\"\necho \"%A%\"", "\"x & y\"\n", 0},
	{"an undefined variable", "echo [%NOTHING%]\nset NOTHING", "[]\nEnvironment variable NOTHING not defined\n", 1},
	{"a block into a file", "(\necho one\necho two\n) > C:\\k\\b.txt\ntype C:\\k\\b.txt", "one\ntwo\n", 0},
	{"append and both streams",
		"echo a> C:\\k\\c.txt\nnope >> C:\\k\\c.txt 2>&1\nfindstr /c:\"not recognized\" C:\\k\\c.txt",
		"'nope' is not recognized as an internal or external command,\n", 0},
	{"errors to nothing", "type C:\\none 2>nul\necho %errorlevel%", "1\n", 1},
	{"output to errors", "echo bad 1>&2", "bad \n", 0},
	{"and or", "hostname >nul && echo ok\ntype C:\\none 2>nul || echo failed\ncmd /c exit 1 && echo no || echo yes",
		"ok\nfailed\nyes\n", 1},
	{"echo forms", "echo.\necho:x\necho(y\necho a  b", "\nx\ny\na  b\n", 0},
	{"carets", "echo a ^& b ^| c ^> d ^^", "a & b | c > d ^\n", 0},
	{"a caret joins lines", "echo one ^\ntwo", "one two\n", 0},
	{"quotes keep operators", "echo \"a & b\"", "\"a & b\"\n", 0},
	{"remarks and labels", "rem nothing & echo no\n:: nothing\necho x", "x\n", 0},
	{"pushd and popd", "pushd C:\\k\necho %CD%\npopd\necho %CD%", "C:\\k\nC:\\Windows\\System32\n", 0},
	{"cd forms", "cd /d C:\\k\\debug\ncd ..\ncd\ncd C:\\none", "C:\\k\nThe system cannot find the path specified.\n", 1},
	{"findstr flags", "(echo One& echo two)>C:\\k\\f.txt\nfindstr /i one C:\\k\\f.txt\n" +
		"findstr /v /i one C:\\k\\f.txt\nfindstr /n /r \"^t\" C:\\k\\f.txt\n" +
		"findstr three C:\\k\\f.txt", "One\ntwo\n2:two\n", 1},
	{"a class of findstr", "(echo abc& echo a b)>C:\\k\\f.txt\nfindstr /r \"[^a-z]\" C:\\k\\f.txt", "a b\n", 0},
	{"carets before a late expansion", "setlocal enabledelayedexpansion\nset \"m=bang^!\"\necho !m! \"x ^^y\" ^^!m^^!",
		"bang! \"x ^y\" !m!\n", 0},
	{"errors of set /a", "set /a x=08 2>nul\necho %errorlevel%\nset /a x=1/0 2>nul\necho %errorlevel%",
		"1073750991\n1073750993\n", 1073750993},
	{"folders below", "md C:\\k\\t\\a\\b\nfor /d /r C:\\k\\t %%d in (*) do echo %%~nd", "a\nb\n", 0},
	{"the current folder stays", "md C:\\k\\t\\a\ncd C:\\k\\t\nrd /s /q . 2>nul\ndir /b\ncd", "C:\\k\\t\n", 0},
	{"sort", "(echo b2& echo B1& echo a_c& echo a1)>C:\\k\\f.txt\nsort C:\\k\\f.txt\nsort /r C:\\k\\f.txt",
		"a_c\na1\nB1\nb2\nb2\nB1\na1\na_c\n", 0},
	{"a copy into itself", "md C:\\k\\s\necho x>C:\\k\\s\\f\nxcopy C:\\k\\s C:\\k\\s\\in /i /e 2>nul", "0 File(s) copied\n", 4},
	{"findstr of alternatives", "echo a b | findstr \"x b\"\necho none | findstr \"x y\" >nul || echo no", "a b \nno\n", 1},
	{"findstr refuses", "echo a | findstr /off a", "casement does not simulate findstr /o\n", 2},
	{"find", "(echo a& echo b& echo a)>C:\\k\\f.txt\ntype C:\\k\\f.txt | find /c \"a\"\n" +
		"find /i \"A\" C:\\k\\f.txt >nul && echo found", "2\nfound\n", 0},
	{"where", "where cmd\nwhere kubelet\nwhere nope 2>nul || echo none", "C:\\Windows\\System32\\cmd.exe\nC:\\k\\kubelet.exe\nnone\n", 1},
	{"exit codes", "exit /b 3", "", 3},
	{"exit ends the callers", "echo exit 4 > C:\\k\\e.cmd\ncall C:\\k\\e.cmd\necho no", "", 4},
	{"copy", "echo x>C:\\k\\1.txt\ncopy /y C:\\k\\1.txt C:\\k\\2.txt >nul\ntype C:\\k\\2.txt\ncopy C:\\none C:\\k",
		"x\nThe system cannot find the file specified.\n", 1},
	{"move and ren", "echo x>C:\\k\\1.txt\nmove /y C:\\k\\1.txt C:\\k\\2.txt >nul\nren C:\\k\\2.txt 3.txt\ntype C:\\k\\3.txt", "x\n", 0},
	{"del keeps folders", "mkdir C:\\d\necho x>C:\\d\\a.txt\ndel /q C:\\d\nif exist C:\\d echo there\n" +
		"if not exist C:\\d\\a.txt echo gone", "there\ngone\n", 0},
	{"rd", "mkdir C:\\d\\e\nrd C:\\d\nrd /s /q C:\\d\nif not exist C:\\d echo gone", "The directory is not empty.\ngone\n", 0},
	{"dir bare", "mkdir C:\\d\necho x>C:\\d\\a.txt\ndir /b C:\\d", "a.txt\n", 0},
	{"xcopy", "mkdir C:\\s\\t\necho x>C:\\s\\t\\f.txt\nxcopy /e /i /y C:\\s C:\\u >nul\ntype C:\\u\\t\\f.txt", "x\n", 0},
	{"an unknown switch", "del /z C:\\k", "casement does not simulate del /z\n", 1},
	{"what cmd.exe has and casement has not", "echo a\nassoc .txt\necho b",
		"a\ncasement does not simulate assoc of cmd.exe; the script ends here\n", 255},
	{"start is not simulated", "start /b notepad\necho never", "casement does not simulate start of cmd.exe; the script ends here\n", 255},
	{"services", "net stop kubelet >nul\nsc query kubelet | findstr STATE\nnet start kubelet >nul\n" +
		"sc query kubelet | findstr RUNNING >nul && echo up", "        STATE              : 1  STOPPED\nup\n", 0},
	{"no such service", "sc query nope >nul\necho %errorlevel%",
		"[SC] EnumQueryServicesStatus:OpenService FAILED 1060:\n\nThe specified service does not exist as an installed service.\n\n1060\n",
		1060},
	{"nssm", "nssm set kubelet start SERVICE_AUTO_START\nnssm get kubelet start",
		"Set parameter \"start\" for service \"kubelet\".\nSERVICE_AUTO_START\n", 0},
	{"success sets the errorlevel",
		"cmd /c exit 5\nmd C:\\q\necho %errorlevel%\ncmd /c exit 5\ncd C:\\q\necho %errorlevel%\ncmd /c exit 5\npopd\necho %errorlevel%\n" +
			"cmd /c exit 5\nrd C:\\none 2>nul\necho %errorlevel%\nver >nul", "0\n0\n5\n5\n", 0},
	{"a program that is missing",
		"nosuch 2>nul || echo failed\necho %errorlevel%\ncall nosuch 2>nul\necho %errorlevel%", "failed\n9009\n1\n", 1},
	{"else of an inner if",
		"if a==a if b==c (echo x) else (echo y) else echo z\nif a==a echo q|(more 2>nul) else echo r\n>C:\\b.txt (echo in)\n" +
			"type C:\\b.txt\nif cmdextversion 2 echo extensions", "y\nq\n\nin\nextensions\n", 0},
	{"texts in order", "if a LSS B (echo a B) else echo B a\nif B GTR a (echo yes) else echo no", "a B\nyes\n", 0},
	{"attrib protects", "echo x>C:\\p.txt\nattrib +r C:\\p.txt\ndel C:\\p.txt 2>nul\nif exist C:\\p.txt echo kept\nattrib -r C:\\p.txt\n" +
		"del C:\\p.txt\nif not exist C:\\p.txt echo gone", "kept\ngone\n", 0},
	{"reg delete keeps the key of the values that it deletes",
		"(reg add HKCU\\K /v A /d x /f& reg add HKCU\\K /d text /f& reg delete HKCU\\K /ve /f& reg delete HKCU\\K /va /f) >nul\n" +
			"reg query HKCU\\K /v A 2>nul || echo no value\nreg query HKCU\\K >nul && echo key", "no value\nkey\n", 0},
	{"reg refuses before it changes",
		"for %%k in (https://x \\HKCU\\K HKCU\\K\\x\\\\) do reg add %%k /f 2>nul || echo %%k\n" +
			"reg add HKCU\\K /v A /v B /f 2>nul || echo doubled\nreg add HKCU\\K /v D /t REG_DWORD /d 4294967296 /f 2>nul || echo large\n" +
			"reg query HKCU\\K >nul 2>nul || echo none",
		"https://x\n\\HKCU\\K\nHKCU\\K\\x\\\\\ndoubled\nlarge\nnone\n", 1},
	{"reg shows types, the default value and keys below",
		"(reg add HKCU\\K /v D /t REG_DWORD /d 0123 /f& reg add HKCU\\K /v M /t REG_MULTI_SZ /s , /d a,b /f& " +
			"reg add HKCU\\K /ve /d x /f& reg add HKCU\\K\\Sub /f) >nul\nreg query HKCU\\K",
		"\nHKEY_CURRENT_USER\\K\n    (Default)    REG_SZ    x\n    D    REG_DWORD    0x7b\n    M    REG_MULTI_SZ    a\\0b\n\n" +
			"HKEY_CURRENT_USER\\K\\Sub\n", 0},
	{"sc create without a blank makes nothing",
		"sc create X binpath=\"c:\\a.exe\" start=auto >nul 2>nul\necho %errorlevel%\n" +
			"sc create X binpath= c:\\a.exe start= boot >nul 2>nul\n" +
			"echo %errorlevel%\nsc qc X >nul 2>nul\necho %errorlevel%", "1639\n87\n1060\n", 1060},
	{"find heads its files and finds no empty text",
		"(echo a& echo b)>C:\\f.txt\nfind \"b\" C:\\f.txt\nfind \"\" C:\\f.txt\nfind /c \"a\" C:\\f.txt",
		"\n---------- C:\\F.TXT\nb\n\n---------- C:\\F.TXT\n\n---------- C:\\F.TXT: 1\n", 0},
	{"registry", "reg add HKLM\\SOFTWARE\\T /v A /t REG_DWORD /d 5 /f >nul\n" +
		"reg query HKLM\\SOFTWARE\\T /v A | findstr REG_\nreg delete HKLM\\SOFTWARE\\T /f >nul\n" +
		"reg query HKLM\\SOFTWARE\\T >nul 2>nul || echo gone", "    A    REG_DWORD    0x5\ngone\n", 1},
	{"setx", "setx /m FOO bar >nul\nreg query \"HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session " +
		"Manager\\Environment\" /v FOO | findstr bar", "    FOO    REG_SZ    bar\n", 0},
	{"powershell from a batch", "powershell -NoProfile -Command \"Write-Output hi; exit 3\"\necho %errorlevel%", "hi\n3\n", 3},
	{"powershell's error",
		"powershell -Command \"throw 'domain join failed'\" 2>&1 | findstr /b /c:\"domain join\"",
		"domain join failed\n", 0},
	{"cmd in cmd", "cmd /c \"echo a & echo b\"\ncmd /c exit 9\necho %errorlevel%", "a \nb\n9\n", 9},
	{"batch without call", "echo @echo in>C:\\k\\i.cmd\nC:\\k\\i.cmd\necho no", "in\n", 0},
	{"by path and by name", "echo @echo tool>C:\\k\\tool.cmd\ntool\necho never", "tool\n", 0},
	{"call a program", "call hostname\necho next", "node-1\nnext\n", 0},
	{"pipes", "echo b& echo a | findstr a", "b\na \n", 0},
	{"a pipe's variables are lost", "set A=1\necho x | set A=2\necho %A%", "1\n", 0},
	{"a syntax error ends it", "if a==\necho never", "The syntax of the command is incorrect.\n", 255},
	{"an operator at the start", "& echo a\necho never", "& was unexpected at this time.\n", 255},
	{"environment of programs", "set V=x\ncmd /c echo %%V%%", "x\n", 0},
	{"expanded once more by call", "set A=B\nset B=value\ncall echo %%%A%%%", "value\n", 0},
	{"timeout", "timeout /t 1 /nobreak >nul\necho %errorlevel%", "0\n", 0},
	{"kubeadm's success", "echo success > C:\\k\\s.complete\nif exist C:\\k\\s.complete type C:\\k\\s.complete", "success \n", 0},
	{"the hosts file", "echo 10.0.0.1 api >> C:\\Windows\\System32\\drivers\\etc\\hosts\n" +
		"findstr api C:\\Windows\\System32\\drivers\\etc\\hosts", "10.0.0.1 api \n", 0},
	{"ver", "ver | findstr /c:\"Microsoft Windows\" >nul && echo windows", "windows\n", 0},
	{"percent at the end", "echo 100%%", "100%\n", 0},
	{"numbers before a redirection",
		"echo 2>C:\\k\\n.txt\ntype C:\\k\\n.txt\necho a2>C:\\k\\n.txt\ntype C:\\k\\n.txt", "ECHO is off.\na2\n", 0},
}

func TestBatchCorpus(t *testing.T) {
	for _, c := range batchScripts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, machine.Windows, machine.NSSM)
			m.Services.StartAutomatic()
			var out bytes.Buffer
			o := shell.Session{Stdout: &out, Stderr: &out, EchoOff: true, Name: `C:\Windows\Temp\user-data.cmd`}
			code := shell.New(m, nil, nil).Batch(t.Context(), strings.ReplaceAll(c.text, "\n", "\r\n"), o)
			if got := strings.ReplaceAll(out.String(), "\r\n", "\n"); got != c.out || code != c.code {
				t.Errorf("got %q and %d, want %q and %d", got, code, c.out, c.code)
			}
		})
	}
	if n := len(batchScripts); n < 80 {
		t.Errorf("the corpus has %d scripts", n)
	}
}
