package guest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

const header = "## template: jinja\n#cloud-config\n\n"

// join is a minimal document that makes the directory of kubeadm's success file and joins.
const join = header + "write_files:\n- path: /run/kubeadm/kubeadm-join-config.yaml\n  content: |\n" +
	"    name: '{{ ds.meta_data[\"local_hostname\"] }}'\n- path: /run/cluster-api/placeholder\n" +
	"  content: \"x\"\nruncmd:\n"

const joinCommand = "  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > " +
	"/run/cluster-api/bootstrap-success.complete\n"

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// want is the expected state of a booted guest. Empty fields are not compared.
type want struct {
	provisioned guest.Provisioned
	sentinel    bool
	exit        int
	boots       int
	message     string            // the status message contains it
	console     string            // the console contains it
	silent      string            // the console does not contain it
	logSilent   string            // the agent's own log does not contain it
	files       map[string]string // whole contents; "-" is none
}

func check(t *testing.T, g *guest.Guest, console string, w want) {
	t.Helper()
	s := g.Status()
	if w.provisioned != "" && s.Provisioned != w.provisioned {
		t.Errorf("provisioned is %s, want %s", s.Provisioned, w.provisioned)
	}
	if s.Sentinel != w.sentinel {
		t.Errorf("sentinel is %v, want %v", s.Sentinel, w.sentinel)
	}
	if s.ExitCode != w.exit {
		t.Errorf("exit code is %d, want %d", s.ExitCode, w.exit)
	}
	if w.boots != 0 && s.Boots != w.boots {
		t.Errorf("booted %d times, want %d", s.Boots, w.boots)
	}
	if !strings.Contains(s.Message, w.message) || (w.message == "" && w.exit == 0 && s.Message != "") {
		t.Errorf("message is %q, want %q", s.Message, w.message)
	}
	if !strings.Contains(console, w.console) {
		t.Errorf("the console lacks %q", w.console)
	}
	if w.silent != "" && strings.Contains(console, w.silent) {
		t.Errorf("the console has %q", w.silent)
	}
	if w.logSilent != "" {
		log := read(t, g, `C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init.log`)
		if !strings.Contains(log, "Plugins execution done") || strings.Contains(log, w.logSilent) {
			t.Errorf("the agent's log has %q or is not whole:\n%s", w.logSilent, log)
		}
	}
	for name, content := range w.files {
		host, err := g.Path(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := os.ReadFile(host)
		switch {
		case content == "-" && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s is there", name)
		case content != "-" && (err != nil || string(data) != content):
			t.Errorf("%s holds %q, %v; want %q", name, data, err, content)
		}
	}
	if t.Failed() {
		t.Logf("console:\n%s", console)
	}
}

func TestWindowsTraps(t *testing.T) {
	ready, failed := guest.ProvisionedReady, guest.ProvisionedFailed
	for _, c := range []struct {
		name, data string
		want       want
	}{
		{"a join", join + joinCommand, want{provisioned: ready, sentinel: true, files: map[string]string{
			`C:\run\kubeadm\kubeadm-join-config.yaml`: "name: 'c1-md-wi-abcde'\n", guest.Sentinel: "success \r\n",
		}}},
		{"no user data", "", want{provisioned: ready, console: "No user data"}},

		// The data and its formats.
		{"gzip is not undone", zip(join + joinCommand), want{provisioned: failed, message: "no header could be found"}},
		{"a byte order mark hides the first line", "\ufeff" + join + joinCommand, want{provisioned: ready, message: "byte order mark"}},
		{"a leading newline hides the first line", "\n#cloud-config\nruncmd:\n- kubeadm x\n",
			want{provisioned: ready, message: "blanks precede"}},
		{"a missing parent fails provisioning",
			header + "write_files:\n- path: c:/x\n  content: '{{ ds.meta.hostname }}'\n",
			want{provisioned: failed, message: "a parent of a variable", files: map[string]string{"c:/x": "-"}}},
		{"a missing variable reaches kubeadm", strings.ReplaceAll(join, "local_hostname", "local_ipv4") + joinCommand, want{
			provisioned: ready, exit: 1, console: "CI_MISSING_JINJA_VAR",
			files: map[string]string{`C:\run\kubeadm\kubeadm-join-config.yaml`: "name: 'CI_MISSING_JINJA_VAR/local_ipv4'\n"},
		}},
		{"vm_id is not there", header + "write_files:\n- path: c:/x\n  content: '{{ ds.meta_data.vm_id }}'\n",
			want{provisioned: ready, files: map[string]string{"c:/x": "CI_MISSING_JINJA_VAR/vm_id"}}},
		{"instance data at the top", header + "write_files:\n- path: c:/x\n  content: '{{ local_hostname }} {{ " +
			"v1.instance_id }} {{ ds.meta_data.hostname " +
			"}}'\n", want{provisioned: ready, files: map[string]string{"c:/x": "c1-md-wi-abcde i-1 c1-md-wi-abcde"}}},
		{"bash array length fails the template", join + "  - 'echo ${#a[@]}'\n" + joinCommand,
			want{provisioned: failed, message: "missing end of comment tag"}},
		{"another engine", "## template: mako\n#cloud-config\n", want{provisioned: ready, message: "its template engine is not jinja"}},
		{"the marker in capitals", strings.Replace(join, "template", "TEMPLATE", 1) + joinCommand,
			want{provisioned: ready, sentinel: true}},
		{"a batch script", "rem cmd\r\necho a>c:\\a.txt\r\nexit 5\r\n",
			want{provisioned: ready, exit: 5, message: "code 5", files: map[string]string{"c:/a.txt": "a\r\n"}}},
		{"a powershell script", "#ps1_sysnative\nSet-Content C:/a.txt hi\n",
			want{provisioned: ready, files: map[string]string{"c:/a.txt": "hi\r\n"}}},
		{"bash is not there", "#!/bin/bash\necho\n", want{provisioned: ready, message: "bash"}},
		{"EC2 blocks, codes added up", "<powershell>exit 3</powershell>\n<script>exit 4</script>",
			want{provisioned: ready, exit: 7, message: "code 7"}},
		{"a certificate", "-----BEGIN CERTIFICATE-----\nx\n", want{provisioned: ready, console: "X509"}},
		{"MIME without jinja", "Content-Type: multipart/mixed; boundary=X\n\n--X\nContent-Type: text/cloud-config\n\n" +
			strings.ReplaceAll(join+joinCommand, "'{{", "x{{") +
			"\n--X--\n", want{provisioned: ready, sentinel: true, files: map[string]string{
			`C:\run\kubeadm\kubeadm-join-config.yaml`: "name: x{{ ds.meta_data[\"local_hostname\"] }}'\n",
		}}},
		{"MIME script by extension, boothook and include skipped", "Content-Type: multipart/mixed; boundary=X\n" +
			"\n--X\nContent-Type: text/cloud-boothook\n\necho\n--X\nContent-Type: text/x-include-url\n\n" +
			"http://x\n--X\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=a.cmd\n" +
			"\necho b>c:\\b.txt\n" +
			"--X--\n", want{provisioned: ready, console: "boothook parts are not supported",
			files: map[string]string{"c:/b.txt": "b\r\n"}}},
		{"MIME swallows a part's error", "Content-Type: multipart/mixed; boundary=X\n\n--X\n" +
			"Content-Type: text/cloud-config\n\n#cloud-config\na: [\n" +
			"--X--\n", want{provisioned: ready, message: "no YAML"}},

		// The keys of cloud-config.
		{"YAML error fails provisioning", "#cloud-config\nwrite_files:\n- path: x\n content: [\n",
			want{provisioned: failed, message: "no YAML"}},
		{"unknown keys are errors that fail nothing", "#cloud-config\nbootcmd: [a]\nmounts: []\ndisk_setup: {}\n", want{
			provisioned: ready,
			console:     "ERROR cloudbaseinit.plugins.common.userdataplugins.cloudconfig [-] Plugin 'bootcmd' is currently not supported",
		}},
		{"fixed order: files before commands",
			"#cloud-config\nruncmd:\n- type C:\\a.txt\nwrite_files:\n- {path: 'C:/a.txt', content: here}\n",
			want{provisioned: ready, console: "here"}},
		{"a single map", "#cloud-config\nwrite_files: {path: /a/b.txt, content: x}\n",
			want{provisioned: ready, files: map[string]string{`C:\a\b.txt`: "x"}}},
		{"encodings", "#cloud-config\nwrite_files:\n- {path: /1, encoding: b64, content: " + b64("one") +
			"}\n- {path: /2, encoding: gz+base64, content: " + b64(zip("two")) +
			"}\n- {path: /3, encoding: rot13, content: three}\n- {path: /4, encoding: base64, content: '***'}\n",
			want{provisioned: ready, console: "unknown encoding type rot13",
				files: map[string]string{"/1": "one", "/2": "two", "/3": "three", "/4": ""}}},
		{"base64 with a newline at its end",
			"#cloud-config\nwrite_files:\n- path: /1\n  encoding: base64\n  content: |\n      " + b64("one") + "\n",
			want{provisioned: ready, files: map[string]string{"/1": "one"}}},
		{"append", "#cloud-config\nwrite_files:\n- {path: /1, content: a}\n- {path: 'c:\\1', content: b, " +
			"append: true}\n- {path: /1, content: c, append: false}\n- {path: C:/1, content: d, append: " +
			"true}\n", want{provisioned: ready, files: map[string]string{"/1": "cd"}}},
		{"line feeds stay", "#cloud-config\nwrite_files:\n- path: /1\n  content: |\n    a\n    b\n",
			want{provisioned: ready, files: map[string]string{"/1": "a\nb\n"}}},
		{"owner and defer are ignored",
			"#cloud-config\nwrite_files:\n- {path: /1, content: a, owner: 'nobody:x', defer: true}\n",
			want{provisioned: ready, files: map[string]string{"/1": "a"}}},
		{"no content is skipped", "#cloud-config\nwrite_files:\n- {path: /1}\n- {path: /2, content: b}\n", want{
			provisioned: ready, console: "lacks path or content", files: map[string]string{"/1": "-", "/2": "b"},
		}},
		{"a file that cannot be opened ends the list, not the keys",
			"#cloud-config\nwrite_files:\n- {path: 'C:/k', content: a}\n- {path: /2, content: b}\nruncmd:\n- echo ran>C:\\3\n",
			want{provisioned: ready, message: "not written", files: map[string]string{"/2": "-", "/3": "ran\r\n"}}},
		{"a directory that cannot be made skips its item",
			"#cloud-config\nwrite_files:\n- {path: 'Z:/x/1', content: a}\n- {path: /2, content: b}\n",
			want{provisioned: ready, console: "its directory cannot be made", files: map[string]string{"/2": "b"}}},
		{"read only",
			"#cloud-config\nwrite_files:\n- {path: /1, content: a, permissions: '0444'}\n- {path: /1, content: b}\n",
			want{provisioned: ready, message: "Access is denied", files: map[string]string{"/1": "a"}}},
		{"hostname reboots and replays all",
			"#cloud-config\nset_hostname: other.example.com\nruncmd:\n- echo x>>C:\\n.txt\n",
			want{provisioned: ready, boots: 3, files: map[string]string{"/n.txt": "x\r\nx\r\n"}}},
		{"unknown time zone", "#cloud-config\ntimezone: Mars/Phobos\n", want{provisioned: ready, message: "unrecognized timezone"}},
		{"the last of two keys counts", "#cloud-config\nruncmd: ['echo 1>C:\\1']\nruncmd: ['echo 2>C:\\2']\n",
			want{provisioned: ready, files: map[string]string{"/1": "-"}}},

		// Users.
		{"a hashed password skips the user", "#cloud-config\nusers:\n- {name: ops, passwd: " +
			"'$6$aaaaaaaaaaaaaaaaaaaaaaaa', ssh_authorized_keys: [k]}\n- {name: ops2, passwd: short, " +
			"ssh_authorized_keys: " +
			"[k]}\n", want{provisioned: ready, message: "at most 20", silent: "$6$", files: map[string]string{
			`C:\Users\ops\.ssh\authorized_keys`: "-", `C:\Users\ops2\.ssh\authorized_keys`: "k\n",
		}}},
		{"keys are written over",
			"#cloud-config\nusers:\n- {name: capi, ssh_authorized_keys: [a, b]}\n- {name: capi, ssh_authorized_keys: [c]}\n",
			want{provisioned: ready, files: map[string]string{`C:\Users\capi\.ssh\authorized_keys`: "c\n"}}},
		{"inactive with keys", "#cloud-config\nusers:\n- {name: ops, inactive: true, ssh_authorized_keys: [a]}\n", want{
			provisioned: ready, message: "inactive",
			files: map[string]string{`C:\Users\ops\.ssh\authorized_keys`: "-"},
		}},
		{"the VM's key does not arrive", "#cloud-config\nusers:\n- {name: capi, groups: Administrators}\n",
			want{provisioned: ready, files: map[string]string{`C:\Users\capi\.ssh\authorized_keys`: "-"}}},
		{"a name that is a path", "#cloud-config\nusers:\n- {name: '..\\..\\x', ssh_authorized_keys: [a]}\n",
			want{provisioned: ready, message: "is no user name"}},

		// The commands of runcmd.
		{"a list is joined without quotes", "#cloud-config\nruncmd:\n- [echo, 'a & echo b']\n",
			want{provisioned: ready, console: "\na \nb\n"}},
		{"a number fails it", "#cloud-config\nruncmd:\n- 5\n- echo a>C:\\1\n",
			want{provisioned: ready, message: "neither a string nor a list", files: map[string]string{"/1": "-"}}},
		{"a string is taken letter by letter", "#cloud-config\nruncmd: dir\n",
			want{provisioned: ready, exit: 9009, console: "'d' is not recognized"}},
		{"a failing command stops nothing", join + "  - powershell c:/create-external-network.ps1\n" + joinCommand,
			want{provisioned: ready, sentinel: true}},
		{"a .cmd without call ends it", "#cloud-config\nwrite_files:\n" +
			"- {path: 'C:/pre.cmd', content: 'echo pre'}\nruncmd:\n- C:\\pre.cmd\n" +
			"- echo after>C:\\1\n", want{provisioned: ready, console: "pre", files: map[string]string{"/1": "-"}}},
		{"percent must be doubled", "#cloud-config\nruncmd:\n- echo 5%x%%% >C:\\1\n",
			want{provisioned: ready, files: map[string]string{"/1": "5% \r\n"}}},
		{"secrets in commands are blotted out",
			"#cloud-config\nruncmd:\n- kubeadm join --token abcdef.0123456789abcdef x\n",
			want{provisioned: ready, silent: "0123456789abcdef", logSilent: "0123456789abcdef"}},

		// Exit codes.
		{"1001 in a script reboots once", "rem cmd\r\necho x>>C:\\n\r\nexit 1001\r\n",
			want{provisioned: ready, exit: 1001, boots: 2, files: map[string]string{"/n": "x\r\n"}}},
		{"1002 in a script does not reboot", "rem cmd\r\nexit 1002\r\n", want{provisioned: ready, exit: 1002, boots: 1}},
		{"1001 in runcmd replays once a marker is set",
			"#cloud-config\nruncmd:\n- if exist C:\\m exit 0\n- echo x>C:\\m\n- exit 1001\n",
			want{provisioned: ready, boots: 2, files: map[string]string{"/m": "x\r\n"}}},
		{"1003 without end times out", "#cloud-config\nruncmd:\n- exit 1003\n",
			want{provisioned: failed, exit: 1003, boots: 6, message: "provisioning times out"}},
		{"1002 in runcmd is lost", "#cloud-config\nruncmd:\n- exit 1002\n", want{provisioned: ready, exit: 1002, boots: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, console := boot(t, windows(t, []byte(c.data)))
			check(t, g, console, c.want)
		})
	}
}

func TestLinuxTraps(t *testing.T) {
	ready := guest.ProvisionedReady
	for _, c := range []struct {
		name, data string
		want       want
	}{
		{"a join", join + joinCommand, want{provisioned: ready, sentinel: true, files: map[string]string{
			guest.Sentinel: "success\n", "/run/kubeadm/kubeadm-join-config.yaml": "name: 'c1-md-0-abcde'\n",
		}}},
		{"no user data", "", want{provisioned: ready,
			files: map[string]string{"/home/capi/.ssh/authorized_keys": "ssh-ed25519 AAAA admin\n"}}},
		{"gzip is undone", zip(join + joinCommand), want{provisioned: ready, sentinel: true}},
		{"a leading newline is skipped", "\n" + join + joinCommand, want{provisioned: ready, sentinel: true}},
		{"a byte order mark is not", "\ufeff" + join + joinCommand, want{provisioned: ready, message: "unhandled user data"}},
		{"nothing known", "hello", want{provisioned: ready, message: "unhandled user data"}},
		{"bash array length: the whole document is lost, provisioning is not", join + "  - 'echo ${#a[@]}'\n" + joinCommand, want{
			provisioned: ready, message: "missing end of comment tag",
			files: map[string]string{"/run/cluster-api/placeholder": "-"},
		}},
		{"YAML error", "#cloud-config\na: [\n", want{provisioned: ready, message: "cannot be read"}},
		{"a missing variable reaches kubeadm", strings.ReplaceAll(join, "local_hostname", "nope") + joinCommand, want{
			provisioned: ready, exit: 1, message: "module scripts_user failed", console: "CI_MISSING_JINJA_VAR/nope",
		}},
		{"MIME with jinja", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=X\n\n--X\n" +
			"Content-Type: text/cloud-config\n\n" + join + joinCommand + "\n" +
			"--X\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=z.sh\n\n" +
			"#!/bin/bash\n[[ -f /run/cluster-api/bootstrap-success.complete ]] && echo last > /z\n" +
			"--X--\n", want{provisioned: ready, sentinel: true, files: map[string]string{"/z": "last\n"}}},
		{"no -e, and post commands run after a failure",
			join + "  - 'false'\n  - nope\n" + joinCommand + "  - 'echo post > /post'\n",
			want{provisioned: ready, sentinel: true, files: map[string]string{"/post": "post\n"}}},
		{"a failing post command keeps the sentinel",
			join + joinCommand + "  - nssm set kubelet start SERVICE_AUTO_START\n",
			want{provisioned: ready, sentinel: true, exit: 127, message: "scripts_user", console: "nssm: not found"}},
		{"a list is quoted", "#cloud-config\nruncmd:\n- [touch, /a b]\n", want{provisioned: ready, files: map[string]string{"/a b": ""}}},
		{"a number fails runcmd", "#cloud-config\nruncmd:\n- 5\n- touch /1\n",
			want{provisioned: ready, message: "module runcmd failed", files: map[string]string{"/1": "-"}}},
		{"a string fails runcmd", "#cloud-config\nruncmd: touch /1\n",
			want{provisioned: ready, message: "no list", files: map[string]string{"/1": "-"}}},
		{"document order does not count; bootcmd is first", "#cloud-config\nruncmd: [cat /etc/x >> /o]\n" +
			"bootcmd: [test -f /etc/x || echo early > /o]\nwrite_files:\n- {path: /etc/x, content: " +
			"file}\n", want{provisioned: ready, files: map[string]string{"/o": "early\nfile"}}},
		{"encodings", "#cloud-config\nwrite_files:\n- {path: /1, encoding: b64, content: " + b64("one") +
			"}\n- {path: /2, encoding: gzip+base64, content: " + b64(zip("two")) +
			"}\n", want{provisioned: ready, files: map[string]string{"/1": "one", "/2": "two"}}},
		{"append",
			"#cloud-config\nwrite_files:\n- {path: /1, content: a}\n- {path: /1, content: b, append: true}\n",
			want{provisioned: ready, files: map[string]string{"/1": "ab"}}},
		{"an unknown owner ends the module",
			"#cloud-config\nwrite_files:\n- {path: /1, content: a, owner: 'etcd:etcd'}\n- {path: /2, content: b}\nruncmd: [touch /3]\n",
			want{provisioned: ready, message: "unknown user or group", files: map[string]string{"/1": "a", "/2": "-", "/3": ""}}},
		{"a deferred file can have a user of the document", "#cloud-config\nusers: [default, {name: ops}]\n" +
			"write_files:\n- {path: /1, content: a, owner: 'ops:ops', defer: " +
			"true}\n", want{provisioned: ready, files: map[string]string{"/1": "a"}}},
		{"users without default lose the admin", "#cloud-config\nusers:\n- {name: ops, ssh_authorized_keys: [k]}\n", want{
			provisioned: ready, console: "capi is not made",
			files: map[string]string{"/home/ops/.ssh/authorized_keys": "k\n", "/home/capi/.ssh/authorized_keys": "-"},
		}},
		{"etcd disk", "#cloud-config\ndisk_setup:\n  /dev/disk/azure/scsi1/lun0: {table_type: gpt, layout: " +
			"true}\nfs_setup:\n- {label: etcd_disk, filesystem: ext4, device: /dev/disk/azure/scsi1/lun0}\n" +
			"mounts:\n- [LABEL=etcd_disk, /var/lib/etcddisk]\nruncmd: [test -d /var/lib/etcddisk && touch " +
			"/ok]\n", want{provisioned: ready, message: "no data disk with that LUN", files: map[string]string{"/ok": ""}}},
		{"a path cannot lead out", "#cloud-config\nwrite_files:\n- {path: /../../x, content: a}\n",
			want{provisioned: ready, files: map[string]string{"/x": "a"}}},
		{"the flannel MTU", header + "write_files:\n- {path: /etc/netplan/60-eth0.yaml, content: 'macaddress: " +
			"MACADDRESS'}\nruncmd:\n- mac=$(ip -o link | grep eth0 | grep ether | awk '{ print $17 }')\n- sed " +
			"-i -e \"s/MACADDRESS/${mac}/g\" /etc/netplan/60-eth0.yaml\n- netplan " +
			"apply\n", want{provisioned: ready, files: map[string]string{"/etc/netplan/60-eth0.yaml": "macaddress: 00:0d:3a:01:00:04"}}},
		{"other keys are named", "#cloud-config\npackages: [x]\n", want{provisioned: ready, console: "packages: simulated: no effect"}},
		{"a reboot does not run runcmd again",
			"#cloud-config\nbootcmd: [echo boot >> /b]\nruncmd: [echo run >> /r, reboot]\n",
			want{provisioned: ready, boots: 2, files: map[string]string{"/b": "boot\nboot\n", "/r": "run\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, console := boot(t, linux(t, []byte(c.data)))
			check(t, g, console, c.want)
		})
	}
}

func TestKubeadmFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		config guest.Config
		exit   int
	}{{"linux", linux(t, []byte(join+joinCommand)), 3}, {"windows", windows(t, []byte(join+joinCommand)), 3}} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Commands = map[string]guest.Command{"kubeadm": kubeadm(3)}
			g, console := boot(t, c.config)
			s := g.Status()
			if s.Phase != guest.PhaseFailed || s.Provisioned != guest.ProvisionedReady || s.Sentinel || s.ExitCode != 3 || s.Message == "" {
				t.Errorf("status is %+v\n%s", s, console)
			}
		})
	}
}

