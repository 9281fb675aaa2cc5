package kubeadm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check is one preflight check and its result.
type check struct {
	name string
	err  error
}

// preflight runs the checks of a join that mean something on a simulated
// machine: files that must not exist and the container runtime's endpoint.
func (j *join) preflight() error {
	checks := []check{{"CRI", j.checkCRI()}}
	for _, l := range j.Lacks {
		checks = append(checks, check{l.Check, errors.New(l.Reason)})
	}
	if !j.resume {
		files := []string{kubeletConf, bootstrapConf}
		if j.cfg.ControlPlane == nil {
			files = append(files, j.cfg.CACertPath)
		}
		for _, f := range files {
			checks = append(checks, check{"FileAvailable-" + strings.NewReplacer("/", "-", `\`, "-").Replace(f), j.checkFree(f)})
		}
		if j.OS != "windows" {
			checks = append(checks, check{"DirAvailable-" + strings.ReplaceAll(manifestsFolder, "/", "-"), j.checkEmpty(manifestsFolder)})
		}
	}
	var fatal []string
	for _, c := range checks {
		switch {
		case c.err == nil:
		case ignored(c.name, j.IgnorePreflight, j.cfg.IgnorePreflight):
			j.say("\t[WARNING %s]: %v", c.name, c.err)
		default:
			fatal = append(fatal, fmt.Sprintf("\t[ERROR %s]: %v", c.name, c.err))
		}
	}
	if len(fatal) == 0 {
		return nil
	}
	return fmt.Errorf("error execution phase preflight: [preflight] Some fatal errors occurred:\n%s\n"+
		"[preflight] If you know what you are doing, you can make a check non-fatal with "+
		"`--ignore-preflight-errors=...`", strings.Join(fatal, "\n"))
}

func ignored(name string, lists ...[]string) bool {
	for _, list := range lists {
		if slices.ContainsFunc(list, func(s string) bool { return s == "all" || strings.EqualFold(s, name) }) {
			return true
		}
	}
	return false
}

func (j *join) checkFree(guest string) error {
	if j.exists(guest) {
		return fmt.Errorf("%s already exists", guest)
	}
	return nil
}

func (j *join) checkEmpty(guest string) error {
	if entries, err := j.Files.ReadDir(guest); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", guest)
	}
	return nil
}

// checkCRI compares the configured endpoint with those the machine has.
func (j *join) checkCRI() error {
	socket := j.cfg.CRISocket
	if socket == "" || len(j.CRISockets) == 0 {
		return nil
	}
	for _, have := range j.CRISockets {
		if normalSocket(have) == normalSocket(socket) {
			return nil
		}
	}
	reason := "no such file or directory"
	switch windowsSocket := strings.HasPrefix(socket, "npipe:") || strings.HasPrefix(socket, `\\.\pipe\`); {
	case j.OS == "windows" && !windowsSocket:
		reason = "a Windows node talks to its container runtime through a named pipe"
	case j.OS == "windows":
		reason = "The system cannot find the file specified"
	case windowsSocket:
		reason = "a named pipe exists on Windows only"
	}
	return errors.New("could not connect to the container runtime: failed to create new CRI runtime service: " +
		fmt.Sprintf("validate service connection: %q: %s: set nodeRegistration.criSocket to %s", socket, reason, j.CRISockets[0]))
}

// normalSocket strips the scheme and makes the spellings of a named pipe equal.
func normalSocket(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "unix://"), "npipe:")
	s = strings.ReplaceAll(s, `\`, "/")
	if i := strings.Index(s, "/./pipe/"); i >= 0 {
		return "pipe:" + strings.ToLower(s[i+len("/./pipe/"):])
	}
	return strings.TrimPrefix(s, "/var") // /var/run is a link to /run
}
