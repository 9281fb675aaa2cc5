package cloud

import (
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

const (
	// firstLook is how long a virtual machine may take to become a node before its
	// console is read; each further look comes after twice the time, up to lastLook.
	// The console of a machine that has joined is read until its agent has ended, which is
	// once as a rule.
	firstLook = time.Minute
	lastLook  = time.Hour
	// consoleLines are looked at from the console's end, and lastLines shown.
	consoleLines = 200
	lastLines    = 3
)

// BootstrapLook reports whether the console of a machine of some age is to be read now, and
// when to look again, 0 for not at all.
func BootstrapLook(age time.Duration) (now bool, again time.Duration) {
	switch {
	case age < firstLook:
		return false, firstLook - age
	case age > lastLook:
		return false, 0
	}
	return true, age
}

// BootstrapFailure finds the last thing on a console that explains why a bootstrap
// failed, and says what failed, the last lines and the next step. It shows no secret.
// machine is the name of the Machine.
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

// BootstrapNotes says of the console of a machine that has become a node which commands of
// its bootstrap data failed and what had no effect. ended says that its agent has ended.
func BootstrapNotes(console string) (notes string, ended bool) {
	boot := cause.ReadBoot(cleaned(console))
	return strings.Join(boot.Notes(), "; "), boot.Ended
}

// cleaned returns the lines of a console that say something, without secrets.
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
