package cloud

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	guest "casement.dev/casement/internal/windows"
	"casement.dev/casement/internal/windows/bootstrap"
)

// BootstrapProblem says why a guest could not use its bootstrap data, and "" if nothing
// speaks against it. It never shows the data.
func BootstrapProblem(windows bool, data []byte) string {
	os := guest.OSLinux
	if windows {
		os = guest.OSWindows
	}
	var lines []string
	for _, problem := range bootstrap.Errors(bootstrap.Check(os, data)) {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "; ")
}

// Windows wants a password to make the administrator with. The image's agent
// replaces it at the first boot, and nobody ever learns this one.
const (
	passwordLength  = 123
	passwordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*()[]"
)

// Password makes one that Azure accepts.
func Password() (string, error) {
	var b strings.Builder
	for range passwordLength {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(passwordLetters))))
		if err != nil {
			return "", fmt.Errorf("make an administrator password: %w", err)
		}
		b.WriteByte(passwordLetters[i.Int64()])
	}
	return b.String(), nil
}
