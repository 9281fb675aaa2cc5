package guest_test

import (
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"

	"casement.dev/casement/internal/sim/guest"
)

// flatcar returns a guest of Flatcar's own image with bootstrap data.
func flatcar(t *testing.T, data []byte) guest.Config {
	c := linux(t, data)
	c.Machine.Image = guest.Image{Name: "Flatcar Container Linux by Kinvolk 4230.2.1", Release: "4230.2.1",
		Build: "6.6.95-flatcar", KubernetesVersion: "v1.36.3", Ignition: true}
	return c
}

// TestIgnition boots the documents that the bootstrap provider renders for the format ignition.
func TestIgnition(t *testing.T) {
	in := &cloudinit.NodeInput{BaseUserData: base([]string{`sed -i "s/@@HOSTNAME@@/$(hostname)/g" /etc/kubeadm.yml`}, []string{
		"echo post > /post.txt",
	}), JoinConfiguration: "kind: JoinConfiguration\nnodeRegistration:\n  name: '@@HOSTNAME@@'"}
	in.Users = []bootstrapv1.User{{Name: "ops", SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA ops"}}}
	in.Mounts = []bootstrapv1.MountPoints{{"etcd_disk", "/var/lib/etcddisk"}}
	in.DiskSetup = &bootstrapv1.DiskSetup{Filesystems: []bootstrapv1.Filesystem{
		{Device: "/dev/disk/azure/scsi1/lun0", Filesystem: "ext4", Label: "etcd_disk", Overwrite: new(false)},
	}}
	data, _, err := ignition.NewNode(&ignition.NodeInput{NodeInput: in,
		Ignition: &bootstrapv1.IgnitionSpec{ContainerLinuxConfig: bootstrapv1.ContainerLinuxConfig{AdditionalConfig: `
systemd:
  units:
  - name: kubeadm.service
    dropins:
    - name: 10-flatcar.conf
      contents: |
        [Unit]
        After=containerd.service
  - name: locksmithd.service
    mask: true
storage:
  links:
  - path: /etc/extensions/kubernetes.raw
    target: /opt/extensions/kubernetes/kubernetes-v1.35.1-x86-64.raw
  files:
  - path: /opt/extensions/kubernetes/kubernetes-v1.35.1-x86-64.raw
    contents:
      remote:
        url: https://extensions.flatcar.org/extensions/kubernetes-v1.35.1-x86-64.raw
`}}})
	if err != nil {
		t.Fatal(err)
	}
	config := flatcar(t, data)
	config.Machine.DataDisks = []guest.DataDisk{{LUN: 0, SizeGB: 256}}
	g, console := boot(t, config)
	check(t, g, console, want{provisioned: guest.ProvisionedReady, sentinel: true, files: map[string]string{
		"/etc/kubernetes/azure.json": "{\n  \"cloud\": \"AzurePublicCloud\"\n}\n", "/post.txt": "post\n",
		"/home/ops/.ssh/authorized_keys": "ssh-ed25519 AAAA ops\n",
		"/tmp/kubeadm.yml":               "---\nkind: JoinConfiguration\nnodeRegistration:\n  name: 'c1-md-0-abcde'\n",
	}})
	for _, line := range []string{"merged kubernetes-v1.35.1-x86-64.raw", "is not fetched (simulated)",
		"made the mount point /var/lib/etcddisk", "locksmithd.service: simulated: no effect"} {
		if !strings.Contains(console, line) {
			t.Errorf("the console does not say %q:\n%s", line, console)
		}
	}
	if v := g.Machine().Image.KubernetesVersion; v != "v1.35.1" {
		t.Errorf("the extension brings Kubernetes %s", v)
	}
}

// TestIgnitionRefuses boots configs that leave a real machine in its emergency shell, and a script that fails.
func TestIgnitionRefuses(t *testing.T) {
	unit := func(exec string) string {
		return `{"ignition":{"version":"2.3.0"},"systemd":{"units":[{"name":"kubeadm.service","enabled":true,` +
			`"contents":"[Service]\nType=oneshot\nExecStart=` + exec + `\n[Install]\nWantedBy=multi-user.target\n"}]}}`
	}
	for _, c := range []struct {
		name, data string
		want       want
	}{
		{"a cloud-config", "#cloud-config\nruncmd: [ls]\n", want{message: "no Ignition config", provisioned: guest.ProvisionedFailed}},
		{"specification 3", `{"ignition":{"version":"3.3.0"}}`, want{message: "specification 2.x", provisioned: guest.ProvisionedFailed}},
		{"a missing disk",
			`{"ignition":{"version":"2.3.0"},"storage":{"disks":[{"device":"/dev/disk/azure/scsi1/lun7"}]}}`,
			want{message: "no data disk", provisioned: guest.ProvisionedFailed}},
		{"a fetched config",
			`{"ignition":{"version":"2.3.0","config":{"replace":{"source":"https://example.com/x.ign"}}}}`,
			want{message: "does not simulate", provisioned: guest.ProvisionedFailed}},
		{"a script that fails", unit("/bin/bash -c 'echo no domain >&2; exit 7'"),
			want{message: "status=7", provisioned: guest.ProvisionedReady, exit: 7}},
		{"one whose failure is allowed", unit("-/bin/false"), want{message: "", provisioned: guest.ProvisionedReady}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, console := boot(t, flatcar(t, []byte(c.data)))
			check(t, g, console, c.want)
		})
	}
}
