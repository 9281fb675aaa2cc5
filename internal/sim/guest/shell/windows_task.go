package shell

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// windowsTask is a process as tasklist shows it: its name, id, session, number of the session and memory.
type windowsTask struct {
	row [5]string
	// service is the name of the service whose process it is, if it is one's.
	service string
}

// tasks returns the processes of the guest: the system's, one of each service that runs, and the program that asks.
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

// taskFilter reads a filter such as PID gt 4. known is false for what a guest does not know of its processes.
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
	test := map[string]func(c int) bool{"eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 },
		"gt": func(c int) bool { return c > 0 }, "lt": func(c int) bool { return c < 0 },
		"ge": func(c int) bool { return c >= 0 }, "le": func(c int) bool { return c <= 0 }}[strings.ToLower(words[1])]
	if test == nil || !number && !strings.EqualFold(words[1], "eq") && !strings.EqualFold(words[1], "ne") {
		return nil, true, false
	}
	return func(t windowsTask) bool {
		if number {
			a, _ := strconv.Atoi(t.row[column])
			b, _ := strconv.Atoi(value)
			return test(a - b)
		}
		start, pattern := strings.CutSuffix(strings.ToLower(value), "*")
		has := strings.ToLower(t.row[column])
		same := has == start || pattern && strings.HasPrefix(has, start)
		return test(map[bool]int{false: 1}[same])
	}, true, true
}

// tasklist lists the processes as a table, a list or values with commas.
func tasklist(_ context.Context, p *Process) int {
	wrong := func() int { return p.Fail(1, "ERROR: Invalid syntax.\r\nType \"TASKLIST /?\" for usage.\r") }
	format, head, tasks, given := "table", true, p.tasks(), map[string]bool{}
	for i := 1; i < len(p.Args); i++ {
		low := strings.ToLower(strings.Replace(p.Args[i], "-", "/", 1))
		if given[low] && low != "/fi" {
			return wrong()
		}
		given[low] = true
		switch {
		case low == "/nh":
			head = false
		case (low == "/fo" || low == "/fi") && i+1 == len(p.Args):
			return wrong()
		case low == "/fo":
			i++
			format = strings.ToLower(p.Args[i])
		case low == "/fi":
			i++
			holds, known, valid := taskFilter(p.Args[i])
			if !known {
				return p.refuseAs(1, "tasklist /fi %q", p.Args[i])
			}
			if !valid {
				return p.Fail(1, "ERROR: The search filter cannot be recognized.\r")
			}
			tasks = slices.DeleteFunc(tasks, func(t windowsTask) bool { return !holds(t) })
		case slices.Contains([]string{"/v", "/svc", "/m", "/s", "/u", "/p", "/apps", "/?"}, low):
			return p.refuseAs(1, "tasklist %s", low)
		default:
			return p.Fail(1, "ERROR: Invalid argument/option - '%s'.\r\nType \"TASKLIST /?\" for usage.\r", p.Args[i])
		}
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

// taskkill finds processes by name or id. It ends none: those of a guest are its services, which sc and net stop.
func taskkill(_ context.Context, p *Process) int {
	var chosen []string
	for i := 1; i < len(p.Args); i++ {
		switch low := strings.ToLower(strings.Replace(p.Args[i], "-", "/", 1)); {
		case (low == "/im" || low == "/pid") && i+1 < len(p.Args):
			i++
			chosen = append(chosen, strings.ToUpper(low[1:])+" "+p.Args[i])
		case low == "/fi" || low == "/s" || low == "/u" || low == "/p" || low == "/?":
			return p.refuseAs(1, "taskkill %s", low)
		case low != "/f" && low != "/t":
			return p.Fail(1, "ERROR: Invalid argument/option - '%s'.\r\nType \"TASKKILL /?\" for usage.\r", p.Args[i])
		}
	}
	if len(chosen) == 0 {
		return p.Fail(1, "ERROR: Invalid syntax. Neither /FI nor /PID nor /IM were specified.\r\nType \"TASKKILL /?\" for usage.\r")
	}
	code := 0
	for _, one := range chosen {
		kind, name, _ := strings.Cut(one, " ")
		holds, _, valid := taskFilter(strings.Replace(kind, "IM", "IMAGENAME", 1) + " eq " + name)
		if !valid {
			return p.Fail(1, "ERROR: Invalid query\r")
		}
		found := false
		for _, t := range p.tasks() {
			if found = found || holds(t); holds(t) {
				return p.refuseAs(1, "the end of the process %s: stop its service", t.row[0])
			}
		}
		if !found {
			code = p.Fail(128, "ERROR: The process \"%s\" not found.\r", name)
		}
	}
	return code
}

// startTime is a time of day as schtasks takes it.
var startTime = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d$`)

// schtasks keeps the tasks of the Task Scheduler that PowerShell's cmdlets keep. Nothing runs them, which each that is made says.
func schtasks(ctx context.Context, p *Process) int {
	if len(p.Args) == 1 {
		return p.refuseAs(1, "schtasks without a verb")
	}
	verb := strings.ToLower(p.Args[1])
	takes := map[string]string{"/create": "/tn /tr /sc /ru /rp /rl /f! /mo /st /sd /np! /it! /z! /d /m /i", "/delete": "/tn /f!",
		"/query": "/tn", "/change": "/tn /enable! /disable!", "/run": "/tn", "/end": "/tn"}[verb]
	if takes == "" {
		return p.Fail(1, "ERROR: Invalid argument/option - '%s'.\r\nType \"SCHTASKS /?\" for usage.\r", p.Args[1])
	}
	given := map[string]string{}
	for i := 2; i < len(p.Args); i++ {
		low := strings.ToLower(p.Args[i])
		_, twice := given[low]
		switch words := strings.Fields(takes); {
		case slices.Contains([]string{"/xml", "/s", "/u", "/p", "/fo", "/v", "/nh", "/hresult", "/tr", "/?"}, low) &&
			!slices.Contains(words, low):
			return p.refuseAs(1, "schtasks %s %s", verb, low)
		case slices.Contains(words, low+"!") && !twice:
			given[low] = "yes"
		case slices.Contains(words, low) && !twice && i+1 < len(p.Args):
			i++
			given[low] = p.Args[i]
		default:
			return p.Fail(1, "ERROR: Invalid syntax. Value expected for '%s'.\r\nType \"SCHTASKS %s /?\" for usage.\r", p.Args[i],
				strings.ToUpper(verb[1:]))
		}
	}
	name := strings.Trim(given["/tn"], `\`)
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
	shown := given["/tn"]
	var err error
	switch verb {
	case "/create":
		kind := strings.ToLower(given["/sc"])
		switch {
		case given["/tr"] == "" || kind == "":
			return p.Fail(-2147467259, "ERROR: Invalid syntax. Mandatory option '%s' is missing.\r\nType \"SCHTASKS /CREATE /?\" for usage.\r",
				map[bool]string{true: "sc", false: "tr"}[kind == ""])
		case !slices.Contains(strings.Fields("minute hourly daily weekly monthly once onstart onlogon onidle onevent"), kind):
			return p.Fail(1, "ERROR: Invalid Schedule Type specified.\r\nType \"SCHTASKS /CREATE /?\" for usage.\r")
		case given["/st"] != "" && !startTime.MatchString(given["/st"]):
			return p.refuseAs(1, "schtasks /st %s", given["/st"])
		case kind == "once" && given["/st"] == "":
			return p.Fail(1, "ERROR: Invalid syntax. /ST option is mandatory.\r\nType \"SCHTASKS /CREATE /?\" for usage.\r")
		case there && given["/f"] == "":
			return p.refuseAs(1, "the question of schtasks /create; give /f")
		}
		kept, _ := json.Marshal(map[string]any{"Execute": given["/tr"], "AtStartup": kind == "onstart"}) // texts become JSON
		if err = registry.Set(key, "casement", machine.Value{Kind: "String", Text: string(kept)}); err == nil {
			p.Printf("SUCCESS: The scheduled task \"%s\" has successfully been created.\r\n", shown)
			return p.NoEffect(ctx, "schtasks /create (the task is kept and nothing runs it)")
		}
	case "/delete":
		if given["/f"] == "" {
			return p.refuseAs(1, "the question of schtasks /delete; give /f")
		}
		if err = registry.Delete(key); err == nil {
			p.Printf("SUCCESS: The scheduled task \"%s\" was successfully deleted.\r\n", shown)
		}
	case "/change":
		if given["/enable"]+given["/disable"] != "yes" {
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
