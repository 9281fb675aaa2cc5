package shell

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longestSleep bounds what sleeping costs: a guest's waits are for things that
// have happened already.
const longestSleep = 20 * time.Millisecond

func linuxCommands() Table {
	ok := func(context.Context, *Process) int { return 0 }
	t := Table{
		"cat": cat, "mkdir": mkdir, "rm": remove, "cp": copyFiles, "mv": move, "ln": link, "ls": list, "touch": touch, "sed": sed, "grep": grep, "tee": tee,
		"chmod": chmod, "chown": ok, "chgrp": ok, "sleep": sleep, "hostname": hostname, "hostnamectl": hostnamectl, "whoami": whoami, "id": id, "uname": uname,
		"date": date, "env": env, "which": which, "sudo": sudo, "sh": runSh, "bash": runSh, "dash": runSh, "timeout": timeout, "head": head, "tail": tail, "wc": wc,
		"seq": seq, "basename": basename, "dirname": dirname, "systemctl": systemctl, "journalctl": journalctl, "ip": ip, "netplan": netplan, "awk": awk, "cut": cut, "tr": tr,
		"sort": sortLines, "ps": ps, "uptime": uptime, "df": df, "find": find, "readlink": readlink, "cloud-init": cloudInit, "reboot": reboot, "shutdown": reboot, "mktemp": mktemp,
		"crictl": quiet("crictl"), "ctr": quiet("ctr"), "kubelet": quiet("kubelet"),
		"curl": refuseNetwork(6), "wget": refuseNetwork(4), "apt-get": refuseNetwork(100), "apt": refuseNetwork(100), "ping": refuseNetwork(1), "nc": refuseNetwork(1),
	}
	for _, name := range []string{"sync", "modprobe", "sysctl", "swapoff", "swapon", "mount", "umount", "iptables", "ip6tables", "update-ca-certificates", "ufw", "setenforce", "apparmor_parser", "ldconfig", "logger", "udevadm", "timedatectl", "passwd", "chpasswd", "usermod", "mkfs.ext4", "fdisk", "parted", "blkid"} {
		t[name] = noEffect
	}
	return t
}

// noEffect accepts a command whose effect the guest has no use for, and says so.
func noEffect(_ context.Context, p *Process) int {
	return p.Fail(0, "%s: simulated: no effect", p.Args[0])
}

// quiet refuses a program that only a real node can answer for.
func quiet(name string) Command {
	return func(_ context.Context, p *Process) int {
		if p.Arg(1) == "--version" || p.Arg(1) == "version" {
			p.Printf("%s simulated (Kubernetes %s, %s %s)\n", name, p.Guest.Image.KubernetesVersion, p.Guest.Image.Runtime, p.Guest.Image.RuntimeVersion)
			return 0
		}
		return p.Fail(1, "%s: this guest is simulated: there is no container runtime in it", name)
	}
}

// refuseNetwork refuses a download with the code that the program has for it.
func refuseNetwork(code int) Command {
	return func(_ context.Context, p *Process) int {
		return p.Fail(code, "%s: this guest is simulated and downloads nothing", p.Args[0])
	}
}

// operands splits one-letter and long options from the rest.
func operands(args []string) (flags string, rest []string) {
	for i, a := range args {
		switch {
		case a == "--":
			return flags, append(rest, args[i+1:]...)
		case strings.HasPrefix(a, "--"):
			flags += " " + a
		case strings.HasPrefix(a, "-") && a != "-":
			flags += a[1:]
		default:
			rest = append(rest, a)
		}
	}
	return flags, rest
}

// failed reports err as coreutils do and returns 1.
func (p *Process) failed(name string, err error) int {
	return p.Fail(1, "%s: %s: %s", p.Args[0], name, reason(err))
}

func reason(err error) string {
	switch {
	case isErr(err, fs.ErrNotExist):
		return "No such file or directory"
	case isErr(err, fs.ErrExist):
		return "File exists"
	case isErr(err, fs.ErrPermission):
		return "Permission denied"
	}
	if pe, ok := asPathError(err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

func cat(_ context.Context, p *Process) int {
	_, files := operands(p.Args[1:])
	code := 0
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			code = p.failed(f, err)
			continue
		}
		p.Stdout.Write(data)
	}
	return code
}

