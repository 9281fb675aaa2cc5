package bootstrap

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/windows"
)

// join is a Windows worker's bootstrap data as CABPK renders it.
const join = `## template: jinja
#cloud-config

write_files:
-   path: c:/k/azure.json
    owner: root:root
    permissions: '0644'
    content: |
      {
        "cloud": "AzurePublicCloud"
      }
-   path: C:/start.ps1
    encoding: "base64"
    content: |
      V3JpdGUtSG9zdCBoZWxsbwo=
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: JoinConfiguration
      nodeRegistration:
        criSocket: npipe:////./pipe/containerd-containerd
        kubeletExtraArgs:
        - name: cloud-provider
          value: external
        name: '{{ ds.meta_data["local_hostname"] }}'
        taints: null
-   path: /run/cluster-api/placeholder
    content: |
      empty
runcmd:
  - "nssm set kubelet start SERVICE_AUTO_START"
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete
users:
  - name: capi
    groups: Administrators
    ssh_authorized_keys:
      - ssh-rsa AAAA
`

func TestCheck(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(join, old) {
			t.Fatalf("the document has no %q", old)
		}
		return strings.Replace(join, old, new, 1)
	}
	for _, tc := range []struct {
		name string
		os   string
		data string
		want string // part of the first problem; "" means no problem at all
		warn bool
		line int
	}{
		{name: "as CABPK renders it", data: join},
		{name: "empty", data: "", want: "empty"},
		{name: "too big", data: join + "# " + strings.Repeat("x", MaxSize), want: "65535"},
		{name: "gzip", data: "\x1f\x8b\x08", want: "compressed", line: 1},
		{name: "gzip on Linux", os: windows.OSLinux, data: "\x1f\x8b\x08"},
		{name: "byte order mark", data: "\xef\xbb\xbf" + join, want: "byte order mark", line: 1},
		{name: "binary", data: "#cloud-config\n\xff", want: "UTF-8"},
		{name: "no header", data: "runcmd: [a]\n", want: "#cloud-config", line: 1},
		{name: "blank before the header", data: " #cloud-config\n", want: "#cloud-config", line: 1},
		{name: "header after the marker", data: "## template: jinja\nruncmd: []\n", want: "#cloud-config", line: 2},
		{name: "ignition", data: `{"ignition":{}}`, want: "Ignition", line: 1},
		{name: "script", data: "#ps1_sysnative\nWrite-Host x\n"},
		{name: "MIME with a template",
			data: "Content-Type: multipart/mixed; boundary=x\n\n--x\n\n## template: jinja\n#cloud-config\n",
			want: "MIME", line: 5},
		{name: "MIME", data: "Content-Type: multipart/mixed; boundary=x\n\n--x\n\n#cloud-config\n"},
		{name: "no marker", data: strings.TrimPrefix(join, "## template: jinja\n"), want: "not marked as a template"},
		{name: "key that Azure lacks", data: change(`ds.meta_data["local_hostname"]`, "ds.meta_data.local_ipv4"),
			want: "CI_MISSING_JINJA_VAR/local_ipv4", line: 28},
		{name: "the same on Linux", os: windows.OSLinux,
			data: change(`ds.meta_data["local_hostname"]`, "ds.meta_data.imds.compute.vmId"),
			want: "Windows pipe on a Linux machine"},
		{name: "unknown root", data: change(`ds.meta_data["local_hostname"]`, "hostvars.x"), want: "whole document fails"},
		{name: "default filter", data: change(`ds.meta_data["local_hostname"]`, "ds.meta_data.nope | default('x')")},
		{name: "hyphenated key", data: change(`ds.meta_data["local_hostname"]`, `v1['local-hostname'] | upper`)},
		{name: "template of another language", data: change("      empty", "      docker ps --format {{ .Names }}"),
			want: "no template expression"},
		{name: "bash length", data: change("      empty", "      echo ${#names[@]}"), want: "nothing closes"},
		{name: "comment", data: change("      empty", "      a {# b #} c"), want: "comment to the template", warn: true},
		{name: "raw", data: change("      empty", "      {% raw %}{{ .Names }} ${#a}{% endraw %}")},
		{name: "raw without end", data: change("      empty", "      {% raw %}{{ .Names }}"), want: "endraw"},
		{name: "unknown statement", data: change("      empty", "      {% whatever %}"), want: "does not have"},
		{name: "not YAML", data: change("      empty", "    - a: b: c"), want: "not valid YAML"},
		{name: "blank first line content", data: change("      empty", "          empty\n      less"), want: "not valid YAML"},
		{name: "indented content", data: change("      empty", "          empty"), want: "YAML drops", warn: true},
		{name: "not base64", data: change("V3JpdGUtSG9zdCBoZWxsbwo=", "%%%"), want: "not base64"},
		{name: "encoding", data: change(`encoding: "base64"`, `encoding: "rot13"`), want: "not known", warn: true},
		{name: "no path", data: change("    content: |\n      empty\n", ""), want: "no path or no content"},
		{name: "hashed password",
			data: change("    groups:", "    passwd: $6$aaaaaaaaaaaaaaaaaaaaaaaaaa\n    groups:"),
			want: "20 characters"},
		{name: "short password", data: change("    groups:", "    passwd: short\n    groups:")},
		{name: "Linux socket",
			data: change("npipe:////./pipe/containerd-containerd", "/var/run/containerd/containerd.sock"),
			want: "criSocket"},
		{name: "control plane",
			data: change("      kind: JoinConfiguration", "      kind: JoinConfiguration\n      controlPlane: {}"),
			want: "control plane"},
		{name: "kubelet service", data: change("nssm set kubelet start SERVICE_AUTO_START", "echo"),
			want: "RestartKubelet.ps1", warn: true},
		{name: "taint by flag and by cloud provider, as templates of CAPZ v1.26 have it", data: change("        name: '{{", " "+
			"       - name: register-with-taints\n          value: "+
			"node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule\n        name: '{{"), want: ""},
		{name: "skipped key", data: join + "mounts:\n- [a, b]\n", want: "skips it", warn: true},
		{name: "command with a colon",
			data: change(`  - "nssm set kubelet start SERVICE_AUTO_START"`, "  - nssm: x"),
			want: "no command at all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			os := tc.os
			if os == "" {
				os = windows.OSWindows
			}
			problems := Check(os, []byte(tc.data))
			if tc.want == "" {
				if len(problems) > 0 {
					t.Fatalf("found %v", problems)
				}
				return
			}
			if len(problems) == 0 {
				t.Fatal("found nothing")
			}
			if p := problems[0]; !strings.Contains(p.String(), tc.want) || p.Warning != tc.warn ||
				tc.line != 0 && p.Line != tc.line || p.Fix == "" {
				t.Errorf("found %+v", problems)
			}
		})
	}
}

