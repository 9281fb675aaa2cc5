// Package facts reads the objects that the diagnostic commands examine: a cluster's objects from the management
// cluster, and its nodes, pods and warnings from the workload cluster. For a cluster it reads whole lists, so that the
// number of calls does not depend on the number of machines; for one machine it reads only the objects that the machine
// needs. It writes nothing. The command line, internal/upgrade and the packages below internal/diagnose and internal/ui
// import it.
package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/kubeconfig"
)

// patience is the time limit for all lists of the workload cluster.
const patience = 5 * time.Second

// Cluster gathers the facts of one cluster. If its workload cluster does not respond, the snapshot records this and the
// error is nil.
func Cluster(ctx context.Context, c client.Client, key client.ObjectKey) (*Snapshot, error) {
	f, err := newFacts(ctx, c, key)
	if err != nil {
		return nil, err
	}
	err = together(
		func() error {
			if err := owned(ctx, c, key, f); err != nil {
				return err
			}
			return together(func() error { return configs(ctx, c, f) }, func() error { return dangling(ctx, c, f) },
				func() error { return drainRules(ctx, c, f) })
		},
		func() error {
			short, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := workload(short, c, key, f); err != nil {
				f.Unreachable, f.Slow = once(err), len(f.Nodes)+len(f.Pods) > 0
			}
			return ctx.Err()
		})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// newFacts reads the cluster object and returns a snapshot with only this object.
func newFacts(ctx context.Context, c client.Client, key client.ObjectKey) (*Snapshot, error) {
	cluster, err := GetCluster(ctx, c, key)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Taken: time.Now(), Cluster: cluster, AzureMachines: map[string]*infrav1.AzureMachine{},
		Configs:      map[string]*bootstrapv1.KubeadmConfig{},
		AzurePools:   map[string]*infrav1.AzureMachinePool{},
		PoolMachines: map[string]*infrav1.AzureMachinePoolMachine{}, Nodes: map[string]*corev1.Node{}}, nil
}

// configs reads the bootstrap configs of machines whose data is not rendered, and one config of each set of machines,
// because the configs of a set are equal. It does not read other configs, which consist mostly of large files.
func configs(ctx context.Context, c client.Client, f *Snapshot) error {
	names, sets := map[string]bool{}, map[string]bool{}
	for i := range f.Machines {
		m := &f.Machines[i]
		set := m.Labels[clusterv1.MachineSetNameLabel]
		if name := m.Spec.Bootstrap.ConfigRef.Name; name != "" && (m.Spec.Bootstrap.DataSecretName == nil || set == "" || !sets[set]) {
			names[name], sets[set] = true, true
		}
	}
	for i := range f.Pools {
		if name := f.Pools[i].Spec.Template.Spec.Bootstrap.ConfigRef.Name; name != "" {
			names[name] = true
		}
	}
	if len(names) > fewConfigs {
		return listed(ctx, c, []client.ListOption{
			client.InNamespace(f.Cluster.Namespace),
			client.MatchingLabels{clusterv1.ClusterNameLabel: f.Cluster.Name},
		}, func(all *bootstrapv1.KubeadmConfigList) {
			for i := range all.Items {
				f.Configs[all.Items[i].Name] = new(all.Items[i])
			}
		})
	}
	var mu sync.Mutex
	var reads []func() error
	for name := range names {
		reads = append(reads, func() error {
			config := &bootstrapv1.KubeadmConfig{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: f.Cluster.Namespace, Name: name}, config); err != nil {
				return client.IgnoreNotFound(err)
			}
			mu.Lock()
			defer mu.Unlock()
			f.Configs[name] = config
			return nil
		})
	}
	return together(reads...)
}

// fewConfigs is the maximum number of objects that are read individually and not in a list.
const fewConfigs = 20

// together calls functions concurrently and joins their errors. Each function writes its own fields.
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var work sync.WaitGroup
	for i, call := range calls {
		work.Go(func() { errs[i] = call() })
	}
	work.Wait()
	return errors.Join(errs...)
}

