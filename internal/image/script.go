package image

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/redact"
)

// library are the functions that all scripts share.
//
//go:embed script/windows.ps1
var library string

// part is one script of a build.
type part struct {
	name, does, text string
	// fix says what to do where it fails.
	fix     string
	timeout time.Duration
}

// Printed is a script as it would run.
type Printed struct{ Name, Does, Script string }

// Scripts are what a build would run on the machine, without the shared functions, which
// Library returns.
func (b *ImageBuild) Scripts() ([]Printed, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	rel, _ := releaseNamed(b.Spec.Source.Release) // validated
	builder := &builder{Config: Config{Build: b}, spec: b.Spec.withDefaults(), release: rel}
	var out []Printed
	for _, p := range append(builder.parts(), builder.checkPart("verify"), builder.sysprepPart()) {
		out = append(out, Printed{p.name, p.does, strings.TrimPrefix(p.text, library)})
	}
	return out, nil
}

// Library is the PowerShell that each script begins with.
func Library() string { return library }

// parts are the scripts of customise, in order.
func (b *builder) parts() []part {
	s := b.spec
	var out []part
	add := func(name, does, fix string, calls ...string) {
		out = append(out, part{name: name, does: does, fix: fix, text: wrap(calls), timeout: s.Timeouts.Script.Duration})
	}
	if len(s.CACertificates) > 0 || s.Proxy.HTTP != "" || s.Proxy.HTTPS != "" {
		var calls []string
		for i, c := range s.CACertificates {
			calls = append(calls, fmt.Sprintf("Add-Trust -Name %s -Pem %s", quote(fmt.Sprintf("own-%d", i+1)), quote(c)))
		}
		if s.Proxy.HTTP != "" || s.Proxy.HTTPS != "" {
			calls = append(calls, fmt.Sprintf("Set-BuildProxy -Http %s -Https %s -NoProxy %s", quote(s.Proxy.HTTP),
				quote(s.Proxy.HTTPS), quote(strings.Join(s.Proxy.NoProxy, ","))))
		}
		add("trust", "own certificates and proxy", "", calls...)
	}
	b.own(&out, "before", s.Scripts.Before)
	if s.Updates != "none" {
		out = append(out, part{
			name: "updates", does: "Windows updates: " + s.Updates,
			text: wrap([]string{"Install-Updates -Which " + quote(s.Updates)}), timeout: s.Timeouts.Updates.Duration,
		})
	}
	add("prepare", "directories, the Containers feature, firewall", "", "Initialize-Node")
	for _, d := range s.downloads() {
		fix := fmt.Sprintf("correct spec.components[name=%s] (url, sha256), or the file at %s", d.Name, d.URL)
		call := fmt.Sprintf("Install-Component -Url %s -Checksum %s -Path %s -As %s -Signer %s", quote(d.URL),
			quote(d.SHA256), quote(d.Path), quote(d.as), quote(d.Signer))
		add(d.Name, "download and install", fix, call)
	}
	add("containerd-service", "containerd as a service", "", "Register-Containerd")
	if len(s.Images) > 0 {
		var calls []string
		for _, i := range s.Images {
			calls = append(calls, "Get-ContainerImage -Reference "+quote(i))
		}
		add("images", "pull container images", "correct spec.images, or give the machine a way to that registry", calls...)
	}
	add("kubelet-service", "kubelet as a service: "+s.KubeletService, "", "Register-Kubelet -Mode "+quote(s.KubeletService))
	add("cloudbase-config", "the configuration of cloudbase-init", "", "Set-CloudbaseConfig")
	add("ssh", "OpenSSH", "", "Enable-OpenSSH")
	if calls := s.switches(); len(calls) > 0 {
		add("switches", "features, services, firewall, hardening",
			"correct spec.features, spec.services, spec.firewall or spec.hardening", calls...)
	}
	b.own(&out, "after", s.Scripts.After)
	return out
}

// switches are the calls for features, services, ports and hardening.
func (s Spec) switches() (calls []string) {
	for _, name := range s.Features {
		calls = append(calls, "Add-Feature -Name "+quote(name))
	}
	for _, one := range s.Services {
		calls = append(calls, fmt.Sprintf("Set-ServiceStart -Name %s -Start %s", quote(one.Name), quote(one.Start)))
	}
	for _, r := range s.Firewall {
		calls = append(calls, fmt.Sprintf("Add-FirewallRule -Name %s -Protocol %s -Port '%d'", quote(r.Name),
			quote(cmp.Or(r.Protocol, "TCP")), r.Port))
	}
	for _, name := range s.Hardening {
		calls = append(calls, "Set-Hardening -What "+quote(name))
	}
	return calls
}

// own adds one's own scripts, which run without the library.
func (b *builder) own(out *[]part, when string, scripts []Script) {
	for _, s := range scripts {
		*out = append(*out, part{name: s.Name, does: "own script, " + when, text: s.Script,
			fix:     fmt.Sprintf("correct spec.scripts.%s[name=%s]", when, s.Name),
			timeout: b.spec.Timeouts.Script.Duration})
	}
}

func (b *builder) checkPart(name string) part {
	calls := []string{"Test-Node -Mode " + quote(b.spec.KubeletService)}
	return part{name: name, does: "services, versions and files", text: wrap(calls), timeout: b.spec.Timeouts.Script.Duration,
		fix: "a script of spec.scripts may have removed it; casement images build --print shows what runs"}
}

func (b *builder) sysprepPart() part {
	return part{name: "sysprep", does: "generalize Windows", text: wrap([]string{
		"Invoke-Sysprep",
	}), timeout: b.spec.Timeouts.Script.Duration,
		fix: `read C:\Windows\System32\Sysprep\Panther\setuperr.log with --keep: an application of spec.scripts ` +
			`that is installed for one user alone is the usual cause`}
}

// wrap is a script: the library, and calls whose failure ends it with code 1.
func wrap(calls []string) string {
	return library + "\ntry {\n  " + strings.Join(calls, "\n  ") +
		"\n} catch {\n  Write-Output \"FAILED: $($_.Exception.Message)\"\n  exit 1\n}\nexit 0\n"
}

// quote is a text as a literal of PowerShell, where typographic quotes end one too.
func quote(s string) string {
	return "'" + strings.NewReplacer("'", "''", "\u2018", "\u2018\u2018", "\u2019", "\u2019\u2019", "\u201a",
		"\u201a\u201a", "\u201b", "\u201b\u201b").Replace(s) + "'"
}

// maxLines are the lines of a script's output that an error shows.
const maxLines = 5

// lastLines is the end of an output in one line, without secrets.
func lastLines(out string) string {
	var lines []string
	for line := range strings.Lines(redact.Text(out)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "it printed nothing"
	}
	return strings.Join(lines[max(0, len(lines)-maxLines):], " | ")
}
