package check

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// mapped returns the size of the mapped parts of files, as Linux counts it for this process.
func mapped(t *testing.T) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	if _, err := fmt.Sscanf(rest, "%d kB", &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes
}

// TestForgetStart: less of the program file is mapped afterwards, and the program continues.
func TestForgetStart(t *testing.T) {
	before := mapped(t)
	forgetStart()
	if after := mapped(t); after >= before {
		t.Errorf("%d kB of files are mapped, and %d before", after, before)
	}
}
