package hostile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	full   = flag.Bool("full", false, "boot the machines, which takes minutes; make e2e-hostile does")
	filter = flag.String("only", "", "a part of the names of the documents to boot")
	runs   = flag.Duration("runs", 3*time.Second, "how long each guest runs before the process is stopped")
	within = flag.Duration("within", 2*time.Second, "the most that a stop and a delete may take on a quiet computer")
)

// mostMemory is the memory in bytes that guests may use in the process, in addition to the
// process's own.
const mostMemory = 600 << 20

const (
	group    = "/resourceGroups/hostile"
	networks = group + "/providers/Microsoft.Network"
	machines = group + "/providers/Microsoft.Compute/virtualMachines/"
	network  = "2024-05-01"
	compute  = "2024-07-01"
)

// control runs do beside a thread that only computes. It returns how long do took, and the factor
// by which the computer was slowed down meanwhile: the elapsed time of that thread for each second
// of processor time that it got. Other programs on the computer slow down both, but work that a
// guest does not end slows down only do.
func control(do func() time.Duration) (took time.Duration, slow float64) {
	begun, result := make(chan struct{}), make(chan float64)
	var stop atomic.Bool
	go func() {
		runtime.LockOSThread()
		before, since := threadTime(), time.Now()
		close(begun)
		for !stop.Load() { // uses the processor
		}
		result <- max(1, time.Since(since).Seconds()/max(1e-3, (threadTime()-before).Seconds()))
	}()
	<-begun
	took = do()
	stop.Store(true)
	return took, <-result
}

// threadTime returns the processor time that this thread has used.
func threadTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &used); err != nil {
		panic(err) // the clock of the own thread is always readable
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// rusageThread is RUSAGE_THREAD of getrusage(2), for which package syscall has no constant.
const rusageThread = 1

type object = map[string]any

// TestDocuments checks the documents themselves: there are enough of them, Azure accepts each, and
// no two are equal.
func TestDocuments(t *testing.T) {
	names, texts := map[string]bool{}, map[string]bool{}
	for _, d := range documents() {
		if len(d.data) > mostData || names[d.name] || texts[d.data] {
			t.Errorf("%s: %d bytes, again: %t, %t", d.name, len(d.data), names[d.name], texts[d.data])
		}
		names[d.name], texts[d.data] = true, true
	}
	if len(names) < 100 {
		t.Errorf("there are %d documents", len(names))
	}
}

// scene is a local Azure that is started and ended many times.
type scene struct {
	*testing.T
	*plane.Plane
	cmd *exec.Cmd
	out bytes.Buffer
}

// start starts the local Azure and waits until it answers.
func (s *scene) start() {
	s.Helper()
	s.out.Reset()
	s.cmd = exec.Command(plane.Binary(s.T, "casement"), "azure", "serve", "--state", s.Home)
	s.cmd.Env = append(os.Environ(), "KUBECONFIG=")
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	for range 600 {
		if out, err := s.Try(nil, "status", "-o", "json"); err == nil && strings.Contains(out, `"phase": "ready"`) &&
			strings.Contains(out, fmt.Sprintf(`"pid": %d`, s.cmd.Process.Pid)) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.T.Fatalf("the local Azure does not start: %s", &s.out)
}

// stop ends the local Azure and returns how long that took.
func (s *scene) stop() time.Duration {
	s.Helper()
	if s.cmd == nil {
		return 0
	}
	begin := time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	err := s.cmd.Wait()
	late.Stop()
	s.cmd = nil
	if err != nil {
		s.T.Errorf("the local Azure ended with %v: %s", err, &s.out)
	}
	return time.Since(begin)
}

// memory returns the process's peak memory since forget, and its current memory, in bytes.
func (s *scene) memory() (most, now int) {
	s.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && (f[0] == "VmHWM:" || f[0] == "VmRSS:") {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				s.T.Fatal(err)
			}
			if f[0] == "VmRSS:" {
				now = n << 10
			} else {
				most = n << 10
			}
		}
	}
	return most, now
}

// forget resets the kernel's record of the process's peak memory (proc_pid_clear_refs(5)).
func (s *scene) forget() {
	s.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		s.T.Fatal(err)
	}
}

