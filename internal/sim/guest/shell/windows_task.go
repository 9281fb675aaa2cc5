package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// windowsTask is a process in the columns of tasklist: name, ID, session, session number and memory.
type windowsTask struct {
	row [5]string
	// service is the service that the process belongs to, or "".
	service string
}

// tasks returns the processes of the guest: the system's, one for each running service, and the calling program.
func (p *Process) tasks() (all []windowsTask) {
	add := func(name, service string, pid int, memory string) {
		all = append(all, windowsTask{[5]string{name, strconv.Itoa(pid), "Services", "0", memory + " K"}, service})
	}
	add("System Idle Process", "", 0, "8")
	add("System", "", 4, "144")
	pid := 1000
	for _, s := range p.Guest.Services.List() {
		if s.Running {
			add(s.Name+".exe", s.Name, pid, "8,192")
			pid += 4
		}
	}
	add(strings.ToLower(p.name())+".exe", "", pid, "8,192")
	return all
}

// taskFilter parses a filter such as PID gt 4. known is false for properties that a guest does not have.
func taskFilter(text string) (holds func(windowsTask) bool, known, valid bool) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return nil, true, false
	}
	column := slices.Index([]string{"IMAGENAME", "PID", "SESSIONNAME", "SESSION"}, strings.ToUpper(words[0]))
	if column < 0 {
		return nil, !slices.Contains([]string{"STATUS", "CPUTIME", "MEMUSAGE", "USERNAME", "SERVICES", "WINDOWTITLE", "MODULES"},
			strings.ToUpper(words[0])), false
	}
	value := strings.Join(words[2:], " ")
	number := column == 1 || column == 3
	if _, err := strconv.Atoi(value); number && err != nil {
		return nil, true, false
	}
	op := strings.ToLower(words[1])
	if !slices.Contains([]string{"eq", "ne"}, op) && !(number && slices.Contains([]string{"gt", "lt", "ge", "le"}, op)) {
		return nil, true, false
	}
	return func(t windowsTask) bool {
		if number {
			a, _ := strconv.Atoi(t.row[column])
			b, _ := strconv.Atoi(value)
			return ordered(op, a-b)
		}
		start, pattern := strings.CutSuffix(strings.ToLower(value), "*")
		has := strings.ToLower(t.row[column])
		same := has == start || pattern && strings.HasPrefix(has, start)
		return ordered(op, map[bool]int{false: 1}[same])
	}, true, true
}

// tasklist lists the processes as a table, a list or values with commas.
func tasklist(_ context.Context, p *Process) int {
	wrong := func() int { return p.Fail(1, "ERROR: Invalid syntax.\r\nType \"TASKLIST /?\" for usage.\r") }
	o, kind, bad := declare("- nh fo: fi:* v! svc! m! s! u! p! apps! ?!").slashed(p.Args[1:])
	switch {
	case kind == '+' || kind == ':':
		return wrong()
	case kind != 0 || len(o.operands) > 0:
		return p.badSwitch("TASKLIST", kind, cmp.Or(bad, strings.Join(o.operands, " ")))
	}
	format, head, tasks := strings.ToLower(o.value("fo")), !o.has("nh"), p.tasks()
	if !o.has("fo") {
		format = "table"
	}
	for _, filter := range o.values("fi") {
		holds, known, valid := taskFilter(filter)
		if !known {
			return p.refuseAs(1, "tasklist /fi %q", filter)
		}
		if !valid {
			return p.Fail(1, "ERROR: The search filter cannot be recognized.\r")
		}
		tasks = slices.DeleteFunc(tasks, func(t windowsTask) bool { return !holds(t) })
	}
	if !slices.Contains([]string{"table", "list", "csv"}, format) || format == "list" && !head {
		return wrong()
	}
	if len(tasks) == 0 {
		p.Printf("INFO: No tasks are running which match the specified criteria.\r\n")
		return 0
	}
	names := [5]string{"Image Name", "PID", "Session Name", "Session#", "Mem Usage"}
	table := func(f [5]string) { p.Printf("%-25.25s %8s %-16s %11s %12s\r\n", f[0], f[1], f[2], f[3], f[4]) }
	if format == "table" {
		p.Printf("\r\n")
	}
	switch {
	case head && format == "table":
		table(names)
		line := strings.Repeat("=", 25)
		table([5]string{line, line[:8], line[:16], line[:11], line[:12]})
	case head && format == "csv":
		p.Printf("\"%s\"\r\n", strings.Join(names[:], `","`))
	}
	for _, t := range tasks {
		switch format {
		case "table":
			table(t.row)
		case "csv":
			p.Printf("\"%s\"\r\n", strings.Join(t.row[:], `","`))
		default:
			p.Printf("\r\n")
			for i, name := range names {
				p.Printf("%-13s %s\r\n", name+":", t.row[i])
			}
		}
	}
	return 0
}