// once returns the text of joined errors, with equal errors only once.
func once(err error) string {
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// owned lists the objects in the management cluster that belong to the cluster.
func owned(ctx context.Context, c client.Client, key client.ObjectKey, f *Snapshot) error {
	ours := clusterListOptions(key)
	return together(
		func() error { return cluster(ctx, c, key, f) },
		func() error {
			return listed(ctx, c, ours, func(machines *clusterv1.MachineList) { f.Machines = machines.Items })
		},
		func() error {
			return listed(ctx, c, ours, func(azureMachines *infrav1.AzureMachineList) {
				for i := range azureMachines.Items {
					f.AzureMachines[azureMachines.Items[i].Name] = &azureMachines.Items[i]
				}
			})
		},
		func() error {
			return listed(ctx, c, ours, func(machines *infrav1.AzureMachinePoolMachineList) {
				for i := range machines.Items {
					f.PoolMachines[machines.Items[i].Name] = &machines.Items[i]
				}
			})
		})
}

// allowed runs reads that may fail because the user lacks a permission or the API server lacks the kind; the snapshot
// then records that the object was not examined.
func (s *Snapshot) allowed(reads map[string]func() error) error {
	var calls []func() error
	for what, read := range reads {
		calls = append(calls, func() error {
			err := read()
			if apierrors.IsForbidden(err) {
				s.Unexamined(what, err)
				return nil
			}
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	return together(calls...)
}

// clusterListOptions selects the objects with the cluster's name label in its namespace.
func clusterListOptions(key client.ObjectKey) []client.ListOption {
	return []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name}}
}

// cluster lists the objects that concern the whole cluster: its infrastructure, its control plane and its pools.
func cluster(ctx context.Context, c client.Client, key client.ObjectKey, f *Snapshot) error {
	ours := clusterListOptions(key)
	return together(
		func() error {
			return listed(ctx, c, ours, func(azureClusters *infrav1.AzureClusterList) {
				for i := range azureClusters.Items {
					if azureClusters.Items[i].Name == f.Cluster.Spec.InfrastructureRef.Name {
						f.AzureCluster = &azureClusters.Items[i]
					}
				}
			})
		},
		func() error {
			return listed(ctx, c, ours, func(controlPlanes *controlplanev1.KubeadmControlPlaneList) {
				for i := range controlPlanes.Items {
					f.ControlPlane = &controlPlanes.Items[i]
				}
			})
		},
		func() error { return sets(ctx, c, key, f) },
		func() error {
			return listed(ctx, c, ours, func(pools *clusterv1.MachinePoolList) { f.Pools = pools.Items })
		},
		func() error {
			return listed(ctx, c, ours, func(pools *infrav1.AzureMachinePoolList) {
				for i := range pools.Items {
					f.AzurePools[pools.Items[i].Name] = &pools.Items[i]
				}
			})
		})
}

// sets lists the MachineDeployments, MachineSets and MachineHealthChecks, and the warnings of the namespace.
func sets(ctx context.Context, c client.Client, key client.ObjectKey, f *Snapshot) error {
	ours := clusterListOptions(key)
	return f.allowed(map[string]func() error{
		"MachineDeployments": func() error {
			return listed(ctx, c, ours, func(all *clusterv1.MachineDeploymentList) { f.Deployments = all.Items })
		},
		"MachineSets": func() error {
			return listed(ctx, c, ours, func(all *clusterv1.MachineSetList) { f.Sets = all.Items })
		},
		"MachineHealthChecks": func() error {
			return listed(ctx, c, ours, func(all *clusterv1.MachineHealthCheckList) { f.HealthChecks = all.Items })
		},
		"Helm charts": func() (err error) {
			f.Charts, err = charts(ctx, c, key)
			return err
		},
		"events of namespace " + key.Namespace: func() error {
			only := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"type": corev1.EventTypeWarning}}
			return listed(ctx, c, only, func(events *corev1.EventList) { f.Notices = events.Items })
		},
		"remediations of namespace " + key.Namespace: func() error {
			only := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"reason": remediation}}
			return listed(ctx, c, only, func(events *corev1.EventList) { f.Remediations = events.Items })
		},
	})
}

