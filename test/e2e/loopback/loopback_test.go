package loopback

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"casement.dev/casement/internal/testing/plane"
)

// insideEnv is the variable that marks the process inside the network namespace.
const insideEnv = "CASEMENT_LOOPBACK_INSIDE"

// managedIdentity is a cluster with a managed identity. It once made the manager connect to
// 169.254.169.254, which on a virtual machine of Azure is the machine's own metadata service.
const managedIdentity = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: managed, namespace: default}
spec:
  type: UserAssignedMSI
  clientID: 11111111-2222-3333-4444-555555555555
  tenantID: 11111111-2222-3333-4444-666666666666
  allowedNamespaces: {}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: managed, namespace: default}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: managed}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: managed, namespace: default}
spec:
  location: westeurope
  subscriptionID: 00000000-0000-0000-0000-000000000000
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: managed}
`

// TestNothingLeavesLoopback starts a plane and a cluster with only the loopback interface. The
// kernel counts packets without a route.
func TestNothingLeavesLoopback(t *testing.T) {
	if os.Getenv(insideEnv) == "" {
		apart(t, syscall.CLONE_NEWNET)
		return
	}
	prepare(t)
	before := probe(t)
	p := plane.New(t)
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run([]byte(managedIdentity), "kubectl", "apply", "-f", "-")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	p.Run(nil, "kubectl", "wait", "azurecluster", "managed", "--for", "condition=Ready=False", "--timeout", "1m")
	for _, args := range [][]string{{"why", "demo"}, {"why", "managed"}, {"doctor", "demo"},
		{"support", "demo", "--file", t.TempDir() + "/demo.tar.gz"}} {
		p.Everything(args...)
	}
	if n := tried(t) - before; n > 0 {
		t.Errorf("%d attempts to leave loopback", n)
	}
}

// TestFewWatches starts a plane and a cluster as a user who may have only one inotify instance, and
// checks that both work without more.
func TestFewWatches(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it takes a minute; make e2e-hostile has it")
	}
	if os.Getenv(insideEnv) == "" {
		apart(t, syscall.CLONE_NEWUSER)
		return
	}
	// The limit of a user namespace (namespaces(7)) applies in addition to
	// fs.inotify.max_user_instances.
	if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	first, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(first)
	if _, err := unix.InotifyInit1(unix.IN_CLOEXEC); err != unix.EMFILE {
		t.Fatalf("a second instance: %v; a test without a bound could not fail", err)
	}
	p := plane.New(t)
	p.Run(nil, "up")
	p.Create("demo", "default")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
}

// apart runs the test again in new namespaces, and in a new user namespace if this user may not
// create the others without it.
func apart(t *testing.T, namespaces uintptr) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=20m", fmt.Sprintf("-full=%t", *full))
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if os.Getuid() != 0 || namespaces&syscall.CLONE_NEWUSER != 0 {
		one := func(id int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = one(os.Getuid()), one(os.Getgid())
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("this user may make no such namespace: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// prepare enables the loopback interface. There is no other interface and no route.
func prepare(t *testing.T) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}

// probe tries to leave loopback by UDP and TCP, because the test would pass if nothing were
// counted. It returns the count.
func probe(t *testing.T) int {
	for _, network := range []string{"udp4", "tcp4"} {
		before := tried(t)
		if c, err := net.Dial(network, "169.254.169.254:80"); err == nil {
			c.Close()
			t.Fatalf("%s to 169.254.169.254 has a route", network)
		}
		if tried(t) == before {
			t.Fatalf("%s that leaves loopback is not counted", network)
		}
	}
	return tried(t)
}

// tried returns the number of packets that had no route out of this network (OutNoRoutes of RFC
// 4293, in /proc/net/snmp).
func tried(t *testing.T) int {
	data, err := os.ReadFile("/proc/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if fields[0] != "Ip:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		count, err := strconv.Atoi(fields[slices.Index(names, "OutNoRoutes")])
		if err != nil {
			t.Fatal(err)
		}
		return count
	}
	t.Fatal("/proc/net/snmp has no figures of IP")
	return 0
}
