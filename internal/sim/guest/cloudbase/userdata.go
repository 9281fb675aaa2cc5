package cloudbase

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/sim/guest/userdata"
)

const userDataModule = "cloudbaseinit.plugins.common.userdata"

// The exit codes by which a user's script makes a request. Any other code means done.
const (
	rebootDone  = 1001
	runAgain    = 1002
	rebootAgain = 1003
)

// Asks reports whether an exit code is a request to the agent, and therefore no failure.
func Asks(code int) bool { return outcomeOf(code) != outcome{} }

// outcomeOf returns the outcome of a script with an exit code.
func outcomeOf(code int) outcome {
	switch code {
	case rebootDone:
		return outcome{reboot: true}
	case runAgain:
		return outcome{again: true}
	case rebootAgain:
		return outcome{again: true, reboot: true}
	}
	return outcome{}
}

var (
	batchMark      = regexp.MustCompile(`^rem\s+cmd\s`)
	pythonMark     = regexp.MustCompile(`^#!\s*/usr/bin/env\s+python\s`)
	bashMark       = regexp.MustCompile(`^#!`)
	powershellMark = regexp.MustCompile(`^#ps1(?:_sysnative|_x86)?\s`)
	ec2Mark        = regexp.MustCompile(`</?(?:script|powershell)>`)
	ec2Script      = regexp.MustCompile(`(?s)<script>(.+?)</script>`)
	ec2Powershell  = regexp.MustCompile(`(?s)<powershell>(.+?)</powershell>`)
)

// userData runs custom data by its first bytes. It does not decompress gzip, or skip a byte order mark or a blank.
// Data that is not UTF-8 fails the plugin.
func (a *agent) userData(ctx context.Context) (outcome, error) {
	a.res.Ran = true
	data := a.m.CustomData
	if len(data) == 0 {
		a.infof(userDataModule, "No user data")
		return outcome{}, nil
	}
	a.debugf(userDataModule, "User data content length: %d", len(data))
	if !utf8.Valid(data) {
		return outcome{}, errors.New("no header could be found: the user data is compressed or not UTF-8")
	}
	head, _, _ := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n\n")
	if strings.Contains(head, "Content-Type: multipart") {
		return a.multipart(ctx, data)
	}
	return a.single(ctx, data)
}

// single runs custom data that is not multipart: it renders a template, and runs the result by its first bytes.
func (a *agent) single(ctx context.Context, data []byte) (outcome, error) {
	if engine, rest, ok := userdata.Marker(data); ok && engine == "jinja" {
		a.debugf(userDataModule, "Using template engine 'jinja' to render the user data")
		out, err := userdata.Render(ctx, rest, a.instanceData())
		if userdata.IsLimit(err) {
			a.m.Overrun(err.Error())
		}
		if err != nil {
			return outcome{}, err
		}
		if i := strings.Index(string(out), userdata.Missing); i >= 0 {
			a.warnf(userDataModule, "a template variable is missing in the instance data and renders as %s...", userdata.Missing)
		}
		data = out
	}
	text := string(data)
	switch {
	case strings.HasPrefix(text, "#cloud-config"):
		return a.cloudConfig(ctx, data)
	case strings.HasPrefix(text, "-----BEGIN CERTIFICATE-----"):
		a.debugf(userDataModule, "Found X509 certificate in userdata")
		return outcome{}, nil
	}
	code, ok := a.script(ctx, text)
	if !ok {
		a.unsupported(data)
		return outcome{}, nil
	}
	return a.ended(code), nil
}

// unsupported logs a warning only: the plugin counts as done, the VM as provisioned, and nothing was run.
func (a *agent) unsupported(data []byte) {
	hint := ""
	switch {
	case strings.HasPrefix(string(data), "## template:"):
		hint = " (its template engine is not jinja)"
	case strings.HasPrefix(string(data), "\ufeff"):
		hint = " (it starts with a byte order mark)"
	case strings.HasPrefix(strings.TrimSpace(string(data)), "#cloud-config"),
		strings.HasPrefix(strings.TrimSpace(string(data)), "## template:"):
		hint = " (blanks precede its first line)"
	}
	text := "unsupported user data format" + hint + ": nothing of it was run"
	a.res.Problems = append(a.res.Problems, text)
	a.warnf(userDataModule, "%s", text)
}

// script runs a script by its first line and returns its exit code. The second result is false if the text is no
// script.
func (a *agent) script(ctx context.Context, text string) (int, bool) {
	switch {
	case batchMark.MatchString(text):
		return a.batch(ctx, text), true
	case pythonMark.MatchString(text):
		return a.missingInterpreter("python"), true
	case bashMark.MatchString(text):
		return a.missingInterpreter("bash"), true
	case powershellMark.MatchString(text):
		return a.sh.PowerShell(ctx, text, shell.Session{Stdout: a.log, Stderr: a.log}), true
	}
	if !ec2Mark.MatchString(text) {
		return 0, false
	}
	return a.runBlocks(ctx, text), true
}

// runBlocks runs the batch blocks of a script and then its PowerShell blocks, and returns the sum of their exit codes.
func (a *agent) runBlocks(ctx context.Context, text string) int {
	sum := 0
	for _, b := range ec2Script.FindAllStringSubmatch(text, -1) {
		if script := strings.TrimSpace(b[1]); script != "" {
			sum += a.batch(ctx, script)
		}
	}
	for _, b := range ec2Powershell.FindAllStringSubmatch(text, -1) {
		if script := strings.TrimSpace(b[1]); script != "" {
			sum += a.sh.PowerShell(ctx, script, shell.Session{Stdout: a.log, Stderr: a.log})
		}
	}
	return sum
}

