package powershell

import (
	"slices"
	"strings"
)

// jobCmdlets are the cmdlets of background jobs (about_Jobs). A guest runs a job to its end before Start-Job returns.
var jobCmdlets = []cmdlet{
	{name: "Start-Job", parameters: "ScriptBlock:0 ArgumentList|Args Name% InitializationScript InputObject", ending: true, run: startJob},
	{name: "Receive-Job", parameters: "Job:0 Name% Id Keep? Wait? AutoRemoveJob?", run: eachJob(receiveJob)},
	{name: "Wait-Job", parameters: "Job:0 Name% Id Timeout~ Any?~ Force?~",
		run: eachJob(func(c *call, j *job) error { return c.emit(j.shown) })},
	{name: "Get-Job", parameters: "Id:0 Name% State", run: eachJob(func(c *call, j *job) error { return c.emit(j.shown) })},
	{name: "Stop-Job", parameters: "Job:0 Name% Id PassThru?", run: eachJob(func(*call, *job) error { return nil })},
	{name: "Remove-Job", parameters: "Job:0 Name% Id Force?~", run: eachJob(func(c *call, j *job) error {
		c.jobs.all = slices.DeleteFunc(c.jobs.all, func(other *job) bool { return other == j })
		return nil
	})},
}

// job is the object of a job and the output of its streams.
type job struct {
	shown   *object
	records []record
}

type record struct {
	stream int
	value  any
}

type jobList struct {
	all  []*job
	last int64
}

// sessionSize is the memory that a session's own variables use, in bytes.
const sessionSize = 8 << 10

// startJob runs a script block in a new session. The block sees only its arguments, and the caller's variables
// through $using:.
func startJob(c *call) error {
	f, ok := c.given["scriptblock"].(function)
	prepare, prepares := c.given["initializationscript"].(function)
	if !ok || c.has("initializationscript") && !prepares {
		return lacking("a job that is no script block")
	}
	session := c.session
	session.Args, session.File = nil, ""
	inner := New(c.m, c.host, session).r
	inner.ctx, inner.meter, inner.using, inner.dir, inner.source, inner.steps = c.ctx, c.meter, c.scope, c.dir, f.source, c.steps
	if inner.calls = c.calls + 1; inner.calls > maxCalls {
		return &LimitError{"starts jobs within jobs too deep"}
	}
	if err := c.take(sessionSize); err != nil {
		return err
	}
	f.home, f.file = nil, ""
	c.jobs.last += 2
	name := "Job" + text(c.jobs.last-1)
	if c.has("name") {
		name = c.textOf("name")
	}
	j := &job{shown: tabled("System.Management.Automation.PSRemotingJob", 7, "Id", c.jobs.last-1, "Name", name, "PSJobTypeName",
		"BackgroundJob", "State", "Completed", "HasMoreData", true, "Location", "localhost", "Command", f.text, "Error", newArray())}
	keep := func(stream int) sink {
		return func(v any) error { j.records = append(j.records, record{stream, v}); return c.take(32) }
	}
	for stream := 2; stream <= 6; stream++ {
		inner.redirected[stream] = keep(stream)
	}
	var err error
	if prepares {
		prepare.home, prepare.file = nil, ""
		err = (&functionStage{r: inner, f: prepare, out: keep(1), dot: true}).runAll(nil)
	}
	if err == nil {
		err = inner.callFunction(f, unnamed(list(c.given["argumentlist"])...), c.objects("inputobject"), keep(1))
	}
	c.steps = inner.steps
	var reason any
	if fault := failed(err); fault != nil {
		fault.ends, fault.stopped = false, false
		j.shown.set("State", "Failed")
		reason = fault.exception
		err = keep(2)(fault)
	}
	if _, exits := err.(exitSignal); err != nil && !exits { // signals are never wrapped
		return err
	}
	state, _ := j.shown.get("State")
	info := system("System.Management.Automation.JobStateInfo", nil, "State", state, "Reason", reason)
	j.shown.set("JobStateInfo", info)
	j.shown.set("ChildJobs", newArray(tabled("System.Management.Automation.PSRemotingChildJob", 3, "Id", c.jobs.last, "Name",
		"Job"+text(c.jobs.last), "State", state, "JobStateInfo", info)))
	c.jobs.all = append(c.jobs.all, j)
	return c.emit(j.shown)
}

// eachJob returns a cmdlet that calls one for each job that its parameters name, or for all jobs.
func eachJob(one func(*call, *job) error) func(*call) error {
	return func(c *call) error {
		given, found := c.objects("job"), false
		if id, ok := c.given["id"]; ok && !isNumber(firstOf(list(id))) { // if the first argument is not a number, it is a name
			c.given["name"] = id
			delete(c.given, "id")
		}
		for _, j := range slices.Clone(c.jobs.all) {
			name, _ := j.shown.get("Name")
			id, _ := j.shown.get("Id")
			state, _ := j.shown.get("State")
			chosen := len(given) == 0 && !c.piped && !c.has("job") || slices.ContainsFunc(given, func(v any) bool { return v == any(j.shown) })
			if c.has("name") {
				chosen = likeAny(text(name), c.textsOf("name"))
			}
			if c.has("id") {
				chosen = c.contains(newArray(list(c.given["id"])...), id, false)
			}
			if !chosen || c.has("state") && !strings.EqualFold(text(state), c.textOf("state")) {
				continue
			}
			found = true
			if err := one(c, j); err != nil {
				return err
			}
		}
		v, byName := c.given["name"]
		id, byID := c.given["id"]
		if found || !byName && !byID || strings.ContainsAny(text(v), "*?[") {
			return nil
		}
		f := broken("PSArgumentException", "JobWithSpecifiedNameNotFound", "The command cannot find the job because the job name %s was not "+
			"found. Verify the value of the Name parameter, and then try the command again.", text(v))
		if byID {
			f = broken("PSArgumentException", "JobWithSpecifiedSessionNotFound", "The command cannot find a job with the job ID %s. Verify the "+
				"value of the Id parameter and then try the command again.", text(id))
			v = id
		}
		f.category, f.target = "ObjectNotFound", v
		return c.fault(f)
	}
}

// receiveJob emits the output of a job, and discards it unless -Keep is given.
func receiveJob(c *call, j *job) error {
	records := j.records
	if !c.is("keep") {
		j.records = nil
		j.shown.set("HasMoreData", false)
	}
	for _, one := range records {
		var err error
		f, isFault := one.value.(*failure)
		switch {
		case one.stream == 1:
			err = c.emit(one.value)
		case isFault:
			copied := *f
			c.keepFault(&copied)
			err = c.report(&copied, c.action)
		case one.stream == 6:
			err = c.inform(one.value, true, text(one.value)+"\r\n")
		default:
			err = c.note(one.stream, text(one.value), "continue")
		}
		if err != nil {
			return err
		}
	}
	if c.is("autoremovejob") {
		c.jobs.all = slices.DeleteFunc(c.jobs.all, func(other *job) bool { return other == j })
	}
	return nil
}
