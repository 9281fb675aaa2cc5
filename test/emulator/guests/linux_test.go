package guests

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/testing/golden"
)

// The least results that guests must reach for the scripts of linuxFile.
const (
	linuxFile         = "testdata/linux.jsonl"
	leastSame         = 229
	mostDifferent     = 0
	linuxBase         = "/root/judge"
	linuxScript       = linuxBase + "/script.sh"
	linuxScriptPeriod = 10 * time.Second
)

// linuxCase is a script with the answer of bash 5.2 and the tools of Debian 12; it is a line of
// linuxFile.
type linuxCase struct {
	ID      string `json:"id"`
	Script  string `json:"script"`
	Stdout  string `json:"stdout"`
	Code    int    `json:"code,omitempty"`
	Stderr  string `json:"-"`
	refused bool
}

var refusedByName = regexp.MustCompile(`does not simulate|not simulated|simulated: no effect|guest is simulated|bound of the simulation`)

// verdict compares a guest's answer with the real one: same, refused or different.
func (c linuxCase) verdict(got linuxCase) string {
	switch {
	case got.Stdout == c.Stdout && got.Code == c.Code:
		return "same"
	case got.refused || refusedByName.MatchString(got.Stdout+got.Stderr):
		return "refused"
	}
	return "different"
}