// TestBootstrapExtension runs the commands that CAPZ gives its extension.
func TestBootstrapExtension(t *testing.T) {
	const linuxLoop = "for i in $(seq 1 3); do test -f /run/cluster-api/bootstrap-success.complete && break; if " +
		"[ $i -eq 3 ]; then exit 1; else sleep 5; fi; done"
	const windowsLoop = `powershell.exe -Command "for ($i = 0; $i -lt 60; $i++) {if (Test-Path ` +
		`'C:\run\cluster-api\bootstrap-success.complete') {exit 0} else {Start-Sleep -Seconds 5}} exit -2"`
	for _, c := range []struct {
		name, loop string
		config     func(testing.TB, []byte) guest.Config
		absent     int
	}{{"linux", linuxLoop, linux, 1}, {"windows", windowsLoop, windows, -2}} {
		for _, doc := range []struct {
			name, data string
			want       int
		}{{"joined", join + joinCommand, 0}, {"not joined", "", c.absent}} {
			t.Run(c.name+" "+doc.name, func(t *testing.T) {
				config := c.config(t, []byte(doc.data))
				config.Clock = nil // the script sleeps, so the clock has to be the real one
				g, _ := boot(t, config)
				if code := g.Exec(t.Context(), c.loop, nil, nil, nil); code != doc.want {
					t.Errorf("the extension's command returned %d, want %d", code, doc.want)
				}
			})
		}
	}
}

