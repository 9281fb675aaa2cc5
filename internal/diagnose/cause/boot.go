package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Boot is the result of the bootstrap data's commands according to a boot log. Its texts are copied from the log and
// may contain secrets.
type Boot struct {
	// Ended is true if the boot agent (cloud-init, cloudbase-init, or kubeadm's unit after Ignition) has finished.
	Ended bool
	// Failed are the commands that failed, with their output, in order. The local plane's log names each command;
	// Azure's shows only the last command of a script that failed.
	Failed []string
	// Complaints are lines in which a program reported an error while the bootstrap data's commands ran, each once:
	// scripts that cloud-init runs continue after a failed command and do not report it.
	Complaints []string
	// NoEffect are the parts that the local plane accepted without an effect; NotSimulated are the parts that it
	// refused. Each is listed once.
	NoEffect, NotSimulated []string
}

// failure matches an exit code that means failure of a script for cloudbase-init: 1001 to 1003 request a restart,
// another run, or both.
const failure = `-\d+|[1-9]\d{0,2}|100[04-9]|10[1-9]\d|1[1-9]\d\d|[2-9]\d{3}|[1-9]\d{4,}`

var (
	bootEnded = regexp.MustCompile(`(?i)cloud-init finished|cloud-init v\. .* finished at|plugins execution done|` +
		`\[(FAILED|  OK  )\] (Failed to start|Finished) kubeadm`)
	failedLine   = regexp.MustCompile(`^(?:guest: )?(\S+: line \d+ failed with code -?\d+: .*)$`)
	scriptFailed = regexp.MustCompile(`script ended with return code: (` + failure + `)\b|ended with exit code: ` +
		`(-?[1-9]\d*)|/scripts/\S+ exited with (-?[1-9]\d*)|Failed running /var/lib/cloud/\S+ ` +
		`\[(-?[1-9]\d*)\]|\.service: Main process exited, code=exited, status=([1-9]\d*)`)
	// unitFailed matches systemd's line about the failure of Ignition's unit for kubeadm.
	unitFailed  = regexp.MustCompile(`\[FAILED\] Failed to start kubeadm`)
	agentFailed = regexp.MustCompile(`(?:module (?:write_files(?:_deferred)?|runcmd|bootcmd|users_groups|ntp) ` +
		`failed|Processing plugin \S+ failed|plugin '\w+' failed with error|an error occurred during user '.*' ` +
		`creation|ignition\[ERROR\]|Ignition failed|ignition.* failed to fetch config): .*`)
	markLine    = regexp.MustCompile(`^(?:.*(?:\]: | \[-\] ))?(.+): simulated: no effect`)
	refusedLine = regexp.MustCompile(`casement does not simulate (.+?)(?:; the script ends here)?$`)
	// beside matches lines that are not a command's own output: the agent's lines, a prompt with its command, and the
	// lines that PowerShell adds to an error.
	beside = regexp.MustCompile(`^\d{4}-\d\d-\d\d |^(cloud-init|ignition|systemd)\[|^\[(FAILED|  OK  )\]|` +
		`^guest: |^[A-Za-z]:\\[^>]*>|^At \S|^\+ |: simulated: no effect`)
)

// scriptStarts matches the line before the output of cloud-init's script; kubeadm's own first line ends that output.
// programFailed matches the messages of a shell, coreutils, systemd, apt, curl and git about a failed command.
var (
	scriptStarts  = regexp.MustCompile(`^cloud-init\[\w+\]: running /var/lib/cloud/`)
	programFailed = regexp.MustCompile(`: (No such file or directory|Permission denied|command not found|not found|Is a directory|` +
		`cannot .*)$|^(Failed to (start|restart|enable|stop|reload|mount|unmask)|E: |curl: \(\d+\)|wget: |fatal: |mount: .*(failed|wrong|bad))`)
)

// ReadBoot reads a boot log.
func ReadBoot(lines []string) Boot {
	var b Boot
	var ends, printed []string
	runs := false
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if runs = (runs || scriptStarts.MatchString(line)) && !strings.HasPrefix(line, "["); runs && programFailed.MatchString(line) {
			b.Complaints = appendNew(b.Complaints, line)
		}
		if bootEnded.MatchString(line) {
			b.Ended = true
		}
		if m := failedLine.FindStringSubmatch(line); m != nil {
			b.Failed = appendNew(b.Failed, decisive(m[1], lines[:i]))
			continue
		}
		if shellError.MatchString(lines[i]) {
			printed = appendNew(printed, printedBy(lines[:i]))
		}
		if text := agentFailed.FindString(line); text != "" {
			b.Failed = appendNew(b.Failed, text)
			continue
		}
		if m := scriptFailed.FindStringSubmatch(line); m != nil {
			ends = appendNew(ends, ended("the script failed with code "+strings.Join(m[1:], ""), lines[:i]))
		} else if unitFailed.MatchString(line) && len(ends) == 0 {
			ends = append(ends, ended("systemd's unit of kubeadm failed", lines[:i]))
		}
		if m := markLine.FindStringSubmatch(line); m != nil {
			b.NoEffect = appendNew(b.NoEffect, m[1])
		} else if m := refusedLine.FindStringSubmatch(line); m != nil {
			b.NotSimulated = appendNew(b.NotSimulated, m[1])
		}
	}
	if len(ends) == 0 { // a batch file continues after a failed command, and ends with the code of the last one
		for _, text := range printed {
			b.Failed = appendNew(b.Failed, text)
		}
	}
	for _, end := range ends {
		if !slices.ContainsFunc(b.Failed, failedLine.MatchString) {
			b.Failed = append(b.Failed, end)
		}
	}
	return b
}