func readLinux(t *testing.T) (all []linuxCase) {
	t.Helper()
	data, err := os.ReadFile(linuxFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c linuxCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// TestLinuxScripts runs scripts as people write them for nodes. A guest answers as the real machine
// does or refuses by name; any other answer is counted.
func TestLinuxScripts(t *testing.T) {
	all := readLinux(t)
	if *real || golden.Update() {
		askBash(t, all)
	}
	if golden.Update() {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		for _, c := range all {
			if err := e.Encode(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(linuxFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	by := map[string][]string{}
	for _, c := range all {
		got := runLinuxScript(t, c)
		verdict := c.verdict(got)
		by[verdict] = append(by[verdict], c.ID)
		if *verbose && verdict != "same" {
			t.Logf("%s %s:\n%s--- want %d\n%s--- got %d\n%s--- errors\n%s", c.ID, verdict, c.Script, c.Code, c.Stdout,
				got.Code, got.Stdout, got.Stderr)
		}
	}
	t.Logf("%d same, refused by name: %s; different: %s", len(by["same"]), strings.Join(by["refused"], " "),
		strings.Join(by["different"], " "))
	if len(by["same"]) < leastSame || len(by["different"]) > mostDifferent {
		t.Errorf("%d same and %d different; at least %d and at most %d were", len(by["same"]), len(by["different"]), leastSame, mostDifferent)
	}
}

// runLinuxScript runs a script as bash --norc FILE does in an empty folder of a fresh guest. The
// result's refused is set if the guest recorded something that it does not simulate.
func runLinuxScript(t *testing.T, c linuxCase) linuxCase {
	t.Helper()
	work := linuxBase + "/work"
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	m, err := machine.New(machine.Spec{ID: "/vm/" + c.ID, Dir: dir, OS: machine.Linux, ComputerName: "judge-1",
		IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: machine.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure", KubernetesVersion: "v1.36.3",
			Runtime: "containerd", RuntimeVersion: "2.0.0"}}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Services.StartAutomatic()
	if err := m.Root.MkdirAll(work); err != nil {
		t.Fatal(err)
	}
	if err := m.Root.WriteFile(linuxScript, []byte(c.Script), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), linuxScriptPeriod)
	defer cancel()
	var out, errs bytes.Buffer
	code, _ := shell.New(m, shell.Table{}, nil).Exec(ctx, []string{"bash", "--norc", linuxScript}, shell.Session{
		Stdout: &out, Stderr: &errs, Dir: work, Env: map[string]string{"LC_ALL": "C", "TZ": "UTC", "HOME": work}})
	marks := m.TakeMarks()
	return linuxCase{Stdout: out.String(), Stderr: errs.String(), Code: code, refused: len(marks.Refused) > 0 || m.TakeOverrun() != ""}
}

// TestLinuxFacts runs scripts that test one fact each, with the answers of bash 5.2 and the tools
// of Debian 12.
func TestLinuxFacts(t *testing.T) {
	for _, c := range []linuxCase{
		{ID: "bash -n runs nothing", Script: "echo 'echo ran' > s.sh; bash -n s.sh; echo $?", Stdout: "0\n"},
		{ID: "ls orders the folders that it is given", Script: "mkdir b a; touch a/x b/y; ls b a", Stdout: "a:\nx\n\nb:\ny\n"},
		{ID: "a folder that is not empty", Script: "mkdir d; touch d/f; rmdir d 2>&1; rm -d d 2>&1", Code: 1,
			Stdout: "rmdir: failed to remove 'd': Directory not empty\nrm: cannot remove 'd': Directory not empty\n"},
		{ID: "sed ends the last line", Script: `printf a >f; sed -i '$a\' f; cat f; printf a | sed p; printf a | sed -n 'p;$a x'`,
			Stdout: "a\na\naa\nx\n"},
		{ID: "a syntax error comes before what is in front of it on its line", Script: "echo one\necho two; fi", Stdout: "one\n", Code: 2},
		{ID: "a here-document before a syntax error has run", Script: "cat <<E\none\nE\necho two)", Stdout: "one\n", Code: 2},
		{ID: "extended patterns count from the next line", Script: "shopt -s extglob; echo @(a|b)", Code: 2},
		{ID: "extended patterns of the next line", Script: "shopt -s extglob\ntouch a.x b\necho !(*.x); [[ ab == a@(b) ]] && echo y",
			Stdout: "b\ny\n"},
		{ID: "what is in a folder is copied", Script: "mkdir s d; echo 1 >s/a; cp -a s/. d; cp -r s/. e; ls d e", Stdout: "d:\na\n\ne:\na\n"},
		{ID: "a target that is not there", Script: "touch a b; cp a b c 2>&1; mv a 2>&1; cp a no/x 2>&1", Code: 1,
			Stdout: "cp: target 'c': No such file or directory\nmv: missing destination file operand after 'a'\n" +
				"Try 'mv --help' for more information.\ncp: cannot create regular file 'no/x': No such file or directory\n"},
		{ID: "mawk's numbers of more than 32 bits", Script: `awk 'BEGIN{print 2147483647, 2147483648; printf "%d\n", 3e9}'`,
			Stdout: "2147483647 2.14748e+09\n2147483647\n"},
		{ID: "arguments of jq", Script: `jq -nc --arg a 1 '$ARGS' --args x y; printf "%'d\n" 1234567`,
			Stdout: "{\"positional\":[\"x\",\"y\"],\"named\":{\"a\":\"1\"}}\n1234567\n"},
		{ID: "sha256sum counts the files that differ", Script: "echo a >f; sha256sum f >s; echo b >f; sha256sum -c s 2>&1", Code: 1,
			Stdout: "f: FAILED\nsha256sum: WARNING: 1 computed checksum did NOT match\n"},
		{ID: "rm asks", Script: "touch a b c; printf 'y\\nn\\n' | rm -i a b 2>/dev/null; rm -I -r c </dev/null 2>/dev/null; ls",
			Stdout: "b\nc\n"},
		{ID: "mv -u keeps what is newer", Script: "touch new; touch -t 202001020304 old; mv -u old new; ls", Stdout: "new\nold\n"},
		{ID: "folders that mkdir and rm name", Script: "mkdir -pv a/b; touch a/b/f; rm -rv a", Stdout: "mkdir: created directory 'a'\n" +
			"mkdir: created directory 'a/b'\nremoved 'a/b/f'\nremoved directory 'a/b'\nremoved directory 'a'\n"},
		{ID: "words of the lines of xargs", Script: `printf 'a b\nc\n' | xargs -L1 sh -c 'echo $#' _
printf '"a b"\n' | xargs -I{} echo '<{}>'`,
			Stdout: "2\n1\n<a b>\n"},
		{ID: "a program of xargs that ends with 127", Script: "echo | xargs sh -c 'exit 127'; echo $?; echo | xargs nosuch 2>/dev/null; echo $?",
			Stdout: "123\n127\n"},
		{ID: "fields of join", Script: "printf '1 a\\n2 b\\n' >l; printf '1 x\\n3 y\\n' >r; " +
			"join -a1 -a2 -e - -o 0,1.2,2.2 l r; join -v2 l r", Stdout: "1 a x\n2 b -\n3 - y\n3 y\n"},
		{ID: "numbers of printf have 64 bits", Script: "printf '%.2f %.1f %g\\n' 1.005 99.55 3.14159265", Stdout: "1.00 99.6 3.14159\n"},
		{ID: "lines that a zero byte ends", Script: `printf 'a\nb\n' | sed -z 's/\n/,/g'; printf 'a\tb\n' | sed -n l`, Stdout: "a,b,a\\tb$\n"},
		{ID: "a text that a zero byte ends", Script: `printf 'a\0b\0' | sed -z -e '1i x' -e '2c y' | tr '\0' ,
printf '100%%' | base64 -d 2>/dev/null | od -An -tx1`,
			Stdout: "x,a,y, d7 4d\n"},
		{ID: "what is no date", Script: "date -d 2024-13-01 2>&1; date -d garbage 2>&1", Code: 1,
			Stdout: "date: invalid date '2024-13-01'\ndate: invalid date 'garbage'\n"},
		{ID: "a wrong name of a declaration", Script: "echo a; export 1x=2 2>/dev/null; echo $?; f() { :; }; type f >/dev/null && echo b",
			Stdout: "a\n1\nb\n"},
		{ID: "keys with blanks and dots", Script: `declare -A m=([a.b]=1 [c d]=2); echo "${m[a.b]} ${m[c d]}"`, Stdout: "1 2\n"},
		{ID: "jq cuts no number", Script: `jq -nc '[1, "vx", "x" | ltrimstr("v")], ("a.b.b" | rtrimstr(".b"))'; seq 2 -1 1 | join - /dev/null`,
			Stdout: "[1,\"x\",\"x\"]\n\"a.b\"\n"},
		{ID: "exported functions", Script: `f() { echo "f $1"; }; export -f f; bash -c 'f 1'; echo x | xargs -I{} bash -c 'f {}'`,
			Stdout: "f 1\nf x\n"},
		{ID: "quotes of a substitution within an expression", Script: `x='a b'; echo $(( $(printf '%s\n' "$x" | wc -l) + 1 ))
date_of() { echo $(( $(date -u -d "$1" +%s) / 60 )); }; date_of '1970-01-02 00:00'`, Stdout: "2\n1440\n"},
		{ID: "a redirection expands its name once", Script: "n=0; echo a > f$((n++)); echo $n; ls", Stdout: "1\nf0\n"},
		{ID: "what fails within [[ is not its answer", Stdout: "eq\n2\n",
			Script: `f() { echo v; return 3; }; [[ $(f) == v ]] && echo eq; [[ a =~ $(echo '(') ]]; echo $?`},
		{ID: "what is beside the target of a link", Stdout: "1\n1\n", Code: 1,
			Script: "mkdir -p d/e; echo 1 >d/f; ln -s d/e m; cat m/../f; cd m; cat ../f; readlink -f ../../none/x"},
		{ID: "slashes that are replaced", Script: `p=/a/b; echo "${p////:}" "${p//\//_}"`, Stdout: ":a:b _a_b\n"},
		{ID: "keys of variables", Script: "declare -A m; s=a k=b; m[$s.$k]=1; m[$s-x]+=2; echo ${m[a.b]} ${m[$s-x]}", Stdout: "1 2\n"},
		{ID: "jobs and their numbers", Script: "true & wait $!; sleep 9 & kill %1; wait %1; echo $?", Stdout: "143\n"},
		{ID: "the trap RETURN", Stdout: "in\nret\nr\n", Script: "trap 'echo ret' RETURN; f() { :; }; f; echo 'echo in' >l; . ./l\n" +
			"bash -c 'set -T; trap \"echo r\" RETURN; g() { :; }; g'"},
		{ID: "the order of keys", Script: `echo '[{"n":"b","z":1},{"n":"a","z":2}]' | jq -c 'map({(.n): .z}) | add'
echo '[{"n":"b","z":1},{"n":"a","z":2}]' | jq -c 'group_by(.n) | map({(.[0].n): length}) | add'
echo '{"name":"x","ns":"y"}' | jq -c '{ns, name}, (.name | capture("(?<v>x)(?<name>)"))'`,
			Stdout: "{\"b\":1,\"a\":2}\n{\"a\":1,\"b\":1}\n{\"ns\":\"y\",\"name\":\"x\"}\n{\"v\":\"x\",\"name\":\"\"}\n"},
		{ID: "binary files", Script: `printf 'a\0b\n' >f; grep a f 2>/dev/null; grep -I a f; echo $?; grep -c a f`, Stdout: "1\n1\n"},
		{ID: "mawk makes an element first", Stdout: "there 2 5\n",
			Script: `echo k | awk '{a[$1] = ($1 in a) ? "there" : "new"; i = 1; b[i++] += 5; print a["k"], i, b[1]}'`},
		{ID: "a separator of records is a pattern", Script: `printf 'a--b\n' | awk 'BEGIN{RS="--"} {print length($0)}'`, Stdout: "1\n2\n"},
	} {
		t.Run(c.ID, func(t *testing.T) {
			if got := runLinuxScript(t, c); c.verdict(got) != "same" {
				t.Errorf("%s\ngives %d and\n%s%s, not %d and\n%s", c.Script, got.Code, got.Stdout, got.Stderr, c.Code, c.Stdout)
			}
		})
	}
}
