package cloud

import (
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

const (
	// firstLook is how long a virtual machine may take to become a node before its console
	// is read; each further read comes after twice the time, up to lastLook. The console of
	// a machine that has joined is read until its agent has ended, which is usually one
	// read.
	firstLook = time.Minute
	lastLook  = time.Hour
	// consoleLines is how many lines are searched from the console's end, lastLines how
	// many a message contains.
	consoleLines = 200
	lastLines    = 3
)

// BootstrapLook reports whether the console of a machine of some age is to be read now, and
// when to read it again, or 0 for never.
func BootstrapLook(age time.Duration) (now bool, again time.Duration) {
	switch {
	case age < firstLook:
		return false, firstLook - age
	case age > lastLook:
		return false, 0
	}
	return true, age
}

// BootstrapFailure returns the last problem on a console that explains why a bootstrap
// failed: a reason, and a message with the failed step, the last lines and the next step.
// It contains no secret. machine is the name of the Machine.
func BootstrapFailure(console, machine string) (reason, message string, found bool) {
	lines := cleaned(console)
	boot := cause.ReadBoot(lines)
	lines = lines[max(0, len(lines)-consoleLines):]
	c, line, ok := cause.Last(cause.Guest, lines)
	if !ok {
		return "", "", false
	}
	line = boot.Explain(c, line)
	message = fmt.Sprintf("the machine has not become a node: %s: %s; %s; see casement logs %s", c.Says, line, c.Fix, machine)
	for _, note := range boot.Notes() {
		message += "; " + note
	}
	return c.Name, message + "; last lines: " + strings.Join(lines[max(0, len(lines)-lastLines):], " | "), true
}

// BootstrapNotes returns which commands of the bootstrap data of a machine that has become
// a node failed or had no effect, by its console. ended reports that its agent has ended.
func BootstrapNotes(console string) (notes string, ended bool) {
	boot := cause.ReadBoot(cleaned(console))
	return strings.Join(boot.Notes(), "; "), boot.Ended
}

// cleaned returns the lines of a console that contain text, with secrets removed.
func cleaned(console string) []string {
	var lines []string
	var clean redact.Lines
	for line := range strings.Lines(console) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, clean.Text(line))
		}
	}
	return lines
}
