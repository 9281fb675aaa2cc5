package redact

import (
	"regexp"
	"strings"
)

// Lines removes the secrets from a text that is processed line by line. It remembers that a private key has begun,
// because no single line of a key resembles a secret, and that the last line was the name of a secret, whose value is
// on the next line. The zero value is ready; it is not safe for concurrent use.
type Lines struct{ key, named bool }

var (
	begun = regexp.MustCompile(privateBegin)
	ended = regexp.MustCompile(privateEnd)
	// nameLine matches a line that ends with the name for the value on the next line: a member of JSON or YAML, or an element.
	nameLine  = regexp.MustCompile(`(?i)(?:\b(?:name|key)["']?\s*[:=]\s*["']?|<)([\w:.-]+)["'>]?,?\s*$`)
	valueLine = regexp.MustCompile(`(?i)^(.*(?:\bvalue["']?\s*[:=]\s*["']?|<value>\s*))[^\s"'<][^"'<]*`)
	// keyLine matches a line of a private key after the prefix of a log: enough characters of the base64 alphabet, or
	// only such characters.
	keyLine = regexp.MustCompile(`^(?:|[A-Za-z0-9+/=]+|.*[\s"'|][A-Za-z0-9+/=]{16,}|.*(?:Proc-Type|DEK-Info): .*)["',]?$`)
)

// beginsEncoded reports whether a private key begins in the base64 on a line; it may continue on the next lines.
func beginsEncoded(line string) bool {
	if !longWord(line) {
		return false
	}
	for _, run := range base64Run.FindAllString(line, -1) {
		if text, ok := decoded(run[:len(run)-len(run)%4]); ok && begun.MatchString(text) {
			return true
		}
	}
	return false
}

// Text returns a line without secrets.
func (l *Lines) Text(line string) string {
	named := l.named
	name := nameLine.FindStringSubmatch(line)
	l.named = name != nil && (secretField(name[1]) || secretSegment(name[1]))
	if named {
		line = valueLine.ReplaceAllString(line, "${1}"+Mark)
	}
	begins := begun.MatchString(line) || beginsEncoded(line)
	switch end := ended.FindStringIndex(line); {
	case end != nil && l.key && !begins:
		l.key = false
		return Mark + Text(line[end[1]:])
	case begins:
		l.key = end == nil
	case l.key:
		if l.key = keyLine.MatchString(strings.TrimSpace(line)); l.key {
			return Mark
		}
	}
	return Text(line)
}
