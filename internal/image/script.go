package image

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/redact"
)

// part is one script of a build.
type part struct {
	name, does, text string
	// fix is the remedy if the script fails.
	fix     string
	timeout time.Duration
}

// Printed is a script as it runs on the machine.
type Printed struct{ Name, Does, Script string }

// Scripts returns the scripts that a build would run on the machine, without the shared functions, which Library
// returns.
func (b *ImageBuild) Scripts() ([]Printed, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	rel, _ := releaseNamed(b.Spec.Source.Release) // the name is valid
	builder := &builder{Config: Config{Build: b}, spec: b.Spec.withDefaults(), release: rel}
	var out []Printed
	for _, p := range append(builder.parts(), builder.checkPart("verify"), builder.lastPart()) {
		out = append(out, Printed{p.name, p.does, strings.TrimPrefix(p.text, rel.library())})
	}
	return out, nil
}

// Library returns the functions at the beginning of each script of the build.
func (b *ImageBuild) Library() string {
	rel, _ := releaseNamed(b.Spec.Source.Release)
	return rel.library()
}

// library returns the functions at the beginning of the scripts for a release.
func (r release) library() string { return systems[r.OS].library }

// parts returns the scripts of the step customise, in order.
func (b *builder) parts() []part {
	s, sys := b.spec, b.system()
	var out []part
	add := func(name, does, fix string, calls ...string) {
		out = append(out, part{name: name, does: does, fix: fix, text: sys.wrap(calls), timeout: s.Timeouts.Script.Duration})
	}
	if calls := s.trust(sys); len(calls) > 0 {
		add("trust", "own certificates and proxy", "", calls...)
	}
	b.own(&out, "before", s.Scripts.Before)
	if s.Updates != "none" {
		out = append(out, part{
			name: "updates", does: "updates of the system: " + s.Updates,
			text: sys.wrap([]string{sys.call("Install-Updates", "Which", s.Updates)}), timeout: s.Timeouts.Updates.Duration,
		})
	}
	if b.release.OS == osWindows {
		add("prepare", "directories, the Containers feature, firewall", "", sys.call("Initialize-Node"))
	} else {
		add("prepare", "directories, modules and settings of the kernel, packages that kubeadm wants",
			"the packages come from the archive of Ubuntu: give the machine a way to it, or install them by spec.scripts.before",
			sys.call("Initialize-Node"))
	}
	for _, d := range s.downloads() {
		fix := fmt.Sprintf("correct spec.components[name=%s] (url, sha256), or the file at %s", d.Name, d.URL)
		with := []string{"Url", d.URL, "Checksum", d.SHA256, "Path", d.Path, "As", d.as}
		if b.release.OS == osWindows {
			with = append(with, "Signer", d.Signer)
		}
		add(d.Name, "download and install", fix, sys.call("Install-Component", with...))
	}
	add("containerd-service", "containerd as a service", "", sys.call("Register-Containerd"))
	if len(s.Images) > 0 {
		var calls []string
		for _, i := range s.Images {
			calls = append(calls, sys.call("Get-ContainerImage", "Reference", i))
		}
		add("images", "pull container images", "correct spec.images, or give the machine a way to that registry", calls...)
	}
	if b.release.OS == osWindows {
		add("kubelet-service", "kubelet as a service: "+s.KubeletService, "",
			sys.call("Register-Kubelet", "Mode", s.KubeletService, "LogFlags", s.logFlags()))
		if s.has(csiProxy) {
			add("csi-proxy-service", "csi-proxy as a service", "correct spec.components[name=csi-proxy]", sys.call("Register-CsiProxy"))
		}
		add("cloudbase-config", "the configuration of cloudbase-init", "", sys.call("Set-CloudbaseConfig"))
		add("ssh", "OpenSSH", "", sys.call("Enable-OpenSSH"))
	} else {
		add("kubelet-service", "kubelet as a service", "", sys.call("Register-Kubelet"))
		add("journal", "how much the journal keeps", "", sys.call("Set-Journal"))
	}
	if calls := s.switches(sys); len(calls) > 0 {
		add("switches", "features, services, firewall, hardening",
			"correct spec.features, spec.services, spec.firewall or spec.hardening", calls...)
	}
	b.own(&out, "after", s.Scripts.After)
	return out
}