func orStdin(files []string) []string {
	if len(files) == 0 {
		return []string{"-"}
	}
	return files
}

// read returns a file's content, or standard input for "-". It knows the few
// files of /proc and /sys that scripts ask for.
func (p *Process) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(p.Stdin, 64<<20))
	}
	switch file := p.Abs(name); file {
	case "/sys/class/net/eth0/address":
		return []byte(p.Guest.MAC() + "\n"), nil
	case "/proc/uptime":
		return []byte("60.00 60.00\n"), nil
	case "/dev/null":
		return nil, nil
	default:
		return p.Guest.Root.ReadFile(file)
	}
}

func mkdir(_ context.Context, p *Process) int {
	flags, dirs := operands(p.Args[1:])
	for i := 0; i < len(dirs); i++ {
		if strings.HasSuffix(flags, "m") && i == 0 && len(dirs) > 1 && isMode(dirs[0]) {
			continue
		}
		d := p.Abs(dirs[i])
		parents := strings.Contains(flags, "p") || strings.Contains(flags, "--parents")
		if !parents {
			if p.Guest.Root.Exists(d) {
				return p.Fail(1, "mkdir: cannot create directory '%s': File exists", dirs[i])
			}
			if !p.Guest.Root.IsDir(path.Dir(d)) {
				return p.Fail(1, "mkdir: cannot create directory '%s': No such file or directory", dirs[i])
			}
		}
		if err := p.Guest.Root.MkdirAll(d); err != nil {
			return p.failed(dirs[i], err)
		}
	}
	return 0
}

func isMode(s string) bool { _, err := strconv.ParseUint(s, 8, 12); return err == nil }

