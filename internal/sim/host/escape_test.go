package host

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
)

// TestContainersStayInside: a container whose folder or tree the guest has replaced by a link reads
// and writes nothing on this computer. The guest's own commands create the links, or the test
// creates them.
func TestContainersStayInside(t *testing.T) {
	const folder = "/var/lib/kubelet/pods/uid/containers/c"
	deep := "/deep" + strings.Repeat("/d", 30)
	up := strings.Repeat("../", 24)
	for name, c := range map[string]struct {
		script  string // a script in the guest
		planted bool   // the test creates the link from at's last element to the outside
		at      string // the guest's path that leads outside
	}{
		"a hard link of a link that was deep": {script: "mkdir -p " + deep + " " + folder + " && ln -s " + up + "OUT " + deep + "/l && ln " +
			deep + "/l /l; ln -s /l " + folder + "/rootfs || mv /l " + folder + "/rootfs"},
		"a hard link in its place": {script: "mkdir -p " + deep + " " + folder + " && ln -s " + up + "OUT " + deep + "/l && ln " +
			deep + "/l " + folder + "/rootfs"},
		"none":              {},
		"a planted tree":    {script: "mkdir -p " + folder, planted: true, at: folder + "/rootfs"},
		"a planted folder":  {script: "mkdir -p " + filepath.Dir(folder), planted: true, at: folder},
		"a planted journal": {script: "mkdir -p " + folder, planted: true, at: folder + "/services.json"},
	} {
		t.Run(name, func(t *testing.T) {
			n := testNode(t)
			n.vm.OS = guest.Linux
			outside := t.TempDir()
			secret := filepath.Join(outside, "secret")
			writeFile(t, secret, "of this computer")
			script := strings.ReplaceAll(c.script, "OUT", strings.TrimPrefix(outside, "/"))
			n.body.Exec(t.Context(), script, nil, io.Discard, io.Discard) // a refusal is a valid result
			if c.planted {
				target := outside
				if strings.HasSuffix(c.at, ".json") {
					target = secret
				}
				if err := os.Symlink(target, filepath.Join(n.home, "rootfs", c.at)); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			for _, command := range []string{"cat /etc/os-release", "cat /secret", "sh -c echo>/written", "ls /"} {
				_, err := n.exec(t.Context(), kubelet.ExecSpec{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}},
					Container: &corev1.Container{}, Folder: n.body.Machine().Root.Folder(folder), Command: strings.SplitN(command, " ", 3),
					Stdout: &out, Stderr: &out})
				if err != nil {
					out.WriteString(err.Error())
				}
			}
			if name == "none" && !strings.Contains(out.String(), "PRETTY_NAME") {
				t.Errorf("the container does not work: %s", &out)
			}
			if strings.Contains(out.String(), "of this computer") || strings.Contains(out.String(), "secret\n") {
				t.Errorf("the container reads %s", &out)
			}
			entries, err := os.ReadDir(outside)
			if err != nil || len(entries) != 1 {
				t.Errorf("this computer has %v (%v)", entries, err)
			}
			if data, err := os.ReadFile(secret); err != nil || string(data) != "of this computer" {
				t.Errorf("the file of this computer has %q (%v)", data, err)
			}
		})
	}
}