// TestLaterBoots tests the boot of an existing guest in a second process.
func TestLaterBoots(t *testing.T) {
	data := []byte("#cloud-config\nruncmd: ['echo x>>/n']\n")
	for _, c := range []struct {
		name   string
		config guest.Config
		nl     string
	}{{"linux", linux(t, data), "\n"}, {"windows", windows(t, data), "\r\n"}} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 {
				g, _ := boot(t, c.config)
				if got := read(t, g, "/n"); got != "x"+c.nl {
					t.Errorf("runcmd wrote %q", got)
				}
				if s := g.Status(); s.Phase != guest.PhaseRunning || s.Provisioned != guest.ProvisionedReady {
					t.Errorf("status is %+v", s)
				}
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
			c.config.Machine.InstanceID = "i-2" // reimaged
			g, _ := boot(t, c.config)
			if got := read(t, g, "/n"); got != "x"+c.nl {
				t.Errorf("after a reimage runcmd wrote %q", got)
			}
		})
	}
}

// TestKilledBootIsReplayed kills a boot in the middle of kubeadm.
func TestKilledBootIsReplayed(t *testing.T) {
	for _, c := range []struct {
		name   string
		config guest.Config
	}{{"linux", linux(t, []byte(join+joinCommand))}, {"windows", windows(t, []byte(join+joinCommand))}} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c.config.Commands = map[string]guest.Command{"kubeadm": func(_ context.Context, p *guest.Process) int {
				if err := p.Guest.Root.WriteFile("/etc/kubernetes/half", nil, 0o600); err != nil {
					return p.Fail(1, "%v", err)
				}
				cancel()
				return 1
			}}
			g, err := guest.New(c.config)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Boot(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("boot ended with %v", err)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			c.config.Commands = map[string]guest.Command{"kubeadm": kubeadm(0)}
			again, console := boot(t, c.config)
			check(t, again, console, want{provisioned: guest.ProvisionedReady, sentinel: true,
				files: map[string]string{"/etc/kubernetes/half": "-"}})
		})
	}
}

