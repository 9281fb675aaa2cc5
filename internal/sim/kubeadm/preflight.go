package kubeadm

import (
	"cmp"
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

// minCores and minMemoryMB are the minimum size of a control plane machine. Source: kubernetes
// cmd/kubeadm/app/constants/constants.go.
const minCores, minMemoryMB = 2, 1700

// nodeChecks returns the checks of every machine that make sense for a simulated one. They accept
// the files of an interrupted run. Source: kubernetes cmd/kubeadm/app/preflight/checks.go,
// addCommonChecks.
func (j *join) nodeChecks(socket string) []check {
	checks := []check{{"CRI", j.checkCRI(socket)}}
	for _, l := range j.Lacks {
		checks = append(checks, check{l.Check, errors.New(l.Reason)})
	}
	if !j.resume {
		checks = append(checks, j.checkPorts(10250)...)
	}
	return checks
}

// controlPlaneChecks returns the checks of a machine that joins the control plane. Source:
// kubernetes cmd/kubeadm/app/preflight/checks.go, InitNodeChecks.
func (j *join) controlPlaneChecks(apiServer int) []check {
	var checks []check
	if j.Cores > 0 && j.Cores < minCores {
		checks = append(checks, check{"NumCPU", fmt.Errorf("the number of available CPUs %d is less than the required %d", j.Cores, minCores)})
	}
	if mb := int64(j.MemoryMiB) << 20 / 1_000_000; mb > 0 && mb < minMemoryMB {
		checks = append(checks, check{"Mem", fmt.Errorf("the system RAM (%d MB) is less than the minimum %d MB", mb, minMemoryMB)})
	}
	if j.resume {
		return checks
	}
	checks = append(checks, j.checkPorts(apiServer, 10259, 10257, 2379, 2380)...)
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		checks = append(checks, j.checkFree(manifestsFolder+"/"+component+".yaml"))
	}
	return checks
}

// joinChecks returns the checks of a join. Source: kubernetes cmd/kubeadm/app/preflight/checks.go,
// JoinNodeChecks.
func (j *join) joinChecks() []check {
	checks := j.nodeChecks(j.cfg.CRISocket)
	if !j.resume {
		files := []string{kubeletConf, bootstrapConf}
		if j.cfg.ControlPlane == nil {
			files = append(files, j.cfg.CACertPath)
		}
		for _, f := range files {
			checks = append(checks, j.checkFree(f))
		}
		if j.OS != "windows" {
			checks = append(checks, j.checkEmpty(manifestsFolder))
		}
	}
	if cp := j.cfg.ControlPlane; cp != nil {
		checks = append(checks, j.controlPlaneChecks(cmp.Or(int(cp.BindPort), apiServerPort))...)
	}
	return checks
}

// apiServerPort is the default port of an API server.
const apiServerPort = 6443

// preflight returns an error with the failed checks, and prints those that are ignored as warnings.
func (j *join) preflight(checks []check, ignore []string) error {
	var fatal []string
	for _, c := range checks {
		switch {
		case c.err == nil:
		case ignored(c.name, j.IgnorePreflight, ignore):
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

// label returns the name of a check of a path.
func label(kind, path string) string {
	return kind + "-" + strings.NewReplacer("/", "-", `\`, "-").Replace(path)
}

func (j *join) checkFree(guest string) check {
	c := check{name: label("FileAvailable", guest)}
	if j.exists(guest) {
		c.err = fmt.Errorf("%s already exists", guest)
	}
	return c
}

func (j *join) checkEmpty(guest string) check {
	c := check{name: label("DirAvailable", guest)}
	if entries, err := j.Files.ReadDir(guest); err == nil && len(entries) > 0 {
		c.err = fmt.Errorf("%s is not empty", guest)
	}
	return c
}

func (j *join) checkPorts(ports ...int) []check {
	var checks []check
	for _, port := range ports {
		if j.PortTaken != nil && j.PortTaken(port) {
			//lint:ignore ST1005 the words of kubeadm
			checks = append(checks, check{fmt.Sprintf("Port-%d", port), fmt.Errorf("Port %d is in use", port)})
		}
	}
	return checks
}

// checkCRI returns an error unless the machine has the configured endpoint.
func (j *join) checkCRI(socket string) error {
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

// normalSocket returns an endpoint without its scheme and with one spelling of a named pipe.
func normalSocket(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "unix://"), "npipe:")
	s = strings.ReplaceAll(s, `\`, "/")
	if i := strings.Index(s, "/./pipe/"); i >= 0 {
		return "pipe:" + strings.ToLower(s[i+len("/./pipe/"):])
	}
	return strings.TrimPrefix(s, "/var") // /var/run is a link to /run
}