func remove(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	force, recursive := strings.Contains(flags, "f"), strings.ContainsAny(flags, "rR")
	for _, f := range files {
		name := p.Abs(f)
		info, err := p.Guest.Root.Lstat(name)
		if err != nil {
			if force {
				continue
			}
			return p.failed(f, err)
		}
		if info.IsDir() && !recursive {
			return p.Fail(1, "rm: cannot remove '%s': Is a directory", f)
		}
		if err := p.Guest.Root.RemoveAll(name); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func copyFiles(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "cp: missing file operand")
	}
	to := p.Abs(args[len(args)-1])
	for _, f := range args[:len(args)-1] {
		from, target := p.Abs(f), to
		if p.Guest.Root.IsDir(to) {
			target = path.Join(to, path.Base(from))
		}
		if p.Guest.Root.IsDir(from) && !strings.ContainsAny(flags, "rRa") {
			return p.Fail(1, "cp: -r not specified; omitting directory '%s'", f)
		}
		if err := copyTree(p, from, target, 0); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func copyTree(p *Process, from, to string, depth int) error {
	root := p.Guest.Root
	info, err := root.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		data, err := p.read(from)
		if err != nil {
			return err
		}
		return root.WriteFile(to, data, info.Mode().Perm())
	}
	if depth > 64 {
		return fmt.Errorf("%s: the tree is too deep", from)
	}
	if err := root.MkdirAll(to); err != nil {
		return err
	}
	entries, err := root.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyTree(p, root.Abs(from, e.Name()), root.Abs(to, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func move(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "mv: missing file operand")
	}
	to := p.Abs(args[len(args)-1])
	for _, f := range args[:len(args)-1] {
		from, target := p.Abs(f), to
		if p.Guest.Root.IsDir(to) {
			target = p.Guest.Root.Abs(to, path.Base(strings.ReplaceAll(from, `\`, "/")))
		}
		if err := p.Guest.Root.Rename(from, target); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func link(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) < 2 || !strings.Contains(flags, "s") {
		return p.Fail(1, "ln: only symbolic links are simulated")
	}
	name := p.Abs(args[1])
	if strings.Contains(flags, "f") {
		_ = p.Guest.Root.Remove(name) // it need not be there
	}
	if err := p.Guest.Root.Symlink(args[0], name); err != nil {
		return p.failed(args[1], err)
	}
	return 0
}

func readlink(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	for _, a := range args {
		p.Printf("%s\n", p.Abs(a))
	}
	return 0
}

func list(_ context.Context, p *Process) int {
	flags, names := operands(p.Args[1:])
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	for _, n := range names {
		dir := p.Abs(n)
		info, err := p.Guest.Root.Stat(dir)
		if err != nil {
			code = p.Fail(2, "ls: cannot access '%s': %s", n, reason(err))
			continue
		}
		infos := []fs.FileInfo{info}
		if info.IsDir() && !strings.Contains(flags, "d") {
			infos = nil
			entries, err := p.Guest.Root.ReadDir(dir)
			if err != nil {
				code = p.failed(n, err)
				continue
			}
			for _, e := range entries {
				if i, err := e.Info(); err == nil && (strings.ContainsAny(flags, "aA") || !strings.HasPrefix(e.Name(), ".")) {
					infos = append(infos, i)
				}
			}
		}
		for _, i := range infos {
			name := i.Name()
			if !info.IsDir() {
				name = n
			}
			if strings.Contains(flags, "l") {
				p.Printf("%s 1 root root %8d %s %s\n", i.Mode(), i.Size(), i.ModTime().UTC().Format("Jan _2 15:04"), name)
			} else {
				p.Printf("%s\n", name)
			}
		}
	}
	return code
}

func touch(_ context.Context, p *Process) int {
	_, files := operands(p.Args[1:])
	for _, f := range files {
		if err := p.Guest.Root.AppendFile(p.Abs(f), nil, 0o644); err != nil {
			return p.Fail(1, "touch: cannot touch '%s': %s", f, reason(err))
		}
	}
	return 0
}

func tee(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	p.Stdout.Write(data)
	for _, f := range files {
		write := p.Guest.Root.WriteFile
		if strings.Contains(flags, "a") {
			write = p.Guest.Root.AppendFile
		}
		if err := write(p.Abs(f), data, 0o644); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

func chmod(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "chmod: missing operand")
	}
	for _, f := range args[1:] {
		info, err := p.Guest.Root.Stat(p.Abs(f))
		if err != nil {
			return p.Fail(1, "chmod: cannot access '%s': %s", f, reason(err))
		}
		mode := info.Mode().Perm()
		if n, err := strconv.ParseUint(args[0], 8, 12); err == nil {
			mode = fs.FileMode(n)
		} else if strings.Contains(args[0], "+x") {
			mode |= 0o111
		}
		if err := p.Guest.Root.Chmod(p.Abs(f), mode|0o600); err != nil { // the simulator itself must read it
			return p.failed(f, err)
		}
	}
	return 0
}

// sleep waits as long as asked for, but not long.
func sleep(ctx context.Context, p *Process) int {
	if len(p.Args) < 2 {
		return p.Fail(1, "sleep: missing operand")
	}
	d, err := time.ParseDuration(p.Args[1])
	if err != nil {
		if d, err = time.ParseDuration(p.Args[1] + "s"); err != nil {
			return p.Fail(1, "sleep: invalid time interval '%s'", p.Args[1])
		}
	}
	return pause(ctx, p, d)
}

func pause(ctx context.Context, p *Process, d time.Duration) int {
	select {
	case <-ctx.Done():
		return 143
	case <-p.Guest.Clock.After(min(d, longestSleep)):
		return 0
	}
}

func timeout(ctx context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(125, "timeout: missing operand")
	}
	return p.shell.child(ctx, p, args[1:])
}

func sudo(ctx context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) == 0 {
		return 0
	}
	at := slices.Index(p.Args, args[0])
	return p.shell.child(ctx, p, p.Args[at:])
}

// child runs args with p's streams.
func (s *Shell) child(ctx context.Context, p *Process, args []string) int {
	c := *p
	c.Args = args
	return s.launch(ctx, &c, "sh: 1")
}

// runSh is sh, dash and bash: -c SCRIPT, a file, or standard input.
func runSh(ctx context.Context, p *Process) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Name: p.Args[0]}
	run := p.shell.Sh
	if path.Base(p.Args[0]) == "bash" {
		run = p.shell.Bash
	}
	args := p.Args[1:]
	prefix := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		if strings.Contains(flag, "e") && !strings.HasPrefix(flag, "--") {
			prefix += "set -e\n"
		}
		if strings.HasSuffix(flag, "c") && !strings.HasPrefix(flag, "--") {
			if len(args) == 0 {
				return p.Fail(2, "%s: -c: option requires an argument", p.Args[0])
			}
			if len(args) > 1 {
				o.Name, o.Args = args[1], args[2:]
			}
			return run(ctx, prefix+args[0], o)
		}
	}
	if len(args) > 0 {
		data, err := p.Guest.Root.ReadFile(p.Abs(args[0]))
		if err != nil {
			return p.Fail(127, "%s: %s: %s", p.Args[0], args[0], reason(err))
		}
		o.Name, o.Args = args[0], args[1:]
		return run(ctx, prefix+string(data), o)
	}
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	o.Stdin = nil
	return run(ctx, prefix+string(data), o)
}

func which(_ context.Context, p *Process) int {
	code := 0
	for _, n := range p.Args[1:] {
		if p.shell.find(n) == nil {
			code = 1
			continue
		}
		p.Printf("/usr/bin/%s\n", n)
	}
	return code
}

// sed does s/// with g and i, -e, -i, -E and -n not.
func sed(_ context.Context, p *Process) int {
	var scripts, files []string
	inPlace, extended := false, false
	args := p.Args[1:]
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-e" && i+1 < len(args):
			i++
			scripts = append(scripts, args[i])
		case strings.HasPrefix(a, "-i"), a == "--in-place":
			inPlace = true
		case a == "-E", a == "-r":
			extended = true
		case strings.HasPrefix(a, "-") && a != "-":
			return p.Fail(1, "sed: option %s is not simulated", a)
		case len(scripts) == 0 && len(files) == 0:
			scripts = append(scripts, a)
		default:
			files = append(files, a)
		}
	}
	var edits []func(string) string
	for _, sc := range scripts {
		edit, err := substitution(sc, extended)
		if err != nil {
			return p.Fail(1, "sed: %v", err)
		}
		edits = append(edits, edit)
	}
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "sed: can't read %s: %s", f, reason(err))
		}
		lines := strings.SplitAfter(string(data), "\n")
		for i, line := range lines {
			body, nl := strings.CutSuffix(line, "\n")
			for _, edit := range edits {
				body = edit(body)
			}
			if nl {
				body += "\n"
			}
			lines[i] = body
		}
		out := strings.Join(lines, "")
		if !inPlace {
			p.Printf("%s", out)
		} else if err := p.Guest.Root.WriteFile(p.Abs(f), []byte(out), 0o644); err != nil {
			return p.failed(f, err)
		}
	}
	return 0
}

// substitution understands one s command.
func substitution(script string, extended bool) (func(string) string, error) {
	if len(script) < 2 || script[0] != 's' {
		return nil, fmt.Errorf("only s/// is simulated, not %q", script[:min(1, len(script))])
	}
	sep := script[1:2]
	parts := strings.Split(script[2:], sep)
	if len(parts) != 3 {
		return nil, fmt.Errorf("-e expression #1: unterminated `s' command")
	}
	pattern, to, flags := parts[0], parts[1], parts[2]
	if !extended {
		pattern = basicToExtended(pattern)
	}
	if strings.Contains(strings.ToLower(flags), "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-e expression #1: %w", err)
	}
	to = regexp.MustCompile(`\\([1-9])`).ReplaceAllString(strings.ReplaceAll(to, "$", "$$"), "$${$1}")
	to = strings.ReplaceAll(to, "&", "${0}")
	return func(line string) string {
		if strings.Contains(flags, "g") {
			return re.ReplaceAllString(line, to)
		}
		at := re.FindStringSubmatchIndex(line)
		if at == nil {
			return line
		}
		return line[:at[0]] + string(re.ExpandString(nil, to, line, at)) + line[at[1]:]
	}, nil
}

// basicToExtended swaps the roles of a basic expression's escaped operators.
func basicToExtended(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if !strings.ContainsRune("(){}+?|", rune(s[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case strings.ContainsRune("(){}+?|", rune(s[i])):
			b.WriteByte('\\')
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func grep(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) == 0 {
		return p.Fail(2, "grep: no pattern")
	}
	pattern := args[0]
	switch {
	case strings.Contains(flags, "F"):
		pattern = regexp.QuoteMeta(pattern)
	case !strings.Contains(flags, "E"):
		pattern = basicToExtended(pattern)
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return p.Fail(2, "grep: invalid pattern")
	}
	code, count := 1, 0
	for _, f := range orStdin(args[1:]) {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(2, "grep: %s: %s", f, reason(err))
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if re.MatchString(line) == strings.Contains(flags, "v") {
				continue
			}
			code = 0
			count++
			switch {
			case strings.ContainsAny(flags, "qc"):
			case strings.Contains(flags, "o"):
				for _, m := range re.FindAllString(line, -1) {
					p.Printf("%s\n", m)
				}
			default:
				p.Printf("%s\n", line)
			}
		}
	}
	if strings.Contains(flags, "c") {
		p.Printf("%d\n", count)
	}
	return code
}

// awk prints fields: '{ print $N, $M }', with -F.
func awk(_ context.Context, p *Process) int {
	sep, args := "", p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-F") {
		sep = strings.TrimPrefix(args[0], "-F")
		args = args[1:]
		if sep == "" && len(args) > 0 {
			sep, args = args[0], args[1:]
		}
	}
	if len(args) == 0 {
		return p.Fail(2, "awk: no program")
	}
	m := regexp.MustCompile(`^\s*\{\s*print\s+((?:\$(?:\d+|NF)[\s,]*)+);?\s*\}\s*$`).FindStringSubmatch(args[0])
	if m == nil {
		return p.Fail(2, "awk: only '{ print $N }' is simulated")
	}
	want := regexp.MustCompile(`\d+|NF`).FindAllString(m[1], -1)
	for _, f := range orStdin(args[1:]) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			fields := strings.Fields(line)
			if sep != "" {
				fields = strings.Split(line, sep)
			}
			var out []string
			for _, w := range want {
				out = append(out, field(line, fields, w))
			}
			p.Printf("%s\n", strings.Join(out, " "))
		}
	}
	return 0
}

func field(line string, fields []string, which string) string {
	n, err := strconv.Atoi(which)
	if err != nil {
		n = len(fields)
	}
	switch {
	case n == 0:
		return line
	case n > len(fields):
		return ""
	}
	return fields[n-1]
}

func cut(_ context.Context, p *Process) int {
	sep, n := "\t", 1
	for i, a := range p.Args {
		switch {
		case a == "-d" && i+1 < len(p.Args):
			sep = p.Args[i+1]
		case strings.HasPrefix(a, "-d"):
			sep = a[2:]
		case a == "-f" && i+1 < len(p.Args):
			n, _ = strconv.Atoi(p.Args[i+1])
		case strings.HasPrefix(a, "-f"):
			n, _ = strconv.Atoi(a[2:])
		}
	}
	if n < 1 || sep == "" {
		return p.Fail(1, "cut: only -d C -f N is simulated")
	}
	sc := bufio.NewScanner(p.Stdin)
	for sc.Scan() {
		p.Printf("%s\n", field(sc.Text(), strings.Split(sc.Text(), sep), strconv.Itoa(n)))
	}
	return 0
}

func tr(_ context.Context, p *Process) int {
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	text := string(data)
	unescape := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t")
	switch {
	case p.Arg(1) == "-d":
		set := unescape.Replace(p.Arg(2))
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(set, r) {
				return -1
			}
			return r
		}, text)
	case p.Arg(1) == "[:upper:]" || p.Arg(1) == "A-Z":
		text = strings.ToLower(text)
	case p.Arg(1) == "[:lower:]" || p.Arg(1) == "a-z":
		text = strings.ToUpper(text)
	default:
		from, to := []rune(unescape.Replace(p.Arg(1))), []rune(unescape.Replace(p.Arg(2)))
		if len(to) == 0 {
			return p.Fail(1, "tr: missing operand")
		}
		text = strings.Map(func(r rune) rune {
			if i := slices.Index(from, r); i >= 0 {
				return to[min(i, len(to)-1)]
			}
			return r
		}, text)
	}
	p.Printf("%s", text)
	return 0
}

func sortLines(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	var lines []string
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		for line := range strings.Lines(string(data)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(lines)
	if strings.Contains(flags, "u") {
		lines = slices.Compact(lines)
	}
	for _, l := range lines {
		p.Printf("%s\n", l)
	}
	return 0
}

func head(_ context.Context, p *Process) int {
	return ends(p, func(l []string, n int) []string { return l[:min(n, len(l))] })
}
func tail(_ context.Context, p *Process) int {
	return ends(p, func(l []string, n int) []string { return l[max(0, len(l)-n):] })
}

func ends(p *Process, pick func([]string, int) []string) int {
	n := 10
	var files []string
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		switch {
		case a == "-n" && i+1 < len(p.Args):
			i++
			n, _ = strconv.Atoi(p.Args[i])
		case strings.HasPrefix(a, "-") && a != "-":
			if v, err := strconv.Atoi(strings.TrimLeft(a, "-n")); err == nil {
				n = v
			}
		default:
			files = append(files, a)
		}
	}
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		if last := len(lines) - 1; lines[last] == "" {
			lines = lines[:last]
		}
		p.Printf("%s", strings.Join(pick(lines, max(n, 0)), ""))
	}
	return 0
}

func wc(_ context.Context, p *Process) int {
	flags, files := operands(p.Args[1:])
	for _, f := range orStdin(files) {
		data, err := p.read(f)
		if err != nil {
			return p.failed(f, err)
		}
		n := len(data)
		switch {
		case strings.Contains(flags, "l"):
			n = strings.Count(string(data), "\n")
		case strings.Contains(flags, "w"):
			n = len(strings.Fields(string(data)))
		}
		p.Printf("%d\n", n)
	}
	return 0
}

func seq(_ context.Context, p *Process) int {
	from, to := 1, 0
	var err error
	switch len(p.Args) {
	case 2:
		to, err = strconv.Atoi(p.Args[1])
	case 3:
		if from, err = strconv.Atoi(p.Args[1]); err == nil {
			to, err = strconv.Atoi(p.Args[2])
		}
	default:
		return p.Fail(1, "seq: only [FIRST] LAST is simulated")
	}
	if err != nil || to-from > 100000 {
		return p.Fail(1, "seq: invalid argument")
	}
	for i := from; i <= to; i++ {
		p.Printf("%d\n", i)
	}
	return 0
}

func basename(_ context.Context, p *Process) int {
	p.Printf("%s\n", strings.TrimSuffix(path.Base(p.Arg(1)), p.Arg(2)))
	return 0
}

func dirname(_ context.Context, p *Process) int { p.Printf("%s\n", path.Dir(p.Arg(1))); return 0 }

func find(_ context.Context, p *Process) int {
	dir, name := ".", "*"
	for i, a := range p.Args[1:] {
		if i == 0 && !strings.HasPrefix(a, "-") {
			dir = a
		}
		if a == "-name" && i+2 < len(p.Args) {
			name = p.Args[i+2]
		}
	}
	return findIn(p, dir, name, 0)
}

func findIn(p *Process, dir, name string, depth int) int {
	entries, err := p.Guest.Root.ReadDir(p.Abs(dir))
	if err != nil || depth > 64 {
		return p.Fail(1, "find: '%s': %s", dir, "No such file or directory")
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		if ok, err := path.Match(name, e.Name()); err == nil && ok {
			p.Printf("%s\n", at)
		}
		if e.IsDir() {
			findIn(p, at, name, depth+1)
		}
	}
	return 0
}

func mktemp(_ context.Context, p *Process) int {
	flags, _ := operands(p.Args[1:])
	name := fmt.Sprintf("/tmp/tmp.%d", p.Guest.Clock.Now().UnixNano())
	err := p.Guest.Root.WriteFile(name, nil, 0o600)
	if strings.Contains(flags, "d") {
		_ = p.Guest.Root.Remove(name) // made a moment ago
		err = p.Guest.Root.MkdirAll(name)
	}
	if err != nil {
		return p.failed(name, err)
	}
	p.Printf("%s\n", name)
	return 0
}