// TestProblemsShowNoSecret: the messages about problems must not contain the data.
func TestProblemsShowNoSecret(t *testing.T) {
	const secret = "abcdef.0123456789abcdef"
	for _, data := range []string{
		"#cloud-config\nusers:\n- name: a\n  passwd: " + secret + secret + "\n",
		"#cloud-config\nruncmd: [" + secret + "\n",
		"#cloud-config\nwrite_files:\n- path: /x\n  encoding: base64\n  content: '" + secret + "!'\n",
		"## template: jinja\n#cloud-config\nruncmd:\n- echo {{ '" + secret + "' oops }}\n- *" + secret + "\n",
	} {
		for _, p := range Check(windows.OSWindows, []byte(data)) {
			if strings.Contains(p.String(), "abcdef") {
				t.Errorf("%v", p)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(join))
	f.Add([]byte("## template: jinja\n#cloud-config\n{% raw %}{{{#"))
	f.Add([]byte("#cloud-config\nusers: {a: [b]}\nruncmd: x\nwrite_files: {path: kubeadm.yaml, content: 'kind: 1'}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, os := range []string{windows.OSWindows, windows.OSLinux} {
			for _, p := range Check(os, data) {
				if p.Reason == "" || p.Fix == "" || p.Line < 0 {
					t.Errorf("%+v", p)
				}
			}
		}
	})
}
