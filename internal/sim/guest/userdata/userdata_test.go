package userdata

import (
	"strings"
	"testing"
)

func instance() map[string]any {
	return map[string]any{
		"ds": Alias(map[string]any{"meta_data": map[string]any{"local-hostname": "win-1", "instance-id": "x"}}),
		"v1": map[string]any{"local_hostname": "win-1"},
	}
}

// TestRender compares results with those of jinja2 3.1.6 with the agents' undefined type and trim_blocks.
func TestRender(t *testing.T) {
	for _, c := range []struct{ name, in, want, fails string }{
		{"hostname", `a {{ ds.meta_data["local_hostname"] }} b` + "\n", "a win-1 b", ""},
		{"attribute", "{{ v1.local_hostname }}", "win-1", ""},
		{"hyphen by subscript", `{{ ds.meta_data["instance-id"] }}`, "x", ""},
		{"missing last level", "{{ ds.meta_data.local_ipv4 }}", "CI_MISSING_JINJA_VAR/local_ipv4", ""},
		{"missing by subscript", `'{{ ds.meta_data["vm_id"] }}'`, "'CI_MISSING_JINJA_VAR/vm_id'", ""},
		{"missing name", "{{ nope }}", "CI_MISSING_JINJA_VAR/nope", ""},
		{"missing into a filter", "{{ nope | upper }}", "CI_MISSING_JINJA_VAR/NOPE", ""},
		{"missing into default", `{{ nope | default("q") }}`, "q", ""},
		{"missing parent", "a\nb\n{{ ds.nope.local_ipv4 }}", "", "parent of a variable is not in the instance data at line 3"},
		{"trimmed", "a  {{- v1.local_hostname -}}  b", "awin-1b", ""},
		{"missing and trimmed", "a  {{- nope -}}  b", "aCI_MISSING_JINJA_VAR/nopeb", ""},
		{"bash array length", "x\nn=${#arr[@]}\n", "", "missing end of comment tag"},
		{"comment", "{# c #}x", "x", ""},
		{"go template", "\n{{ .Values.foo }}", "", "at line 2"},
		{"docker format", "docker ps --format '{{.Names}}'", "", "jinja syntax"},
		{"powershell hash in hash", "$h = @{a=@{b=1}}", "$h = @{a=@{b=1}}", ""},
		{"powershell doubled braces", "$h = @{a=@{{b=1}}}", "", "jinja syntax"},
		{"powershell percent block", "gci | %{ $_.Name }", "gci | %{ $_.Name }", ""},
		{"unclosed block", "{% if x %}", "", "a block is not closed"},
		{"unknown tag", "{% unknown %}", "", "unknown tag"},
		{"raw", "{% raw %}{{ x }}{% endraw %}", "{{ x }}", ""},
		{"escaped", "{{ '{{' }} .Foo {{ '}}' }}", "{{ .Foo }}", ""},
		{"condition", `{% if ds.meta_data.zip is defined %}yes{% else %}no{% endif %}`, "no", ""},
		{"loop", "{% for i in [1,2] %}{{ i }},{% endfor %}", "1,2,", ""},
		{"block takes its newline", "a\n{% if true %}\nb\n{% endif %}\nc\n", "a\nb\nc", ""},
		{"one newline is dropped", "a\nb\n\n", "a\nb\n", ""},
		{"no include of host files", `{% include "/etc/hostname" %}`, "", "jinja"},
		{"no import of host files", `{% import "/etc/hostname" as x %}`, "", "jinja"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Render(t.Context(), []byte(c.in), instance())
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("got %q, %v; want an error with %q", got, err, c.fails)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestTemplateErrorHidesTheTemplate(t *testing.T) {
	for _, in := range []string{"token: s3cr3t {{ .x }}", "s3cr3t ${#a[@]}", "{{ ds.nope.s3cr3t }} s3cr3t",
		"{% s3cr3t %}", "{{ 's3cr3t' | s3cr3t }}"} {
		_, err := Render(t.Context(), []byte(in), instance())
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: error %v", in, err)
		}
	}
}

func TestMarker(t *testing.T) {
	for _, c := range []struct {
		in, engine, rest string
		ok               bool
	}{
		{"## template: jinja\n#cloud-config\n", "jinja", "#cloud-config\n", true},
		{"## TEMPLATE:Jinja\r\nx", "jinja", "x", true},
		{"## template: mako\nx", "mako", "x", true},
		{" ## template: jinja\nx", "", " ## template: jinja\nx", false},
		{"#cloud-config\n## template: jinja\n", "", "#cloud-config\n## template: jinja\n", false},
	} {
		engine, rest, ok := Marker([]byte(c.in))
		if engine != c.engine || string(rest) != c.rest || ok != c.ok {
			t.Errorf("%q: got %q, %q, %v", c.in, engine, rest, ok)
		}
	}
}

const multi = `Content-Type: multipart/mixed; boundary="XX"
MIME-Version: 1.0

--XX
Content-Type: text/cloud-config; charset="us-ascii"
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="a.cfg"

I2Nsb3VkLWNvbmZpZwo=
--XX
Content-Type: multipart/mixed; boundary=YY

--YY
Content-Type: text/x-shellscript
Content-Disposition: attachment; filename="../../x.ps1"

Write-Host hi
--YY--
--XX--
`

func TestSplit(t *testing.T) {
	parts, err := Split([]byte(multi))
	if err != nil || len(parts) != 2 {
		t.Fatalf("got %v, %v", parts, err)
	}
	if p := parts[0]; p.Type != "text/cloud-config" || p.Filename != "a.cfg" || string(p.Body) != "#cloud-config\n" {
		t.Errorf("first part is %+v", p)
	}
	if p := parts[1]; p.Type != "text/x-shellscript" || p.Filename != "x.ps1" || string(p.Body) != "Write-Host hi" {
		t.Errorf("second part is %+v", p)
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"{{ a }}", "{% if x %}{% endif %}", "${#a}", "{{ ds.x.y|d }}", "{{ ds['x'", "{%- raw -%}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := Render(t.Context(), []byte(s), instance()); err != nil && !IsTemplateError(err) && !IsLimit(err) {
			t.Errorf("%q: %v", s, err)
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add(multi)
	f.Fuzz(func(t *testing.T, s string) {
		parts, err := Split([]byte(s))
		for _, p := range parts {
			if strings.Contains(p.Filename, "/") && p.Filename != "/" {
				t.Errorf("file name %q leads elsewhere (%v)", p.Filename, err)
			}
		}
	})
}
