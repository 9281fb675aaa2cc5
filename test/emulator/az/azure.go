package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// repair makes two packages of Debian compatible; see the file.
//
//go:embed repair/sitecustomize.py
var repair []byte

// azure is a running casement azure serve, with a configured az.
type azure struct {
	casement, az, home string
	// repair is the directory with the repair of Debian's packages.
	repair  string
	process *exec.Cmd
	vars    map[string]string
}

// commandTimeout limits one az command.
const commandTimeout = 2 * time.Minute

// serve starts the local Azure and waits until it answers.
func serve(casement, az, home string) (*azure, error) {
	a := &azure{casement: casement, az: az, home: home,
		process: exec.Command(casement, "azure", "serve", "--state", home, "--proxy", "127.0.0.1:0")}
	a.process.Stderr = os.Stderr
	ready, err := a.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.process.Start(); err != nil {
		return nil, fmt.Errorf("start casement azure serve: %w", err)
	}
	if _, err := ready.Read(make([]byte, 4096)); err != nil {
		return nil, errors.Join(fmt.Errorf("casement azure serve did not say that it is ready: %w", err), a.process.Wait())
	}
	var status struct {
		Azure struct{ Endpoint, CAFile, TenantID, SubscriptionID, SSHPublicKey, Proxy, ClientID, SecretFile string }
	}
	out, err := exec.Command(casement, "status", "--state", home, "-o", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &status)
	}
	if err != nil {
		a.stop()
		return nil, fmt.Errorf("ask for the local Azure's status: %w", err)
	}
	z := status.Azure
	a.vars = map[string]string{"ENDPOINT": z.Endpoint, "HOST": strings.TrimPrefix(z.Endpoint, "https://"),
		"CA": z.CAFile, "TENANT": z.TenantID, "SUB": z.SubscriptionID, "KEY": z.SSHPublicKey, "PROXY": z.Proxy,
		"CLIENT": z.ClientID, "SECRET": z.SecretFile,
		"HOME": home, "CLOUD": filepath.Join(home, "azure", "cloud.json"), "G": "/subscriptions/" + z.SubscriptionID + "/resourceGroups/g",
		"RG1": "/subscriptions/" + z.SubscriptionID + "/resourceGroups/rg1"}
	secret, err := os.ReadFile(z.SecretFile)
	if err != nil {
		a.stop()
		return nil, err
	}
	a.vars["PROXY"] = strings.Replace(z.Proxy, "://", "://casement:"+string(secret)+"@", 1)
	// casement azure env writes the description of the cloud that az registers.
	if out, err := exec.Command(casement, "azure", "env", "--for", "az", "--state", home).CombinedOutput(); err != nil {
		a.stop()
		return nil, fmt.Errorf("casement azure env: %w: %s", err, out)
	}
	a.repair = filepath.Join(home, "repair")
	return a, errors.Join(os.Mkdir(a.repair, 0o700), os.WriteFile(filepath.Join(a.repair, "sitecustomize.py"), repair, 0o600),
		os.WriteFile(filepath.Join(home, "template.json"), []byte(template), 0o600),
		os.WriteFile(filepath.Join(home, "middle.json"), []byte(middle), 0o600), writeRecorded(filepath.Join(home, "templates")))
}

// recordedTemplates contains templates with the results of Azure's own engine.
const recordedTemplates = "azuresim/template/testdata/templates.json.gz"

