package redact

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The rules of gitleaks are a second definition of secrets. They are read from its module, which no package here links.
const (
	gitleaks    = "github.com/zricethezav/gitleaks/v8@v8.30.1"
	gitleaksSum = "h1:PmEvCfVI7ti9dV3s5aMZUY7sS2GxRvG3yzih7E+cS3w="
	samples     = 40
)

// notSecrets are the rules of gitleaks whose findings are kept, with the reasons.
var notSecrets = map[string]string{
	"sourcegraph-access-token": "40 hexadecimal digits, which a commit's are too; with the mark sgp_ they are in TestCanaries",
	"pkcs12-file":              "the name of a file",
	"generic-api-key":          "any word before any value; TestCanaries has what is ours of it",
	"kubernetes-secret-yaml":   "its find has the name of the field, which stays; TestCanaries has the values",
}

// leakRule is one rule of gitleaks.
type leakRule struct {
	id       string
	find     *regexp.Regexp
	tree     *syntax.Regexp
	group    int
	entropy  float64
	keywords []string
}

func TestGitleaksFindsNothing(t *testing.T) {
	rules := leakRules(t)
	random := rand.New(rand.NewPCG(1, 2))
	found, tried := 0, 0
	for _, r := range rules {
		if notSecrets[r.id] != "" {
			continue
		}
		n, left := 0, map[string]string{}
		for range samples * 5 {
			text := r.keywords[0] + "\nfound: " + sample(r.tree, random) + " \nkept"
			secret := r.secret(text)
			if secret == "" {
				continue
			}
			if n++; n > samples {
				break
			}
			if got := Text(text); strings.Contains(got, secret) {
				left[text] = got
			}
		}
		tried += n
		switch {
		case n == 0:
			t.Errorf("%s: no sample can be made", r.id)
		case len(left) == 0:
			found++
		default:
			for text, got := range left {
				t.Errorf("%s: %d of %d are left: %q becomes %q", r.id, len(left), n, text, got)
				break
			}
		}
	}
	t.Logf("%d of %d rules, %d samples", found, len(rules), tried)
}

// secret returns the secret that the rule finds in a text, or "".
func (r leakRule) secret(text string) string {
	if lower := strings.ToLower(text); !slices.ContainsFunc(r.keywords, func(k string) bool { return strings.Contains(lower, k) }) {
		return ""
	}
	m := r.find.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	secret := m[r.group]
	for _, group := range m[1:] {
		if r.group == 0 && group != "" {
			secret = group
			break
		}
	}
	if bits(secret) < r.entropy {
		return ""
	}
	return strings.TrimSpace(secret)
}

// bits returns the entropy of a text per character.
func bits(s string) (sum float64) {
	count := map[rune]float64{}
	for _, r := range s {
		count[r]++
	}
	for _, n := range count {
		p := n / float64(len([]rune(s)))
		sum -= p * math.Log2(p)
	}
	return sum
}

var (
	leakField  = regexp.MustCompile(`^(id|regex|entropy|secretGroup) = (?:'''(.*)'''|"(.*)"|([0-9.]+))$`)
	leakKeys   = regexp.MustCompile(`"([^"]+)"`)
	leakKeyEnd = regexp.MustCompile(`\]\s*$`)
)

// leakRules reads the rules from the module cache or through the module proxy.
func leakRules(t *testing.T) []leakRule {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", gitleaks)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &module) != nil || err != nil || module.Dir == "" {
		t.Skipf("the rules of gitleaks are not to be had: go mod download %s: %v %s", gitleaks, err, module.Error)
	}
	if module.Sum != gitleaksSum {
		t.Fatalf("%s has the sum %s, want %s", gitleaks, module.Sum, gitleaksSum)
	}
	data, err := os.ReadFile(filepath.Join(module.Dir, "config", "gitleaks.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []leakRule
	for _, part := range strings.Split(string(data), "\n[[rules]]\n")[1:] {
		if r := parseLeakRule(t, part); r.find != nil {
			rules = append(rules, r)
		}
	}
	if len(rules) < 200 {
		t.Fatalf("only %d rules were read", len(rules))
	}
	return rules
}

func parseLeakRule(t *testing.T, part string) (r leakRule) {
	t.Helper()
	inKeys := false
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[[") {
			break
		}
		if inKeys = inKeys || strings.HasPrefix(line, "keywords = "); inKeys {
			for _, m := range leakKeys.FindAllStringSubmatch(line, -1) {
				r.keywords = append(r.keywords, m[1])
			}
			inKeys = !leakKeyEnd.MatchString(line)
			continue
		}
		m := leakField.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var err error
		switch m[1] {
		case "id":
			r.id = m[3]
		case "regex":
			if r.find, err = regexp.Compile(m[2]); err == nil {
				r.tree, err = syntax.Parse(m[2], syntax.Perl)
			}
		case "entropy":
			r.entropy, err = strconv.ParseFloat(m[4], 64)
		case "secretGroup":
			r.group, err = strconv.Atoi(m[4])
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", r.id, m[1], err)
		}
	}
	return r
}

// sample returns a random text that a regular expression may match.
func sample(re *syntax.Regexp, random *rand.Rand) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(oneOf(re.Rune, random))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "."
	case syntax.OpCapture:
		return sample(re.Sub[0], random)
	case syntax.OpConcat:
		out := ""
		for _, sub := range re.Sub {
			out += sample(sub, random)
		}
		return out
	case syntax.OpAlternate:
		return sample(re.Sub[random.IntN(len(re.Sub))], random)
	case syntax.OpStar:
		return repeat(re.Sub[0], 0, 2, random)
	case syntax.OpPlus:
		return repeat(re.Sub[0], 1, 3, random)
	case syntax.OpQuest:
		return repeat(re.Sub[0], 0, 1, random)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 || most > re.Min+4 {
			most = re.Min + 4
		}
		return repeat(re.Sub[0], re.Min, most, random)
	}
	return "" // a class without characters
}

func repeat(re *syntax.Regexp, least, most int, random *rand.Rand) string {
	var out strings.Builder
	for range least + random.IntN(most-least+1) {
		if re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL {
			out.WriteByte(lower[random.IntN(len(lower))])
			continue
		}
		out.WriteString(sample(re, random))
	}
	return out.String()
}

// oneOf returns a character of a class, a printable one if there is one.
func oneOf(ranges []rune, random *rand.Rand) rune {
	var from []rune
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], unicode.MaxASCII); r++ {
			if r > ' ' && r < 0x7f {
				from = append(from, r)
			}
		}
	}
	if len(from) == 0 {
		return ranges[0]
	}
	return from[random.IntN(len(from))]
}

func ExampleText() {
	fmt.Println(Text("mysql -u root -pS3cret! demo"))
	// Output: mysql -u root -p[redacted] demo
}
