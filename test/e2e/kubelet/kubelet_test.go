package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/sim/kubelet"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/sim/stub"
	"casement.dev/casement/internal/testing/guesttree"
)

var (
	full    = flag.Bool("full", false, "do it, which takes minutes; make e2e-kubelet does")
	program = flag.String("hollow", "../../../bin/hollow", "the hollow node, as make e2e-kubelet builds it")
	verbose = flag.Bool("differences", false, "print each difference")
	only    = flag.String("only", "", "the pairs whose names match this expression, and no other comparison")
)

// The two nodes. Each has a namespace with its name, because the pods of a pair have the same name.
const (
	actual    = "actual"
	simulated = "simulated"
)

// The size of both machines.
const (
	cores     = 4
	memoryMiB = 8192
	diskGiB   = 30
)

// departures are the pairs of pods that may differ, with the reasons.
var departures = map[string]string{
	"dead-exec":        "the simulation does not ask commands about programs that do not run",
	"unready-exec":     "the simulation does not ask commands about programs that do not run",
	"hook-start-fails": "the simulation does not ask commands about programs that do not run",
	"static":           "events of static pods are not written: at boot there is no API server that takes them",
	"guaranteed-least": "there are no cgroups that would keep the least limit from being shown",
	"init-unknown":     "init containers whose program is not known end at once in the simulation",
	"extended":         "the fake container manager gives no devices",
	"message-fallback": "the fake runtime writes no logs",
}

// startUp is the time that pods have to start before some are changed. settle is the least time
// that a pair runs, so that it reaches deadlines and back-offs. patience is the time that a
// difference may last. Pairs are created in groups with a respite between them, because client-go
// drops events if there are too many.
const (
	group    = 50
	respite  = 4 * time.Second
	startUp  = 12 * time.Second
	settle   = 25 * time.Second
	patience = 75 * time.Second
)

func TestPairs(t *testing.T) {
	if !*full {
		t.Skip("needs bin/hollow, the real kubelet: make e2e-kubelet")
	}
	client, servers := start(t)
	pods := readPods(t)
	late := func(name string) bool { return strings.HasPrefix(name, "late") }
	for i, name := range slices.Sorted(maps.Keys(pods)) {
		if i%group == group-1 {
			wait(t.Context(), respite)
		}
		if !late(name) {
			create(t, client, pods, name)
		}
	}
	pods["static"] = nil // each node reads this pod from its files
	change(t, client, pods)
	for name := range pods {
		if late(name) {
			create(t, client, pods, name)
		}
	}
	began := time.Now()
	open := maps.Clone(pods)
	if *only == "" {
		defer compareNodes(t, client)
		defer compareServers(t, servers)
	}
	differences, runs := map[string]string{}, map[string]bool{}
	for len(open) > 0 && time.Since(began) < patience {
		if !wait(t.Context(), 2*time.Second) {
			break
		}
		if time.Since(began) < settle {
			continue
		}
		sides := map[string]map[string][]string{actual: observe(t, client, actual), simulated: observe(t, client, simulated)}
		for name := range pods {
			if departures[name] == "" && !runs[name] && ran(sides[simulated][name]) && !ran(sides[actual][name]) {
				runs[name] = true
				t.Errorf("%s runs, which the real kubelet refuses", name)
			}
		}
		for name := range open {
			if differences[name] = compare(sides[actual][name], sides[simulated][name]); differences[name] == "" {
				delete(open, name)
			}
		}
	}
	var table strings.Builder
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if why := departures[name]; why != "" {
			fmt.Fprintf(&table, "%-26s departs: %s\n", name, why)
			continue
		}
		failed++
		fmt.Fprintf(&table, "%-26s DIFFERS\n", name)
		if *verbose {
			fmt.Fprintln(&table, differences[name])
		}
	}
	t.Logf("%d pairs, %d alike, %d differ\n%s", len(pods), len(pods)-len(open), len(open), table.String())
	if failed > len(pods)/20 {
		t.Errorf("%d of %d pairs differ without a reason", failed, len(pods))
	}
}

