//go:build linux

package plane_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/plane/supervisor"
)

// TestMain lets the test binary act as the program that a plane starts, which is itself the supervisor ("supervise DIR").
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "supervise":
		supervise(plane.Dir(os.Args[2]))
	default:
		os.Exit(m.Run())
	}
}

// supervise runs a plane with only the local Azure.
func supervise(dir plane.Dir) {
	if err := supervisor.Run(context.Background(), supervisor.Options{Dir: dir, Log: os.Stderr, AzureOnly: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
