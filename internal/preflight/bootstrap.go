package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
	"casement.dev/casement/internal/windows/bootstrap"
)

// bootstrap returns the check of the custom data that machines get.
func (c checker) bootstrap() []lint.Rule {
	return []lint.Rule{{
		ID: "PRE601", Severity: lint.Error, Title: "Bootstrap data that the guest chokes on", Oracle: lint.Unit,
		Doc: "The KubeadmConfig is written as the bootstrap provider would, with a token and contents of " +
			"Secrets in place of the real ones, and read as the image's agent does: cloudbase-init on Windows, " +
			"cloud-init on Linux. What is found is what the machine's BootstrapData condition would say later: " +
			"size, templates, users, files, commands, sockets.",
		Check: c.eachCluster(checkPRE601),
	}}
}

func checkPRE601(p *lint.Pass, c *Cluster) {
	seen := map[*lint.Object]bool{nil: true}
	for _, m := range c.Machines {
		if seen[m.Bootstrap] || m.Infra == nil {
			continue
		}
		seen[m.Bootstrap] = true
		config := kubeadm(m.Bootstrap)
		os := windows.OSLinux
		if m.Windows() {
			os = windows.OSWindows
		}
		data, err := render(config)
		if err != nil {
			p.Report(m.Bootstrap, config, fmt.Sprintf("cannot be read: %v", err), say("fields of a KubeadmConfig"))
			continue
		}
		for _, problem := range bootstrap.Check(os, data) {
			severity := lint.Error
			if problem.Warning {
				severity = lint.Warning
			}
			p.ReportAs(severity, m.Bootstrap, place(config, problem.Field), problem.Reason, say(problem.Fix))
		}
	}
}

// kubeadm returns the place of the kubeadm configuration in an object.
func kubeadm(o *lint.Object) lint.Value {
	switch o.Kind {
	case "KubeadmConfigTemplate":
		return o.Root.At("spec", "template", "spec")
	case "KubeadmControlPlane":
		return o.Root.At("spec", "kubeadmConfigSpec")
	}
	return o.Root.At("spec")
}

// scripts returns the commands and the contents of files in a group's bootstrap data.
func (m *Machines) scripts() (out []lint.Value) {
	if m.Bootstrap == nil {
		return nil
	}
	spec := kubeadm(m.Bootstrap)
	for _, list := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
		out = append(out, spec.At(list).Items()...)
	}
	for _, f := range spec.At("files").Items() {
		out = append(out, f.At("content"))
	}
	return out
}

// installs matches scripts that install Kubernetes: they copy or download kubelet or kubeadm, or list them among the
// programs to install. Source: the templates of kubernetes-sigs/cluster-api-provider-azure for builds of Kubernetes
// (templates/test).
var installs = regexp.MustCompile(`(?i)["']kube(?:let|adm|ctl)(?:\.exe)?["'][\s,]+["']kube(?:let|adm|ctl)|` +
	`\b(?:curl|wget|mv|cp|install|tar|dpkg|rpm|apt|apt-get|yum|dnf|tdnf|download|copy-item|move-item|invoke-webrequest)\b` +
	`[^\n]*\bkube(?:let|adm)(?:\.exe)?(?:["'\s=]|$)`)

// installsKubernetes reports whether a group's bootstrap data installs Kubernetes itself, instead of using the version
// on the image.
func (m *Machines) installsKubernetes() bool {
	return slices.ContainsFunc(m.scripts(), func(v lint.Value) bool { return installs.MatchString(v.Str()) })
}

// renderedFields matches a field of the cloud-config that is rendered from a field of the KubeadmConfig.
var renderedFields = regexp.MustCompile(`^(users|write_files|runcmd|ntp|mounts|disk_setup|fs_setup)(\[\d+\])?`)

// place returns the field of the KubeadmConfig from which a field of the cloud-config is rendered, or a field above it.
func place(config lint.Value, rendered string) lint.Value {
	m := renderedFields.FindStringSubmatch(rendered)
	if m == nil {
		return config
	}
	path := m[1] + m[2]
	switch m[1] {
	case "write_files":
		path = "files" + m[2]
	case "runcmd":
		path = "postKubeadmCommands"
		if config.At("preKubeadmCommands").Exists() {
			path = "preKubeadmCommands"
		}
	}
	if v := config.Find(path); v.Exists() {
		return v
	}
	return config
}