// remediation is the reason of the event of a machine that a MachineHealthCheck has found unhealthy. Source: sigs.k8s.io/cluster-api
// internal/controllers/machinehealthcheck.
const remediation = "MachineMarkedUnhealthy"

// drainRules lists the MachineDrainRules in the cluster's namespace, if a machine is being deleted.
func drainRules(ctx context.Context, c client.Client, f *Snapshot) error {
	if !slices.ContainsFunc(f.Machines, func(m clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() }) {
		return nil
	}
	return f.allowed(map[string]func() error{"MachineDrainRules": func() error {
		return listed(ctx, c, []client.ListOption{client.InNamespace(f.Cluster.Namespace)}, func(all *clusterv1.MachineDrainRuleList) {
			f.DrainRules = all.Items
		})
	}})
}

// workloads lists the objects that create or serve pods in the workload cluster.
func workloads(ctx context.Context, w client.Client, f *Snapshot) error {
	l := &f.Workloads
	return f.allowed(map[string]func() error{
		"Deployments": func() error {
			return listed(ctx, w, nil, func(all *appsv1.DeploymentList) { l.Deployments = all.Items })
		},
		"ReplicaSets": func() error {
			return listed(ctx, w, nil, func(all *appsv1.ReplicaSetList) { l.ReplicaSets = all.Items })
		},
		"StatefulSets": func() error {
			return listed(ctx, w, nil, func(all *appsv1.StatefulSetList) { l.StatefulSets = all.Items })
		},
		"DaemonSets": func() error {
			return listed(ctx, w, nil, func(all *appsv1.DaemonSetList) { l.DaemonSets = all.Items })
		},
		"Jobs": func() error {
			return listed(ctx, w, nil, func(all *batchv1.JobList) { l.Jobs = all.Items })
		},
		"Services": func() error {
			return listed(ctx, w, nil, func(all *corev1.ServiceList) { l.Services = all.Items })
		},
		"StorageClasses": func() error {
			return listed(ctx, w, nil, func(all *storagev1.StorageClassList) { l.Classes = all.Items })
		},
		"PersistentVolumeClaims": func() error {
			return listed(ctx, w, nil, func(all *corev1.PersistentVolumeClaimList) { l.Claims = all.Items })
		},
	})
}

// workload lists the nodes, pods, workloads and warnings of the workload cluster.
func workload(ctx context.Context, c client.Client, key client.ObjectKey, f *Snapshot) error {
	w, cfg, err := Workload(ctx, c, key)
	if err != nil {
		return err
	}
	f.Logs, f.More = logs(cfg), more(c, w, cfg, f)
	return together(
		func() error {
			return listed(ctx, w, nil, func(nodes *corev1.NodeList) {
				for i := range nodes.Items {
					f.Nodes[nodes.Items[i].Name] = &nodes.Items[i]
				}
			})
		},
		func() error {
			return listed(ctx, w, nil, func(pods *corev1.PodList) { f.Pods = pods.Items })
		},
		func() error { return warnings(ctx, w, f) },
		func() error {
			if err := workloads(ctx, w, f); err != nil {
				return err
			}
			return unresolved(ctx, w, f, sources(f.Workloads.Claims))
		},
		func() (err error) {
			f.Calico, err = degraded(ctx, w)
			return err
		})
}

func warnings(ctx context.Context, w client.Client, f *Snapshot) error {
	return listed(ctx, w, []client.ListOption{client.MatchingFields{"type": corev1.EventTypeWarning}},
		func(events *corev1.EventList) { f.Warnings = events.Items })
}

// Workload returns a client of the workload cluster, with the admin kubeconfig that Cluster API stores.
func Workload(ctx context.Context, c client.Client, key client.ObjectKey) (client.Client, *rest.Config, error) {
	s := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: secret.Name(key.Name, secret.Kubeconfig)}, s)
	if apierrors.IsNotFound(err) {
		if _, err := GetCluster(ctx, c, key); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("cluster %s has no kubeconfig yet", key)
	}
	if err != nil {
		return nil, nil, err
	}
	cfg, err := kubeconfig.Config(s.Data[secret.KubeconfigDataName])
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s holds no valid kubeconfig: %w", secret.Name(key.Name, secret.Kubeconfig), err)
	}
	cfg.Timeout = patience
	Tune(cfg)
	w, err := shared(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the API server of cluster %s at %s: %w", key, cfg.Host, err)
	}
	return w, cfg, nil
}

