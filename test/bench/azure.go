package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/process"
)

// azureEnv is the environment variable with the state directory of the local Azure. If it is set,
// the bench's process only serves the local Azure, so that the memory of the local Azure is
// measured separately.
const azureEnv = "CASEMENT_BENCH_AZURE"

// serveAzure is the work of that process; it returns when standard input ends.
func serveAzure(dir string) error {
	s, err := azuresim.New(azuresim.Config{Dir: dir})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			debug.FreeOSMemory()
			fmt.Println()
		}
	}()
	fmt.Println(l.Addr())
	return errors.Join(s.Serve(ctx, l), s.Close())
}

// load is a client of the local Azure with several connections.
type load struct {
	http    *http.Client
	base    string
	token   string
	workers int
}

const workers = 16

// azureLoad fills a local Azure with VMs, each with its interface and disk, and measures it. No
// guest boots, because only the emulator's API is measured.
func azureLoad(show func(row), home string, vms int) error {
	dir := filepath.Join(home, "azure")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), azureEnv+"="+dir), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	answers := bufio.NewReader(out)
	address, err := answers.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the local Azure did not start: %w", err)
	}
	l, err := connect(strings.TrimSpace(address), filepath.Join(dir, "ca.crt"))
	if err != nil {
		return err
	}
	collected := func() (float64, error) {
		if _, err := fmt.Fprintln(in); err != nil {
			return 0, err
		}
		_, err := answers.ReadString('\n')
		return resident(cmd.Process.Pid), err
	}
	empty, err := collected()
	if err != nil {
		return err
	}
	processor := func(since time.Duration) time.Duration { return process.CPU(cmd.Process.Pid) - since }
	used := processor(0)
	begun := time.Now()
	puts, err := l.fill(vms)
	if err != nil {
		return err
	}
	filled := time.Since(begun)
	show(row{"local Azure: processor of a PUT", "us", float64(processor(used).Microseconds()) / float64(len(puts)), 0, ""})
	note := fmt.Sprintf("%d VMs, as many interfaces and disks", vms)
	show(row{"local Azure: PUT of VM or interface, median", "ms", ms(puts, 50), 0, note})
	show(row{"local Azure: PUT of VM or interface, 99 of 100", "ms", ms(puts, 99), 0,
		fmt.Sprintf("%.0f PUT/s", float64(len(puts))/filled.Seconds())})
	used = processor(0)
	gets, took, err := l.many(10*time.Second, func(random *rand.Rand) (string, string, string) {
		return http.MethodGet, vmID(random.IntN(vms)), ""
	})
	if err != nil {
		return err
	}
	show(row{"local Azure: GET of a VM per second, at least", "/s", float64(len(gets)) / took.Seconds(), 5000,
		"more is better; the client shares the cores"})
	show(row{"local Azure: processor of a GET of a VM", "us", float64(processor(used).Microseconds()) / float64(len(gets)), 0, ""})
	show(row{"local Azure: GET of a VM, median", "ms", ms(gets, 50), 0, fmt.Sprintf("%d connections", workers)})
	show(row{"local Azure: GET of a VM, 99 of 100", "ms", ms(gets, 99), 0, ""})
	l.workers = 1
	lists, _, err := l.many(5*time.Second, func(*rand.Rand) (string, string, string) {
		return http.MethodGet, subscription + "/providers/Microsoft.Compute/virtualMachines", ""
	})
	if err != nil {
		return err
	}
	show(row{"local Azure: page of 1,000 VMs, median", "ms", ms(lists, 50), 0, "one connection"})
	peak := resident(cmd.Process.Pid)
	full, err := collected()
	if err != nil {
		return err
	}
	show(row{"local Azure: memory per resource", "KiB", (full - empty) / 1024 / float64(3*vms), 10,
		fmt.Sprintf("%.0f MiB in all after a collection, %.0f MiB under load", full/(1<<20), peak/(1<<20))})
	return nil
}

const (
	subscription = "/subscriptions/" + azuresim.DefaultSubscription
	group        = subscription + "/resourceGroups/bench"
	subnetID     = group + "/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
)

func vmID(i int) string {
	return fmt.Sprintf("%s/providers/Microsoft.Compute/virtualMachines/vm%d", group, i)
}

func nicID(i int) string {
	return fmt.Sprintf("%s/providers/Microsoft.Network/networkInterfaces/vm%d", group, i)
}