// taskkill finds processes by name or ID. It refuses to end them: a guest's processes are services, which sc and net
// stop.
func taskkill(_ context.Context, p *Process) int {
	o, kind, bad := declare("- im:* pid:* f* t* fi! s! u! p! ?!").slashed(p.Args[1:])
	switch {
	case kind != 0 || len(o.operands) > 0:
		return p.badSwitch("TASKKILL", kind, cmp.Or(bad, strings.Join(o.operands, " ")))
	case !o.has("im", "pid"):
		return p.Fail(1, "ERROR: Invalid syntax. Neither /FI nor /PID nor /IM were specified.\r\nType \"TASKKILL /?\" for usage.\r")
	}
	code := 0
	for _, g := range o.given {
		column := map[string]string{"im": "IMAGENAME", "pid": "PID"}[g.name]
		if column == "" {
			continue
		}
		holds, _, valid := taskFilter(column + " eq " + g.value)
		if !valid {
			return p.Fail(1, "ERROR: Invalid query\r")
		}
		all := p.tasks()
		if i := slices.IndexFunc(all, holds); i >= 0 {
			return p.refuseAs(1, "the end of the process %s: stop its service", all[i].row[0])
		}
		code = p.Fail(128, "ERROR: The process \"%s\" not found.\r", g.value)
	}
	return code
}

// badSwitch fails with a program's message for a switch that slashed refuses.
func (p *Process) badSwitch(program string, kind byte, bad string) int {
	switch kind {
	case '!', '+':
		return p.refuseAs(1, "%s %s", strings.ToLower(program), bad)
	case ':':
		return p.Fail(1, "ERROR: Invalid syntax. Value expected for '%s'.\r\nType \"%s /?\" for usage.\r", bad, program)
	}
	return p.Fail(1, "ERROR: Invalid argument/option - '%s'.\r\nType \"%s /?\" for usage.\r", bad, program)
}

