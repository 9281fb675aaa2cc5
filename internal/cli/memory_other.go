//go:build !linux

package cli

// forgetStart does nothing: other systems do not count pages of the program file as memory of the process.
func forgetStart() {}