// create creates a pair of pods, or removes it from pods if the API server refuses it.
func create(t *testing.T, client kubernetes.Interface, pods map[string]*corev1.Pod, name string) {
	t.Helper()
	for _, node := range []string{actual, simulated} {
		pod := pods[name].DeepCopy()
		pod.Namespace, pod.Spec.NodeName = node, node
		if _, err := client.CoreV1().Pods(node).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
			delete(pods, name)
			return
		}
	}
}

// kept is a finalizer that keeps deleted pods, so that their last status can be compared.
const kept = "example.com/kept"

// sizes are the sizes to which pods are resized, and visitors the ephemeral containers that are
// added to pods, by the pod's name.
var (
	sizes = map[string]corev1.ResourceList{
		"resized-more":       {corev1.ResourceCPU: resource.MustParse("3900m")},
		"resized-memory":     {corev1.ResourceMemory: resource.MustParse("32Mi")},
		"resized-guaranteed": {corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
	}
	visitors = map[string][]corev1.EphemeralContainer{
		"entered":         {visitor("debug", "app.example/web")},
		"entered-ended":   {visitor("debug", "exit.example/0")},
		"entered-fails":   {visitor("debug", "exit.example/3")},
		"entered-absent":  {visitor("debug", "absent.invalid/app")},
		"entered-twice":   {visitor("a", "app.example/web"), visitor("b", "exit.example/0")},
		"entered-target":  {{EphemeralContainerCommon: visitor("debug", "app.example/web").EphemeralContainerCommon, TargetContainerName: "app"}},
		"entered-pending": {visitor("debug", "app.example/web")},
	}
)

func visitor(name, image string) corev1.EphemeralContainer {
	return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: image}}
}

// update changes a pod through one of its subresources.
func update(ctx context.Context, api typedcorev1.PodInterface, name string,
	write func(context.Context, string, *corev1.Pod, metav1.UpdateOptions) (*corev1.Pod, error), change func(*corev1.Pod)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(pod)
		_, err = write(ctx, name, pod, metav1.UpdateOptions{})
		return err
	})
}

// taint is the key of a taint that both nodes get.
const taint = "example.com/out"

