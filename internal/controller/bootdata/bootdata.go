// Package bootdata passes bootstrap data to a guest: unchanged, or through a secret in the cluster's key vault, which
// it creates and deletes.
//
// It does not render bootstrap data. The controllers of machines, pools and clusters import it.
package bootdata

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	guest "casement.dev/casement/internal/windows"
	"casement.dev/casement/internal/windows/bootstrap"
)

// invalidBootstrapData is the reason of an Error for data that no guest could use.
const invalidBootstrapData = "InvalidBootstrapData"

// Error is the reason why there is no bootstrap data that a guest could use. It never contains the data. The secret is
// watched, so that a repair triggers a reconcile.
type Error struct {
	Reason, Message string
	// After is the time until the next attempt without an event; 0 means that only a change helps.
	After time.Duration
}

func (e *Error) Error() string { return e.Message }

// rendered reads the bootstrap data from the secret of the bootstrap provider. The error is
// an *Error if the user has to create or repair the secret.
func rendered(ctx context.Context, c client.Reader, key client.ObjectKey, windows bool) ([]byte, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, &Error{Reason: infrav1.WaitingForBootstrapDataReason,
			Message: fmt.Sprintf("secret %s with the bootstrap data does not exist", key)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the bootstrap data in secret %s: %w", key, err)
	}
	data, ok := secret.Data["value"]
	if !ok {
		return nil, &Error{Reason: infrav1.WaitingForBootstrapDataReason, Message: fmt.Sprintf("secret %s has no key value", key)}
	}
	if problem := bootstrapProblem(windows, data); problem != "" {
		return nil, &Error{Reason: invalidBootstrapData, Message: fmt.Sprintf("secret %s: %s", key, problem)}
	}
	return data, nil
}

// bootstrapProblem returns the reason why a guest could not use its bootstrap data, or "". It never contains the data.
func bootstrapProblem(windows bool, data []byte) string {
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

// token matches a bootstrap token. Source: https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens.
var token = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)

// Meaning returns the part of bootstrap data that is the same in every rendering: the data without its bootstrap
// tokens, which the bootstrap provider renews every few minutes. Data that is not text may contain a token anywhere;
// for such data it returns nil.
func Meaning(data []byte) []byte {
	if !utf8.Valid(data) {
		return nil
	}
	return token.ReplaceAll(data, nil)
}

// Azure requires a password for the administrator of a Windows VM. The image's agent replaces it at the first boot, and
// it is never shown.
const (
	passwordLength  = 123
	passwordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*()[]"
)

// Password returns a random password that Azure accepts.
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
