package azuresim

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/azuresim/internal/value"
)

// quickstartsDay is a day before Azure retired features that many public templates use: addresses
// and load balancers of the SKU Basic, storage accounts of the kind Storage, disks that are blobs.
const quickstartsDay = "2024-06-01"

// quickstartsDeploy is the number of public templates that must deploy.
const quickstartsDeploy = 150

// TestQuickstarts deploys the public templates whose repositories are in the directory
// $QUICKSTARTS, as OWNER/NAME, and logs why the others are refused. $QUICKSTARTS_DAY sets another
// day for the local Azure.
func TestQuickstarts(t *testing.T) {
	dir := os.Getenv("QUICKSTARTS")
	if dir == "" {
		t.Skip("QUICKSTARTS names no directory with the public repositories")
	}
	day, asked := os.LookupEnv("QUICKSTARTS_DAY")
	if !asked {
		day = quickstartsDay
	}
	now, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("template/testdata/quickstarts.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	rows, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	deployed, all := 0, 0
	lines := bufio.NewScanner(rows)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		if f[0] == "repo" {
			continue
		}
		all++
		text, err := os.ReadFile(filepath.Join(dir, f[0], f[1]))
		if err != nil {
			t.Fatal(err)
		}
		refused := deployQuickstart(t, now, strings.TrimPrefix(string(text), "\ufeff"), f[3])
		if refused == "" {
			deployed++
			continue
		}
		t.Logf("%s %s: %s", f[0], f[1], refused)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	t.Logf("on %s %d of %d deploy", day, deployed, all)
	if !asked && deployed < quickstartsDeploy {
		t.Errorf("%d deploy, want %d", deployed, quickstartsDeploy)
	}
}

var toSubscription = regexp.MustCompile(`(?i)"\$schema"\s*:\s*"[^"]*subscriptiondeploymenttemplate`)

// deployQuickstart deploys a template in a local Azure of its own. It returns the reason of a
// refusal, "" for none.
func deployQuickstart(t *testing.T, now time.Time, template, parameters string) string {
	t.Helper()
	a := start(t, Config{Clock: shifted{by: time.Until(now)}})
	defer a.Close()
	a.carried("PUT", "resourcegroups/rg1", `{"location": "westeurope"}`)
	path, location := "resourcegroups/rg1/providers/Microsoft.Resources/deployments/dep1", ""
	if toSubscription.MatchString(template) {
		path, location = "providers/Microsoft.Resources/deployments/dep1", `, "location": "westeurope"`
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(parameters), &values); err != nil {
		t.Fatal(err)
	}
	for name, v := range values {
		values[name] = map[string]any{"value": v}
	}
	given, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, h := a.speak("PUT", path, fmt.Sprintf(`{"properties": {"mode": "Incremental", "template": %s, "parameters": %s}%s}`,
		template, given, location))
	if status >= 300 {
		return innermost(answer)
	}
	at, _, _ := strings.Cut(h.Get("Azure-AsyncOperation"), "?")
	if e := a.Server.Ended(t.Context(), at[strings.LastIndex(at, "/")+1:]); e != nil {
		return innermost(value.Sub(a.carried("GET", path, ""), "properties"))
	}
	return ""
}

// innermost returns the code and message of the first error that has no details.
func innermost(answer value.Object) string {
	e := value.Sub(answer, "error")
	for {
		details := value.Items(e, "details")
		if len(details) == 0 {
			return value.Str(e, "code") + ": " + value.Str(e, "message")
		}
		e = details[0]
	}
}