func (s *scene) boot(name, image, data string) {
	s.Helper()
	part := strings.Split(image, ":")
	s.Put(networks+"/networkInterfaces/"+name, network, object{"location": "westeurope", "properties": object{
		"ipConfigurations": []object{{"name": "c", "properties": object{
			"subnet": object{"id": "/subscriptions/" + s.Subscription() + networks + "/virtualNetworks/v/subnets/s"}}}}}})
	profile := object{"computerName": name, "adminUsername": "capi", "adminPassword": "Correct-Horse-1",
		"customData": base64.StdEncoding.EncodeToString([]byte(data))}
	if image == windows {
		profile["windowsConfiguration"] = object{"provisionVMAgent": true}
	}
	vm := object{"location": "westeurope", "properties": object{
		"hardwareProfile": object{"vmSize": "Standard_D2s_v3"},
		"storageProfile": object{"osDisk": object{"createOption": "FromImage"},
			"imageReference": object{"publisher": part[0], "offer": part[1], "sku": part[2], "version": part[3]}},
		"osProfile": profile,
		"networkProfile": object{"networkInterfaces": []object{{
			"id":         "/subscriptions/" + s.Subscription() + networks + "/networkInterfaces/" + name,
			"properties": object{"primary": true, "deleteOption": "Delete"}}}}}}
	if image == flatcar {
		vm["plan"] = object{"publisher": part[0], "product": part[1], "name": part[2]}
	}
	s.Put(machines+name, compute, vm)
}

// gone waits until nothing of a machine remains, and returns how long that took.
func (s *scene) gone(name string) time.Duration {
	s.Helper()
	begin := time.Now()
	s.Azure(http.MethodDelete, machines+name, compute, nil)
	for time.Since(begin) < time.Minute {
		var list struct{ Value []struct{ Name string } }
		s.ARM(strings.TrimSuffix(machines, "/"), compute, &list)
		if !slices.ContainsFunc(list.Value, func(v struct{ Name string }) bool { return v.Name == name }) {
			if _, err := os.Stat(filepath.Join(s.Home, "vms", "hostile", name)); os.IsNotExist(err) {
				return time.Since(begin)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Errorf("%s is not gone after a minute", name)
	return time.Since(begin)
}

// neighbour is the custom data of a machine that must keep running during the whole test.
const neighbour = shebang + "echo fine > /fine\n"

// TestHostileDocuments boots each document on a separate machine beside a harmless machine.
func TestHostileDocuments(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it takes minutes; make e2e-hostile has it")
	}
	s := &scene{T: t, Plane: plane.New(t)}
	t.Cleanup(func() { s.stop() })
	s.start()
	s.Put(group, "2021-04-01", object{"location": "westeurope"})
	s.Put(networks+"/virtualNetworks/v", network, object{"location": "westeurope", "properties": object{
		"addressSpace": object{"addressPrefixes": []string{"10.0.0.0/16"}},
		"subnets":      []object{{"name": "s", "properties": object{"addressPrefix": "10.0.0.0/24"}}}}})
	s.boot("neighbour", linux, neighbour)
	var report strings.Builder
	table := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DOCUMENT\tMOST MIB\tSTOP\tDELETE\tBUSY\tTHE GUEST")
	count := 0
	for i, d := range documents() {
		if !strings.Contains(d.name, *filter) {
			continue
		}
		count++
		s.T = t
		t.Run(d.name, func(t *testing.T) {
			s.T = t
			name := fmt.Sprintf("vm-%d", i)
			_, own := s.memory()
			s.forget()
			s.boot(name, d.image, d.data)
			time.Sleep(*runs) // the flag sets the length of the run
			most, _ := s.memory()
			stopped, busyStop := control(s.stop)
			s.start()
			again, _ := s.memory()
			phase := s.phase(name)
			deleted, busyDelete := control(func() time.Duration { return s.gone(name) })
			most = max(most-own, again-own)
			fmt.Fprintf(table, "%s\t%d\t%.1f s\t%.1f s\t%.1f, %.1f\t%s\n", d.name, most>>20, stopped.Seconds(), deleted.Seconds(),
				busyStop, busyDelete, phase)
			if most > mostMemory {
				t.Errorf("it took %d MiB", most>>20)
			}
			if stopped.Seconds() > within.Seconds()*busyStop || deleted.Seconds() > within.Seconds()*busyDelete {
				t.Errorf("the stop took %s, the delete %s, while a thread that computes took %.1f and %.1f times its own", stopped, deleted,
					busyStop, busyDelete)
			}
			fine, err := os.ReadFile(filepath.Join(s.Home, "vms", "hostile", "neighbour", "rootfs", "fine"))
			if err != nil || string(fine) != "fine\n" {
				t.Errorf("the neighbour: %q, %v", fine, err)
			}
			if phase := s.phase("neighbour"); phase != "Running" {
				t.Errorf("the neighbour is %s", phase)
			}
		})
	}
	s.T = t
	table.Flush()
	t.Logf("%d documents\n%s", count, &report)
	if count == 0 {
		t.Error("no document has such a name")
	}
}

// phase returns the phase of a machine in the plane's status.
func (s *scene) phase(name string) string {
	s.Helper()
	var status struct {
		Guests []struct{ Name, Phase string }
	}
	if err := json.Unmarshal([]byte(s.Plane.Run(nil, "status", "-o", "json")), &status); err != nil {
		s.T.Fatal(err)
	}
	for _, g := range status.Guests {
		if g.Name == name {
			return g.Phase
		}
	}
	return "unknown"
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
