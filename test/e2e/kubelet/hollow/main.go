//go:build hollow

// Command hollow is the real kubelet on a fake machine: Kubernetes' hollow node of the version in
// go.mod over a fake container runtime. The tests in the folder above run it beside a simulated
// kubelet and compare the reports of both about the same pods. The build tag keeps the kubelet's
// packages out of every other build.
package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	critesting "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubemark"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/image"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	utilexec "k8s.io/utils/exec"

	cadvisorapi "github.com/google/cadvisor/lib/model"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hollow:", err)
		os.Exit(1)
	}
}

func run() error {
	kubeconfig := pflag.String("kubeconfig", "", "how to reach the API server")
	name := pflag.String("name", "hollow", "the name of the node")
	port := pflag.Int("port", 0, "the port of the kubelet's HTTPS API")
	cores := pflag.Int("cores", 1, "cores of the machine")
	memory := pflag.Uint64("memory", 0, "memory of the machine in bytes")
	disk := pflag.Int64("disk", 0, "size of the disk in bytes")
	manifests := pflag.String("manifests", "", "the folder of static pods")
	labels := pflag.StringToString("node-labels", nil, "labels of the node")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, 0
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	flags, settings := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName: *name, KubeletPort: *port, MaxPods: 400, NodeLabels: *labels,
	})
	defer os.RemoveAll(flags.RootDirectory)
	settings.Address, settings.ClusterDNS, settings.ClusterDomain = "127.0.0.1", []string{"10.96.0.10"}, "cluster.local"
	settings.SyncFrequency.Duration = 2 * time.Second
	settings.SerializeImagePulls = false
	settings.RegistryPullQPS = 0
	settings.EventRecordQPS = 0
	settings.KubeAPIQPS = -1
	settings.StaticPodPath = *manifests
	settings.FileCheckFrequency.Duration = time.Second
	images := critesting.NewFakeImageService()
	runtime := newRuntime()
	hollow := kubemark.NewHollowKubelet(flags, settings, client, client,
		&machine{Fake: cadvisortest.Fake{NodeName: *name}, cores: *cores, memory: *memory},
		registry{images}, runtime, manager{cm.NewStubContainerManager(), *disk})
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(newPatientSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")}))
	hollow.KubeletDeps.Recorder = events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: *name})
	hollow.KubeletDeps.ProbeManager = nil // nil makes the kubelet use the real one
	hollow.KubeletDeps.HostUtil = hostutil.NewHostUtil()
	hollow.KubeletDeps.Subpather = folders{}
	hollow.KubeletDeps.VolumePlugins = append(slices.DeleteFunc(hollow.KubeletDeps.VolumePlugins, func(p volume.VolumePlugin) bool {
		return p.GetPluginName() == "kubernetes.io/host-path" // this plug-in checks no types
	}), slices.Concat(hostpath.ProbeVolumePlugins(volume.VolumeConfig{}), image.ProbeVolumePlugins())...)
	hollow.KubeletDeps.OSInterface = &containertest.FakeOS{HostName: *name, StatFn: os.Stat}
	go hollow.Run(ctx)
	<-ctx.Done()
	return nil
}

// patientSink writes events one after another and never makes the recorder wait, because a waiting
// recorder drops events.
type patientSink struct {
	record.EventSink
	work chan func()
}

// maxEvents is far more than the number of events of a run.
const maxEvents = 1 << 17

func newPatientSink(to record.EventSink) *patientSink {
	s := &patientSink{to, make(chan func(), maxEvents)}
	go func() {
		for do := range s.work {
			do()
		}
	}()
	return s
}

// Create implements the sink.
func (s *patientSink) Create(e *corev1.Event) (*corev1.Event, error) {
	s.work <- func() { _, _ = s.EventSink.Create(e) }
	return e, nil
}

// Update implements the sink.
func (s *patientSink) Update(e *corev1.Event) (*corev1.Event, error) {
	s.work <- func() { _, _ = s.EventSink.Update(e) }
	return e, nil
}

// Patch implements the sink.
func (s *patientSink) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	s.work <- func() { _, _ = s.EventSink.Patch(e, data) }
	return e, nil
}

// machine is the machine in cadvisor's view.
type machine struct {
	cadvisortest.Fake
	cores  int
	memory uint64
}

