package stranger

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

// strangerUID is the UID of the user that owns nothing (65534 in most distributions).
const strangerUID = 65534

// taskEnv is the environment variable with the path of a child process's task.
const taskEnv = "CASEMENT_STRANGER_TASK"

func TestMain(m *testing.M) {
	if file := os.Getenv(taskEnv); file != "" {
		if err := attack(file); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestStranger runs a cluster and lets a process make all attempts: as another user, if the test
// may start a process as one, and as its own user with the files that another user could create.
func TestStranger(t *testing.T) {
	p := plane.New(t)
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	var status struct {
		PID   int
		Azure struct{ Endpoint, CAFile, TenantID, SubscriptionID, ClientID string }
	}
	if err := json.Unmarshal([]byte(p.Run(nil, "status", "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	listeners := listening(t, processesBelow(t, status.PID))
	if len(listeners) < 10 {
		t.Fatalf("only %d listeners of the plane were found: %v", len(listeners), listeners)
	}
	work := task{Listeners: listeners, Endpoint: status.Azure.Endpoint, Tenant: status.Azure.TenantID,
		Subscription: status.Azure.SubscriptionID, ClientID: status.Azure.ClientID}
	t.Run("forged tokens", func(t *testing.T) { try(t, work, nil) })
	t.Run("a node of the cluster", func(t *testing.T) { nodesAreApart(t, p.Home, listeners) })
	t.Run("another user", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root may become another user")
		}
		work.Files = filesBelow(t, p.Home)
		try(t, work, &syscall.Credential{Uid: strangerUID, Gid: strangerUID})
	})
}

// nodesAreApart requests the pods of every kubelet with the certificate of a node, which must be
// refused, and with the certificate of the API server, which must be accepted.
func nodesAreApart(t *testing.T, home string, listeners []string) {
	asked := 0
	for _, address := range listeners {
		if !strings.HasSuffix(address, ":10250") {
			continue
		}
		asked++
		for _, who := range []struct {
			certificate, key string
			want             int
		}{
			{"kubelet-client-current.pem", "kubelet-client-current.pem", http.StatusForbidden},
			{"apiserver-kubelet-client.crt", "apiserver-kubelet-client.key", http.StatusOK},
		} {
			certificate, err := tls.LoadX509KeyPair(below(t, home, who.certificate), below(t, home, who.key))
			if err != nil {
				t.Fatal(err)
			}
			// The kubelet's own certificate is self-signed, as with kubeadm.
			tr := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true}}
			defer tr.CloseIdleConnections()
			answer, err := (&http.Client{Transport: tr}).Get("https://" + address + "/pods")
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != who.want {
				t.Errorf("%s with %s: status %d, want %d", address, who.certificate, answer.StatusCode, who.want)
			}
		}
	}
	if asked < 2 {
		t.Errorf("%d kubelets were asked", asked)
	}
}

// below returns the path of the file of a guest with a name.
func below(t *testing.T, home, name string) string {
	t.Helper()
	for _, file := range filesBelow(t, filepath.Join(home, "vms")) {
		if filepath.Base(file) == name {
			return file
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// try runs the attack in a separate process and reports its results.
func try(t *testing.T, work task, as *syscall.Credential) {
	t.Helper()
	dir, err := os.MkdirTemp("", "stranger") // other users cannot enter the folder of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, err := json.Marshal(work)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program, file := filepath.Join(dir, "stranger"), filepath.Join(dir, "task")
	for _, err := range []error{os.WriteFile(program, self, 0o755), os.WriteFile(file, data, 0o644),
		os.Chmod(program, 0o755), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{taskEnv + "=" + file}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the attack could not be run: %v", err)
	}
	var got report
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, line := range got.Got {
		t.Error(line)
	}
	if got.Tried < 100 {
		t.Errorf("only %d things were tried", got.Tried)
	}
	t.Logf("%d listeners, %d things tried", len(work.Listeners), got.Tried)
}

// filesBelow returns the files, sockets and directories of a state directory.
func filesBelow(t *testing.T, home string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if err == nil || os.IsNotExist(err) { // a file may be deleted meanwhile
			out = append(out, path)
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// processesBelow returns the IDs of a process and its descendants.
func processesBelow(t *testing.T, root int) map[int]bool {
	t.Helper()
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		rest := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		parents[pid], _ = strconv.Atoi(rest[1])
	}
	out := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for pid, parent := range parents {
			if out[parent] && !out[pid] {
				out[pid], grown = true, true
			}
		}
	}
	return out
}

// listening returns the TCP addresses on which processes listen, from /proc (proc(5)).
func listening(t *testing.T, processes map[int]bool) (out []string) {
	t.Helper()
	sockets := map[string]bool{}
	for pid := range processes {
		links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:[") {
				sockets[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
			}
		}
	}
	data, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n")[1:] {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "0A" || !sockets[f[9]] {
			continue
		}
		out = append(out, address(f[1]))
	}
	if six, err := os.ReadFile("/proc/net/tcp6"); err == nil {
		for _, line := range strings.Split(string(six), "\n")[1:] {
			if f := strings.Fields(line); len(f) >= 10 && f[3] == "0A" && sockets[f[9]] {
				t.Errorf("the plane listens on an address of IPv6: %s", f[1])
			}
		}
	}
	return out
}

// address decodes an address of /proc/net/tcp, which is in the machine's byte order.
func address(hex string) string {
	host, port, _ := strings.Cut(hex, ":")
	n, _ := strconv.ParseUint(host, 16, 32)
	p, _ := strconv.ParseUint(port, 16, 16)
	var b strings.Builder
	for i := range 4 {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.FormatUint(n>>(8*i)&0xff, 10))
	}
	return b.String() + ":" + strconv.FormatUint(p, 10)
}
