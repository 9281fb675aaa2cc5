// Package cloudinit boots a simulated Linux guest as cloud-init does on Azure: it splits custom data into its parts,
// applies the cloud-config modules that bootstrap data uses in their fixed order, records a semaphore per module and
// instance, and runs runcmd as one sh script at the end. It changes only the guest's file tree. Only
// internal/sim/guest imports it.
package cloudinit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/sim/guest/userdata"
)

// Paths of cloud-init's logs and scripts in the guest.
const (
	logPath    = "/var/log/cloud-init.log"
	outputPath = "/var/log/cloud-init-output.log"
	scripts    = "/var/lib/cloud/instance/scripts"
)

// Result describes how a boot of the agent ended.
type Result struct {
	// Ran is set if the user's scripts had not run before this boot.
	Ran bool
	// ExitCode is the exit code of the first user script that failed.
	ExitCode int
	// Problems describes, in order, the parts of the custom data that could not be used.
	Problems []string
}

type agent struct {
	m       *machine.Machine
	sh      *shell.Shell
	log     io.Writer
	output  io.Writer
	config  map[string]any
	scripts []script
	boot    []string // boothooks
	res     Result
	// templates is the number of rendered templates.
	templates int
}

// maxTemplates bounds the templates of one boot, because a template can render to a template.
const maxTemplates = 16

type script struct{ name, body string }

// Run does one boot. It calls ready when the agent reports to Azure that the VM is provisioned: before it reads user
// data, as cloud-init does, so that nothing in the user data can fail provisioning. The error is ctx's or the
// simulator's.
func Run(ctx context.Context, m *machine.Machine, sh *shell.Shell, ready func()) (Result, error) {
	log, err := m.Root.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return Result{}, err
	}
	defer log.Close()
	output, err := m.Root.OpenFile(outputPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return Result{}, err
	}
	defer output.Close()
	kept := machine.NewConsole(output) // the output without secrets
	defer kept.Flush()
	a := &agent{m: m, sh: sh, log: log, output: io.MultiWriter(kept, m.Console)}
	a.res.Ran = !m.Journal.Done("scripts_user")
	a.infof("cloud-init starts (simulated by casement: no program runs outside of this guest's file tree)")
	a.infof("datasource Azure, instance %s, hostname %s", m.InstanceID, m.ComputerName)
	if err := a.once(ctx, "set_hostname", func(context.Context) error { return a.setHostname() }); err != nil {
		return a.res, err
	}
	a.infof("reported ready to Azure")
	ready()
	a.readCustomData(ctx)
	for _, mod := range a.modules() {
		if err := ctx.Err(); err != nil {
			return a.res, err
		}
		if err := mod.run(ctx); err != nil {
			return a.res, err
		}
	}
	a.infof("cloud-init finished")
	m.Console.Flush()
	return a.res, ctx.Err()
}

type module struct {
	name string
	run  func(context.Context) error
}

// modules returns the modules in cloud-init's order: the init, config and final stages.
func (a *agent) modules() []module {
	perInstance := func(name string, f func(context.Context) error) module {
		return module{name, func(ctx context.Context) error { return a.once(ctx, name, f) }}
	}
	of := func(f func() error) func(context.Context) error { return func(context.Context) error { return f() } }
	return []module{
		{"boothooks", a.boothooks},
		{"bootcmd", a.bootcmd},
		perInstance("write_files", func(ctx context.Context) error { return a.writeFiles(ctx, false) }),
		perInstance("disk_setup", of(a.diskSetup)),
		perInstance("mounts", a.mounts),
		perInstance("users_groups", a.users),
		perInstance("ntp", of(a.ntp)),
		perInstance("unknown", of(a.logUnsupported)),
		perInstance("runcmd", of(a.runcmd)),
		perInstance("write_files_deferred", func(ctx context.Context) error { return a.writeFiles(ctx, true) }),
		perInstance("scripts_user", a.userScripts),
	}
}

// errStopped is returned by a module if the machine stopped between two items of its list.
var errStopped = errors.New("the machine is stopped")

// once runs a module unless its semaphore exists, and sets the semaphore. As in cloud-init, a module that fails is
// logged and not run again. A module that stopped with the machine runs again.
func (a *agent) once(ctx context.Context, name string, f func(context.Context) error) error {
	if a.m.Journal.Done(name) {
		return nil
	}
	if err := f(ctx); errors.Is(err, errStopped) {
		return context.Cause(ctx)
	} else if err != nil {
		a.problemf("module %s failed: %v", name, err)
	}
	return a.m.Journal.Mark(name)
}

func (a *agent) infof(format string, args ...any) { a.line("INFO", format, args...) }
func (a *agent) warnf(format string, args ...any) { a.line("WARNING", format, args...) }

func (a *agent) problemf(format string, args ...any) {
	a.res.Problems = append(a.res.Problems, fmt.Sprintf(format, args...))
	a.line("ERROR", format, args...)
}

