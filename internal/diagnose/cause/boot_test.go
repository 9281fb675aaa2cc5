package cause

import (
	"slices"
	"strings"
	"testing"
)

func TestReadBoot(t *testing.T) {
	for name, test := range map[string]struct {
		log     string
		failed  []string
		notes   int
		ended   bool
		explain string
	}{
		"nothing": {log: "guest: boots\n[preflight] Running pre-flight checks\n"},
		"named lines of the local plane": {
			log: "cat: /x: No such file\n" +
				"guest: runcmd: line 2 failed with code 1: cat /x: cat: /x: No such file\n" +
				"cloud-init[WARNING]: /var/lib/cloud/instance/scripts/runcmd exited with 1\n" +
				"cloud-init finished\n",
			failed: []string{"runcmd: line 2 failed with code 1: cat /x: cat: /x: No such file"}, notes: 1,
			ended: true, explain: "runcmd: line 2 failed with code 1: cat /x: cat: /x: No such file",
		},
		"cloud-init of a machine in Azure": {
			log: "the share is not there\n2026-01-01 10:00:00,000 - subp.py[WARNING]: Failed running " +
				"/var/lib/cloud/instance/scripts/runcmd [3]\nCloud-init v. 24.1 finished at Thu\n",
			failed: []string{"the script failed with code 3: the share is not there"}, notes: 1, ended: true,
			explain: "the script failed with code 3: the share is not there",
		},
		"cloudbase-init of a machine in Azure": {
			log: "C:\\Windows\\system32>powershell C:/x.ps1 \ndomain join failed\nAt C:\\x.ps1:1 char:1\n+ " +
				"throw\n    + FullyQualifiedErrorId : domain join failed\n2026-01-01 10:00:00.000 2024 INFO " +
				"cloudbaseinit.plugins.common.userdatautils [-] User_data script ended with return code: 1\n",
			failed: []string{"the script failed with code 1: domain join failed"}, notes: 1,
			explain: "the script failed with code 1: domain join failed",
		},
		"a command of a batch that goes on": {
			log: "C:\\Windows\\System32>powershell -Command \"throw 'no licence'\" \nno licence\nAt line:1 char:1\n    + CategoryInfo          : " +
				"OperationStopped: (no licence:String) [], RuntimeException\n\nC:\\Windows\\System32>exit /b 0\n2026-01-01 10:00:00.000 2024 " +
				"INFO cloudbaseinit.x [-] User_data script ended with return code: 0\n",
			failed: []string{"powershell -Command \"throw 'no licence'\": no licence"}, notes: 1,
		},
		"a script that asks for a restart": {
			log: "casement-gmsa: the machine has joined the domain, and restarts\n2026-01-01 10:00:00.000 2024 INFO cloudbaseinit.x [-] " +
				"User_data script ended with return code: 1003\n2026-01-01 10:01:00.000 2024 INFO cloudbaseinit.x [-] " +
				"User_data script ended with return code: 0\n",
		},
		"a script that succeeded": {
			log: "2026-01-01 10:00:00.000 2024 INFO cloudbaseinit.x [-] User_data script ended with return code: 0\n",
		},
		"marks": {log: "modprobe: simulated: no effect\nmodprobe: simulated: no effect\n" +
			"cloud-init[WARNING]: packages: simulated: no effect\n" +
			"2026-01-01 10:00:00.000 2024 WARNING cloudbaseinit.x [-] ntp: simulated: no effect\n" +
			"casement does not simulate openssl\n", notes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(test.log, "\n")
			b := ReadBoot(lines)
			if !slices.Equal(b.Failed, test.failed) || len(b.Notes()) != test.notes || b.Ended != test.ended {
				t.Errorf("got %q, ended %v, notes %q", b.Failed, b.Ended, b.Notes())
			}
			c, line, found := Last(Guest, lines)
			if found != (test.explain != "") {
				t.Fatalf("the cause is %q", c.Name)
			}
			if line = b.Explain(c, line); line != test.explain || found && c.Name != CommandFailed {
				t.Errorf("%s is explained by %q", c.Name, line)
			}
		})
	}
	if b := ReadBoot([]string{
		"modprobe: simulated: no effect", "cloud-init[WARNING]: packages: simulated: no effect",
	}); !slices.Equal(b.NoEffect, []string{"modprobe", "packages"}) {
		t.Errorf("no effect: %q", b.NoEffect)
	}
}

// TestComplaints: a program that failed in cloud-init's script is noted, although the script continues and kubeadm
// succeeds; messages of kubeadm and the agent themselves are not.
func TestComplaints(t *testing.T) {
	log := strings.Split(`cloud-init[INFO]: user capi: cannot be found, and is made
cloud-init[INFO]: running /var/lib/cloud/instance/scripts/casement-apply.sh
Failed to restart corp-proxy.service: Unit corp-proxy.service not found.
cat: /etc/corp/proxy.env: No such file or directory
Selecting previously unselected package nfs-common.
[preflight] Running pre-flight checks
open /etc/x: No such file or directory
This node has joined the cluster:`, "\n")
	notes := ReadBoot(log).Notes()
	if len(notes) != 2 || !strings.Contains(notes[0], "corp-proxy") || !strings.Contains(notes[1], "proxy.env") || Harmless(notes[0]) {
		t.Errorf("got %q", notes)
	}
	if notes := ReadBoot(slices.DeleteFunc(log, func(line string) bool { return strings.Contains(line, "corp") })).Notes(); len(notes) > 0 {
		t.Errorf("of nothing: %q", notes)
	}
}

// TestRepeated: an error that is repeated at the end of a log is the reason why its machine waits.
func TestRepeated(t *testing.T) {
	const failed = `level=ERROR msg="Unable to register node" err="x"`
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"again":           {[]string{"a", failed, failed, failed, ""}, failed},
		"once":            {[]string{"a", failed}, ""},
		"over":            {[]string{failed, failed, failed, "level=INFO msg=x"}, ""},
		"different, once": {[]string{failed, `level=ERROR msg="another"`, failed}, ""},
	} {
		if got := Repeated(test.lines); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
