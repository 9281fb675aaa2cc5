package why

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"casement.dev/casement/internal/cli"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/testing/golden"
)

// agent is a client of `casement mcp` on the management cluster that records a transcript.
type agent struct {
	session    *sdk.ClientSession
	transcript bytes.Buffer
}

// newAgent starts `casement mcp` in this process and connects the SDK's client to its standard streams.
func newAgent(t *testing.T) *agent {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfigOf(t, server).Data["value"], 0o600); err != nil {
		t.Fatal(err)
	}
	in, questions := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan int, 1)
	var notes bytes.Buffer
	go func() {
		code := cli.Main([]string{"casement", "mcp", "--kubeconfig", file, "--namespace", ns, "--state", t.TempDir()},
			app.Streams{In: in, Out: out, Err: &notes})
		out.Close()
		ended <- code
	}()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: answers, Writer: questions}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		questions.Close()
		if code := <-ended; code != 0 {
			t.Errorf("casement mcp ended with %d: %s", code, &notes)
		}
	})
	return &agent{session: session}
}

// changing matches the texts that differ between two runs of the test.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|127\.0\.0\.1:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|` +
	`"(?:after|took)": [0-9.]+|"pid": \d+|/tmp/[^\s"']+`)

// say adds a section to the transcript.
func (a *agent) say(t *testing.T, what string, v any) {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&a.transcript, "## %s\n\n%s\n\n", what, changing.ReplaceAll(data, []byte("…")))
}

// ask calls a tool.
func (a *agent) ask(t *testing.T, tool string, arguments map[string]any) *sdk.CallToolResult {
	t.Helper()
	result, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	given, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if result.IsError {
		a.say(t, tool+" "+short(given)+" failed", result.Content)
	} else {
		a.say(t, tool+" "+short(given), result.StructuredContent)
	}
	return result
}

func short(arguments []byte) string {
	if len(arguments) > 80 {
		return string(arguments[:80]) + "…"
	}
	return string(arguments)
}

// manifests contain one error for lint and one for preflight.
const manifests = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  hostNetwork: true
  containers: [{name: web, image: "mcr.microsoft.com/windows/nanoserver:ltsc2022", securityContext: {privileged: true}}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureMachineTemplate
metadata: {name: md}
spec: {template: {spec: {vmSize: Standard_D4s_v5, osDisk: {osType: windows, diskSizeGB: "big"}}}}
`

// TestMCP lists and calls each tool with a real client on a broken cluster, and compares the
// answers with the golden file.
func TestMCP(t *testing.T) {
	c := connect(t)
	prepare(t, c)
	const secret = "c4n4ryc4n4ryc4n4"
	s := well()
	s.kubeconfig = kubeconfigOf(t, server)
	refused("QuotaExceeded", "Operation could not be completed as it results in exceeding approved Total Regional Cores quota. "+
		"Location: westeurope, Current Limit: 10, SMTP_CRED="+secret)(s)
	s.store(t, c)

	a := newAgent(t)
	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, tool := range tools.Tools {
		a.say(t, "tool "+tool.Name, tool)
		called[tool.Name] = false
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.OutputSchema == nil {
			t.Errorf("tool %s does not say that it only reads, or what it returns", tool.Name)
		}
	}
	for _, question := range []struct {
		tool      string
		arguments map[string]any
		shows     string
	}{
		{"why", map[string]any{"object": "cluster/demo"}, "QuotaExceeded"},
		{"why", map[string]any{"object": "machine/md-0"}, "QuotaExceeded"},
		{"why", map[string]any{"object": "machine/none"}, "none"},
		{"tree", map[string]any{"cluster": "demo"}, "QuotaExceeded"},
		{"doctor", map[string]any{"object": "demo"}, "A01"},
		{"timeline", map[string]any{"machine": "md-0"}, "machine requested"},
		{"logs", map[string]any{"machine": "md-0", "logs": []string{"boot"}}, "md-0"},
		{"calls", map[string]any{}, "local"},
		{"lint", map[string]any{"manifests": manifests}, "hostNetwork"},
		{"preflight", map[string]any{"manifests": manifests}, "findings"},
		{"explain", map[string]any{"name": "quotaexceeded"}, "cause"},
		{"explain", map[string]any{"name": "WIN201"}, "rule"},
		{"explain", map[string]any{"name": "D12"}, "check"},
	} {
		called[question.tool] = true
		result := a.ask(t, question.tool, question.arguments)
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), question.shows) {
			t.Errorf("%s %v does not say %s: %s", question.tool, question.arguments, question.shows, text)
		}
	}
	for tool, was := range called {
		if !was {
			t.Errorf("tool %s is called by no question", tool)
		}
	}
	pages, err := a.session.ListResources(t.Context(), nil)
	if err != nil || len(pages.Resources) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, r := range pages.Resources {
		fmt.Fprintf(&a.transcript, "resource %s: %s\n", r.URI, r.Title)
	}
	page, err := a.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "casement://docs/mcp.md"})
	if err != nil || !strings.Contains(page.Contents[0].Text, "# casement for agents") {
		t.Errorf("the page is not what it is: %v", err)
	}
	if strings.Contains(a.transcript.String(), secret) {
		t.Error("a secret has left")
	}
	golden.Compare(t, "testdata/mcp.txt", a.transcript.Bytes())
}