// line writes a line to the log and the console. An error of either does not fail the boot.
func (a *agent) line(level, format string, args ...any) {
	text := redact.Text(fmt.Sprintf(format, args...))
	fmt.Fprintf(a.log, "%s - cloudinit[%s]: %s\n", a.m.Clock.Now().UTC().Format("2006-01-02 15:04:05,000"), level, text)
	fmt.Fprintf(a.m.Console, "cloud-init[%s]: %s\n", level, text)
}

// noEffect records that a part of the custom data does nothing here.
func (a *agent) noEffect(what string) {
	a.m.NoEffect(what)
	a.warnf("%s: simulated: no effect", what)
}

func (a *agent) setHostname() error { return a.m.SetHostname(a.m.ComputerName) }

// readCustomData splits the custom data into the merged cloud-config and scripts.
func (a *agent) readCustomData(ctx context.Context) {
	a.config = map[string]any{}
	data := a.m.CustomData
	if userdata.IsGzip(data) {
		plain, err := userdata.Gunzip(data)
		if err != nil {
			a.problemf("user data: %v", err)
			return
		}
		data = plain
	}
	if len(data) == 0 {
		a.infof("no user data")
		return
	}
	head := strings.ToLower(string(data[:min(len(data), 4096)]))
	if strings.Contains(head, "mime-version:") {
		parts, err := userdata.Split(data)
		if err != nil {
			a.problemf("user data: %v", err)
		}
		for i, p := range parts {
			a.part(ctx, p.Type, cmpName(p.Filename, i), p.Body)
		}
		return
	}
	a.part(ctx, "", "part-001", data)
}

func cmpName(name string, i int) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("part-%03d", i+1)
}

// part handles one part of a multipart document. Its first characters decide its type; if they are unknown, the
// declared type does.
func (a *agent) part(ctx context.Context, declared, name string, body []byte) {
	if userdata.IsGzip(body) && strings.HasPrefix(declared, "application/") {
		if plain, err := userdata.Gunzip(body); err == nil {
			body, declared = plain, ""
		}
	}
	kind := declared
	if declared == "" || declared == "text/plain" {
		kind = sniff(body)
	}
	if !utf8.Valid(body) {
		a.problemf("part %s is not UTF-8, as letters outside ASCII are in a MIME part without base64: it is dropped as a whole", name)
		return
	}
	switch kind {
	case "text/jinja2":
		a.template(ctx, name, body)
	case "text/cloud-config":
		a.merge(body)
	case "text/x-shellscript":
		a.scripts = append(a.scripts, script{name, string(body)})
	case "text/cloud-boothook":
		_, rest, _ := strings.Cut(string(body), "\n")
		a.boot = append(a.boot, rest)
	case "text/x-include-url", "text/x-include-once-url":
		a.m.Refused("#include")
		a.problemf("part %s: casement does not simulate #include: it fetches nothing", name)
	case "text/part-handler", "text/cloud-config-archive":
		a.m.Refused(kind)
		a.problemf("part %s: casement does not simulate %s", name, kind)
	default:
		a.problemf("part %s: unhandled user data: it starts with none of #cloud-config, #!, ## template: jinja, "+
			"and is no MIME message", name)
	}
}

// sniff returns the type of a part by cloud-init's markers, after leading blanks and in any case, or "".
func sniff(body []byte) string {
	head := strings.ToLower(strings.TrimLeft(string(body[:min(len(body), 256)]), " \t\r\n\f\v"))
	for _, m := range []struct{ prefix, kind string }{
		{"## template: jinja", "text/jinja2"},
		{"#cloud-config-archive", "text/cloud-config-archive"},
		{"#cloud-config-jsonp", "text/cloud-config-archive"},
		{"#cloud-config", "text/cloud-config"},
		{"#cloud-boothook", "text/cloud-boothook"},
		{"#include-once", "text/x-include-once-url"},
		{"#include", "text/x-include-url"},
		{"#part-handler", "text/part-handler"},
		{"#!", "text/x-shellscript"},
	} {
		if strings.HasPrefix(head, m.prefix) {
			return m.kind
		}
	}
	return ""
}

func (a *agent) template(ctx context.Context, name string, body []byte) {
	engine, rest, ok := userdata.Marker([]byte(strings.TrimLeft(string(body), " \t\r\n")))
	if !ok || engine != "jinja" {
		a.problemf("part %s: unknown template engine %q", name, engine)
		return
	}
	if a.templates++; a.templates > maxTemplates {
		a.problemf("part %s: more than %d templates, one in the other or beside it", name, maxTemplates)
		return
	}
	out, err := userdata.Render(ctx, rest, a.instanceData())
	if userdata.IsLimit(err) {
		a.m.Overrun(err.Error())
	}
	if err != nil {
		a.problemf("part %s cannot be rendered and is ignored as a whole: %v", name, err)
		return
	}
	if strings.HasSuffix(string(body), "\n") {
		out = append(out, '\n') // the template engine drops a newline at the end, and the agent adds it again
	}
	if i := strings.Index(string(out), userdata.Missing); i >= 0 {
		name, _, _ := strings.Cut(string(out[i:]), "\n")
		a.warnf("could not render a jinja template variable: %s", firstToken(name))
	}
	a.part(ctx, "", name, out)
}