// kubeadmConfig is the part of a KubeadmConfig that the bootstrap data contains.
type kubeadmConfig struct {
	Files []struct {
		Path, Owner, Permissions, Encoding, Content string
		Append                                      bool
		ContentFrom                                 map[string]any
	}
	Users []struct {
		Name, Gecos, Groups, HomeDir, Shell, Passwd, PrimaryGroup, Sudo string
		Inactive, LockPassword                                          *bool
		SSHAuthorizedKeys                                               []string
	}
	PreKubeadmCommands, PostKubeadmCommands []string
	Format                                  string
	JoinConfiguration                       struct{ NodeRegistration map[string]any }
}

// joinFile is the file to which the bootstrap provider writes kubeadm's configuration.
const joinFile = "/run/kubeadm/kubeadm-join-config.yaml"

// render returns the cloud-config of a machine that joins.
func render(config lint.Value) ([]byte, error) {
	raw, err := config.JSON()
	if err != nil {
		return nil, err
	}
	var k kubeadmConfig
	if err := yaml.Unmarshal(raw, &k); err != nil {
		return nil, err
	}
	var files, users []map[string]any
	for _, f := range k.Files {
		if f.ContentFrom != nil {
			f.Content = "(from a Secret)"
		}
		files = append(files, set(map[string]any{"path": f.Path, "owner": f.Owner, "permissions": f.Permissions,
			"encoding": encoding(f.Encoding), "content": f.Content, "append": f.Append}))
	}
	for _, u := range k.Users {
		user := set(map[string]any{"name": u.Name, "gecos": u.Gecos, "groups": u.Groups, "homedir": u.HomeDir,
			"shell": u.Shell, "passwd": u.Passwd, "primary_group": u.PrimaryGroup, "sudo": u.Sudo})
		if u.LockPassword != nil {
			user["lock_passwd"] = *u.LockPassword
		}
		if len(u.SSHAuthorizedKeys) > 0 {
			user["ssh_authorized_keys"] = u.SSHAuthorizedKeys
		}
		users = append(users, user)
	}
	join, err := yaml.Marshal(joinConfiguration(k.JoinConfiguration.NodeRegistration))
	if err != nil {
		return nil, err
	}
	files = append(files, map[string]any{"path": joinFile, "owner": "root:root", "permissions": "0640", "content": "---\n" + string(join)})
	commands := append(append(k.PreKubeadmCommands, "kubeadm join --config "+joinFile), k.PostKubeadmCommands...)
	body := map[string]any{"write_files": files, "runcmd": commands}
	if len(users) > 0 {
		body["users"] = users
	}
	text, err := yaml.Marshal(body)
	return append([]byte("## template: jinja\n#cloud-config\n\n"), text...), err
}

// set removes keys with empty values from a map.
func set(m map[string]any) map[string]any {
	for k, v := range m {
		if v == "" || v == false {
			delete(m, k)
		}
	}
	return m
}

// encoding returns the encoding of a file as the bootstrap provider writes it.
func encoding(of string) string {
	return strings.ReplaceAll(of, "gzip+base64", "gz+b64")
}

// joinConfiguration is kubeadm's JoinConfiguration, with placeholder discovery data.
func joinConfiguration(registration map[string]any) map[string]any {
	args, listed := registration["kubeletExtraArgs"].([]any)
	if listed { // Cluster API's v1beta2 has a list; kubeadm's v1beta3 has a map
		byName := map[string]any{}
		for _, a := range args {
			if pair, ok := a.(map[string]any); ok {
				byName[fmt.Sprint(pair["name"])] = pair["value"]
			}
		}
		registration["kubeletExtraArgs"] = byName
	}
	return map[string]any{
		"apiVersion": "kubeadm.k8s.io/v1beta3", "kind": "JoinConfiguration", "nodeRegistration": registration,
		"discovery": map[string]any{"bootstrapToken": map[string]any{
			"apiServerEndpoint": "10.0.0.100:6443", "token": "abcdef.0123456789abcdef",
			"caCertHashes": []string{"sha256:" + strings.Repeat("0", 64)}}},
	}
}