// change changes pods, selected by their names, when they have had the time to start.
func change(t *testing.T, client kubernetes.Interface, pods map[string]*corev1.Pod) {
	t.Helper()
	wait(t.Context(), startUp)
	for _, node := range []string{actual, simulated} {
		patch := fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"value":"yes","effect":"NoExecute"}]}}`, taint)
		if _, err := client.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		api := client.CoreV1().Pods(node)
		for name := range pods {
			var err error
			switch {
			case strings.HasPrefix(name, "deleted"):
				var options metav1.DeleteOptions
				if name == "deleted-now" {
					options.GracePeriodSeconds = new(int64(0))
				}
				err = api.Delete(t.Context(), name, options)
			case strings.HasPrefix(name, "resized"):
				size := sizes[name]
				if size == nil {
					size = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}
				}
				err = update(t.Context(), api, name, api.UpdateResize, func(pod *corev1.Pod) {
					maps.Copy(pod.Spec.Containers[0].Resources.Requests, size)
					if pod.Spec.Containers[0].Resources.Limits != nil {
						maps.Copy(pod.Spec.Containers[0].Resources.Limits, size)
					}
				})
			case strings.HasPrefix(name, "entered"):
				err = update(t.Context(), api, name, api.UpdateEphemeralContainers, func(pod *corev1.Pod) {
					pod.Spec.EphemeralContainers = visitors[name]
				})
			}
			if err != nil {
				t.Fatalf("%s on the %s node: %v", name, node, err)
			}
		}
	}
}

// ran reports whether a container of a pod has run.
func ran(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, "ontainerStatuses[") && strings.Contains(line, "containerID: ")
	})
}

// wait waits for d. It returns false if ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// readPods returns the pods of testdata/pods.yaml.
func readPods(t *testing.T) map[string]*corev1.Pod {
	data, err := os.ReadFile("testdata/pods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]corev1.PodSpec{}
	if err := yaml.UnmarshalStrict(data, &specs); err != nil {
		t.Fatal(err)
	}
	pods := map[string]*corev1.Pod{}
	chosen := regexp.MustCompile(*only)
	for name, spec := range specs {
		if !chosen.MatchString(name) {
			continue
		}
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				c := &list[i]
				if c.Name == "" {
					c.Name = "app"
				}
				if c.Image == "" {
					c.Image = "app.example/web"
				}
			}
		}
		if spec.AutomountServiceAccountToken == nil {
			spec.AutomountServiceAccountToken = new(false)
		}
		spec.TerminationGracePeriodSeconds = cmp.Or(spec.TerminationGracePeriodSeconds, new(int64(1)))
		if !strings.Contains(name, "tainted") {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists})
		}
		pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
		if strings.HasPrefix(name, "deleted") || strings.HasPrefix(name, "tainted") {
			pods[name].Finalizers = []string{kept}
		}
	}
	return pods
}

// start starts an API server and both nodes, and returns when the nodes are ready.
func start(t *testing.T) (kubernetes.Interface, map[string]server) {
	ctx := t.Context()
	plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: t.TempDir(), Controllers: []string{"taint-eviction-controller"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Stop(context.Background()) })
	if err := plane.StartControllerManager(ctx); err != nil {
		t.Fatal(err)
	}
	config := plane.Config()
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	for _, node := range []string{actual, simulated} {
		prepare(t, client, node)
	}
	servers := map[string]server{actual: startActual(t, plane), simulated: startSimulated(t, plane)}
	for _, node := range []string{actual, simulated} {
		for {
			n, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
			if err == nil && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				break
			}
			if !wait(ctx, time.Second) {
				t.Fatalf("node %s: not ready", node)
			}
		}
	}
	return client, servers
}

// prepare creates a node's namespace with the objects that its pods refer to.
func prepare(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	ctx, core := t.Context(), client.CoreV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err == nil {
		_, err = core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"},
			Data: map[string]string{"level": "1"}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"},
			Data: map[string]string{"ca.crt": "ca"}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"},
			Data: map[string][]byte{"word": []byte("w")}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "unbound"}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: new("none"), Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, cpu := range map[string]string{"heavy": "250m", "enormous": "900"} {
		_, err := client.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "runc",
			Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	for {
		_, err := core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) || !wait(ctx, 100*time.Millisecond) {
			t.Fatal(err)
		}
	}
}

// startActual runs the hollow node, which is the real kubelet, until the test ends.
func startActual(t *testing.T, plane *kubeproc.Plane) server {
	t.Helper()
	ports, err := freeport.Choose("127.0.0.1", 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, plane.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(*program)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--kubeconfig", kubeconfig, "--name", actual, "--port", fmt.Sprint(ports[0]),
		"--cores", fmt.Sprint(cores), "--memory", fmt.Sprint(memoryMiB<<20), "--disk", fmt.Sprint(diskGiB<<30),
		"--manifests", manifests(t, dir), "--node-labels", "rack=r1")
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), "TMPDIR="+dir)
	runs(t, "the hollow node", cmd, log)
	return server{url: fmt.Sprintf("http://127.0.0.1:%d", ports[0]), client: http.DefaultClient}
}

// runs starts a program that is ended with the test; a failed test logs the last part of the
// program's log.
func runs(t *testing.T, name string, cmd *exec.Cmd, log *os.File) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s's log ends:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
}

// tree returns a guest's file tree with the given files.
func tree(t *testing.T, contents map[string]string) *guestfs.Root {
	t.Helper()
	files, root := guesttree.New(t)
	for name, content := range contents {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// staticPod returns the manifest of a static pod. The static pods of both nodes are compared like
// other pairs.
func staticPod(node string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: static, namespace: " + node + "}\n" +
		"spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: app.example/web, resources: {requests: {cpu: 10m}}}]}\n"
}

// manifests creates the folder of static pods of the hollow node.
func manifests(t *testing.T, dir string) string {
	t.Helper()
	folder := filepath.Join(dir, "manifests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "static.yaml"), []byte(staticPod(actual)), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// processes starts processes that run until they are stopped.
type processes struct{}

func (processes) StartProcess(context.Context, kubelet.ProcessSpec) (kubelet.Process, error) {
	return &process{done: make(chan struct{})}, nil
}

type process struct {
	done chan struct{}
	once sync.Once
}

func (p *process) Done() <-chan struct{}      { return p.done }
func (*process) ExitCode() int                { return 137 }
func (p *process) Stop(context.Context) error { p.once.Do(func() { close(p.done) }); return nil }

// startSimulated runs the simulated node until the test ends.
func startSimulated(t *testing.T, plane *kubeproc.Plane) server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ca, _ := plane.CA()
	files := tree(t, map[string]string{
		"/etc/kubernetes/pki/ca.crt":   string(ca),
		"/etc/kubernetes/kubelet.conf": string(plane.Kubeconfig()),
		// The fake container manager of the hollow node reserves no resources, so this node must
		// not either.
		"/var/lib/kubelet/config.yaml": "maxPods: 400\nclusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\n" +
			"evictionHard: {memory.available: \"0\", nodefs.available: \"0\"}\n",
		"/etc/kubernetes/manifests/static.yaml": staticPod(simulated),
		"/etc/cni/net.d/10-net.conflist":        `{"name":"net","cniVersion":"1.0.0","plugins":[{"type":"bridge"}]}`,
	})
	images, err := pull.New(pull.Known, nil)
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	k, err := kubelet.New(kubelet.Config{
		Files: files, OS: "linux", Hostname: simulated, InternalIP: netip.MustParseAddr("127.0.0.1"),
		Release: kubelet.Release{OSImage: "Debian GNU/Linux 7 (wheezy)", KernelVersion: "3.16.0-0.bpo.4-amd64"},
		Listen:  func() (net.Listener, error) { return listener, nil },
		Version: kuberelease.Default, RuntimeVersion: "containerd://2.1.4", Args: []string{"--node-labels=rack=r1"},
		Cores: cores, MemoryMiB: memoryMiB, DiskGiB: diskGiB, Dial: dialer.DialContext,
		Programs: programs, Processes: processes{}, Images: images, Network: nowhere{},
		PodIPs: &addresses{next: netip.MustParseAddr("127.2.0.1")},
		Exec:   runCommand, Wall: &contain.Wall{}, Log: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if err := k.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("the simulated kubelet: %v", err)
		}
	})
	t.Cleanup(func() { stop(); work.Wait() })
	config := plane.Config()
	config.Insecure, config.CAData, config.WrapTransport = true, nil, nil
	to, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return server{url: "https://" + listener.Addr().String(), client: to}
}

// runCommand runs a command in a container. The only command that fails is "false".
func runCommand(_ context.Context, spec kubelet.ExecSpec) (int, error) {
	if spec.Command[0] == "false" {
		return 1, nil
	}
	return 0, nil
}

// programs returns the programs of images: of images whose program ends, and of stay.example/app,
// whose program does not.
func programs(image string) (stub.Program, bool) {
	var code int
	if image == "stay.example/app" {
		return stays{}, true
	}
	if _, err := fmt.Sscanf(image, "exit.example/%d", &code); err != nil {
		return nil, false
	}
	return ends(code), true
}

// stays is a program that runs until it is killed.
type stays struct{}

func (stays) Ports() []int32 { return nil }

func (stays) Run(ctx context.Context, _ stub.Env) error {
	<-ctx.Done()
	return ends(137)
}

// ends is a program that ends with a code.
type ends int

func (ends) Ports() []int32 { return nil }

func (e ends) Run(ctx context.Context, _ stub.Env) error {
	wait(ctx, 100*time.Millisecond)
	if e != 0 {
		return e
	}
	return nil
}

func (e ends) Error() string { return fmt.Sprintf("it ends with code %d", int(e)) }

// ExitCode returns the container's exit code.
func (e ends) ExitCode() int { return int(e) }

// addresses assigns loopback addresses, on which nothing listens, to pods.
type addresses struct {
	mu   sync.Mutex
	next netip.Addr
}

func (a *addresses) Allocate(context.Context, string, string, string) (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.next = a.next.Next() }()
	return a.next, nil
}

func (*addresses) Keep(string, netip.Addr)    {}
func (*addresses) Release(string, netip.Addr) {}

// nowhere is a network without connections.
type nowhere struct{}

func (nowhere) AddPod(string, string, netip.Addr, []int32, func(int32, net.Conn)) {}
func (nowhere) RemovePod(string, string, netip.Addr)                              {}

// observe returns the state of a node's pods in the API, as lines, by the pod's name.
func observe(t *testing.T, client kubernetes.Interface, node string) map[string][]string {
	t.Helper()
	pods, err := client.CoreV1().Pods(node).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := client.CoreV1().Events(node).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string][]string{}
	for _, pod := range pods.Items {
		lines := map[string]bool{}
		uids := []string{string(pod.UID), cmp.Or(pod.Annotations["kubernetes.io/config.hash"], string(pod.UID))}
		for _, line := range flatten("", plain(t, pod.Status)) {
			lines[normal(line, &pod)] = true
		}
		for _, e := range events.Items {
			if slices.Contains(uids, string(e.InvolvedObject.UID)) {
				line := fmt.Sprintf("event %s %s %s: %s", e.Type, e.Reason, e.InvolvedObject.FieldPath, e.Message)
				lines[normal(line, &pod)] = true
			}
		}
		seen[strings.TrimSuffix(pod.Name, "-"+node)] = slices.Sorted(maps.Keys(lines))
	}
	return seen
}

// plain returns a status as a decoded JSON value.
func plain(t *testing.T, status corev1.PodStatus) any {
	t.Helper()
	slices.SortFunc(status.Conditions, func(a, b corev1.PodCondition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// flatten returns the fields of a JSON value as lines "path: value".
func flatten(path string, v any) []string {
	var lines []string
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			lines = append(lines, flatten(path+"."+key, value)...)
		}
	case []any:
		for i, value := range v {
			lines = append(lines, flatten(fmt.Sprintf("%s[%d]", path, i), value)...)
		}
	default:
		lines = append(lines, fmt.Sprintf("%s: %v", path, v))
	}
	return lines
}

// variable matches the parts of a line that differ between any two runs of the same kubelet.
var variable = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), "TIME"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`), "IP"},
	{regexp.MustCompile(` in [\d.]+[mµ]?s \([\d.]+[mµ]?s including waiting\). Image size: \d+ bytes`), " in DURATION"},
	{regexp.MustCompile(`(containerID|imageID): \S+`), "$1: ID"},
	{regexp.MustCompile(`rpc error: code = \w+ desc = .*?(not found|no such host \(NODE\))`), "PULL"},
	{regexp.MustCompile(`used: \d+`), "used: SOME"},
	{regexp.MustCompile(`kube-api-access-\w+`), "kube-api-access-ID"},
	{regexp.MustCompile(`back-off \S+ restarting`), "back-off DURATION restarting"},
	{regexp.MustCompile(`\d+ characters requested`), "SOME characters requested"}, // the text contains the name of the namespace
}

// normal replaces the parts of a line that differ between any two pods.
func normal(line string, pod *corev1.Pod) string {
	hash := cmp.Or(pod.Annotations["kubernetes.io/config.hash"], string(pod.UID))
	line = strings.NewReplacer(string(pod.UID), "UID", hash, "UID", pod.Namespace, "NODE").Replace(line)
	for _, v := range variable {
		line = v.pattern.ReplaceAllString(line, v.with)
	}
	return line
}

// compare returns the lines that only one of the two lists contains, as a diff.
func compare(want, got []string) string {
	var out []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			out = append(out, "  - "+line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			out = append(out, "  + "+line)
		}
	}
	return strings.Join(out, "\n")
}
