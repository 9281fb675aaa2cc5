package powershell

import (
	"encoding/json"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

var taskCmdlets = []cmdlet{
	{name: "New-ScheduledTaskAction", parameters: "Execute:0 Argument:1 WorkingDirectory:2 Id~",
		run: taskPart("Execute", "Argument", "WorkingDirectory")},
	{name: "New-ScheduledTaskTrigger", parameters: "AtStartup? AtLogOn? Once? Daily? Weekly? At " +
		"RepetitionInterval RepetitionDuration~ RandomDelay^ DaysInterval^ User^ " +
		"DaysOfWeek^", run: taskPart("AtStartup", "AtLogOn", "Once", "Daily", "At")},
	{name: "New-ScheduledTaskPrincipal", parameters: "UserId:0 LogonType~ RunLevel~ GroupId~", run: taskPart("UserId")},
	{name: "New-ScheduledTaskSettingsSet", parameters: "AllowStartIfOnBatteries?~ DontStopIfGoingOnBatteries?~ " +
		"StartWhenAvailable?~ RestartCount~ RestartInterval~ ExecutionTimeLimit~ MultipleInstances~ Hidden?~ " +
		"Compatibility~ DontStopOnIdleEnd?~ RunOnlyIfNetworkAvailable?~ DisallowHardTerminate?~ " +
		"Priority~", run: taskPart()},
	{name: "New-ScheduledTask", parameters: "Action:0 Trigger:1 Principal:2~ Settings:3~ Description~", run: taskPart("Action", "Trigger")},
	{name: "Register-ScheduledTask", parameters: "TaskName|Name:0 Action Trigger Principal~ Settings~ " +
		"InputObject User~ Password~ RunLevel~ Description~ TaskPath~ Force?", run: registerTask},
	{name: "Get-ScheduledTask", parameters: "TaskName|Name:0 TaskPath~", run: getTask},
	{name: "Unregister-ScheduledTask", parameters: "TaskName|Name:0 TaskPath~", run: unregisterTask},
}

// taskPart returns a cmdlet that emits a part of a scheduled task, such as its trigger, with the values of the named parameters.
func taskPart(kept ...string) func(*call) error {
	return func(c *call) error {
		o := system("Microsoft.Management.Infrastructure.CimInstance#MSFT_Task", nil)
		for _, name := range kept {
			o.set(name, c.given[strings.ToLower(name)])
		}
		o.shown = kept
		return c.emit(o)
	}
}

// task is a stored scheduled task.
type task struct {
	Execute, Argument string
	AtStartup         bool
}

// registerTask stores a scheduled task. Triggers are not simulated: nothing starts the task.
func registerTask(c *call) error {
	name := c.textOf("taskname")
	if _, ok := c.m.Registry().Key(machine.TasksKey + `\` + name); ok && !c.is("force") {
		return c.fault(broken("Microsoft.Management.Infrastructure.CimException",
			"HRESULT 0x800700b7,Register-ScheduledTask", "Cannot create a file when that file already exists."))
	}
	action, trigger := c.given["action"], c.given["trigger"]
	if o, ok := c.given["inputobject"].(*object); ok {
		action, _ = o.get("Action")
		trigger, _ = o.get("Trigger")
	}
	kept := task{}
	if o, ok := action.(*object); ok {
		kept.Execute, kept.Argument = text(o.read("Execute")), text(o.read("Argument"))
	}
	if o, ok := trigger.(*object); ok {
		kept.AtStartup = truth(o.read("AtStartup"))
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := c.m.Registry().Set(machine.TasksKey+`\`+name, "casement", machine.Value{Kind: "String", Text: string(data)}); err != nil {
		return diskError(err, machine.TasksKey)
	}
	c.mark("Register-ScheduledTask", "the task is kept and nothing runs it")
	return c.emit(taskObject(name))
}

func taskObject(name string) *object {
	return tabled("Microsoft.Management.Infrastructure.CimInstance#Root/Microsoft/Windows/TaskScheduler/MSFT_ScheduledTask", 3,
		"TaskPath", `\`, "TaskName", name, "State", "Ready")
}

func getTask(c *call) error {
	var all []*object
	for _, name := range c.m.Registry().Children(machine.TasksKey) {
		all = append(all, taskObject(name))
	}
	if !c.has("taskname") {
		return lacking("the tasks of the image; name a task")
	}
	return c.pickInstances(all, map[string]string{"taskname": "TaskName"}, "MSFT_ScheduledTask")
}

func unregisterTask(c *call) error {
	name := c.textOf("taskname")
	if err := c.m.Registry().Delete(machine.TasksKey + `\` + name); err != nil {
		return c.fault(noInstance(c.cmd.name, "MSFT_ScheduledTask", "TaskName", name))
	}
	return nil
}
