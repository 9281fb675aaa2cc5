package azuremachine

import (
	"strings"

	"casement.dev/casement/internal/windows"
	"casement.dev/casement/internal/windows/bootstrap"
)

// checkBootstrapData says why a guest could not use its bootstrap data, and "" if
// nothing speaks against it. It never shows the data.
func (s *scope) checkBootstrapData(data []byte) string {
	os := windows.OSLinux
	if s.windows() {
		os = windows.OSWindows
	}
	var lines []string
	for _, problem := range bootstrap.Errors(bootstrap.Check(os, data)) {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "; ")
}
