package shell

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// refusedCode is the exit code of programs and options that are not simulated. A command that does not exist has the
// same code.
const refusedCode = 127

// Refuse reports that a part of the image is not simulated, and returns the exit code of a
// missing program. The machine stores the message, so that the boot names it.
func (p *Process) Refuse(format string, a ...any) int { return p.refuseAs(refusedCode, format, a...) }

// refuseAs refuses as Refuse does, with another exit code.
func (p *Process) refuseAs(code int, format string, a ...any) int {
	what := fmt.Sprintf(format, a...)
	p.Guest.Refused(what)
	return p.Fail(code, "casement does not simulate %s", what)
}

// name returns the name of the command without its folder.
func (p *Process) name() string { return path.Base(p.Args[0]) }

// noEffect accepts a command whose effect no guest needs, and marks it. It refuses a call that only prints
// information, because the output would be empty.
func noEffect(ctx context.Context, p *Process) int {
	if onlyAsks(p.name(), p.Args[1:]) {
		return p.Refuse("%s", strings.Join(append([]string{p.name()}, p.Args[1:min(2, len(p.Args))]...), " "))
	}
	return p.NoEffect(ctx, "%s", p.name())
}

// NoEffect marks that a call is accepted and does nothing, and returns 0. The mark is a line of the log that
// redirections of the script do not catch.
func (p *Process) NoEffect(ctx context.Context, format string, a ...any) int {
	what := fmt.Sprintf(format, a...)
	p.Guest.NoEffect(what)
	fmt.Fprintf(marksOf(ctx, p.Stderr), "%s: simulated: no effect\n", what)
	return 0
}

// marksOf returns the writer for marks during a script; outside of scripts it returns other.
func marksOf(ctx context.Context, other io.Writer) io.Writer {
	if l, some := ctx.Value(limitsKey{}).(limits); some && l.used.marks != nil {
		return l.used.marks
	}
	return other
}

// asking are the subcommands with which programs without effect print information, or change what a script reads.
// alone is set if the program does so without arguments.
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
	"fsutil":   {"query info fsinfo queryfreespace list file hardlink sparse", true},
	"w32tm":    {"/query /monitor /stripchart /tz", true},
	"certutil": {"-hashfile -dump -store -verify -encode -decode -urlcache", true}, "route": {"print", true}, "tzutil": {"/g /l /s", true},
	"powercfg": {"/q /query /l /list /a /getactivescheme", true}, "wevtutil": {"qe el gl gli query-events", true},
	"bcdedit":  {"/enum /v", true},
	"auditpol": {"/get /list", true}, "winrm": {"get g enumerate e enum id", false}, "compact": {"/q", true},
	"logman": {"query", true},
	"dism":   {"/get-features /get-featureinfo /get-packages /get-imageinfo /get-wiminfo", true},
}

// onlyAsks reports whether a script sees the output of a call.
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

// imagePrograms are programs that Ubuntu's image has and a guest does not simulate. A program in no table is not
// found, as in the image.
//
//go:embed image_programs.txt
var imagePrograms string

var onImage = strings.Fields(imagePrograms)