func (m *machine) MachineInfo(log klog.Logger) (*cadvisorapi.MachineInfo, error) {
	info, err := m.Fake.MachineInfo(log)
	info.NumCores, info.MemoryCapacity = m.cores, m.memory
	return info, err
}

// ContainerInfoV2 returns the usage of the machine as a whole.
func (m *machine) ContainerInfoV2(string, cadvisorapi.RequestOptions) (map[string]cadvisorapi.ContainerInfo, error) {
	now := time.Now()
	return map[string]cadvisorapi.ContainerInfo{"/": {
		Spec: cadvisorapi.ContainerSpec{CreationTime: now, HasCpu: true, HasMemory: true},
		Stats: []*cadvisorapi.ContainerStats{{Timestamp: now, Cpu: &cadvisorapi.CpuStats{Usage: cadvisorapi.CpuUsage{Total: 1}},
			CpuInst: &cadvisorapi.CpuInstStats{}, Memory: &cadvisorapi.MemoryStats{Usage: 1, WorkingSet: 1, RSS: 1}}},
	}}, nil
}

// manager is a container manager without cgroups, on a machine with a disk.
type manager struct {
	cm.ContainerManager
	disk int64
}

func (m manager) GetCapacity(klog.Logger, bool) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: *resource.NewQuantity(m.disk, resource.BinarySI)}
}

// NewPodContainerManager implements the container manager.
func (m manager) NewPodContainerManager() cm.PodContainerManager {
	return groups{m.ContainerManager.NewPodContainerManager()}
}

// groups replaces the cgroups of pods: each has the resources that its pod requests.
type groups struct{ cm.PodContainerManager }

func (groups) GetPodCgroupConfig(pod *corev1.Pod, _ corev1.ResourceName) (*cm.ResourceConfig, error) {
	c := cm.ResourceConfigForPod(pod, true, uint64(cm.QuotaPeriod), false, "")
	return &cm.ResourceConfig{CPUShares: cmp.Or(c.CPUShares, new(uint64)), CPUPeriod: cmp.Or(c.CPUPeriod, new(uint64)),
		CPUQuota: cmp.Or(c.CPUQuota, new(int64(-1))), Memory: cmp.Or(c.Memory, new(int64))}, nil
}

func (groups) GetPodCgroupMemoryUsage(*corev1.Pod) (uint64, error) { return 0, nil }

func (groups) SetPodCgroupConfig(klog.Logger, *corev1.Pod, *cm.ResourceConfig) error { return nil }

// folders implements subpaths of volumes without bind mounts.
type folders struct{ *subpath.FakeSubpath }

func (folders) PrepareSafeSubpath(s subpath.Subpath) (string, func(), error) {
	return s.Path, func() {}, nil
}

func (folders) SafeMakeDir(name, base string, mode os.FileMode) error {
	return os.MkdirAll(filepath.Join(base, name), mode)
}

// registry is the image service: images below absent.invalid do not exist.
type registry struct{ *critesting.FakeImageService }

// PullImage implements the image service.
func (r registry) PullImage(ctx context.Context, image *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig,
	sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	if strings.HasPrefix(image.Image, "absent.invalid/") {
		return "", fmt.Errorf("rpc error: code = NotFound desc = %s: not found", image.Image)
	}
	return r.FakeImageService.PullImage(ctx, image, auth, sandbox)
}

// ImageFsInfo implements the image service.
func (registry) ImageFsInfo(context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	disk := []*runtimeapi.FilesystemUsage{{Timestamp: time.Now().UnixNano(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes: &runtimeapi.UInt64Value{Value: 1}, InodesUsed: &runtimeapi.UInt64Value{Value: 1}}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: disk, ContainerFilesystems: disk}, nil
}

// runtime adds the missing functions to the fake runtime: pods have their own addresses, on which
// nothing listens, and containers of the images exit.example/NUMBER end with this exit code.
type runtime struct {
	*critesting.FakeRuntimeService
	mu    sync.Mutex
	next  netip.Addr
	given map[string]netip.Addr // by sandbox
}

func newRuntime() *runtime {
	r := &runtime{FakeRuntimeService: critesting.NewFakeRuntimeService(), next: netip.MustParseAddr("127.1.0.1"),
		given: map[string]netip.Addr{}}
	r.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
	}}
	return r
}