// logFlags returns the flags with which kube-log-runner rotates the kubelet's log, "" for a version without them.
// Source: kubernetes CHANGELOG-1.33, kube-log-runner's -log-file-size and -log-file-age.
func (s Spec) logFlags() string {
	if minorOf(s.KubernetesVersion) < 33 {
		return ""
	}
	return "--log-file-size=100Mi --log-file-age=168h"
}

// trust returns the function calls that install the user's CA certificates and proxy.
func (s Spec) trust(sys system) (calls []string) {
	for i, c := range s.CACertificates {
		calls = append(calls, sys.call("Add-Trust", "Name", fmt.Sprintf("own-%d", i+1), "Pem", c))
	}
	if s.Proxy.HTTP != "" || s.Proxy.HTTPS != "" {
		calls = append(calls, sys.call("Set-BuildProxy", "Http", s.Proxy.HTTP, "Https", s.Proxy.HTTPS,
			"NoProxy", strings.Join(s.Proxy.NoProxy, ",")))
	}
	return calls
}

// switches returns the function calls for features, services, ports and hardening.
func (s Spec) switches(sys system) (calls []string) {
	for _, name := range s.Features {
		calls = append(calls, sys.call("Add-Feature", "Name", name))
	}
	for _, one := range s.Services {
		calls = append(calls, sys.call("Set-ServiceStart", "Name", one.Name, "Start", one.Start))
	}
	for _, r := range s.Firewall {
		calls = append(calls, sys.call("Add-FirewallRule", "Name", r.Name, "Protocol", cmp.Or(r.Protocol, "TCP"),
			"Port", strconv.Itoa(r.Port)))
	}
	for _, name := range s.Hardening {
		calls = append(calls, sys.call("Set-Hardening", "What", name))
	}
	return calls
}

// own adds the user's scripts, which run without the library.
func (b *builder) own(out *[]part, when string, scripts []Script) {
	for _, s := range scripts {
		*out = append(*out, part{name: s.Name, does: "own script, " + when, text: s.Script,
			fix:     fmt.Sprintf("correct spec.scripts.%s[name=%s]", when, s.Name),
			timeout: b.spec.Timeouts.Script.Duration})
	}
}

func (b *builder) checkPart(name string) part {
	sys := b.system()
	call := sys.call("Test-Node")
	if b.release.OS == osWindows {
		also := ""
		if b.spec.has(csiProxy) {
			also = csiProxy
		}
		call = sys.call("Test-Node", "Mode", b.spec.KubeletService, "LogFlags", b.spec.logFlags(), "Also", also)
	}
	return part{name: name, does: "services, versions and files", text: sys.wrap([]string{call}), timeout: b.spec.Timeouts.Script.Duration,
		fix: "a script of spec.scripts may have removed it; casement images build --print shows what runs"}
}

// lastPart returns the script that generalises the machine, so that it can be captured as
// an image.
func (b *builder) lastPart() part {
	sys := b.system()
	if b.release.OS == osWindows {
		return part{name: "sysprep", does: "generalize Windows", text: sys.wrap([]string{sys.call("Invoke-Sysprep")}),
			timeout: b.spec.Timeouts.Script.Duration,
			fix: `read C:\Windows\System32\Sysprep\Panther\setuperr.log with --keep: an application of spec.scripts ` +
				`that is installed for one user alone is the usual cause`}
	}
	return part{name: "deprovision", does: "take from the machine what is its own",
		text:    sys.wrap([]string{sys.call("Invoke-Deprovision")}),
		timeout: b.spec.Timeouts.Script.Duration, fix: "read /var/log/waagent.log with --keep"}
}

// system returns the script syntax for the build's operating system.
func (b *builder) system() system { return systems[b.release.OS] }

// maxLines is the number of lines of a script's output that an error shows.
const maxLines = 5

// lastLines returns the last lines of an output as one line, without secrets.
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