func connect(address, ca string) (*load, error) {
	data, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	secret, err := os.ReadFile(filepath.Join(filepath.Dir(ca), "client-secret"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data)
	l := &load{base: "https://" + address, workers: workers, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: workers, TLSClientConfig: &tls.Config{RootCAs: roots}},
	}}
	resp, err := l.http.PostForm(l.base+"/"+azuresim.DefaultTenant+"/oauth2/v2.0/token", map[string][]string{
		"grant_type": {"client_credentials"}, "client_id": {azuresim.DefaultClient},
		"client_secret": {strings.TrimSpace(string(secret))}, "scope": {"https://management.azure.com/.default"},
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body)
	_, rest, _ := strings.Cut(string(data), `"access_token":"`)
	l.token, _, _ = strings.Cut(rest, `"`)
	return l, err
}

// do sends one request and returns the duration of the answer.
func (l *load) do(method, path, body string) (time.Duration, error) {
	r, err := http.NewRequest(method, l.base+path+"?api-version=2024-07-01", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	r.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	resp, err := l.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.300s", method, path, resp.StatusCode, data)
	}
	return time.Since(begun), err
}

// fill creates the network and the VMs, and returns the duration of each PUT.
func (l *load) fill(vms int) ([]time.Duration, error) {
	for _, r := range [][2]string{
		{group, `{"location":"westeurope"}`},
		{strings.TrimSuffix(subnetID, "/subnets/s"), `{"location":"westeurope",` +
			`"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8"]},"subnets":[{"name":"s",` +
			`"properties":{"addressPrefix":"10.0.0.0/16"}}]}}`},
	} {
		if _, err := l.do(http.MethodPut, r[0], r[1]); err != nil {
			return nil, err
		}
	}
	return l.each(vms, func(i int) ([]time.Duration, error) {
		nic, err := l.do(http.MethodPut, nicID(i), fmt.Sprintf(`{"location":"westeurope",`+
			`"tags":{"sigs.k8s.io_cluster-api-provider-azure_cluster_bench":"owned"},`+
			`"properties":{"ipConfigurations":[{"name":"pipConfig","properties":{"primary":true,`+
			`"privateIPAllocationMethod":"Dynamic","subnet":{"id":%q}}}]}}`, subnetID))
		if err != nil {
			return nil, err
		}
		vm, err := l.do(http.MethodPut, vmID(i),
			fmt.Sprintf(
				`{"location":"westeurope","tags":{"sigs.k8s.io_cluster-api-provider-azure_cluster_bench":"owned",
					"sigs.k8s.io_cluster-api-provider-azure_role":"node"},
			"properties":{"hardwareProfile":{"vmSize":"Standard_B1s"},
				"storageProfile":{"imageReference":{"publisher":"MicrosoftWindowsServer","offer":"WindowsServer",
				"sku":"2019-Datacenter","version":"latest"},"osDisk":{"name":"vm%[1]d_OSDisk","osType":"Windows",
				"createOption":"FromImage","deleteOption":"Delete","diskSizeGB":128,
				"managedDisk":{"storageAccountType":"Premium_LRS"}}},
			"osProfile":{"computerName":"vm%[1]d","adminUsername":"capi","adminPassword":"Correct-Horse-1",
				"customData":%[2]q,"windowsConfiguration":{"enableAutomaticUpdates":false}},
			"networkProfile":{"networkInterfaces":[{"id":%[3]q,"properties":{"primary":true,"deleteOption":"Delete"}}]}}}`,
				i, customData, nicID(i)))
		return []time.Duration{nic, vm}, err
	})
}

// customData has the size of a joining node's custom data, 4 KiB.
var customData = strings.Repeat("IyBjbG91ZC1jb25maWcK", 4096/20)

// each runs fn for 0 to n-1 on all connections.
func (l *load) each(n int, fn func(i int) ([]time.Duration, error)) ([]time.Duration, error) {
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range n {
			next <- i
		}
	}()
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	for range l.workers {
		wg.Go(func() {
			for i := range next {
				took, err := fn(i)
				mu.Lock()
				all = append(all, took...)
				failed = cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return all, failed
}

// many sends requests on all connections for some time.
func (l *load) many(during time.Duration, next func(*rand.Rand) (method, path, body string)) ([]time.Duration, time.Duration, error) {
	begun := time.Now()
	all, err := l.each(l.workers, func(i int) ([]time.Duration, error) {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		var out []time.Duration
		for time.Since(begun) < during {
			took, err := l.do(next(random))
			if err != nil {
				return out, err
			}
			out = append(out, took)
		}
		return out, nil
	})
	return all, time.Since(begun), err
}

// ms returns a percentile in milliseconds.
func ms(all []time.Duration, percent int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[(len(all)-1)*percent/100].Microseconds()) / 1000
}
