package guests

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
)

// cloudbaseInput is user data for a Windows guest. Its files are below C:\out, its users
// are ann, bob and eve, and its scripts run mark and exit.
type cloudbaseInput struct{ name, data string }

// cloudbaseInputs returns combinations of the parts that user data consists of.
func cloudbaseInputs() []cloudbaseInput {
	var all []cloudbaseInput
	add := func(data, format string, a ...any) {
		all = append(all, cloudbaseInput{fmt.Sprintf(format, a...), data})
	}
	const config = "#cloud-config\n"
	contents := []struct{ name, text string }{
		{"plain", "hello world"}, {"base64", "aGVsbG8="}, {"base64 without padding", "aGVsbG8"}, {
			"base64 with letters of the URL", "-_-_",
		}, {"gzip+base64", packed64("packed")}, {"cut gzip+base64", packed64("packed")[:20]}, {"empty", ""},
	}
	for _, e := range []string{"", "b64", "base64", "gz", "gzip", "gz+base64", "gzip+base64", "gz+b64", "gzip+b64",
		"BASE64", " b64 ", "utf-8", "text/plain"} {
		for _, c := range contents {
			add(config+"write_files:\n- path: /out/a\n  encoding: \""+e+"\"\n  content: \""+c.text+"\"\n"+
				"- {path: /out/after, content: after}\n"+
				"runcmd: [mark end]\n", "write_files encoding %q of %s", e, c.name)
		}
	}
	for _, p := range []string{"'0644'", "'0444'", "'0400'", "0444", "0o444", "292", "'444'", "'rw'", "null",
		"true", "'0755'", "[1]", "{}", "4.5", "'9'", "''"} {
		add(config+"write_files:\n- {path: /out/a, permissions: "+p+
			", content: x}\n- {path: /out/after, content: after}\n", "write_files permissions %s", p)
	}
	for _, p := range []string{"/out/a", "C:/out/a", "C:\\out\\a", "c:\\out/sub/a", "/out/sub/deep/a", "out\\a",
		"\\out\\a", "/out/../out/a", "/out/./a", "/out/a?b", "''", "null", "5", "[x]", "/out/a b", "/out/ä"} {
		add(config+"write_files:\n- path: "+p+
			"\n  content: x\n- {path: /out/after, content: after}\nruncmd: [mark end]\n", "write_files path %s", p)
	}
	for _, c := range []string{"null", "5", "1.5", "true", "[a]", "{a: b}", "|\n    one\n    two\n",
		">\n    one\n    two\n", "!!binary aGVsbG8=", "2026-01-01", "'ä'", "yes", "''"} {
		add(config+"write_files:\n- path: /out/a\n  content: "+c+"\n- {path: /out/after, content: after}\n",
			"write_files content %s", strings.Fields(c)[0])
	}
	for name, items := range ordered(
		"append", "- {path: /out/a, content: one}\n- {path: /out/a, content: two, append: true}\n",
		"append to nothing", "- {path: /out/a, content: one, append: true}\n",
		"append false", "- {path: /out/a, content: one}\n- {path: /out/a, content: two, append: false}\n",
		"append text", "- {path: /out/a, content: one}\n- {path: /out/a, content: two, append: 'yes'}\n",
		"append no text", "- {path: /out/a, content: one}\n- {path: /out/a, content: two, append: ''}\n",
		"append number", "- {path: /out/a, content: one}\n- {path: /out/a, content: two, append: 1}\n",
		"read-only twice",
		"- {path: /out/a, content: one, permissions: '0444'}\n- {path: /out/a, content: two}\n- {path: /out/after, content: after}\n",
		"no path", "- {content: one}\n- {path: /out/after, content: after}\n", "no content",
		"- {path: /out/a}\n- {path: /out/after, content: after}\n", "text item",
		"- hello\n- {path: /out/after, content: after}\n",
		"null item", "- null\n- {path: /out/after, content: after}\n", "number item",
		"- 5\n- {path: /out/after, content: after}\n", "list item",
		"- [path, content]\n- {path: /out/after, content: after}\n", "text with the names",
		"- path and content\n- {path: /out/after, content: after}\n",
		"owner", "- {path: /out/a, content: one, owner: 'nobody:there'}\n", "defer",
		"- {path: /out/a, content: one, defer: true}\n", "source",
		"- {path: /out/a, content: one, source: {uri: 'http://x/'}}\n",
		"one map", "  path: /out/a\n  content: one\n", "empty", "  []\n", "text", "  hello\n", "number", "  5\n",
		"null", "  null\n", "map without path", "  content: one\n", "folder as file",
		"- {path: /out/a/b, content: one}\n- {path: /out/a, content: two}\n- {path: /out/after, content: after}\n",
		"file as folder",
		"- {path: /out/a, content: one}\n- {path: /out/a/b, content: two}\n- {path: /out/after, content: after}\n",
		"same path in other letters", "- {path: /out/A, content: one}\n- {path: /out/a, content: two}\n",
	) {
		add(config+"write_files:\n"+items+"runcmd:\n- mark end\n", "write_files %s", name)
	}
	commands(add)
	accounts(add)
	shapes(add)
	messages(add)
	return all
}

