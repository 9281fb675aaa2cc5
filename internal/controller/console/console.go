// Package console explains, by a serial console, why a machine has not become a node, and decides when a console is read again.
//
// It does not read consoles itself: the session of package cloud does. The controllers of machines and pools import it.
package console

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

const (
	// firstLook is the time that a virtual machine has to become a node before its console is read; the interval
	// doubles with each read, up to lastLook. The console of a machine that has joined is read until its agent has
	// ended, which usually takes one read.
	firstLook = time.Minute
	lastLook  = time.Hour
	// consoleLines is the number of lines that are searched at the console's end, and lastLines the number of lines in a message.
	consoleLines = 200
	lastLines    = 3
)

// Looks remembers when the consoles of virtual machines were read, so that a pass reads one only when a read is due:
// many events trigger passes, and each read is a call to Azure. The zero value is empty. It is safe for concurrent use.
type Looks struct {
	mu   sync.Mutex
	last map[string]reading
}

// reading has the time of the last read of a console, and the time until which it is remembered.
type reading struct{ at, until time.Time }

// Due reports whether the console of a virtual machine should be read now, and the time until the next read, or 0 for
// none. A console that is due is recorded as read. since is the time at which the machine began to boot.
func (l *Looks) Due(id string, since, now time.Time) (due bool, again time.Duration) {
	switch age := now.Sub(since); {
	case age < firstLook:
		return false, firstLook - age
	case age > lastLook:
		return false, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[id]; ok && !last.at.Before(since) {
		// The next read is due when the machine is twice as old as at the last one.
		if next := last.at.Sub(since); now.Sub(last.at) < next {
			return false, next - now.Sub(last.at)
		}
	}
	if l.last == nil {
		l.last = map[string]reading{}
	}
	maps.DeleteFunc(l.last, func(_ string, k reading) bool { return k.until.Before(now) })
	l.last[id] = reading{at: now, until: since.Add(lastLook)}
	return true, now.Sub(since)
}

// Failure returns the last problem on a console that explains why a bootstrap failed: a reason, and a message with the
// failed step, the last lines and the next step. The message contains no secret. machine is the name of the Machine.
func Failure(text, machine string) (reason, message string, found bool) {
	lines := cleaned(text)
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

// Notes returns a text about the bootstrap commands that failed or had no effect, from the console of a machine that
// has become a node. ended is true if the machine's agent has ended.
func Notes(text string) (notes string, ended bool) {
	boot := cause.ReadBoot(cleaned(text))
	return strings.Join(boot.Notes(), "; "), boot.Ended
}

// cleaned returns the non-empty lines of a console with secrets removed.
func cleaned(text string) []string {
	var lines []string
	var clean redact.Lines
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, clean.Text(line))
		}
	}
	return lines
}