// shared returns a client for a config, and sets the config so that other clients use the same connections. Without
// this, client-go keeps no connections for a config with a proxy, such as a private cluster's, and each of several
// concurrent requests would begin with a TLS handshake.
func shared(cfg *rest.Config) (client.Client, error) {
	h, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	opts := Options(nil)
	opts.HTTPClient = h
	w, err := client.New(cfg, opts)
	if err != nil {
		return nil, err
	}
	cfg.Transport, cfg.TLSClientConfig, cfg.Proxy, cfg.Dial = h.Transport, rest.TLSClientConfig{}, nil, nil
	return w, nil
}

// Tune configures a client for a command-line program: no client-side rate limit, because the API server has priority
// and fairness, and no compression for a server on this machine.
func Tune(cfg *rest.Config) {
	cfg.QPS, cfg.UserAgent = -1, "casement"
	if at, err := url.Parse(cfg.Host); err == nil {
		ip, err := netip.ParseAddr(at.Hostname())
		cfg.DisableCompression = err == nil && ip.IsLoopback()
	}
}

// Options are client options for a command-line program; kinds is nil for the scheme of Kubernetes' own kinds. They set
// a logger, because otherwise controller-runtime's global one prints a stack trace about the missing logger.
func Options(kinds *runtime.Scheme) client.Options {
	return client.Options{Scheme: kinds, Log: logr.New(log.NullLogSink{})}
}

// Core returns a client of the core API group for requests that controller-runtime's client does not support: logs, and
// single reads without discovery. The typed clientset would add a megabyte to each program.
func Core(cfg *rest.Config) (rest.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion = "/api", &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.UserAgent = cmp.Or(cfg.UserAgent, rest.DefaultKubernetesUserAgent())
	return rest.RESTClientFor(cfg)
}

// maxLogs is the number of containers whose logs are read; lines is the number of lines of each.
const (
	maxLogs = 10
	lines   = 20
)

// logs returns a function that returns the last lines of a container's log; after maxLogs containers it returns "".
func logs(cfg *rest.Config) func(*corev1.Pod, string) string {
	left := maxLogs
	return func(p *corev1.Pod, container string) string {
		core, err := Core(cfg)
		if left--; left < 0 || err != nil {
			return ""
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		data, err := core.Get().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("log").
			VersionedParams(&corev1.PodLogOptions{Container: container, TailLines: new(int64(lines))}, scheme.ParameterCodec).
			DoRaw(ctx)
		if err != nil {
			return "" // only the events are available then
		}
		return string(data)
	}
}

// listed lists objects from the API server's cache in one response, so that a read of a thousand objects does not cost
// etcd a thousand reads. The most recent changes may be missing.
func listed[L any, P interface {
	*L
	client.ObjectList
}](ctx context.Context, c client.Client, opts []client.ListOption, each func(P)) error {
	list := P(new(L))
	cached := &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
	}
	if err := c.List(ctx, list, append([]client.ListOption{cached}, opts...)...); err != nil {
		return err
	}
	each(list)
	return nil
}

// Of reads the facts about an object: the facts of its whole cluster or, for a machine, only of the machine.
func Of(ctx context.Context, c client.Client, o Object) (*Snapshot, error) {
	if o.Kind == "Machine" {
		return Machine(ctx, c, o.Cluster, o.Name)
	}
	s, err := Cluster(ctx, c, o.Cluster)
	if err != nil || o.generic == nil {
		return s, err
	}
	if s.More != nil {
		if err := s.More(ctx); err != nil && s.Unreachable == "" {
			s.Unexamined("objects of other kinds", err)
		}
	}
	return s, o.generic.read(ctx, s)
}