func TestPathRefusesEscapes(t *testing.T) {
	for _, c := range []struct {
		name   string
		config guest.Config
		bad    []string
		links  map[string]string
	}{
		{"linux", linux(t, nil), []string{"/../x", "../../x", "/etc/../../x", "/tmp/up/x", "/tmp/up"},
			map[string]string{"/tmp/up": "../../../../../../../../../tmp"}},
		{"windows", windows(t, nil), []string{`C:\..\x`, "C:/../x", `Z:\x`, `C:\a:b`, `C:\a|b`, "/k/../../x", `\k\..\..\D`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := boot(t, c.config)
			for name, target := range c.links {
				at, err := g.Path("/tmp")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(target, at+"/"+strings.TrimPrefix(name, "/tmp/")); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range c.bad {
				if host, err := g.Path(p); err == nil {
					t.Errorf("%s maps to %s", p, host)
				}
			}
		})
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"/etc/passwd", `C:\k\..\..\x`, "//?/C:/x", "c:x", "..", "/./../", "C:", `\\server\share`, "/a/\x00b"} {
		f.Add(s)
	}
	var guests []*guest.Guest
	for _, c := range []guest.Config{linux(f, nil), windows(f, nil)} {
		g, _ := boot(f, c)
		guests = append(guests, g)
	}
	f.Fuzz(func(t *testing.T, p string) {
		for _, g := range guests {
			host, err := g.Path(p)
			if err != nil {
				continue
			}
			dir := g.Machine().Dir
			if host != dir && !strings.HasPrefix(host, dir+"/") || strings.Contains(host, "/../") {
				t.Errorf("%q maps to %q, outside of %s", p, host, dir)
			}
		}
	})
}

func FuzzBoot(f *testing.F) {
	for _, s := range []string{join + joinCommand, zip("#cloud-config\n"),
		"#cloud-config\nusers: 5\nruncmd: {}\nwrite_files: x\nntp: []\ngroups: {a: b}\n", "rem cmd\nexit 1",
		"Content-Type: multipart/mixed; boundary=X\n\n--X\n\n--X--"} {
		f.Add(s)
	}
	n := 0
	f.Fuzz(func(t *testing.T, data string) {
		if strings.Contains(data, "{%") || strings.Contains(data, "while") || strings.Contains(data, "until") ||
			strings.Contains(data, "for") {
			return // loops may be long
		}
		n++
		for _, c := range []guest.Config{linux(t, []byte(data)), windows(t, []byte(data))} {
			c.Machine.InstanceID = fmt.Sprint(n)
			g, err := guest.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Boot(t.Context()); err != nil {
				t.Errorf("%q: %v", data, err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
