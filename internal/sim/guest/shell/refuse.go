package shell

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// refusedCode is the exit code of programs and options that are not simulated, the one of a
// command that does not exist.
const refusedCode = 127

// Refuse reports that a part of the image is not simulated, and returns the exit code of a
// missing program. The machine stores the message, so that the boot names it.
func (p *Process) Refuse(format string, a ...any) int { return p.refuseAs(refusedCode, format, a...) }

// refuseAs refuses with the code that the program fails with.
func (p *Process) refuseAs(code int, format string, a ...any) int {
	what := fmt.Sprintf(format, a...)
	p.Guest.Refused(what)
	return p.Fail(code, "casement does not simulate %s", what)
}

// name returns the command's, without its folder.
func (p *Process) name() string { return path.Base(p.Args[0]) }

// noEffect accepts a command whose effect the guest has no use for, and says so. What only
// asks would give an empty answer, and is refused.
func noEffect(ctx context.Context, p *Process) int {
	if onlyAsks(p.name(), p.Args[1:]) {
		return p.Refuse("%s", strings.Join(append([]string{p.name()}, p.Args[1:min(2, len(p.Args))]...), " "))
	}
	return p.NoEffect(ctx, "%s", p.name())
}

// NoEffect marks that something of the guest is accepted and does nothing, and returns 0.
// The mark is a line of the log that no redirection of the script takes.
func (p *Process) NoEffect(ctx context.Context, format string, a ...any) int {
	what := fmt.Sprintf(format, a...)
	p.Guest.NoEffect(what)
	fmt.Fprintf(marksOf(ctx, p.Stderr), "%s: simulated: no effect\n", what)
	return 0
}

// marksOf returns the writer for marks during a script; outside of scripts it returns
// other.
func marksOf(ctx context.Context, other io.Writer) io.Writer {
	if l, some := ctx.Value(limitsKey{}).(limits); some && l.used.marks != nil {
		return l.used.marks
	}
	return other
}

// asking are the subcommands with which programs without effect only print information; alone is
// set where the program does so without arguments.
var asking = map[string]struct {
	words string
	alone bool
}{
	"blkid": {"", true}, "iptables-save": {"", true}, "mount": {"-l --list", true}, "swapon": {"-s --show --summary", true},
	"iptables": {"-L -S -C --list --list-rules --check", true}, "ip6tables": {"-L -S -C --list --list-rules --check", true},
	"nft": {"list", true}, "timedatectl": {"show status list-timezones", true},
	"localectl": {"status list-locales list-keymaps", true}, "passwd": {"-S --status", false},
	"fdisk": {"-l --list", false}, "parted": {"print -l", false}, "tune2fs": {"-l", false},
	"ufw": {"status show", false}, "chage": {"-l --list", false},
	"apt-mark": {"showhold showauto showmanual", false}, "udevadm": {"info", false}, "kill": {"-l -L -0", true},
	"wmic":     {"get list", true},
	"fsutil":   {"query info fsinfo queryfreespace list", true},
	"w32tm":    {"/query /monitor /stripchart /tz", true},
	"certutil": {"-hashfile -dump -store -verify -encode -decode -urlcache", true}, "route": {"print", true}, "tzutil": {"/g /l", true},
	"powercfg": {"/q /query /l /list /a /getactivescheme", true}, "wevtutil": {"qe el gl gli query-events", true},
	"bcdedit":  {"/enum /v", true},
	"auditpol": {"/get /list", true}, "winrm": {"get g enumerate e enum id", false}, "compact": {"/q", true},
	"logman": {"query", true}, "net1": {"", true},
	"dism": {"/get-features /get-featureinfo /get-packages /get-imageinfo /get-wiminfo", true},
}

// onlyAsks reports whether a call changes nothing and is made only for its answer.
func onlyAsks(name string, args []string) bool {
	if name == "sysctl" {
		return !slices.ContainsFunc(args, func(a string) bool {
			return strings.Contains(a, "=") || slices.Contains([]string{"-p", "-w", "--system", "--load", "--write"}, a)
		})
	}
	ask, known := asking[name]
	return known && (ask.alone && len(args) == 0 || slices.ContainsFunc(args, func(a string) bool {
		return slices.ContainsFunc(strings.Fields(ask.words),
			func(w string) bool { return a == w || strings.HasPrefix(w, "/") && strings.EqualFold(a, w) })
	}))
}

// onImage are programs that an image of Ubuntu has and a guest has not. One that is in
// no table is not found, as in the image.
var onImage = strings.Fields(`
	openssl python3 perl dpkg dpkg-query dpkg-reconfigure apt-cache apt-mark add-apt-repository snap lsblk lscpu
	lsmod lspci growpart resize2fs mkfs mkfs.xfs xfs_growfs
	file less more vi vim nano ed rsync git screen tmux strace lsof netstat traceroute host ethtool
	bridge tc conntrack ipset nft crontab at batch
	socat openvt setfacl getfacl chattr lsattr hexdump strings unexpand
	fmt pr renice script
	logrotate systemd-run systemd-analyze resolvectl networkctl busctl loginctl gpg gpgv iconv dc m4 make gcc
	zip unzip xz unxz bzip2 zstd factor numfmt
	gdisk sgdisk partprobe wipefs mdadm lvm pvcreate vgcreate lvcreate cryptsetup dmesg vmstat iostat top htop
	killall pkill su runuser visudo chsh
	update-alternatives update-grub unattended-upgrades waagent pro ssh ssh-keygen ssh-keyscan helm etcdctl
	mkfifo mknod zdiff zless pathchk look tput rename
	ipcalc sponge parallel pv units pinky last users stty mesg write ex
	nerdctl docker podman runc containerd
	addpart agetty apt-cdrom apt-config apt-key b2sum base32 basenc blkdiscard blockdev bunzip2 bzcat bzdiff bzgrep bzless chcon chcpu
	chfn choom chroot chrt clear col colcrt colrm ctstat delpart diff3 dir dircolors dnsdomainname domainname dpkg-deb dpkg-divert
	dpkg-statoverride dpkg-trigger faillog findfs findmnt free fsck fsfreeze fstrim fuser getopt gettext groupmod grpck gzexe hd hostid
	infocmp installkernel ipcs ifconfig lastlog link linux32 linux64 lnstat login logname losetup lslocks lslogins lsmem lsns mcookie
	mkswap mountpoint namei newgrp newusers ngettext nsenter nstat pgrep pidwait pivot_root pmap prlimit pstree ptx pwck rarp rename.ul
	rgrep rtcwake run-parts runcon savelog sdiff setarch setpriv setterm shred skill slabtop snice ss start-stop-daemon sum
	swaplabel systemd-ask-password systemd-cat systemd-cgls systemd-cgtop systemd-creds systemd-delta systemd-detect-virt systemd-escape
	systemd-id128 systemd-inhibit systemd-machine-id-setup systemd-mount systemd-notify systemd-path systemd-sysusers systemd-umount
	taskset tempfile tload tset tsort tty ul uncompress unshare utmpdump vdir vigr vipw w watch whereis who xzcat xzdiff xzgrep xzless
	zcmp zegrep zfgrep zforce zmore`)
