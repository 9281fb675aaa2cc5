package guest_test

import (
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"

	"casement.dev/casement/internal/sim/guest"
)

// base returns the cloud-init data of a KubeadmConfig as the documented templates have it.
func base(pre, post []string) cloudinit.BaseUserData {
	return cloudinit.BaseUserData{
		PreKubeadmCommands: pre, PostKubeadmCommands: post,
		AdditionalFiles: []bootstrapv1.File{{Path: "/etc/kubernetes/azure.json", Owner: "root:root",
			Permissions: "0644", Content: "{\n  \"cloud\": \"AzurePublicCloud\"\n}"}},
	}
}

// TestRendered boots documents that the bootstrap provider itself renders, for every role.
func TestRendered(t *testing.T) {
	initData := &cloudinit.ControlPlaneInput{
		BaseUserData: base(nil, nil), ClusterConfiguration: "kind: ClusterConfiguration\nclusterName: c1",
		InitConfiguration: "kind: InitConfiguration\nnodeRegistration:\n  name: '{{ ds.meta_data[\"local_hostname\"] }}'",
	}
	initData.BootCommands = []string{`echo "boot" > /boot.txt`}
	initData.Mounts = []bootstrapv1.MountPoints{{"LABEL=etcd_disk", "/var/lib/etcddisk"}}
	initData.DiskSetup = &bootstrapv1.DiskSetup{
		Partitions: []bootstrapv1.Partition{
			{Device: "/dev/disk/azure/scsi1/lun0", Layout: new(true), Overwrite: new(false), TableType: "gpt"},
		},
		Filesystems: []bootstrapv1.Filesystem{{Device: "/dev/disk/azure/scsi1/lun0", Filesystem: "ext4",
			Label: "etcd_disk", ExtraOpts: []string{"-E", "lazy_itable_init=1"}}},
	}
	joinData := &cloudinit.ControlPlaneJoinInput{
		BaseUserData: base(nil, nil), JoinConfiguration: "kind: JoinConfiguration\ncontrolPlane: {}",
	}
	node := &cloudinit.NodeInput{BaseUserData: base([]string{
		`mac=$(ip -o link | grep eth0 | grep ether | awk '{ print $17 }')`, `echo "$mac" > /mac`,
	}, nil), JoinConfiguration: "kind: JoinConfiguration"}
	node.NTP = &bootstrapv1.NTP{Enabled: new(true), Servers: []string{"time.windows.com"}}
	win := &cloudinit.NodeInput{BaseUserData: base([]string{"powershell C:/create-external-network.ps1"}, []string{
		"nssm set kubelet start SERVICE_AUTO_START", "powershell C:/defender-exclude-calico.ps1",
	}), JoinConfiguration: "kind: JoinConfiguration\nnodeRegistration:\n" +
		"  criSocket: npipe:////./pipe/containerd-containerd\n" +
		"  name: '{{ ds.meta_data[\"local_hostname\"] }}'"}
	win.AdditionalFiles = append(win.AdditionalFiles,
		bootstrapv1.File{Path: "C:/create-external-network.ps1", Permissions: "0744", Content: "ipmo " +
			"C:\\k\\debug\\hns.psm1;\nNew-HnsNetwork -Type Overlay -AddressPrefix \"192.168.255.0/30\" " +
			"-Gateway \"192.168.255.1\" -Name \"External\" -AdapterName \"Ethernet 2\" -SubnetPolicies " +
			"@(@{Type = \"VSID\"; VSID = 9999; })"},
		bootstrapv1.File{Path: "C:/defender-exclude-calico.ps1", Permissions: "0744",
			Content: "Add-MpPreference -ExclusionProcess C:/opt/cni/bin/calico.exe"})
	win.Users = []bootstrapv1.User{{Name: "capi", Groups: "Administrators", SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA ops"}}}

	render := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, c := range []struct {
		name   string
		config guest.Config
		files  map[string]string
	}{
		{"init", linux(t, render(cloudinit.NewInitControlPlane(initData))), map[string]string{
			"/run/kubeadm/kubeadm.yaml": "---\nkind: ClusterConfiguration\nclusterName: c1\n---\n" +
				"kind: InitConfiguration\nnodeRegistration:\n  name: 'c1-md-0-abcde'\n",
			"/boot.txt": "boot\n", "/etc/fstab": "LABEL=etcd_disk\t/var/lib/etcddisk\tauto\tdefaults,nofail,comment=cloudconfig\t0\t2\n"}},
		{
			"control plane join", linux(t, render(cloudinit.NewJoinControlPlane(joinData))),
			map[string]string{"/run/kubeadm/kubeadm-join-config.yaml": "kind: JoinConfiguration\ncontrolPlane: {}\n"},
		},
		{"linux join", linux(t, render(cloudinit.NewNode(node))), map[string]string{"/mac": "00:0d:3a:01:00:04\n",
			"/etc/systemd/timesyncd.conf.d/cloud-init.conf": "[Time]\nNTP=time.windows.com\n"}},
		{"windows join", windows(t, render(cloudinit.NewNode(win))), map[string]string{
			`C:\run\kubeadm\kubeadm-join-config.yaml`: "---\nkind: JoinConfiguration\nnodeRegistration:\n" +
				"  criSocket: npipe:////./pipe/containerd-containerd\n  name: 'c1-md-wi-abcde'\n",
			`C:\Users\capi\.ssh\authorized_keys`: "ssh-ed25519 AAAA ops\n",
			`C:\etc\kubernetes\azure.json`:       "{\n  \"cloud\": \"AzurePublicCloud\"\n}\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Machine.DataDisks = []guest.DataDisk{{LUN: 0, SizeGB: 256}}
			g, console := boot(t, c.config)
			check(t, g, console, want{provisioned: guest.ProvisionedReady, sentinel: true, files: c.files})
			if strings.Contains(console, "not recognized") {
				t.Errorf("a command of the templates is not known:\n%s", console)
			}
		})
	}
}