// Status implements the runtime service, with the features of containerd 2.
func (r *runtime) Status(ctx context.Context, verbose bool) (*runtimeapi.StatusResponse, error) {
	out, err := r.FakeRuntimeService.Status(ctx, verbose)
	if err == nil {
		features := &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true}
		out.RuntimeHandlers = []*runtimeapi.RuntimeHandler{{Name: "", Features: features}, {Name: "runc", Features: features}}
		out.Features = &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true}
	}
	return out, err
}

// PodSandboxStatus implements the runtime service.
func (r *runtime) PodSandboxStatus(ctx context.Context, id string, verbose bool) (*runtimeapi.PodSandboxStatusResponse, error) {
	out, err := r.FakeRuntimeService.PodSandboxStatus(ctx, id, verbose)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.given[id].IsValid() {
		r.given[id], r.next = r.next, r.next.Next()
	}
	out.Status.Network = &runtimeapi.PodSandboxNetworkStatus{Ip: r.given[id].String()}
	return out, nil
}

// StartContainer implements the runtime service.
func (r *runtime) StartContainer(ctx context.Context, id string) error {
	if err := r.FakeRuntimeService.StartContainer(ctx, id); err != nil {
		return err
	}
	r.Lock()
	defer r.Unlock()
	c := r.Containers[id]
	var code int32
	if _, err := fmt.Sscanf(c.Image.Image, "exit.example/%d", &code); err == nil {
		time.AfterFunc(100*time.Millisecond, func() { r.end(id, code) })
	}
	return nil
}

// end ends a container.
func (r *runtime) end(id string, code int32) {
	r.Lock()
	defer r.Unlock()
	if c, ok := r.Containers[id]; ok && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
		c.State, c.ExitCode, c.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, code, time.Now().UnixNano()
		c.Reason = "Completed"
		if code != 0 {
			c.Reason = "Error"
		}
	}
}

// StopContainer implements the runtime service: a stopped container counts as killed.
func (r *runtime) StopContainer(_ context.Context, id string, _ int64) error {
	r.end(id, 137)
	return nil
}

// UpdateContainerResources implements the runtime service.
func (r *runtime) UpdateContainerResources(_ context.Context, id string, resources *runtimeapi.ContainerResources) error {
	r.Lock()
	defer r.Unlock()
	r.Containers[id].LinuxResources = resources.GetLinux()
	return nil
}

// ListContainerStats implements the runtime service: running containers use one unit of each resource.
func (r *runtime) ListContainerStats(context.Context, *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	r.Lock()
	defer r.Unlock()
	var list []*runtimeapi.ContainerStats
	one := &runtimeapi.UInt64Value{Value: 1}
	for id, c := range r.Containers {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			now := time.Now().UnixNano()
			list = append(list, &runtimeapi.ContainerStats{
				Attributes: &runtimeapi.ContainerAttributes{Id: id, Metadata: c.Metadata, Labels: c.Labels, Annotations: c.Annotations},
				Cpu:        &runtimeapi.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: one, UsageNanoCores: one},
				Memory:     &runtimeapi.MemoryUsage{Timestamp: now, WorkingSetBytes: one, UsageBytes: one, RssBytes: one},
			})
		}
	}
	return list, nil
}

// ExecSync implements the runtime service: only the program "false" fails.
func (r *runtime) ExecSync(_ context.Context, _ string, command []string, _ time.Duration) (out, errOut []byte, err error) {
	if command[0] == "false" {
		return nil, nil, utilexec.CodeExitError{Err: fmt.Errorf("command '%s' exited with 1: ", strings.Join(command, " ")), Code: 1}
	}
	return nil, nil, nil
}

// ContainerStatus implements the runtime service. It returns the container's annotations, from which the
// kubelet reads its own.
func (r *runtime) ContainerStatus(ctx context.Context, id string, verbose bool) (*runtimeapi.ContainerStatusResponse, error) {
	out, err := r.FakeRuntimeService.ContainerStatus(ctx, id, verbose)
	if err == nil {
		out.Status.Labels = maps.Clone(out.Status.Labels)
		r.Lock()
		defer r.Unlock()
		out.Status.Resources = &runtimeapi.ContainerResources{Linux: r.Containers[id].LinuxResources}
	}
	return out, err
}
