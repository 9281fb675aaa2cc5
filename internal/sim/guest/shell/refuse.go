package shell

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// refusedCode is the exit code of what is not simulated: that of a program that the
// image has not.
const refusedCode = 127

// Refuse says that something of the image is not simulated, and returns the exit code
// of a program that is missing. The machine keeps it, so that the boot names it.
func (p *Process) Refuse(format string, a ...any) int {
	what := fmt.Sprintf(format, a...)
	p.Guest.Refused(what)
	return p.Fail(refusedCode, "casement does not simulate %s", what)
}

// name is the command's, without its folder.
func (p *Process) name() string { return path.Base(strings.TrimPrefix(p.Args[0], own)) }

// noEffect accepts a command whose effect the guest has no use for, and says so.
func noEffect(_ context.Context, p *Process) int {
	p.Guest.NoEffect(p.name())
	return p.Fail(0, "%s: simulated: no effect", p.name())
}

// onImage are programs that an image of Ubuntu has and a guest has not. One that is in
// no table is not found, as in the image.
var onImage = strings.Fields(`
	openssl python3 perl dpkg dpkg-query dpkg-reconfigure apt-cache apt-mark add-apt-repository snap lsblk lscpu lsmod lspci growpart resize2fs mkfs mkfs.xfs xfs_growfs
	file less more vi vim nano ed rsync git screen tmux strace lsof netstat traceroute dig nslookup host ethtool bridge tc conntrack ipset nft crontab at batch
	socat openvt setfacl getfacl chattr lsattr dd od xxd hexdump strings split csplit join column expand unexpand fmt pr nice ionice renice setsid stdbuf script
	logrotate systemd-run systemd-analyze resolvectl networkctl busctl loginctl gpg gpgv iconv bc dc m4 make gcc zip unzip xz unxz bzip2 zstd shuf factor numfmt
	gdisk sgdisk partprobe wipefs mdadm lvm pvcreate vgcreate lvcreate cryptsetup dmesg vmstat iostat top htop killall pkill su runuser visudo chsh
	update-alternatives update-grub unattended-upgrades waagent pro ssh ssh-keygen ssh-keyscan helm etcdctl nerdctl docker podman runc containerd`)
