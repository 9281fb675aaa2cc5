package app

import "fmt"

// Exit codes of every command.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitTimeout = 3
	// ExitInterrupted is the exit code of a program that SIGINT ended, as shells report it: 128 plus the signal's number.
	ExitInterrupted = 130
)

// UsageError is an error in the command line's arguments or flags.
type UsageError struct{ error }

func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// ExitError contains the exit code of a child program, such as kubectl, which becomes
// casement's own.
type ExitError struct{ Code int }

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }
