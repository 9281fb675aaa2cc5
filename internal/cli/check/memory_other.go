//go:build !linux

package check

// forgetStart does nothing: other systems do not count pages of the program file as memory of the process.
func forgetStart() {}