// commands adds runcmd and scripts of each kind, with the codes that they end with.
func commands(add func(data, format string, a ...any)) {
	const config = "#cloud-config\n"
	for name, list := range ordered(
		"texts", "[mark a, mark b]", "lists", "[[mark, a], [mark, b, c]]", "numbers in a list", "[[mark, 5, 1.5]]",
		"booleans in a list", "[[mark, true, null]]", "a number", "[mark a, 5]", "a map", "[mark a, {mark: b}]",
		"null", "[mark a, null]", "a boolean", "[mark a, true]",
		"a text", "mark a", "none", "[]", "null alone", "null", "a map alone", "{mark: a}", "a number alone", "5",
		"false", "false", "empty text", "['', mark a]", "lines in a text", "[\"mark a\\nmark b\"]",
		"a list in a list", "[[mark, [a]]]", "empty list within", "[[], mark a]", "quotes", "['mark \"a b\"']",
		"letters", "['mark ä']", "exit in the middle", "[mark a, exit /b 3, mark b]", "exit 0", "[mark a, exit /b 0, mark b]",
	) {
		add(config+"runcmd: "+list+"\n", "runcmd of %s", name)
	}
	for _, code := range []int{0, 1, 2, 255, 1000, 1001, 1002, 1003, 1004, -1, 3010} {
		exit := fmt.Sprintf("exit /b %d", code)
		add(config+"runcmd: [mark a, '"+exit+"']\n", "runcmd exits with %d", code)
		add("rem cmd\nmark a\n"+exit+"\n", "batch exits with %d", code)
		add(fmt.Sprintf("#ps1\nmark a\nexit %d\n", code), "powershell exits with %d", code)
		add(fmt.Sprintf("<script>\nmark a\n%s\n</script>\n<powershell>\nmark b\nexit %d\n</powershell>\n", exit,
			code), "blocks exit with %d", code)
		add(mixed("text/cloud-config", "a.yaml", config+"runcmd: ['"+exit+"']\n", "text/x-shellscript", "b.cmd",
			"mark b\n"), "mime cloud-config exits with %d", code)
		add(mixed("text/x-shellscript", "a.cmd", "mark a\n"+exit+"\n", "text/x-shellscript", "b.ps1", "mark b\n"),
			"mime script exits with %d", code)
	}
	for _, first := range []string{"rem cmd", "rem cmd ", "rem  cmd", "REM cmd", " rem cmd", "rem\tcmd", "rem cmdx",
		"@rem cmd", "#ps1", "#ps1 ", "#ps1_sysnative", "#ps1_x86", "#PS1", " #ps1", "#ps2", "#ps1_other",
		"#!/bin/sh", "#!/usr/bin/env python", "#! /usr/bin/env python", "#!powershell", "", "mark a", "echo off"} {
		line := "if 1==1 mark x"
		if strings.Contains(strings.ToLower(first), "ps1") {
			line = "if ($true) { mark x }"
		}
		add(first+"\n"+line+"\nmark y\n", "first line %q", first)
		add(first+"\r\n"+line+"\r\nmark y\r\n", "first line %q with CRLF", first)
	}
	for name, data := range ordered(
		"in order", "<powershell>\nmark p\n</powershell>\n<script>\nmark s\n</script>\n", "two of each",
		"<script>mark a</script>\n<script>mark b</script>\n<powershell>mark c</powershell>\n<powershell>mark d</powershell>\n",
		"in text", "hello\n<script>\nmark s\n</script>\nthere\n",
		"open", "<script>\nmark s\n", "closing alone", "mark s\n</script>\n", "empty",
		"<script></script><powershell> </powershell>\n", "upper case", "<SCRIPT>\nmark s\n</SCRIPT>\n", "mixed",
		"<script>\nmark s\n</powershell>\n", "persist",
		"<powershell>\nmark p\n</powershell>\n<persist>true</persist>\n",
	) {
		add(data, "blocks %s", name)
	}
}