// writeRecorded writes the recorded templates into a directory, with their parameters as files for az.
func writeRecorded(dir string) error {
	packed, err := os.Open(recordedTemplates)
	if err != nil {
		return err
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	var recorded map[string]struct{ Template, Parameters json.RawMessage }
	if err := json.NewDecoder(text).Decode(&recorded); err != nil {
		return fmt.Errorf("%s: %w", recordedTemplates, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, r := range recorded {
		given := fmt.Sprintf(`{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentParameters.json#",
			"contentVersion": "1.0.0.0", "parameters": %s}`, cmp.Or(string(r.Parameters), "{}"))
		err := errors.Join(os.WriteFile(filepath.Join(dir, name+".json"), r.Template, 0o600),
			os.WriteFile(filepath.Join(dir, name+".parameters.json"), []byte(given), 0o600))
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *azure) stop() {
	_ = a.process.Process.Signal(os.Interrupt) // the process has ended already
	_ = a.process.Wait()                       // its exit code does not matter
}

// result is the outcome of a step.
type result struct {
	seconds  float64
	output   string
	problems []string
}

// do runs a step and checks its answer.
func (a *azure) do(s step) result {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	args := make([]string, len(s.args))
	for i, arg := range s.args {
		args[i] = os.Expand(arg, func(name string) string { return a.vars[name] })
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, a.az, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if s.proxied {
		cmd.Env = append(cmd.Env, "HTTPS_PROXY="+a.vars["PROXY"], "NO_PROXY=127.0.0.1")
	}
	if s.repaired {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+a.repair)
	}
	cmd.Env = append(append(os.Environ(), cmd.Env...), "AZURE_CONFIG_DIR="+filepath.Join(a.home, "azure", "az"),
		"REQUESTS_CA_BUNDLE="+a.vars["CA"], "SSL_CERT_FILE="+a.vars["CA"],
		"AZURE_CORE_COLLECT_TELEMETRY=no", "AZURE_CORE_INSTANCE_DISCOVERY=false", "AZURE_CORE_NO_COLOR=yes")
	begun := time.Now()
	err := cmd.Run()
	r := result{seconds: time.Since(begun).Seconds(), output: stdout.String() + stderr.String()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.problems = append(r.problems, err.Error())
		return r
	}
	if code := cmd.ProcessState.ExitCode(); code != s.exit {
		r.problems = append(r.problems, fmt.Sprintf("exit code %d, want %d", code, s.exit))
	}
	for _, text := range s.out {
		if text = os.Expand(text, func(n string) string { return a.vars[n] }); !strings.Contains(stdout.String(), text) {
			r.problems = append(r.problems, fmt.Sprintf("the output does not hold %q", text))
		}
	}
	for _, text := range s.errs {
		if !strings.Contains(stderr.String(), text) {
			r.problems = append(r.problems, fmt.Sprintf("the error lines do not contain %q", text))
		}
	}
	r.problems = append(r.problems, a.judge(s, stdout.Bytes())...)
	return r
}

// judge compares the JSON answer with the shape and stores the parts that the step keeps.
func (a *azure) judge(s step, answer []byte) (problems []string) {
	if s.want == nil && len(s.keep) == 0 {
		return nil
	}
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return []string{"the answer is no JSON: " + err.Error()}
	}
	problems = match("", s.want, got)
	if s.want == nil {
		problems = nil
	}
	for name, path := range s.keep {
		v, ok := part(got, path)
		if !ok {
			problems = append(problems, "the answer has no text at "+path)
		}
		a.vars[name] = v
	}
	return problems
}

// unsupported returns the calls that the local Azure refused as not modelled.
func (a *azure) unsupported() ([]string, error) {
	out, err := exec.Command(a.casement, "azure", "log", "--state", a.home, "--status", "501", "--last", "1000", "-o", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("read the call log: %w", err)
	}
	var calls []struct{ Method, Path string }
	if err := json.Unmarshal(out, &calls); err != nil {
		return nil, fmt.Errorf("read the call log: %w", err)
	}
	var lines []string
	for _, c := range calls {
		lines = append(lines, c.Method+" "+c.Path)
	}
	return lines, nil
}

// record writes the verbs that az used on each resource type, with the numbers of successes and
// refusals.
func (a *azure) record(file string) error {
	out, err := exec.Command(a.casement, "calls", "--state", a.home, "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("read the call counters: %w", err)
	}
	var calls struct {
		Counters []struct {
			Verb, Type    string
			Status, Count int
		}
	}
	if err := json.Unmarshal(out, &calls); err != nil {
		return fmt.Errorf("read the call counters: %w", err)
	}
	done, refused := map[string]int{}, map[string]int{}
	for _, c := range calls.Counters {
		key := strings.ToLower(c.Type) + "\t" + c.Verb
		if c.Status < 400 {
			done[key] += c.Count
		} else {
			refused[key] += c.Count
		}
	}
	keys := slices.Sorted(maps.Keys(done))
	for _, k := range slices.Sorted(maps.Keys(refused)) {
		if _, ok := done[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString("# type, verb, answers with success, refusals; written by make e2e-az\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "%s\t%d\t%d\n", k, done[k], refused[k])
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// template is an ARM template for az deployment group create.
const template = `{
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {"prefix": {"type": "string", "defaultValue": "t"}, "space": {"type": "string"}},
  "variables": {"vnet": "[concat(parameters('prefix'), '-vnet')]",
    "id": "[resourceId('Microsoft.Network/virtualNetworks', variables('vnet'))]"},
  "resources": [
    {"type": "Microsoft.Network/networkSecurityGroups", "apiVersion": "2020-11-01",
      "name": "[concat(parameters('prefix'), '-nsg')]", "location": "[resourceGroup().location]",
      "properties": {}},
    {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2020-11-01", "name": "[variables('vnet')]",
      "location": "[resourceGroup().location]",
     "dependsOn": ["[resourceId('Microsoft.Network/networkSecurityGroups', concat(parameters('prefix'), '-nsg'))]"],
     "properties": {"addressSpace": {"addressPrefixes": ["[parameters('space')]"]}, "subnets": [{"name": "s",
       "properties": {"addressPrefix": "[parameters('space')]",
       "networkSecurityGroup": {"id": "[resourceId('Microsoft.Network/networkSecurityGroups', concat(parameters('prefix'), '-nsg'))]"}}}]}}
  ],
  "outputs": {"vnet": {"type": "string", "value": "[variables('id')]"}, "space": {"type": "array",
    "value": "[reference(variables('id')).addressSpace.addressPrefixes]"}}
}
`

// middle is a template whose second resource fails.
const middle = `{
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "resources": [
    {"type": "Microsoft.Network/networkSecurityGroups", "apiVersion": "2023-09-01", "name": "before",
      "location": "[resourceGroup().location]", "properties": {}},
    {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2023-09-01", "name": "fails",
      "location": "[resourceGroup().location]", "dependsOn": ["before"],
      "properties": {"addressSpace": {"addressPrefixes": ["nonsense"]}}},
    {"type": "Microsoft.Network/routeTables", "apiVersion": "2023-09-01", "name": "after",
      "location": "[resourceGroup().location]", "dependsOn": ["fails"], "properties": {}}
  ],
  "outputs": {"never": {"type": "string", "value": "[reference('after').provisioningState]"}}
}
`