func firstToken(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !(r == '/' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	})
	if end < 0 {
		return s
	}
	return s[:end]
}

// instanceData returns the variables of templates: the data of the datasource below ds, the standard names below v1
// and at the top level.
func (a *agent) instanceData() map[string]any {
	m := a.m
	v1 := userdata.Alias(map[string]any{
		"cloud-name": "azure", "cloud_id": "azure", "platform": "azure", "subplatform": "imds (simulated)",
		"distro": "ubuntu", "distro_version": m.Image.Release,
		"instance-id": m.InstanceID, "local-hostname": m.ComputerName, "kernel_release": m.Image.Build,
		"machine": "x86_64", "system_platform": "Linux", "userdata": "redacted for non-root user",
	})
	vars := map[string]any{
		"ds": map[string]any{"meta_data": userdata.Alias(map[string]any{"instance-id": m.InstanceID, "local-hostname": m.ComputerName,
			"imds": map[string]any{"compute": map[string]any{
				"name": m.ComputerName, "resourceId": m.ID, "vmId": m.InstanceID, "osType": machine.Linux,
			},
				"network": map[string]any{"interface": []any{map[string]any{"ipv4": map[string]any{
					"ipAddress": []any{map[string]any{"privateIpAddress": m.IP().String(), "publicIpAddress": ""}},
				}}}}}})},
		"v1": v1,
	}
	for k, v := range v1 {
		vars[k] = v
	}
	return vars
}

func (a *agent) merge(body []byte) {
	v, err := userdata.Load(body)
	if err != nil {
		a.problemf("cloud-config cannot be read and is ignored as a whole: %v", err)
		return
	}
	config, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			a.problemf("cloud-config is no mapping and is ignored")
		}
		return
	}
	how := mergeHow(config)
	delete(config, "merge_how")
	delete(config, "merge_type")
	a.config = how.maps(a.config, config)
}

// merging has the settings of merge_how for lists and mappings: how a later part changes an earlier one.
type merging struct{ list, dict string }

// mergeHow returns the settings in merge_how or merge_type; without both, a later part replaces an earlier one.
func mergeHow(config map[string]any) merging {
	v, ok := config["merge_how"]
	if !ok {
		v, ok = config["merge_type"]
	}
	if !ok {
		return merging{dict: "replace"}
	}
	var m merging
	set := func(name, options string) {
		switch strings.TrimSpace(name) {
		case "list":
			m.list = options
		case "dict":
			m.dict = options
		}
	}
	switch v := v.(type) {
	case string:
		for part := range strings.SplitSeq(v, "+") {
			name, options, _ := strings.Cut(part, "(")
			set(name, strings.TrimSuffix(options, ")"))
		}
	case []any:
		for _, item := range v {
			if one, ok := item.(map[string]any); ok {
				set(userdata.String(one["name"]), strings.Join(userdata.Strings(one["settings"]), ","))
			}
		}
	}
	return m
}

func (m merging) maps(old, add map[string]any) map[string]any {
	for k, v := range add {
		before, some := old[k]
		if !some || m.dict == "replace" {
			old[k] = v
			continue
		}
		switch b := before.(type) {
		case map[string]any:
			if inner, ok := v.(map[string]any); ok {
				old[k] = m.maps(b, inner)
			}
		case []any:
			inner, ok := v.([]any)
			if ok && (strings.Contains(m.dict, "recurse_array") || strings.Contains(m.dict, "recurse_list")) {
				old[k] = m.lists(b, inner)
			}
		}
	}
	return old
}

func (m merging) lists(old, add []any) []any {
	switch {
	case strings.Contains(m.list, "append"):
		return slices.Concat(old, add)
	case strings.Contains(m.list, "prepend"):
		return slices.Concat(add, old)
	case strings.Contains(m.list, "no_replace"):
		return old
	}
	return add
}

// logUnsupported logs the keys that have no simulated effect.
func (a *agent) logUnsupported() error {
	known := []string{"bootcmd", "write_files", "disk_setup", "fs_setup", "mounts", "users", "groups", "ntp",
		"runcmd", "hostname", "ssh_authorized_keys"}
	var rest []string
	for k := range a.config {
		if !slices.Contains(known, k) {
			rest = append(rest, k)
		}
	}
	slices.Sort(rest)
	for _, k := range rest {
		a.noEffect(k)
	}
	return nil
}