// accounts adds users, groups and host names.
func accounts(add func(data, format string, a ...any)) {
	const config, end = "#cloud-config\n", "runcmd: [mark end]\n"
	for name, users := range ordered(
		"one", "[{name: bob}]", "two", "[{name: bob}, {name: ann}]", "keys",
		"[{name: bob, ssh_authorized_keys: [one, two]}]", "keys as a text",
		"[{name: bob, ssh_authorized_keys: one}]", "password", "[{name: bob, passwd: Secret123}]",
		"password of 20", "[{name: bob, passwd: '12345678901234567890'}]",
		"password of 21", "[{name: bob, passwd: '123456789012345678901'}, {name: ann}]", "password and keys",
		"[{name: bob, passwd: '123456789012345678901', ssh_authorized_keys: [one]}]", "number as password",
		"[{name: bob, passwd: 12345}, {name: ann}]", "no name", "[{gecos: x}, {name: ann}]", "empty name",
		"[{name: ''}, {name: ann}]", "default", "[default, {name: ann}]",
		"text", "bob", "number", "5", "map", "{name: bob}", "null", "null", "empty", "[]", "groups",
		"[{name: bob, groups: 'Administrators, Users'}]", "groups list",
		"[{name: bob, groups: [Administrators]}]", "primary group", "[{name: bob, primary_group: Users}]",
		"inactive", "[{name: bob, inactive: true}, {name: ann}]",
		"inactive without home", "[{name: bob, inactive: true, no_create_home: true}, {name: ann}]",
		"inactive with keys",
		"[{name: bob, inactive: true, no_create_home: true, ssh_authorized_keys: [one]}, {name: ann}]",
		"inactive text", "[{name: bob, inactive: 'false'}, {name: ann}]", "expires",
		"[{name: bob, expiredate: '2030-01-01'}]", "expires badly",
		"[{name: bob, expiredate: 'soon'}, {name: ann}]",
		"expires at a date", "[{name: bob, expiredate: 2030-01-01}]", "existing",
		"[{name: capi, ssh_authorized_keys: [one]}]", "twice",
		"[{name: bob}, {name: bob, ssh_authorized_keys: [one]}]", "homedir",
		"[{name: bob, homedir: 'C:\\b', shell: cmd, sudo: ALL}]", "keys of numbers",
		"[{name: bob, ssh_authorized_keys: [1]}, {name: ann}]", "empty keys",
		"[{name: bob, ssh_authorized_keys: []}]",
	) {
		add(config+"users: "+users+"\n"+end, "users %s", name)
	}
	for name, groups := range ordered("text", "g", "list", "[g, h]", "members", "[{g: [bob]}]", "map", "{g: [bob]}",
		"number", "5", "numbers", "[5]", "null", "null") {
		add(config+"groups: "+groups+"\n"+end, "groups %s", name)
	}
	for _, key := range []string{"set_hostname", "hostname"} {
		for _, name := range []string{"newname", "c1-md-0-abcde", "C1-MD-0-ABCDE", "a-name-that-is-too-long",
			"fourteen-chars-", "one.two.three", "''", "null", "5", "[a]", "x"} {
			add(config+key+": "+name+"\n"+end, "%s %s", key, name)
		}
	}
}