// startTime matches a time of day as schtasks accepts it.
var startTime = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d$`)

// weekDays matches days of the week as schtasks accepts them.
var weekDays = regexp.MustCompile(`(?i)^(\*|(mon|tue|wed|thu|fri|sat|sun)(,(mon|tue|wed|thu|fri|sat|sun))*)$`)

// validEvery reports whether text is a valid interval of a task, in minutes, hours, days, weeks or months.
func validEvery(kind, text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= map[string]int{"minute": 1439, "hourly": 23, "daily": 365, "weekly": 52, "monthly": 12}[kind]
}

// schtasks manages the same scheduled tasks as PowerShell's cmdlets. Nothing runs them; the creation of a task says
// so.
func schtasks(ctx context.Context, p *Process) int {
	if len(p.Args) == 1 {
		return p.refuseAs(1, "schtasks without a verb")
	}
	verb := strings.ToLower(p.Args[1])
	takes := map[string]string{"/create": "tn: tr: sc: ru: rp: rl: f mo: st: sd: np it z d: m: i:", "/delete": "tn: f",
		"/query": "tn:", "/change": "tn: enable disable", "/run": "tn:", "/end": "tn:"}[verb]
	if takes == "" {
		return p.badSwitch("SCHTASKS", '?', p.Args[1])
	}
	o, kind, bad := declare("xml! s! u! p! fo! v! nh! hresult! tr! ?! " + takes).slashed(p.Args[2:])
	switch {
	case kind != 0 || len(o.operands) > 0:
		return p.badSwitch("SCHTASKS "+strings.ToUpper(verb), kind, cmp.Or(bad, strings.Join(o.operands, " ")))
	}
	name := strings.Trim(o.value("tn"), `\`)
	if name == "" {
		if verb == "/query" {
			return p.refuseAs(1, "schtasks /query of all tasks: name one")
		}
		return p.Fail(1, "ERROR: Invalid syntax. Mandatory option 'tn' is missing.\r\nType \"SCHTASKS %s /?\" for usage.\r",
			strings.ToUpper(verb[1:]))
	}
	if strings.ContainsAny(name, "*?") {
		return p.refuseAs(1, "schtasks with the pattern %s", name)
	}
	registry, key := p.Guest.Registry(), machine.TasksKey+`\`+name
	_, there := registry.Key(key)
	if verb != "/create" && !there {
		return p.Fail(1, "ERROR: The system cannot find the file specified.\r")
	}
	shown := o.value("tn")
	var err error
	switch verb {
	case "/create":
		kind := strings.ToLower(o.value("sc"))
		switch {
		case o.value("tr") == "" || kind == "":
			return p.Fail(-2147467259, "ERROR: Invalid syntax. Mandatory option '%s' is missing.\r\nType \"SCHTASKS /CREATE /?\" for usage.\r",
				map[bool]string{true: "sc", false: "tr"}[kind == ""])
		case !slices.Contains(strings.Fields("minute hourly daily weekly monthly once onstart onlogon onidle onevent"), kind):
			return p.Fail(1, "ERROR: Invalid Schedule Type specified.\r\nType \"SCHTASKS /CREATE /?\" for usage.\r")
		case o.value("st") != "" && !startTime.MatchString(o.value("st")):
			return p.refuseAs(1, "schtasks /st %s", o.value("st"))
		case o.has("mo") && !validEvery(kind, o.value("mo")):
			return p.refuseAs(1, "schtasks /mo %s of /sc %s", o.value("mo"), kind)
		case o.has("d") && !(kind == "weekly" && weekDays.MatchString(o.value("d"))):
			return p.refuseAs(1, "schtasks /d %s of /sc %s", o.value("d"), kind)
		case kind == "once" && o.value("st") == "":
			return p.Fail(1, "ERROR: Invalid syntax. /ST option is mandatory.\r\nType \"SCHTASKS /CREATE /?\" for usage.\r")
		case there && !o.has("f"):
			return p.refuseAs(1, "the question of schtasks /create; give /f")
		}
		kept, _ := json.Marshal(map[string]any{"Execute": o.value("tr"), "AtStartup": kind == "onstart"}) // texts can always be encoded
		if err = registry.Set(key, "casement", machine.Value{Kind: "String", Text: string(kept)}); err == nil {
			p.Printf("SUCCESS: The scheduled task \"%s\" has successfully been created.\r\n", shown)
			return p.NoEffect(ctx, "schtasks /create (the task is kept and nothing runs it)")
		}
	case "/delete":
		if !o.has("f") {
			return p.refuseAs(1, "the question of schtasks /delete; give /f")
		}
		if err = registry.Delete(key); err == nil {
			p.Printf("SUCCESS: The scheduled task \"%s\" was successfully deleted.\r\n", shown)
		}
	case "/change":
		if o.has("enable") == o.has("disable") {
			return p.refuseAs(1, "schtasks /change other than one of /enable and /disable")
		}
		p.Printf("SUCCESS: The parameters of scheduled task \"%s\" have been changed.\r\n", shown)
		return p.NoEffect(ctx, "schtasks /change")
	default:
		return p.refuseAs(1, "schtasks %s", verb)
	}
	if err != nil {
		return p.Fail(1, "ERROR: %v\r", err)
	}
	return 0
}
