package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/plane"
)

// maxClusterName is the longest cluster name. Labels are limited to 63 characters and Azure names to 80, including the
// suffixes that Cluster API and the provider append.
const maxClusterName = 44

// counts matches the names of variables whose values are numbers of machines.
var counts = regexp.MustCompile(`_MACHINE_COUNT$`)

// checkValues returns an error about the first template variable whose value no cluster can have.
func checkValues(template []byte, lookup func(string) (string, bool)) error {
	variables, err := flavors.Variables(template)
	if err != nil {
		return err
	}
	for _, v := range variables {
		value, ok := lookup(v.Name)
		if !ok || value == "" {
			continue
		}
		if problem := problemOf(v.Name, value); problem != "" {
			return app.Usagef("%s is %q: %s", v.Name, value, problem)
		}
	}
	return nil
}

// problemOf returns the reason why a variable cannot have a value, or "".
func problemOf(name, value string) string {
	switch {
	case name == "CLUSTER_NAME":
		if wrong := validation.IsDNS1035Label(value); len(wrong) > 0 {
			return "a cluster's name has lower case letters, digits and hyphens, and begins with a letter"
		}
		if len(value) > maxClusterName {
			return fmt.Sprintf("a cluster's name has at most %d characters", maxClusterName)
		}
	case name == "KUBERNETES_VERSION":
		if _, err := utilversion.ParseSemantic(value); err != nil || !strings.HasPrefix(value, "v") {
			return "a Kubernetes version is like " + kuberelease.Default
		}
	case counts.MatchString(name):
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return "a number of machines is 0 or more"
		}
	case name == "AZURE_SSH_PUBLIC_KEY":
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(value)); err != nil {
			return "it is no line of authorized_keys, such as ssh-ed25519 AAAA... you@host"
		}
	case name == "AZURE_SSH_PUBLIC_KEY_B64":
		line, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return "it is not base64"
		}
		return problemOf("AZURE_SSH_PUBLIC_KEY", string(line))
	}
	return ""
}

// sshKeys returns the SSH key in both forms that templates use. If the environment has only one form, the other is
// derived from it, so that machines of both systems get the key.
func sshKeys(env func(string) (string, bool)) map[string]string {
	const line, encoded = "AZURE_SSH_PUBLIC_KEY", "AZURE_SSH_PUBLIC_KEY_B64"
	key, has := env(line)
	data, hasEncoded := env(encoded)
	switch {
	case has && key != "" && (!hasEncoded || data == ""):
		return map[string]string{encoded: base64.StdEncoding.EncodeToString([]byte(key))}
	case hasEncoded && data != "" && (!has || key == ""):
		if text, err := base64.StdEncoding.DecodeString(data); err == nil {
			return map[string]string{line: strings.TrimSpace(string(text))}
		}
	}
	return nil
}

// SuggestUp adds to an error about missing values the hint that a local plane would provide them, if none is running.
func SuggestUp(ctx context.Context, a *app.App, err error) error {
	var missing *flavors.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	if _, down := plane.NewClient(a.Dir).Status(ctx); errors.Is(down, plane.ErrNotRunning) {
		return fmt.Errorf("%w, or start the local plane, which gives those of its Azure: casement up", err)
	}
	return err
}