// shapes adds invalid documents, and templates.
func shapes(add func(data, format string, a ...any)) {
	const config = "#cloud-config\n"
	for name, data := range ordered(
		"empty", "", "blank", " \n", "comment alone", config, "null", config+"null\n", "text", config+"hello\n",
		"list", config+"[a]\n", "number", config+"5\n", "unknown keys",
		config+"packages: [x]\nbootcmd: [mark no]\nruncmd: [mark a]\n", "order",
		config+"runcmd: [mark a]\nwrite_files:\n- {path: /out/a, content: x}\nusers: [{name: bob}]\n",
		"syntax", config+"runcmd: [mark a\n", "tabs", config+"runcmd:\n\t- mark a\n", "duplicate keys",
		config+"runcmd: [mark a]\nruncmd: [mark b]\n", "anchors", config+"x: &a [mark a]\nruncmd: *a\n",
		"two documents", config+"runcmd: [mark a]\n---\nruncmd: [mark b]\n", "CRLF",
		"#cloud-config\r\nruncmd:\r\n- mark a\r\n",
		"blank before", " "+config+"runcmd: [mark a]\n", "line before", "\n"+config+"runcmd: [mark a]\n",
		"mark before", "\ufeff"+config+"runcmd: [mark a]\n", "no blank",
		"#cloud-configruncmd\nruncmd: [mark a]\n", "upper case", "#CLOUD-CONFIG\nruncmd: [mark a]\n", "archive",
		"#cloud-config-archive\n- runcmd\n", "number keys", config+"5: x\nruncmd: [mark a]\n",
		"gzip", packed(config+"runcmd: [mark a]\n"), "not UTF-8", config+"runcmd: [\"mark \xff\"]\n", "certificate",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "include", "#include\nhttp://x/\n",
		"boothook", "#cloud-boothook\nmark a\n", "ntp",
		config+"ntp: {enabled: true, servers: [a]}\nruncmd: [mark a]\n", "ntp off",
		config+"ntp: {enabled: false}\nruncmd: [mark a]\n", "ntp text", config+"ntp: x\nruncmd: [mark a]\n",
		"merge key", config+"a: &a {path: /out/a, content: x}\nwrite_files:\n- <<: *a\n  content: y\n", "tag",
		config+"runcmd: !!python/tuple [mark a]\n", "unknown tag", config+"x: !foo y\nruncmd: [mark a]\n",
		"control letter", config+"runcmd: [\"mark a\"] #\x01\n", "yes",
		config+"write_files: [{path: /out/a, content: yes}]\n", "octal",
		config+"write_files: [{path: /out/a, permissions: 0444, content: x}]\n",
	) {
		add(data, "document %s", name)
	}
	for name, body := range ordered(
		"variable", "mark {{ ds.meta_data.local_hostname }}", "item", "mark {{ ds.meta_data['local_hostname'] }}",
		"item with a dash", "mark {{ ds.meta_data['local-hostname'] }}", "standard",
		"mark {{ v1.local_hostname }}", "short", "mark {{ local_hostname }}", "instance",
		"mark {{ instance_id }}", "dash", "mark {{ v1.local-hostname }}",
		"missing last", "mark {{ ds.meta_data.local_ipv4 }}", "missing parent", "mark {{ ds.nothing.local_ipv4 }}",
		"missing top", "mark {{ nothing }}", "missing of missing", "mark {{ nothing.here }}", "filter",
		"mark {{ local_hostname | upper }}", "default", "mark {{ nothing | default('d') }}", "unknown filter",
		"mark {{ local_hostname | nothing }}", "if", "mark {% if true %}a{% else %}b{% endif %}", "for",
		"{% for x in [1, 2] %}mark {{ x }}\n- {% endfor %}mark end",
		"set", "{% set x = 'a' %}mark {{ x }}", "raw", "mark {% raw %}{% x %}{% endraw %}", "comment",
		"mark a{# no #}", "open", "mark {{ local_hostname", "open comment", "mark ${#a[@]}", "arithmetic",
		"mark {{ 1 + 2 }}", "format", "mark {{ '%s' % 'x' }}", "slice", "mark {{ local_hostname[:2] }}",
		"python", "mark {{ local_hostname.upper() }}", "tests", "mark {{ nothing is defined }}",
		"call of nothing", "mark {{ nothing() }}", "division by nothing", "mark {{ 1 / 0 }}", "hostname",
		"mark {{ ds.meta_data.hostname }}",
	) {
		for _, first := range []string{"## template: jinja\n#cloud-config\nruncmd:\n- ", "## template: jinja\n#ps1\n"} {
			kind := "cloud-config"
			if strings.Contains(first, "ps1") {
				kind = "powershell"
			}
			if kind == "powershell" && !strings.HasPrefix(name, "missing") && name != "variable" {
				continue
			}
			add(first+body+"\n", "template %s in %s", name, kind)
		}
	}
	for _, marker := range []string{
		"## template: jinja", "## template:jinja", "##template: jinja", "## TEMPLATE: JINJA", "## template: Jinja",
		"## template: mako", "## template: basic", "## template:", "# template: jinja", " ## template: jinja",
		"## template: jinja ", "## template: jinja2", "## template: jinja\r",
	} {
		add(marker+"\n#cloud-config\nruncmd: ['mark {{ local_hostname }}']\n", "marker %q", marker)
	}
}