// Lines of cmd's prompt with a command, and the line that PowerShell adds to an uncaught error.
var (
	prompt     = regexp.MustCompile(`^[A-Za-z]:\\[^>]*>\s*(\S.*)$`)
	shellError = regexp.MustCompile(`^\s*\+ CategoryInfo\s+:`)
)

// printedBy returns the command at the last prompt, with the first line that it printed.
func printedBy(before []string) string {
	said := ""
	for _, line := range slices.Backward(before) {
		if m := prompt.FindStringSubmatch(line); m != nil {
			return strings.TrimSpace(m[1]) + ": " + said
		}
		if line = strings.TrimSpace(line); line != "" && !beside.MatchString(line) {
			said = line
		}
	}
	return said
}

// Complaint returns the last line of an ended boot that reports a problem, or "".
func Complaint(lines []string) string {
	if !ReadBoot(lines).Ended {
		return ""
	}
	for _, line := range slices.Backward(lines) {
		if complaint.MatchString(line) && !strings.Contains(line, "simulated: no effect") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// Repeated returns the last line of a log if it reports an error that was reported before, or "".
func Repeated(lines []string) string {
	last, times := "", 0
	for _, line := range slices.Backward(lines) {
		text := errorSaid.FindString(line)
		switch {
		case strings.TrimSpace(line) == "":
		case text == "":
			return ""
		case last == "":
			last, times = line, 1
		case text == errorSaid.FindString(last):
			times++
		}
		if times == 3 {
			return strings.TrimSpace(last)
		}
	}
	return ""
}

// Latest returns the last non-empty line of a log, which shows how far the boot has come; "" if all lines are empty.
func Latest(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// errorSaid matches the message of an error in a structured log.
var errorSaid = regexp.MustCompile(`level=ERROR msg="[^"]*"`)

// complaint matches a line with the typical words of a failing program.
var complaint = regexp.MustCompile(`(?i)^(\S+: )?(error|fatal|panic)\b|\b(cannot|could ?n[o']t|refused|denied|timed out)\b`)

// ended adds the last line of its output to a line about the end of a script.
func ended(text string, before []string) string {
	for _, line := range slices.Backward(before) {
		if line = strings.TrimSpace(line); line != "" && !beside.MatchString(line) {
			return text + ": " + line
		}
		if scriptFailed.MatchString(line) {
			break
		}
	}
	return text
}

// wrapper matches a failed line that only repeats the exit code of an earlier failure: casement's own script, or exit.
var wrapper = regexp.MustCompile(`^casement-\S+: line |: (exit|return)\b[^:]*$`)

// decisive adds to a failed line that only repeats an exit code the last informative line before it.
func decisive(failed string, before []string) string {
	if !wrapper.MatchString(failed) {
		return failed
	}
	for _, line := range slices.Backward(before) {
		if line = strings.TrimSpace(line); line != "" && !beside.MatchString(line) && !failedLine.MatchString(line) {
			return failed + ": " + line
		}
	}
	return failed
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// Explain returns the line that explains a cause of the boot. For a cause that only states that something failed, it is
// the last failure, which Notes then omits; for any other cause it is line.
func (b *Boot) Explain(c Cause, line string) string {
	n := len(b.Failed)
	if n == 0 || c.Name != CommandFailed && c.Name != AgentFailed {
		return line
	}
	line, b.Failed = b.Failed[n-1], b.Failed[:n-1]
	return line
}

// noEffect is the text in Notes for parts that the local plane accepted without an effect.
const noEffect = "had no effect (simulated)"

// Harmless reports whether a note of Notes reports no failure.
func Harmless(note string) bool { return strings.Contains(note, noEffect+": ") }

// mostNamed is the maximum number of items of one kind in Notes.
const mostNamed = 4

// Notes returns sentences about the boot: commands that failed, parts that had no effect and parts that were refused.
func (b Boot) Notes() []string {
	var out []string
	for _, f := range b.Failed[max(0, len(b.Failed)-mostNamed):] {
		out = append(out, "a command of the bootstrap data failed: "+f)
	}
	if n := len(b.Failed) - mostNamed; n > 0 {
		out = append(out, fmt.Sprintf("%d more failed before", n))
	}
	list := func(all []string, one, many string) {
		switch n := len(all); {
		case n == 1:
			out = append(out, "1 "+one+": "+all[0])
		case n > 0:
			named := strings.Join(all[:min(n, mostNamed)], ", ")
			if n > mostNamed {
				named += ", ..."
			}
			out = append(out, fmt.Sprintf("%d %s: %s", n, many, named))
		}
	}
	for _, c := range b.Complaints[max(0, len(b.Complaints)-mostNamed):] {
		out = append(out, "a program that the bootstrap data runs failed: "+c)
	}
	list(b.NoEffect, "thing "+noEffect, "things "+noEffect)
	list(b.NotSimulated, "thing is not simulated and failed", "things are not simulated and failed")
	return out
}