// missingInterpreter handles a script whose interpreter Windows does not have: the agent logs an error and counts the script as
// a success.
func (a *agent) missingInterpreter(interpreter string) int {
	a.problemf(userDataModule, "an error occurred during user_data execution: the system cannot find the file specified: %s", interpreter)
	return 0
}

// batch runs a batch file with cmd.exe, as the agent does with a temporary file.
func (a *agent) batch(ctx context.Context, text string) int {
	return a.sh.Batch(ctx, text, shell.Session{Stdout: a.log, Stderr: a.log, Name: `C:\Windows\Temp\user-data.cmd`, Failed: a.reportFailed})
}

// reportFailed reports a failed line of a batch file; the real agent continues silently.
func (a *agent) reportFailed(f shell.Failure) {
	if !Asks(f.Code) {
		fmt.Fprintf(a.log, "guest: user-data.cmd: %s\r\n", f)
	}
}

// ended records the exit code of a user's script and returns its outcome.
func (a *agent) ended(code int) outcome {
	a.infof(userDataModule, "User data script ended with return code: %d", code)
	a.res.ExitCode = code
	return outcomeOf(code)
}

// multipart runs the parts in order. The last part decides the state; a request for a reboot ends the list. Errors in
// a part are logged only, and no part is a template.
func (a *agent) multipart(ctx context.Context, data []byte) (outcome, error) {
	parts, err := userdata.Split(data)
	if err != nil { // the agent sees one part of an unknown type
		a.problemf(userDataModule, "no part of the multipart user data can be read: %v", err)
		return outcome{}, nil
	}
	var out outcome
	for _, p := range parts {
		out, err = a.part(ctx, p)
		if err != nil {
			a.problemf(userDataModule, "error in part %q (%s): %v", p.Filename, p.Type, err)
			out = outcome{}
		}
		if out.reboot {
			break
		}
	}
	return out, nil
}

func (a *agent) part(ctx context.Context, p userdata.Part) (outcome, error) {
	switch p.Type {
	case "text/cloud-config":
		return a.cloudConfig(ctx, p.Body)
	case "text/x-shellscript":
		return a.shellPart(ctx, p), nil
	case "text/x-cfninitdata":
		return a.heat(ctx, p)
	case "text/part-handler":
		a.m.Refused(p.Type)
		a.problemf(userDataModule, "casement does not simulate %s, which is Python", p.Type)
	case "text/cloud-boothook":
		a.infof(userDataModule, "cloud-boothook parts are not supported")
	default:
		a.infof(userDataModule, "Unsupported MIME part %q of type %s is skipped", p.Filename, p.Type)
	}
	return outcome{}, nil
}

// heat writes the part to a file, and runs the file if its name is cfn-userdata.
func (a *agent) heat(ctx context.Context, p userdata.Part) (outcome, error) {
	if p.Filename == "" {
		return outcome{}, errors.New("it has no file name")
	}
	name := a.m.Root.Abs(`C:\cfn`, p.Filename)
	if err := a.m.Root.MkdirAll(`C:\cfn`); err != nil {
		return outcome{}, err
	}
	if err := a.m.Root.WriteFile(name, p.Body, 0o644); err != nil {
		return outcome{}, err
	}
	if p.Filename != "cfn-userdata" {
		return outcome{}, nil
	}
	code, ok := a.script(ctx, string(p.Body))
	if !ok {
		return outcome{}, nil
	}
	return a.ended(code), nil
}

// shellPart runs a script part with the interpreter of its file extension.
func (a *agent) shellPart(ctx context.Context, p userdata.Part) outcome {
	text := string(p.Body)
	switch strings.ToLower(path.Ext(p.Filename)) {
	case ".cmd":
		return a.ended(a.batch(ctx, text))
	case ".ps1":
		return a.ended(a.sh.PowerShell(ctx, text, shell.Session{Stdout: a.log, Stderr: a.log}))
	case ".py":
		return a.ended(a.missingInterpreter("python"))
	case ".sh":
		return a.ended(a.missingInterpreter("bash"))
	case ".exe":
		a.m.Refused("programs in user data")
		a.problemf(userDataModule, "part %q: casement does not simulate programs in user data", p.Filename)
		return outcome{}
	case "":
		if p.Filename == "" {
			a.problemf(userDataModule, "error in a part of type %s: it has no file name", p.Type)
			return outcome{}
		}
	}
	code, ok := a.script(ctx, text)
	if !ok {
		a.warnf(userDataModule, "part %q is in no supported script format", p.Filename)
		return outcome{}
	}
	return a.ended(code)
}

// instanceData returns the variables of templates. Names that cloud-init has and cloudbase-init does not (local_ipv4,
// vm_id) are missing on purpose.
func (a *agent) instanceData() map[string]any {
	ids := map[string]any{"instance-id": a.m.InstanceID, "local-hostname": a.m.ComputerName}
	meta := userdata.Alias(ids)
	meta["hostname"] = a.m.ComputerName
	v1 := userdata.Alias(ids)
	v1["public_ssh_keys"] = []any{}
	return map[string]any{
		"ds": map[string]any{"meta_data": meta}, "v1": v1,
		"instance_id": a.m.InstanceID, "local_hostname": a.m.ComputerName, "public_ssh_keys": []any{},
	}
}