// messages adds MIME messages.
func messages(add func(data, format string, a ...any)) {
	const config = "#cloud-config\nruncmd: [mark a]\n"
	for _, kind := range []string{"text/cloud-config", "text/x-shellscript", "text/plain", "text/cloud-boothook",
		"text/jinja2", "text/x-include-url", "text/x-cfninitdata", "application/octet-stream", "TEXT/CLOUD-CONFIG",
		"text/upstart-job"} {
		for name, body := range ordered("cloud-config", config, "batch", "rem cmd\nmark a\n", "powershell",
			"#ps1\nmark a\n", "template",
			"## template: jinja\n#cloud-config\nruncmd: ['mark {{ local_hostname }}']\n") {
			add(mixed(kind, "x.txt", body, "text/x-shellscript", "end.cmd", "mark end\n"), "mime %s with %s", kind, name)
		}
	}
	for _, file := range []string{"a.cmd", "a.CMD", "a.ps1", "a.PS1", "a.bat", "a.txt", "a", "", "a.sh", "a.py",
		"sub/a.cmd", "a.b.cmd", "a.exe"} {
		for name, body := range ordered("plain", "mark a\n", "batch", "rem cmd\nmark a\n", "powershell", "#ps1\nmark a\n") {
			add(mixed("text/x-shellscript", file, body, "text/x-shellscript", "end.cmd", "mark end\n"), "mime script %q of %s", file, name)
		}
	}
	part := "--b\nContent-Type: text/cloud-config\n\n" + config + "--b--\n"
	for name, data := range ordered(
		"plain part", "Content-Type: multipart/mixed; boundary=b\n\n"+part, "version",
		"Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n"+part, "lower case",
		"content-type: multipart/mixed; boundary=b\n\n"+part, "CRLF",
		strings.ReplaceAll("Content-Type: multipart/mixed; boundary=b\n\n"+part, "\n", "\r\n"), "line before",
		"\nContent-Type: multipart/mixed; boundary=b\n\n"+part,
		"no boundary", "Content-Type: multipart/mixed\n\n"+part, "other boundary",
		"Content-Type: multipart/mixed; boundary=c\n\n"+part, "alternative",
		"Content-Type: multipart/alternative; boundary=b\n\n"+part, "not closed",
		"Content-Type: multipart/mixed; boundary=b\n\n"+strings.TrimSuffix(part, "--b--\n"), "text before",
		"hello\nContent-Type: multipart/mixed; boundary=b\n\n"+part,
		"not ASCII",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/cloud-config; charset=utf-8\n\n"+
			"#cloud-config\nruncmd: [mark ä]\n--b--\n",
		"8bit",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/cloud-config\n"+
			"Content-Transfer-Encoding: 8bit\n\n#cloud-config\nruncmd: [mark ä]\n--b--\n",
		"quoted",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/cloud-config\n"+
			"Content-Transfer-Encoding: quoted-printable\n\n#cloud-config\nruncmd: [mark =61]\n--b--\n",
		"bad base64",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/cloud-config\n"+
			"Content-Transfer-Encoding: base64\n\n!!!\n--b--\n",
		"nested",
		"Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: multipart/mixed; boundary=b\n\n"+part+"\n--o--\n",
		"bad yaml first",
		mixed("text/cloud-config", "a", "#cloud-config\nx: [\n", "text/x-shellscript", "b.cmd", "mark b\n"),
		"reboot first",
		mixed("text/cloud-config", "a", "#cloud-config\nset_hostname: other\n", "text/x-shellscript", "b.cmd", "mark b\n"),
		"single part", "Content-Type: text/cloud-config\nMIME-Version: 1.0\n\n"+config,
	) {
		add(data, "mime %s", name)
	}
}

// mixed returns a MIME message of parts: their type, file name and body, in base64.
func mixed(parts ...string) string {
	var b strings.Builder
	b.WriteString("Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n")
	for i := 0; i+2 < len(parts); i += 3 {
		fmt.Fprintf(&b, "--b\nContent-Type: %s; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\n", parts[i])
		if parts[i+1] != "" {
			fmt.Fprintf(&b, "Content-Disposition: attachment; filename=\"%s\"\n", parts[i+1])
		}
		fmt.Fprintf(&b, "\n%s\n", base64.StdEncoding.EncodeToString([]byte(parts[i+2])))
	}
	b.WriteString("--b--\n")
	return b.String()
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // a write to a buffer does not fail
	_ = z.Close()
	return b.String()
}

func packed64(text string) string { return base64.StdEncoding.EncodeToString([]byte(packed(text))) }

// ordered returns a sequence of pairs, from alternating names and values, in their order.
func ordered(pairs ...string) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if !yield(pairs[i], pairs[i+1]) {
				return
			}
		}
	}
}
